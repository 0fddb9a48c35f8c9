"""The outage prober on two servers: started, stopped, and what its notes say."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run import program
from niclab.run.server import Server, quoted
from niclab.traffic.outage import outage_analysis, prober_program
from niclab.traffic.outage.outage_records import EndLog, OutageReport
from niclab.traffic.outage.prober_text import read_end_log, read_ready
from niclab.transports.ssh.ssh import Job
from niclab.transports.ssh.ssh_job import FIRST_LINE

PORT = 7110
PERIOD_US = 1000
FULL_RATE_US = 5.0
"""Assumption: a packet in so many microseconds of a path at its full rate is what one processor carries with ease, each
way; probes that come faster queue up, and are late and lost by themselves."""
CARD_SHARE = 4
"""Assumption: one in so many of the frames that a card carries in a second is no load."""
LIMIT_S = 300.0
"""The programs end by themselves after this."""
READY_WITHIN_S = 20.0
NOTES_WITHIN_S = 60.0
EXCHANGES = 5
CLOCK_BOUND_S = 0.05
"""Assumption: whoever compares the times of an outage with other logs needs them no finer."""


@dataclass(frozen=True)
class End:
    """A server, and its address that is probed."""

    server: Server
    address: str


@dataclass(frozen=True)
class ClockFix:
    """The lead of a server's wall clock over the controller's, right within ``bound_s``."""

    ahead_s: float
    bound_s: float


@dataclass(frozen=True)
class _Started:
    end: End
    job: Job
    pid: int


class Probing:
    """A measurement that goes on until :meth:`stop`. ``clocks``: of both ends, compared when it ended."""

    def __init__(self, started: list[_Started]) -> None:
        self._started = started
        self.report: OutageReport | None = None
        self.clocks: list[ClockFix] = []

    def stop(self) -> OutageReport:
        """End both programs.

        Returns:
            What they saw; the same report when they have ended already.

        Raises:
            BenchFault: A program does not report what it saw, or its notes are worthless.
        """
        if self.report is None:
            first, second = side_by_side(_notes, self._started)
            names = (self._started[0].end.server.name, self._started[1].end.server.name)
            self.report = outage_analysis.analyse(first, second, names)
            self.clocks = side_by_side(lambda each: clock_fix(each.end.server), self._started)
        return self.report


def period_us(rate_scale: float, frames_per_s: int | None = None) -> int:
    """Choose the time between two packets over a path: a millisecond where that is no load.

    Args:
        rate_scale: Line rate divided by the rate of the path.
        frames_per_s: Frames that the card carries in a second at line rate; None: nobody knows a limit.

    Returns:
        The time in microseconds.
    """
    of_card_us = 0.0 if frames_per_s is None else 1e6 * CARD_SHARE * rate_scale / frames_per_s
    return max(PERIOD_US, round(FULL_RATE_US * rate_scale), round(of_card_us))


@contextmanager
def probing(first: End, second: End, every_us: int = PERIOD_US) -> Iterator[Probing]:
    """Send numbered packets both ways inside the ``with`` block. Nothing of it stays on the servers.

    Args:
        first: One end.
        second: The other end.
        every_us: Time between two packets in microseconds, see :func:`period_us`.

    Raises:
        BenchFault: A program does not begin in time; the message has its own words.
    """
    token = secrets.randbits(63)
    jobs: list[Job] = []
    with ExitStack() as undoing:
        files = side_by_side(lambda end: program.placed(undoing, end.server, prober_program), (first, second))
        undoing.callback(lambda: side_by_side(lambda job: job.stop(), jobs))
        pairs = ((first, second, files[0]), (second, first, files[1]))
        jobs += side_by_side(lambda pair: _started_job(*pair, token, every_us), pairs)
        pids = side_by_side(_ready, list(zip((first, second), jobs, strict=True)))
        started = [_Started(*each) for each in zip((first, second), jobs, pids, strict=True)]
        side_by_side(lambda each: each.end.server.run(quoted("kill", "-USR2", str(each.pid))), started)
        yield Probing(started)


def _started_job(end: End, other: End, file: str, token: int, every_us: int) -> Job:
    command = program.command(file, end.address, PORT, other.address, PORT, token, every_us, LIMIT_S)
    return end.server.start(command, limit_s=LIMIT_S + NOTES_WITHIN_S)


def clock_fix(server: Server) -> ClockFix:
    """Compare a server's wall clock with the controller's: the first exchange within the bound, or the best of several.

    A server may report whole seconds only (FreeBSD before 14): its clock is then known to half a second more.

    Args:
        server: The server.

    Returns:
        How far its clock is ahead.
    """
    fixes = []
    for _ in range(EXCHANGES):
        asked = time.time()
        shown = server.host.system.clock_s()
        answered = time.time()
        unknown_s = 0.5 if shown.is_integer() else 0.0
        fixes.append(ClockFix(shown + unknown_s - (asked + answered) / 2, (answered - asked) / 2 + unknown_s))
        if fixes[-1].bound_s <= CLOCK_BOUND_S:
            break
    return min(fixes, key=lambda fix: fix.bound_s)


def _ready(pair: tuple[End, Job]) -> int:
    end, job = pair
    pid = read_ready(job.await_begin(FIRST_LINE, f"outage prober on {end.address} to begin", READY_WITHIN_S))
    assert pid is not None  # there is a whole line
    return pid


def _notes(started: _Started) -> EndLog:
    server = started.end.server
    was_running = server.ssh.run(quoted("kill", "-USR1", str(started.pid))).succeeded
    result = started.job.wait(NOTES_WITHIN_S)
    if not result.succeeded:
        said = result.stderr.strip()[-300:]
        raise BenchFault(f"{server.name}: outage prober: {result.ending}: {said}")
    if not was_running:  # its notes know nothing of the time since
        raise BenchFault(
            f"{server.name}: outage prober: ended before it was stopped; expected still probing (it ends by itself "
            f"after {LIMIT_S:g} s)"
        )
    try:
        return read_end_log(result.stdout)
    except ReadError as error:
        raise error.about(f"{server.name}: outage prober") from error
