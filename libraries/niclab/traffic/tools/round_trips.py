"""Transactions a second of one byte each way over TCP, for benches whose traffic tool has no request/response.

The figure is netperf's TCP_RR: one transaction at a time over one connection, so that its inverse is the latency.
"""

from __future__ import annotations

import re
from contextlib import ExitStack

from niclab.core.marks import MarkKind
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run import program
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic import WorthlessResult
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.discarded import DiscardedRun, DiscardedRuns
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.run_count import RunCount
from niclab.traffic.tools import round_trip_program
from niclab.traffic.tools.iperf3 import SHORTEST_PART

PORT = 7112
SLACK_S = 30.0


def per_second(run: Run, ends: Ends, seconds: int) -> float:
    """One run from the sender to the receiver and back; one in which a server stood still is made again.

    Raises:
        BenchFault: When a program fails, or its result is worthless.
        Undecided: When a server stood still in each of many runs in a row.
    """
    both, name = standstill.watch(run), f"{ends.name}, round trips"
    discarded = DiscardedRuns(name)
    while True:
        before, failure, rate = both.told(), None, 0.0
        try:
            rate = _measured(run, ends, seconds)
        except WorthlessResult as error:
            failure = error
        stood = both.between(before, both.told())
        run.part(RunCount).note({each.server for each in stood}, seconds)
        if not stood:
            if failure is not None:
                raise failure
            return rate
        made = DiscardedRun(str(failure or f"{rate:.0f} a second"), stood)
        run.notes.mark(MarkKind.DISCARDED, f"{name}: {made}")
        discarded.add(made)


def _measured(run: Run, ends: Ends, seconds: int) -> float:
    route = endpoints.route(run, ends)
    with ExitStack() as undoing:
        asker, server = (program.placed(undoing, each, round_trip_program) for each in (ends.sender, ends.receiver))
        words = ("serve", route.receiver, PORT, seconds + SLACK_S)
        job = ends.receiver.start(program.command(server, *words), limit_s=seconds + 2 * SLACK_S)
        undoing.callback(job.stop)
        program.wait_until_ready(ends.receiver, job, "round trip server")
        command = program.command(asker, "ask", route.sender, route.receiver, PORT, seconds)
        ended = ends.sender.ssh.run(command, timeout_s=seconds + SLACK_S)
        if not ended.succeeded:
            raise BenchFault(f"{ends.sender.name}: round trips: {ended.ending}: {ended.stderr.strip()[-300:]}")
    try:
        return read_rate(ended.stdout, seconds)
    except ReadError as error:
        raise error.about(f"{ends.sender.name}: round trips") from error


def read_rate(text: str, seconds: int) -> float:
    """Round trips a second, from what the program printed.

    Raises:
        ReadError: When it is not whole, or (:class:`~niclab.traffic.WorthlessResult`) proves nothing.
    """
    found = re.fullmatch(r"trips ([0-9]+)\nseconds ([0-9]+\.[0-9]+)\nend\n", text)
    if found is None:
        raise ReadError(f"{text[-200:]!r}; expected trips, seconds, end")
    trips, lasted = int(found[1]), float(found[2])
    if trips == 0 or lasted < SHORTEST_PART * seconds:
        raise WorthlessResult(f"worthless result: {trips} round trips in {lasted:g} s of {seconds} s")
    return trips / lasted
