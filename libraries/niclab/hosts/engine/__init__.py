"""Virtual functions of a port (SR-IOV), by operating system."""
