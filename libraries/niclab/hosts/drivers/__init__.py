"""Driver modules, their packages, and firmware images of a host."""
