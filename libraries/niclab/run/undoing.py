"""The undo actions of the journal, carried out on the bench: in a run, at its end, and after one that was killed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass

from niclab.bench.bench_commands import Controller
from niclab.bench.records import Bench, OperatingSystem, Role
from niclab.core.undo import Action, ActionKind, Entry, Journal
from niclab.core.undo_state import UNDONE_HERE
from niclab.core.verdict import BenchFault
from niclab.run.acquiring.bring_up import start, stops_servers
from niclab.run.acquiring.leases import (
    give_leases_back_quietly,
    steal_leases,
    take_leases,
)
from niclab.run.acquiring.recover import ensure_ready
from niclab.run.bench_servers import BenchServers
from niclab.run.program import remove_left
from niclab.run.server import Server
from niclab.switch import switch_undo
from niclab.switch.switch import Switch
from niclab.transports.bmc.bmc import PowerState
from niclab.transports.ssh.ssh_records import tail

POWER_WITHIN_S = 60.0
_UNDONE = "@ undone"
_ON_SERVERS = UNDONE_HERE - {ActionKind.LOCAL, ActionKind.POWER}
"""Actions that are undone on servers that run; the others may switch them off."""


@dataclass(frozen=True)
class UndoExecutor:
    """Undoes changes of a bench.

    Attributes:
        bench: The bench.
        journal: The journal of the bench, which the caller holds.
        controller: Runs the bench's own commands.
        servers: Both servers.
        switch: Returns the managed switch.
        driver_module: Returns the module of the card's driver for an operating system.
    """

    bench: Bench
    journal: Journal
    controller: Controller
    servers: BenchServers
    switch: Callable[[], Switch]
    driver_module: Callable[[OperatingSystem], str]

    def carry_out(self, action: Action) -> None:
        """Carry out one undo action of the journal.

        Args:
            action: The action.

        Raises:
            BenchFault: It fails.
        """
        self._refuse_if_lost()
        match action.kind:
            case ActionKind.SHELL:
                self._server(action.where).run(action.command, timeout_s=action.deadline_s)
            case ActionKind.LOCAL:
                if stops_servers(self.bench, action):
                    self.servers.look_before_leaving(self._both, is_last=True)
                    self.servers.stop_next(self._both)
                    self.servers.close()
                self.controller.check(action.command)
            case ActionKind.POWER:
                server = self._server(action.where)
                if action.command == "off":
                    self.servers.look_before_leaving([server], is_last=True)
                    self.servers.stop_next([server])
                server.bmc.set_power(PowerState(action.command), within_s=POWER_WITHIN_S)
                if action.command == "on":
                    server.wait_ready()
            case ActionKind.RESTART:
                self._restart(action)
            case ActionKind.SWITCH:
                switch_undo.carry_out(self.switch(), action.command)
            case ActionKind.ELSEWHERE:
                raise BenchFault(action.command)

    def gone(self, entry: Entry) -> str:
        """Say why nothing is left of a change of an interface whose undo has failed.

        A change in the running kernel alone is gone with that boot. Where the interface is there, its undo has to
        succeed all the same.

        Args:
            entry: The change.

        Returns:
            The reason; empty where something may be left.

        Raises:
            BenchFault: The server cannot be asked.
        """
        iface = entry.action.iface
        if entry.action.kind is not ActionKind.SHELL or not (iface and entry.boot):
            return ""
        host = self._server(entry.action.where).host
        now = host.system.boot_id()
        if now == entry.boot or iface in host.links.names():
            return ""
        return f"gone with the boot {entry.boot} of {host.name}: there is no {iface} since the boot {now}"

    def undo_newest_first(self, entries: list[Entry]) -> None:
        """Undo changes that were made on one server by its shell, all in one command, and take each off the list.

        Args:
            entries: The changes, the oldest first.

        Raises:
            BenchFault: One cannot be undone; it and those before it stay in the list and in the journal.
        """
        if not entries:
            return
        self._refuse_if_lost()
        newest_first = entries[::-1]
        server = self._server(newest_first[0].action.where)
        steps = [f"({each.action.command}\n) && echo '{_UNDONE} {number}'" for number, each in enumerate(newest_first)]
        result = server.ssh.run(" && ".join(steps), timeout_s=sum(each.action.deadline_s for each in newest_first))
        undone = result.stdout.splitlines()
        for number, entry in enumerate(newest_first):

            def seen(action: Action, number: int = number) -> None:
                if f"{_UNDONE} {number}" not in undone:
                    said = f"{result.ending}; stderr: {tail(result.stderr)}"
                    raise BenchFault(f"{server.name}: {action.command!r}: {said}")

            self.journal.undo(entry, seen)
            entries.pop()

    def undo_everything(
        self, last_look: Callable[[], object] | None = None, *, leaving: Container[str] = ()
    ) -> list[Entry]:
        """Undo what is pending, on servers that answer if they can be made to.

        Args:
            last_look: Is called when all is undone on the servers, before the bench may switch them off.
            leaving: Ids of entries that stay pending.

        Returns:
            What was undone.

        Raises:
            BenchFault: A server stays away, something could not be undone, or the last look found a fault; all the rest
                has been undone. Or somebody else has the bench: nothing is undone then.
        """
        done = list[Entry]()
        self._undo_into(done, last_look, leaving)
        return done

    def _undo_into(
        self, done: list[Entry], last_look: Callable[[], object] | None = None, leaving: Container[str] = ()
    ) -> None:
        """The same; ``done`` gets what was undone, also when something else was not."""
        for server in self._both:
            with contextlib.suppress(BenchFault):
                server.require_lease()
        if any(entry.id not in leaving and not entry.is_elsewhere for entry in self.journal.pending()):
            self._refuse_if_lost()
        problems = []
        # a server may be behind a port that is shut
        done += self.journal.undo_all(self.carry_out, kinds=[ActionKind.SWITCH], leaving=leaving).done
        # before a silent server is recovered: its kernel log begins again then
        self.servers.look_before_leaving(self._both)
        try:
            ensure_ready(self._both)
        except BenchFault as error:
            problems.append(str(error))  # the other server and the bench are put back all the same
        if last_look is not None:
            # what fails is tried again below
            done += self.journal.undo_all(self.carry_out, kinds=_ON_SERVERS, leaving=leaving).done
            try:
                last_look()
            except BenchFault as error:
                problems.append(str(error))
        report = self.journal.undo_all(self.carry_out, leaving=leaving)
        done += report.done
        try:
            report.raise_if_failed()
        except BenchFault as error:
            problems.append(str(error))
        if problems:
            raise BenchFault("\n".join(problems))

    def restore(
        self,
        *,
        look: Callable[[], object] | None = None,
        leaving: Collection[str] = (),
    ) -> list[Entry]:
        """Undo everything that a killed run left pending, and give the servers back. No server is connected before.

        Args:
            look: Is called when all is undone but what stops the servers, and the entries ``leaving``.
            leaving: Ids of the entries that are undone last.

        Returns:
            What was undone.

        Raises:
            BenchFault: The servers are in use, or something could not be undone; all the rest has been.
        """
        try:
            self.lease_what_runs()
            undone = self.undo_pending(look, leaving)
            self.servers.give_leases_back()
            return undone
        finally:
            give_leases_back_quietly(self._both)
            self.servers.close()

    def lease_or_give_back(self, steal: Callable[[object], object] | None) -> None:
        """Take the leases as :meth:`lease_what_runs` does; they stay taken for who holds this journal next.

        Args:
            steal: Break the leases of others first; is called with each.

        Raises:
            BenchFault: The servers are in use; none is leased then.
        """
        try:
            self.lease_what_runs(steal)
        except BaseException:
            give_leases_back_quietly(self._both)
            raise

    def lease_what_runs(self, steal: Callable[[object], object] | None = None) -> None:
        """Take the leases of a bench that is up, before a command of the bench restarts servers that others use.

        Args:
            steal: Break the leases of others first; is called with each.

        Raises:
            BenchFault: The servers are in use, or the bench whose leases shall be broken is down.
        """
        if down := self.is_down():
            if steal is not None:
                raise BenchFault(f"bench {self.bench.name}: {down}; expected it to be up: leases are on its servers")
            return
        self.servers.make()
        try:
            stolen = steal_leases(self._both) if steal is not None else []
            if steal is not None:
                for each in stolen:
                    steal(each)
            take_leases(self._both)
            self.servers.copy_journal(self._both, stolen)
        finally:
            for server in self._both:
                server.ssh.close()

    def is_down(self) -> str:
        """Return how the bench's own command says that the bench is down; empty where it is up."""
        if self.bench.commands is None:
            return ""
        ended = self.controller.run(self.bench.commands.status).returncode
        return f"is down: its command {self.bench.commands.status!r} ended with {ended}" if ended else ""

    def undo_pending(self, look: Callable[[], object] | None = None, leaving: Collection[str] = ()) -> list[Entry]:
        """Undo what an earlier run left, on a bench that is brought up for it. No server is connected before.

        Args:
            look: Is called when all is undone but what stops the servers, and the entries ``leaving``.
            leaving: Ids of the entries that are undone last.

        Returns:
            What was undone.

        Raises:
            BenchFault: Something could not be undone; all the rest has been.
        """
        if all(entry.is_elsewhere for entry in self.journal.pending()):
            if look is not None:
                look()
            return []
        start(self.bench, self.journal, self.controller)
        # what fails is tried again below
        done = list(self.journal.undo_all(self.carry_out, kinds=[ActionKind.SWITCH]).done)
        self.servers.connect()
        try:
            if look is not None:
                self._undo_before(look, done, leaving)
            self._undo_into(done)
            return done
        finally:
            self.servers.close()

    def _undo_before(self, look: Callable[[], object], done: list[Entry], leaving: Collection[str]) -> None:
        """Undo all but what stops the servers and ``leaving``, twice what fails the first time, and look then."""
        stopping = {entry.id for entry in self.journal.pending() if stops_servers(self.bench, entry.action)}
        for _ in range(2):
            try:
                self._undo_into(done, leaving={*leaving, *stopping})
            except BenchFault:
                continue  # what fails twice is tried once more afterwards, and said then
            break
        for server in self._both:
            with contextlib.suppress(BenchFault):
                remove_left(server)
        look()

    def _refuse_if_lost(self) -> None:
        """Whoever has taken a server undoes what this run has changed, by the copy of its journal there."""
        lost = [server.lease.lost for server in self._both if server.lease is not None and server.lease.lost]
        if lost:
            raise BenchFault(f"{lost[0]}; nothing is undone from here: its changes stay in {self.journal.path}")

    @property
    def _both(self) -> Collection[Server]:
        return self.servers.by_role.values()

    def _server(self, name: str) -> Server:
        return self.servers.by_role[Role(name)]

    def _restart(self, action: Action) -> None:
        """Restart a server, and load the driver: what was changed before is undone at its ports next."""
        server = self._server(action.where)
        if action.command == "reboot":
            server.reboot()
        else:
            server.power_cycle()
        module = self.driver_module(server.description.os)
        server.run(server.host.undo.load_driver(module), timeout_s=action.deadline_s)
