"""A link of the bonds that has failed, and how a test names the link that is to fail."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import BenchPath, Role
from niclab.core.undo import Entry
from niclab.links.failure import Cause


class MemberLink(Enum):
    """A link of the bonds, by its path or by its use."""

    FIRST = "first"
    """The first path of the bench file."""
    SECOND = "second"
    """The second path of the bench file."""
    ACTIVE = "active"
    """The path that the bond uses: the peer's bond where the cause is at the peer, else the dut's."""
    BACKUP = "backup"
    """A path that this bond does not use."""


@dataclass(frozen=True)
class Loss:
    """A failed link: path, cause, undo, the ports that have no link by it, and what each bond used before."""

    path: BenchPath
    cause: Cause
    entry: Entry
    ports: frozenset[str]
    used: dict[Role, str | None]
