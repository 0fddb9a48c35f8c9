"""The bench file: which two servers, how they are reached, and what lies between their ports.

Names of secrets are in it, never secrets. Ports are named ``dut.p0``. ``lab/benches/example-real.yaml`` shows every
field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Interface
from typing import Annotated

from pydantic import Field

from niclab.bench.bench_switch import SwitchEntry
from niclab.bench.logins import BmcEntry, Console, IpmiEntry, RedfishEntry, Ssh
from niclab.core.verdict import BenchFault, Deviation, Trouble
from niclab.files.types import (
    Command,
    FilePath,
    Mac,
    Name,
    PciAddress,
    PortIndex,
    PortName,
    RateScale,
    Record,
    Seconds,
    Subnet,
    Text,
    VariableName,
    Wanted,
)
from niclab.files.yaml import Sheet


class Role(Enum):
    """The part a server plays: it carries the device under test, or it is the known-good other end."""

    DUT = "dut"
    PEER = "peer"


class OperatingSystem(Enum):
    LINUX = "linux"
    FREEBSD = "freebsd"


class Wiring(Enum):
    """The wiring of a path: a cable, or the switch of the bench."""

    DIRECT = "direct"
    SWITCH = "switch"


class TrafficToolName(Enum):
    """The tool that makes and measures traffic between the servers."""

    IPERF3 = "iperf3"
    NETPERF = "netperf"


class Boot(Record):
    """Time limits of a server's boot. The defaults are an assumption: the self-test of a rack server takes minutes."""

    ready_within_s: Seconds = 600


class PortEntry(Record):
    """A port as it is in the file, under its name.

    ``port_index``: which port of its PCI function it is (the kernel's ``dev_port``), where a function has several.
    """

    pci: PciAddress
    mac: Mac | None = None
    slot: Text | None = None
    port_index: PortIndex | None = None


class ServerEntry(Record):
    """A server. ``system``: the name of what it runs, where the bench can boot several systems of its ``os``.

    ``bus_mbytes_per_s``: what the bus of its card carries, in 1e6 bytes/s, where somebody measured that it is less than
    its width and clock say: cards share a conventional PCI bus, and not every chipset fills it.
    """

    os: Annotated[OperatingSystem, Wanted("linux or freebsd")]
    system: Name | None = None
    ssh: Ssh
    bmc: BmcEntry | None = None
    console: Console | None = None
    boot: Boot = Boot()
    bus_mbytes_per_s: Annotated[float, Field(gt=0), Wanted("a number of more than 0")] | None = None
    ports: Annotated[Mapping[Name, PortEntry], Field(min_length=1)]

    @property
    def boots(self) -> str:
        """The system it runs, as the commands of the bench call it."""
        return self.system or self.os.value


class Servers(Record):
    dut: ServerEntry
    peer: ServerEntry


class Commands(Record):
    """The commands that switch a bench on and off. ``status`` exits with 0 when the bench is up.

    ``insert`` puts cards in, ``{dut}`` and ``{peer}`` in it being their names; a bench that is up is up again after it,
    one that is down stays down. ``inserted`` prints the cards that are in: a line ``dut NAME``, a line ``peer NAME``.
    ``boot_systems`` and ``systems`` do the same with the servers' operating systems: ``linux``, ``freebsd``, and those
    that the bench has names for. ``environment`` names variables that the commands get as well as the plain ones; a
    secret is none of them.
    """

    up: Command
    down: Command
    status: Command
    insert: Command | None = None
    inserted: Command | None = None
    boot_systems: Command | None = None
    systems: Command | None = None
    environment: tuple[VariableName, ...] = ()

    def boot_command(self, systems: Mapping[str, str]) -> str | None:
        """The command that boots the ``systems`` (role -> name); ``None`` where the bench cannot."""
        if self.boot_systems is None:
            return None
        return self.boot_systems.replace("{dut}", systems["dut"]).replace("{peer}", systems["peer"])

    def insert_command(self, cards: Mapping[str, str]) -> str | None:
        """The command that puts in the ``cards`` (role -> name); ``None`` where the bench cannot."""
        if self.insert is None:
            return None
        return self.insert.replace("{dut}", cards["dut"]).replace("{peer}", cards["peer"])


class CardEntry(Record):
    """The differences to the rest of the file with another card in the servers: its ports, the scale of its paths."""

    rate_scale: RateScale = 1
    ports: Annotated[Mapping[PortName, PortEntry], Field(min_length=1)]


class BenchPath(Record):
    """A connection between a port of the dut and a port of the peer.

    ``rate_scale``: the path runs at line rate / ``rate_scale``. ``pull`` and ``plug``: commands that act on the cable;
    on that of the dut, where the path goes through the switch.
    """

    name: Name
    ends: tuple[PortName, PortName]
    through: Annotated[Wiring, Wanted("direct or switch")]
    subnet: Subnet
    rate_scale: RateScale = 1
    pull: Command | None = None
    plug: Command | None = None


