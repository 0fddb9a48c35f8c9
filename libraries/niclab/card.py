"""The card sheet: what a card must be, and where each fact comes from.

A fact that nobody knows stands as ``unknown``, never as a guess: the check that needs it is then not applicable.
:meth:`Card.known` turns it into that verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from itertools import zip_longest
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Discriminator, Field, StringConstraints, Tag

from niclab.bench import OperatingSystem
from niclab.fieldtypes import Name, Record, Text, Wanted, one_of, refuse_if
from niclab.verdict import BenchFault, NotApplicable, Undecided
from niclab.yamlfile import REPOSITORY, Problem, Sheet, load, shown_file

T = TypeVar("T")

CARDS = REPOSITORY / "lab" / "cards"


class Unknown(Enum):
    """A fact that is not known."""

    UNKNOWN = "unknown"


class AnySubsystem(Enum):
    """Every subsystem will do."""

    ANY = "any"


class Duplex(Enum):
    FULL = "full"
    HALF = "half"


class VersionVerdict(Enum):
    """What a sheet says about a version. UNKNOWN: nothing, the version is in none of its lists."""

    REQUIRED = "required"
    ALLOWED = "allowed"
    FORBIDDEN = "forbidden"
    UNKNOWN = "unknown"


class IncomparableVersions(ValueError):
    """Two versions whose order cannot be told."""


@dataclass(frozen=True)
class Version:
    """A version of numbers joined by dots and dashes, such as ``4.9.416.0`` or ``1.8-0``.

    Compared number by number, a missing number counting as 0, and only where both have the same marks between the
    numbers (``1.8-0`` against ``1.8`` but not against ``1.8.0``). A number with a leading zero is refused: ``6.01`` may
    be meant as a decimal, and then ``6.1`` is not the same.
    """

    numbers: tuple[int, ...]
    marks: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Version:
        """:raises IncomparableVersions: when ``text`` has another shape."""
        if not re.fullmatch(r"(0|[1-9][0-9]*)([.-](0|[1-9][0-9]*))*", text, re.ASCII):
            raise IncomparableVersions(f"{text!r} is not numbers joined by . and - (no leading zeros)")
        return cls(tuple(int(number) for number in re.split("[.-]", text)), tuple(re.findall("[.-]", text)))

    def compare(self, other: Version) -> int:
        """-1, 0 or 1 when this version is before, the same as, or after ``other``.

        :raises IncomparableVersions: when their marks differ.
        """
        if any(mine != theirs for mine, theirs in zip(self.marks, other.marks, strict=False)):
            raise IncomparableVersions(f"{self} and {other} have different shapes")
        pairs = list(zip_longest(self.numbers, other.numbers, fillvalue=0))
        mine, theirs = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        return (mine > theirs) - (mine < theirs)

    def __str__(self) -> str:
        return str(self.numbers[0]) + "".join(
            f"{mark}{number}" for mark, number in zip(self.marks, self.numbers[1:], strict=True)
        )


@dataclass(frozen=True)
class VersionRange:
    """Bounds on a version, all of which must hold: ``>=1.8, <3``."""

    text: str
    bounds: tuple[tuple[str, Version], ...]

    @classmethod
    def parse(cls, text: str) -> VersionRange:
        """:raises ValueError: when ``text`` is no range, holds no version, or its bounds cannot be compared."""
        bounds = []
        for part in text.split(","):
            match = re.fullmatch(r"\s*(>=|<=|>|<)\s*(\S+)\s*", part)
            if match is None:
                raise ValueError(f"{part.strip()!r} is not one of >= <= > < and a version")
            bounds.append((match[1], Version.parse(match[2])))
        lower = [bound for bound in bounds if bound[0][0] == ">"]
        upper = [bound for bound in bounds if bound[0][0] == "<"]
        if len(lower) > 1 or len(upper) > 1:
            raise ValueError(f"{text!r} has two lower or two upper bounds")
        if lower and upper:
            order = lower[0][1].compare(upper[0][1])
            if order > 0 or (order == 0 and (lower[0][0], upper[0][0]) != (">=", "<=")):
                raise ValueError(f"no version is in {text!r}")
        return cls(text, tuple(bounds))

    def __contains__(self, version: str) -> bool:
        """:raises IncomparableVersions: when ``version`` and a bound cannot be compared."""
        have = Version.parse(version)
        orders = [(sign, have.compare(bound)) for sign, bound in self.bounds]
        return all((order == 0 and "=" in sign) or order == (1 if sign[0] == ">" else -1) for sign, order in orders)


def _is_range(spec: str) -> bool:
    return spec.startswith((">", "<"))


def matches(version: str, spec: str) -> bool:
    """True when ``version`` is what ``spec`` describes: the exact same text, or a version in that range.

    :raises IncomparableVersions: when ``spec`` is a range that ``version`` cannot be compared with.
    """
    return version in VersionRange.parse(spec) if _is_range(spec) else version == spec


def _check_spec(spec: str) -> str:
    if spec != spec.strip() or spec == Unknown.UNKNOWN.value:
        raise ValueError("no version")
    if _is_range(spec):
        VersionRange.parse(spec)
    return spec


def _word_or_list(value: Any) -> str:
    return "list" if isinstance(value, list | tuple) else "word"


def _is_no_source(text: str) -> bool:
    return text.strip().lower() in ("unknown", "?", "-", "tbd")


Source = Annotated[
    str,
    StringConstraints(pattern=r"\S"),
    refuse_if(_is_no_source),
    Wanted("where the facts come from: document and page, house rule and reason, or measurement and date"),
]
VersionSpec = Annotated[
    str,
    StringConstraints(pattern=r"\S"),
    AfterValidator(_check_spec),
    Wanted('an exact version such as "1.8-0", or a range such as ">=1.8, <3", in quotes'),
]
Versions = Annotated[tuple[VersionSpec, ...], Field(min_length=1)]
UnknownWord = Annotated[Unknown, Wanted("unknown, or a list of at least one version")]
PciId = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{4}$"), Wanted('4 lower-case hex digits in quotes, such as "8086"')
]
Subsystem = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{4}:[0-9a-f]{4}$"),
    Wanted('a subsystem vendor:device in lower-case hex, in quotes, such as "8086:a01f"'),
]
Subsystems = Annotated[
    Annotated[Annotated[AnySubsystem, Wanted("any, or a list of subsystems")], Tag("word")]
    | Annotated[Annotated[tuple[Subsystem, ...], Field(min_length=1)], Tag("list")],
    Discriminator(_word_or_list),
]
Count = Annotated[int, Field(ge=1, le=64), Wanted("a number 1..64")]
Module = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$"), Wanted("the name of a kernel module")]
SpeedGts = Annotated[
    Annotated[float, one_of(2.5, 5, 8, 16, 32, 64)] | Unknown,
    Wanted("2.5, 5, 8, 16, 32 or 64 (GT/s, PCI Express generations 1 to 6), or unknown"),
]
Lanes = Annotated[
    Annotated[int, one_of(1, 2, 4, 8, 12, 16, 32)] | Unknown, Wanted("1, 2, 4, 8, 12, 16 or 32 lanes, or unknown")
]
SpeedMbps = Annotated[
    Annotated[int, Field(ge=10, le=1_600_000)] | Unknown, Wanted("a link speed of 10..1600000 Mbit/s, or unknown")
]
Fraction = Annotated[
    Annotated[float, Field(gt=0, le=1)] | Unknown,
    Wanted("a fraction of line rate, more than 0 and at most 1, or unknown"),
]
Milliseconds = Annotated[
    Annotated[int, Field(ge=1, le=600_000)] | Unknown, Wanted("whole milliseconds 1..600000, or unknown")
]


class Section(Record):
    """A section of a sheet; ``source`` says where its facts come from."""

    source: Source


class VersionLists(Record):
    """Which versions are required, allowed and forbidden.

    ``required``: one of these must run; ``unknown``: nobody knows which.
    """

    required: Annotated[
        Annotated[UnknownWord, Tag("word")] | Annotated[Versions, Tag("list")], Discriminator(_word_or_list)
    ]
    allowed: Versions | None = None
    forbidden: Versions | None = None

    @property
    def is_known(self) -> bool:
        """False when the sheet names no version at all, so that no version can be judged."""
        return any(specs for _, specs in self._lists())

    def verdict(self, version: str) -> VersionVerdict:
        """What the lists say about ``version``; forbidden wins over required, required over allowed.

        :raises Undecided: when ``version`` is blank, or cannot be compared with a range of a list that must be asked.
        """
        if not version.strip():
            raise Undecided("no version was read, so nothing can be said about it")
        try:
            for verdict, specs in self._lists():
                exact = any(version == spec for spec in specs)
                if exact or any(matches(version, spec) for spec in specs):
                    return verdict
        except IncomparableVersions as error:
            raise Undecided(f"version {version!r} cannot be judged: {error}") from error
        return VersionVerdict.UNKNOWN

    def contradictions(self) -> Iterator[tuple[str, int, str]]:
        """List, index and reason of every exact version that a stronger list claims, or cannot be compared with.

        (A forbidden exact version inside a required or allowed range is an exception to it, and no contradiction.)
        """
        stronger: list[tuple[VersionVerdict, str]] = []
        for verdict, specs in self._lists():
            for index, spec in enumerate(specs):
                for other, claim in stronger:
                    reason = "" if _is_range(spec) else _clash(spec, claim, other)
                    if reason:
                        yield verdict.value, index, reason
            stronger += [(verdict, spec) for spec in specs]

    def _lists(self) -> Iterator[tuple[VersionVerdict, tuple[str, ...]]]:
        """The lists, the strongest first."""
        yield VersionVerdict.FORBIDDEN, self.forbidden or ()
        yield VersionVerdict.REQUIRED, () if isinstance(self.required, Unknown) else self.required
        yield VersionVerdict.ALLOWED, self.allowed or ()


def _clash(version: str, claim: str, claimed_as: VersionVerdict) -> str:
    try:
        return f"{version} is {claimed_as.value} too ({claim})" if matches(version, claim) else ""
    except IncomparableVersions as error:
        return f"{version} cannot be compared with {claimed_as.value} {claim}: {error}"


class Identity(Section):
    """How the card shows itself on PCI.

    ``ports``: how many PCI functions with this identity the dut must show; two single-port cards are 2.
    """

    vendor_id: PciId
    device_id: PciId
    subsystems: Subsystems
    ports: Count


class Driver(Section):
    """A driver: either versions of its own, or ``in_kernel``: it comes with the kernel and has the kernel's version."""

    module: Module
    version: VersionLists | None = None
    in_kernel: bool | None = None


