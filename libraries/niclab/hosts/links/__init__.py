"""Interfaces of a host: state, carrier, addresses, ping."""
