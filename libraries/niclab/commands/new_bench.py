"""Writes a commented bench file from a few answers, and from the ports that both servers say they have."""

from __future__ import annotations

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
      address: {address}
      user: root
      key_file: {key_file}
      known_hosts: {known_hosts}
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


@dataclass(frozen=True)
class BenchAnswers:
    """The answers of the user; an empty one is not given yet."""

    name: str
    card: str = ""
    dut: str = ""
    peer: str = ""
    key_file: str = ""
    known_hosts: str = ""


QUESTIONS = {
    "card": "Name of the card's sheet in lab/cards",
    "dut": "Host name or address of the server with the card under test",
    "peer": "Host name or address of the other server",
    "key_file": "Private key of SSH for root, without passphrase",
    "known_hosts": "File with the host keys of both servers",
}


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
    sheet = load_card(complete.card)
    found = {role: ports_of(role, complete, sheet) for role in Role}
    write_atomically(file, text_of(complete, found, folder))
    try:
        load_bench(file)
    except BenchFault:
        file.unlink()
        raise
    print(f"{shown_file(file)}\nnext: compare the cables with `paths`, then: niclab doctor {file} --card {sheet.name}")
    return 0


def ports_of(role: Role, answers: BenchAnswers, sheet: Card) -> list[str]:
    """Ask a server where its ports of a card are.

    Args:
        role: Which server.
        answers: Where it is, and how to log in.
        sheet: The card.

    Returns:
        The fields of each port, as they are in a bench file.

    Raises:
        BenchFault: The server cannot be asked, or has fewer ports than the sheet says.
    """
    address = getattr(answers, role.value)
    key_file, known_hosts = (Path(each).expanduser() for each in (answers.key_file, answers.known_hosts))
    with SshHost(SshEndpoint(role.value, address, 22, "root", key_file, known_hosts)) as ssh:
        identity = sheet.identity
        functions = LinuxHost(ssh, role.value).pci.functions(identity.vendor_id, identity.device_id)
    several = identity.port_layout is PortLayout.ONE_FUNCTION and identity.ports_per_card
    indexes = [f", port_index: {index}" for index in range(identity.ports_per_card or 1)] if several else [""]
    ports = [f'pci: "{function}"{index}' for function in functions for index in indexes]
    if len(ports) < identity.network_ports:
        ids = f"{identity.vendor_id}:{identity.device_id}"
        raise BenchFault(
            f"{role.value} ({address}): {len(ports)} ports of {ids}; expected {identity.network_ports} "
            f"(identity.ports of sheet {sheet.name})"
        )
    return ports[: identity.network_ports]


def text_of(answers: BenchAnswers, ports: Mapping[Role, list[str]], folder: Path = BENCHES) -> str:
    """Return the bench file.

    Args:
        answers: All answers.
        ports: The fields of the ports of both servers.
        folder: Where the file will be.
    """
    inside = folder.resolve() == BENCHES
    schema = "../schema/bench.schema.json" if inside else str(REPOSITORY / "lab" / "schema" / "bench.schema.json")
    text = _HEAD.format(schema=schema, name=answers.name, card=answers.card)
    for role in Role:
        lines = "\n".join(f"      p{number}: {{{port}}}" for number, port in enumerate(ports[role]))
        text += _SERVER.format(
            role=role.value,
            address=getattr(answers, role.value),
            key_file=answers.key_file,
            known_hosts=answers.known_hosts,
            ports=lines,
        )
    text += "# One entry a cable: swap the ends where the cables are swapped; niclab doctor proves them.\npaths:\n"
    for number in range(min(map(len, ports.values()))):
        text += _PATH.format(name=f"cable{number}", port=f"p{number}", number=10 + number)
    return text


def _asked(answers: BenchAnswers) -> BenchAnswers:
    for name in (each.name for each in fields(answers)):
        if getattr(answers, name):
            continue
        flag = f"--{name.replace('_', '-')}"
        if not sys.stdin.isatty():
            raise BenchFault(f"new-bench: {flag}: missing; expected {QUESTIONS[name]}")
        answers = replace(answers, **{name: input(f"{QUESTIONS[name]}: ").strip()})
        if not getattr(answers, name):
            raise BenchFault(f"new-bench: {flag}: empty; expected {QUESTIONS[name]}")
    return answers
