"""Reader of ``ping`` of iputils, BusyBox and FreeBSD (with its ``ping6``)."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import PingResult
from niclab.hosts.reading import numbered, whole_number

_KIND = "ping"
_DESTINATION = re.compile(r"--- (\S+) ping6? statistics ---")
_SUMMARY = re.compile(
    r"([0-9]{1,9}) packets transmitted, ([0-9]{1,9}) (?:packets )?received"
    r"((?:, \+[0-9]{1,9} (?:errors|duplicates|corrupted))*), [0-9.]{1,9}% packet loss(?:, .*)?"
)
_DUPLICATES = re.compile(r"\+([0-9]{1,9}) duplicates")
_ERROR = re.compile(r"(?:\S*ping[46]?: |From |[0-9]+ bytes from .* \(DIFFERENT ADDRESS|[0-9]+ bytes from \S+: [A-Z]).*")
_ANSWER = re.compile(r"[0-9]+ bytes from .*\bicmp_seq=([0-9]{1,9})\b")


LAST_ANSWER_S = 0.3
"""Assumption: how long an answer may take, twice the standstill of a server that is worth mentioning."""


def with_trailing(count: int, interval_s: float) -> int:
    """Return how many pings to send so that ping waits for all answers of the first ``count``.

    ping ends with twice the longest round trip, or one interval, after its last packet (``ping_common.c``), and an
    answer that comes later is lost for it. It waits longer only while nothing has been answered at all.
    """
    return count if count == 1 else count + math.ceil(LAST_ANSWER_S / interval_s)


def of_the_first(count: int, first: int, text: str, result: PingResult) -> PingResult:
    """The result of the first ``count`` pings alone.

    Args:
        count: How many are judged.
        first: Sequence number of the first one.
        text: Standard output.
        result: What was read of it.
    """
    answered = {int(match[1]) - first for _, line in numbered(text) if (match := _ANSWER.match(line))}
    return replace(result, sent=min(result.sent, count), received=len(answered & set(range(count))))


def read_ping(text: str, stderr: str = "") -> PingResult:
    """Read one run of ping. No packet sent, or more answers than packets, is an error.

    Args:
        text: Standard output.
        stderr: Standard error, whose lines become part of ``errors``.
    """
    headed = False
    summary: re.Match[str] | None = None
    errors: list[str] = []
    for number, line in numbered(text):
        where = f"line {number}"
        if _DESTINATION.fullmatch(line.strip()):
            headed = True
        elif "packets transmitted" in line:
            if summary is not None:
                raise unreadable(_KIND, where, line, "one summary line")
            summary = _SUMMARY.fullmatch(line.strip())
            if summary is None:
                raise unreadable(_KIND, where, line, "'N packets transmitted, N received, N% packet loss'")
        elif _ERROR.fullmatch(line):
            errors.append(line.strip())
    if not headed or summary is None:
        raise unreadable(_KIND, "text", text, "'--- ADDRESS ping statistics ---' and the summary below it")
    sent, received = int(summary[1]), int(summary[2])
    if sent == 0 or received > sent:
        raise unreadable(_KIND, "summary", summary[0], "at least one packet sent, and no more received than sent")
    duplicates = _DUPLICATES.search(summary[3])
    errors += [line.strip() for line in stderr.split("\n") if line.strip()]
    return PingResult(
        sent=sent,
        received=received,
        duplicates=whole_number(_KIND, "summary", duplicates[1], "duplicates") if duplicates else 0,
        errors=tuple(errors),
    )
