"""Settings of a port that are changed under traffic: every kind that it offers, in an order drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import OperatingSystem, Port
from niclab.card import (
    At,
    Changeable,
    ChannelFacts,
    CoalescingFacts,
    OffloadName,
    Ring,
    RingFacts,
    Setting,
    SettingKind,
)
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable
from niclab.hosts.host import HostSettings
from niclab.run.run import Run
from niclab.settings.held import COMBINED, require_offered
from niclab.settings.pause import switches

MANY = 8
"""Sizes of rings that are tried are multiples of this: some drivers round others up (e1000e, ixgbe)."""


class ChangeKind(Enum):
    """A kind of setting: what a card may do wrong with one of it, it may do wrong with another."""

    RX_RING = "receive ring"
    TX_RING = "send ring"
    COALESCING = "coalescing"
    PAUSE = "pause frames"
    QUEUES = "number of queues"
    CHECKSUM = "checksums"
    SCATTER_GATHER = "scatter-gather"
    SEGMENTATION = "segmentation"
    MERGING = "receive merging"
    VLAN = "VLAN"
    SIZE = "frame size"
    HASH = "hash and filters"


OFFLOAD_KINDS: Mapping[OffloadName, ChangeKind] = {
    OffloadName.RX_CHECKSUM: ChangeKind.CHECKSUM,
    OffloadName.TX_CHECKSUM: ChangeKind.CHECKSUM,
    OffloadName.VLAN_CHECKSUM: ChangeKind.CHECKSUM,
    OffloadName.SCATTER_GATHER: ChangeKind.SCATTER_GATHER,
    OffloadName.TSO4: ChangeKind.SEGMENTATION,
    OffloadName.TSO6: ChangeKind.SEGMENTATION,
    OffloadName.GSO: ChangeKind.SEGMENTATION,
    OffloadName.VLAN_TSO: ChangeKind.SEGMENTATION,
    OffloadName.GRO: ChangeKind.MERGING,
    OffloadName.LRO: ChangeKind.MERGING,
    OffloadName.VLAN_INSERT: ChangeKind.VLAN,
    OffloadName.VLAN_STRIP: ChangeKind.VLAN,
    OffloadName.VLAN_FILTER: ChangeKind.VLAN,
    OffloadName.VLAN_MTU: ChangeKind.SIZE,
    OffloadName.JUMBO_MTU: ChangeKind.SIZE,
    OffloadName.RX_HASH: ChangeKind.HASH,
    OffloadName.NTUPLE: ChangeKind.HASH,
}
"""The offload of connections is none of them: frames of the tool belong to no connection."""

Candidates = Mapping[ChangeKind, Sequence[Setting]]


@dataclass(frozen=True)
class Draw:
    """The settings that can be changed at a port.

    Attributes:
        candidates: The settings of each kind, each with another value than it has now.
        left_out: What the sheet names and cannot be changed here, with the reason.
    """

    candidates: Candidates
    left_out: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of settings."""
        return sum(map(len, self.candidates.values()))

    def order(self, profile: Profile, seed: int) -> list[Setting]:
        """The settings that are changed, in their order.

        Args:
            profile: ``quick``: one of each kind; ``full``: every one.
            seed: Choice and order follow from it.
        """
        drawn = random.Random(seed)
        chosen = [
            setting
            for settings in self.candidates.values()
            for setting in (settings if profile is Profile.FULL else [drawn.choice(settings)])
        ]
        return drawn.sample(chosen, len(chosen))


@dataclass(frozen=True)
class _Place:
    """The port that is asked."""

    run: Run
    port: Port

    @property
    def system(self) -> OperatingSystem:
        return self.run.server_of(self.port).description.os

    @property
    def settings(self) -> HostSettings:
        return self.run.server_of(self.port).host.settings

    @property
    def iface(self) -> str:
        return self.run.interface(self.port)


Found = Iterator[tuple[ChangeKind, Setting] | str]
"""Settings of a section of the sheet, and in words what of it cannot be tried."""


