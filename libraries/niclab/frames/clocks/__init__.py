"""The hardware clocks of ports (IEEE 1588), and the time stamps that they give to frames."""
