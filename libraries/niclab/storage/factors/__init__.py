"""Settings of the dut under loads over iSCSI: each alone, against a baseline."""
