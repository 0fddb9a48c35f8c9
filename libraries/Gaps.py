"""Interruptions of traffic, measured in milliseconds while a test does something to the links."""

from __future__ import annotations

from contextlib import ExitStack
from datetime import UTC, datetime
from enum import Enum

from robot.api import logger
from robot.api.deco import keyword, library
from robot.errors import ExecutionFailed
from robot.libraries.BuiltIn import BuiltIn, register_run_keyword

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable, Undecided, fail_with
from niclab.core.wait import pause
from niclab.hosts.bond_settings import BondMode
from niclab.run.run import current
from niclab.traffic import gap_run
from niclab.traffic.gap_records import Direction, GapReport
from niclab.traffic.gap_run import ClockFix, End, Probing

SETTLED_S = 1.0
"""Traffic is watched for this long before and after: what comes late belongs to it."""
LIMITS_WATCHED = 2
"""A gap is waited for as long as this many times the limit: one that does not end must be proven longer than that."""

MEASUREMENTS = 3
"""House rule: a gap that a standstill of a server may hide is measured so often, and then nobody can tell."""


class Over(Enum):
    """What is measured over: a bond has the addresses of the first path, a VLAN on it those of the second."""

    BOND = "bond"
    VLAN_ON_BOND = "vlan-on-bond"


