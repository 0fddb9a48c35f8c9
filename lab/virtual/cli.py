"""The ``vbench`` command."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import select
import socket
import subprocess
import sys
import termios
import time
import tty
from pathlib import Path

import benchfile
import cables
import cardfaults
import cardkit
import cardmodel
import cardsheet
import control
import faults
import image
import layout
import lifecycle
import modules
import nvram
import parts
import process
import prune
import qemu
import slots
import switchpanel
from freebsd.kit import FreeBsdError
from identity import Identity
from rpmroot import RpmRootError
from vendor import deb, medium, signing

NOT_RUNNING = 3  # exit status of a service that is not running (LSB)
LEAVE_CONSOLE = b"\x1d"  # Ctrl-]


def main(doc: str | None, arguments: list[str] | None = None) -> int:
    """Run one command; return its exit status. As a command, nothing that it starts gets a secret of the caller."""
    if arguments is None:
        parts.forget_secrets()
    options = _parser(doc).parse_args(arguments)
    try:
        bench = slots.bench(options.name)
        status: int = options.run(bench, options)
    except (
        lifecycle.BenchError,
        cardfaults.CardFaultError,
        cardmodel.ModelError,
        cardsheet.SheetError,
        control.ControlError,
        faults.FaultError,
        image.ImageError,
        layout.LayoutError,
        modules.ModuleError,
        cardkit.KitError,
        FreeBsdError,
        RpmRootError,
        nvram.CardMemoryError,
        parts.PartError,
        process.ProcessError,
        qemu.QemuError,
        slots.SlotError,
        deb.DebError,
        medium.MediumError,
        signing.SigningError,
        switchpanel.SwitchError,
    ) as error:
        print(f"vbench: {error}", file=sys.stderr)
        return 1
    return status


def _parser(doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("vbench", description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--name", default=layout.DEFAULT_NAME, help="name of the bench")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")

    def command(name: str, run: object) -> argparse.ArgumentParser:
        added = commands.add_parser(name, parents=[common])
        added.set_defaults(run=run)
        return added

    up = command("up", _up)
    up.add_argument(
        "--fresh", action="store_true", help="with new disks and cards as from the factory, and no undo journal"
    )
    _card_options(up)
    up.add_argument(
        "--os", action="append", type=_system, default=[], metavar="ROLE=OS", help="peer=freebsd, dut=rpm-dnf"
    )
    down = command("down", _down)
    down.add_argument("--now", action="store_true", help="do not wait for the operating systems")
    down.add_argument("--purge", action="store_true", help="remove disks, keys, logs and the undo journal as well")
    status = command("status", _status)
    how = status.add_mutually_exclusive_group()
    how.add_argument("--json", action="store_true")
    how.add_argument("--quiet", action="store_true")
    console = command("console", _console)
    console.add_argument("server", choices=layout.ROLES)
    ssh = command("ssh", _ssh)
    ssh.add_argument("server", choices=layout.ROLES)
    ssh.add_argument("remote", nargs=argparse.REMAINDER, metavar="COMMAND")
    cable = command("cable", _cable)
    cable.add_argument("action", choices=("pull", "plug"))
    cable.add_argument("cable")
    wiring = command("wiring", _wiring)
    wiring.add_argument("wiring", choices=cables.WIRINGS)
    switch = command("switch", _switch)
    switch.add_argument("action", choices=switchpanel.ACTIONS)
    switch.add_argument("port", nargs="?")
    actions = commands.add_parser("fault").add_subparsers(required=True, metavar="ACTION")
    for name, run in (("list", _list_faults), ("set", _set_fault), ("clear", _clear_faults)):
        actions.add_parser(name, parents=[common]).set_defaults(run=run)
    setting = actions.choices["set"]
    setting.add_argument("target", help="cable:a, cable:a.dut, bmc:dut, server:dut, card:dut.p0, switch:, switch:port1")
    setting.add_argument("setting", help="FAULT or FAULT=VALUE")
    cards = command("cards", _cards)
    _card_options(cards)
    systems = command("systems", _systems)
    for role in layout.ROLES:
        systems.add_argument(f"--{role}", choices=layout.SYSTEMS, help=f"boot this operating system on {role}")
    command("bench-file", _bench_file)
    images = command("image", _image)
    images.add_argument(
        "--os", action="append", choices=layout.SYSTEMS, default=[], help="that of this operating system, next to linux"
    )
    pruned = command("prune", _prune)
    pruned.add_argument("--days", type=float, default=30.0, help="what was not read for so long goes (30)")
    return parser


def _card_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--card", metavar="CARD", help="put this card (a model in lab/virtual/models) into both servers"
    )
    for role in layout.ROLES:
        parser.add_argument(f"--{role}", metavar="CARD", help=f"put this card into {role}")


def _chosen_cards(options: argparse.Namespace) -> dict[str, str]:
    """Role -> name of the card that the command line puts in."""
    chosen = {role: getattr(options, role) or options.card for role in layout.ROLES}
    return {role: name for role, name in chosen.items() if name}


def _system(text: str) -> tuple[str, str]:
    """``peer=freebsd``."""
    role, _, system = text.partition("=")
    if role not in layout.ROLES or system not in layout.SYSTEMS:
        wanted = f"{' or '.join(layout.ROLES)}, =, {' or '.join(layout.SYSTEMS)}"
        raise argparse.ArgumentTypeError(f"{text!r}; expected {wanted}")
    return role, system


def _up(bench: layout.Bench, options: argparse.Namespace) -> int:
    start = time.monotonic()
    lifecycle.up(bench, options.fresh, _chosen_cards(options), systems=dict(options.os))
    print(f"bench {bench.name} is up ({time.monotonic() - start:.1f} s)")
    return 0


def _down(bench: layout.Bench, options: argparse.Namespace) -> int:
    ended = lifecycle.down(bench, options.now, options.purge)
    print(f"bench {bench.name} is down" + (f": ended {', '.join(ended)}" if ended else ""))
    return 0


def _status(bench: layout.Bench, options: argparse.Namespace) -> int:
    status = lifecycle.status(bench)
    if options.json:
        print(json.dumps({"name": bench.name, "up": status.up, **dataclasses.asdict(status)}, indent=1))
    elif not options.quiet:
        for name, state in (*status.parts.items(), *status.servers.items()):
            print(f"{name:10} {state}")
        for name, card in status.cards.items():
            print(f"card {name:5} {card}")
        for name, system in status.systems.items():
            print(f"os {name:7} {system}")
        for name, cable in status.cables.items():
            plugged = isinstance(cable, dict) and cable.get("plugged")
            print(f"cable {name:4} {'plugged' if plugged else 'pulled' if isinstance(cable, dict) else cable}")
    return 0 if status.up else NOT_RUNNING if status.down else 1


def _cards(bench: layout.Bench, options: argparse.Namespace) -> int:
    """Print the cards; put others in first where the command line says so, and power on what ran."""
    if chosen := _chosen_cards(options):
        lifecycle.change_cards(bench, chosen)
        bench = slots.bench(bench.name)
    for server in bench.servers:
        print(f"{server.role} {server.card.name}")
    return 0


def _systems(bench: layout.Bench, options: argparse.Namespace) -> int:
    """Print the operating systems; boot others first where the command line says so, and power on what ran."""
    if chosen := {role: getattr(options, role) for role in layout.ROLES if getattr(options, role)}:
        lifecycle.change_cards(bench, {}, chosen)
        bench = slots.bench(bench.name)
    for server in bench.servers:
        print(f"{server.role} {server.system}")
    return 0


def _console(bench: layout.Bench, options: argparse.Namespace) -> int:
    address = (bench.server(options.server).console_address, layout.RAW_CONSOLE_PORT)
    try:
        line = socket.create_connection(address, timeout=2)
    except OSError as error:
        raise lifecycle.BenchError(f"console server does not answer on {address[0]}:{address[1]}: {error}") from error
    terminal = sys.stdin.fileno()
    saved = termios.tcgetattr(terminal) if os.isatty(terminal) else None
    try:
        if saved:
            print("Ctrl-] leaves the console")
            tty.setraw(terminal)
        while True:
            for readable in select.select([line, terminal], [], [])[0]:
                data = line.recv(65536) if readable is line else os.read(terminal, 1024)
                if not data or (readable is terminal and LEAVE_CONSOLE in data):
                    return 0
                if readable is line:
                    os.write(sys.stdout.fileno(), data)
                else:
                    line.sendall(data)
    finally:
        if saved:
            termios.tcsetattr(terminal, termios.TCSADRAIN, saved)
        line.close()


def _ssh(bench: layout.Bench, options: argparse.Namespace) -> int:
    command = lifecycle.ssh_command(bench.server(options.server), Identity(bench))
    return subprocess.run([*command, *options.remote]).returncode


def _cable(bench: layout.Bench, options: argparse.Namespace) -> int:
    control.ask(bench.folder / "cables.control", {options.action: options.cable})
    return 0


def _wiring(bench: layout.Bench, options: argparse.Namespace) -> int:
    control.ask(bench.folder / "cables.control", {"wiring": options.wiring})
    return 0


def _switch(bench: layout.Bench, options: argparse.Namespace) -> int:
    print(switchpanel.run(bench, options.action, options.port))
    return 0


def _list_faults(_: layout.Bench, __: argparse.Namespace) -> int:
    for fault in faults.FAULTS:
        setting = f"{fault.name}={fault.value}" if fault.value else fault.name
        print(f"{fault.kind + ':...':11} {setting:24} {fault.effect} (offends: {fault.offends})")
    return 0


def _set_fault(bench: layout.Bench, options: argparse.Namespace) -> int:
    faults.set_fault(bench, options.target, options.setting)
    return 0


def _clear_faults(bench: layout.Bench, _: argparse.Namespace) -> int:
    faults.clear_all(bench)
    return 0


def _bench_file(bench: layout.Bench, _: argparse.Namespace) -> int:
    print(benchfile.render(bench), end="")
    return 0


def _prune(_: layout.Bench, options: argparse.Namespace) -> int:
    removed = prune.prune(image.CACHE, options.days, prune.images_in_use(layout.STATE) | {qemu.folder()})
    for each in removed:
        print(f"removed {each.folder}: {each.size_bytes / 2**20:.0f} MiB, not read for {each.unread_days:.1f} days")
    print(f"{sum(each.size_bytes for each in removed) / 2**20:.0f} MiB are free again")
    return 0


def _image(_: layout.Bench, options: argparse.Namespace) -> int:
    for suite in dict.fromkeys(layout.SUITES[system] for system in (layout.LINUX, *options.os)):
        print(image.ensure(suite, Path("/dev/stderr")))
    return 0
