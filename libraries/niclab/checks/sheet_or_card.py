"""Differences between a card sheet and a card that is in a server: asked before a run, when either may be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from niclab.bench.records import OperatingSystem
from niclab.card import (
    AnySubsystem,
    Card,
    Changeable,
    ChannelFacts,
    CoalescingFacts,
    Ring,
    RingFacts,
    Unknown,
    VersionVerdict,
)
from niclab.checks.seen import Seen
from niclab.core.verdict import Undecided


@dataclass(frozen=True)
class Disagreement:
    """A fact that the sheet and the card have differently."""

    field: str
    sheet: object
    shown: object

    def __str__(self) -> str:
        return f"{self.field}: the sheet says {_said(self.sheet)}, the card shows {_said(self.shown)}"


def disagreements(card: Card, system: OperatingSystem, seen: Seen) -> list[Disagreement]:
    """Compare a sheet with what a server shows of one port of a card, as its driver was left.

    Args:
        card: The sheet, with the facts of the server's kernel.
        system: The server's operating system.
        seen: The port.
    """
    facts = [*_identity(card, seen), *_software(card, system, seen), *_bus_and_link(card, seen)]
    facts += [*_rings(card, system, seen), *_coalescing(card, system, seen), *_channels(card, system, seen)]
    facts += [*_pause(card, seen), *_mtu(card, seen), *_offloads(card, system, seen)]
    return [
        Disagreement(field, sheet, shown)
        for field, sheet, shown in facts
        if sheet != shown and sheet is not None and not isinstance(sheet, Unknown)
    ]


Fact = tuple[str, object, object]


def _identity(card: Card, seen: Seen) -> Iterator[Fact]:
    identity, device = card.identity, seen.device
    yield "identity.vendor_id", identity.vendor_id, device.vendor_id
    yield "identity.device_id", identity.device_id, device.device_id
    if device.class_code is not None:
        yield "identity.pci_class", identity.pci_class[:4], device.class_code[:4]
    if not isinstance(identity.subsystems, AnySubsystem):
        own = f"{device.subvendor}:{device.subdevice}"
        yield "identity.subsystems", own if own in identity.subsystems else identity.subsystems, own


def _software(card: Card, system: OperatingSystem, seen: Seen) -> Iterator[Fact]:
    if seen.driver is None:
        return
    if system is OperatingSystem.LINUX and card.drivers.linux is not None:
        yield "drivers.linux.module", card.drivers.linux.module, seen.driver.driver
    if seen.driver.firmware and card.firmware.is_known:
        yield "firmware", "one that its lists require or allow", _judged(card, seen.driver.firmware)


def _judged(card: Card, firmware: str) -> str:
    """The sheet's own words when its lists take the firmware, else the firmware and what they say."""
    try:
        verdict = card.firmware.verdict(card.firmware.read(firmware))
    except Undecided as error:
        return str(error)
    good = verdict in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED)
    return "one that its lists require or allow" if good else f"{firmware}, which is {verdict.value}"


def _bus_and_link(card: Card, seen: Seen) -> Iterator[Fact]:
    device = seen.device
    if card.pcie is not None and device.lnkcap_gts is not None:
        yield "pcie.speed_gts", card.pcie.speed_gts, device.lnkcap_gts
        yield "pcie.width", card.pcie.width, device.lnkcap_width
    if seen.link is not None and seen.link.link:
        yield "link.speed_mbps", card.link.speed_mbps, seen.link.speed_mbps
        yield "link.duplex", card.link.duplex, seen.link.duplex
        yield "link.autoneg", card.link.autoneg, seen.link.autoneg


def _rings(card: Card, system: OperatingSystem, seen: Seen) -> Iterator[Fact]:
    section = card.of_driver("rings", system)
    if not isinstance(section, RingFacts):
        return
    for name in ("rx", "rx_mini", "rx_jumbo", "tx"):
        ring: Ring | None = getattr(section, name)
        if ring is None or isinstance(ring.max, Unknown):
            continue
        if seen.rings is None:
            yield f"rings.{name}", "a size", seen.hidden["rings"]
            continue
        now = getattr(seen.rings.current, name)
        queues = seen.channels.current.combined if seen.channels is not None else None
        sizes = ring.delivered(queues or 1)
        yield f"rings.{name}.max", ring.max, getattr(seen.rings.max, name)
        if sizes:
            yield f"rings.{name}.default", now if now in sizes else sizes[0], now


def _coalescing(card: Card, system: OperatingSystem, seen: Seen) -> Iterator[Fact]:
    section = card.of_driver("coalescing", system)
    if not isinstance(section, CoalescingFacts):
        return
    if seen.coalescing is None:
        if section.parameters:
            yield "coalescing", "parameters", seen.hidden["coalescing"]
        return
    yield "coalescing.adaptive_rx", section.adaptive_rx, seen.coalescing.adaptive_rx
    yield "coalescing.adaptive_tx", section.adaptive_tx, seen.coalescing.adaptive_tx
    moving = bool(seen.coalescing.adaptive_rx or seen.coalescing.adaptive_tx)
    listed = {row.name: row for row in section.parameters}
    for name, row in listed.items():
        value = seen.coalescing.parameters.get(name)
        if isinstance(row.default, Unknown):
            yield f"coalescing.{name}.default", "a value", "a value" if value is not None else None
        elif value is None or not moving:
            yield f"coalescing.{name}.default", row.default, value
    for name, value in seen.coalescing.parameters.items():
        if value is not None and name not in listed and system is OperatingSystem.LINUX:
            yield f"coalescing.{name}", "no such parameter", value


def _channels(card: Card, system: OperatingSystem, seen: Seen) -> Iterator[Fact]:
    section = card.of_driver("channels", system)
    if not isinstance(section, ChannelFacts):
        return
    for kind in ("rx", "tx", "combined"):
        queues = getattr(section, kind)
        if queues is not None and seen.channels is None:
            yield f"channels.{kind}", "queues", seen.hidden["channels"]
        elif queues is not None and seen.channels is not None:
            yield f"channels.{kind}.max", queues.max, getattr(seen.channels.max, kind)
            yield f"channels.{kind}.default", queues.default, getattr(seen.channels.current, kind)
        elif seen.channels is not None and getattr(seen.channels.max, kind):
            yield f"channels.{kind}", "none", getattr(seen.channels.max, kind)


def _pause(card: Card, seen: Seen) -> Iterator[Fact]:
    if card.pause is None or seen.pause is None:
        return
    for name in ("autoneg", "rx", "tx"):
        yield f"pause.{name}", getattr(card.pause, name), getattr(seen.pause, name)


def _mtu(card: Card, seen: Seen) -> Iterator[Fact]:
    if card.mtu is not None and seen.interface is not None:
        yield "mtu.default", card.mtu.default, seen.interface.mtu


def _offloads(card: Card, system: OperatingSystem, seen: Seen) -> Iterator[Fact]:
    if card.offloads is None or seen.features is None:
        return
    for name, row in card.offloads.rows(system).items():
        where = f"offloads.{name.value}"
        if row.shown_as not in seen.features.features:
            yield where, row.shown_as, "no such feature"
            continue
        feature = seen.features[row.shown_as]
        yield f"{where}.default", row.default, feature.on
        if system is OperatingSystem.LINUX and isinstance(row.change, Changeable):
            fixed = row.change is Changeable.FIXED
            yield f"{where}.change", "fixed" if fixed else "settable", "fixed" if feature.fixed else "settable"


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(getattr(value, "value", value))
