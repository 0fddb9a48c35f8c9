"""Disks over iSCSI while a link of an active-backup bond fails and returns: no operation fails, none waits too long."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import StorageLoad
from niclab.core.verdict import BenchFault
from niclab.core.wait import pause
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.storage.disk_loads import DiskAgent, DiskClient, LoadCounts
from niclab.storage.failover.bond_links import Change, judged, longest, lost_and_back
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.failover.disk_stalls import require_whole, stall, usual_ms
from niclab.storage.failover.waits import Wait
from niclab.storage.iscsi import iscsi_connection
from niclab.storage.iscsi.iscsi_initiator import attached
from niclab.storage.iscsi.iscsi_target import offering
from niclab.storage.iscsi.iscsi_workloads import require_asked
from niclab.storage.volumes import DiskTarget
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import SETTLED_S, Allowed, Judgement

_SUBJECT = "disks over iSCSI"
_WHAT = f"{_SUBJECT} and the bonds"


@dataclass(frozen=True)
class _Loaded:
    """Disks of a session, how long the bonds below it may take, and an operation without them (``usual_ms``)."""

    run: Run
    client: DiskClient
    target: DiskTarget
    allowed: Allowed
    usual_ms: float

    def during(self, event: str, change: Change) -> tuple[Wait, LoadCounts, list[str]]:
        """Load the disks while a link changes; also returns the bonds that do not use the right link then."""
        both = standstill.watch(self.run)
        since = both.told()  # the program counts from the begin of the load on
        with self.client.going_on(StorageLoad.RANDOM) as end:
            before = self._connection()
            if before is None:
                raise BenchFault(f"{self.target.name}: no TCP connection while disks are loaded; expected one")
            limit = longest(self.allowed, before)
            elsewhere = change()
            pause(limit.ms / 1000 + SETTLED_S)
            counts = end()
        stood = tuple(each.ms for each in both.between(since, both.told()))
        session = _became(before, self._connection())
        return stall(_SUBJECT, event, counts, self.usual_ms, stood, session, limit), counts, elsewhere

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
            agent = DiskAgent(self.run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            ending.callback(self._bonds.restore)  # a session ends in order over a link alone
            client = DiskClient(agent, disks, secrets.token_hex(8))
            filled = client.fill()
            require_whole(filled, _WHAT)
            loaded = _Loaded(self.run, client, target, allowed, usual_ms(filled))
            self.links.repeat(lambda: self._both(loaded))
            require_whole(client.check(), _WHAT)

    @property
    def _bonds(self) -> Bonds:
        return self.run.part(Bonds)

    def _both(self, loaded: _Loaded) -> Judgement:
        return lost_and_back(self.run, self.links, lambda event, change: self._judged(*loaded.during(event, change)))

    def _judged(self, wait: Wait, counts: LoadCounts, elsewhere: list[str]) -> Judgement:
        self.run.notes.figure(wait.figure())
        self.links.say(f"{_SUBJECT}, {wait.event}: {wait.found}")
        return judged(wait, elsewhere, lambda: require_whole(counts, _WHAT) if counts.damaged else None)


def _became(before: SessionConnection, after: SessionConnection | None) -> str:
    if after is None:
        return "the session has no connection"
    if after.port != before.port:
        return f"the session was logged in again (TCP port {before.port} before, {after.port} after)"
    return "the session kept its connection"
