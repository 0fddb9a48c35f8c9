"""Bonds and VLANs of the fake servers: state that tests bend, changed by the host's methods and by undo commands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fake_bench import FakeBench
from fake_parts import FakeHost, FakeJob, FakeSsh

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.bonds.bond_records import Bond, BondMember, Vlan
from niclab.hosts.bonds.bond_settings import BondSettings, VlanTag
from niclab.hosts.host_records import Address, Interface, Operstate, PciDevice, PingResult, Statistics

MEMBER = BondMember("", "up", 1000, None, None, None, None)
BOND = Bond(
    *("v6.1", "fault-tolerance (active-backup)", "active-backup", 1, None, None, None, "up", 100),
    *(None, None, None, (), 0),
)


@dataclass
class Upper:
    """A bond or VLAN of a fake server."""

    below: list[str]
    vlan_id: int | None = None
    tag: VlanTag = VlanTag.CUSTOMER
    settings: BondSettings | None = None
    addresses: list[str] = field(default_factory=list)
    active: str | None = None
    received: int = 0
    sent: int = 0


class Stacking:
    """The stack of interfaces on the fake servers. ``uppers`` by server and name.

    ``stays`` keeps bonds on a lost link; ``leaks`` delivers frames of other VLANs; ``mute`` sends nothing;
    ``forgets`` leaves a port without its address after an undo; ``drops`` pings of the full size are not answered.
    ``driverless``: PCI functions without a driver, by server; ``idle``: ports over which no datagram goes.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.bench = bench
        self.uppers: dict[str, dict[str, Upper]] = {role.value: {} for role in Role}
        self.copies = False
        """Pings are answered twice."""
        self.stays = self.leaks = self.mute = self.forgets = self.drops = self.refuses = self.clings = False
        self.leaked, self.watch_ends = "", None
        self.pending_at_creation: list[list[str]] = []
        self.modules_loaded: set[str] = set()
        self.built_in: set[str] = set()
        self.driverless: set[tuple[str, str]] = set()
        self.idle: set[str] = set()
        self.unknown_tags: set[VlanTag] = set()

    def watch(self, job: FakeJob) -> None:
        """A tcpdump that listens, and has seen ``leaked`` (or ended with ``watch_ends``)."""
        if not job.command.startswith("tcpdump "):
            return
        assert job.command.startswith("tcpdump -p -n -l --immediate-mode -c 1 -i enp1s0 "), job.command
        job.complained = "listening on enp1s0, link-type EN10MB (Ethernet)"
        job.said, job.status = self.leaked, 0 if self.leaked else self.watch_ends

    def up(self, host: str, iface: str) -> bool:
        fake = self.bench.hosts[Role(host)]
        nic = fake.by_iface(iface)
        return (host, nic.pci) not in self.driverless and bool(fake._cables.carrier(f"{host}.{nic.key}"))

    def seen(self, host: str, name: str) -> Bond:
        upper = self.uppers[host][name]
        alive = [iface for iface in upper.below if self.up(host, iface)]
        if not (self.stays and upper.active):
            primary = upper.settings.primary if upper.settings else None
            if primary in alive:
                upper.active = primary
            elif upper.active not in alive:
                upper.active = alive[0] if alive else None
        members = tuple(
            replace(MEMBER, name=iface, mii_status="up" if iface in alive else "down")
            for iface in upper.below
            if (host, self.bench.hosts[Role(host)].by_iface(iface).pci) not in self.driverless
        )
        status = "up" if alive or self.clings else "down"
        return replace(BOND, active_slave=upper.active, mii_status=status, slaves=members, slaves_up=len(alive))

    def send_datagrams(self, host: str) -> None:
        """256 datagrams, over each link as many; those of an idle one are lost on the way."""
        for nic in self.bench.hosts[Role(host)].nics:
            (wire,) = [ends for ends in self.bench.cables.wires.values() if f"{host}.{nic.key}" in ends]
            (other,) = [end for end in wire if end != f"{host}.{nic.key}"]
            nic.frames["tx"] = nic.frames.get("tx", 0) + 128
            theirs = self.bench.nic(other).frames
            theirs["rx"] = theirs.get("rx", 0) + (0 if f"{host}.{nic.key}" in self.idle else 128)

    def answered(self, host: str, source: str, destination: str, count: int) -> int:
        """Return how many pings are answered, counted by both VLANs on the way."""
        mine = next(u for u in self.uppers[host].values() if f"{source}/24" in u.addresses)
        other = "peer" if host == "dut" else "dut"
        theirs = next(u for u in self.uppers[other].values() if f"{destination}/24" in u.addresses)
        if self.mute:
            return 0
        mine.sent += count
        if mine.vlan_id != theirs.vlan_id and not self.leaks:
            return 0
        theirs.received += count
        if mine.vlan_id != theirs.vlan_id:
            return 0
        mine.received, theirs.sent = mine.received + count, theirs.sent + count
        return count


