"""Reader of ``ping`` of iputils, BusyBox and FreeBSD (with its ``ping6``)."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number
from niclab.hosts.records import PingResult

_KIND = "ping"
_DESTINATION = re.compile(r"--- (\S+) ping6? statistics ---")
_SUMMARY = re.compile(
    r"([0-9]{1,9}) packets transmitted, ([0-9]{1,9}) (?:packets )?received"
    r"((?:, \+[0-9]{1,9} (?:errors|duplicates|corrupted))*), [0-9.]{1,9}% packet loss(?:, .*)?"
)
_DUPLICATES = re.compile(r"\+([0-9]{1,9}) duplicates")
_ERROR = re.compile(r"(?:\S*ping[46]?: |From |[0-9]+ bytes from .* \(DIFFERENT ADDRESS|[0-9]+ bytes from \S+: [A-Z]).*")


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
