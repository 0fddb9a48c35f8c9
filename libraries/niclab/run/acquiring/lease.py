"""The lease of a server: a file on the server itself that says who uses it.

The lock of the journal excludes runs of one bench file by one user. The lease excludes all others: another bench file
for the same servers, another controller, another user.

The file is made by a hard link to a complete one: the kernel makes only one link of a name, and whoever finds the file
finds its content. It is in ``/var/run``, which no restart of a server survives: Linux has it in memory, and FreeBSD
removes all files in it when it starts (its ``cleanvar`` keeps folders, so a folder would not do). A run takes its lease
again after each restart that it has ordered.
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Protocol

from niclab.core.verdict import BenchFault
from niclab.report import now

if TYPE_CHECKING:
    from niclab.core.undo import Journal
    from niclab.transports.ssh.ssh import Result

FOLDER = "/var/run/niclab"
_LONGEST_FIELD = 200
"""Characters of a field of somebody else's lease that a message shows."""


class LeaseShell(Protocol):
    """Runs command lines on a server."""

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        """Run a command line in the server's ``sh``."""


@dataclass(frozen=True)
class Holder:
    """The user of a server. ``token`` names the run among all runs."""

    user: str
    host: str
    pid: int
    since: str
    bench: str
    run: str
    token: str

    @classmethod
    def of(cls, journal: Journal, bench: str) -> Holder:
        """Return this process as a holder.

        Args:
            journal: The journal that the run holds.
            bench: Name of the bench.
        """
        return cls(getpass.getuser(), socket.gethostname(), os.getpid(), now(), bench, journal.run, journal.token)

    @classmethod
    def read(cls, text: str) -> Holder | None:
        """Return the holder that a lease names; None for a text that names none."""
        try:
            fields = json.loads(text)
            words = {name: str(fields[name])[:_LONGEST_FIELD] for name in ("user", "host", "since", "bench", "run")}
            return cls(pid=int(fields["pid"]), token=str(fields["token"]), **words)
        except (ValueError, KeyError, TypeError):
            return None

    def __str__(self) -> str:
        return f"{self.user}@{self.host} (bench {self.bench}, run {self.run}, pid {self.pid}) since {self.since}"


@dataclass(frozen=True)
class Stolen:
    """A lease that was broken: of which server, who had it in words, and the token of its run if it named one."""

    server: str
    who: str
    token: str

    def __str__(self) -> str:
        return f"{self.server}: the lease of {self.who} is broken"


