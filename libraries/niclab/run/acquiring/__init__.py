"""Acquiring a bench: leases, power, cards, servers that answer, ports that are prepared."""
