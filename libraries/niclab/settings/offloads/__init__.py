"""Offloads: the table of the sheet, and the proof by counters."""
