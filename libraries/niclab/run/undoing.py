"""The undo actions of the journal, carried out on the bench."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault
from niclab.run.bring_up import stops_servers
from niclab.run.leases import forget_leases
from niclab.run.recover import ensure_ready
from niclab.switch import undo as switch_undo
from niclab.transports.bmc import PowerState
from niclab.transports.ssh_records import tail

if TYPE_CHECKING:
    from niclab.run.run import Run

POWER_WITHIN_S = 60.0
_UNDONE = "@ undone"
_ON_SERVERS = frozenset(ActionKind) - {ActionKind.LOCAL, ActionKind.POWER}
"""Actions that are undone on servers that run; the others may switch them off."""


def carry_out(run: Run, action: Action) -> None:
    """Carry out one undo action of the journal.

    Args:
        run: The run whose bench it concerns.
        action: The action.

    Raises:
        BenchFault: It fails.
    """
    match action.kind:
        case ActionKind.SHELL:
            run.server(action.where).run(action.command, timeout_s=action.deadline_s)
        case ActionKind.LOCAL:
            if stops_servers(run.bench, action.command):
                run.look_before_leaving(run.servers.values(), is_last=True)
                run.close_servers()
                forget_leases(run.servers.values())
            run.controller.check(action.command)
        case ActionKind.POWER:
            server = run.server(action.where)
            if action.command == "off":
                run.look_before_leaving([server], is_last=True)
            server.bmc.set_power(PowerState(action.command), within_s=POWER_WITHIN_S)
            if action.command == "on":
                server.wait_ready()
            else:
                forget_leases([server])
        case ActionKind.RESTART:
            _restart(run, action)
        case ActionKind.SWITCH:
            switch_undo.carry_out(run.switch, action.command)


def undo_newest_first(run: Run, entries: list[Entry]) -> None:
    """Undo changes that were made on one server by its shell, all in one command, and take each off the list.

    Args:
        run: The run whose journal it is.
        entries: The changes, the oldest first.

    Raises:
        BenchFault: One cannot be undone; it and those before it stay in the list and in the journal.
    """
    if not entries:
        return
    newest_first = entries[::-1]
    server = run.server(newest_first[0].action.where)
    steps = [f"({each.action.command}\n) && echo '{_UNDONE} {number}'" for number, each in enumerate(newest_first)]
    result = server.ssh.run(" && ".join(steps), timeout_s=sum(each.action.deadline_s for each in newest_first))
    undone = result.stdout.splitlines()
    for number, entry in enumerate(newest_first):

        def seen(action: Action, number: int = number) -> None:
            if f"{_UNDONE} {number}" not in undone:
                raise BenchFault(f"{server.name}: {action.command!r}: {result.ending}; stderr: {tail(result.stderr)}")

        run.journal.undo(entry, seen)
        entries.pop()


def _restart(run: Run, action: Action) -> None:
    """Restart a server, and load the driver: what was changed before is undone at its ports next."""
    server = run.server(action.where)
    if action.command == "reboot":
        server.reboot()
    else:
        server.power_cycle()
    module = run.card.driver(server.description.os).module
    server.run(server.host.undo.load_driver(module), timeout_s=action.deadline_s)


def undo_everything(
    run: Run, last_look: Callable[[], object] | None = None, *, leaving: Container[str] = ()
) -> list[Entry]:
    """Undo what is pending, on servers that answer if they can be made to.

    Args:
        run: The run whose journal it is.
        last_look: Is called when all is undone on the servers, before the bench may switch them off.
        leaving: Ids of entries that stay pending.

    Returns:
        What was undone.

    Raises:
        BenchFault: A server stays away, something could not be undone, or the last look found a fault; all the rest has
            been undone.
    """
    problems = []
    # a server may be behind a port that is shut
    done = list(run.journal.undo_all(run.undo, kinds=[ActionKind.SWITCH], leaving=leaving).done)
    # before a silent server is recovered: its kernel log begins again then
    run.look_before_leaving(run.servers.values())
    try:
        ensure_ready(run.servers.values())
    except BenchFault as error:
        problems.append(str(error))  # the other server and the bench are put back all the same
    if last_look is not None:
        # what fails is tried again below
        done += run.journal.undo_all(run.undo, kinds=_ON_SERVERS, leaving=leaving).done
        try:
            last_look()
        except BenchFault as error:
            problems.append(str(error))
    report = run.journal.undo_all(run.undo, leaving=leaving)
    try:
        report.raise_if_failed()
    except BenchFault as error:
        problems.append(str(error))
    if problems:
        raise BenchFault("\n".join(problems))
    return [*done, *report.done]
