"""The records of the undo journal, and what its lines add up to."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from typing import Any

from niclab.core.verdict import BenchFault

DEADLINE_S = 60.0
SLOW_DEADLINE_S = 700.0
"""No shorter than any flash or installation may take: cut in the middle it leaves the server worse."""
_WAYS_OUT = (
    "put the server right and run niclab restore again, or give them up: niclab restore --forget failed --reason TEXT "
    "(a single one: --forget ID)"
)


class ActionKind(Enum):
    """The place where an undo action runs."""

    SHELL = "shell"
    """``command`` runs on the server ``where``."""
    LOCAL = "local"
    """``command`` runs on the controller, from the repository root; ``where`` is ``controller``."""
    POWER = "power"
    """The BMC of the server ``where`` brings its power to the state ``command``: ``on`` or ``off``."""
    RESTART = "restart"
    """The server ``where`` starts again, by ``command``: ``reboot`` or ``power-cycle``."""
    SWITCH = "switch"
    """The switch of the bench does ``command`` (see :mod:`niclab.switch.switch_undo`); ``where`` is ``switch``."""
    ELSEWHERE = "elsewhere"
    """Nothing runs: ``command`` says in words who can undo it. It stays pending until somebody forgets it."""


UNDONE_HERE = frozenset(ActionKind) - {ActionKind.ELSEWHERE}


@dataclass(frozen=True)
class Action:
    """An action that puts something back. It must be idempotent.

    ``deadline_s``: how long a ``SHELL`` command may take, in seconds; the bench's commands and power have their own.
    ``iface``: the interface of whose state in the running kernel alone something is put back; empty for all else.

    Raises:
        BenchFault: When ``where`` or ``command`` cannot be of this kind, or the deadline is no time.
    """

    kind: ActionKind
    where: str
    command: str
    deadline_s: float = DEADLINE_S
    iface: str = ""

    def __post_init__(self) -> None:
        where = {ActionKind.LOCAL: "controller", ActionKind.SWITCH: "switch", ActionKind.ELSEWHERE: "elsewhere"}
        places = (where[self.kind],) if self.kind in where else ("dut", "peer")
        if self.where not in places:
            raise BenchFault(f"undo action: where {self.where!r} is not wanted; expected {' or '.join(places)}")
        if self.kind is ActionKind.POWER and self.command not in ("on", "off"):
            raise BenchFault(f"undo action: power state {self.command!r} is not wanted; expected on or off")
        if self.kind is ActionKind.RESTART and self.command not in ("reboot", "power-cycle"):
            raise BenchFault(f"undo action: restart {self.command!r}; expected reboot or power-cycle")
        if not self.command.strip():
            raise BenchFault("undo action: the command is empty; expected the command that puts the change back")
        if not 0 < self.deadline_s < math.inf:
            raise BenchFault(f"undo action: a deadline of {self.deadline_s} s; expected a positive number of seconds")

    def __str__(self) -> str:
        is_words = self.kind is ActionKind.ELSEWHERE
        return self.command if is_words else f"{self.kind.value} on {self.where}: {self.command}"


@dataclass(frozen=True)
class Entry:
    """A change and its undo.

    ``at`` is the controller's time (ISO 8601 with offset); ``errors`` are the failed tries so far, the oldest first.
    ``boot`` is the id of the server's boot in which an interface was changed, ``gone`` why nothing is left to undo.
    """

    id: str
    subject: str
    what: str
    action: Action
    run: str
    pid: int
    at: str
    boot: str = ""
    errors: tuple[str, ...] = ()
    gone: str = ""

    @property
    def short_id(self) -> str:
        """The beginning of the id, by which a person names the entry."""
        return self.id[:8]

    @property
    def is_elsewhere(self) -> bool:
        """Is it for another controller to undo?"""
        return self.action.kind is ActionKind.ELSEWHERE

    def registered(self) -> dict[str, Any]:
        """Return its first line in a journal."""
        fields = {**asdict(self), "action": {**asdict(self.action), "kind": self.action.kind.value}}
        del fields["errors"], fields["gone"]
        return {"event": "registered", **fields}

    def __str__(self) -> str:
        origin = f"{self.at}, run {self.run}, pid {self.pid}, id {self.short_id}"
        return f"{self.subject}: {self.what} ({origin}); undo: {self.action}"


@dataclass(frozen=True)
class UndoReport:
    """The result of :meth:`niclab.core.undo.Journal.undo_all`: entries put back, and those that stay pending.

    The action of the latter has failed.
    """

    done: tuple[Entry, ...]
    failed: tuple[Entry, ...]

    def raise_if_failed(self) -> None:
        """Raise if failed.

        Raises:
            BenchFault: Listing every entry that could not be undone, with its error.
        """
        if self.failed:
            lines = [f"{entry}; failed: {entry.errors[-1]}" for entry in self.failed]
            count = f"{len(self.failed)} of {len(self.failed) + len(self.done)} changes"
            first = f"{self.failed[0].subject}: {self.failed[0].what}: {self.failed[0].errors[-1]}"
            said = f"{count} could not be undone and stay in the journal, such as {first}"
            raise BenchFault("\n".join([f"{said}; {_WAYS_OUT}:", *lines]))


@dataclass
class JournalState:
    """The state to which the lines of a journal add up."""

    pending: dict[str, Entry]
    holder_pid: int | None
    torn: bytes
    settled: set[str] = field(default_factory=set)
    """Ids of entries that are undone or forgotten: a signal may leave a second record of one."""
    folders: dict[str, None] = field(default_factory=dict)
    """Folders of the runs, in order."""
    tokens: dict[str, None] = field(default_factory=dict)
    """One for each time that the journal was held, in order: marks on the servers that carry one are of its runs."""


def apply_line(state: JournalState, event: dict[str, Any]) -> None:
    """Add one line of a journal to what the lines before add up to."""
    match event["event"]:
        case "registered":
            fields = event["action"]
            deadline_s = float(fields.get("deadline_s", DEADLINE_S))  # a journal of before has none
            iface, boot = str(fields.get("iface", "")), str(event.get("boot", ""))  # nor these
            action = Action(ActionKind(fields["kind"]), fields["where"], fields["command"], deadline_s, iface)
            subject, what, run = str(event["subject"]), str(event["what"]), str(event["run"])
            entry = Entry(str(event["id"]), subject, what, action, run, int(event["pid"]), str(event["at"]), boot)
            state.pending[entry.id] = entry
        case "done":
            if event["id"] not in state.settled:
                del state.pending[event["id"]]
                state.settled.add(event["id"])
        case "forgotten":
            del state.pending[event["id"]]
            state.settled.add(event["id"])
        case "failed":
            if event["id"] not in state.settled:
                entry = state.pending[event["id"]]
                state.pending[entry.id] = replace(entry, errors=(*entry.errors, str(event["error"])))
        case "held":
            state.holder_pid = int(event["pid"])
            state.folders |= {str(event["folder"]): None} if event.get("folder") else {}
            state.tokens |= {str(event["token"]): None} if "token" in event else {}
        case "released":
            state.holder_pid = None
        case "tokens":
            state.tokens |= dict.fromkeys(map(str, event["tokens"]))
        case "torn" | "accepted":
            pass
        case other:
            raise ValueError(f"unknown event {other!r}")
