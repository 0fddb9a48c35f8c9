"""PCI functions of a host: their links, identity and error counters."""
