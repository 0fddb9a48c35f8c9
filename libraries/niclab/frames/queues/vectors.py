"""The frames of each receive queue raise the interrupt vector of that queue, and no other's."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from niclab.core.verdict import NotApplicable, Undecided
from niclab.frames.queues.flow_agents import Came
from niclab.frames.queues.queue_changes import await_links, settable
from niclab.frames.queues.queue_ports import QueuePort, Say, exchange, queue_ports
from niclab.frames.queues.receive_queues import judge_own_tables, turns_of
from niclab.frames.queues.spread import Findings
from niclab.hosts.steering.hash_records import FlowKind
from niclab.hosts.steering.queue_vectors import interrupts_by_queue
from niclab.run.run import Run
from niclab.settings.dut_ports import refusal

ATTEMPTS = 3
"""A server that is busy takes frames as they come without a further interrupt: flows are sent again."""
KEEPING, KEEPING_PER_S = 2, 1.0
"""Interrupts that a driver may raise itself: igb and ixgbe raise all every 2 s (igb_watchdog_task(), EICS)."""

Gained = Mapping[int, int]
"""Queue -> interrupts of its vector meanwhile."""


def own_vectors(run: Run, say: Say) -> None:
    """Give the whole table of every port to one queue after the other, and see whose interrupt vector counts.

    Args:
        run: The current run.
        say: Takes what came by each queue, and what each vector counted.

    Raises:
        CardFailure: A queue's frames raise no interrupt or that of another queue, flows do not come by the queue, or
            the table is not taken or does not come back.
        BenchFault: The table could not be put back, or the tool failed.
        Undecided: Flows did not come, a queue raised too few interrupts to judge, or a port alone cannot be judged.
        NotApplicable: No port has several queues with a vector each, or takes a table, or a server does not run Linux.
    """
    ports, why = _with_vectors(run)
    with Findings() as findings:
        _judge(run, ports, findings, say)
        findings.undecided += why


def own_vectors_resized(run: Run, say: Say) -> None:
    """See whose interrupt vector counts with half the queues of each port, and with all of them again.

    Args:
        run: The current run.
        say: Takes each change, what came by each queue, and what each vector counted.

    Raises:
        CardFailure: As :func:`own_vectors`, or a link does not come back.
        BenchFault: A setting could not be put back, or the tool failed.
        Undecided: As :func:`own_vectors`, or a port has no vector for each queue any more.
        NotApplicable: No port has several queues with a vector each, or takes another number of them.
    """
    ports, why = _with_vectors(run)
    numbers = settable(ports, say)
    with Findings() as findings:
        with ExitStack() as restoring:
            for port in numbers:
                host, iface = port.dut.host, port.dut.iface
                restoring.enter_context(port.dut.put_back("its queues are set", host.undo.channels(iface)))
            changed = {
                port: found for port, number in numbers.items() if (found := _halved(port, number, say)) != number
            }
            kept = [f"{port.place}: its number of queues cannot be changed" for port in ports if port not in changed]
            if not changed:
                raise NotApplicable("\n".join(why + kept))
            await_links(run, list(changed), "with half its queues")
            _judge(run, _now([port for port, found in changed.items() if found > 1]), findings, say)
        await_links(run, list(changed), "with all its queues again")
        _judge(run, _now(list(changed)), findings, say)
        findings.undecided += why + kept


def _halved(port: QueuePort, number: int, say: Say) -> int:
    """Set half the queues, and return how many there are then."""
    attempt = port.dut.host.settings.set_channels(port.dut.iface, {"combined": number // 2})
    found = attempt.now.current.combined or 0
    say(f"{port.place}: {number} queues set to {number // 2}, are {found}{refusal(attempt)}")
    return found


def _now(ports: Sequence[QueuePort]) -> list[QueuePort]:
    """The ports with the table that they have now. be2net shows none of a single queue (Linux 6.1, be_get_rxnfc()).

    Raises:
        Undecided: A port that had a vector for each queue has not now.
    """
    found = [QueuePort(port.dut, port.shown()) for port in ports]
    if missing := [reason for port in found if (reason := _missing(port))]:
        raise Undecided("\n".join(missing))
    return found


def _judge(run: Run, ports: list[QueuePort], findings: Findings, say: Say) -> None:
    if not ports:
        return
    judge_own_tables(run, ports, findings, say)
    findings.end()  # flows come: what is lost with another table is lost by that
    with ExitStack() as restoring:
        for port in ports:
            restoring.enter_context(port.restored())
        for turn in range(max(len(turns_of(port)) for port in ports)):
            _steered(run, {port: turns_of(port)[turn % len(turns_of(port))] for port in ports}, findings, say)


def _with_vectors(run: Run) -> tuple[list[QueuePort], list[str]]:
    """The ports whose every queue has a vector by its number, and the reasons of the others."""
    ports, why = queue_ports(run)
    reasons = {port: _missing(port) for port in ports}
    why += filter(None, reasons.values())
    found = [port for port, reason in reasons.items() if not reason]
    if not found:
        raise NotApplicable("\n".join(why))
    return found, why


def _missing(port: QueuePort) -> str:
    """The reason why not every queue of a port has a vector by its number, or nothing."""
    try:
        known = _counted(port)
    except NotApplicable as reason:
        return str(reason)
    if missing := [str(queue) for queue in port.queues if queue not in known]:
        numbers = ", ".join(map(str, sorted(known)))
        return f"{port.place}: no vector of queues {', '.join(missing)} alone: the driver has {numbers}"
    return ""


def _counted(port: QueuePort) -> dict[int, int]:
    return interrupts_by_queue(port.dut.server.ssh, port.dut.server.name, port.dut.iface)


def _steered(run: Run, queues: Mapping[QueuePort, int], findings: Findings, say: Say) -> None:
    """Give the whole table of each port to a queue, and judge the vectors; again where a queue raised few."""
    for port, queue in queues.items():
        port.steer({queue: 1}, f"all flows to queue {queue}")
    left, gained, foreign = dict(queues), {port: Counter[int]() for port in queues}, dict.fromkeys(queues, 0.0)
    for attempt in range(ATTEMPTS):
        before, began = {port: _counted(port) for port in left}, time.monotonic()
        exchanged = list(exchange(run, list(left), FlowKind.TCP4, findings, say))
        for port, flows, came in exchanged:
            now = _counted(port)
            foreign[port] += KEEPING_PER_S * (time.monotonic() - began) + came.others
            gained[port].update({queue: count - before[port].get(queue, 0) for queue, count in now.items()})
            queue, what = left[port], f"{port.place}: table of queue {left[port]} alone"
            say(f"{what}: interrupts by queue {dict(sorted(gained[port].items()))}")
            if attempt == 0:
                findings.judge_steered(what, came, flows.count, queue)
            if not _by_queue(came, queue, flows.count) or judged(
                what, queue, gained[port], KEEPING + foreign[port], findings
            ):
                del left[port]
        if not left:
            return
    for port, queue in left.items():
        said = f"{port.place}: table of queue {queue} alone: {gained[port][queue]} interrupts of it"
        most = f"{KEEPING + foreign[port]:.0f} that may be of something else"
        findings.undecided.append(f"{said}, not more than the {most}; expected more, by its flows")


def _by_queue(came: Came, queue: int, count: int) -> bool:
    """Did most flows come by the queue? Of others no vector is judged."""
    return 2 * sum(by == queue for by in came.queues.values()) > count


def judged(what: str, queue: int, gained: Gained, foreign: float, findings: Findings) -> bool:
    """Judge the vectors after flows came by a queue.

    Args:
        what: Port and table, for messages.
        queue: The queue.
        gained: Interrupts of each vector.
        foreign: So many may be of the driver itself and of other frames.
        findings: Takes what is wrong.

    Returns:
        Whether enough was seen to judge.
    """
    own = gained.get(queue, 0)
    others = {
        other: count for other, count in sorted(gained.items()) if other != queue and count > max(foreign, own / 2)
    }
    if others:
        found = ", ".join(f"queue {other}: {count}" for other, count in others.items())
        said = f"its frames raised interrupts of other queues, {found}, and {own} of its own"
        findings.problems.append(f"{what}: {said}; expected those of queue {queue} alone")
    elif own == 0:
        findings.problems.append(f"{what}: its frames came, and its interrupt vector counted none; expected some")
    return bool(others) or own == 0 or own > foreign
