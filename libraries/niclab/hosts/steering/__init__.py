"""Which CPUs a host lets take a port's interrupts and packets."""
