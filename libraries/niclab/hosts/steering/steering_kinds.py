"""Ways to choose the CPUs that take a port's interrupts and packets."""

from __future__ import annotations

from enum import Enum


class SteeringKind(Enum):
    """The subject of steering.

    ``irq``: the CPU of each interrupt; ``rps``: CPUs that may take over received packets; ``rfs``: flows of a queue
    that are followed to their reader; ``xps``: CPUs that send by a queue.
    """

    IRQ = "irq"
    RPS = "rps"
    RFS = "rfs"
    XPS = "xps"
