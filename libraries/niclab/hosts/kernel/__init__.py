"""The kernel log of a host, and the trouble that it reports."""
