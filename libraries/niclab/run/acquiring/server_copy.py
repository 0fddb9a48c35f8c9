"""The copy of a run's journal, and of the state before it, on the servers: another controller can undo from it.

It is on the disk of each server, which a restart survives, in a folder that only root can read. A line of the journal
goes ahead of the next command to the server, so that the undo of a change is there before the change and costs no
request of its own. Each has a number, and one that a full disk refuses leaves a mark: who reads the copy sees what it
lacks. Only the holder whose copy it is writes into it; the copy of whoever holds the lease replaces it.
"""

from __future__ import annotations

import base64
import json
import shlex
import threading
import zlib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from niclab.bench.records import Role
from niclab.core.undo import Entry
from niclab.core.undo_state import JournalState, apply_line
from niclab.core.verdict import BenchFault
from niclab.run.acquiring.lease import Holder, LeaseShell

FOLDER = "/var/db/niclab"
LARGEST_STATE = 64 << 20
"""Bytes of a state; no bench has a thousandth of it."""
_JOURNAL, _STATE, _MARK = f"{FOLDER}/journal", f"{FOLDER}/state", f"{FOLDER}/incomplete"
_SEPARATOR, _INCOMPLETE = "@ state", "@ incomplete"
_WITHIN_S = 15.0


@dataclass(frozen=True)
class Copied:
    """The copy that was found on a server.

    Attributes:
        role: The role of the server in the run whose copy it is.
        holder: The run.
        journal: What its lines add up to.
        state: The state before it, as it was kept on its controller; empty when there is none.
        problem: Why it cannot be read, or is not whole; empty when it is.
    """

    role: str
    holder: Holder | None
    journal: JournalState = field(default_factory=lambda: JournalState({}, None, b""))
    state: str = ""
    problem: str = ""

    @property
    def where(self) -> str:
        """The controller that has the journal itself, in words."""
        return f"{self.holder.user}@{self.holder.host}" if self.holder else "somebody unknown"


class ServerCopy:
    """The copy on one server.

    Args:
        role: The role of the server in this run.
        shell: Runs commands on the server.
        holder: The run.
        may_write: Returns whether the lease of the server is held.
    """

    def __init__(self, role: Role, shell: LeaseShell, holder: Holder, may_write: Callable[[], bool]) -> None:
        self._role, self._shell, self._holder, self._may_write = role, shell, holder, may_write
        self._waiting: list[str] = []
        self._is_there = False
        self._lines = 0
        self._lock = threading.Lock()

    def read(self) -> Copied | None:
        """Return the copy that is there, whoever has left it.

        Raises:
            BenchFault: The server does not answer.
        """
        marked = f"if test -e {_MARK}; then echo '{_INCOMPLETE}'; fi"
        show = f"cat {_JOURNAL}; echo; {marked}; echo '{_SEPARATOR}'; cat {_STATE} || :"
        command = f"if test -e {_JOURNAL}; then {show}; fi"
        text = self._shell.run(f"{{ {command}; }} 2>/dev/null", timeout_s=_WITHIN_S, check=True).stdout
        return read_copy(text) if text.strip() else None

    def begin(self, entries: Iterable[Entry], state: Path) -> None:
        """Replace what is there by the copy of this run.

        Args:
            entries: The changes that are pending, the oldest first.
            state: File of the state before the run, if there is one.

        Raises:
            BenchFault: The server does not answer, or the copy cannot be written.
        """
        with self._lock:
            self._waiting, self._lines = [], 0
        head = {"event": "copy", "role": self._role.value, **asdict(self._holder)}
        lines = [json.dumps(each) for each in (head, *(entry.registered() for entry in entries))]
        words = " ".join(shlex.quote(line) for line in lines)
        writing = f"rm -f {_STATE} {_MARK} && printf '%s\\n' {words} > {_JOURNAL} && sync"  # power may be cut next
        self._shell.run(f"( umask 077; mkdir -p {FOLDER} && {writing} )", timeout_s=_WITHIN_S, check=True)
        self._is_there = True
        if state.exists():
            self.keep_state(state.read_bytes())

    def note(self, line: str) -> None:
        """Copy a line of the journal.

        Args:
            line: The line.
        """
        with self._lock:
            self._lines += 1
            numbered = shlex.quote(f"{self._lines} {line}")
            self._waiting.append(f"printf '\\n%s\\n' {numbered} >> {_JOURNAL} || : > {_MARK}")

    def keep_state(self, content: bytes) -> None:
        """Copy the state before the run.

        Args:
            content: The file of the state.
        """
        packed = base64.b64encode(zlib.compress(content)).decode()
        with self._lock:
            self._waiting.append(f"(umask 077; printf %s {packed} > {_STATE} || : > {_MARK})")

    def removal(self) -> str:
        """Return the command that removes the copy, if it is of this run."""
        token = shlex.quote(self._holder.token)
        return f"if grep -qF {token} {_JOURNAL} 2>/dev/null; then rm -f {_JOURNAL} {_STATE} {_MARK}; fi"

    def proof(self) -> str:
        """Return a command that succeeds while the copy is of this run; empty before it has been written."""
        return self._is_own if self._is_there else ""

    @property
    def _is_own(self) -> str:
        own = f"case $niclab_line in *{self._holder.token}*) :;; *) false;; esac"
        return f"IFS= read -r niclab_line 2>/dev/null < {_JOURNAL} && {own}"

    def take(self) -> str:
        """Return the script that has to be run on the server now. It writes only into a copy of this run."""
        with self._lock:
            if not self._waiting or not self._may_write():
                return ""
            steps, self._waiting = self._waiting, []
        return f"{{ {self._is_own} && {{ {'; '.join(steps)}; }}; }} 2>/dev/null"

    def hand_back(self, errand: str) -> None:
        """Take a script back that may not have been run; a line that is there twice counts once.

        Args:
            errand: The script.
        """
        if errand:
            with self._lock:
                self._waiting.insert(0, errand)


