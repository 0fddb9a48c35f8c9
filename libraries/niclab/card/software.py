"""The software of the card: the driver of each operating system, its packages and tunables, and the firmware."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated

from pydantic import Field, StringConstraints

from niclab.card.kernels import ByKernel
from niclab.card.settings_facts import ChannelFacts, CoalescingFacts, Mtu, PauseFacts, RingFacts
from niclab.card.values import UNKNOWN, FirmwareShape, Module, PackageName, Section, Tunable, Unknown
from niclab.card.versions import VersionLists, VersionSpec
from niclab.core.verdict import Undecided
from niclab.files.types import Record, Text, Wanted

FileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"), Wanted("a file name without a directory")
]


KeyId = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{16}$"), Wanted('16 hexadecimal digits, as "a3e07a792e450a70", in quotes')
]


class TunableWhere(Enum):
    """The place where a tunable of a driver is read."""

    SYSCTL = "sysctl"
    MODULE_PARAMETER = "module-parameter"


class Activation(Enum):
    """The event that makes flashed firmware run."""

    DRIVER_RELOAD = "driver-reload"
    RESET = "reset"
    POWER_CYCLE = "power-cycle"


class FlashTool(Enum):
    """The tool that writes firmware. HOST_LOADED: none does, the driver loads it from a file each time it starts."""

    ETHTOOL = "ethtool"
    VENDOR = "vendor"
    HOST_LOADED = "host-loaded"
    UNKNOWN = "unknown"


class TunableFact(Section):
    """A tunable of the driver: the default its manual promises, and the one the driver really has (EMX-05)."""

    name: Text
    where: Annotated[TunableWhere, Wanted("sysctl or module-parameter")]
    documented_default: Tunable
    actual_default: Tunable


class PackageFacts(VersionLists, Section):
    """The vendor's driver package. ``required``, ``allowed``, ``forbidden``: versions of the *package*.

    ``previous``: the version that is upgraded from and rolled back to. ``module_version_differs``: the module reports
    another version than its package (EMX-03); else they must agree. ``signed_by``: the id of the key that the package
    is signed with, asked where packages are signed one by one (rpm).
    """

    name: PackageName
    previous: Text | None = None
    architecture: Text | None = None
    module_version_differs: bool = False
    signed_by: KeyId | None = None


class FirmwareImage(Record):
    """A firmware image in ``/lib/firmware`` of a Linux server, ``/boot/firmware`` of one of FreeBSD's.

    ``version``: what runs once it is active.
    """

    version: VersionSpec
    file: FileName


class FirmwareUpdate(Section):
    """The tool that writes firmware, and the event after which it runs.

    ``foreign_image``: an image of another card, which must be refused.
    """

    tool: Annotated[FlashTool, Wanted("ethtool, vendor, host-loaded or unknown")]
    activation: Annotated[Activation | Unknown, Wanted(f"driver-reload, reset, power-cycle, or {UNKNOWN}")]
    images: tuple[FirmwareImage, ...] = ()
    foreign_image: FileName | None = None
    within_s: Annotated[int, Field(ge=1, le=3600), Wanted("whole seconds 1..3600")] | None = None


class Firmware(VersionLists, Section):
    """Firmware versions as ``ethtool -i`` (Linux) or the driver's sysctl (FreeBSD) prints them.

    ``shape``: how the whole string is built, where it holds more than the version; the group ``version`` is judged, the
    group ``flashed`` is what runs after the next activation.
    ``example``: such a string.
    """

    shape: FirmwareShape | None = None
    example: Text | None = None
    update: FirmwareUpdate | None = None

    def read(self, text: str) -> str:
        """Return the version in a firmware string.

        Raises:
            Undecided: When ``text`` is not built as the sheet says.
        """
        return text if self.shape is None else self._parts(self.shape, text)["version"] or ""

    def flashed(self, text: str) -> str | None:
        """Return the version that is flashed and does not run yet; None where a firmware string shows none.

        Raises:
            Undecided: When ``text`` is not built as the sheet says.
        """
        return None if self.shape is None else self._parts(self.shape, text).get("flashed")

    def _parts(self, shape: str, text: str) -> dict[str, str | None]:
        match = re.fullmatch(shape, text)
        if match is None:
            raise Undecided(f"firmware {text!r} is not built like {self.example or shape!r}")
        return match.groupdict()


class Driver(Section):
    """A driver: either versions of its own, or ``in_kernel``: it comes with the kernel and has the kernel's version.

    ``load_at_boot``: its manual asks for an entry in the settings of the boot, without which nothing loads it: of
    ``/boot/loader.conf`` on FreeBSD, of ``/etc/modules-load.d`` on Linux.
    ``rings``, ``coalescing``, ``channels``: its numbers, where they are not those of Linux' driver, which are in the
    card's own sections. ``mtu``, ``pause``, ``firmware``: what holds instead of the card's own sections where this
    driver takes another MTU, or shows flow control or the firmware in another way.
    """

    module: Annotated[Module, ByKernel()]
    version: VersionLists | None = None
    in_kernel: bool | None = None
    load_at_boot: bool = False
    package: PackageFacts | None = None
    tunables: tuple[TunableFact, ...] = ()
    rings: RingFacts | None = None
    coalescing: CoalescingFacts | None = None
    channels: ChannelFacts | None = None
    mtu: Mtu | None = None
    pause: PauseFacts | None = None
    firmware: Firmware | None = None


class Drivers(Record):
    """The drivers, one for each operating system that has one."""

    linux: Driver | None = None
    freebsd: Driver | None = None
