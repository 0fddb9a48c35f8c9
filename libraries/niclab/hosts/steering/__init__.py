"""The CPUs that take a port's interrupts and packets on a host."""