class Drivers(Record):
    linux: Driver | None = None
    freebsd: Driver | None = None


class Firmware(VersionLists, Section):
    """Firmware versions as ``ethtool -i`` (Linux) or the driver's sysctl (FreeBSD) prints them."""


class Pcie(Section):
    """The PCIe link the card must train to: GT/s per lane, and lanes."""

    speed_gts: SpeedGts
    width: Lanes


class Link(Section):
    """The network link the card must come up with."""

    speed_mbps: SpeedMbps
    duplex: Annotated[Duplex | Unknown, Wanted("full, half or unknown")]
    autoneg: Annotated[bool | Unknown, Wanted("true, false or unknown")]


class FailoverLimits(Record):
    """How long traffic may be interrupted when a bond loses a link, by the bond's mode."""

    active_backup: Milliseconds


class Limits(Section):
    """What the card must reach. Throughput is a fraction of line rate, so that it holds at every speed and scale."""

    tcp_fraction_of_line_rate: Fraction
    carrier_loss_within_ms: Milliseconds
    carrier_return_within_ms: Milliseconds
    failover_ms: FailoverLimits | None = None


class Foible(Section):
    """A known oddity of the card, for whoever reads its results."""

    text: Text


class Card(Sheet):
    """A whole sheet."""

    card: Name
    description: Text
    identity: Identity
    drivers: Drivers
    firmware: Firmware
    pcie: Pcie
    link: Link
    limits: Limits
    foibles: tuple[Foible, ...] = ()

    @property
    def name(self) -> str:
        """The name messages call the sheet by."""
        return self.card

    def driver(self, system: OperatingSystem) -> Driver:
        """The driver for an operating system.

        :raises NotApplicable: when the sheet has none.
        """
        driver = self.drivers.linux if system is OperatingSystem.LINUX else self.drivers.freebsd
        if driver is None:
            raise NotApplicable(f"sheet {self.name} names no driver for {system.value}")
        return driver

    def known(self, fact: T | Unknown, field: str) -> T:
        """``fact`` when it is known; ``field`` is its name on the sheet, such as ``pcie.width``.

        :raises NotApplicable: when it is unknown.
        """
        if isinstance(fact, Unknown):
            raise NotApplicable(f"sheet {self.name} does not know {field}")
        return fact

    def problems(self) -> Iterator[Problem]:
        """What spans several fields; see :class:`~niclab.yamlfile.Sheet`."""
        if self.card != self.file.stem:
            yield Problem(("card",), f"{self.card} is not the name of the file", self.file.stem)
        if self.drivers.linux is None and self.drivers.freebsd is None:
            yield Problem(("drivers",), "no driver", "linux and/or freebsd")
        versions: list[tuple[tuple[str, ...], VersionLists]] = [(("firmware",), self.firmware)]
        for system in OperatingSystem:
            driver = self.drivers.linux if system is OperatingSystem.LINUX else self.drivers.freebsd
            if driver is None:
                continue
            field = ("drivers", system.value)
            if driver.in_kernel is False:
                yield Problem((*field, "in_kernel"), "false is not wanted", "true, or version instead")
            elif (driver.version is None) == (driver.in_kernel is None):
                found = "neither version nor in_kernel" if driver.version is None else "both version and in_kernel"
                yield Problem(field, found, "version or in_kernel: true")
            if driver.version is not None:
                versions.append(((*field, "version"), driver.version))
        for where, lists in versions:
            for key, index, reason in lists.contradictions():
                yield Problem((*where, key, index), reason, "each version in one list")


def load_card(path_or_name: Path | str) -> Card:
    """Read a card sheet: a path, or the bare name of a sheet in ``lab/cards``.

    :raises BenchFault: with every problem of the file, one a line; for an unknown name, with the known ones.
    """
    text = str(path_or_name)
    if isinstance(path_or_name, Path) or "/" in text or text.endswith((".yaml", ".yml")):
        return load(Path(path_or_name), Card)
    file = CARDS / f"{text}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(sheet.stem for sheet in CARDS.glob("*.yaml"))) or "none"
        raise BenchFault(f"there is no card sheet {text!r} in {shown_file(CARDS)}; wanted: one of: {known}")
    return load(file, Card)
