"""Interrupts of a host and the CPUs that took them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Interrupt:
    """One line of ``/proc/interrupts``.

    ``irq`` is a number, or the name of a line that has none (``NMI``, ``LOC``, ``ERR``). ``counts`` in the order of
    the CPUs; a line of the whole machine (``ERR``, ``MIS``) has one count, and ``FIQ`` of ARM none: the kernel does not
    count it. ``actions`` are the handlers, several when the line is shared. ``description`` is what the kernel says of
    a line without a number.
    """

    irq: int | str
    counts: tuple[int, ...]
    chip: str | None
    type: str | None
    actions: tuple[str, ...]
    description: str | None


@dataclass(frozen=True)
class Interrupts:
    """``cpus``: numbers of the CPUs of the heading."""

    cpus: tuple[int, ...]
    irqs: tuple[Interrupt, ...]