@library(scope="GLOBAL")
class Gaps(BenchLibrary):
    """Keywords about interruptions of traffic. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._probing: Probing | None = None
        self._stack = ExitStack()

    @keyword
    def start_measuring_gaps(self, over: Over = Over.BOND) -> None:
        """Numbered packets flow both ways until `Stop Measuring Gaps`: one a millisecond, fewer over a path whose
        ``rate_scale`` makes that a load.
        """
        if self._probing is not None:
            raise BenchFault("gaps are measured already: 'Stop Measuring Gaps' comes first")
        run = self.run
        path = run.bench.paths[0 if over is Over.BOND else 1]
        ports = sorted(map(run.bench.port, path.ends), key=lambda port: port.role is not Role.DUT)
        first, second = (End(run.server_of(port), str(run.bench.address(port).ip)) for port in ports)
        self._probing = self._stack.enter_context(gap_run.probing(first, second, gap_run.period_us(path.rate_scale)))
        pause(SETTLED_S)

    @keyword
    def stop_measuring_gaps(self) -> None:
        """End the measurement and its programs. Does nothing when none goes on."""
        self._probing = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    @keyword
    def until_it_can_be_told(self, name: str, *arguments: object) -> None:
        """Run keyword ``name``, which measures gaps, until it does not end Undecided; three times at most.

        What it says else stands at once, a failure as well. Each time that it could not tell is a warning.
        """
        for made in range(1, MEASUREMENTS + 1):
            try:
                BuiltIn().run_keyword(name, *arguments)
            except ExecutionFailed as error:
                said = str(error)
                if error.dont_continue or not said.startswith(f"{Undecided.__name__}: ") or made == MEASUREMENTS:
                    raise
                logger.warn(f"{name}: measured again after measurement {made} of {MEASUREMENTS}: {said}")
                self.stop_measuring_gaps()
            else:
                return

    @keyword
    def traffic_gap_should_be_within_card_limit(self, mode: BondMode | None = None) -> None:
        """In each direction traffic was interrupted for no longer than the sheet's ``failover_within_ms`` allows.

        :param mode: of the bonds, where their driver takes a time of its own in it, that is no matter of the card.

        An interruption that is proven to be longer is the card's failure; where the measurement was disturbed so much
        that a longer one may hide in it, nobody can tell.
        """
        limit_ms, wish = _allowed(mode)
        problems, unknown = [], []
        for direction in self._report(LIMITS_WATCHED * limit_ms / 1000).directions:
            if direction.proven_ms > limit_ms:
                problems.append(f"{direction}; {wish}")
            elif direction.at_most_ms > limit_ms or not direction.over:
                unknown.append(f"{direction}; {wish}; sender: {direction.sender}; receiver: {direction.receiver}")
        fail_with(problems)
        if unknown:
            raise Undecided("\n".join(unknown))

    @keyword
    def lost_packets_should_fit_the_allowed_gap(self, mode: BondMode | None = None) -> None:
        """In each direction no more packets were lost than are sent in the sheet's ``failover_within_ms``.

        :param mode: as of `Traffic Gap Should Be Within Card Limit`.

        Where packets take the links in turn, those of a lost one are missed one by one: no time between two of them
        is proven to be an interruption, but each of them was lost. Packets that a receiver may not have heard, because
        it stood still, are not counted.
        """
        limit_ms, wish = _allowed(mode)
        problems = []
        for direction in self._report(LIMITS_WATCHED * limit_ms / 1000).directions:
            heard = sum(outage.heard for outage in direction.outages)
            lost_ms = heard * direction.sender.median_ms
            if lost_ms > limit_ms:
                problems.append(
                    f"{direction}; {heard} were lost for sure, as many as are sent in {lost_ms:.0f} ms; {wish}"
                )
        fail_with(problems)

    @keyword
    def traffic_should_be_unbroken(self) -> None:
        """In each direction every packet arrived, in time and once."""
        problems, unknown = [], []
        for direction in self._report().directions:
            heard = sum(outage.heard for outage in direction.outages)
            if heard or direction.duplicated:
                problems.append(f"{direction}; wanted: every packet once, and in time")
            elif direction.outages:
                unknown.append(f"{direction}; the receiver stood still meanwhile: {direction.receiver}")
        fail_with(problems)
        if unknown:
            raise Undecided("\n".join(unknown))

    @keyword
    def no_packet_should_arrive_twice(self) -> None:
        """In each direction no packet arrived more than once."""
        fail_with(
            [f"{direction}; wanted: none duplicated" for direction in self._report().directions if direction.duplicated]
        )

    def _report(self, watched_s: float = 0) -> GapReport:
        """What was seen until now, or until ``watched_s`` and a moment from now if the measurement still goes on."""
        if self._probing is None:
            raise BenchFault("no gaps are measured: 'Start Measuring Gaps' comes first")
        if self._probing.report is None:
            pause(watched_s + SETTLED_S)
            for direction, clock in zip(self._probing.stop().directions, self._probing.clocks, strict=True):
                _log(direction, clock)
        assert self._probing.report is not None
        return self._probing.report


def _allowed(mode: BondMode | None) -> tuple[int, str]:
    """How long traffic may be interrupted, in ms, and who says so."""
    card = current().card
    limit = card.limits.failover_within_ms
    if limit is None:
        raise NotApplicable(f"sheet {card.name} has no limits.failover_within_ms")
    limit_ms = card.known(limit, "limits.failover_within_ms")
    wish = f"sheet {card.name} allows {limit_ms} ms"
    if mode is None or not mode.own_delay_ms:
        return limit_ms, wish
    return limit_ms + mode.own_delay_ms, f"{wish}, and {mode.value} takes up to {mode.own_delay_ms} ms of its own"


def _log(direction: Direction, clock: ClockFix) -> None:
    """The direction, and its outages by the controller's time. ``clock``: of the sender."""
    logger.info(f"{direction}\n  sender: {direction.sender}\n  receiver: {direction.receiver}")
    for outage in direction.outages:
        began = datetime.fromtimestamp(outage.start_us / 1e6 - clock.ahead_s, UTC)
        logger.info(
            f"  outage {outage}, from {began:%H:%M:%S}.{began.microsecond // 1000:03} UTC by the controller's clock, "
            f"within {1000 * clock.bound_s:.0f} ms"
        )


# so that its arguments reach the keyword that it runs as they are written
register_run_keyword(Gaps.__name__, Gaps.until_it_can_be_told.__name__, args_to_process=1, deprecation_warning=False)
