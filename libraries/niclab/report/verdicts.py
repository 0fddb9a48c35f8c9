"""The one place that turns Robot Framework's status and message of a test into a verdict.

Robot Framework writes the class name of an exception before its message (``CardFailure: dut.p0 ...``) and joins several
failures of one test under headings of its own (``Several failures occurred:``, ``Also teardown failed:``). A message
is cut at exactly these headings, and only the *beginning* of each part is looked at: a bench fault that quotes the
words ``CardFailure:`` from somewhere else stays a bench fault.

The headings are those of Robot Framework 7.5 (``robot/running/status.py``, ``robot/errors.py``,
``robot/result/suiteteardownfailed.py``).
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from niclab.core.verdict import (
    BenchFault,
    CardFailure,
    Deviation,
    KernelFailure,
    NotApplicable,
    SheetSilent,
    SheetUnknown,
    Undecided,
)


class Verdict(Enum):
    """The verdict of a test about the card. The value is used in files and labels, the title on pages."""

    PASS = "pass"
    CARD_FAILURE = "card-failure"
    BENCH_FAULT = "bench-fault"
    NOT_APPLICABLE = "not-applicable"
    UNDECIDED = "undecided"

    @property
    def title(self) -> str:
        """The words shown to people, for example ``Card failure``."""
        return self.value.replace("-", " ").capitalize()

    @property
    def allure_status(self) -> str:
        """The status of Allure: a card failure is ``failed``, whatever is wrong with the lab is ``broken``."""
        return _ALLURE_STATUS[self]


_ALLURE_STATUS = {
    Verdict.PASS: "passed",
    Verdict.CARD_FAILURE: "failed",
    Verdict.BENCH_FAULT: "broken",
    Verdict.UNDECIDED: "broken",
    Verdict.NOT_APPLICABLE: "skipped",
}


class _Part(NamedTuple):
    text: str
    failed: bool  # a heading before it says that it is a failure even when the test counts as skipped


ALSO = "\n\nAlso failure occurred:\n"
"""Robot Framework's own heading between two failures of a test."""
_HTML_MARK = "*HTML*"
_TAG = re.compile(r"<[^<>]*>")
_BREAK = re.compile(r"<(?:br|hr|/p|/div|/li)\b[^<>]*>", re.IGNORECASE)
# Headings that introduce a failure wherever they are, and headings that introduce a reason for a skip.
_HEADING = re.compile(
    r"""(?:\A|\n\n)
    (?: (?P<failure>
            (?: (?:also[ ])?(?:(?:parent[ ])?suite[ ]|keyword[ ])?(?:setup|teardown)[ ]failed
              | also[ ]failures?[ ]occurred
              | several[ ]failures[ ]occurred
              | original[ ]failure
              | earlier[ ](?:skip[ ])?message
            ):(?:\n(?!\n)|(?=\n\n))
          | \d+\)[ ]
        )
      | (?P<skip>skipped[ ]in[ ](?:parent[ ])?(?:suite[ ])?(?:setup|teardown):\n)
    )+""",
    re.IGNORECASE | re.VERBOSE,
)
_RETRIED = ("Keyword '", "' failed after retrying ", ". The last error was: ")
"""The parts of a repeated keyword's heading, all in one line."""
_CLASS_NAME = re.compile(r"\A(?P<name>[A-Za-z_]\w*)(?=:|\Z)")
_NOT_ASKED = re.compile(r"\A(?:Test|Task) skipped using .*\btags?(?: patterns?)?\.\Z", re.IGNORECASE | re.DOTALL)
_BY_CLASS_NAME = {
    CardFailure.__name__: Verdict.CARD_FAILURE,
    KernelFailure.__name__: Verdict.CARD_FAILURE,
    BenchFault.__name__: Verdict.BENCH_FAULT,
    Undecided.__name__: Verdict.UNDECIDED,
    NotApplicable.__name__: Verdict.NOT_APPLICABLE,
    SheetSilent.__name__: Verdict.NOT_APPLICABLE,
    SheetUnknown.__name__: Verdict.NOT_APPLICABLE,
    Deviation.__name__: Verdict.NOT_APPLICABLE,
}
_SKIPS = {name for name, verdict in _BY_CLASS_NAME.items() if verdict is Verdict.NOT_APPLICABLE}


def plain_text(message: str) -> str:
    """``message`` as text: a message marked ``*HTML*`` loses its markup, any other is returned as it is."""
    if not message.lstrip().startswith(_HTML_MARK):
        return message.strip()
    markup = message.lstrip()[len(_HTML_MARK) :].lstrip()
    return html.unescape(_TAG.sub("", _BREAK.sub("\n", markup))).strip()


