"""The software of the card: the driver of each operating system, its packages and tunables, and the firmware."""

from __future__ import annotations

import re
from enum import Enum
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from niclab.bench.records import OperatingSystem
from niclab.card.kernels import ByKernel
from niclab.card.offload_facts import TcpOffloadFacts
from niclab.card.settings_facts import ChannelFacts, CoalescingFacts, Mtu, PauseFacts, RingFacts
from niclab.card.values import UNKNOWN, FirmwareShape, Module, PackageName, Section, Tunable, Unknown
from niclab.card.versions import VersionLists, VersionOrder, Versions, VersionSpec, VersionVerdict
from niclab.core.verdict import Undecided
from niclab.files.types import Record, Text, Wanted

_PLACEHOLDER = re.compile(r"\{(interface|pci|image|file)\}")


def _check_command(line: str) -> str:
    rest = _PLACEHOLDER.sub("", line)
    if not {"image", "file"} & set(_PLACEHOLDER.findall(line)) or not rest.strip() or not rest.isprintable():
        raise ValueError("no command for an image")
    if set("{}") & set(rest):
        raise ValueError("other braces")
    return line


def _check_words(pattern: str) -> str:
    re.compile(pattern)
    return pattern


FileName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"), Wanted("a file name without a directory")
]


CommandLine = Annotated[
    str,
    AfterValidator(_check_command),
    Wanted(
        "one line for sh with {image} or {file} in it, and no braces apart from {interface}, {pci}, {image}, {file}"
    ),
]
Program = Annotated[
    str,
    StringConstraints(pattern=r"^(/[A-Za-z0-9_.+-]+)*/?[A-Za-z0-9_.+-]+$"),
    Wanted("the name of a program, such as bash, or its path from the root"),
]
Words = Annotated[
    str,
    StringConstraints(pattern=r"\S"),
    AfterValidator(_check_words),
    Wanted("a regular expression in quotes, of the words of a tool"),
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
    DEVLINK = "devlink"
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


class FlashCommand(Section):
    """A tool of the vendor that writes firmware. The lab's staff puts it on the server.

    ``line``: what the shell runs for each port: ``{interface}`` and ``{pci}`` are the port, ``{image}`` is the path of
    the image, ``{file}`` its name alone. ``needs``: programs without which it does not work, by name or path.
    ``refused``: regular expression of the words by which it says that the card refuses an image; without it no end of
    the tool counts against the card. ``unsupported``: of those by which it says that it does not support the system.
    """

    line: CommandLine
    needs: Annotated[tuple[Program, ...], Field(min_length=1)]
    refused: Words | None = None
    unsupported: Words | None = None


class PowerLoss(Section):
    """A loss of power while an image is written, and what the maker says of it.

    ``survives``: the card takes an image again afterwards. The lab cuts the power on purpose where this is true, which
    may destroy a card of which it is not.
    """

    survives: Annotated[bool | Unknown, Wanted(f"true, false, or {UNKNOWN}")]


class FirmwareUpdate(Section):
    """The tool that writes firmware, and the event after which it runs.

    ``command``: the vendor's tool. ``foreign_image``: an image of another card, which must be refused.
    ``power_loss``: left out, the power is never cut while an image is written.
    """

    tool: Annotated[FlashTool, Wanted("ethtool, devlink, vendor, host-loaded or unknown")]
    command: FlashCommand | None = None
    activation: Annotated[Activation | Unknown, Wanted(f"driver-reload, reset, power-cycle, or {UNKNOWN}")]
    images: tuple[FirmwareImage, ...] = ()
    foreign_image: FileName | None = None
    within_s: Annotated[int, Field(ge=1, le=3600), Wanted("whole seconds 1..3600")] | None = None
    power_loss: PowerLoss | None = None


class FirmwarePair(Section):
    """Firmware that goes with versions of a driver.

    ``driver``: versions as the ports report them; a number may have a word behind it. ``firmware``: one of these must
    run with it, in the order of the firmware's own lists.
    """

    os: Annotated[OperatingSystem, Wanted("linux or freebsd")]
    driver: Versions
    firmware: Versions

    def has_driver(self, version: str) -> bool:
        """Is this a version of the driver that the pair is about?

        Raises:
            Undecided: When ``version`` cannot be compared with a range of the pair.
        """
        lists = VersionLists(required=self.driver, order=VersionOrder.NUMBERS_SUFFIX)
        return lists.verdict(version) is VersionVerdict.REQUIRED


class Firmware(VersionLists, Section):
    """Firmware versions as ``ethtool -i`` (Linux) or the driver's sysctl (FreeBSD) prints them.

    ``shape``: how the whole string is built, where it holds more than the version; the group ``version`` is judged, the
    group ``flashed`` is what runs after the next activation.
    ``example``: such a string. ``with_driver``: the firmware that some versions of the driver ask for.
    """

    shape: FirmwareShape | None = None
    example: Text | None = None
    with_driver: tuple[FirmwarePair, ...] = ()
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
    driver takes another MTU, or shows flow control or the firmware in another way. ``tcp_offload``: the card's own
    TCP, where its system has an interface for it.
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
    tcp_offload: TcpOffloadFacts | None = None


class Drivers(Record):
    """The drivers, one for each operating system that has one."""

    linux: Driver | None = None
    freebsd: Driver | None = None
