"""The inventory of a port of the dut, which is the same when the port was gone and is back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar

from niclab.bench.records import Port
from niclab.checks.asked import dut
from niclab.checks.pcie_party import SPEED, WIDTH, LinkTrouble, judged
from niclab.core.verdict import Blamed
from niclab.hosts.errors import NotOffered
from niclab.hosts.host_records import PcieLink
from niclab.hosts.settings.ethtool_records import Channels, Rings
from niclab.run.run import Run

T = TypeVar("T")


@dataclass(frozen=True)
class Inventory:
    """The facts that a port shows of itself; those that its driver does not show are left out.

    Attributes:
        identity: Facts that stay, whatever is done to the port, by name.
        chosen: Settings that its driver chooses when it takes the port, by name.
        path: The PCI Express links above it; none on conventional PCI.
    """

    identity: Mapping[str, str]
    chosen: Mapping[str, str]
    path: tuple[PcieLink, ...]


class Inventories:
    """Compares ports with what they were. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._chosen: dict[Port, Mapping[str, str]] = {}
        """Port -> its settings when the run had its driver take it for the first time: others may have set what there
        was before."""

    def look(self, port: Port) -> Inventory:
        """Read the inventory of a port, which is up and has its link.

        Args:
            port: A port of the dut.

        Raises:
            BenchFault: The port is not there, or the dut does not answer.
        """
        run, host, iface = self._run, dut(self._run), self._run.interface(port)
        device, info = host.pci.device(port.pci), host.drivers.driver_info(iface)
        shown = host.links.interface(iface)
        identity = {
            "PCI ids": f"{device.vendor_id}:{device.device_id}, {device.subvendor}:{device.subdevice}",
            "driver": info.driver,
            "driver version": info.version,
            "firmware": info.firmware,
            "interface": host.pci.interface_at(port.pci, port.index),
            "MAC address": shown.permanent_mac or shown.mac,
        }
        rings, channels = _where_shown(host.settings.rings, iface), _where_shown(host.settings.channels, iface)
        chosen = {"rings": _counts(rings), "queues": _counts(channels)}
        path = () if run.card.pcie is None else host.pci.path(port.pci)
        return Inventory(_known(identity), _known(chosen), path)

    def differences(self, port: Port, before: Inventory, after: str) -> list[LinkTrouble]:
        """Look at a port again, and compare it with what it was.

        Args:
            port: A port of the dut.
            before: What it was.
            after: What has happened to it, for the message.

        Returns:
            The differences, and whose they are; empty when it is as it was.

        Raises:
            BenchFault: As :meth:`look`.
        """
        now = self.look(port)
        subject, source = f"{port.place}: after {after} it", "as before"
        first = self._chosen.setdefault(port, now.chosen)
        found = [*_differences(before.identity, now.identity), *_differences(first, now.chosen)]
        troubles = [
            LinkTrouble(f"{subject} has {name} {is_now}; expected {was}, {source}", Blamed.CARD)
            for name, was, is_now in found
        ]
        for measure in (WIDTH, SPEED) if before.path and now.path else ():
            was = min(map(measure.of, before.path))
            said = f"{subject} trained to", f"expected {measure.shown(was)}, {source}"
            troubles += judged(now.path, measure, was, *said)
        return troubles


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


def _where_shown(ask: Callable[[str], T], iface: str) -> T | None:
    try:
        return ask(iface)
    except NotOffered:
        return None
