"""Bonds and VLANs of a host."""
