"""The bench file: which two servers, how they are reached, and what lies between their ports.

Names of secrets stand in it, never secrets. Ports are named ``dut.p0``. ``lab/benches/example-real.yaml`` shows every
field.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from niclab.bench.switch import SwitchEntry, switch_problems, switched_path_problems
from niclab.core.verdict import BenchFault
from niclab.files.types import (
    CipherSuite,
    Command,
    ConsoleUrl,
    FilePath,
    Host,
    Mac,
    Name,
    PciAddress,
    PortIndex,
    PortName,
    RateScale,
    Record,
    RedfishUrl,
    Seconds,
    SecretName,
    Subnet,
    TcpPort,
    Text,
    UdpPort,
    User,
    Wanted,
)
from niclab.files.yaml import FieldPath, Problem, Sheet, load


class Role(Enum):
    """The part a server plays: it carries the device under test, or it is the known-good other end."""

    DUT = "dut"
    PEER = "peer"


class OperatingSystem(Enum):
    LINUX = "linux"
    FREEBSD = "freebsd"


class BmcProtocol(Enum):
    IPMI = "ipmi"
    REDFISH = "redfish"


class Wiring(Enum):
    """What a path passes through: a cable, or the switch of the bench."""

    DIRECT = "direct"
    SWITCH = "switch"


class TrafficToolName(Enum):
    """The tool that makes and measures traffic between the servers."""

    IPERF3 = "iperf3"
    NETPERF = "netperf"


class Ssh(Record):
    """An SSH login. ``jump`` is the machine to go through, if any, in the same shape."""

    address: Host
    port: TcpPort = 22
    user: User
    key_file: FilePath
    known_hosts: FilePath
    jump: Ssh | None = None


class Ipmi(Record):
    """IPMI 2.0 over LAN.

    ``cipher_suite``: 17 is AES-128 with HMAC-SHA256, 3 is AES-128 with HMAC-SHA1 (IPMI 2.0, table 22-20).
    """

    address: Host
    port: UdpPort = 623
    user: User
    password_secret: SecretName
    cipher_suite: CipherSuite = 17


class Redfish(Record):
    """A Redfish service. ``ca_file``: what its certificate is checked against; absent: the system's authorities.

    ``system``: member of ``/redfish/v1/Systems``; needed only where a service has several.
    """

    url: RedfishUrl
    user: User
    password_secret: SecretName
    ca_file: FilePath | None = None
    system: Text | None = None


class Bmc(Record):
    """The ways to a BMC; ``use`` says which one switches the power where there are two."""

    ipmi: Ipmi | None = None
    redfish: Redfish | None = None
    use: Annotated[BmcProtocol, Wanted("ipmi or redfish")] | None = None

    @property
    def power(self) -> BmcProtocol:
        """The protocol that switches the power: ``use`` if given, else IPMI where there is one, else Redfish."""
        if self.use is not None:
            return self.use
        return BmcProtocol.IPMI if self.ipmi is not None else BmcProtocol.REDFISH


class Console(Record):
    """The serial console, and the login on it."""

    url: ConsoleUrl
    user: User
    password_secret: SecretName


class Boot(Record):
    """How long a server may take. The defaults are a house rule for rack servers, whose self-test takes minutes."""

    ready_within_s: Seconds = 600
    shutdown_within_s: Seconds = 180


class PortEntry(Record):
    """A port as it stands in the file, under its name.

    ``port_index``: which port of its PCI function it is (the kernel's ``dev_port``), where a function has several.
    """

    pci: PciAddress
    mac: Mac | None = None
    slot: Text | None = None
    port_index: PortIndex | None = None


class Server(Record):
    os: Annotated[OperatingSystem, Wanted("linux or freebsd")]
    ssh: Ssh
    bmc: Bmc | None = None
    console: Console | None = None
    boot: Boot = Boot()
    ports: Annotated[Mapping[Name, PortEntry], Field(min_length=1)]


class Servers(Record):
    dut: Server
    peer: Server


class Commands(Record):
    """How a bench that can be switched on is switched on and off. ``status`` exits with 0 when the bench is up.

    ``insert`` puts cards in, ``{dut}`` and ``{peer}`` in it being their names; a bench that is up is up again after it,
    one that is down stays down. ``inserted`` prints the cards that are in: a line ``dut NAME``, a line ``peer NAME``.
    ``boot_systems`` and ``systems`` do the same with the servers' operating systems (``linux``, ``freebsd``).
    """

    up: Command
    down: Command
    status: Command
    insert: Command | None = None
    inserted: Command | None = None
    boot_systems: Command | None = None
    systems: Command | None = None

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
    """What differs from the rest of the file with another card in the servers: its ports, the scale of its paths."""

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


class Bench(Sheet):
    """A whole bench."""

    bench: Name
    description: Text
    secrets_file: FilePath | None = None
    traffic: Annotated[TrafficToolName, Wanted("iperf3 or netperf")] = TrafficToolName.IPERF3
    commands: Commands | None = None
    servers: Servers
    switch: SwitchEntry | None = None
    paths: Annotated[tuple[BenchPath, ...], Field(min_length=1)]
    cards: Mapping[Name, CardEntry] = {}

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

    def with_systems(self, systems: Mapping[Role, OperatingSystem]) -> Bench:
        """The bench with other operating systems on its servers, which the file's commands can boot.

        :raises BenchFault: when a server is to run another one than the file says, and the bench has no such command.
        """
        others = {role: system for role, system in systems.items() if self.server(role).os is not system}
        if not others:
            return self
        if self.commands is None or self.commands.boot_systems is None:
            said = ", ".join(f"{role.value} {system.value}" for role, system in others.items())
            raise BenchFault(f"bench {self.bench}: no command boots {said}; wanted: commands.boot_systems in the file")
        servers = {
            role.value: self.server(role).model_copy(update={"os": others.get(role, self.server(role).os)})
            for role in Role
        }
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

    def server(self, role: Role) -> Server:
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

        :raises BenchFault: when the bench has no such port; lists the ports it has.
        """
        for port in self.ports:
            if port.name == name:
                return port
        names = ", ".join(port.name for port in self.ports)
        raise BenchFault(f"bench {self.name}: there is no port {name!r}; wanted: one of {names}")

    def path(self, name: str) -> BenchPath:
        """The path of that name.

        :raises BenchFault: when the bench has no such path; lists the paths it has.
        """
        for path in self.paths:
            if path.name == name:
                return path
        names = ", ".join(path.name for path in self.paths)
        raise BenchFault(f"bench {self.name}: there is no path {name!r}; wanted: one of {names}")

    def end(self, path: BenchPath, role: Role) -> Port:
        """The port of ``path`` at that server."""
        return next(port for port in map(self.port, path.ends) if port.role is role)

    def path_of(self, port: Port) -> BenchPath:
        """The path that ends at ``port``.

        :raises BenchFault: when no path ends there.
        """
        for path in self.paths:
            if port.name in path.ends:
                return path
        raise BenchFault(f"bench {self.name}: no path ends at {port.name}; wanted: a path with that end")

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

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The names of all secrets this bench needs, sorted."""
        logins: list[Ipmi | Redfish | Console | None] = []
        for role in Role:
            server = self.server(role)
            logins += [server.console, *((server.bmc.ipmi, server.bmc.redfish) if server.bmc else ())]
        of_switch = self.switch.secret_names if self.switch else ()
        return tuple(sorted({login.password_secret for login in logins if login is not None} | {*of_switch}))

    def problems(self) -> Iterator[Problem]:
        """What spans several fields; see :class:`~niclab.files.yaml.Sheet`."""
        if self.bench != self.file.stem:
            yield Problem(
                ("bench",), f"{self.bench} is not the name of the file", f"{self.file.stem}, so that it is unique"
            )
        yield from self._bmc_problems()
        yield from self._port_problems(self, lambda role, key: ("servers", role.value, "ports", key))
        yield from self._card_problems()
        yield from self._command_problems()
        yield from switch_problems(self.switch, [port.name for port in self.ports]) if self.switch else ()
        yield from self._path_problems()
        yield from self._subnet_problems()
        yield from self._endpoint_problems()

    def _bmc_problems(self) -> Iterator[Problem]:
        for role in Role:
            bmc, field = self.server(role).bmc, ("servers", role.value, "bmc")
            if bmc is None:
                continue
            if bmc.ipmi is None and bmc.redfish is None:
                yield Problem(field, "no way to the BMC", "ipmi and/or redfish")
            elif (bmc.ipmi if bmc.power is BmcProtocol.IPMI else bmc.redfish) is None:
                found = f"{bmc.power.value} is not described here"
                yield Problem((*field, "use"), found, "one that is, or its section")

    @staticmethod
    def _port_problems(bench: Bench, field_of: Callable[[Role, str], FieldPath]) -> Iterator[Problem]:
        on_function: dict[tuple[Role, str], list[Port]] = {}
        mac_seen: dict[str, str] = {}
        for port in bench.ports:
            field = field_of(port.role, port.key)
            others = on_function.setdefault((port.role, port.pci), [])
            same = next(
                (other for other in others if None in (port.index, other.index) or port.index == other.index), None
            )
            others.append(port)
            if same is not None:
                wanted = "a PCI address of its own, or port_index for each port of one function"
                yield Problem((*field, "pci"), f"{port.pci} is {same.name} already", wanted)
            if port.mac is not None and mac_seen.setdefault(port.mac, port.name) != port.name:
                yield Problem(
                    (*field, "mac"), f"{port.mac} is {mac_seen[port.mac]} already", "a MAC address of its own"
                )

    def _card_problems(self) -> Iterator[Problem]:
        """With each card the bench has the same ports, and they are as distinct as its own."""
        known = {port.name for port in self.ports}
        for card, entry in self.cards.items():
            if set(entry.ports) == known:
                field_of = partial(_card_port, card)
                yield from self._port_problems(self.with_card(card), field_of)
                continue
            found = ", ".join(sorted(entry.ports))
            yield Problem(("cards", card, "ports"), found, f"every port of the bench: {', '.join(sorted(known))}")

    def _command_problems(self) -> Iterator[Problem]:
        commands = self.commands
        if commands is None:
            return
        for change, shown, what in (("insert", "inserted", "card"), ("boot_systems", "systems", "system")):
            changing, showing = getattr(commands, change), getattr(commands, shown)
            if (changing is None) != (showing is None):
                given = change if showing is None else shown
                yield Problem(("commands",), f"{given} alone", f"both {change} and {shown}, or neither")
            for role in Role:
                if changing is not None and f"{{{role.value}}}" not in changing:
                    wanted = f"{{{role.value}}} where the name of the {what} of {role.value} goes"
                    yield Problem(("commands", change), changing, wanted)

    def _path_problems(self) -> Iterator[Problem]:
        names: set[str] = set()
        used: dict[str, str] = {}
        known = [port.name for port in self.ports]
        for index, path in enumerate(self.paths):
            field = ("paths", index)
            if path.name in names:
                yield Problem((*field, "name"), f"{path.name} is another path already", "a name of its own")
            names.add(path.name)
            for place, end in enumerate(path.ends):
                if end not in known:
                    yield Problem((*field, "ends", place), f"there is no port {end}", f"one of {', '.join(known)}")
                elif end in used:
                    found = f"{end} is an end of path {used[end]} already"
                    yield Problem((*field, "ends", place), found, "each port in one path")
                used.setdefault(end, path.name)
            if {end.partition(".")[0] for end in path.ends} != {role.value for role in Role}:
                yield Problem((*field, "ends"), " and ".join(path.ends), "one port of dut and one of peer")
            through_switch = path.through is Wiring.SWITCH
            yield from switched_path_problems(index, path.ends, self.switch, through_switch=through_switch)
            if (path.pull is None) != (path.plug is None):
                given = "pull" if path.plug is None else "plug"
                yield Problem(field, f"{given} alone", "both pull and plug, or neither")

    def _subnet_problems(self) -> Iterator[Problem]:
        for index, path in enumerate(self.paths):
            for other in self.paths[:index]:
                if path.subnet.overlaps(other.subnet):
                    found = f"{path.subnet} overlaps {other.subnet} of path {other.name}"
                    yield Problem(("paths", index, "subnet"), found, "a subnet of its own")

    def _endpoint_problems(self) -> Iterator[Problem]:
        seen: dict[_Endpoint, FieldPath] = {}
        for field, endpoint in self._endpoints():
            other = seen.setdefault(endpoint, field)
            if other != field:
                where = ".".join(str(step) for step in other)
                yield Problem(field, f"{endpoint.host}:{endpoint.port} is {where} already", "an endpoint of its own")
            for path in self.paths:
                if _inside(endpoint.host, path.subnet):
                    found = f"{endpoint.host} lies in {path.subnet} of path {path.name}"
                    yield Problem(field, found, "an address that is not reached over the card under test")

    def _endpoints(self) -> Iterable[tuple[FieldPath, _Endpoint]]:
        """Everything the lab connects to; hosts behind different jump hosts may have the same address."""
        if self.switch:
            yield ("switch",), _Endpoint("udp", self.switch.address, self.switch.snmp.port)
        for role in Role:
            server, field = self.server(role), ("servers", role.value)
            ssh, jump = server.ssh, server.ssh.jump
            via = f"{jump.address}:{jump.port}" if jump else ""
            yield (*field, "ssh"), _Endpoint("tcp", ssh.address, ssh.port, via)
            if server.bmc and server.bmc.ipmi:
                yield (*field, "bmc", "ipmi"), _Endpoint("udp", server.bmc.ipmi.address, server.bmc.ipmi.port)
            if server.bmc and server.bmc.redfish:
                url = urlsplit(server.bmc.redfish.url)
                yield (*field, "bmc", "redfish"), _Endpoint("tcp", url.hostname or "", url.port or 443)
            if server.console:
                url = urlsplit(server.console.url)
                host = url.hostname or server.console.url
                yield (*field, "console"), _Endpoint("tcp", host, url.port or 0)


def _card_port(card: str, role: Role, key: str) -> FieldPath:
    return ("cards", card, "ports", f"{role.value}.{key}")


@dataclass(frozen=True)
class _Endpoint:
    protocol: str
    host: str
    port: int
    via: str = ""


def _inside(host: str, subnet: IPv4Network) -> bool:
    try:
        return ipaddress.ip_address(host) in subnet
    except ValueError:  # a name, or a device
        return False


def chosen_systems(names: Mapping[Role, str]) -> dict[Role, OperatingSystem]:
    """The operating systems that were chosen by name; an empty name chooses nothing.

    :raises BenchFault: for a name that is no system's.
    """
    known = {system.value: system for system in OperatingSystem}
    for role, name in names.items():
        if name and name not in known:
            raise BenchFault(f"{role.value}: operating system {name!r}; wanted: {' or '.join(known)}")
    return {role: known[name] for role, name in names.items() if name}


def load_bench(path: Path | str) -> Bench:
    """Read a bench file.

    :raises BenchFault: with every problem of the file, one a line.
    """
    return load(Path(path), Bench)
