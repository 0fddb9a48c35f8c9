"""Ports that are as they were: after a start of the dut, when they were taken away, when somebody looks into them."""
