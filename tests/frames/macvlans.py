"""Virtual functions, as macvlans next to the one that is the port: they check no source, and know no VLAN."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces, NamespaceServer

from niclab.bench.records import Port, Role
from niclab.card.settings_facts import FunctionFacts
from niclab.frames.functions import function_checks, function_ports
from niclab.frames.functions.function_checks import VLAN
from niclab.hosts.errors import NotOffered
from niclab.hosts.functions.function_records import FunctionCount, FunctionRules, VirtualFunction
from niclab.hosts.host_records import PciDevice
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run

Check = Callable[[Run, Callable[[str], object]], None]
MOST, PORT = 3, "m0"
REFUSED_RULES = {
    "not supported": "RTNETLINK answers: Operation not supported",
    "not implemented": "RTNETLINK answers: Function not implemented",
    "without a word": "RTNETLINK answers: Unknown error 524",
    "fails": "RTNETLINK answers: Input/output error",
}
REFUSALS = {"refuses": "Input/output error", "has no room": "Cannot allocate memory"}
NO_OPERATION = {"no operation": "No such file or directory", "no code": "Function not implemented"}
DRIVERS = {"driverless": None, "not probed": None, "for guests": "vfio-pci", "without interface": "igbvf"}
"""Drivers of functions that have no interface."""


@dataclass
class Macvlans:
    """The virtual functions of port p0 of the dut. A macvlan passes on what has any source, as a card must not.

    ``defect``: what they do wrong; ``others``: how many somebody else has made.
    """

    server: NamespaceServer
    defect: str = ""
    most: int = MOST
    others: int = 0

    def count(self, address: str) -> FunctionCount:
        if not self.most:
            raise NotOffered(f"dut: {address}: the system offers no virtual functions (sriov_totalvfs)")
        now = self.others + max(0, len(self.functions(address)) - (self.defect == "few"))
        return FunctionCount(self.most, now, self.defect != "not probed")

    def set_count(self, address: str, count: int) -> Attempt[FunctionCount]:
        if self.defect in REFUSALS and count > 1:
            return Attempt(f"echo: write error: {REFUSALS[self.defect]}", self.count(address))
        if self.defect in NO_OPERATION or count > self.most:
            words = NO_OPERATION.get(self.defect, "Numerical result out of range")
            return Attempt(f"/bin/echo: write error: {words}", self.count(address))
        self.server.run(self.restoring(address))
        for number in range(count):
            self.server.run(f"ip link add link p0 name p0v{number} type macvlan mode {self._mode}")
        return Attempt(None, self.count(address))

    @property
    def _mode(self) -> str:
        """``private``: functions do not see each other."""
        return "private" if self.defect == "islands" else "bridge"

    def functions(self, address: str) -> tuple[VirtualFunction, ...]:
        names = self.server.run("ls /sys/class/net").stdout.split()
        there = [n for n in range(MOST) if f"p0v{n}" in names]
        nameless = set(there if self.defect in DRIVERS else there[1:] if self.defect == "nameless" else [])
        driven = [None if n in nameless else f"p0v{n}" for n in there]
        return tuple(
            VirtualFunction(n, f"{address[:-1]}{n + 1}", iface) for n, iface in zip(there, driven, strict=True)
        )

    def device(self, address: str) -> PciDevice:
        return PciDevice(address, "8086", "10ca", driver=DRIVERS.get(self.defect))

    def without_link(self, ifaces: list[str]) -> tuple[str, ...]:
        return tuple(ifaces[1:]) if self.defect == "dark" else ()

    def set_spoof_check(self, iface: str, number: int, on: bool) -> Attempt[tuple[FunctionRules, ...]]:
        assert (iface, on) == (PORT, True)
        if self.defect in REFUSED_RULES:
            return Attempt(REFUSED_RULES[self.defect], ())
        return Attempt(None, (FunctionRules(vf=number, spoofchk=self.defect != "checks nothing"),))

    def set_vlan(self, iface: str, number: int, vlan_id: int) -> Attempt[tuple[FunctionRules, ...]]:
        assert (iface, number, vlan_id) == (PORT, 0, VLAN)
        if self.defect in REFUSED_RULES:
            return Attempt(REFUSED_RULES[self.defect], ())
        vlans = [] if self.defect == "forgets vlan" else [{"vlan": vlan_id}]
        return Attempt(None, (FunctionRules(vf=number, vlan_list=vlans), FunctionRules(vf=1)))

    def restoring(self, address: str) -> str:
        assert address == "0000:01:00.0"
        gone = range(1 if self.defect == "stays" else 0, MOST)
        return "; ".join(f"ip link del p0v{number} 2> /dev/null" for number in gone) + "; true"


@pytest.fixture
def macvlans(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Macvlans]:
    dut = clean.servers[Role.DUT]
    made = Macvlans(dut)
    monkeypatch.setattr(dut.host, "functions", made, raising=False)
    monkeypatch.setattr(dut.host, "pci", SimpleNamespace(device=made.device), raising=False)
    for server in clean.servers.values():
        links = server.host.links
        monkeypatch.setattr(links, "set_link", lambda iface, up, server=server: _set_link(server, iface, up), False)
        monkeypatch.setattr(links, "await_carrier", lambda *_, **__: True, False)
        monkeypatch.setattr(links, "await_carriers", lambda ifaces, *_: made.without_link(ifaces), False)
    monkeypatch.setattr(dut.host, "undo", SimpleNamespace(link=lambda iface, _: f"ip link set {iface} up"), False)

    @contextmanager
    def put_back(_run: Run, server: NamespaceServer, *words: str, **_: object) -> Iterator[None]:
        try:
            yield
        finally:
            server.run(next(word for word in words if word.startswith("ip link")))

    for module in (function_ports, function_checks):
        monkeypatch.setattr(module, "put_back", put_back)
    monkeypatch.setattr(function_ports, "BOUND_WITHIN_S", 0.2)
    monkeypatch.setattr(function_ports, "LOOK_EVERY_S", 0.01)
    dut.run(f"ip link add link p0 name {PORT} type macvlan mode bridge && ip link set {PORT} up")
    names = {clean.ports["dut.p0"]: PORT}
    monkeypatch.setattr(clean.run, "interfaces", names, raising=False)
    monkeypatch.setattr(clean.run, "interface", lambda port: names.get(port, port.key))
    monkeypatch.setattr(clean.run, "shown", lambda ports: _shown(clean, ports))
    monkeypatch.setattr(clean.run.bench, "paths", clean.run.bench.paths[:1])
    with_sheet(clean, monkeypatch, None)
    yield made
    made.defect = ""
    dut.run(f"{made.restoring('0000:01:00.0')}; ip link del {PORT}")


def _shown(clean: Namespaces, ports: Iterable[Port]) -> dict[Port, Any]:
    return {port: clean.servers[port.role].host.links.interface(clean.run.interface(port)) for port in ports}


def _set_link(server: NamespaceServer, iface: str, up: bool) -> None:
    server.run(f"ip link set {iface} {'up' if up else 'down'}")


def with_sheet(clean: Namespaces, monkeypatch: pytest.MonkeyPatch, most: int | None) -> None:
    facts = None if most is None else FunctionFacts(most=most, source="test")
    limits = SimpleNamespace(carrier_return_within_ms=5000)
    known = SimpleNamespace(
        name="veth", virtual_functions=facts, filters=None, limits=limits, errata=(), known=lambda fact, _: fact
    )
    monkeypatch.setattr(clean.run, "card", known)