def classify(status: str, message: str) -> Verdict:
    """The verdict of a test, a suite or a keyword.

    * ``PASS`` is PASS.
    * ``FAIL`` is CARD_FAILURE when any part of the message is one; else BENCH_FAULT when any part is neither Undecided
      nor NotApplicable (an unknown keyword, a timeout, a failing import, a plain AssertionError); else UNDECIDED.
    * ``SKIP`` is NOT_APPLICABLE when it gives a reason and hides no failure. A failure behind a skip (a skip-on-failure
      tag, a teardown that failed or skipped after a failure) counts as that failure. A skip without a reason, or one
      that was ordered by a tag or by ``--skip``, is UNDECIDED: the question was never asked.
    * ``NOT RUN`` and ``NOT SET`` are BENCH_FAULT: the test has no answer.

    Args:
        status: Robot Framework's status word.
        message: Robot Framework's message, plain or marked ``*HTML*``.

    Raises:
        BenchFault: For any other status.
    """
    if status == "PASS":
        return Verdict.PASS
    if status in ("NOT RUN", "NOT SET"):
        return Verdict.BENCH_FAULT
    parts = list(_parts(plain_text(message)))
    if status == "FAIL":
        return _of_failure(part.text for part in parts)
    if status == "SKIP":
        return _of_skip(parts)
    raise BenchFault(f"test status: {status!r} is not known; expected PASS, FAIL, SKIP, NOT RUN or NOT SET")


def lines_to_waive(message: str) -> list[str] | None:
    """Return every line of the card failures of a failed test; None where a waiver must not cover it.

    A waiver covers nothing where a part of the message is a fault of the bench, is undecided, is what a kernel said, or
    has no verdict of the lab.

    Args:
        message: Robot Framework's message.
    """
    lines = list[str]()
    for part in _parts(plain_text(message)):
        named = _CLASS_NAME.match(part.text)
        kind = named["name"] if named else ""
        if kind == CardFailure.__name__:
            lines += [line.strip() for line in part.text.removeprefix(f"{kind}:").splitlines() if line.strip()]
        elif kind not in _SKIPS:
            return None
    return lines or None


def first_line(message: str) -> str:
    """Return the first line of the first failure or reason in a message, its class name included; empty if it has none.

    The headings of Robot Framework are left out: ``Parent suite setup failed:`` says nothing by itself.

    Args:
        message: Robot Framework's message, plain or marked ``*HTML*``.
    """
    return next((part.text.partition("\n")[0].strip() for part in _parts(plain_text(message))), "")


def _parts(text: str) -> Iterator[_Part]:
    """The failures and skip reasons that Robot Framework joined into one message."""
    start, failed = 0, False
    for heading in _HEADING.finditer(text):
        yield from _part(text[start : heading.start()], failed)
        start = heading.end()
        failed = heading["failure"] is not None
    yield from _part(text[start:], failed)


def _part(text: str, failed: bool) -> Iterator[_Part]:
    bare = _without_retries(text.strip())
    if bare:
        yield _Part(bare, failed)


def _without_retries(text: str) -> str:
    """``text`` without headings of repeated keywords at its beginning. The time grows with the length alone."""
    line, at = text.partition("\n")[0], 0
    begin, middle, end = _RETRIED
    while line.startswith(begin, at):
        said = line.find(middle, at)
        last = line.find(end, said)
        if said < 0 or last < 0:
            break
        at = last + len(end)
    return text[at:]


def _of_part(text: str) -> Verdict | None:
    """The verdict that the class name at the beginning of ``text`` means; None when there is none."""
    found = _CLASS_NAME.match(text)
    return _BY_CLASS_NAME.get(found["name"]) if found else None


def _of_failure(texts: Iterator[str]) -> Verdict:
    verdicts = {_of_part(text) for text in texts}
    if Verdict.CARD_FAILURE in verdicts:
        return Verdict.CARD_FAILURE
    return Verdict.UNDECIDED if verdicts - {Verdict.NOT_APPLICABLE} == {Verdict.UNDECIDED} else Verdict.BENCH_FAULT


def _of_skip(parts: list[_Part]) -> Verdict:
    hidden = [
        part.text
        for part in parts
        if _of_part(part.text) is not Verdict.NOT_APPLICABLE and (part.failed or _of_part(part.text) is not None)
    ]
    if hidden:
        return _of_failure(iter(hidden))
    if not parts or any(_NOT_ASKED.match(part.text) or part.text in _SKIPS for part in parts):
        return Verdict.UNDECIDED
    return Verdict.NOT_APPLICABLE
