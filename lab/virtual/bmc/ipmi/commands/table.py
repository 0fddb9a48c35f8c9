"""The parts of a command: the request it gets and its row in the table of commands."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import IntEnum

from bmc.ipmi.sessions import Session, Sessions
from bmc.service import Bmc


class NetFn(IntEnum):
    """Network functions: the groups of commands (IPMI table 5-1)."""

    CHASSIS = 0x00
    SENSOR = 0x04
    APP = 0x06
    STORAGE = 0x0A
    TRANSPORT = 0x0C


class Level(IntEnum):
    """Privilege a command asks for (IPMI appendix G). ``NONE`` commands work outside of sessions too."""

    NONE = 0
    USER = 2
    OPERATOR = 3
    ADMINISTRATOR = 4


@dataclass
class Request:
    """The request that a command answers.

    Attributes:
        session: ``None`` outside of sessions.
        afterwards: The command adds what is to be done when its answer is on the way.
    """

    bmc: Bmc
    data: bytes
    session: Session | None
    sessions: Sessions
    afterwards: list[Callable[[], None]] = field(default_factory=list)

    @property
    def level(self) -> int:
        """Privilege level of the session."""
        return self.session.level if self.session else Level.NONE


Handler = Callable[[Request], bytes | Awaitable[bytes]]
"""Returns the data after the completion code OK, or raises RefusedError."""


@dataclass(frozen=True)
class Command:
    """A row of the table.

    Attributes:
        lengths: Allowed numbers of data bytes, the smallest and the largest.
    """

    handler: Handler
    level: Level
    lengths: tuple[int, int]


Table = dict[tuple[int, int], Command]
"""Keys: network function and command number."""