@dataclass(frozen=True)
class Port:
    """A port of a server: ``key`` is its name on its server (``p0``), ``name`` its name on the bench (``dut.p0``)."""

    role: Role
    key: str
    pci: str
    mac: str | None
    slot: str | None
    index: int | None = None

    @property
    def name(self) -> str:
        return f"{self.role.value}.{self.key}"

    @property
    def place(self) -> str:
        """Name and PCI address, as messages name a port: ``dut.p0 (0000:17:00.0)``."""
        return f"{self.name} ({self.pci})"

    def trouble(self, text: str) -> Trouble:
        """Blame the card for a problem of a port of the dut, the bench for one of the known-good peer.

        Args:
            text: The problem; the message begins with :attr:`place`.
        """
        return Trouble(f"{self.place} {text}", self.role is Role.DUT)


class SiliconFact(Enum):
    """Facts of a card's sheet that checks ask of the silicon alone, where a bench may declare its model to deviate."""

    PCIE_WIDTH = "pcie.width"
    LARGEST_MTU = "mtu.max"
    UNICAST_FILTER = "filters.unicast"
    VLAN_FILTER = "filters.vlan"
    SENDING_OFFLOADS = "offloads.sending"
    CHECKSUM_WORK = "offloads.checksum-work"
    TCP_WORK = "offloads.tcp-work"
    RECEIVED_PAUSE = "pause.received"
    SENT_PAUSE = "pause.sent"
    SPOOF_CHECK = "virtual_functions.spoof-check"
    CLOCK_TIME = "clock.time"
    RECEIVED_STAMPS = "clock.received-stamps"
    SENT_STAMPS = "clock.sent-stamps"


class DeclaredDeviation(Record):
    """A fact in which the model of a card differs from its sheet's silicon. Certificates show it.

    ``os``: the operating system of the dut under which alone it does; ``None``: under each.
    """

    card: Name
    os: Annotated[OperatingSystem, Wanted("linux or freebsd")] | None = None
    fact: Annotated[SiliconFact, Wanted(f"one of {', '.join(each.value for each in SiliconFact)}")]
    how: Text
    source: Text

    def is_of(self, card: str, system: OperatingSystem) -> bool:
        """Return whether it is one of a card while the dut runs a system."""
        return self.card == card and self.os in (None, system)

    def verdict(self, wanted: object) -> Deviation:
        """Return what a check raises that asks for the fact; ``wanted``: what the sheet says of it."""
        said = f"sheet {self.card} says {self.fact.value}: {wanted}; the model of this bench deviates"
        return Deviation(f"{said}: {self.how} ({self.source})")


