"""Throughput against the limits of the sheet, and what may hold it back: bench, bus, window."""
