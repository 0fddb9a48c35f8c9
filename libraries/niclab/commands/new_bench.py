"""Writes a commented bench file from a few answers, and from the ports that both servers say they have."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.card import Card, PortLayout, load_card
from niclab.core.verdict import BenchFault
from niclab.files.document import shown_file
from niclab.files.repository import REPOSITORY
from niclab.hosts.linux_host import LinuxHost
from niclab.report import write_atomically
from niclab.transports.ssh.ssh import SshEndpoint, SshHost

BENCHES = REPOSITORY / "lab" / "benches"
_HEAD = """\
# yaml-language-server: $schema={schema}
# Written by: niclab new-bench. Every field is explained in lab/benches/example-real.yaml: BMCs, consoles, a switch and
# commands for cables are there as well.
bench: {name}
description: Two servers with {card}, back to back

servers:
"""
_SERVER = """\
  {role}:
    os: linux
    ssh:
{login}
    # domain:bus:device.function as `lspci -D` prints it; mac: and slot: are optional
    ports:
{ports}
"""
_PATH = """\
  - name: {name}
    ends: [dut.{port}, peer.{port}]
    through: direct
    # an address range that nothing else uses
    subnet: 198.18.{number}.0/24
"""
_PLACE = re.compile(
    r"(?:(?P<user>[^@\s]+)@)?"
    r"(?P<address>\[[0-9A-Fa-f:.]+\]|[^@:\s\[\]]+|[0-9A-Fa-f]*(?::[0-9A-Fa-f.]*){2,})(?::(?P<port>\d+))?"
)
_PCI_ID = re.compile(r"([0-9a-f]{4}):([0-9a-f]{4})")
_FORM = "[USER@]HOST[:PORT]"
_CARD = "Name of the card's sheet in lab/cards, or VENDOR:DEVICE as `lspci -nn` shows it ([8086:10d3]) if it has none"


@dataclass(frozen=True)
class BenchAnswers:
    """The answers of the user; an empty one is not given yet."""

    name: str
    card: str = ""
    peer_card: str = ""
    dut: str = ""
    peer: str = ""
    jump: str = ""
    key_file: str = ""
    known_hosts: str = ""


QUESTIONS = {
    "card": _CARD,
    "peer_card": "The same of the peer's card; empty if it is the same card",
    "dut": f"Server with the card under test, {_FORM}; who is not root (the default) has sudo without a password",
    "peer": f"The other server, {_FORM}",
    "jump": f"Machine to go through to both, {_FORM}; empty if there is none",
    "key_file": "Private key of SSH for all of them, without passphrase",
    "known_hosts": "File with the host keys of all of them",
}
OPTIONAL = ("peer_card", "jump")


@dataclass(frozen=True)
class _Kind:
    """The kind of a card, and where its ports are. ``ports``: how many a server must have; None: nobody knows."""

    vendor_id: str
    device_id: str
    sheet: Card | None = None

    @property
    def ports(self) -> int | None:
        return self.sheet.identity.network_ports if self.sheet else None

    @property
    def fields_of_function(self) -> list[str]:
        """The fields of each port of a function, after that of the function."""
        identity = self.sheet.identity if self.sheet else None
        if identity is None or identity.port_layout is not PortLayout.ONE_FUNCTION or not identity.ports_per_card:
            return [""]
        return [f", port_index: {index}" for index in range(identity.ports_per_card)]


def run(answers: BenchAnswers, folder: Path = BENCHES) -> int:
    """Ask for what is missing, look at the servers, and write the bench file; it then passes every static check.

    Args:
        answers: What is known.
        folder: Folder of the bench files.

    Raises:
        BenchFault: The file exists, an answer is missing and nobody can be asked, a server cannot be asked, or the
            bench file would be wrong; nothing is written then.
    """
    file = folder / f"{answers.name}.yaml"
    if file.exists():
        raise BenchFault(f"{shown_file(file)}: exists; expected the name of a new bench")
    complete = _asked(answers)
    kinds = {Role.DUT: _kind("card", complete.card), Role.PEER: _kind("peer-card", complete.peer_card or complete.card)}
    logins = {role: _login(role, complete) for role in Role}
    found = {role: _ports_of(logins[role], kind) for role, kind in kinds.items()}
    write_atomically(file, _text_of(complete, logins, found, folder))
    try:
        load_bench(file)
    except BenchFault:
        file.unlink()
        raise
    place, card = shlex.quote(str(file)), complete.card
    print(f"{shown_file(file)}\nnext: compare the cables with `paths`, then: ", end="")
    if kinds[Role.DUT].sheet is None:
        print(f"niclab new-card NAME --from {place}")
    else:
        print(f"niclab doctor {place} --card {shlex.quote(card)}")
    return 0


def _ports_of(login: SshEndpoint, kind: _Kind) -> list[str]:
    """The fields of each port of a kind of card on a server, as they are in a bench file."""
    with SshHost(login) as ssh:
        functions = LinuxHost(ssh, login.name).pci.functions(kind.vendor_id, kind.device_id)
    ports = [f'pci: "{function}"{more}' for function in functions for more in kind.fields_of_function]
    if len(ports) < (kind.ports or 1):
        source = f"identity.ports of sheet {kind.sheet.name}" if kind.sheet else "at least, as `lspci -nn` shows them"
        raise BenchFault(
            f"{login.name} ({login.address}): {len(ports)} ports of {kind.vendor_id}:{kind.device_id}; "
            f"expected {kind.ports or 1} ({source})"
        )
    return ports[: kind.ports]


def _text_of(
    answers: BenchAnswers, logins: Mapping[Role, SshEndpoint], ports: Mapping[Role, list[str]], folder: Path
) -> str:
    inside = folder.resolve() == BENCHES
    schema = "../schema/bench.schema.json" if inside else str(REPOSITORY / "lab" / "schema" / "bench.schema.json")
    text = _HEAD.format(schema=schema, name=answers.name, card=answers.card.replace(":", "/"))
    for role in Role:
        lines = "\n".join(f"      p{number}: {{{port}}}" for number, port in enumerate(ports[role]))
        text += _SERVER.format(role=role.value, login="\n".join(_login_lines(logins[role], " " * 6)), ports=lines)
    text += "# One entry a cable: swap the ends where the cables are swapped; niclab doctor proves them.\npaths:\n"
    for number in range(min(map(len, ports.values()))):
        text += _PATH.format(name=f"cable{number}", port=f"p{number}", number=10 + number)
    return text


def _login_lines(login: SshEndpoint, indent: str) -> list[str]:
    lines = [f"{indent}address: {json.dumps(login.address) if ':' in login.address else login.address}"]
    lines += [f"{indent}port: {login.port}"] if login.port != 22 else []
    lines += [f"{indent}user: {login.user}"]
    lines += [f"{indent}sudo: true"] if login.sudo else []
    lines += [f"{indent}key_file: {json.dumps(str(login.key_file))}"]
    lines += [f"{indent}known_hosts: {json.dumps(str(login.known_hosts))}"]
    return lines + ([f"{indent}jump:", *_login_lines(login.jump, f"{indent}  ")] if login.jump else [])


def _kind(option: str, card: str) -> _Kind:
    if ids := _PCI_ID.fullmatch(card.strip("[]").lower()):
        return _Kind(ids[1], ids[2])
    try:
        sheet = load_card(card)
    except BenchFault as error:
        raise BenchFault(f"new-bench: --{option}: {error}; or VENDOR:DEVICE of a card without a sheet") from error
    return _Kind(sheet.identity.vendor_id, sheet.identity.device_id, sheet)


def _login(role: Role, answers: BenchAnswers) -> SshEndpoint:
    jump = _endpoint(f"{role.value} jump host", "jump", answers) if answers.jump else None
    login = _endpoint(role.value, role.value, answers)
    return replace(login, jump=jump, sudo=login.user != "root")


def _endpoint(name: str, option: str, answers: BenchAnswers) -> SshEndpoint:
    text = getattr(answers, option)
    place = _PLACE.fullmatch(text)
    if place is None or not 0 < int(place["port"] or 22) < 65536:
        raise BenchFault(f"new-bench: --{option}: {text!r}; expected {_FORM}, and an IPv6 address with a port in [ ]")
    key_file, known_hosts = (Path(file).expanduser().absolute() for file in (answers.key_file, answers.known_hosts))
    address, port = place["address"].strip("[]"), int(place["port"] or 22)
    return SshEndpoint(name, address, port, place["user"] or "root", key_file, known_hosts)


def _asked(answers: BenchAnswers) -> BenchAnswers:
    asks = sys.stdin.isatty()
    for name in (each.name for each in fields(answers)):
        if getattr(answers, name) or (name in OPTIONAL and not asks):
            continue
        flag = f"--{name.replace('_', '-')}"
        if not asks:
            raise BenchFault(f"new-bench: {flag}: missing; expected {QUESTIONS[name]}")
        answers = replace(answers, **{name: input(f"{QUESTIONS[name]}: ").strip()})
        if not getattr(answers, name) and name not in OPTIONAL:
            raise BenchFault(f"new-bench: {flag}: empty; expected {QUESTIONS[name]}")
    return answers
