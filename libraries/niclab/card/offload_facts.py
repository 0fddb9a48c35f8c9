"""The offload table: every capability, what it is called, whether it can be changed, and what changing it does."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from pydantic import Field, StringConstraints

from niclab.bench.records import OperatingSystem
from niclab.card.kernels import ByKernel
from niclab.card.values import UNKNOWN, CounterName, Module, Percent, Section, Switch, Unknown, Word
from niclab.files.types import Record, Text, Wanted

_OFFLOADS = "rx-checksum, tx-checksum, scatter-gather, tso4, tso6, lro, gro, gso, vlan-insert, vlan-strip, vlan-filter,"
_MORE = "vlan-mtu, vlan-checksum, vlan-tso, jumbo-mtu, rx-hash, ntuple or toe"


class OffloadName(Enum):
    """The neutral names of offloads, the same for every card and operating system."""

    RX_CHECKSUM = "rx-checksum"
    TX_CHECKSUM = "tx-checksum"
    SCATTER_GATHER = "scatter-gather"
    TSO4 = "tso4"
    TSO6 = "tso6"
    LRO = "lro"
    GRO = "gro"
    GSO = "gso"
    VLAN_INSERT = "vlan-insert"
    VLAN_STRIP = "vlan-strip"
    VLAN_FILTER = "vlan-filter"
    VLAN_MTU = "vlan-mtu"
    VLAN_CHECKSUM = "vlan-checksum"
    VLAN_TSO = "vlan-tso"
    JUMBO_MTU = "jumbo-mtu"
    RX_HASH = "rx-hash"
    NTUPLE = "ntuple"
    TOE = "toe"


class Changeable(Enum):
    """The ways in which an offload can be changed."""

    BOTH = "both"
    NOT_OFF = "not-off"
    NOT_ON = "not-on"
    FIXED = "fixed"


NamedOffload = Annotated[OffloadName, Wanted(f"{_OFFLOADS} {_MORE}")]


class Proof(Record):
    """Counters that prove an offload was used.

    ``counter`` alone: it grows while the offload is used, and does not grow while it is not. With ``per``: the two grow
    together, and ``counter`` grows at least ``at_least`` times as much while the offload is used.
    """

    counter: CounterName
    per: CounterName | None = None
    at_least: Annotated[float, Field(gt=1, le=65536), Wanted("a number more than 1 and at most 65536")] | None = None


class LinuxOffload(Record):
    """``word``: its name in ``ethtool -k``; ``set_word``: the one for ``ethtool -K`` where it is another."""

    word: Word
    set_word: Word | None = None
    default: Annotated[Switch, ByKernel()]
    change: Annotated[Changeable | Unknown, Wanted(f"both, not-off, not-on, fixed, or {UNKNOWN}"), ByKernel()]
    clears: tuple[NamedOffload, ...] = ()
    proof: Proof | None = None

    @property
    def shown_as(self) -> str:
        """The name under which the system shows it."""
        return self.word

    @property
    def set_with(self) -> str | None:
        """The word that switches it; None when there is none."""
        return self.set_word or self.word


class FreebsdOffload(Record):
    """``label`` and ``bit``: of the options word of ``ifconfig``; ``set_words``: what sets it, if anything."""

    label: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9_]+$"), Wanted("a label in capitals, such as TSO4")]
    bit: Annotated[int, Field(ge=0, le=63), Wanted("a bit 0..63")]
    set_words: tuple[Word, ...] = ()
    default: Switch
    change: Annotated[Changeable | Unknown, Wanted(f"both, not-off, not-on, fixed, or {UNKNOWN}")]
    clears: tuple[NamedOffload, ...] = ()
    proof: Proof | None = None

    @property
    def shown_as(self) -> str:
        """The name under which the system shows it."""
        return self.label

    @property
    def set_with(self) -> str | None:
        """The word that switches it; None when there is none."""
        return self.set_words[0] if self.set_words else None


class Offload(Record):
    """A row: an offload as each operating system has it; ``clears``: the offloads that go off together with it."""

    name: NamedOffload
    linux: LinuxOffload | None = None
    freebsd: FreebsdOffload | None = None


class Placement(Section):
    """Direct placement: the card writes what it receives into the memory of the program that reads it.

    ``before_release``: the first release of the system in which read(2) has nothing placed any more. ``buffer_bytes``:
    the most that a receive buffer of the driver takes of what is not placed. ``saves_percent_of_nic``,
    ``saves_percent_of_toe``: the receiver's CPU falls by at least so much, against the system's TCP and against the
    card's without placement.
    """

    before_release: Annotated[int, Field(ge=9, le=99), Wanted("a release 9..99")] | None = None
    buffer_bytes: Annotated[int, Field(ge=2048, le=65536), Wanted("bytes of a receive buffer, 2048..65536")]
    saves_percent_of_nic: Percent
    saves_percent_of_toe: Percent


class TcpOffloadFacts(Section):
    """TCP that the card does itself (TOE), once ``module`` is loaded and the offload ``toe`` is on."""

    module: Module
    placement: Placement | None = None


class RefusedWord(Section):
    """A word that must be refused, and why anybody would try it."""

    os: Annotated[OperatingSystem, Wanted("linux or freebsd")]
    word: Word
    why: Text


class Offloads(Section):
    """The whole table, and the words that must be refused."""

    table: Annotated[tuple[Offload, ...], Field(min_length=1)]
    refused: tuple[RefusedWord, ...] = ()

    def rows(self, system: OperatingSystem) -> dict[OffloadName, LinuxOffload | FreebsdOffload]:
        """The rows an operating system has, by name, in the order of the table."""
        pairs = [(row.name, row.linux if system is OperatingSystem.LINUX else row.freebsd) for row in self.table]
        return {name: row for name, row in pairs if row is not None}
