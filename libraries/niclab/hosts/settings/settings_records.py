"""Answers of a host to changes, and its packages and PCI Express errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

T = TypeVar("T")
_NOT_OFFERED = ("ot supported", "Function not implemented", "Unknown error 524")
"""EOPNOTSUPP, ENOSYS and the kernel's own ENOTSUPP, which strerror() does not know (bnxt_en, Linux kernel 6.1)."""


@dataclass(frozen=True)
class Attempt(Generic[T]):
    """A change that was asked for. ``refused``: the words of the refusal, None when it was taken. ``now``: read back.

    Whether ``now`` is what was asked for is the caller's judgement: taken and not done is a defect of the card.
    """

    refused: str | None
    now: T

    @property
    def not_offered(self) -> bool:
        """Is the driver without this setting, by the words of the refusal? Another refusal is an error of its own."""
        return self.refused is not None and any(word in self.refused for word in _NOT_OFFERED)


@dataclass(frozen=True)
class FirmwareTool:
    """A program on a server that writes firmware into a card.

    Attributes:
        line: Command for ``sh``, with ``{interface}``, ``{pci}``, ``{image}`` (a path) and ``{file}`` (a name).
        needs: Names or paths of programs without which it does not work.
        refused: Regular expression of the words by which it says that the card refuses an image; None where unknown.
        unsupported: Regular expression of the words by which it says that it does not support the system.
        refused_by_any_error: Are these words of a refusal those of any error, also of one that is not the card's, such
            as missing rights or memory?
    """

    line: str
    needs: tuple[str, ...]
    refused: str | None = None
    unsupported: str | None = None
    refused_by_any_error: bool = False


class ToolAnswer(Enum):
    """The end of a tool that was to write an image. FAILED: it did not, and does not say that the card refused."""

    WRITTEN = "written"
    REFUSED = "refused"
    UNSUPPORTED = "unsupported"
    FAILED = "failed"


@dataclass(frozen=True)
class ToolRun:
    """The end of a tool, with its own words."""

    answer: ToolAnswer
    words: str


@dataclass(frozen=True)
class Package:
    """An installed package. Not ``complete``: its installation stopped half-way, ``status`` names the state.

    ``release``: the packager's own number, where a package system keeps it apart from the version, as rpm does.
    """

    name: str
    version: str
    architecture: str
    status: str
    release: str = ""

    @property
    def complete(self) -> bool:
        return self.status == "installed"

    @property
    def full_version(self) -> str:
        """The version with the release, as the package system takes it."""
        return f"{self.version}-{self.release}" if self.release else self.version


@dataclass(frozen=True)
class ChangedFile:
    """A file of an installed package that is missing, or has another content than the package brought."""

    file: str
    is_missing: bool


@dataclass(frozen=True)
class AerCounters:
    """Errors of one PCI Express device since boot, by name (``BadTLP``), in the kernel's three classes.

    ``masked``: errors of a link that the device does not report, so that their counters stay as they are.
    """

    correctable: Mapping[str, int]
    nonfatal: Mapping[str, int]
    fatal: Mapping[str, int]
    masked: tuple[str, ...] = ()

    def growth_since(self, before: AerCounters) -> dict[str, int]:
        """Return the growth by ``class name``. What was not there before counts from 0, as all do that began again."""
        old = {} if self.began_again_since(before) else before._by_name()
        found = {name: count - old.get(name, 0) for name, count in self._by_name().items()}
        return {name: growth for name, growth in found.items() if growth}

    def began_again_since(self, before: AerCounters) -> bool:
        """Is a counter less than before? The kernel counts a device from 0 that was removed and found again."""
        old = before._by_name()
        return any(count < old.get(name, 0) for name, count in self._by_name().items())

    def _by_name(self) -> dict[str, int]:
        classes = {"correctable": self.correctable, "nonfatal": self.nonfatal, "fatal": self.fatal}
        return {f"{kind} {name}": count for kind, counts in classes.items() for name, count in counts.items()}
