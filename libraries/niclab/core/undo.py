"""The undo journal: what was changed on a bench, and how to put it back, on disk before it is changed.

::

    with Journal.for_bench("virtual", run="20261121-101500").hold() as journal:
        journal.undo_all(run).raise_if_failed()            # what an earlier, killed run left behind
        entry = journal.register("dut", "link of dut.p0 taken down", Action(ActionKind.SHELL, "dut", "ip link set ..."))
        ...                                                # the change; then put it back:
        journal.undo(entry, run)

**Undo actions must be idempotent**: an action may run although its change was never made (killed between register and
change), or although it ran before (killed between the action and the record of it). "Set the link up" is; "toggle" is
not.

The file holds one JSON object a line, flushed to the disk before the call returns. A line cut short by a kill is
tolerated as the last one only, and reported (:attr:`Journal.torn`): its call never returned, so its change was not
made. A signal or a disk error may come at any moment: a line is whole, or the next one that is written cuts it off.
The holder of a journal has an exclusive ``flock`` on it, which the kernel gives back however the holder ends. Only the
holder can write.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import threading
import uuid
from collections.abc import Callable, Collection, Container, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from niclab.core.undo_state import (
    SLOW_DEADLINE_S,
    UNDONE_HERE,
    Action,
    ActionKind,
    Entry,
    JournalState,
    UndoReport,
    apply_line,
)
from niclab.core.verdict import BenchFault

__all__ = ["SLOW_DEADLINE_S", "Action", "ActionKind", "Entry", "Journal", "UndoReport"]

_START_AFRESH_ABOVE_BYTES = 1 << 20
_TOKENS_KEPT = 100


class BenchInUse(BenchFault):
    """Another process of this user holds the journal of the bench."""


class Journal:
    """The journal of one bench. Reading needs nothing; writing needs :meth:`hold`.

    Args:
        path: The journal file; it and its directory are made when it is first held.
        run: Names the run in the entries.
        mask: Replaces secrets in what a failed undo said, which the journal keeps.
    """

    def __init__(self, path: Path, run: str | None = None, mask: Callable[[str], str] = str) -> None:
        self.path = path
        self.run = run or f"pid-{os.getpid()}"
        self.folder: Path | None = None
        """Folder of the run that holds the journal."""
        self.torn: str | None = None
        """Rest of a last line cut short by a kill, when one was found on :meth:`hold`."""
        self.token = uuid.uuid4().hex
        """Marks on the servers what is of this holder of the journal; on the disk before anything can be marked."""
        self.on_line: Callable[[str], object] = lambda _: None
        """Is called with each line about an entry, once it is on the disk."""
        self.boots: dict[str, str] = {}
        """Server -> id of its boot, as last seen; it is kept with each change of an interface."""
        self.gone: Callable[[Entry], str] = lambda _: ""
        """Says why nothing is left of a change whose undo has failed; empty where something may be."""
        self._old_tokens: Collection[str] = ()
        self._fd: int | None = None
        self._mask = mask
        self._writing = threading.Lock()

    @classmethod
    def for_bench(cls, name: str, run: str | None = None, mask: Callable[[str], str] = str) -> Journal:
        """The journal of a bench: ``~/.local/state/niclab/journal/NAME.jsonl``.

        Raises:
            BenchFault: When ``name`` is no bench name.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            raise BenchFault(f"undo journal: {name!r} is no bench name; expected lower-case letters, digits, - and _")
        return cls(Path.home() / ".local" / "state" / "niclab" / "journal" / f"{name}.jsonl", run, mask)

    @contextmanager
    def hold(self) -> Iterator[Journal]:
        """Be the only process that works on the bench.

        Raises:
            BenchInUse: When another holds it; the message names its pid.
            BenchFault: When a line of the journal cannot be read.
        """
        if self._fd is not None:
            raise BenchFault(f"{self.path}: this run holds the journal already; expected one holder")
        fd = self._open()
        try:
            self._lock(fd)
            self._fd = fd
            self._repair(fd)
            self._append({"event": "held", "token": self.token, **self._of_run()})
            try:
                yield self
            except BaseException:
                with suppress(BenchFault):  # a full disk must not hide what ended the run
                    self._append({"event": "released"})
                raise
            self._append({"event": "released"})
        finally:
            self._fd = None
            os.close(fd)

    def is_own(self, token: str) -> bool:
        """Return whether a mark on a server is of this holder, or of an earlier one: that one has ended.

        Args:
            token: The token of the mark.
        """
        return token == self.token or token in self._old_tokens

    def lock(self) -> int | None:
        """Return the open file that has the lock: who inherits it keeps the bench locked. None when it is not held."""
        return self._fd

    def register(self, subject: str, what: str, action: Action) -> Entry:
        """Write down a change that is about to be made, and how to undo it. When this returns it is on the disk.

        Args:
            subject: Whom the change concerns, such as ``dut`` or ``dut.p0``.
            what: The change in words.
            action: The undo, idempotent.

        Raises:
            BenchFault: When it could not be written: then do not make the change.
        """
        if not subject.strip() or not what.strip():
            raise BenchFault(f"{self.path}: an undo entry without subject or change; expected both, for the report")
        boot = self.boots.get(action.where, "") if action.iface else ""
        entry = Entry(uuid.uuid4().hex, subject, what, action, self.run, os.getpid(), _now(), boot)
        self._append(entry.registered())
        return entry

    def adopt(self, entry: Entry) -> None:
        """Take over a change from another journal: it is pending here from now on.

        Args:
            entry: The entry, with its id there.
        """
        self._append(entry.registered())

    def knows(self, id: str) -> bool:
        """Return whether an entry is or was in this journal.

        Args:
            id: Its id.
        """
        state = self._state()
        return id in state.pending or id in state.settled

    @property
    def state_file(self) -> Path:
        """The file that keeps the state of the bench before its last run."""
        return self.path.with_suffix(".state.json")

    def done(self, entry: Entry) -> None:
        """Write down that the change of ``entry`` has been put back by the caller.

        Raises:
            BenchFault: When the entry is not pending.
        """
        self._require_pending(entry)
        self._append({"event": "done", "id": entry.id})

    def forget(self, id: str, reason: str, by: str) -> Entry:
        """Give a change up that cannot be undone; the journal keeps who did so, and why.

        Args:
            id: Id of the entry, or its beginning.
            reason: Why it need not be undone, in words.
            by: Who says so.

        Returns:
            The entry.

        Raises:
            BenchFault: There is not exactly one such entry, or no reason.
        """
        if not reason.strip():
            raise BenchFault(
                f"{self.path}: entry {id}: the reason is empty; expected the reason why it need not be undone"
            )
        found = [entry for entry in self.pending() if id and entry.id.startswith(id)]
        if len(found) != 1:
            known = ", ".join(entry.short_id for entry in self.pending()) or "none is pending"
            raise BenchFault(f"{self.path}: {len(found)} pending entries have the id {id!r}; expected one of: {known}")
        self._append({"event": "forgotten", "id": found[0].id, "reason": reason, "by": by})
        return found[0]

    def accept(self, what: str, reason: str, by: str) -> None:
        """Keep who has accepted something that no entry is about, and why.

        Args:
            what: The accepted, in words.
            reason: Why, in words.
            by: Who says so.

        Raises:
            BenchFault: There is no reason.
        """
        if not reason.strip():
            raise BenchFault(f"{self.path}: {what}: the reason is empty; expected the reason why it is accepted")
        self._append({"event": "accepted", "what": what, "reason": reason, "by": by})

    def undo(self, entry: Entry, run: Callable[[Action], None]) -> None:
        """Run the action of ``entry`` and write down that it is undone.

        Raises:
            BenchFault: When the action failed (the entry then stays pending), or the entry is not pending.
        """
        self._held()
        self._require_pending(entry)
        is_settled, tried = self._try(entry, run)
        UndoReport((), () if is_settled else (tried,)).raise_if_failed()

    def undo_all(
        self,
        run: Callable[[Action], None],
        *,
        kinds: Collection[ActionKind] = UNDONE_HERE,
        leaving: Container[str] = (),
    ) -> UndoReport:
        """Undo everything pending, newest first; when one fails, the rest is undone all the same.

        ``run`` carries out one action and raises when it did not succeed. Only actions of ``kinds``; entries with the
        ids ``leaving`` stay pending. A change of which nothing is left (:attr:`gone`) counts as undone, and says so.
        """
        self._held()
        done, failed = list[Entry](), list[Entry]()
        for entry in self.pending():
            if entry.id in leaving or entry.action.kind not in kinds:
                continue
            is_settled, tried = self._try(entry, run)
            (done if is_settled else failed).append(tried)
        return UndoReport(tuple(done), tuple(failed))

    def pending(self) -> list[Entry]:
        """The changes not undone yet, newest first.

        Raises:
            BenchFault: Naming file and line when a line cannot be read.
        """
        return list(reversed(self._state().pending.values()))

    def folders(self) -> list[Path]:
        """Return the folders of the runs that have held this journal, the oldest first.

        Raises:
            BenchFault: A line cannot be read.
        """
        return [Path(folder) for folder in self._state().folders]

    def _of_run(self) -> dict[str, str]:
        return {} if self.folder is None else {"folder": str(self.folder.absolute())}

    def _try(self, entry: Entry, run: Callable[[Action], None]) -> tuple[bool, Entry]:
        """Undo one entry; whether nothing is left to undo, and the entry with the error, or with why it is gone."""
        try:
            run(entry.action)
            self.done(entry)
        except Exception as error:  # noqa: BLE001 - whatever one action raises, the others must have their turn
            if not self._is_pending(entry):
                return True, entry  # a signal came when it was written down already
            said = self._mask(f"{type(error).__name__}: {error}")
            try:
                if gone := self.gone(entry):
                    self._append({"event": "done", "id": entry.id, "gone": gone, "error": said})
                    return True, replace(entry, gone=gone)
            except Exception as unknown:  # noqa: BLE001 - as above
                said = f"{said} (not known whether anything is left: {unknown})"
            return False, self._failed(entry, said)
        return True, entry

    def _failed(self, entry: Entry, message: str) -> Entry:
        """The entry with the error, which is written down if the disk takes it."""
        try:
            self._append({"event": "failed", "id": entry.id, "error": message})
        except BenchFault as unwritten:
            message = f"{message} (not recorded: {unwritten})"
        return replace(entry, errors=(*entry.errors, message))

    def _is_pending(self, entry: Entry) -> bool:
        return any(entry.id == pending.id for pending in self.pending())

    def _require_pending(self, entry: Entry) -> None:
        if not self._is_pending(entry):
            raise BenchFault(f"{self.path}: not pending: {entry}; expected an entry that was not undone yet")

    def _held(self) -> int:
        """The descriptor of the file; an error when this journal is not held, or its file was moved or deleted."""
        if self._fd is None:
            raise BenchFault(
                f"{self.path}: the undo journal is not held; expected `with journal.hold():` around the run"
            )
        try:
            in_place = os.path.samestat(os.fstat(self._fd), self.path.stat())
        except OSError:
            in_place = False
        if not in_place:
            raise BenchFault(
                f"{self.path}: the undo journal was moved or deleted during the run; expected it to stay there"
            )
        return self._fd

    def _open(self) -> int:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            directory = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)  # a new file's name must survive a power cut as well
            finally:
                os.close(directory)
        except OSError as error:
            raise BenchFault(f"{self.path}: the undo journal cannot be opened: {error.strerror}") from error
        return fd

    def _lock(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            who = _holder(self._state().holder_pid)
            raise BenchInUse(f"{self.path}: the bench is in use by {who}; expected one run at a time") from error

    def _repair(self, fd: int) -> None:
        """Cut off a torn last line and keep it as a line of its own; start afresh when the file is long and settled."""
        state = self._state()
        self._old_tokens = state.tokens
        try:
            if state.torn:
                os.ftruncate(fd, os.fstat(fd).st_size - len(state.torn))
                self.torn = state.torn.decode("utf-8", errors="replace")
                self._append({"event": "torn", "text": self.torn})
            if not state.pending and os.fstat(fd).st_size > _START_AFRESH_ABOVE_BYTES:
                _keep(self.path.with_suffix(".old.jsonl"), self.path.read_bytes())
                os.ftruncate(fd, 0)
                # a lease that a killed run left is still of this journal
                self._append({"event": "tokens", "tokens": list(state.tokens)[-_TOKENS_KEPT:]})
        except OSError as error:
            raise BenchFault(f"{self.path}: the undo journal cannot be written: {error.strerror}") from error

    def _append(self, event: dict[str, Any]) -> None:
        """Write one line and wait until it is on the disk; a line of which the disk refuses a part is cut off again."""
        fd = self._held()
        line = json.dumps({**event, "pid": os.getpid(), "at": event.get("at") or _now()}).encode() + b"\n"
        with self._writing:
            size = self._whole_bytes(fd)
            try:
                if os.write(fd, line) != len(line):
                    os.ftruncate(fd, size)
                    raise BenchFault(
                        f"{self.path}: no room for a whole line of the undo journal; expected room on the disk"
                    )
                os.fsync(fd)
            except OSError as error:
                with suppress(OSError):
                    os.ftruncate(fd, size)
                raise BenchFault(f"{self.path}: the undo journal cannot be written: {error.strerror}") from error
        if "id" in event:
            self.on_line(line.decode().rstrip())

    def _whole_bytes(self, fd: int) -> int:
        """The size of the file up to its last whole line; what a signal left of a line behind it is cut off."""
        try:
            size = os.fstat(fd).st_size
            if size and os.pread(fd, 1, size - 1) != b"\n":
                size = os.pread(fd, size, 0).rfind(b"\n") + 1
                os.ftruncate(fd, size)
        except OSError as error:
            raise BenchFault(f"{self.path}: the undo journal cannot be mended: {error.strerror}") from error
        return size

    def _state(self) -> JournalState:
        try:
            *lines, tail = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return JournalState({}, None, b"")
        except OSError as error:
            raise BenchFault(f"{self.path}: the undo journal cannot be read: {error.strerror}") from error
        if lines and not tail and b"\0" in lines[-1]:
            tail = lines.pop() + b"\n"  # of its blocks only the last one has reached the disk
        state = JournalState({}, None, tail)
        for number, line in enumerate(lines, start=1):
            try:
                apply_line(state, json.loads(line))
            except (ValueError, KeyError, TypeError, BenchFault) as error:
                raise BenchFault(
                    f"{self.path}:{number}: no line of an undo journal ({type(error).__name__}: {error}); expected "
                    f"lines of its own: put the bench right by hand, with this list of changes, then move the file away"
                ) from error
        return state


def _holder(pid: int | None) -> str:
    """Describe the holder of the lock: the run that took it, or what is left of it."""
    if pid is None:
        return "a process that has not noted its pid yet"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return f"pid {pid}, which has ended; a command of the bench that it started still runs"
    except PermissionError:
        pass  # it runs, as another user
    return f"pid {pid}"


def _keep(path: Path, content: bytes) -> None:
    """Write a file that is its owner's alone, and wait until it is on the disk."""
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="milliseconds")
