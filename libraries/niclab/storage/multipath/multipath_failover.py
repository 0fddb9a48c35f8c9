"""Disks over two paths while the preferred one is lost and returns: no operation fails, none waits too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from niclab.bench.records import BenchPath
from niclab.card import StorageLoad
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import CardFailure, Trouble, Undecided, blame
from niclab.core.wait import pause
from niclab.links import carrier, link_checks
from niclab.links.diagnosis import Reason
from niclab.links.witness import Witnesses
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.storage.failover.disk_stalls import require_whole, stall, usual_ms
from niclab.storage.failover.waits import Longest
from niclab.storage.multipath.multipath_disks import (
    BACK_SOURCE,
    BACK_WITHIN_S,
    LOST_SOURCE,
    LOST_WITHIN_S,
    MultipathDisks,
)
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import SETTLED_S, Judgement

_SUBJECT = "disks over two paths"


@dataclass(frozen=True)
class MultipathFailover:
    """Loads disks over two paths while the preferred one is lost, and while it returns.

    Nothing that waits here is the card's: it is charged where a path that has its link carries nothing.

    Attributes:
        run: The qualification run, with disks over two paths.
        links: The way in which links fail, and who takes what is measured.
    """

    run: Run
    links: Failover

    def require_ready(self) -> None:
        """Restore the preferred path, and see that all maps use it and have both paths.

        Raises:
            CardFailure: They do not in time, and a path carries no pings.
            Undecided: They do not in time, though both paths carry pings, or a server stood still.
            BenchFault: The path cannot be restored, peer or switch keep the link of a path down that carries no pings,
                or a server does not answer.
        """
        self._disks.restore()
        for problem in self._disks.not_on(self._disks.preferred):
            for path in (self._disks.preferred, self._disks.other):
                self._require_answers(path, problem)
            raise Undecided(f"{problem}; pings over both paths are answered")

    def require_lost(self) -> None:
        """Lose the preferred path, and see that all maps use the other one.

        Raises:
            CardFailure: They do not in time, and the other path carries no pings.
            Undecided: They do not in time, though it does, or a server stood still.
            NotApplicable: The bench cannot let the link fail in this way.
            BenchFault: Both ends show another cause of the lost link, peer or switch keep that of the other path down,
                or a server does not answer.
        """
        self.require_ready()
        self._disks.lose(self.links.cause, self.links.say)
        for problem in self._disks.not_on(self._disks.other):
            self._require_answers(self._disks.other, problem)
            raise Undecided(f"{problem}; pings over path {self._disks.other.name} are answered")
        self._disks.require_cause(self.links.say)

    def lost(self) -> None:
        """Read and write disks while the preferred path is lost; and read all of them over the other one.

        Raises:
            CardFailure: Operations failed, waited for longer than the limit or are not done over the other path, and
                that carries no pings.
            Undecided: The same though it does, a server stall may hide it, or blocks came back changed.
            NotApplicable: The bench cannot let the link fail in this way.
            BenchFault: Both ends show another cause of the lost link, peer or switch keep that of the other path down,
                or a program fails.
        """
        usual = self._filled()

        def lose() -> list[str]:
            self._disks.lose(self.links.cause, self.links.say)
            pause(LOST_WITHIN_S + SETTLED_S)
            return self._disks.not_on(self._disks.other)

        def measure() -> Judgement:
            self.require_ready()
            event = f"path {self._disks.preferred.name} lost by {self.links.chosen_cause.value}"
            found = self._judged(usual, event, self._disks.other, lose)
            if not found.proven:
                self._disks.require_cause(self.links.say)
            return found

        self.links.repeat(measure)
        require_whole(self._disks.client.check(), _SUBJECT)

    def back(self) -> None:
        """Read and write disks while the lost path returns; and read all of them over it.

        Raises:
            CardFailure: The link is not back within the sheet's time, or it is and carries no pings.
            Undecided: The path is not used again though it carries pings, operations waited or failed, a server stall
                may hide that, or blocks came back changed.
            BenchFault: The path cannot be restored, peer or switch keep the link down, or a program fails.
        """
        usual = self._filled()

        def measure() -> Judgement:
            if not self._disks.is_lost:
                self.require_lost()
            path = self._disks.preferred
            return self._judged(usual, f"path {path.name} back", path, self._restore)

        self.links.repeat(measure)
        require_whole(self._disks.client.check(), _SUBJECT)

    @property
    def _disks(self) -> MultipathDisks:
        return self.run.part(MultipathDisks)

    def _filled(self) -> float:
        filled = self._disks.client.fill()
        require_whole(filled, _SUBJECT)
        return usual_ms(filled)

    def _restore(self) -> list[str]:
        path, began = self._disks.preferred, time.monotonic()
        self._disks.restore()
        carrier.expect(self.run, self._disks.ends(path), up=True, began=began, say=self.links.say)
        linked = time.monotonic()
        wrong, took_s = self._disks.not_on(path), time.monotonic() - linked
        self.run.notes.figure(
            NotedFigure(
                kind=FigureKind.FAILOVER,
                subject=f"{_SUBJECT}, path {path.name} used again after its link is back",
                found="; ".join(wrong) or f"after {took_s:.1f} s",
                expected=f"within {BACK_WITHIN_S} s",
                source=BACK_SOURCE,
                outcome=Decision.UNDECIDED if wrong else Decision.MET,
                unit="s",
                value=None if wrong else took_s,
                at_most=float(BACK_WITHIN_S),
            )
        )
        pause(SETTLED_S)
        return wrong

    def _judged(self, usual: float, event: str, path: BenchPath, change: Callable[[], list[str]]) -> Judgement:
        """Load the disks while the preferred path changes, and judge it. ``path``: the one that is used afterwards."""
        both = standstill.watch(self.run)
        since = both.told()  # the program counts from the begin of the load on
        with self._disks.client.going_on(StorageLoad.RANDOM) as end:
            wrong = change()
            counts = end()
        stood = tuple(each.ms for each in both.between(since, both.told()))
        session = f"path {path.name} is used" if not wrong else "; ".join(wrong)
        wait = stall(_SUBJECT, event, counts, usual, stood, session, Longest(1000 * LOST_WITHIN_S, LOST_SOURCE))
        self.run.notes.figure(wait.figure())
        self.links.say(f"{_SUBJECT}, {event}: {wait.found}")
        is_right = wait.outcome is Decision.MET and not wrong
        if not is_right:
            self._require_answers(path, wait.words)
        if counts.damaged:  # it hides no failure
            require_whole(counts, _SUBJECT)
        if is_right:
            return Judgement([], [])
        words = f"{wait.words}; pings over path {path.name} are answered"
        if wait.fails_by_itself:  # to try again would forget them
            raise Undecided(words)
        return Judgement([], [words])

    def _require_answers(self, path: BenchPath, problem: str) -> None:
        """Require that a path carries pings, where something went wrong that it may have caused."""
        try:
            link_checks.require_answers(self.run, self._disks.ends(path))
        except Undecided as error:
            raise Undecided(f"{problem}\n{error}") from error
        except CardFailure as error:
            text, found = f"{problem}\n{error}", self.run.part(Witnesses).ask(path)
            if found.reasons == (Reason.NO_LOSS,):
                raise CardFailure(text) from error
            blame([Trouble(f"{text}\npath {path.name} is down: {found}", found.is_of_card)])
