"""Records of drivers that a host builds of their source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

TREE = "/var/lib/dkms"
"""The folder of DKMS: dkms(8)."""


@dataclass(frozen=True)
class Source:
    """A source of DKMS, which packages bring as ``/usr/src/NAME-VERSION``."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def place(self) -> str:
        """Its folder in DKMS's tree."""
        return f"{TREE}/{self.name}/{self.version}"


@dataclass(frozen=True)
class InstalledKernel:
    """A kernel that is installed on a host.

    ``headers``: the package that brings what a module of it is built with. ``has_headers``: these are there.
    """

    release: str
    is_running: bool
    has_headers: bool
    headers: str


class BuildEnd(Enum):
    """The end of a build.

    ``EXCLUDED``: the source says that it is not for this kernel. ``NO_SOURCE``: the package brings built modules, and
    none for this kernel. ``NOT_NEWER``: DKMS leaves the kernel's own module, which has the same or a newer version.
    ``OF_DRIVER``: the compiler or the linker names the driver's source. ``OF_SERVER``: the server cannot build any
    module, or lacks room. ``UNCLEAR``: the words name no cause.
    """

    DONE = "done"
    NO_HEADERS = "no headers"
    EXCLUDED = "excluded"
    NO_SOURCE = "no source"
    NOT_NEWER = "not newer"
    OF_DRIVER = "of the driver"
    OF_SERVER = "of the server"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class Build:
    """The end of a build, and the words that name its cause."""

    end: BuildEnd
    words: str = ""
