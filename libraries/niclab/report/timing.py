"""The time of a finished run by its use: traffic, boots, ordered waits, commands, and the rest.

At every moment the run does what comes first in :class:`Spent`: a command sent while traffic flows costs nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any
from xml.etree import ElementTree

from niclab.core import marks
from niclab.core.marks import MarkKind
from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER, read_run
from niclab.report.evidence.sums import OUTPUT_NAME

_BACKGROUND = re.compile(r"\b(iperf3 --server|netserver|tcpdump)\b|python3 \S+standstill_program")
"""Programs that watch or listen while something else goes on; to ask them is a command."""
_TRAFFIC = re.compile(r"\b(iperf3 --client|netperf|ping) |(prober|datagram|round_trip|frame)_program")


class Spent(StrEnum):
    """Categories of time, in order of precedence."""

    TRAFFIC = "traffic"
    BOOTS = "boots"
    PAUSES = "ordered waits"
    STATES = "waits for a state"
    COMMANDS = "commands"
    FRAMEWORK = "framework"


IRREDUCIBLE = (Spent.TRAFFIC, Spent.BOOTS, Spent.PAUSES)
_OF_MARKS = {
    MarkKind.BOOT: Spent.BOOTS,
    MarkKind.RECOVERY: Spent.BOOTS,
    MarkKind.PAUSE: Spent.PAUSES,
    MarkKind.STATE: Spent.STATES,
}


@dataclass(frozen=True)
class Stretch:
    """A time in which a run did something, in seconds since 1970."""

    what: Spent
    begin: float
    end: float


@dataclass(frozen=True)
class Asked:
    """A logged command. ``begin``: in seconds since 1970."""

    what: Spent
    command: str
    begin: float
    seconds: float


@dataclass(frozen=True)
class Timing:
    """The time budget of a run.

    ``seconds``: of each thing; together ``wall_s``. ``commands``: how many questions were sent, traffic apart, and
    ``median_s`` how long one took. ``boots``: by server. ``marked``: whether the run noted its boots and waits.
    """

    wall_s: float
    seconds: Mapping[Spent, float]
    commands: int
    median_s: float
    boots: Mapping[str, int]
    marked: bool

    @property
    def ratio(self) -> float | None:
        """Wall time over what cannot be shorter; None where there is nothing of that."""
        least_s = sum(self.seconds[each] for each in IRREDUCIBLE)
        return self.wall_s / least_s if least_s > 0 else None

    def as_json(self) -> dict[str, object]:
        """Return the entry of ``certificate.json``."""
        return {
            "wall_s": round(self.wall_s, 1),
            "seconds": {what.value: round(seconds, 1) for what, seconds in self.seconds.items()},
            "commands": self.commands,
            "median_command_s": round(self.median_s, 4),
            "boots": dict(self.boots),
            "ratio": round(self.ratio, 2) if self.ratio is not None else None,
        }


def timing_of(run_dir: Path) -> Timing:
    """Read the time budget of a finished run.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: ``run.json``, ``output.xml``, the marks or a log of commands cannot be read.
    """
    begin, wall_s = _times(run_dir)
    evidence = run_dir / EVIDENCE_FOLDER
    noted = marks.read(evidence / marks.FILE)
    intervals = [
        Stretch(_OF_MARKS[mark.kind], mark.ended - mark.seconds, mark.ended) for mark in noted if mark.kind in _OF_MARKS
    ]
    asked: list[float] = []
    for each in asked_in(evidence):
        intervals.append(Stretch(each.what, each.begin, each.begin + each.seconds))
        if each.what is Spent.COMMANDS:
            asked.append(each.seconds)
    boots = Counter(mark.subject.partition(":")[0] for mark in noted if _OF_MARKS.get(mark.kind) is Spent.BOOTS)
    spent = divide(intervals, begin, begin + wall_s)
    marked = (evidence / marks.FILE).exists()
    return Timing(wall_s, spent, len(asked), median(asked) if asked else 0.0, dict(sorted(boots.items())), marked)


def divide(intervals: Iterable[Stretch], begin: float, end: float) -> dict[Spent, float]:
    """Divide the time of a run among what it did.

    Args:
        intervals: What it did; they may overlap, and reach beyond the run.
        begin: When the run began, in seconds since 1970.
        end: When it ended.

    Returns:
        Seconds of each; together the whole time.
    """
    changes: dict[float, Counter[Spent]] = {begin: Counter(), end: Counter()}
    for each in intervals:
        first, last = max(begin, each.begin), min(end, each.end)
        if first < last:
            changes.setdefault(first, Counter())[each.what] += 1
            changes.setdefault(last, Counter())[each.what] -= 1
    seconds = dict.fromkeys(Spent, 0.0)
    active: Counter[Spent] = Counter()
    for moment, following in pairwise(sorted(changes)):
        for what, change in changes[moment].items():
            active[what] += change
        seconds[next((what for what in Spent if active[what] > 0), Spent.FRAMEWORK)] += following - moment
    return seconds


def table(timing: Timing) -> list[str]:
    """Return the time budget as lines of a plain table.

    Args:
        timing: The time budget.
    """
    notes = {
        Spent.BOOTS: ", ".join(f"{server} {count}" for server, count in timing.boots.items()),
        Spent.COMMANDS: f"{timing.commands}, median {timing.median_s * 1000:.0f} ms",
    }
    lines = [
        f"{what.value:<18}{seconds:>8.1f} s{100 * seconds / timing.wall_s:>5.0f} %  {notes.get(what, '')}".rstrip()
        for what, seconds in timing.seconds.items()
    ]
    lines.append(f"{'wall':<18}{timing.wall_s:>8.1f} s")
    if not timing.marked:
        lines.append("the run noted no boots and waits; they are in the other rows")
    elif timing.ratio is not None:
        lines.append(f"wall / ({' + '.join(each.value for each in IRREDUCIBLE)}): {timing.ratio:.2f}")
    return lines


def zone_of(run_dir: Path) -> tzinfo | None:
    """Return the time zone of a run's controller, which Robot Framework leaves out.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: ``run.json`` cannot be read.
    """
    return datetime.fromisoformat(str(read_run(run_dir)["started"])).tzinfo


def _times(run_dir: Path) -> tuple[float, float]:
    """Return when the run began, and how long it lasted."""
    zone = zone_of(run_dir)
    path = run_dir / OUTPUT_NAME
    try:
        status = ElementTree.parse(path).getroot().find("./suite/status")
        if status is None:
            raise BenchFault(f"{path}: has no suite with a status; expected a finished run")
        begin, wall_s = datetime.fromisoformat(status.attrib["start"]), float(status.attrib["elapsed"])
    except (OSError, ElementTree.ParseError, KeyError, ValueError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
    if wall_s <= 0:
        raise BenchFault(f"{path}: the run lasted {wall_s:g} s; expected more than 0 s")
    return begin.replace(tzinfo=zone).timestamp(), wall_s


def asked_in(evidence: Path) -> Iterator[Asked]:
    """Read the logged commands, those in the background left out.

    Args:
        evidence: Folder with the logs of commands.

    Raises:
        BenchFault: A log cannot be read.
    """
    for file in sorted(evidence.glob("commands-*.jsonl")):
        try:
            for entry in map(json.loads, file.read_text("utf-8").splitlines()):
                command, seconds = entry["command"], entry["seconds"]
                if not _BACKGROUND.search(command):
                    what = Spent.TRAFFIC if _TRAFFIC.search(command) else Spent.COMMANDS
                    yield Asked(what, command, _ended(entry) - seconds, seconds)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BenchFault(f"{file}: cannot be read: {error}") from error


def _ended(entry: Mapping[str, Any]) -> float:
    """Return when a command ended; a log without that moment notes the second."""
    return float(entry.get("ended") or datetime.fromisoformat(entry["when"]).timestamp())
