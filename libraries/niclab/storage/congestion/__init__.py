"""Disks over iSCSI on a congested SAN: more ports of the target than of the initiator, behind one port of a switch."""