def read_copy(text: str) -> Copied:
    """Read the copy of a server.

    Args:
        text: Its journal and its state.

    Returns:
        What it holds; a line that was cut short is left out, which is a problem unless it is the last one.
    """
    lines, _, packed = text.rpartition(f"\n{_SEPARATOR}\n")
    head, *rest = lines.split("\n")
    rest = [line for line in rest if line and line != _INCOMPLETE]
    problem = "the disk of the server refused a line of it" if f"\n{_INCOMPLETE}" in lines else ""
    numbers = set[int]()
    try:
        fields = json.loads(head)
        role, holder = Role(fields["role"]).value, Holder.read(head)
        journal = JournalState({}, None, b"")
        for place, line in enumerate(rest, 1):
            number, _, numbered = line.partition(" ") if line[0].isdecimal() else ("", "", line)
            try:
                event = json.loads(numbered)
            except ValueError:
                problem = problem or (f"line {place} is cut short" if place < len(rest) else "")
                continue
            numbers |= {int(number)} if number else set()
            _apply(journal, event)
        if missing := set(range(1, max(numbers, default=0))) - numbers:
            problem = problem or f"{len(missing)} lines are missing, the first of them {min(missing)}"
        return Copied(role, holder, journal, _unpacked(packed.strip()), problem)
    except (ValueError, KeyError, TypeError, BenchFault, zlib.error) as error:
        return Copied("", Holder.read(head), problem=f"{type(error).__name__}: {str(error)[:200]}")


def _apply(journal: JournalState, event: dict[str, Any]) -> None:
    """Add a line; one that was handed over twice counts once."""
    if event["event"] == "registered" and event["id"] in journal.settled:
        return
    if event["event"] != "registered" and event["id"] not in journal.pending:
        journal.settled.add(str(event["id"]))  # its first line is on another server, or was settled twice
        return
    apply_line(journal, event)


def _unpacked(packed: str) -> str:
    if not packed:
        return ""
    unpacking = zlib.decompressobj()
    content = unpacking.decompress(base64.b64decode(packed, validate=True), LARGEST_STATE)
    if not unpacking.eof:
        raise ValueError(f"a state of more than {LARGEST_STATE} bytes, or one that is cut short")
    return content.decode()
