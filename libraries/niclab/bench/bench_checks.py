"""The checks of a bench file that span several of its fields."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from ipaddress import IPv4Network
from urllib.parse import urlsplit

from niclab.bench.bench_switch import switch_problems, switched_path_problems
from niclab.bench.logins import BmcProtocol
from niclab.bench.records import Bench, OperatingSystem, Port, Role, Wiring
from niclab.files.document import FieldPath, Problem


def bench_problems(bench: Bench) -> Iterator[Problem]:
    """Yield what is wrong across several fields of a bench file.

    Args:
        bench: The bench as its file has it, each field valid by itself.

    Yields:
        One problem after another, with the field that shows it.
    """
    if bench.bench != bench.file.stem:
        yield Problem(
            ("bench",), f"{bench.bench} is not the name of the file", f"{bench.file.stem}, so that it is unique"
        )
    if bench.deviations and not bench.emulated:
        yield Problem(
            ("deviations",), "the cards are not emulated", "none: a real card is what its sheet says, or fails"
        )
    yield from _scale_problems(bench)
    yield from _bmc_problems(bench)
    yield from _port_problems(bench, lambda role, key: ("servers", role.value, "ports", key))
    yield from _card_problems(bench)
    yield from _command_problems(bench)
    yield from _system_problems(bench)
    yield from switch_problems(bench.switch, [port.name for port in bench.ports]) if bench.switch else ()
    yield from _path_problems(bench)
    yield from _subnet_problems(bench)
    yield from _endpoint_problems(bench)


def _scale_problems(bench: Bench) -> Iterator[Problem]:
    if bench.emulated:
        return
    scales: dict[FieldPath, float] = {("paths", index): path.rate_scale for index, path in enumerate(bench.paths)}
    scales |= {("cards", card): entry.rate_scale for card, entry in bench.cards.items()}
    for field, scale in scales.items():
        if scale != 1:
            found = f"{scale:g}, and the cards are not emulated"
            yield Problem((*field, "rate_scale"), found, "1: a real card is measured at its line rate")


def _bmc_problems(bench: Bench) -> Iterator[Problem]:
    for role in Role:
        bmc, field = bench.server(role).bmc, ("servers", role.value, "bmc")
        if bmc is None:
            continue
        if bmc.ipmi is None and bmc.redfish is None:
            yield Problem(field, "no way to the BMC", "ipmi and/or redfish")
        elif (bmc.ipmi if bmc.power is BmcProtocol.IPMI else bmc.redfish) is None:
            found = f"{bmc.power.value} is not described here"
            yield Problem((*field, "use"), found, "one that is, or its section")


def _port_problems(bench: Bench, field_of: Callable[[Role, str], FieldPath]) -> Iterator[Problem]:
    on_function: dict[tuple[Role, str], list[Port]] = {}
    mac_seen: dict[str, str] = {}
    for port in bench.ports:
        field = field_of(port.role, port.key)
        others = on_function.setdefault((port.role, port.pci), [])
        same = next((other for other in others if None in (port.index, other.index) or port.index == other.index), None)
        others.append(port)
        if same is not None:
            wanted = "a PCI address of its own, or port_index for each port of one function"
            yield Problem((*field, "pci"), f"{port.pci} is {same.name} already", wanted)
        if port.mac is not None and mac_seen.setdefault(port.mac, port.name) != port.name:
            yield Problem((*field, "mac"), f"{port.mac} is {mac_seen[port.mac]} already", "a MAC address of its own")


def _card_problems(bench: Bench) -> Iterator[Problem]:
    """With each card the bench has the same ports, and they are as distinct as its own."""
    known = {port.name for port in bench.ports}
    for card, entry in bench.cards.items():
        if set(entry.ports) == known:
            field_of = partial(_card_port, card)
            yield from _port_problems(bench.with_card(card), field_of)
            continue
        found = ", ".join(sorted(entry.ports))
        yield Problem(("cards", card, "ports"), found, f"every port of the bench: {', '.join(sorted(known))}")


def _command_problems(bench: Bench) -> Iterator[Problem]:
    commands = bench.commands
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


def _system_problems(bench: Bench) -> Iterator[Problem]:
    """A bench that has names for systems can boot them, and each name is one system's."""
    own = {system.value for system in OperatingSystem}
    for name, system in bench.systems.items():
        if name in own:
            yield Problem(
                ("systems", name), f"{name}: {system.value}", f"another name than {' and '.join(sorted(own))}"
            )
    if bench.systems and (bench.commands is None or bench.commands.boot_systems is None):
        yield Problem(("systems",), "no command boots them", "commands.boot_systems")
    for role in Role:
        server = bench.server(role)
        if server.system is not None and bench.systems.get(server.system) is not server.os:
            same = ", ".join(name for name, system in bench.systems.items() if system is server.os)
            wanted = f"a name in systems that is {server.os.value}: {same or 'there is none'}"
            yield Problem(("servers", role.value, "system"), server.system, wanted)


