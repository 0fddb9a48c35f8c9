"""The journal of tests: which test is about to run, and how each ended. A killed run is continued by it.

A file of JSON lines in the evidence, synced to the disk before a test begins and after its result is written. It holds
the warnings and errors of Robot Framework, too, which writes those that no test holds when it ends.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault

FILE = "tests.jsonl"
_BEGIN, _END, _MESSAGE = "begin", "end", "message"


@dataclass(frozen=True)
class EndedTest:
    """A test that has ended, with what its output needs where Robot Framework's own was lost.

    ``status`` and ``message`` are Robot Framework's; ``start`` is its time of the controller, ``suites`` the names of
    its suites from the top.
    """

    name: str
    suites: tuple[str, ...]
    status: str
    message: str
    tags: tuple[str, ...]
    start: str
    seconds: float


@dataclass(frozen=True)
class RobotMessage:
    """A warning or an error of Robot Framework, as its output has it; ``time`` is that of the controller."""

    level: str
    text: str
    time: str
    html: bool = False


@dataclass(frozen=True)
class SoFar:
    """The progress of a run. ``running``: the test that had begun and not ended, and since when."""

    ended: Mapping[str, EndedTest] = field(default_factory=dict)
    running: str = ""
    since: datetime | None = None
    messages: Sequence[RobotMessage] = ()


class TestJournal:
    """Appends to the journal.

    Args:
        file: The file.
    """

    __test__ = False  # for pytest: this is no test

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, full_name: str) -> None:
        """Note the test that is about to run.

        Args:
            full_name: With the names of its suites.

        Raises:
            BenchFault: The journal cannot be written.
        """
        self._append({"event": _BEGIN, "test": full_name, "when": datetime.now(UTC).isoformat()})

    def end(self, full_name: str, ended: EndedTest) -> None:
        """Note how a test ended; the last note of a test counts.

        Args:
            full_name: With the names of its suites.
            ended: How it ended.

        Raises:
            BenchFault: The journal cannot be written.
        """
        self._append({"event": _END, "test": full_name, **asdict(ended)})

    def message(self, message: RobotMessage) -> None:
        """Note a warning or an error.

        Args:
            message: The message.

        Raises:
            BenchFault: The journal cannot be written.
        """
        self._append({"event": _MESSAGE, **asdict(message)})

    def _append(self, line: Mapping[str, Any]) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("ab") as file:
                file.write(json.dumps(line).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BenchFault(f"{self._file}: cannot be written: {error.strerror}") from error


def read_so_far(file: Path) -> SoFar:
    """Read how far a run came.

    Args:
        file: The journal.

    Raises:
        BenchFault: It cannot be read, or a line but the last is torn.
    """
    ended, messages, running, since = dict[str, EndedTest](), list[RobotMessage](), "", None
    try:
        lines = file.read_bytes().split(b"\n")[:-1]  # a kill may leave a part of the last one
        for line in lines:
            content = json.loads(line)
            event, name = content.pop("event"), str(content.pop("test", ""))
            if event == _MESSAGE:
                messages.append(RobotMessage(**content))
            elif event == _BEGIN:
                running, since = name, datetime.fromisoformat(content["when"])
            else:
                ended[name] = EndedTest(**content | {key: tuple(content[key]) for key in ("suites", "tags")})
                running, since = ("", None) if running == name else (running, since)
    except OSError as error:
        raise BenchFault(f"{file}: cannot be read: {error.strerror}; expected the tests of the run") from error
    except (ValueError, KeyError, TypeError) as error:
        raise BenchFault(f"{file}: is no journal of tests: {error}") from error
    return SoFar(ended, running, since, tuple(messages))
