"""Reader of what the outage prober's program prints; see :mod:`niclab.traffic.outage.prober_program`."""

from __future__ import annotations

import re
from itertools import accumulate

from niclab.hosts.errors import ReadError, unreadable
from niclab.traffic.outage.outage_records import EndLog

_KIND = "outage prober's notes"
_LINES = ("ready", "clock", "overflowed", "refused", "full", "ticks", "arrivals", "end")
_WHOLE = re.compile(r"-?\d{1,19}")
_PAIR = re.compile(r"(\d{1,19}):(-?\d{1,19})")


def read_end_log(text: str) -> EndLog:
    """Read the notes of one end. Every line must be there, and as many ticks and arrivals as the last one says."""
    lines = text.splitlines()
    fields: dict[str, list[str]] = {}
    for position, (wanted, line) in enumerate(zip(_LINES, lines, strict=False), start=1):
        key, *values = line.split()[:1] + line.split()[1:] or [""]
        if key != wanted:
            raise unreadable(_KIND, f"line {position}", line, f"a line that begins with '{wanted}'")
        fields[key] = values
    if len(lines) != len(_LINES):
        raise unreadable(_KIND, "text", f"{len(lines)} lines", f"the {len(_LINES)} lines {', '.join(_LINES)}")
    ticks = tuple(accumulate(_numbers("ticks", fields["ticks"])))
    pairs = [_pair(value) for value in fields["arrivals"]]
    arrivals = tuple(zip((pair[0] for pair in pairs), accumulate(pair[1] for pair in pairs), strict=True))
    if _numbers("end", fields["end"]) != [len(ticks), len(arrivals)]:
        found = f"{len(ticks)} ticks and {len(arrivals)} arrivals"
        raise unreadable(_KIND, "line 8", lines[7], f"the counts of {found}")
    refused, full = (frozenset(_numbers(key, fields[key])) for key in ("refused", "full"))
    return EndLog(ticks, refused, full, arrivals, _one("overflowed", fields), _one("clock", fields))


def read_ready(text: str) -> int | None:
    """The process id of a program that has begun; None when it has not said anything yet."""
    first, end, _ = text.partition("\n")
    if not end:
        return None
    match = re.fullmatch(r"ready (\d{1,9})", first)
    if match is None:
        raise unreadable(_KIND, "line 1", first, "'ready PID'")
    return int(match[1])


def _one(key: str, fields: dict[str, list[str]]) -> int:
    values = _numbers(key, fields[key])
    if len(values) != 1:
        raise unreadable(_KIND, key, " ".join(fields[key]), "one number")
    return values[0]


def _numbers(key: str, values: list[str]) -> list[int]:
    for value in values:
        if not _WHOLE.fullmatch(value):
            raise unreadable(_KIND, key, value, "whole numbers")
    return [int(value) for value in values]


def _pair(value: str) -> tuple[int, int]:
    match = _PAIR.fullmatch(value)
    if match is None:
        raise _bad_pair(value)
    return int(match[1]), int(match[2])


def _bad_pair(value: str) -> ReadError:
    return unreadable(_KIND, "arrivals", value, "NUMBER:MICROSECONDS")
