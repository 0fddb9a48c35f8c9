"""One iSCSI session after the other, each under the settings of a variant.

A session is made after the settings have changed, and ends before they change again. Window scaling, congestion control
and the size of segments are fixed when a connection begins; and a link that goes down for a new MTU or other rings
would hold operations up. So nothing that goes wrong in a session is due to a change of the lab.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from niclab.bench.records import BenchPath, Role
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.storage.disk_counts import DiskCounts, contradictions
from niclab.storage.disk_loads import DiskAgent, DiskClient
from niclab.storage.disk_workloads import DiskLoads
from niclab.storage.iscsi import iscsi_connection, iscsi_counts
from niclab.storage.iscsi.iscsi_initiator import attached
from niclab.storage.volumes import DiskTarget
from niclab.traffic.effects.variants import Variants


@dataclass(frozen=True)
class SessionLoads(DiskLoads):
    """Loads of the disks of a session. ``disks``: their names."""

    disks: tuple[str, ...]

    def counts(self) -> DiskCounts:
        """Read what disks, target and TCP have counted until now.

        Raises:
            BenchFault: A count cannot be read.
        """
        return iscsi_counts.look(self.run, self.disks)


@dataclass
class VariantSessions:
    """Makes the session of a variant before its runs, and keeps it until another variant is wanted.

    Attributes:
        run: The current run.
        path: The path.
        target: The target, which is served meanwhile.
        variants: The settings of each variant.
        at_work: Called with the name of the variant when its session has written all of its disks.
        damaged: Data that were not those written, and operations that failed, in words.
        problems: Where counts disagree, in words.
        lost: How often a session of a variant had no longer the connection that it began with, by variant.
        clients: Those that load the disks, of all sessions so far.
    """

    run: Run
    path: BenchPath
    target: DiskTarget
    variants: Variants
    at_work: Callable[[str], object]
    damaged: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    clients: list[DiskClient] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _now: tuple[str, SessionLoads] | None = None
    _began: tuple[DiskCounts, int | None] = field(init=False)

    def loads(self, variant: str) -> SessionLoads:
        """Return the disks of a session under the settings of a variant.

        Args:
            variant: Its name.

        Raises:
            NotApplicable: The sheet or a system does not offer a setting.
            CardFailure: The dut takes a setting and does not show it.
            BenchFault: The session cannot be made, or a setting could not be put back.
        """
        if self._now is None or self._now[0] != variant:
            self.finish()
            self._end()
            self.variants.way(variant)
            mtu.wait_for_links(self.run, self.path)
            self._now = (variant, self._stack.enter_context(self._session(variant)))
        return self._now[1]

    def finish(self) -> None:
        """Read all of the disks of the session that there is, and compare content, counts and connection.

        Raises:
            BenchFault: The program fails, or a count cannot be read.
        """
        if self._now is None:
            return
        variant, loads = self._now
        client, (before, connection) = loads.client, self._began
        client.check()
        self.damaged += [f"{variant} it: {each}" for each in client.damaged]
        if not client.damaged:
            found = contradictions(loads.counts().since(before), client.total)
            self.problems += [f"{variant} it: {each}" for each in found]
        if self._connection() != connection:
            self.lost[variant] = self.lost.get(variant, 0) + 1

    def close(self) -> None:
        """End the session, and put the settings back. Compares nothing: something else may have failed."""
        try:
            self._end()
        finally:
            self.variants.close()
            mtu.wait_for_links(self.run, self.path)

    def _end(self) -> None:
        self._now = None
        stack, self._stack = self._stack, ExitStack()
        stack.close()

    @contextmanager
    def _session(self, variant: str) -> Iterator[SessionLoads]:
        with attached(self.run, self.path, self.target) as disks, ExitStack() as ending:
            agent = DiskAgent(self.run.server(Role.DUT))
            ending.callback(agent.end)  # before the session: it has the disks open
            client = DiskClient(agent, disks, secrets.token_hex(8))
            self.clients.append(client)
            loads = SessionLoads(self.run, self.path, client, disks)
            self._began = (loads.counts(), self._connection())
            client.fill()
            self.at_work(variant)
            yield loads

    def _connection(self) -> int | None:
        """The initiator's TCP port of the session, another one after each login; None where there is no connection."""
        port = self.run.bench.end(self.path, Role.DUT)
        found = iscsi_connection.look(self.run, self.target, str(self.run.bench.address(port).ip))
        return None if found is None else found.port