def of_port(run: Run, port: Port) -> Draw:
    """Find the settings that can be changed at a port of the dut. Nothing is changed.

    Args:
        run: The current run.
        port: The port.
    """
    candidates, left_out = dict[ChangeKind, list[Setting]](), list[str]()
    for section in (_rings, _coalescing, _pause_frames, _queues, _offloads):
        try:
            found = list(section(_Place(run, port)))
        except NotApplicable as error:
            left_out.append(str(error))
            continue
        left_out += [each for each in found if isinstance(each, str)]
        for kind, setting in [each for each in found if not isinstance(each, str)]:
            try:
                require_offered(run, port, setting)
                candidates.setdefault(kind, []).append(setting)
            except NotApplicable as error:
                left_out.append(f"{setting}: {error}")
    return Draw(candidates, tuple(left_out))


def _rings(place: _Place) -> Found:
    facts = place.run.card.of_driver("rings", place.system)
    if not isinstance(facts, RingFacts) or not facts.settable:
        return
    now = place.settings.rings(place.iface).current
    named = {"rx": facts.rx, "rx_mini": facts.rx_mini, "rx_jumbo": facts.rx_jumbo, "tx": facts.tx}
    for name, ring in named.items():
        kind = ChangeKind.TX_RING if name == "tx" else ChangeKind.RX_RING
        for size in _sizes(ring) if ring else ():
            if size != getattr(now, name):
                yield kind, _setting(SettingKind.RING, name, size)


def _sizes(ring: Ring) -> Sequence[int]:
    if not isinstance(ring.max, int):
        return ()
    least = [ring.min] if isinstance(ring.min, int) else []
    return [*least, ring.max // 2 // MANY * MANY, ring.max]


def _coalescing(place: _Place) -> Found:
    facts = place.run.card.of_driver("coalescing", place.system)
    if not isinstance(facts, CoalescingFacts) or not facts.parameters:
        return
    now = place.settings.coalescing(place.iface).parameters
    for row in facts.parameters:
        if row.settable is False:
            continue
        if row.settable is not True:
            yield f"coalescing {row.name}: sheet {place.run.card.name} does not know whether it can be set"
        elif not isinstance(row.max, int):
            yield f"coalescing {row.name}: sheet {place.run.card.name} knows no largest value of it"
        else:
            value = row.max // 2 if now.get(row.name) != row.max // 2 else row.max
            yield ChangeKind.COALESCING, _setting(SettingKind.COALESCING, row.name, value)


def _pause_frames(place: _Place) -> Found:
    facts = place.run.card.pause
    if facts is None or not facts.settable:
        return
    now = switches(place.settings.pause(place.iface))
    for name in ("rx", "tx"):
        yield ChangeKind.PAUSE, _setting(SettingKind.PAUSE, name, not now[name])


def _queues(place: _Place) -> Found:
    """One queue, half of the present ones, and the most that the port shows: it may show more than the sheet knows."""
    facts = place.run.card.of_driver("channels", place.system)
    if not isinstance(facts, ChannelFacts) or not facts.settable or facts.combined is None:
        return
    shown = place.settings.channels(place.iface)
    now, most = shown.current.combined or 0, shown.max.combined or 0
    for number in sorted({1, now // 2, most} - {0, now}):
        yield ChangeKind.QUEUES, _setting(SettingKind.QUEUES, COMBINED, number)


def _offloads(place: _Place) -> Found:
    if place.run.card.offloads is None:
        return
    now = place.settings.features(place.iface)
    for name, row in place.run.card.offloads.rows(place.system).items():
        if row.change is Changeable.BOTH and name in OFFLOAD_KINDS:
            yield OFFLOAD_KINDS[name], _setting(SettingKind.OFFLOAD, name.value, not now[row.shown_as].on)


def _setting(kind: SettingKind, name: str, to: int | bool) -> Setting:
    return Setting(kind=kind, name=name, to=to, at=At.SENDER)
