"""Reads over NFS and TCP while a link of an active-backup bond fails and returns: none fails, none waits too long."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, Undecided
from niclab.core.wait import pause
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.storage.failover import connection
from niclab.storage.failover.bond_links import Change, judged, longest, lost_and_back
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.failover.waits import Longest, Wait
from niclab.storage.nfs.nfs_limit import want_limits
from niclab.storage.nfs.nfs_program import ENDS_WITHIN_S
from niclab.storage.nfs.nfs_reads import NfsAgent, NfsClient, NfsTransport, ReadsOn
from niclab.storage.nfs.nfs_server import ON_LINUX, NfsExport, require_free, serving
from niclab.storage.server_needs import require_linux
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import SETTLED_S, Allowed, Judgement

PORT = 2049
"""TCP port at which the kernel's NFS server listens (rpc.nfsd(8), -p)."""
_SUBJECT = "reads over NFS"


def require_asked(run: Run) -> None:
    """Require that the sheet has a limit of NFS, and that both servers have what reads take.

    Args:
        run: The current run.

    Raises:
        NotApplicable: It has none, or a server does not run Linux.
        BenchFault: The dut has no NFS server installed, or another one runs there.
    """
    want_limits(run)
    require_linux(run, ON_LINUX)
    require_free(run.server(Role.DUT))


@dataclass(frozen=True)
class NfsFailover:
    """Reads a file of the dut over the bonds while the link that these use fails and returns.

    Attributes:
        run: The qualification run, with active-backup bonds whose first path is the primary.
        links: The way in which links fail, and who takes what is measured.
    """

    run: Run
    links: Failover

    def measure(self) -> None:
        """Read while the active link fails, and while it returns.

        Raises:
            CardFailure: No call was answered for longer than the limit, or a bond does not use the link that it should.
            Undecided: A server stall may hide that, calls failed within the limit, or data came back changed: nobody
                knows who has done it.
            NotApplicable: The sheet has no limit of NFS, a server does not run Linux, or the bench cannot let the link
                fail in this way.
            SheetSilent: The sheet has no limit of outages.
            BenchFault: The dut cannot serve, the client has no connection, or a program fails.
        """
        require_asked(self.run)
        bonds, path = self.run.part(Bonds), self.run.bench.paths[0]
        allowed = Allowed.of(self.run, bonds.settings.mode)
        with serving(self.run, path) as export, ExitStack() as ending:
            agent = NfsAgent(self.run.server(Role.PEER))
            ending.callback(agent.end)
            client = NfsClient(agent, export, self.links.say)

            def during(event: str, change: Change) -> Judgement:
                return self._judged(client, export, allowed, event, change)

            self.links.repeat(lambda: lost_and_back(self.run, self.links, during))

    def _judged(self, client: NfsClient, export: NfsExport, allowed: Allowed, event: str, change: Change) -> Judgement:
        both = standstill.watch(self.run)
        since = both.told()  # the program counts from the begin of the reads on
        with client.going_on(NfsTransport.TCP) as end:
            limit = longest(allowed, self._connection(export))
            elsewhere = change()
            pause(limit.ms / 1000 + SETTLED_S)
            reads = end()
        wait = _silence(event, reads, tuple(each.ms for each in both.between(since, both.told())), limit)
        self.run.notes.figure(wait.figure())
        self.links.say(f"{_SUBJECT}, {event}: {wait.found}")
        return judged(wait, elsewhere, lambda: _require_whole(reads))

    def _connection(self, export: NfsExport) -> SessionConnection:
        found = connection.between(self.run, Role.PEER, export.here, (export.there, PORT))
        if found is None:
            raise BenchFault(
                f"{export.here}: no TCP connection with {export.there}:{PORT} while it reads; expected one"
            )
        return found


def _require_whole(reads: ReadsOn) -> None:
    if reads.damaged:
        raise Undecided(
            f"{_SUBJECT} and the bonds: {reads.damaged} of {reads.reads} with another content, such as "
            f"{reads.example}; expected that of the file; nobody knows where it happened"
        )


def _silence(event: str, reads: ReadsOn, stood: tuple[int, ...], limit: Longest) -> Wait:
    silent_ms = 1000 * reads.silent_s
    words = f"no call was answered for {silent_ms:.0f} ms, {reads.failed} of {reads.reads + reads.failed} "
    words += f"failed{f', such as {reads.example}' if reads.failed and reads.example else ''}"
    words += f"; {reads.damaged} with another content, such as {reads.example}" if reads.damaged else ""
    return Wait(
        subject=_SUBJECT,
        event=event,
        waited_ms=silent_ms,
        failed=reads.failed,
        measured=words,
        stood=stood,
        limit=limit,
        waits="without an answer",
        gives_up_s=ENDS_WITHIN_S,  # the client waits for the last answers
    )
