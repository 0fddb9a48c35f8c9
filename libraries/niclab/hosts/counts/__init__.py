"""Counters of CPUs and interfaces of a host."""
