"""Looking a bench over before a run: all that can be wrong, and how it is mended. Changes nothing that stays."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from niclab.bench.bench_commands import Controller, in_words
from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, Commands, OperatingSystem, Port, Role
from niclab.card import Card, load_card
from niclab.checks.seen import look
from niclab.checks.sheet_or_card import disagreements
from niclab.commands.doctor_storage import examine_storage
from niclab.commands.doctor_switch import examine_switch
from niclab.commands.findings import Finding, look_at
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.files.document import shown_file
from niclab.hosts.system.oldest import KERNEL, OLDEST, too_old
from niclab.links import wiring
from niclab.run.acquiring.leases import give_leases_back_quietly, prepare_leases
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.acquiring.whole_card import require_whole_card
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.traffic.tools.tool_choice import tool_of
from niclab.transports.ssh import ssh_mend

CLOCK_ERROR_S = 2.0
"""Assumption: logs of two servers can still be read side by side."""
_CANNOT_RUN = (126, 127, 255)
"""Exit statuses of a shell that cannot run a command, and of ssh that cannot log in."""


def examine(
    bench_file: Path,
    card: str,
    *,
    cables: bool,
    scratch: Path,
    systems: Mapping[Role, str] | None = None,
) -> Iterator[Finding]:
    """Look at everything, in the order in which one thing needs the other; yields findings as they are made.

    Args:
        bench_file: The bench file.
        card: Name of the card's sheet, or its file.
        cables: Prove the wiring too: takes links down for a moment.
        scratch: Folder for logs.
        systems: Systems of servers that are to run others than the bench file says, by name.
    """
    try:
        bench = load_bench(bench_file).with_systems(systems or {})
    except BenchFault as error:
        mend = "correct the file; lab/benches/example-real.yaml explains every field"
        yield Finding("bench", "file", "", str(error), mend if bench_file.exists() else "run: niclab new-bench NAME")
        return
    yield Finding("bench", "file", f"{bench.name}: {bench.description}")
    try:
        sheet = load_card(card)
    except BenchFault as error:
        new = f"niclab new-card NAME --from {shlex.quote(str(bench_file))}"
        yield Finding("card", "sheet", "", str(error), f"correct --card, or the sheet; for a new card: {new}")
        return
    bench = bench.with_card(sheet.name)
    yield (ports := _ports(bench, sheet))
    if ports.fault:
        return
    run = Run(bench, sheet, scratch, lambda: None)
    if bench.commands and (finding := _power(bench.commands, run.controller)):
        yield finding
        return
    if bench.commands and (finding := _cards(bench.commands, sheet.name, run.controller)):
        yield finding
        if finding.fault:
            return
    if bench.commands and (finding := _systems(bench, run.controller)):
        yield finding
        if finding.fault:
            return
    try:
        with run.journal.hold():
            yield (journal := _journal(run))
            run.bench_servers.by_role = {role: Server(bench, role, run.secrets, run.notes) for role in Role}
            faults = int(bool(journal.fault))  # proving cables would undo what is not of this look
            prepare_leases(run.servers.values(), run.journal, bench.name)
            for server in run.servers.values():
                for finding in _server(bench, server):
                    faults += bool(finding.fault)
                    yield finding
            if not faults:
                yield from _sheet_or_card(run)
                yield from examine_storage(run)
            for finding in examine_switch(run):
                faults += bool(finding.fault)
                yield finding
            if cables and not faults:
                yield from _cables(run)
    except BenchFault as error:
        yield Finding("bench", "lock", "", str(error), "wait for the other run, or end it")
    finally:
        give_leases_back_quietly(run.servers.values())
        run.bench_servers.close()


def _ports(bench: Bench, card: Card) -> Finding:
    mend = f"name every port of {card.name} in the bench file, each on a path; or correct identity.ports of its sheet"
    try:
        require_whole_card(bench, card)
    except BenchFault as error:
        return Finding("bench", "ports", "", str(error), mend)
    return Finding("bench", "ports", f"all {card.identity.network_ports} of {card.name}")


def _power(commands: Commands, controller: Controller) -> Finding | None:
    """Is the bench up? Nothing where it is; a status command that cannot run says nothing about the bench."""
    correct = "correct commands.status in the bench file, or install what it needs"
    try:
        done = controller.run(commands.status)
    except BenchFault as error:
        return Finding("bench", "power", "", str(error), correct)
    if not done.returncode:
        return None
    said = (done.stderr or done.stdout).strip().splitlines()
    ending = f"{commands.status!r} ended with exit status {done.returncode}" + (f": {said[-1]}" if said else "")
    if done.returncode in _CANNOT_RUN:
        return Finding("bench", "power", "", f"the command failed: {ending}", correct)
    return Finding("bench", "power", "", f"the bench is down: {ending}", f"run: {commands.up}")


def _cards(commands: Commands, card: str, controller: Controller) -> Finding | None:
    """Are the cards in that are to be looked at? Nothing where the bench cannot tell."""
    if commands.inserted is None:
        return None
    wanted = dict.fromkeys((role.value for role in Role), card)
    mend = f"run: {commands.insert_command(wanted)}"
    return _in_servers("cards", controller, commands.inserted, wanted, f"{card} in both servers", mend)


def _systems(bench: Bench, controller: Controller) -> Finding | None:
    """Do the servers run what they are to run? Nothing where the bench cannot tell."""
    commands = bench.commands
    if commands is None or commands.systems is None:
        return None
    wanted = {role.value: bench.server(role).boots for role in Role}
    mend = f"run: {commands.boot_command(wanted)}"
    return _in_servers("systems", controller, commands.systems, wanted, in_words(wanted), mend)


def _in_servers(
    subject: str, controller: Controller, command: str, wanted: dict[str, str], expected: str, mend: str
) -> Finding:
    try:
        found = controller.names_in_servers(command)
    except BenchFault as error:
        return Finding("bench", subject, "", str(error), mend)
    if found != wanted:
        return Finding("bench", subject, "", f"{in_words(found)}; expected {expected}", mend)
    return Finding("bench", subject, in_words(found))


def _journal(run: Run) -> Finding:
    pending = run.journal.pending()
    if pending:
        changes = "; ".join(str(entry) for entry in pending)
        mend = f"run: niclab restore {shlex.quote(str(run.bench.file))}"
        return Finding("bench", "journal", "", f"changes not undone: {changes}", mend)
    return Finding("bench", "journal", "nothing to undo")


def _server(bench: Bench, server: Server) -> Iterator[Finding]:
    ssh = _look(server, "ssh", lambda: _login(server), ssh_mend.reach(server.ssh.endpoint))
    yield ssh
    if not ssh.fault:
        mend = "wait for that run; if it has ended: niclab restore --steal"
        if (lease := _look(server, "lease", lambda: _lease(server), mend)).fault:
            yield lease
        yield _look(server, "privileges", lambda: _root(server), "log in as root, or as a user with `sudo: true`")
        mend = "install what is missing or too old from the distribution's packages, or a newer system"
        yield _look(server, "tools", lambda: _tools(server, bench), mend)
        yield _look(server, "clock", lambda: _clock(server), "synchronise the clocks of servers and controller (NTP)")
        for port in bench.ports:
            if port.role is server.role:
                mend = f"check 'pci' of {port.name} against 'lspci -D' on the server, and that its driver is loaded"
                yield _look(server, port.key, partial(_interface, server, port), mend)
    entry = server.description.bmc
    if entry and entry.ipmi:
        mend = f"check address, user and secret {entry.ipmi.password_secret}; cipher_suite 3 for old BMCs"
        yield _look(server, "ipmi", lambda: f"power {server.ipmi.power_status().value}", mend)
    if entry and entry.redfish:
        mend = f"check url, user, ca_file and secret {entry.redfish.password_secret}"
        yield _look(server, "redfish", lambda: f"power {server.redfish.power_status().value}", mend)
    if server.description.console:
        mend = "check url (another reader? the line's speed?), user and secret of the console"
        yield _look(server, "console", lambda: _console(server), mend)


def _look(server: Server, what: str, look: Callable[[], str], mend: str) -> Finding:
    return look_at(server.name, what, look, mend)


def _login(server: Server) -> str:
    server.run("true", timeout_s=15)
    entry = server.description.ssh
    return f"{entry.user}@{entry.address}:{entry.port}, {server.host.system.kernel()}"


def _lease(server: Server) -> str:
    assert server.lease is not None
    server.lease.take()
    return "used by nobody else"


def _root(server: Server) -> str:
    if not server.host.system.is_root():
        raise BenchFault(f"{server.name}: {server.description.ssh.user} is not root")
    return "root"


def _tools(server: Server, bench: Bench) -> str:
    wanted = (*server.host.system.needed_tools(), *tool_of(bench.traffic).programs)
    software = server.host.system.software(wanted)
    versions = software.tools
    if missing := [name for name in wanted if name not in versions or versions[name] is None]:
        raise BenchFault(f"{server.name}: missing: {', '.join(missing)}")
    found = {**versions, KERNEL: software.kernel}
    if old := too_old(found, OLDEST[server.description.os]):
        shown = ", ".join(f"{name} {found[name]}; expected {oldest} or later" for name, oldest in old.items())
        raise BenchFault(f"{server.name}: too old to be read: {shown}")
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _clock(server: Server) -> str:
    before = time.time()
    theirs = server.host.system.clock_s()
    after = time.time()
    error_s = max(before - theirs, theirs - after, 0.0)
    if error_s > CLOCK_ERROR_S:
        raise BenchFault(f"{server.name}: its clock is {theirs - before:+.1f} s from the controller's")
    return f"within {error_s + (after - before):.2f} s"


def _console(server: Server) -> str:
    entry = server.description.console
    assert entry is not None
    server.console.greet(within_s=10)
    return f"{entry.url} answers"


def _interface(server: Server, port: Port) -> str:
    return f"{port.pci} is {server.interface(port)}"


def _sheet_or_card(run: Run) -> Iterator[Finding]:
    """Compare the sheet with every port of the dut, before a run would blame the card for each difference."""
    server, sheet = run.server(Role.DUT), run.card
    system = server.description.os
    mend = f"correct {shown_file(sheet.file)}; if it is right, a run will fail the card for it"
    try:
        if system is OperatingSystem.LINUX:
            sheet = sheet.of_kernel(server.host.system.kernel())
        sheet = sheet.of_system(system)
        found = {
            port: disagreements(sheet, system, look(server.host, port.pci, server.interface(port)))
            for port in run.bench.ports
            if port.role is Role.DUT
        }
    except (BenchFault, NotApplicable, Undecided) as error:
        yield Finding("dut", "sheet", "", str(error), "make the card readable: its driver must drive every port")
        return
    for port, several in found.items():
        for each in several:
            yield Finding("dut", port.key, "", question=str(each), mend=mend)
    if not any(found.values()):
        yield Finding("dut", "sheet", f"{sheet.name}: every fact that can be read without a test is as on the sheet")


def _cables(run: Run) -> Iterator[Finding]:
    try:
        run.part(PreparedPorts).prepare()
        for line in wiring.prove(run):
            yield Finding("bench", "cables", line)
    except CardFailure as error:
        yield Finding("dut", "card", "", str(error), "replace the card, or its driver or firmware")
    except (BenchFault, NotApplicable, Undecided) as error:
        yield Finding("bench", "cables", "", str(error), "put the cables right, or correct 'paths' in the bench file")
    finally:
        report = run.journal.undo_all(run.undo)
    try:
        report.raise_if_failed()
    except BenchFault as error:
        yield Finding("bench", "journal", "", str(error), f"run: niclab restore {shlex.quote(str(run.bench.file))}")