def _path_problems(bench: Bench) -> Iterator[Problem]:
    names: set[str] = set()
    used: dict[str, str] = {}
    known = [port.name for port in bench.ports]
    for index, path in enumerate(bench.paths):
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
        yield from switched_path_problems(index, path.ends, bench.switch, through_switch=through_switch)
        if (path.pull is None) != (path.plug is None):
            given = "pull" if path.plug is None else "plug"
            yield Problem(field, f"{given} alone", "both pull and plug, or neither")


def _subnet_problems(bench: Bench) -> Iterator[Problem]:
    for index, path in enumerate(bench.paths):
        for other in bench.paths[:index]:
            if path.subnet.overlaps(other.subnet):
                found = f"{path.subnet} overlaps {other.subnet} of path {other.name}"
                yield Problem(("paths", index, "subnet"), found, "a subnet of its own")


def _endpoint_problems(bench: Bench) -> Iterator[Problem]:
    seen: list[tuple[FieldPath, _Endpoint]] = []
    for field, endpoint in _endpoints(bench):
        for other, known in seen:
            if endpoint.is_also(known):
                where = ".".join(str(step) for step in other)
                own = ", or a system of its own on both" if field[-1] == other[-1] == "redfish" else ""
                found = f"{endpoint.host}:{endpoint.port} is {where} already"
                yield Problem(field, found, f"an endpoint of its own{own}")
                break
        seen.append((field, endpoint))
    hosts = [(field, endpoint.host) for field, endpoint in seen]
    for field, host in (*hosts, *_jumps(bench)):
        for path in bench.paths:
            if _inside(host, path.subnet):
                found = f"{host} lies in {path.subnet} of path {path.name}"
                yield Problem(field, found, "an address that is not reached over the card under test")


def _endpoints(bench: Bench) -> Iterable[tuple[FieldPath, _Endpoint]]:
    """Everything the lab connects to; hosts behind different jump hosts may have the same address."""
    if bench.switch:
        yield ("switch",), _Endpoint("udp", bench.switch.address, bench.switch.snmp.port)
    for role in Role:
        server, field = bench.server(role), ("servers", role.value)
        ssh, jump = server.ssh, server.ssh.jump
        via = f"{jump.address}:{jump.port}" if jump else ""
        yield (*field, "ssh"), _Endpoint("tcp", ssh.address, ssh.port, via)
        if server.bmc and server.bmc.ipmi:
            yield (*field, "bmc", "ipmi"), _Endpoint("udp", server.bmc.ipmi.address, server.bmc.ipmi.port)
        if server.bmc and (redfish := server.bmc.redfish):
            url = urlsplit(redfish.url)
            service = _Endpoint("tcp", url.hostname or "", url.port or 443, system=redfish.system)
            yield (*field, "bmc", "redfish"), service
        if server.console:
            url = urlsplit(server.console.url)
            host = url.hostname or server.console.url
            yield (*field, "console"), _Endpoint("tcp", host, url.port or 0)


def _jumps(bench: Bench) -> Iterator[tuple[FieldPath, str]]:
    """The address of every machine that SSH goes through; servers may share them."""
    for role in Role:
        field: FieldPath = ("servers", role.value, "ssh", "jump")
        jump = bench.server(role).ssh.jump
        while jump:
            yield field, jump.address
            field, jump = (*field, "jump"), jump.jump


def _card_port(card: str, role: Role, key: str) -> FieldPath:
    return ("cards", card, "ports", f"{role.value}.{key}")


@dataclass(frozen=True)
class _Endpoint:
    protocol: str
    host: str
    port: int
    via: str = ""
    system: str | None = None

    def is_also(self, other: _Endpoint) -> bool:
        """Is it the same one? Two systems of one Redfish service are not, where both are named."""
        named = self.system and other.system
        return replace(self, system=None) == replace(other, system=None) and (not named or self.system == other.system)


def _inside(host: str, subnet: IPv4Network) -> bool:
    try:
        return ipaddress.ip_address(host) in subnet
    except ValueError:  # a name, or a device
        return False