class Lease:
    """The lease of one server.

    Args:
        server: Name of the server, for messages.
        shell: Runs commands on the server.
        holder: Who takes the lease.
        is_own: Returns whether a token is of this holder, or of a run before it that has ended and left its lease.
        folder: Folder of the lease on the server.
    """

    def __init__(
        self, server: str, shell: LeaseShell, holder: Holder, is_own: Callable[[str], bool], folder: str = FOLDER
    ) -> None:
        self._server, self._shell, self._holder, self._is_own = server, shell, holder, is_own
        self._folder, self._file = shlex.quote(folder), shlex.quote(f"{folder}/lease")
        self._path = f"{folder}/lease"
        self.held = False
        self.proof: Callable[[], str] = lambda: ""
        """Returns a command that succeeds while the disk of the server names this run as its last; empty: unknown."""
        self.lost = ""
        """The present holder of the server, in words, once the lease was found to be somebody else's."""

    def take(self) -> None:
        """Take the lease; one that is this holder's already is kept, one that a run before it left is replaced.

        Raises:
            BenchFault: Somebody else uses the server, or has used it since this lease was taken. Or the lease cannot be
                written or read.
        """
        if self.lost:
            raise BenchFault(self.lost)
        found = self._claim()
        if found is not None and self._is_own(token := self._token(found)) and token != self._holder.token:
            self._remove(token)
            found = self._claim()
        if found is not None and self._token(found) != self._holder.token:
            if self.held:
                self._lose(found)
            raise BenchFault(
                f"{self._server}: in use by {self._name(found)}; expected nobody ({self._path} on the server; "
                f"if that run has ended: niclab restore --steal)"
            )
        self.held = True

    def check(self) -> None:
        """Require that a lease that was taken is still this holder's.

        One that is gone is taken again where nobody else has used the server meanwhile.

        Raises:
            BenchFault: Somebody else has taken it, or the server does not answer.
        """
        if self.held and not (found := self._run(self.showing())):
            self.take()
        elif self.held and self._token(found) != self._holder.token:
            self._lose(found)
        if self.lost:
            raise BenchFault(self.lost)

    def showing(self) -> str:
        """Return a command that shows the lease by the shell alone, for who asks the server something else as well."""
        return f'{{ IFS= read -r lease < {self._file} && printf "%s\\n" "$lease"; }} 2>/dev/null || :'

    def _lose(self, found: str) -> None:
        self.held = False
        who = self._name(found) if found else "somebody who has left it (this run's copy of its journal is gone too)"
        self.lost = (
            f"{self._server}: the lease is lost to {who}; expected this run's until its end "
            f"({self._path} on the server)"
        )

    def steal(self) -> Stolen | None:
        """Remove the lease, whoever has it.

        Returns:
            Who had it; None when nobody had.
        """
        there, _, found = self._run(
            f"if test -e {self._file}; then echo there; cat {self._file}; rm -f {self._file}; fi"
        ).partition("\n")
        return Stolen(self._server, self._name(found), self._token(found)) if there else None

    def forget(self) -> None:
        """Note that the server is stopped, and the lease gone with it."""
        self.held = False

    def give_back(self, last: str = ":") -> None:
        """Remove the lease if it is this holder's.

        Args:
            last: Command that goes ahead of it, while the server is still this holder's.

        Raises:
            BenchFault: The server does not answer.
        """
        if self.held:
            self.held = False
            self._remove(self._holder.token, last)

    def _claim(self) -> str | None:
        """Make the lease; return the content of the one that is there, and None when it was made.

        One that was held and is gone may have been stolen and given back: it is made again by proof alone.
        """
        new = shlex.quote(f"{self._path}.{self._holder.token}")
        content = shlex.quote(json.dumps(asdict(self._holder)))
        link = f"ln {new} {self._file}"
        made, there = "echo made", f"test -e {self._file} && echo there && cat {self._file}"
        proof = self.proof() if self.held else ""
        ended = 'printf "gone\\n%s\\n" "$niclab_line"; exit 0'
        proven = f"niclab_line=; test -e {self._file} || {{ {proof}; }} || {{ {ended}; }}; " if proof else ""
        state, _, found = self._run(
            f"({proven}umask 022; mkdir -p {self._folder} && printf '%s\\n' {content} > {new} && "
            f"{{ {{ {link} 2>/dev/null && {made}; }} || {{ {there}; }} || "
            f"{{ {link} && {made}; }}; }}; "  # it may have been given back in between
            f"status=$?; rm -f {new}; exit $status)"
        ).partition("\n")
        if state == "gone":
            self._lose(found)
            raise BenchFault(self.lost)
        return None if state == "made" else found

    def _remove(self, token: str, last: str = ":") -> None:
        is_own = f"grep -qF {shlex.quote(token)} {self._file} 2>/dev/null"
        self._run(f"if {is_own}; then {last}\nrm -f {self._file}; fi")

    def _run(self, command: str) -> str:
        return self._shell.run(command, timeout_s=15, check=True).stdout.strip()

    @staticmethod
    def _token(found: str) -> str:
        holder = Holder.read(found)
        return holder.token if holder else ""

    @staticmethod
    def _name(found: str) -> str:
        return str(Holder.read(found) or f"somebody whose lease says {found[:_LONGEST_FIELD]!r}")
