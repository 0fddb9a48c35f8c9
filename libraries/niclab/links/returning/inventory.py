"""The inventory of a port of the dut, which is the same when the port was gone and is back, and after a start."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from niclab.bench.records import Port, Role
from niclab.checks.asked import Say, dut
from niclab.checks.pcie_party import SPEED, WIDTH, judged
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, Blamed, CardFailure, Charge, NotApplicable, blame_charged, fail_with
from niclab.core.wait import persistent_problems
from niclab.hosts.errors import LookFailed, NoDevice, NoInterface
from niclab.hosts.host_records import LinkSettings, PcieLink
from niclab.hosts.settings.ethtool_records import Channels, Rings
from niclab.links import link_checks, link_speed
from niclab.links.returning.eeprom import EEPROM_BYTES, other_byte
from niclab.run.acquiring.card_start import KeptFromStarting, missing_ports
from niclab.run.acquiring.ready import make_ready
from niclab.run.run import Run

T = TypeVar("T")

APPEARS_WITHIN_S = 30.0
"""Assumption: a server may answer over SSH before its drivers have found every device."""

_IN_ORDER_OF_FINDING = re.compile(r"eth[0-9]+")
"""A name of Linux that says which interface came first, and nothing of the port."""


@dataclass(frozen=True)
class Inventory:
    """The facts that a port shows of itself; those that its driver does not show are left out.

    Attributes:
        identity: Facts that stay, whatever is done to the port, by name.
        chosen: Settings that its driver chooses when it takes the port, by name.
        link: The settings of its link; None where nothing shows its speed, as while it goes and returns.
        eeprom: The first bytes of its EEPROM; None where its driver shows none.
        path: The PCI Express links above it; none on conventional PCI.
    """

    identity: Mapping[str, str]
    chosen: Mapping[str, str]
    link: LinkSettings | None
    eeprom: bytes | None
    path: tuple[PcieLink, ...]


@dataclass(frozen=True)
class _Kept:
    """The inventories of all ports, and the kernel that showed them."""

    kernel: str
    of: Mapping[Port, Inventory]


class Inventories:
    """Compares ports with what they were. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._kept: _Kept | None = None
        self._chosen: dict[tuple[Port, bool], Mapping[str, str]] = {}
        """Port, and whether the dut has booted -> its settings when the run saw that for the first time: others may
        have set what there was before, and what a site sets at boot it need not set when a driver is bound."""

    def look(self, port: Port) -> Inventory:
        """Read the inventory of a port, which is up and has its link.

        Args:
            port: A port of the dut.

        Raises:
            CardFailure: Its EEPROM cannot be read.
            BenchFault: The port is not there, or the dut does not answer.
        """
        run, host, iface = self._run, dut(self._run), self._run.interface(port)
        device, info = host.pci.device(port.pci), host.drivers.driver_info(iface)
        shown, name = host.links.interface(iface), host.pci.interface_at(port.pci, port.index)
        identity = {
            "PCI ids": f"{device.vendor_id}:{device.device_id}, {device.subvendor}:{device.subdevice}",
            "driver": info.driver,
            "driver version": info.version,
            "firmware": info.firmware,
            "interface": None if _IN_ORDER_OF_FINDING.fullmatch(name) else name,
            "MAC address": shown.own_mac,
        }
        rings, channels = _where_shown(host.settings.rings, iface), _where_shown(host.settings.channels, iface)
        chosen = {"rings": _counts(rings), "queues": _counts(channels)}
        path = () if run.card.pcie is None else host.pci.path(port.pci)
        try:
            eeprom = _where_shown(lambda name: host.firmware.eeprom(name, EEPROM_BYTES), iface)
        except LookFailed as error:
            raise CardFailure(f"{port.place}: its EEPROM cannot be read: {error}") from error
        link = host.links.link_settings(iface)
        return Inventory(_known(identity), _known(chosen), link if link.speed_mbps else None, eeprom, path)

    def differences(self, port: Port, before: Inventory, after: str, *, booted: bool = False) -> list[Charge]:
        """Look at a port again, and compare it with what it was.

        Args:
            port: A port of the dut.
            before: What it was.
            after: What has happened to it, for the message.
            booted: Whether that was a start of the dut.

        Returns:
            The differences, and whose they are, nobody's of what is not shown any more; empty when it is as it was.

        Raises:
            CardFailure, BenchFault: As :meth:`look`.
        """
        now = self.look(port)
        subject, source = f"{port.place}: after {after} it", "as before"
        first = self._chosen.setdefault((port, booted), now.chosen)
        found = [*_differences(before.identity, now.identity), *_differences(first, now.chosen)]
        found += other_byte(before.eeprom, now.eeprom)
        troubles = [
            Charge(f"{subject} has {name} {is_now}; expected {was}, {source}", Blamed.CARD)
            for name, was, is_now in found
        ]
        link = now.link or (self._late_link(port) if before.link else None)
        if before.link and link is None:
            text = f"{subject} shows no speed of its link; expected {_speed(before.link)}, {source}"
            troubles.append(Charge(text, None))
        if before.link and link and _speed(before.link) != _speed(link):
            text = f"{subject} has link {_speed(link)}; expected {_speed(before.link)}, {source}"
            troubles.append(Charge(text, *self._party(port, before.link, link)))
        if before.path and not now.path:
            troubles.append(Charge(f"{subject} shows no PCI Express link above it; expected it, {source}", None))
        for measure in (WIDTH, SPEED) if before.path and now.path else ():
            was = min(map(measure.of, before.path))
            said = f"{subject} trained to", f"expected {measure.shown(was)}, {source}"
            troubles += judged(now.path, measure, was, *said)
        return troubles

    def _late_link(self, port: Port) -> LinkSettings | None:
        """The settings of a link that went once more when it had returned; None where nothing shows its speed."""
        links, iface = dut(self._run).links, self._run.interface(port)
        shown = list[LinkSettings]()

        def missing() -> list[str]:
            shown[:] = [links.link_settings(iface)]
            return [] if shown[0].speed_mbps else ["its speed"]

        return None if persistent_problems(missing, within=APPEARS_WITHIN_S) else shown[0]

    def _party(self, port: Port, before: LinkSettings, now: LinkSettings) -> tuple[Blamed | None, str]:
        """The side at fault for a link that is another one than before, and the reason."""
        if not before.speed_mbps or before.speed_mbps == now.speed_mbps:
            return Blamed.CARD, ""
        partner = self._run.bench.partner(port)
        there = self._run.server_of(partner).host.links.link_settings(self._run.interface(partner))
        return link_speed.party(self._run, port, {port: now, partner: there}, before.speed_mbps)

    def keep(self, say: Say) -> None:
        """Keep the inventory of every port of the dut for :meth:`require_as_kept`.

        Args:
            say: Takes what was seen of each link.

        Raises:
            CardFailure: A port of the dut has no link, or its EEPROM cannot be read.
            BenchFault: Only a port of the peer has none, a port is not there, or the dut does not answer.
            Undecided: An answer came too late to decide about a link.
            NotApplicable: The sheet does not know in which time a link comes up.
        """
        self._kept = None
        link_checks.require_up(self._run, say)
        ports = self._run.ports(Role.DUT)
        inventories = dict(zip(ports, side_by_side(self.look, ports), strict=True))
        self._kept = _Kept(dut(self._run).system.kernel(), inventories)

    def make_ready(self, after: str, warn: Callable[[str], object]) -> None:
        """Make the bench ready after a start of the dut; a port that was kept and stays away is the card's.

        Args:
            after: The start, for the message.
            warn: Takes warnings, such as a driver that had to be loaded.

        Raises:
            CardFailure: A port of the dut is missing.
            BenchFault: The bench cannot be made ready.
        """
        try:
            make_ready(self._run, warn)
        except BenchFault as error:
            is_missing = isinstance(error.__cause__, NoDevice | NoInterface) and not isinstance(error, KeptFromStarting)
            if self._kept is None or not is_missing:
                raise
            fail_with(persistent_problems(lambda: self._missing(after), within=APPEARS_WITHIN_S))
            make_ready(self._run, warn)

    def _missing(self, after: str) -> list[str]:
        missing = missing_ports(self._run)
        return [f"{port.place} is missing after {after}: {reason}; expected it, as before" for port, reason in missing]

    def require_as_kept(self, after: str, say: Say) -> None:
        """Compare every port of the dut with what it was, when the dut has started again.

        Args:
            after: The start, for the message.
            say: Takes what was seen of each link, and what is the same of each port.

        Raises:
            CardFailure: A port is not as it was, or has no link in the sheet's time.
            BenchFault: No inventory was kept, another kernel runs, only a port of the peer has no link, or a slot or
                bridge is to blame for a slower link.
            Undecided: An answer came too late to decide, only a link between two bridges is slower, or a port does
                not show its link or the one above it any more.
            NotApplicable: The sheet does not know in which time a link comes up.
        """
        if self._kept is None:
            raise BenchFault("no inventory of the ports was kept: 'Remember Every Port' comes first")
        kernel, before = dut(self._run).system.kernel(), self._kept
        if kernel != before.kernel:
            raise BenchFault(f"dut: runs kernel {kernel} after {after}; expected {before.kernel}, as before")
        link_checks.require_up(self._run, say)
        ports = [*before.of]
        found = side_by_side(lambda port: self.differences(port, before.of[port], after, booted=True), ports)
        blame_charged([trouble for troubles in found for trouble in troubles])
        for port, kept in before.of.items():
            say(f"{port.name}: as before {after}: {', '.join([*kept.identity, *kept.chosen])}")


def _differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """The facts that are not the same: name, what it was, what it is."""
    names = dict.fromkeys([*before, *now])
    facts = ((name, before.get(name, "none"), now.get(name, "none")) for name in names)
    return [fact for fact in facts if fact[1] != fact[2]]


def _known(facts: Mapping[str, str | None]) -> dict[str, str]:
    return {name: fact for name, fact in facts.items() if fact is not None}


def _counts(shown: Rings | Channels | None) -> str | None:
    """The sizes or numbers that are in force, in words; None where nothing shows them."""
    if shown is None:
        return None
    counts = {name: count for name, count in asdict(shown.current).items() if isinstance(count, int)}
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def _speed(settings: LinkSettings) -> str:
    return f"{settings.speed_mbps} Mbit/s" + (f", {settings.duplex.value} duplex" if settings.duplex else "")


def _where_shown(ask: Callable[[str], T], iface: str) -> T | None:
    try:
        return ask(iface)
    except NotApplicable:
        return None
