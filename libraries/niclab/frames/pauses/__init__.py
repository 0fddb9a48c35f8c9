"""Pause frames (IEEE 802.3, annex 31B): whether a port heeds them while it is to, and only then."""
