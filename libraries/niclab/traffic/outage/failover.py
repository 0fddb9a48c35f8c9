"""The cost of the loss or the return of a link of the bonds to their traffic.

Every measurement begins with whole bonds, and leaves the link as it is: a test may go on with it, and its teardown
restores it. What is sure is judged before a measurement may be undecided: duplicates, the link in use, traffic
afterwards.

Each raises Undecided where a server stall may hide a longer outage in each of three measurements.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from niclab.bench.records import BenchPath, Role
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault, CardFailure, Undecided, fail_with
from niclab.links import failure
from niclab.links.failure import Cause
from niclab.links.link_loss import MemberLink
from niclab.links.upper.bonds import Bonds
from niclab.links.upper.vlans import HostVlans
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic.outage import outage
from niclab.traffic.outage.outage import Allowed, Judgement, Over, repeat_while_undecided, watched
from niclab.traffic.outage.outage_records import OutageReport
from niclab.traffic.runs.run_count import RunCount

_NO_PROBLEM = Judgement([], [])


@dataclass(frozen=True)
class Failover:
    """Measures what a link costs that fails or returns.

    Attributes:
        run: The qualification run, with bonds.
        cause: The way in which links fail.
        say: Takes what was done and measured.
        warn: Takes each measurement that was undecided and is repeated.
    """

    run: Run
    cause: Cause
    say: Callable[[str], object]
    warn: Callable[[str], object]

    def active_link(self, over: Over = Over.BOND) -> None:
        """Lose the active link: another one is used, the outage is within the limit, and nothing arrives twice.

        Args:
            over: What is measured over.

        Raises:
            CardFailure: The bond stays on the lost link, carries no traffic, or a measurement proves that the outage is
                longer than the limit, or that packets arrived twice.
            NotApplicable: The sheet has no limit, or the bench cannot let the link fail in this way.
            BenchFault: Both ends show another cause than the one that was brought about.
        """
        allowed = self._allowed()

        def measure() -> Judgement:
            self._make_whole(over)
            with watched(self.run, over, self.say) as watch:
                self._bonds.lose(MemberLink.ACTIVE, self.cause, self.say)
                report = watch.end(allowed.watched_s)
            judgement, twice = self._within(report, allowed, "active link lost"), outage.duplicated(report)
            whole = _also(judgement, twice, self._bonds.not_changed(), traffic=self._traffic(over))
            return self.explained(whole)

        self.repeat(measure)

    def backup_link(self) -> None:
        """Lose a backup link: no packet is lost, late or duplicated, and the active link is unchanged.

        Raises:
            CardFailure: A packet was lost for sure, or arrived twice, or a bond uses another link.
            Undecided: Each of three measurements lost packets while the receiver stood still, or had none for long.
            NotApplicable: The bench cannot let the link fail in this way.
        """

        def measure() -> Judgement:
            self._bonds.make_whole()
            with watched(self.run, Over.BOND, self.say) as watch:
                self._bonds.lose(MemberLink.BACKUP, self.cause, self.say)
                report = watch.end()
            return self.explained(_also(outage.unbroken(report), self._bonds.changed()))

        self.repeat(measure)

    def each_link(self) -> None:
        """Lose the link of each path, one when all are back from the one before: each outage is within the limit.

        Packets lost one by one count as well, and nothing arrives twice.

        Raises:
            CardFailure: A measurement proves that the outage is longer than the limit, that more packets were lost than
                it allows, or that packets arrived twice; or the bonds carry no traffic afterwards.
            NotApplicable: The sheet has no limit, or the bench cannot let a link fail in this way.
        """
        allowed = self._allowed()

        def measure(path: BenchPath) -> Judgement:
            self._bonds.make_whole()
            with watched(self.run, Over.BOND, self.say) as watch:
                self._bonds.lose_path(path, self.cause, self.say)
                report = watch.end(allowed.watched_s)
            judgement, lost = (
                self._within(report, allowed, f"link of path {path.name} lost"),
                outage.too_many_lost(report, allowed),
            )
            whole = _also(judgement, lost, outage.duplicated(report), traffic=self._traffic(Over.BOND))
            return self.explained(whole)

        self._on_each_path(measure)

    def each_link_for_nothing(self) -> None:
        """Lose the link of each path of a bond that sends copies, one after the other: no packet is lost or late.

        Raises:
            CardFailure: A packet was lost for sure.
            Undecided: Each of three measurements lost packets while the receiver stood still, or had none for long.
            NotApplicable: The bench cannot let a link fail in this way.
            BenchFault: Both ends show another cause than the one that was brought about.
        """

        def measure(path: BenchPath) -> Judgement:
            self._bonds.make_whole()
            with watched(self.run, Over.BOND, self.say) as watch:
                self._bonds.lose_path(path, self.cause, self.say)
                report = watch.end()
            return self.explained(outage.unbroken(report, copies=self._bonds.settings.mode.sends_copies))

        self._on_each_path(measure)

    def return_of_the_primary(self) -> None:
        """Lose the primary link and restore it: it is used again, and the outage is within the limit.

        Raises:
            CardFailure: The bond does not leave the lost link or does not return to it, a measurement proves that the
                outage is longer than the limit, or that packets arrived twice.
            NotApplicable: The sheet has no limit, or the bench cannot let the link fail in this way.
        """
        allowed, first = self._allowed(), self.run.bench.paths[0]

        def measure() -> Judgement:
            self._bonds.make_whole()
            fail_with(self._bonds.not_on_path(first))
            self._bonds.lose(MemberLink.ACTIVE, self.cause, self.say)
            fail_with(self._bonds.not_changed())
            self._bonds.require_causes(self.say)
            with watched(self.run, Over.BOND, self.say) as watch:
                self._bonds.restore()
                elsewhere = self._bonds.not_on_path(first)
                report = watch.end(allowed.watched_s)
            judgement = self._within(report, allowed, "primary link back")
            return _also(judgement, outage.duplicated(report), elsewhere)

        self.repeat(measure)
        self._bonds.require_members()

    def _on_each_path(self, measure: Callable[[BenchPath], Judgement]) -> None:
        """Measure each path; one that cannot be decided hides no problem of another."""
        doubts = list[str]()
        for path in self.run.bench.paths:
            try:
                self.repeat(partial(measure, path))
            except Undecided as doubt:
                doubts.append(str(doubt))
        fail_with([], doubts)

    def repeat(self, measure: Callable[[], Judgement]) -> None:
        """Measure, and again while a server stall may hide a problem; each measurement counts for the certificate.

        Args:
            measure: Makes one measurement.

        Raises:
            CardFailure: A measurement proves a problem.
            Undecided: The last measurement is undecided as well.
        """
        repeat_while_undecided(lambda: self._counted(measure), self.warn)

    def _counted(self, measure: Callable[[], Judgement]) -> Judgement:
        """Measure, and count it among the runs of the certificate: spoiled where it must be repeated.

        Spoiled by the servers that stood still; by both where none did for long, but a prober had no time to look.
        """
        both = standstill.watch(self.run)
        before, begun = both.told(), time.monotonic()
        judgement = measure()
        seconds = time.monotonic() - begun
        stood: set[str] = set()
        if judgement.possible and not judgement.proven:
            seen = {each.server for each in both.between(before, both.told())}
            stood = seen or {role.value for role in Role}
        self.run.part(RunCount).note(stood, seconds)
        return judgement

    @property
    def chosen_cause(self) -> Cause:
        """The way in which links fail here."""
        return failure.chosen(self.run.bench.paths[0], self.cause)

    @property
    def _bonds(self) -> Bonds:
        return self.run.part(Bonds)

    def _allowed(self) -> Allowed:
        return Allowed.of(self.run, self._bonds.settings.mode)

    def _within(self, report: OutageReport, allowed: Allowed, event: str) -> Judgement:
        """Judge the outages, and note them for the certificate."""
        for each in report.directions:
            late = each.proven_ms > allowed.limit_ms
            open_ended = each.at_most_ms > allowed.limit_ms or not each.over
            self.run.notes.figure(
                NotedFigure(
                    kind=FigureKind.FAILOVER,
                    subject=f"{event} by {self.chosen_cause.value}, {each.name}",
                    found=f"{each.proven_ms:.1f} to {each.at_most_ms:.1f} ms",
                    expected=f"at most {allowed.limit_ms:g} ms",
                    source=allowed.source,
                    outcome=Decision.MISSED if late else Decision.UNDECIDED if open_ended else Decision.MET,
                    unit="ms",
                    low=each.proven_ms,
                    high=each.at_most_ms,
                    at_most=allowed.limit_ms,
                )
            )
        return outage.within(report, allowed)

    def explained(self, judgement: Judgement) -> Judgement:
        """Add to what is proven why both ends say that the link is down.

        Args:
            judgement: The judgement of a measurement whose link is down still.

        Raises:
            BenchFault: They name another cause than the one that was brought about, and nothing is proven.
        """
        if not judgement.proven:
            self._bonds.require_causes(self.say)
            return judgement
        try:
            said = [str(each) for each in self._bonds.explain(self.say)]
        except BenchFault as error:
            said = [f"cause of the lost link: unknown: {error}"]
        return Judgement([*judgement.proven, *said], judgement.possible)

    def _make_whole(self, over: Over) -> None:
        self._bonds.make_whole()
        if over is Over.VLAN_ON_BOND:
            self.run.part(HostVlans).require_traffic()

    def _traffic(self, over: Over) -> Judgement:
        """Judge whether pings are answered now."""
        try:
            (self._bonds if over is Over.BOND else self.run.part(HostVlans)).require_traffic()
        except CardFailure as error:
            return Judgement([str(error)], [])
        except Undecided as error:
            return Judgement([], [str(error)])
        return _NO_PROBLEM


def _also(judgement: Judgement, *sure: list[str], traffic: Judgement = _NO_PROBLEM) -> Judgement:
    """The judgement, further problems that are sure, and what was found of the traffic afterwards."""
    proven = [*judgement.proven, *(problem for problems in sure for problem in problems), *traffic.proven]
    return Judgement(proven, [*judgement.possible, *traffic.possible])
