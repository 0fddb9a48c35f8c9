"""The outage of traffic that a sheet allows: measured over bonds, judged against the sheet.

What the measurement proves is judged first and ends a test at once. Only where nothing is proven, and a server stall
may hide a longer outage, the measurement is undecided and worth repeating.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum

from niclab.bench.records import Role
from niclab.core.verdict import Undecided, fail_with
from niclab.core.wait import pause
from niclab.hosts.bonds.bond_settings import BondMode
from niclab.run.run import Run
from niclab.traffic import WorthlessResult
from niclab.traffic.outage import prober
from niclab.traffic.outage.outage_records import OutageReport, ProbedDirection
from niclab.traffic.outage.prober import ClockFix, End, Probing

SETTLED_S = 1.0
"""Traffic is watched for this long before and after: what comes late belongs to it."""
LIMITS_WATCHED = 2
"""An outage is awaited for this many times the limit: one that does not end must be proven longer than the limit."""
MEASUREMENTS = 3
"""Assumption: an outage that a server stall may hide is measured this often before it stays undecided."""

HIDDEN_MS = 250.0
"""Assumption: no interruption hides in a shorter time without a packet. Emulated servers pause for up to 63 ms while a
link is lost, and packets are late by up to 36 ms (six runs)."""


class Over(Enum):
    """The interface under the probes: a bond has the addresses of the first path, a VLAN on it those of the second."""

    BOND = "bond"
    VLAN_ON_BOND = "vlan-on-bond"


@dataclass(frozen=True)
class Allowed:
    """The longest outage that is allowed.

    Attributes:
        limit_ms: The outage in ms.
        source: Who allows it, in words.
    """

    limit_ms: int
    source: str

    @classmethod
    def of(cls, run: Run, mode: BondMode) -> Allowed:
        """Read the sheet's limit, and add the time that the driver of a bond takes by itself.

        Args:
            run: The qualification run.
            mode: Mode of the bonds.

        Raises:
            SheetSilent: The sheet has no ``limits.failover_within_ms``.
            SheetUnknown: It does not know it.
        """
        card = run.card
        limit_ms = card.known(card.limits.failover_within_ms, "limits.failover_within_ms")
        limit_ms = card.section(limit_ms, "limits.failover_within_ms")
        source = f"sheet {card.name} allows {limit_ms} ms"
        if not mode.own_delay_ms:
            return cls(limit_ms, source)
        source += f", and {mode.value} takes up to {mode.own_delay_ms} ms of its own"
        return cls(limit_ms + mode.own_delay_ms, source)

    @property
    def watched_s(self) -> float:
        """The time in seconds within which an outage is awaited."""
        return LIMITS_WATCHED * self.limit_ms / 1000


@dataclass(frozen=True)
class Judgement:
    """The judgement of a measurement.

    Attributes:
        proven: Problems that are sure.
        possible: Problems that a server stall may hide.
    """

    proven: list[str]
    possible: list[str]


class OutageWatch:
    """A measurement that goes on.

    Args:
        probing: The prober on both servers, which has begun.
        say: Takes what was measured.
    """

    def __init__(self, probing: Probing, say: Callable[[str], object]) -> None:
        self._probing, self._say, self._began_s = probing, say, time.time()

    def end(self, after_s: float = 0.0) -> OutageReport:
        """End the measurement.

        Args:
            after_s: Time in s for which traffic is watched before, besides the time to settle.

        Returns:
            Both directions.

        Raises:
            BenchFault: An end does not report what it saw, or its notes are worthless.
        """
        pause(after_s + SETTLED_S)
        report = self._probing.stop()
        for direction, clock in zip(report.directions, self._probing.clocks, strict=True):
            for line in _described(direction, clock):
                self._say(line)
            self._refuse_late(direction, clock)
        return report

    def _refuse_late(self, direction: ProbedDirection, clock: ClockFix) -> None:
        """A server that stood still when its probes were to begin has measured nothing of what was done then."""
        late_s = direction.first_us / 1e6 - clock.ahead_s - self._began_s
        if late_s > clock.bound_s:
            raise WorthlessResult(
                f"outage prober: the first packet that arrived was sent {late_s:.1f} s after the watch had begun; "
                "expected packets before",
                direction.name,
            )


@contextmanager
def watched(run: Run, over: Over, say: Callable[[str], object]) -> Iterator[OutageWatch]:
    """Send numbered packets both ways inside the ``with`` block: one a millisecond, fewer over a slowed path.

    Args:
        run: The qualification run.
        over: What the packets go over.
        say: Takes what was measured.

    Raises:
        BenchFault: A program does not begin in time.
    """
    path = run.bench.paths[0 if over is Over.BOND else 1]
    ports = sorted(map(run.bench.port, path.ends), key=lambda port: port.role is not Role.DUT)
    first, second = (End(run.server_of(port), str(run.bench.address(port).ip)) for port in ports)
    frames = run.card.limits.frames_per_s
    period_us = prober.period_us(path.rate_scale, frames if isinstance(frames, int) else None)
    with prober.probing(first, second, period_us) as probing:
        pause(SETTLED_S)
        yield OutageWatch(probing, say)


def repeat_while_undecided(measure: Callable[[], Judgement], warn: Callable[[str], object]) -> None:
    """Measure, and measure again while a server stall may hide a problem: at most :data:`MEASUREMENTS` times in all.

    Args:
        measure: Makes one measurement.
        warn: Takes each judgement that was undecided and is repeated.

    Raises:
        CardFailure: A measurement proves a problem; it is not repeated.
        Undecided: The last measurement is undecided as well.
    """
    for number in range(1, MEASUREMENTS + 1):
        judgement = measure()
        fail_with(judgement.proven)
        if not judgement.possible:
            return
        message = "\n".join(judgement.possible)
        if number == MEASUREMENTS:
            raise Undecided(message)
        warn(f"measured again after measurement {number} of {MEASUREMENTS}: {message}")


def within(report: OutageReport, allowed: Allowed) -> Judgement:
    """Judge whether traffic was interrupted for no longer than is allowed, in each direction."""
    proven, possible = [], []
    for direction in report.directions:
        if direction.proven_ms > allowed.limit_ms:
            proven.append(f"{direction}; {allowed.source}")
        elif direction.at_most_ms > allowed.limit_ms or not direction.over:
            possible.append(
                f"{direction}; {allowed.source}; sender: {direction.sender}; receiver: {direction.receiver}"
            )
    return Judgement(proven, possible)


def too_many_lost(report: OutageReport, allowed: Allowed) -> list[str]:
    """Find directions in which more packets were lost than are sent in the allowed time.

    Where packets take the links in turn, those of a lost link are missed one by one: no time between two of them is
    proven to be an outage, but each of them was lost. Packets that a receiver may not have heard, because it stood
    still, are not counted, nor are those for which the sender's own queue had no room.

    Args:
        report: Both directions.
        allowed: The longest outage that is allowed.

    Returns:
        The problems; empty when there is none.
    """
    problems = []
    for direction in report.directions:
        heard = sum(outage.heard for outage in direction.outages)
        lost_ms = heard * direction.sender.median_ms
        if lost_ms > allowed.limit_ms:
            problems.append(
                f"{direction}; {heard} were lost for sure, as many as are sent in {lost_ms:.0f} ms; {allowed.source}"
            )
    return problems


def duplicated(report: OutageReport) -> list[str]:
    """Find directions in which a packet arrived more than once."""
    return [f"{direction}; expected none duplicated" for direction in report.directions if direction.duplicated]


def unbroken(report: OutageReport, *, copies: bool = False) -> Judgement:
    """Judge whether every packet arrived, in time and once, in each direction.

    A time in which none was sent, or in which all were held back, proves nothing.

    Args:
        report: Both directions.
        copies: Every packet is sent over every link, and may arrive more than once.
    """
    proven, possible = [], []
    wanted = "every packet, and in time" if copies else "every packet once, and in time"
    for direction in report.directions:
        heard = sum(outage.heard for outage in direction.outages)
        if heard or (direction.duplicated and not copies):
            proven.append(f"{direction}; expected {wanted}")
        elif direction.outages:
            why = "the receiver stood still meanwhile, or the sender's queue was full"
            possible.append(f"{direction}; {why}: {direction.receiver}")
        elif direction.at_most_ms > HIDDEN_MS:
            possible.append(
                f"{direction}; nothing arrived for {direction.at_most_ms:.0f} ms; expected {wanted}; sender: "
                f"{direction.sender}; receiver: {direction.receiver}"
            )
    return Judgement(proven, possible)


def _described(direction: ProbedDirection, clock: ClockFix) -> Iterator[str]:
    """The direction, and its outages by the controller's time. ``clock``: of the sender."""
    yield f"{direction}\n  sender: {direction.sender}\n  receiver: {direction.receiver}"
    for outage in direction.outages:
        began = datetime.fromtimestamp(outage.start_us / 1e6 - clock.ahead_s, UTC)
        yield (
            f"  outage {outage}, from {began:%H:%M:%S}.{began.microsecond // 1000:03} UTC by the controller's clock, "
            f"within {1000 * clock.bound_s:.0f} ms"
        )
