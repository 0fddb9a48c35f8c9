"""Virtual functions of the dut's ports: made and removed, and the frames that they may send and receive."""
