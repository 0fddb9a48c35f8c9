"""Disks over iSCSI: the target on the peer, the initiator on the dut, their connection, and a link that fails."""
