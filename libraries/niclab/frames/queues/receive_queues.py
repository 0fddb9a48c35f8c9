"""Flows are spread over the receive queues of every port as its indirection table says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack

from niclab.core.verdict import NotApplicable
from niclab.frames.queues.flow_agents import Came
from niclab.frames.queues.queue_ports import QueuePort, Say, exchange, queue_ports
from niclab.frames.queues.spread import Findings
from niclab.hosts.steering.hash_records import FlowKind
from niclab.run.run import Run

Counts = Mapping[QueuePort, Mapping[int, int]]
"""Port -> queue -> frames that it has counted."""

MOST_TURNS = 16
"""The most queues that are used; of more so many are chosen, the first and the last among them."""
STRANGE_PART = 16
"""Assumption: queues may count so small a part of the flows besides, for frames of something else."""


def spread(run: Run, say: Say) -> None:
    """Send flows of each kind that a port hashes by ports, and compare the queues they came by with the table.

    Args:
        run: The current run.
        say: Takes what came by each queue.

    Raises:
        CardFailure: A queue delivers nothing, or flows are spread otherwise than the table says.
        BenchFault: The tool failed.
        Undecided: Flows did not come, and no queue lost them alone; or a port alone cannot be judged.
        NotApplicable: No port has several queues, or a server does not run Linux.
    """
    ports, without = queue_ports(run)
    chosen = {kind: [port for port in ports if port.by_ports(kind)] for kind in FlowKind}
    if not any(chosen.values()):
        raise NotApplicable("\n".join(f"{port.place} hashes flows of no kind by their ports" for port in ports))
    with Findings(undecided=without) as findings:
        for kind, hashing in chosen.items():
            if not hashing:
                say(f"{kind.value}: no port says that it hashes ports: not judged")
                continue
            others = [port for port in ports if port not in hashing]
            findings.undecided += [
                f"{port.place} alone does not say that it hashes {kind.value} by ports" for port in others
            ]
            for port, flows, came in exchange(run, hashing, kind, findings, say):
                findings.judge_spread(f"{port.place}: {kind.value}", came, flows.count, port.before.shares)


def follow_table(run: Run, say: Say) -> None:
    """Give the whole table of every port to one queue after the other, and see each time that all flows come by it.

    Driver counters of single queues, where there are such, must count the flows in the same queues.

    Args:
        run: The current run.
        say: Takes what came by each queue.

    Raises:
        CardFailure: Flows come by another queue, or not at all; the table is not taken or does not come back; a queue
            counts otherwise.
        BenchFault: The table could not be put back, or the tool failed.
        Undecided: Flows did not come, and no queue lost them alone; or a port alone cannot be judged.
        NotApplicable: No port has several queues or takes a table, or a server does not run Linux.
    """
    ports, without = queue_ports(run)
    with Findings() as findings:
        counts = judge_own_tables(run, ports, findings, say)
        findings.end()  # flows come: what is lost with another table is lost by that
        with ExitStack() as restoring:
            for port in ports:
                restoring.enter_context(port.restored())
            for turn in range(max(len(turns_of(port)) for port in ports)):
                counts = _steered(
                    run, {port: turns_of(port)[turn % len(turns_of(port))] for port in ports}, counts, findings, say
                )
        judge_own_tables(run, ports, findings, say)
        findings.undecided += without


def turns_of(port: QueuePort) -> list[int]:
    """The queues of a port that are used, in their order."""
    queues, last = port.queues, len(port.queues) - 1
    if last < MOST_TURNS:
        return queues
    return [queues[round(turn * last / (MOST_TURNS - 1))] for turn in range(MOST_TURNS)]


def judge_own_tables(run: Run, ports: list[QueuePort], findings: Findings, say: Say) -> Counts:
    """Flows are spread as the table as delivered says.

    Args:
        run: The current run.
        ports: The ports.
        findings: Takes what is wrong.
        say: Takes what came by each queue.

    Returns:
        The counts of the queues, which hold all of these flows, also where a driver fetches them now and then.
    """
    counts = {port: port.host.frames(port.dut.iface) for port in ports}
    for port, flows, came in exchange(run, ports, FlowKind.TCP4, findings, say):
        by_ports = port.by_ports(FlowKind.TCP4)
        findings.judge_spread(f"{port.place}: its own table", came, flows.count, port.before.shares, by_ports=by_ports)
        counts[port] = port.counted(counts[port], Counter(came.queues.values()))
    return counts


def _steered(run: Run, queues: Mapping[QueuePort, int], counts: Counts, findings: Findings, say: Say) -> Counts:
    """Give the whole table of each port to a queue, and judge what comes; return the counts of the queues."""
    for port, queue in queues.items():
        port.steer({queue: 1}, f"all flows to queue {queue}")
    found = {}
    for port, flows, came in exchange(run, list(queues), FlowKind.TCP4, findings, say):
        what = f"{port.place}: table of queue {queues[port]} alone"
        findings.judge_steered(what, came, flows.count, queues[port])
        found[port] = _judge_counters(port, what, counts[port], came, findings)
    return found


def _judge_counters(
    port: QueuePort, what: str, before: Mapping[int, int], came: Came, findings: Findings
) -> Mapping[int, int]:
    """The second witness: what the driver has counted in each queue holds the flows that came by it.

    Frames of something else are counted as well: a small part is allowed. Returns the counts.
    """
    wanted = Counter(came.queues.values())
    now = port.counted(before, wanted)
    gained = {queue: count - before.get(queue, 0) for queue, count in now.items()}
    if not now:
        return now
    short = {queue: count for queue, count in sorted(wanted.items()) if gained.get(queue, 0) < count}
    for queue, count in short.items():
        said = f"the driver counted {gained.get(queue, 0)} frames in queue {queue}"
        findings.problems.append(f"{what}: {said}; expected at least the {count} flows that came by it")
    allowed = came.flows // STRANGE_PART + came.others + len(came.unnoted)
    more = {queue: count - wanted[queue] for queue, count in gained.items() if count - wanted[queue] > allowed}
    for queue, count in sorted(more.items()):
        said = f"the driver counted {count} frames more in queue {queue} than the {wanted[queue]} flows that came by it"
        findings.problems.append(f"{what}: {said}; expected at most {allowed} of something else")
    return now
