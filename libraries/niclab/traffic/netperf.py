"""Reader of netperf 2.4 to 2.7: classic tables, omni output, interim results, confidence.

What netperf gets wrong and this reader refuses: exit status 0 with a throughput of 0.00 when the data port is blocked;
a run cut by SIGINT, which prints a normal table with a short elapsed time; UDP_STREAM, whose first line is a full rate
even when nothing was received; CPU loads beyond 100 %. ``-f b`` is corrected, see :mod:`.netperf_records`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.reading import dedented
from niclab.hosts.transcript import transcript
from niclab.traffic import netperf_omni
from niclab.traffic.iperf3 import SHORTEST_PART
from niclab.traffic.netperf_classic import rate, read_rows, worthless
from niclab.traffic.netperf_command import KIND, NetperfCommand, read_command
from niclab.traffic.netperf_records import (
    TRANSACTIONS,
    Confidence,
    Interim,
    NetperfResult,
    bits_per_unit,
    unit_of,
    unit_of_letter,
)
from niclab.traffic.netperf_tables import REQUEST, STREAM, UDP, Heading, Row, heading, row

_TESTS = (
    (re.compile(r"(TCP|UDP|SCTP|SDP|DCCP|UDPLITE) REQUEST/RESPONSE TEST", re.IGNORECASE), r"\1_RR"),
    (re.compile(r"(TCP|SCTP) Connect/Request/Response TEST", re.IGNORECASE), r"\1_CRR"),
    (re.compile(r"(TCP|SCTP) Connect/(?:Close|Accept) TEST", re.IGNORECASE), r"\1_CC"),
    (re.compile(r"UDP UNIDIRECTIONAL SEND TEST", re.IGNORECASE), "UDP_STREAM"),
    (re.compile(r"(TCP|UDP|SCTP|SDP|DCCP|UDPLITE) (STREAM|MAERTS|SENDFILE) TEST", re.IGNORECASE), r"\1_\2"),
    (re.compile(r"SCTP 1-TO-MANY STREAM TEST", re.IGNORECASE), "SCTP_STREAM_MANY"),
    (re.compile(r"SCTP 1-TO-MANY REQUEST/RESPONSE TEST", re.IGNORECASE), "SCTP_RR_MANY"),
    (re.compile(r"OMNI (?:Send|Receive|Send\|Recv|Recv|RR|CRR|CC)?\s?TEST", re.IGNORECASE), "OMNI"),
)
_ASKED = re.compile(r"\+/-\s{0,3}([0-9.]{1,10})%\s{0,3}@?\s{0,3}([0-9]{1,3})%\s+conf")
_WIDTH = re.compile(
    r"!!!\s+(?:Confidence intervals:\s+)?(Throughput|Local CPU util|Remote CPU util)\s*:\s*([0-9.]{1,12})\s?%"
)
_OF_A_WIDTH = re.compile(r"Throughput\s*:|CPU util\s*:")
_INTERIM = re.compile(
    r"Interim result:\s+([0-9.]{1,20}|nan|inf) (\S{1,12}\s?/s(?:ec)?) over ([0-9.]{1,12}) seconds"
    r"(?: ending at ([0-9]{1,12}\.[0-9]{1,6})|\s*$)"
)
_INTERIM_CSV = re.compile(r"\s*([0-9.]{1,20}),(\S{1,12}/s),([0-9.]{1,12}),([0-9]{9,12}\.[0-9]{3})")
_INTERIM_KEY = re.compile(r"NETPERF_(INTERIM_RESULT|UNITS|INTERVAL|ENDING)\[[0-9]{1,6}\]=(?!-|[0-9]{15})(.*)")
_BROKEN_INTERIM = re.compile(r"Interim result:|NETPERF_(?:INTERIM_RESULT|UNITS|INTERVAL|ENDING)\[")
_TROUBLE = re.compile(
    r"(?:\S*/)?netperf(?:\.exe)?: |establish[_ ]control|recv_response|send_request|send_data|recv_data|udp_send|"
    r"shutdown_control|remote error|resolve_host|complete_addrinfo|create_data_socket|allocate_buffer_ring|"
    r"[Uu]sage: |(?:\S*sh|-bash): |"
    r".*(?:[Cc]onnection (?:refused|reset|timed out)|No route to host|[Pp]ermission denied|[Ss]egmentation fault|"
    r"[Cc]ommand not found|No such file|[Mm]essage too long|[Tt]imed out|[Ii]nterrupted system call|"
    r"unable to (?:connect|open|resolve)|[Cc]ould not |[Cc]annot )"
)
_CLASSIC = re.compile(
    r"\s*(?:Recv\s+Send\s+Send|Local /Remote|Socket\s+Message|Size\s+Size\s+Size\s+Time|bytes\s+[Bb]ytes)\b"
)
_OF_A_HEADING = re.compile(r"\b(?:Throughput|Transaction|Round Trip|Minimum|Maximum|Mean|Stddev|[0-9]{2}th)\b")
_NUMBER = re.compile(r"-?[0-9]{1,20}(?:\.[0-9]{1,10})?")
_SINGLE = re.compile(r"\s*(?:[0-9]{1,20}\.[0-9]{1,6}|nan|inf)")


def read_netperf(text: str, command: str | None = None) -> NetperfResult:
    """Read one result of netperf.

    :param command: the command line that printed it. With it the elapsed time is checked against the time asked for
        (10 s without ``-l``), and output without headings can be read.
    :raises WorthlessResult: when the run measured nothing usable.
    :raises ReadError: when the text is an error message, several results, ambiguous, or not netperf's.
    """
    printed = transcript(text, "netperf", whole=False)
    called = command if command is not None else printed.command
    asked = read_command(called) if called is not None else None
    parts = _parts(dedented(printed.filled))
    result = _read(parts, asked)
    result = replace(result, confidence=result.confidence or _confidence(parts, asked, result), interim=_interim(parts))
    _refuse_short(result, asked)
    return result


@dataclass
class _Parts:
    """The lines sorted by what they are, each with its number."""

    titles: list[tuple[int, str]] = field(default_factory=list)
    headings: list[tuple[int, Heading]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    keys: list[tuple[int, str, str]] = field(default_factory=list)
    warned: bool = False
    widths: dict[str, float] = field(default_factory=dict)
    interim: list[tuple[int, str, str, str, str | None]] = field(default_factory=list)
    trouble: tuple[int, str] | None = None
    others: list[tuple[int, str]] = field(default_factory=list)
    all: tuple[tuple[int, str], ...] = ()


def _parts(lines: tuple[tuple[int, str], ...]) -> _Parts:
    parts = _Parts(all=lines)
    past_result = False  # below the result of -v 2 stand tables of alignment, calls and histograms
    for number, line in lines:
        short = line[:400]
        if past_result and _is_detail(short):
            break
        if _sort(parts, number, line, short):
            continue
        numbers = row(number, short)
        if numbers is not None and (parts.headings or not parts.titles or _SINGLE.fullmatch(short)):
            parts.rows.append(numbers)
            past_result = True
        parts.others.append((number, line))
    return parts


def _is_detail(line: str) -> bool:
    return re.match(r"\s*(?:Alignment\s+Offset|Histogram of|Maximum\s*$|UNIT_USEC)", line) is not None


def _sort(parts: _Parts, number: int, line: str, short: str) -> bool:
    """Whether the line was taken for something other than numbers."""
    title = next((pattern.search(short) for pattern, _ in _TESTS if pattern.search(short)), None)
    width, key = _WIDTH.match(short), netperf_omni.KEY_LINE.fullmatch(line)
    interim, keyed_interim = _INTERIM.match(short) or _INTERIM_CSV.fullmatch(short), _INTERIM_KEY.fullmatch(short)
    head = heading(short)
    if title is not None and not key:
        parts.titles.append((number, line))
    elif head is not None:
        parts.headings.append((number, head))
    elif width is not None:
        parts.widths[width[1]] = _float(number, width[2])
    elif short.startswith("!!!"):
        if _OF_A_WIDTH.search(short):
            raise unreadable(KIND, f"line {number}", line.strip(), "the width of an interval in percent")
        parts.warned = True
    elif interim is not None:
        parts.interim.append((number, interim[1], interim[2], interim[3], interim[4]))
    elif keyed_interim is None and _BROKEN_INTERIM.match(short):
        raise unreadable(KIND, f"line {number}", line.strip(), "a whole interim result")
    elif keyed_interim is not None:
        _add_interim(parts, number, keyed_interim[1], keyed_interim[2].strip())
    elif key is not None:
        parts.keys.append((number, key[1], key[2]))
    elif _TROUBLE.match(short):
        parts.trouble = parts.trouble or (number, line)
    else:
        return False
    return True


def _add_interim(parts: _Parts, number: int, name: str, value: str) -> None:
    """One of the four lines of an interim result of ``-k``, which stand in this order."""
    if name == "INTERIM_RESULT":
        parts.interim.append((number, value, "", "", None))
        return
    place = {"UNITS": 2, "INTERVAL": 3, "ENDING": 4}[name]
    last = list(parts.interim[-1]) if parts.interim else []
    if not last or last[place]:
        raise unreadable(KIND, f"line {number}", f"{name} {value}", "NETPERF_INTERIM_RESULT before it")
    last[place] = value
    parts.interim[-1] = (number, str(last[1]), str(last[2]), str(last[3]), str(last[4]) if last[4] else None)


def _read(parts: _Parts, asked: NetperfCommand | None) -> NetperfResult:
    if parts.trouble is not None:
        raise unreadable(KIND, f"line {parts.trouble[0]}", parts.trouble[1].strip(), "a result, not a message")
    if len(parts.titles) > 1 or len(parts.headings) > 1:
        places = parts.titles if len(parts.titles) > 1 else [(number, "heading") for number, _ in parts.headings]
        raise unreadable(KIND, f"line {places[1][0]}", places[1][1], "one result only")
    test = _test(parts, asked)
    if parts.keys:
        return netperf_omni.result(test, netperf_omni.keyed(parts.keys), asked)
    if parts.headings:
        return _table(parts, test)
    columns = _omni_table(parts, asked)
    if columns is not None:
        return netperf_omni.result(test, columns, asked)
    return _bare(parts, test, asked)


def _test(parts: _Parts, asked: NetperfCommand | None) -> str | None:
    for _, line in parts.titles:
        for pattern, name in _TESTS:
            match = pattern.search(line[:400])
            if match is not None:
                return match.expand(name).upper()
    return asked.test if asked else None


def _table(parts: _Parts, test: str | None) -> NetperfResult:
    number, head = parts.headings[0]
    rows = [entry for entry in parts.rows if entry.number > number]
    if not rows:
        raise worthless("a heading without a result: the run did not end")
    if test is None and head.shape == UDP:
        test = "UDP_STREAM"
    if test is not None and head.shape != _shape(test):
        raise unreadable(KIND, f"line {number}", f"the heading of a {head.shape} test", f"that of {test}")
    if head.shape == REQUEST and len(rows) == 1:
        _refuse_broken_row(parts, rows[0].number)
    return read_rows(test, head, head.shape, head.unit, rows)


def _refuse_broken_row(parts: _Parts, number: int) -> None:
    """The two socket sizes of the remote host stand below the result; a line of two words there is meant to be them."""
    below = next(((place, line.split()) for place, line in parts.all if place > number), None)
    if below is not None and len(below[1]) == 2 and any(word.isdigit() for word in below[1]):
        raise unreadable(KIND, f"line {below[0]}", " ".join(below[1]), "two socket sizes of the remote host")


def _omni_table(parts: _Parts, asked: NetperfCommand | None) -> netperf_omni.Selectors | None:
    """CSV or columns: a line of values below a heading with the name of a rate or a latency in it."""
    lines = [(number, line) for number, line in parts.others if line.strip()]
    for number, line in lines:
        if _CLASSIC.match(line):
            raise unreadable(KIND, f"line {number}", line.strip(), "a whole heading, with a unit such as 10^6bits/sec")
    heads = [place for place, (_, line) in enumerate(lines) if _OF_A_HEADING.search(line)]
    if heads:
        first = heads[0]
        if "," in lines[first][1] and len(lines) > first + 1:
            number, values = lines[first + 1]
            for place, line in lines[first + 2 :]:
                if line.count(",") == values.count(","):
                    raise unreadable(KIND, f"line {place}", line, "one result only")
            return netperf_omni.from_csv(lines[first][1], values, number, None)
        *above, (number, values) = lines[first:]
        if not above or not any(_NUMBER.fullmatch(word) for word in values.split()):
            raise worthless("a heading without a result: the run did not end")
        for at, (place, line) in enumerate(above):
            if at and line.split() == above[at - 1][1].split():
                raise unreadable(KIND, f"line {place}", line, "each line of the heading once")
            if all(_NUMBER.fullmatch(word) for word in line.split()):
                raise unreadable(KIND, f"line {place}", line, "one result only")
        return netperf_omni.from_columns([line for _, line in above], values, number)
    if asked is not None and asked.csv and asked.selectors and len(lines) == 1:
        return netperf_omni.from_csv(None, lines[0][1], lines[0][0], asked.selectors)
    return None


def _bare(parts: _Parts, test: str | None, asked: NetperfCommand | None) -> NetperfResult:
    """Rows without a heading (``-P 0``), or the one number of ``-v 0``."""
    if not parts.rows:
        if parts.interim or parts.titles or parts.warned:
            raise worthless("no result: the run did not end")
        number, line = parts.all[0] if parts.all else (1, "")
        raise unreadable(KIND, f"line {number}", line, "a result of netperf")
    for number, line in parts.others:
        if row(number, line) is None:
            raise unreadable(KIND, f"line {number}", line, "a result of netperf")
    first = parts.rows[0]
    if len(first.words) == 1:
        return _single(parts, test, asked)
    if asked is None or test is None:
        raise unreadable(KIND, f"line {first.number}", first.line, "headings, or the command that tells test and unit")
    shape = _shape(test)
    unit = TRANSACTIONS if shape == REQUEST else _asked_unit(asked)
    return read_rows(test, None, shape, unit, parts.rows)


def _shape(test: str) -> str:
    if test.endswith(("RR", "CC")):
        return REQUEST
    return UDP if test.startswith("UDP") and test.endswith("STREAM") else STREAM


def _single(parts: _Parts, test: str | None, asked: NetperfCommand | None) -> NetperfResult:
    """``-v 0`` prints the figure alone; its unit stands in interim results or follows from the command."""
    first = parts.rows[0]
    units = {unit_of(unit) for _, _, unit, _, _ in parts.interim}
    unit = units.pop() if len(units) == 1 else None
    if unit is None and asked is not None and asked.verbosity == 0:
        unit = TRANSACTIONS if (test or "").endswith(("RR", "CC")) and asked.unit is None else _asked_unit(asked)
    if test is None or unit is None or len(parts.rows) > 1:
        raise unreadable(KIND, f"line {first.number}", first.line, "headings, or the command that tells test and unit")
    if _shape(test) == UDP:
        raise worthless("one rate of UDP, which may be the sender's; what was received is wanted")
    figure = rate(first.decimal(0, 2, "the figure"), unit, "a throughput")
    moves = unit != TRANSACTIONS
    return NetperfResult(test, figure if moves else None, None if moves else figure, None, unit)


def _asked_unit(asked: NetperfCommand) -> str:
    unit = unit_of_letter(asked.unit or "m")
    if unit is None:
        raise unreadable(KIND, "option -f of the command", asked.unit, "one of B K M G b k m g x")
    return unit


def _confidence(parts: _Parts, asked: NetperfCommand | None, result: NetperfResult) -> Confidence | None:
    """From the title (``+/-2.500% @ 99% conf.``), the command and the warning; None when no repeats were made."""
    title = next((match for _, line in parts.titles if (match := _ASKED.search(line[:600]))), None)
    if title is not None:
        wanted: float | None = _float(parts.titles[0][0], title[1])
        level: int | None = int(title[2])
    else:
        wanted, level = (asked.width_pct, asked.level) if asked else (None, None)
    if title is None and level is None and not parts.warned:
        return None
    if parts.warned and "Throughput" not in parts.widths:
        raise unreadable(KIND, "warning", "!!! WARNING", "the line 'Confidence intervals: Throughput : N%'")
    widths = (
        parts.widths.get("Throughput"),
        parts.widths.get("Local CPU util") if result.cpu_local_pct is not None else None,
        parts.widths.get("Remote CPU util") if result.cpu_remote_pct is not None else None,
    )
    met: bool | None = not parts.warned
    if result.selectors is not None and not parts.warned:
        widths = netperf_omni.widths(result.selectors)
        met = None if widths[0] is None or wanted is None else all(w is None or w <= 2 * wanted for w in widths)
    return Confidence(level, wanted, met, *widths)


def _interim(parts: _Parts) -> tuple[Interim, ...]:
    found = []
    for number, value, unit_text, interval, ended in parts.interim:
        unit = unit_of(unit_text)
        if unit is None:
            raise unreadable(KIND, f"line {number}", unit_text, "a unit such as 10^6bits/s")
        figure, bits = _float(number, value), bits_per_unit(unit)
        found.append(
            Interim(
                throughput_bps=round(figure * bits, 3) if bits else None,
                transactions_per_s=None if bits else figure,
                interval_s=_float(number, interval),
                ended_at=_float(number, ended) if ended else None,
            )
        )
    return tuple(found)


def _float(number: int, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise unreadable(KIND, f"line {number}", text, "a number") from error


def _refuse_short(result: NetperfResult, asked: NetperfCommand | None) -> None:
    if result.elapsed_s is not None and not result.elapsed_s > 0:
        raise worthless(f"an elapsed time of {result.elapsed_s:g} s")
    wanted = asked.length_s if asked else None
    if wanted is not None and result.elapsed_s is not None and result.elapsed_s < SHORTEST_PART * wanted:
        raise worthless(f"it lasted {result.elapsed_s:g} s of {wanted:g} s")


__all__ = ["Confidence", "Interim", "NetperfResult", "ReadError", "read_netperf"]
