"""The bench file: which two servers, how they are reached, and what lies between their ports.

Names of secrets stand in it, never secrets. Ports are named ``dut.p0``. ``lab/benches/example-real.yaml`` shows every
field.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import Field

from niclab.fieldtypes import (
    CipherSuite,
    Command,
    ConsoleUrl,
    FilePath,
    Host,
    Mac,
    Name,
    PciAddress,
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
from niclab.verdict import BenchFault
from niclab.yamlfile import FieldPath, Problem, Sheet, load


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
    """What a path passes through. A switch will stand here as a section naming the switch and its two ports."""

    DIRECT = "direct"


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
    """A port as it stands in the file, under its name."""

    pci: PciAddress
    mac: Mac | None = None
    slot: Text | None = None


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
    """How a bench that can be switched on is switched on and off. ``status`` exits with 0 when the bench is up."""

    up: Command
    down: Command
    status: Command


class BenchPath(Record):
    """A connection between a port of the dut and a port of the peer.

    ``rate_scale``: the path runs at line rate / ``rate_scale``. ``pull`` and ``plug``: commands that act on the cable.
    """

    name: Name
    ends: tuple[PortName, PortName]
    through: Annotated[Wiring, Wanted("direct (paths through a switch cannot be described yet)")]
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
    paths: Annotated[tuple[BenchPath, ...], Field(min_length=1)]

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
            Port(role, key, entry.pci, entry.mac, entry.slot)
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
        return tuple(sorted({login.password_secret for login in logins if login is not None}))

    def problems(self) -> Iterator[Problem]:
        """What spans several fields; see :class:`~niclab.yamlfile.Sheet`."""
        if self.bench != self.file.stem:
            yield Problem(
                ("bench",), f"{self.bench} is not the name of the file", f"{self.file.stem}, so that it is unique"
            )
        yield from self._bmc_problems()
        yield from self._port_problems()
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

    def _port_problems(self) -> Iterator[Problem]:
        pci_seen: dict[tuple[Role, str], str] = {}
        mac_seen: dict[str, str] = {}
        for port in self.ports:
            field = ("servers", port.role.value, "ports", port.key)
            other = pci_seen.setdefault((port.role, port.pci), port.name)
            if other != port.name:
                yield Problem((*field, "pci"), f"{port.pci} is {other} already", "a PCI address of its own")
            if port.mac is not None and mac_seen.setdefault(port.mac, port.name) != port.name:
                yield Problem(
                    (*field, "mac"), f"{port.mac} is {mac_seen[port.mac]} already", "a MAC address of its own"
                )

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


def load_bench(path: Path | str) -> Bench:
    """Read a bench file.

    :raises BenchFault: with every problem of the file, one a line.
    """
    return load(Path(path), Bench)