def install(monkeypatch: Any, bench: FakeBench) -> Stacking:
    """Give the fake servers bonds and VLANs."""
    stacking = Stacking(bench)
    for host in bench.hosts.values():
        bench.ssh[host.role].prepare_job = stacking.watch
    plain_shell, plain_interface, plain_changed = FakeSsh._shell, FakeHost.interface, FakeHost.add_address

    def create_bond(self: FakeHost, name: str, settings: BondSettings, members: Sequence[str]) -> Bond:
        assert self.journal is not None
        stacking.pending_at_creation.append([entry.action.command for entry in self.journal.pending()])
        for member in members:
            self.by_iface(member).addresses.clear()
            self.by_iface(member).lro = False
        stacking.uppers[self.name][name] = Upper(list(members), settings=settings)
        if stacking.refuses and self.role is Role.PEER:
            raise BenchFault("peer: bond niclab0: miimon reads 0; expected 100")
        return stacking.seen(self.name, name)

    def create_vlan(self: FakeHost, name: str, below: str, vlan_id: int, tag: VlanTag = VlanTag.CUSTOMER) -> Vlan:
        assert self.journal is not None
        if tag in stacking.unknown_tags:
            raise NotApplicable(f"{self.name}: no tag {tag.value}")
        stacking.pending_at_creation.append([entry.action.command for entry in self.journal.pending()])
        for nic in self.nics:
            nic.lro = nic.lro and nic.iface != below
        stacking.uppers[self.name][name] = Upper([below], vlan_id, tag=tag)
        return Vlan(name, vlan_id, below, tag.value)

    def restoring_driver(self: FakeHost, address: str, iface: str) -> str:
        assert self.by_pci(address).iface == iface
        return f"bind {address} {iface}"

    def pci_device(self: FakeHost, address: str) -> PciDevice:
        device = self.by_pci(address).device
        return replace(device, driver=None if (self.name, address) in stacking.driverless else "e1000e")

    def detach_driver(self: FakeHost, address: str) -> None:
        assert self.journal is not None
        iface = self.by_pci(address).iface
        assert self.journal.pending()[0].action.command == f"bind {address} {iface}"
        stacking.driverless.add((self.name, address))

    def interface(self: FakeHost, iface: str) -> Interface:
        upper = stacking.uppers[self.name].get(iface)
        if upper is None:
            return plain_interface(self, iface)
        shown = tuple(Address("inet", address.split("/")[0], 24, "global", False) for address in upper.addresses)
        return Interface(iface, 9, None, 1500, True, Operstate.UP, "vlan", None, shown, None, carrier=True)

    def add_address(self: FakeHost, iface: str, cidr: str) -> None:
        if iface in stacking.uppers[self.name]:
            stacking.uppers[self.name][iface].addresses.append(cidr)
        else:
            plain_changed(self, iface, cidr)

    def remove_address(self: FakeHost, iface: str, cidr: str) -> None:
        self.by_iface(iface).addresses.remove(cidr)

    def statistics(self: FakeHost, iface: str) -> Statistics:
        upper = stacking.uppers[self.name].get(iface)
        if upper is None:
            frames = self.by_iface(iface).frames
            return Statistics(0, frames.get("rx", 0), 0, 0, 0, frames.get("tx", 0), 0, 0)
        return Statistics(0, upper.received, 0, 0, 0, upper.sent, 0, 0)

    def await_carrier(self: FakeHost, iface: str, up: bool, within_s: float) -> bool:
        if up:
            return self.interface(iface).carrier is True
        assert 0.5 < within_s < 5
        return stacking.seen(self.name, iface).mii_status == "down"

    def ping(self: FakeHost, destination: str, **options: Any) -> PingResult:
        count = options["count"]
        got = 0 if stacking.drops and options.get("size") else None
        answered = stacking.answered(self.name, options["source"], destination, count) if got is None else got
        return PingResult(count, answered, answered if stacking.copies else 0, ())

    def loaded_module(self: FakeHost, module: str) -> object:
        return None if module in ("bonding", "8021q") else self.loaded

    def modinfo(self: FakeHost, module: str) -> object:
        return replace(self.file, built_in=module in stacking.built_in) if module in ("bonding", "8021q") else self.file

    def shell(self: FakeSsh, command: str) -> str:
        if gone := re.fullmatch(r"\[ ! -e /sys/class/net/(\S+) \] \|\| ip link delete dev \1", command):
            stacking.uppers[self.host.name].pop(gone[1], None)
        elif back := re.match(r"ip link set dev (\w+) nomaster && ip link set dev \1 (up|down)", command):
            nic = self.host.by_iface(back[1])
            nic.admin_up = back[2] == "up"
            nic.addresses = [] if stacking.forgets else re.findall(r"replace (\S+) dev", command)
        elif lro := re.fullmatch(r"lro on (\w+)", command):
            assert not stacking.uppers[self.host.name], "a port below a bond or VLAN has no LRO"
            self.host.by_iface(lro[1]).lro = True
        elif bound := re.fullmatch(r"bind (\S+) \w+", command):
            stacking.driverless.discard((self.host.name, bound[1]))
        elif command.startswith("python3 -c ") and "niclab" in command:
            stacking.send_datagrams(self.host.name)
        elif not command.startswith("modprobe -r "):
            return plain_shell(self, command)
        return ""

    methods = (
        restoring_driver,
        pci_device,
        detach_driver,
        create_bond,
        create_vlan,
        interface,
        add_address,
        remove_address,
        statistics,
        await_carrier,
        ping,
        loaded_module,
        modinfo,
    )
    for method in methods:
        monkeypatch.setattr(FakeHost, method.__name__, method, raising=False)
    monkeypatch.setattr(FakeHost, "bond", lambda self, name: stacking.seen(self.name, name), raising=False)
    monkeypatch.setattr(FakeSsh, "_shell", shell)
    return stacking
