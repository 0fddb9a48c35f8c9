"""Servers of the bench. ``host.py`` is the interface every operating system offers; one sub-package per dialect.

A dialect has pure readers (text of a tool -> frozen dataclass of ``records.py``) and, above them, the host class that
runs the tools. Readers raise nothing but :class:`~niclab.hosts.errors.ReadError`.
"""
