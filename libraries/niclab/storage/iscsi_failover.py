"""Disks over iSCSI while a link of an active-backup bond fails and returns: no operation fails, none waits too long."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import IscsiLoad
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault, Undecided
from niclab.core.wait import pause
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.storage import iscsi_connection
from niclab.storage.bond_links import Change, judged, longest, lost_and_back
from niclab.storage.iscsi_connection import SessionConnection
from niclab.storage.iscsi_initiator import GIVES_UP_AFTER_S, attached
from niclab.storage.iscsi_loads import IscsiAgent, IscsiClient, LoadCounts
from niclab.storage.iscsi_target import IscsiTarget, offering
from niclab.storage.iscsi_workloads import require_asked
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import SETTLED_S, Allowed, Judgement

MOST_USUAL_MS = 1000
"""Assumption: disks that hang for longer with no link failing excuse no more."""


@dataclass(frozen=True)
class _Stall:
    """A load during which a link failed or returned, and how long it may wait.

    ``event``: what happened, in words; ``usual_ms``: an operation may take so long with no link failing; ``elsewhere``:
    bonds that did not use the right link then; ``stood``: the times for which servers stood still, in ms; ``session``:
    what became of it, in words.
    """

    event: str
    counts: LoadCounts
    usual_ms: float
    elsewhere: tuple[str, ...]
    stood: tuple[int, ...]
    session: str
    limit_ms: int
    source: str

    @property
    def silent_ms(self) -> float:
        return 1000 * self.counts.silent_s

    @property
    def slowest_ms(self) -> float:
        return 1000 * self.counts.slowest_s

    @property
    def waited_ms(self) -> float:
        """The longest wait for the link: of all operations, or of a single one while others went on."""
        return max(self.silent_ms, self.slowest_ms - self.usual_ms)

    @property
    def stood_ms(self) -> int:
        return sum(self.stood)

    @property
    def fails_by_itself(self) -> bool:
        """Did operations fail although no server stood still for as long as a session waits before it fails them?"""
        return bool(self.counts.failed) and max(self.stood, default=0) < 1000 * GIVES_UP_AFTER_S

    @property
    def outcome(self) -> Decision:
        if self.waited_ms - self.stood_ms > self.limit_ms:
            return Decision.MISSED
        is_good = self.waited_ms <= self.limit_ms and not self.counts.failed
        return Decision.MET if is_good else Decision.UNDECIDED

    @property
    def found(self) -> str:
        counts = self.counts
        words = f"no operation ended for {self.silent_ms:.0f} ms, the slowest took {self.slowest_ms:.0f} ms (with no "
        words += f"link failing up to {self.usual_ms:.0f} ms), "
        words += f"{counts.failed} of {counts.reads + counts.written + counts.failed} failed; {self.session}"
        return words + (f"; servers stood still for {self.stood_ms} ms" if self.stood_ms else "")

    @property
    def judgement(self) -> Judgement:
        words = f"disks over iSCSI, {self.event}: {self.found}; expected at most {self.limit_ms} ms, none failed "
        words += f"({self.source})"
        return judged(self.outcome, words, self.elsewhere)

    def figure(self) -> NotedFigure:
        return NotedFigure(
            kind=FigureKind.FAILOVER,
            subject=f"disks over iSCSI, {self.event}",
            found=self.found,
            expected=f"at most {self.limit_ms} ms for which operations wait",
            source=self.source,
            outcome=self.outcome,
            unit="ms",
            value=self.waited_ms,
            at_most=self.limit_ms,
        )


@dataclass(frozen=True)
class _Loaded:
    """Disks of a session, how long the bonds below it may take, and an operation without them (``usual_ms``)."""

    run: Run
    client: IscsiClient
    target: IscsiTarget
    allowed: Allowed
    usual_ms: float

    def during(self, event: str, change: Change) -> _Stall:
        """Load the disks while a link changes."""
        both = standstill.watch(self.run)
        with self.client.going_on(IscsiLoad.RANDOM) as end:
            before = self._connection()
            if before is None:
                raise BenchFault(f"{self.target.name}: no TCP connection while disks are loaded; expected one")
            limit = longest(self.allowed, before)
            since = both.told()
            elsewhere = change()
            pause(limit.ms / 1000 + SETTLED_S)
            counts = end()
        return _Stall(
            event=event,
            counts=counts,
            usual_ms=self.usual_ms,
            elsewhere=tuple(elsewhere),
            stood=tuple(each.ms for each in both.between(since, both.told())),
            session=_became(before, self._connection()),
            limit_ms=limit.ms,
            source=limit.source,
        )

    def _connection(self) -> SessionConnection | None:
        port = self.run.bench.end(self.run.bench.paths[0], Role.DUT)
        return iscsi_connection.look(self.run, self.target, str(self.run.bench.address(port).ip))


@dataclass(frozen=True)
class DisksFailover:
    """Loads disks over the bonds while the link that these use fails and returns.

    Attributes:
        run: The qualification run, with active-backup bonds whose first path is the primary.
        links: The way in which links fail, and who takes what is measured.
    """

    run: Run
    links: Failover

    def measure(self) -> None:
        """Read and write disks while the active link fails, and while it returns; and read all of them at the end.

        Raises:
            CardFailure: An operation waited for longer than the limit, or a bond does not use the link that it should.
            Undecided: A server stall may hide that, operations failed within the limit, or blocks came back changed:
                nobody knows who has done it.
            NotApplicable: The sheet asks for no load, a server does not run Linux, or the bench cannot let the link
                fail in this way.
            SheetSilent: The sheet has no limit.
            BenchFault: The dut has no initiator, the target cannot be made, the session goes another way, or the
                program fails.
        """
        require_asked(self.run)
        path, allowed = self.run.bench.paths[0], Allowed.of(self.run, self._bonds.settings.mode)
        with offering(self.run, path) as target, attached(self.run, path, target) as disks, ExitStack() as ending:
            agent = IscsiAgent(self.run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            ending.callback(self._bonds.restore)  # a session ends in order over a link alone
            client = IscsiClient(agent, disks, secrets.token_hex(8))
            filled = client.fill()
            _require_whole(filled)
            loaded = _Loaded(self.run, client, target, allowed, min(1000 * filled.slowest_s, MOST_USUAL_MS))
            self.links.repeat(lambda: self._both(loaded))
            _require_whole(client.check())

    @property
    def _bonds(self) -> Bonds:
        return self.run.part(Bonds)

    def _both(self, loaded: _Loaded) -> Judgement:
        return lost_and_back(self.run, self.links, lambda event, change: self._judged(loaded.during(event, change)))

    def _judged(self, stall: _Stall) -> Judgement:
        self.run.notes.figure(stall.figure())
        self.links.say(f"disks over iSCSI, {stall.event}: {stall.found}")
        if stall.counts.damaged:
            _require_whole(stall.counts)
        found = stall.judgement
        if stall.fails_by_itself and not found.proven:  # to try again would forget them
            raise Undecided("\n".join(found.possible))
        return found


def _became(before: SessionConnection, after: SessionConnection | None) -> str:
    if after is None:
        return "the session has no connection"
    if after.port != before.port:
        return f"the session was logged in again (TCP port {before.port} before, {after.port} after)"
    return "the session kept its connection"


def _require_whole(counts: LoadCounts) -> None:
    """Require that all blocks are those written, and that a step without a failing link has no failed operation.

    Raises:
        Undecided: They are not.
    """
    if counts.damaged or counts.failed:
        raise Undecided(
            f"disks over iSCSI and the bonds: {counts.damaged} blocks with another content, {counts.failed} "
            f"operations failed, such as {counts.example}; expected what was written; nobody knows where it happened"
        )
