"""The actions of a BMC on the machine it manages."""

from __future__ import annotations

from enum import Enum
from typing import Protocol


class MachineError(Exception):
    """The machine did not do what was asked; the message says why."""


class PowerAction(Enum):
    """The power commands of a BMC; the values are the names used in logs."""

    ON = "on"
    OFF = "off"
    CYCLE = "cycle"
    RESET = "reset"
    NMI = "nmi"
    SOFT_SHUTDOWN = "soft shutdown"


class Machine(Protocol):
    """A machine with a power supply, a reset line, an NMI line and a power button.

    All methods but :meth:`is_on` return when the thing is done, or raise :class:`MachineError`.
    """

    def is_on(self) -> bool:
        """Has it power now? Cheap: asked several times a second."""

    async def power_on(self) -> None:
        """Give it power. Nothing happens when it has."""

    async def power_off(self) -> None:
        """Take the power away, whatever it is doing. Nothing happens when it has none."""

    async def cycle(self) -> None:
        """Take the power away, wait, give it again."""

    async def reset(self) -> None:
        """Pull the reset line."""

    async def nmi(self) -> None:
        """Raise a non-maskable interrupt."""

    async def soft_shutdown(self) -> None:
        """Press the power button; the operating system decides what follows."""
