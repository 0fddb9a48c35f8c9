"""Bringing a bench up and down, and saying how it is."""

from __future__ import annotations

import base64
import fcntl
import json
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import bootclock
import control
import image
import parts
import process
import qemu
import server as machine
import slots
import uplinks
from freebsd.kit import FreeBsdError
from identity import Identity
from layout import JOURNALS, REDFISH_PORT, ROLES, SSH_PORT, Bench, Server
from rpmroot import RpmRootError
from wait import until

BOOT_S = 120.0
LOGIN_S = 30.0
GREETING_S = 5.0
"""Time for a server that is up to greet on a busy host; 0.3 s on a quiet one."""
SHUTDOWN_S = 15.0
CLOCK_ERROR_S = 1.0
"""A guest's clock may be off by so much after a boot; a processor counter calibrated wrongly is off by much more.

Half of it is the clock chip's: it counts whole seconds, and Linux takes the middle of one (drivers/rtc/class.c,
rtc_hctosys()). The rest is for the time between the kernel's reading and its setting, 0.1 s on a busy host."""


class BenchError(Exception):
    """The bench cannot do what was asked; the message says which part and why."""


@dataclass(frozen=True)
class Status:
    """The status of a bench.

    ``parts``: running or dead; ``servers``: off, on or ready (SSH answers); names of ``cards`` and of operating
    ``systems``.
    """

    parts: dict[str, str]
    servers: dict[str, str]
    cards: dict[str, str]
    systems: dict[str, str]
    cables: dict[str, object]

    @property
    def up(self) -> bool:
        return all(state == "running" for state in self.parts.values()) and all(
            state == "ready" for state in self.servers.values()
        )

    @property
    def down(self) -> bool:
        return all(state == "dead" for state in self.parts.values()) and all(
            state == "off" for state in self.servers.values()
        )


