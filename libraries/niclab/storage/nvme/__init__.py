"""Disks over NVMe over TCP: the target on the peer, the controller of the dut, and their counts."""
