"""Trouble that a kernel reports: crashes, hangs, timeouts and hardware errors, and whom they name."""

from __future__ import annotations

from dataclasses import dataclass

TRACE_LINES = 60
"""Lines after an oops or a lockup in which its call trace names modules: registers, code and stack come first."""


@dataclass(frozen=True)
class KernelTrouble:
    """One piece of trouble.

    Attributes:
        kind: What it is, such as ``transmit timeout``.
        words: The kernel's line.
        names: Whom the line or the call trace after it names: driver modules, PCI addresses, interfaces, devices.
    """

    kind: str
    words: str
    names: frozenset[str]