@contextmanager
def locked(bench: Bench) -> Iterator[None]:
    """One ``up`` or ``down`` at a time for a bench."""
    bench.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (bench.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def up(
    bench: Bench,
    fresh: bool,
    cards: Mapping[str, str] | None = None,
    say: Callable[[str], None] = print,
    systems: Mapping[str, str] | None = None,
) -> None:
    """Bring the bench up; start what is dead, power on what is off, leave alone what runs.

    Args:
        fresh: End everything first and throw the servers' disks, the cards' memories and the undo journal away.
        cards: Role -> name of the card to put in; a server that runs with another is powered off for it.
        systems: Role -> operating system to boot; a server that runs another is powered off for it.

    Raises:
        BenchError: When a part or a server does not come up.
    """
    if missing := image.missing_tools():
        raise BenchError(
            f"missing programs: {', '.join(missing)}; run 'make setup' (Debian: {' '.join(missing.values())})"
        )
    with locked(bench):
        wanted = slots.exchanged(bench, cards or {}, systems).servers  # names first: an image takes a minute to build
        images = {server.role: _image(server.suite, say) for server in wanted}
        programs = {server.role: qemu.ensure(server.card) for server in wanted}
        if fresh:
            _require_no_run(bench)
            parts.end_all(bench)
            for server in bench.servers:
                shutil.rmtree(server.folder, ignore_errors=True)
            (bench.folder / "cables.json").unlink(missing_ok=True)
            for name in uplinks.STATE_FILES:
                (bench.folder / name).unlink(missing_ok=True)
            _forget_journal(bench)
        bench = exchange(bench, cards or {}, systems)
        identity = Identity(bench)
        alive = parts.running(bench)
        off = [server for server in bench.servers if f"qemu-{server.role}" not in alive]
        try:
            with ThreadPoolExecutor() as pool:
                notes = [
                    pool.submit(machine.prepare, server, identity, images[server.role], programs[server.role])
                    for server in off
                ]
                parts.start(bench, [part for part in parts.parts(bench, identity) if part.name not in alive])
                for note in notes:
                    if told := note.result():
                        say(told)
                list(pool.map(lambda server: _power_on(server, identity, server in off), bench.servers))
        except (parts.PartError, image.ImageError, FreeBsdError, RpmRootError, BenchError):
            if not alive:
                parts.end_all(bench)  # nothing ran before: leave nothing half-started behind
            raise


def _image(suite: str, say: Callable[[str], None]) -> Path:
    """The guest image of a release of Debian; said before it is built."""
    if not image.built(suite):
        say(f"building the guest image of Debian {suite}, once, about a minute")
    return image.ensure(suite)


def change_cards(bench: Bench, cards: Mapping[str, str], systems: Mapping[str, str] | None = None) -> None:
    """Put other cards in, or other systems on; a bench of which anything runs is brought up again, one that is down
    stays down."""
    if parts.running(bench):
        up(bench, fresh=False, cards=cards, systems=systems)
        return
    with locked(bench):
        exchange(bench, cards, systems)


def exchange(before: Bench, cards: Mapping[str, str], systems: Mapping[str, str] | None = None) -> Bench:
    """Put other cards in: servers that run with the former ones are shut down, and the cables are laid again.

    Args:
        cards: Role -> name of the new card; that of a role not named stays.
        systems: Role -> the new operating system; likewise.

    Returns:
        The bench with its new cards; nothing is powered on.
    """
    after = slots.exchanged(before, cards, systems)
    pairs = zip(before.servers, after.servers, strict=True)
    roles = [new.role for old, new in pairs if (old.card, old.system) != (new.card, new.system)]
    if not roles:
        return before
    alive = parts.running(before)
    _shut_down(before, alive, roles)
    parts.end(before, ["cables", "switch", *(f"qemu-{role}" for role in roles)])
    slots.remember(after)
    return after


def _power_on(server: Server, identity: Identity, was_off: bool) -> None:
    """Power on over Redfish, wait for SSH, compare the clocks.

    A login for the clock costs a second: only where the boot itself has not told a right one on the console.
    """
    began = time.time()
    redfish(server, identity, "On")
    start = time.monotonic()

    def answers() -> bool:
        # on a busy host a greeting takes long, and longer still when a server is asked again before it could give one
        return ssh_answers(server, max(1.0, (time.monotonic() - start) / 8))

    if not until(answers, within_s=BOOT_S, every_s=0.1):
        raise BenchError(f"{server.role}: no SSH within {BOOT_S:g} s of power-on; see 'vbench console {server.role}'")
    if not (was_off and bootclock.was_right(server.console_log, began, CLOCK_ERROR_S)):
        check_clock(server, identity)


def redfish(server: Server, identity: Identity, reset_type: str) -> None:
    """Ask the server's BMC for a ``ComputerSystem.Reset``.

    Raises:
        BenchError: When it refuses or does not answer; a server that is in the wanted state already is no error.
    """
    url = f"https://{server.bmc_address}:{REDFISH_PORT}/redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
    token = base64.b64encode(f"admin:{identity.secret('VBENCH_BMC_PASSWORD')}".encode()).decode()
    request = urllib.request.Request(
        url,
        json.dumps({"ResetType": reset_type}).encode(),
        {"Authorization": f"Basic {token}", "Content-Type": "application/json"},
    )
    try:
        context = ssl.create_default_context(cafile=str(identity.certificate))
        # no proxy knows the way to a BMC of this machine, whatever the environment says
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        direct.open(request, timeout=20).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:  # 409: it is on (or off) already
            raise BenchError(
                f"{server.role}: BMC refuses {reset_type}: {error.read().decode(errors='replace')}"
            ) from error
    except OSError as error:
        raise BenchError(f"{server.role}: BMC does not answer: {error}") from error


def ssh_answers(server: Server, within_s: float = 1.0) -> bool:
    """Does an SSH server greet us? (QEMU accepts the connection in any case.)"""
    try:
        with socket.create_connection((server.address, SSH_PORT), timeout=within_s) as connection:
            return connection.recv(8).startswith(b"SSH-2.0")
    except OSError:
        return False


def ssh_command(server: Server, identity: Identity) -> list[str]:
    """The ``ssh`` command line for a server."""
    options = (
        "IdentitiesOnly=yes",
        f"UserKnownHostsFile={identity.known_hosts}",
        "StrictHostKeyChecking=yes",
        "LogLevel=ERROR",
    )
    flags = [word for option in options for word in ("-o", option)]
    return ["ssh", "-F", "none", *flags, "-i", str(identity.user_key), "-p", str(SSH_PORT), f"root@{server.address}"]


def check_clock(server: Server, identity: Identity) -> None:
    """Compare the server's clock with ours.

    Raises:
        BenchError: When it is off by more than ``CLOCK_ERROR_S``: times measured in such a server are worthless.
    """
    before = time.time()
    command = [*ssh_command(server, identity), "date +%s.%N"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LOGIN_S, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{server.role}: no SSH login within {LOGIN_S:g} s") from error
    after = time.time()
    if done.returncode:
        raise BenchError(f"{server.role}: SSH login fails: {done.stderr.strip()}")
    try:
        theirs = float(done.stdout)
    except ValueError as error:
        raise BenchError(f"{server.role}: 'date +%s.%N' gives {done.stdout[:80]!r}; expected seconds") from error
    if not before - CLOCK_ERROR_S <= theirs <= after + CLOCK_ERROR_S:
        raise BenchError(
            f"{server.role}: its clock is {theirs - before:+.1f} s off (counter calibrated wrongly): power-cycle it"
        )


def down(bench: Bench, now: bool, purge: bool) -> list[str]:
    """Shut the servers down, end every part, remove sockets and run-time files.

    The servers' disks, the keys, the logs and the undo journal stay, unless ``purge`` is true.

    Args:
        now: Do not wait for the servers' operating systems.

    Returns:
        Names of the parts that were ended.

    Raises:
        BenchError: A run that still works on the bench is not to lose its servers.
    """
    if not bench.folder.exists():
        return []
    with locked(bench):
        if purge:
            _require_no_run(bench)
        alive = parts.running(bench)
        if not now and any(name.startswith("bmc") for name in alive):
            _shut_down(bench, alive, ROLES)
        ended = parts.end_all(bench)
        keep = {".qcow2", ".log", ".raw", ".pem", ".env"}
        for path in bench.folder.rglob("*"):
            if path.is_socket() or path.suffix in (".config", ".pid", ".control", ".new"):
                assert path.suffix not in keep
                path.unlink()
        if purge:
            shutil.rmtree(bench.folder)
            _forget_journal(bench)
    return sorted({*alive, *ended})


def _require_no_run(bench: Bench) -> None:
    """A run holds the lock of its bench's journal until it ends."""
    journal = JOURNALS / f"{bench.name}.jsonl"
    if not journal.exists():
        return
    with journal.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BenchError(
                f"bench {bench.name}: a run uses it ({journal} is locked); expected none before its servers are thrown "
                f"away"
            ) from error


def _forget_journal(bench: Bench) -> None:
    """Remove the notes of runs about changes to servers that are thrown away: nobody could undo them."""
    for path in JOURNALS.glob(f"{bench.name}.*"):
        path.unlink()


def _shut_down(bench: Bench, alive: dict[str, list[process.Pid]], roles: Sequence[str]) -> None:
    """Press the power button of every server that runs, and give the systems time to write their disks."""
    identity = Identity(bench)
    candidates = [server for server in bench.servers if server.role in roles]
    both_run = [s for s in candidates if f"qemu-{s.role}" in alive and f"bmc-{s.role}" in alive]
    pressed = [server for server in both_run if ssh_answers(server, GREETING_S)]
    for server in pressed:
        redfish(server, identity, "GracefulShutdown")
    until(
        lambda: not any(f"qemu-{server.role}" in parts.running(bench) for server in pressed),
        within_s=SHUTDOWN_S,
        every_s=0.1,
    )


def status(bench: Bench) -> Status:
    """Look at every part. Takes longer than ``GREETING_S`` per server only when a part stands still."""
    alive = parts.running(bench)
    names = [*(f"bmc-{server.role}" for server in bench.servers), "consoles", "cables", "switch"]
    servers = {}
    for server in bench.servers:
        on = f"qemu-{server.role}" in alive
        servers[server.role] = (
            "off" if not on else "ready" if ssh_answers(server, GREETING_S) else "on, SSH does not answer"
        )
    cables: dict[str, object] = {}
    if "cables" in alive:
        try:
            cables = control.ask(bench.folder / "cables.control", {"status": True}, deadline_s=2)["cables"]
        except control.ControlError as error:
            cables = {"error": str(error)}
    cards = {server.role: server.card.name for server in bench.servers}
    systems = {server.role: server.system for server in bench.servers}
    return Status({name: "running" if name in alive else "dead" for name in names}, servers, cards, systems, cables)
