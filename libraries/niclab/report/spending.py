"""The commands that a finished run sent most often, and the tests and keywords that sent them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

from niclab.core.verdict import BenchFault
from niclab.report.evidence.runfolder import EVIDENCE_FOLDER
from niclab.report.evidence.sums import OUTPUT_NAME
from niclab.report.timing import Asked, Spent, asked_in, zone_of

_ROWS = 25
"""Assumption: what comes later is small."""
_FORM_CHARACTERS = 110
_NO_KEYWORD = "(between keywords)"
_PLACES = (
    (re.compile(r"^(export LC_ALL=C; )+"), ""),
    (re.compile(r"\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]\b"), "PCI"),
    (re.compile(r"\b[0-9a-f]{2}(:[0-9a-f]{2}){5}\b"), "MAC"),
    (re.compile(r"\b[0-9]+(\.[0-9]+){3}\b"), "IP"),
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b|\b[0-9a-f]{16,}\b"), "ID"),
    (re.compile(r"[0-9]+"), "N"),
    (re.compile(r"\s+"), " "),
)
"""The part in which commands of one form differ, and what is put in its place."""


@dataclass(frozen=True)
class Sent:
    """Commands that have something in common. ``seconds``: their sum, also where several ran at once."""

    what: str
    count: int
    seconds: float


@dataclass(frozen=True)
class CommandsSent:
    """Commands of a run by their form, by test and by keyword, the most frequent first."""

    forms: Sequence[Sent]
    tests: Sequence[Sent]
    keywords: Sequence[Sent]


@dataclass(frozen=True)
class _Span:
    """A test or keyword. ``depth``: how many others it is in."""

    name: str
    begin: float
    end: float
    depth: int


def spending_of(run_dir: Path) -> CommandsSent:
    """Say what a finished run asked its servers, traffic and programs in the background apart.

    Args:
        run_dir: Folder of the run.

    Raises:
        BenchFault: ``run.json``, ``output.xml`` or a log of commands cannot be read.
    """
    asked = [each for each in asked_in(run_dir / EVIDENCE_FOLDER) if each.what is Spent.COMMANDS]
    tests, keywords = _spans(run_dir)
    return CommandsSent(
        _summed((form_of(each.command), each) for each in asked),
        _summed((_innermost(tests, each, "(outside tests)"), each) for each in asked),
        _summed((_innermost(keywords, each, _NO_KEYWORD), each) for each in asked),
    )


def form_of(command: str) -> str:
    """Return a command without what differs between commands of its form: addresses, numbers, ids.

    Args:
        command: The command.
    """
    for pattern, place in _PLACES:
        command = pattern.sub(place, command)
    return command.strip()[:_FORM_CHARACTERS]


def tables(spending: CommandsSent) -> list[str]:
    """Return the most frequent forms, and the tests and keywords that asked most, as lines of plain tables.

    Args:
        spending: What was asked.
    """
    lines = list[str]()
    for title, rows in (("command", spending.forms), ("test", spending.tests), ("keyword", spending.keywords)):
        lines += ["", f"{'sent':>6}{'seconds':>9}  {title}"]
        lines += [f"{row.count:>6}{row.seconds:>9.1f}  {row.what}" for row in rows[:_ROWS]]
        if rest := rows[_ROWS:]:
            count, seconds = sum(row.count for row in rest), sum(row.seconds for row in rest)
            lines.append(f"{count:>6}{seconds:>9.1f}  ({len(rest)} more)")
    return lines


def _summed(named: Iterable[tuple[str, Asked]]) -> list[Sent]:
    groups = defaultdict[str, list[float]](list)
    for name, each in named:
        groups[name].append(each.seconds)
    found = [Sent(name, len(seconds), sum(seconds)) for name, seconds in groups.items()]
    return sorted(found, key=lambda sent: (-sent.count, sent.what))


def _innermost(spans: Sequence[_Span], asked: Asked, otherwise: str) -> str:
    """Name of the deepest span in which a command was sent."""
    around = [each for each in spans if each.begin <= asked.begin < each.end]
    return max(around, key=lambda each: each.depth).name if around else otherwise


def _spans(run_dir: Path) -> tuple[list[_Span], list[_Span]]:
    """The tests and the keywords of a run."""
    path, zone = run_dir / OUTPUT_NAME, zone_of(run_dir)
    tests, keywords = list[_Span](), list[_Span]()
    try:
        for element, depth in _walk(ElementTree.parse(path).getroot(), 0):
            status = element.find("status")
            if status is None:
                continue
            begin = datetime.fromisoformat(status.attrib["start"]).replace(tzinfo=zone).timestamp()
            span = _Span(element.attrib["name"], begin, begin + float(status.attrib["elapsed"]), depth)
            (tests if element.tag == "test" else keywords).append(span)
    except (OSError, ElementTree.ParseError, KeyError, ValueError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
    return tests, keywords


def _walk(element: ElementTree.Element, depth: int) -> Iterator[tuple[ElementTree.Element, int]]:
    for each in element:
        if each.tag in ("test", "kw"):
            yield each, depth
        yield from _walk(each, depth + 1)
