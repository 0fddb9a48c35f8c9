"""Reader of what netperf 2.5 to 2.7 prints for the commands of :mod:`.netperf_tool`.

``-P 0 ... -- -k`` prints ``KEY=value`` lines; TCP_SENDFILE and UDP_STREAM print the classic table with CPU columns
(``cpu_title`` of src/nettest_bsd.c). What netperf gets wrong and this reader refuses: exit status 0 with a throughput
of 0.00 when the data port is blocked; a run cut by a signal, which prints a normal table with a short elapsed time; the
sender's line of UDP_STREAM alone; CPU loads beyond 100 %.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import Line, filled
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.iperf3 import SHORTEST_PART

SELECTORS = (
    *("THROUGHPUT", "THROUGHPUT_UNITS", "ELAPSED_TIME", "LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL"),
    *("LOCAL_TRANSPORT_RETRANS", "LOCAL_SEND_SIZE", "LSS_SIZE_END", "RSR_SIZE_END"),
)
"""The keys that ``-k`` is asked for; the sizes are for whoever reads the text."""

_KIND = "netperf"
_KEY = re.compile(r"([A-Z_]{3,40})=(.*)")
_TITLE = re.compile(r"(?:MIGRATED )?(TCP SENDFILE|UDP STREAM|UDP UNIDIRECTIONAL SEND) TEST from \S.{0,400}")
_SENDFILE_HEADING = (
    r"Recv Send Send Utilization Service Demand",
    r"Socket Socket Message Elapsed Send Recv Send Recv",
    r"Size Size Size Time Throughput local remote local remote",
    r"bytes bytes bytes secs\. 10\^6bits/s % \S % \S us/KB us/KB",
)
_UDP_HEADING = (
    r"Socket Message Elapsed Messages CPU Service",
    r"Size Size Time Okay Errors Throughput Util Demand",
    r"bytes bytes secs # # 10\^6bits/sec % \S\S us/KB",
)
_BITS = 1e6
_TRANSACTIONS = "Trans/s"
_UNITS = {"10^6bits/s": _BITS, _TRANSACTIONS: 1.0}
_NOT_COUNTED = -1.0
_WHOLE = re.compile(r"-1|[0-9]{1,20}")
_DECIMAL = re.compile(r"-?(?:[0-9]{1,20}\.[0-9]{1,3}|nan|inf)")


@dataclass(frozen=True)
class NetperfResult:
    """One result. ``local`` is the host netperf ran on, ``remote`` the one of netserver.

    ``throughput_bps``: payload that the receiver got; None of request/response, which has ``transactions_per_s``. CPU
    in percent of the whole machine, None when it was not measured. ``retransmits``: None when not counted. Messages of
    UDP only.
    """

    throughput_bps: float | None
    transactions_per_s: float | None
    elapsed_s: float
    cpu_local_pct: float | None
    cpu_remote_pct: float | None
    retransmits: int | None = None
    messages_sent: int | None = None
    messages_received: int | None = None


def read_netperf(text: str, *, asked_s: float | None = None) -> NetperfResult:
    """Read one result of netperf.

    Args:
        text: standard output of one netperf.
        asked_s: the duration asked for, in seconds; the run must have lasted as long.

    Raises:
        WorthlessResult: when the run measured nothing usable.
        ReadError: when the text is something else than such a result, whole.
    """
    lines = filled(text)
    if not lines or not text.endswith("\n"):
        raise unreadable(_KIND, "text", text, "a result whose last line ends")
    found = _table(lines) if _TITLE.fullmatch(lines[0][1].rstrip()) else _keyed(lines)
    if not found.elapsed_s > 0:
        raise _worthless(f"an elapsed time of {found.elapsed_s:g} s")
    if asked_s is not None and found.elapsed_s < SHORTEST_PART * asked_s:
        raise _worthless(f"it lasted {found.elapsed_s:g} s of {asked_s:g} s")
    return found


def _worthless(why: str) -> WorthlessResult:
    return WorthlessResult(f"{_KIND}: worthless result: {why}")


def _keyed(lines: Sequence[Line]) -> NetperfResult:
    values: dict[str, str] = {}
    for number, line in lines:
        match = _KEY.fullmatch(line)
        if match is None or match[1] not in SELECTORS or match[1] in values:
            raise unreadable(_KIND, f"line {number}", line, f"KEY=value, each of {', '.join(SELECTORS)} once")
        values[match[1]] = match[2]
    missing = [key for key in SELECTORS if key not in values]
    if missing:
        raise unreadable(_KIND, "keys", ", ".join(values), f"{', '.join(missing)} as well")
    unit = values["THROUGHPUT_UNITS"]
    if unit not in _UNITS:
        raise unreadable(_KIND, "THROUGHPUT_UNITS", unit, f"one of {', '.join(_UNITS)}")
    for key in ("LOCAL_SEND_SIZE", "LSS_SIZE_END", "RSR_SIZE_END"):
        _whole(key, values[key])
    figure = _rate(_decimal("THROUGHPUT", values["THROUGHPUT"]), _UNITS[unit], "throughput")
    return NetperfResult(
        throughput_bps=None if unit == _TRANSACTIONS else figure,
        transactions_per_s=figure if unit == _TRANSACTIONS else None,
        elapsed_s=_decimal("ELAPSED_TIME", values["ELAPSED_TIME"]),
        cpu_local_pct=_percent("LOCAL_CPU_UTIL", values["LOCAL_CPU_UTIL"]),
        cpu_remote_pct=_percent("REMOTE_CPU_UTIL", values["REMOTE_CPU_UTIL"]),
        retransmits=_whole("LOCAL_TRANSPORT_RETRANS", values["LOCAL_TRANSPORT_RETRANS"]),
    )


def _table(lines: Sequence[Line]) -> NetperfResult:
    """The title, its heading, and one row (two of UDP: what was sent, what was received)."""
    is_udp = "UDP" in lines[0][1]
    heading = _UDP_HEADING if is_udp else _SENDFILE_HEADING
    for (number, line), wanted in zip(lines[1:], heading, strict=False):
        if not re.fullmatch(wanted, " ".join(line.split())):
            raise unreadable(_KIND, f"line {number}", line, f"a heading like {wanted.replace(chr(92), '')!r}")
    rows, wanted_rows = lines[1 + len(heading) :], 2 if is_udp else 1
    if len(rows) < wanted_rows:
        raise _worthless(f"{len(rows)} rows of {wanted_rows} below the heading: the run did not end")
    if len(rows) > wanted_rows:
        raise unreadable(_KIND, f"line {rows[wanted_rows][0]}", rows[wanted_rows][1], "one result only")
    return _udp(*rows) if is_udp else _sendfile(*rows)


def _sendfile(row: Line) -> NetperfResult:
    words = _Row(row, "wwwdddddd")
    return NetperfResult(
        throughput_bps=_rate(words.decimal(4), _BITS, "throughput"),
        transactions_per_s=None,
        elapsed_s=words.decimal(3),
        cpu_local_pct=words.percent(5),
        cpu_remote_pct=words.percent(6),
    )


def _udp(first: Line, second: Line) -> NetperfResult:
    sent, received = _Row(first, "wwdwwddd"), _Row(second, "wdwddd")
    messages, arrived = sent.whole(3), received.whole(2)
    if not messages or not arrived:
        raise _worthless(f"{messages} messages sent, {arrived} received")
    if arrived > messages:
        raise _worthless(f"{arrived} messages received, more than the {messages} sent")
    _rate(sent.decimal(5), _BITS, "sender's throughput")
    return NetperfResult(
        throughput_bps=_rate(received.decimal(3), _BITS, "receiver's throughput"),
        transactions_per_s=None,
        elapsed_s=min(sent.decimal(2), received.decimal(1)),
        cpu_local_pct=sent.percent(6),
        cpu_remote_pct=received.percent(4),
        messages_sent=messages,
        messages_received=arrived,
    )


class _Row:
    """A row of numbers; ``columns``: one letter each, ``w`` for a whole number."""

    def __init__(self, row: Line, columns: str) -> None:
        self._where, self._words = f"line {row[0]}", row[1].split()
        if len(self._words) != len(columns):
            raise unreadable(_KIND, self._where, row[1], f"{len(columns)} numbers")
        for place, column in enumerate(columns):
            self.whole(place) if column == "w" else self.decimal(place)

    def whole(self, place: int) -> int | None:
        return _whole(*self._at(place))

    def decimal(self, place: int) -> float:
        return _decimal(*self._at(place))

    def percent(self, place: int) -> float | None:
        return _percent(*self._at(place))

    def _at(self, place: int) -> tuple[str, str]:
        return f"{self._where}, column {place + 1}", self._words[place]


def _whole(where: str, word: str) -> int | None:
    """A count or size; None for -1, which netperf prints where the system does not tell."""
    if not _WHOLE.fullmatch(word):
        raise unreadable(_KIND, where, word, "a whole number, or -1")
    return int(word) if int(word) >= 0 else None


def _decimal(where: str, word: str) -> float:
    if not _DECIMAL.fullmatch(word):
        raise unreadable(_KIND, where, word, "a number with digits behind its point")
    return float(word)


def _percent(where: str, word: str) -> float | None:
    """A CPU load. netperf's CPU accounting is broken on a host that shows one outside 0 to 100 %."""
    value = _decimal(where, word)
    if value == _NOT_COUNTED:
        return None
    if not 0 <= value <= 100:
        raise _worthless(f"a CPU load of {value:g} % ({where})")
    return value


def _rate(value: float, factor: float, what: str) -> float:
    """``value`` times ``factor``; zero and what is no number prove nothing."""
    if not math.isfinite(value) or value <= 0:
        raise _worthless(f"a {what} of {value:g}")
    return round(value * factor, 3)
