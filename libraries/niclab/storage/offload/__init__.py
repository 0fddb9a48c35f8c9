"""Disks over iSCSI by the card's own engine, against the software initiator (DEL-05)."""
