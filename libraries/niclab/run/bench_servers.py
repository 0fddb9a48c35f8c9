"""Both servers of a bench: made, connected with their leases taken, and closed."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from niclab.bench.records import Bench, Role
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault
from niclab.files.secrets import Secrets
from niclab.report.evidence.evidence import CommandLog
from niclab.run.acquiring.adopting import UNKNOWN, adopt, elsewhere
from niclab.run.acquiring.bring_up import stops_servers
from niclab.run.acquiring.lease import Stolen
from niclab.run.acquiring.leases import finish_copies, give_leases_back, prepare_leases, take_leases
from niclab.run.run_notes import RunNotes
from niclab.run.server import Server


class BenchServers:
    """Both servers of a bench.

    Args:
        bench: The bench.
        secrets: The secrets that the bench file names.
        journal: The journal that the run holds.
        notes: Those of the run; the log of the commands that the servers get is in their folder.
    """

    def __init__(self, bench: Bench, secrets: Secrets, journal: Journal, notes: RunNotes) -> None:
        self._bench, self._secrets, self._journal, self._notes = bench, secrets, journal, notes
        self.by_role: dict[Role, Server] = {}
        self.looks_before_leaving: list[Callable[[Iterable[Role], bool], object]] = []
        """Look at servers before the lab leaves or stops them: roles, and whether it is the last time."""

    @property
    def left_elsewhere(self) -> list[str]:
        """Changes of another controller that cannot be undone from here: a line for each."""
        return [str(entry) for entry in self._journal.pending()[::-1] if entry.is_elsewhere]

    def make(self) -> None:
        """Describe both servers, not connected yet; the commands they get are logged."""
        secrets = [self._secrets.get(name) for name in self._bench.secret_names]  # all of them, so that all are masked
        self.by_role = {role: Server(self._bench, role, self._secrets, self._notes) for role in Role}
        for server in self.by_role.values():
            server.journal = self._journal
            server.ssh.on_result = CommandLog(self._notes.folder, server.name, secrets)
        prepare_leases(self.by_role.values(), self._journal, self._bench.name)
        self._journal.on_line = self._note
        for server in self.by_role.values():
            server.on_lease = self._started

    def _started(self, server: Server) -> None:
        self.copy_journal([server])
        self._note_boots([server])

    def _note_boots(self, servers: Iterable[Server]) -> None:
        """Let the journal know the boots of servers; one that may run another system than wanted has none for now."""
        for server in servers:
            self._journal.boots.pop(server.name, None)
            with contextlib.suppress(BenchFault):
                self._journal.boots[server.name] = server.host.system.boot_id()

    def _note(self, line: str) -> None:
        for server in self.by_role.values():
            if server.copy is not None:
                server.copy.note(line)

    def copy_journal(self, servers: Iterable[Server], stolen: Iterable[Stolen] = ()) -> None:
        """Take over what another controller has left on servers, and begin the copy of this journal there.

        Args:
            servers: Servers that have been leased.
            stolen: Leases that were broken before.

        Raises:
            BenchFault: A server does not answer, or its copy cannot be written.
        """
        leased = [server for server in servers if server.lease is not None and server.lease.held]
        copies = {server.role: found for server in leased if server.copy and (found := server.copy.read())}
        adopt(self._journal, self._bench, copies)
        known = {copy.holder.token for copy in copies.values() if copy.holder is not None}
        for each in stolen:
            if each.token not in known:
                what = f"no copy of the journal of {each.who} is on it; its changes are in the journal there"
                self._journal.register(each.server, what, elsewhere(UNKNOWN))
        entries = self._journal.pending()[::-1]
        for server in leased:
            if server.copy is not None:
                server.copy.begin(entries, self._journal.state_file)

    def keep_state(self, content: bytes) -> None:
        """Copy the state before the run to both servers.

        Args:
            content: The file of the state.
        """
        for server in self.by_role.values():
            if server.copy is not None:
                server.copy.keep_state(content)

    def give_leases_back(self) -> None:
        """Give the leases back; the copies of the journal stay where something is left to undo or to compare.

        Raises:
            BenchFault: A server does not answer.
        """
        settled = not self._journal.pending() and not self._journal.state_file.exists()
        give_leases_back(self.by_role.values(), settled=settled)

    def stop_next(self, servers: Iterable[Server]) -> None:
        """Bring the copies of the journal on servers that are about to stop up to date: their disks outlive the run.

        They are removed where nothing is left but what stops servers: that is undone from here.

        Args:
            servers: The servers.
        """
        left = any(not stops_servers(self._bench, entry.action) for entry in self._journal.pending())
        finish_copies(servers, settled=not left and not self._journal.state_file.exists())

    def connect(self) -> None:
        """Make both servers reachable, and take their leases; from now on their consoles are logged."""
        self.make()
        for server in self.by_role.values():
            if server.description.console is not None:
                server.start_console_log()
        take_leases(self.by_role.values())
        self.copy_journal(self.by_role.values())
        self._note_boots(server for server in self.by_role.values() if server.lease and server.lease.held)

    def look_before_leaving(self, servers: Iterable[Server], *, is_last: bool = False) -> None:
        """Look at servers that the lab is about to restart, to stop or to leave.

        Args:
            servers: The servers.
            is_last: The lab is about to stop them, or to leave them.
        """
        roles = [server.role for server in servers]
        for look in self.looks_before_leaving:
            look(roles, is_last)

    def close(self) -> None:
        """Close every connection, also when closing one of them fails."""
        with contextlib.ExitStack() as ending:
            for server in self.by_role.values():
                ending.callback(server.close)