class Bench(Sheet):
    """A whole bench.

    ``systems``: names of further systems that ``commands.boot_systems`` boots, and what each is (``debian13: linux``).
    ``emulated``: the cards are models in software; certificates say that they are demonstrations. ``deviations``: what
    those models are known to do otherwise than the silicon. ``discarded_runs_percent``: traffic runs of a certificate
    that each server may spoil by standing still.
    """

    bench: Name
    description: Text
    emulated: bool = False
    secrets_file: FilePath | None = None
    traffic: Annotated[TrafficToolName, Wanted("iperf3 or netperf")] = TrafficToolName.IPERF3
    discarded_runs_percent: Annotated[float, Field(gt=0, le=50), Wanted("a percentage above 0, at most 50")] = 10.0
    commands: Commands | None = None
    systems: Mapping[Name, Annotated[OperatingSystem, Wanted("linux or freebsd")]] = {}
    servers: Servers
    switch: SwitchEntry | None = None
    paths: Annotated[tuple[BenchPath, ...], Field(min_length=1)]
    cards: Mapping[Name, CardEntry] = {}
    deviations: tuple[DeclaredDeviation, ...] = ()

    def deviation(self, card: str, fact: SiliconFact) -> DeclaredDeviation | None:
        """Return the declared deviation of a card's model from a fact of its sheet; ``None``: there is none."""
        system = self.servers.dut.os
        return next((each for each in self.deviations if each.fact is fact and each.is_of(card, system)), None)

    def with_card(self, card: str) -> Bench:
        """The bench as it is with that card in both servers: as the file has it, but for what ``cards`` says of it."""
        entry = self.cards.get(card)
        if entry is None:
            return self
        servers = {
            role.value: self.server(role).model_copy(
                update={"ports": {key: entry.ports[f"{role.value}.{key}"] for key in self.server(role).ports}}
            )
            for role in Role
        }
        paths = tuple(path.model_copy(update={"rate_scale": entry.rate_scale}) for path in self.paths)
        return self.model_copy(update={"servers": Servers(**servers), "paths": paths, "cards": {}})

    def with_systems(self, systems: Mapping[Role, str]) -> Bench:
        """The bench with other systems on its servers, which the file's commands can boot.

        Args:
            systems: Role -> name: ``linux``, ``freebsd``, or a name in ``systems`` of the file; empty: as in the file.

        Raises:
            BenchFault: When there is no such system, or a server is to run another one than the file says, and the
                bench has no such command.
        """
        known = {system.value: system for system in OperatingSystem} | dict(self.systems)
        for role, name in systems.items():
            if name and name not in known:
                wanted = f"{', '.join(known)}; the file names those of this bench (systems)"
                raise BenchFault(f"bench {self.bench}: {role.value}: operating system {name!r}; expected {wanted}")
        others = {role: name for role, name in systems.items() if name and self.server(role).boots != name}
        if not others:
            return self
        if self.commands is None or self.commands.boot_systems is None:
            said = ", ".join(f"{role.value} {name}" for role, name in others.items())
            raise BenchFault(f"bench {self.bench}: no command boots {said}; expected commands.boot_systems in the file")
        servers = {role.value: self.server(role) for role in Role}
        for role, name in others.items():
            servers[role.value] = self.server(role).model_copy(update={"os": known[name], "system": name})
        return self.model_copy(update={"servers": Servers(**servers)})

    def connected(self) -> Bench:
        """The bench with its cables laid to the switch, by the switch's command ``connect``."""
        on_switch = self.switch.ports if self.switch else {}
        paths = tuple(
            path.model_copy(update={"through": Wiring.SWITCH}) if {*path.ends} <= {*on_switch} else path
            for path in self.paths
        )
        return self.model_copy(update={"paths": paths})

    @property
    def name(self) -> str:
        """The unique name; lock and undo journal are keyed by it."""
        return self.bench

    def server(self, role: Role) -> ServerEntry:
        return self.servers.dut if role is Role.DUT else self.servers.peer

    @property
    def ports(self) -> tuple[Port, ...]:
        """Every port of both servers, in the order of the file, the dut's first."""
        return tuple(
            Port(role, key, entry.pci, entry.mac, entry.slot, entry.port_index)
            for role in Role
            for key, entry in self.server(role).ports.items()
        )

    def port(self, name: str) -> Port:
        """The port called ``dut.p0``.

        Raises:
            BenchFault: When the bench has no such port; lists the ports it has.
        """
        for port in self.ports:
            if port.name == name:
                return port
        names = ", ".join(port.name for port in self.ports)
        raise BenchFault(f"bench {self.name}: there is no port {name!r}; expected one of {names}")

    def path(self, name: str) -> BenchPath:
        """The path of that name.

        Raises:
            BenchFault: When the bench has no such path; lists the paths it has.
        """
        for path in self.paths:
            if path.name == name:
                return path
        names = ", ".join(path.name for path in self.paths)
        raise BenchFault(f"bench {self.name}: there is no path {name!r}; expected one of {names}")

    def end(self, path: BenchPath, role: Role) -> Port:
        """The port of ``path`` at that server."""
        return next(port for port in map(self.port, path.ends) if port.role is role)

    def path_of(self, port: Port) -> BenchPath:
        """The path that ends at ``port``.

        Raises:
            BenchFault: When no path ends there.
        """
        for path in self.paths:
            if port.name in path.ends:
                return path
        raise BenchFault(f"bench {self.name}: no path ends at {port.name}; expected a path with that end")

    def partner(self, port: Port) -> Port:
        """The port at the other end of the path of ``port``."""
        first, second = self.path_of(port).ends
        return self.port(second if port.name == first else first)

    def address(self, port: Port) -> IPv4Interface:
        """The address of ``port`` in the subnet of its path: the dut has the first host address, the peer the next."""
        subnet = self.path_of(port).subnet
        hosts = subnet.hosts()
        first, second = next(hosts), next(hosts)
        return IPv4Interface((first if port.role is Role.DUT else second, subnet.prefixlen))

    def address_on(self, path: BenchPath, role: Role) -> str:
        """The address of a server on a path, without the length of its prefix."""
        return str(self.address(self.end(path, role)).ip)

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The names of all secrets this bench needs, sorted."""
        logins: list[IpmiEntry | RedfishEntry | Console | None] = []
        for role in Role:
            server = self.server(role)
            logins += [server.console, *((server.bmc.ipmi, server.bmc.redfish) if server.bmc else ())]
        of_switch = self.switch.secret_names if self.switch else ()
        return tuple(sorted({login.password_secret for login in logins if login is not None} | {*of_switch}))

    @property
    def command_variables(self) -> tuple[str, ...]:
        """The names of the variables that the bench's own commands get; a secret of the bench is never one."""
        names = self.commands.environment if self.commands else ()
        return tuple(name for name in names if name not in self.secret_names)
