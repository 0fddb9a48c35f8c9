"""netperf's omni output: ``-k`` (KEY=value), ``-o`` (CSV) and ``-O`` (columns).

Names are those of src/nettest_omni.c of netperf 2.5.0 to 2.7.1. CSV and columns have long names, the heading lines
joined: "Elapsed Time (sec)" is ELAPSED_TIME.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

from niclab.hosts.errors import unreadable
from niclab.traffic.netperf_classic import demand, percent, rate, worthless
from niclab.traffic.netperf_command import KIND, NetperfCommand
from niclab.traffic.netperf_records import TRANSACTIONS, Confidence, NetperfResult, unit_of, unit_of_letter

Selectors = dict[str, str | float | int | None]

KEY_LINE = re.compile(r"([A-Z][A-Z0-9_]{2,40})=(.*)")
_LONG_NAMES = {
    "Throughput": "THROUGHPUT",
    "Throughput Units": "THROUGHPUT_UNITS",
    "Elapsed Time (sec)": "ELAPSED_TIME",
    "Protocol": "PROTOCOL",
    "Direction": "DIRECTION",
    "Transaction Rate Tran/s": "TRANSACTION_RATE",
    "Local CPU Util %": "LOCAL_CPU_UTIL",
    "Remote CPU Util %": "REMOTE_CPU_UTIL",
    "Local Service Demand": "LOCAL_SD",
    "Remote Service Demand": "REMOTE_SD",
    "Service Demand Units": "SD_UNITS",
    "Local Send Socket Size Final": "LSS_SIZE_END",
    "Local Recv Socket Size Final": "LSR_SIZE_END",
    "Remote Send Socket Size Final": "RSS_SIZE_END",
    "Remote Recv Socket Size Final": "RSR_SIZE_END",
    "Local Send Socket Size Initial": "LSS_SIZE",
    "Local Recv Socket Size Initial": "LSR_SIZE",
    "Remote Send Socket Size Initial": "RSS_SIZE",
    "Remote Recv Socket Size Initial": "RSR_SIZE",
    "Local Send Size": "LOCAL_SEND_SIZE",
    "Local Recv Size": "LOCAL_RECV_SIZE",
    "Remote Send Size": "REMOTE_SEND_SIZE",
    "Remote Recv Size": "REMOTE_RECV_SIZE",
    "Request Size Bytes": "REQUEST_SIZE",
    "Response Size Bytes": "RESPONSE_SIZE",
    "Local Send Throughput": "LOCAL_SEND_THROUGHPUT",
    "Local Recv Throughput": "LOCAL_RECV_THROUGHPUT",
    "Remote Send Throughput": "REMOTE_SEND_THROUGHPUT",
    "Remote Recv Throughput": "REMOTE_RECV_THROUGHPUT",
    "Confidence Level Percent": "CONFIDENCE_LEVEL",
    "Confidence Width Target": "CONFIDENCE_INTERVAL",
    "Confidence Iterations Run": "CONFIDENCE_ITERATION",
    "Throughput Confidence Width (%)": "THROUGHPUT_CONFID",
    "Local CPU Confidence Width (%)": "LOCAL_CPU_CONFID",
    "Remote CPU Confidence Width (%)": "REMOTE_CPU_CONFID",
    "Local Transport Retransmissions": "LOCAL_TRANSPORT_RETRANS",
    "Remote Transport Retransmissions": "REMOTE_TRANSPORT_RETRANS",
    "Round Trip Latency usec/tran": "RT_LATENCY",
    "Minimum Latency Microseconds": "MIN_LATENCY",
    "Maximum Latency Microseconds": "MAX_LATENCY",
    "Mean Latency Microseconds": "MEAN_LATENCY",
    "Stddev Latency Microseconds": "STDDEV_LATENCY",
    "50th Percentile Latency Microseconds": "P50_LATENCY",
    "90th Percentile Latency Microseconds": "P90_LATENCY",
    "99th Percentile Latency Microseconds": "P99_LATENCY",
}
_TEXTS = frozenset(("PROTOCOL", "DIRECTION", "THROUGHPUT_UNITS", "SD_UNITS", "COMMAND_LINE", "NETPERF_VERSION"))
_NO_NUMBER = ("", "nan", "-nan", "inf", "-inf", "N/A", "(null)")
# Words of which netperf prints one; the beginning of one is what is left of a text that was cut.
_WORDS = {
    "PROTOCOL": ("TCP", "UDP", "SCTP", "SDP", "DCCP", "UDPLITE"),
    "DIRECTION": ("Send", "Receive", "Send|Recv"),
    "SD_UNITS": ("usec/KB", "usec/Tran"),
}
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_NOT_NEGATIVE = re.compile(r"-1(?:\.0{1,6})?|[0-9]{1,20}(?:\.[0-9]{1,10})?")
# The formats of netperf_output_source, by the end of the name.
_FORMS = (
    (("THROUGHPUT", "ELAPSED_TIME", "CPU_UTIL"), re.compile(r"-1\.00|-?0\.00|[0-9]{1,20}\.[0-9]{2}")),
    (("_SD", "_CONFID"), re.compile(r"-1\.000|-?0\.000|[0-9]{1,20}\.[0-9]{3}")),
    (("_SIZE", "_SIZE_END"), re.compile(r"-1|[0-9]{1,15}|[0-9]{1,10},[0-9]{1,10}")),
    (("_LATENCY", "_RETRANS", "_ITERATION"), re.compile(r"-1(?:\.0{1,6})?|[0-9]{1,15}(?:\.[0-9]{1,6})?")),
    (("CONFIDENCE_LEVEL",), re.compile(r"-1|[0-9]{2,3}")),
    (("CONFIDENCE_INTERVAL",), re.compile(r"-1\.0{6}|[0-9]{1,3}\.[0-9]{6}")),
)
_DECIMAL = re.compile(r"-?[0-9]{1,20}\.[0-9]{1,10}")


def keyed(pairs: list[tuple[int, str, str]]) -> Selectors:
    """The selectors of ``KEY=value`` lines: line number, key, value.

    :raises ReadError: when a key stands twice: several results, and nobody can tell which was meant.
    """
    found: Selectors = {}
    for place, (number, key, value) in enumerate(pairs, start=1):
        if key in found:
            raise unreadable(KIND, f"line {number}", f"{key}={value}", f"{key} once, of one result")
        if not _is_whole(key, value.strip(), last=place == len(pairs)):
            raise unreadable(KIND, f"line {number}", f"{key}={value}", "a whole value as netperf prints it")
        found[key] = _value(key, value.strip().strip('"'))
    return found


def _is_whole(key: str, value: str, *, last: bool) -> bool:
    """Whether this is what netperf prints of this selector, and not the beginning of it or something else. The last
    value of a text, which may have been cut, must have all its digits.

    -1 stands for what was not measured.
    """
    if value in _NO_NUMBER and key not in _WORDS:
        return True
    if key in _WORDS:
        return value in _WORDS[key] or not any(word.startswith(value) for word in _WORDS[key])
    if key == "COMMAND_LINE":
        return value[:1] != '"' or (len(value) > 1 and value[-1] == '"')
    form = next((pattern for ends, pattern in _FORMS if key.endswith(ends)), None)
    if form is None or form.fullmatch(value):
        return True
    return not last and key != "THROUGHPUT" and _NOT_NEGATIVE.fullmatch(value) is not None


def from_csv(header: str | None, values: str, number: int, names: tuple[str, ...] | None) -> Selectors:
    """The selectors of a CSV heading (or the names of the command) and its line of values."""
    keys = [key_of(name) for name in next(csv.reader([header]))] if header is not None else list(names or ())
    cells = next(csv.reader([values]))
    if len(cells) == len(keys) + 1 and not cells[-1].strip():
        cells.pop()
    if len(keys) != len(cells):
        raise unreadable(KIND, f"line {number}", values, f"{len(keys)} values, as many as names")
    return keyed([(number, key, cell) for key, cell in zip(keys, cells, strict=True)])


def from_columns(heads: list[str], values: str, number: int) -> Selectors:
    """The selectors of a table with one line of values: each column begins where its value does."""
    begins = [match.start() for match in re.finditer(r"\S+", values)]
    ends = [*begins[1:], None]
    spans = list(zip(begins, ends, strict=True))
    for head in (head.expandtabs() for head in heads):
        if any(head[begin - 1 : begin].strip() and head[begin : begin + 1].strip() for begin in begins):
            raise unreadable(KIND, f"line {number}", values, f"a value below each word of the heading {head.strip()!r}")
    pieces = [[head.expandtabs()[begin:end].strip() for head in heads] for begin, end in spans]
    keys = [key_of(" ".join(piece for piece in column if piece)) for column in pieces]
    if not all(keys):
        raise unreadable(KIND, f"line {number}", values, "a heading above each value")
    return keyed([(number, key, values[begin:end]) for key, (begin, end) in zip(keys, spans, strict=True)])


def key_of(long_name: str) -> str:
    """netperf's selector of a heading; the heading itself when it is none of those known here."""
    name = " ".join(long_name.split())
    return _LONG_NAMES.get(name, name)


def result(named: str | None, found: Selectors, command: NetperfCommand | None) -> NetperfResult:
    """The result that the selectors make. ``named``: the test, of the title or the command. Where only latencies were
    asked for there is no rate.

    :raises WorthlessResult: when nothing was transferred.
    :raises ReadError: when there is neither throughput nor latency, or the unit is unknown.
    """
    test = named or _test(found)
    unit = _unit(test or "", found, command)
    moves = unit != TRANSACTIONS
    value = _number(found, "THROUGHPUT")
    if value is None:
        value, unit, moves = _number(found, "TRANSACTION_RATE"), TRANSACTIONS, False
    if value is None and not _has_latency(found):
        raise unreadable(KIND, "output", sorted(found), "THROUGHPUT, TRANSACTION_RATE or a latency among the selectors")
    figure = None if value is None else rate(value, unit, "a throughput")
    sent, received = _ends(found, unit)
    per = found.get("SD_UNITS")
    return NetperfResult(
        test=test,
        throughput_bps=figure if moves else None,
        transactions_per_s=_number(found, "TRANSACTION_RATE") if moves else figure,
        elapsed_s=_number(found, "ELAPSED_TIME"),
        unit=unit if value is not None else None,
        cpu_local_pct=_percent(found, "LOCAL_CPU_UTIL"),
        cpu_remote_pct=_percent(found, "REMOTE_CPU_UTIL"),
        service_demand_local_us=_demand(found, "LOCAL_SD"),
        service_demand_remote_us=_demand(found, "REMOTE_SD"),
        service_demand_per=per.replace("usec", "us") if isinstance(per, str) else None,
        loss=_loss(test or "", found, sent, received),
        send_throughput_bps=sent,
        send_socket_bytes=_size(found, "LSS_SIZE_END", "LSS_SIZE"),
        recv_socket_bytes=_size(found, "LSR_SIZE_END", "LSR_SIZE")
        if not moves
        else _size(found, "RSR_SIZE_END", "RSR_SIZE"),
        message_bytes=_size(found, "LOCAL_SEND_SIZE"),
        request_bytes=_size(found, "REQUEST_SIZE"),
        response_bytes=_size(found, "RESPONSE_SIZE"),
        confidence=_confidence(found),
        selectors=found,
    )


def _has_latency(found: Selectors) -> bool:
    """A latency that was measured: -1 stands for one that was not."""
    return any(
        key.endswith("_LATENCY") and isinstance(value, int | float) and value >= 0 for key, value in found.items()
    )


def _test(found: Selectors) -> str | None:
    """The test that moves data this way; None when protocol or direction were not selected."""
    way = {"Send": "STREAM", "Receive": "MAERTS", "Send|Recv": "RR"}.get(str(found.get("DIRECTION")))
    protocol = found.get("PROTOCOL")
    return f"{protocol}_{way}" if way and protocol else None


def _value(key: str, text: str) -> str | float | int | None:
    if key in _TEXTS:
        return text
    if text in _NO_NUMBER:
        return None
    if _WHOLE.fullmatch(text) and key != "THROUGHPUT":
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) else text


def _number(found: Mapping[str, object], key: str) -> float | None:
    value = found.get(key)
    if value is None and key in found:
        raise worthless(f"{key} is no number")
    if value is None:
        return None
    if not isinstance(value, int | float):
        raise unreadable(KIND, key, value, "a number as netperf prints it")
    return float(value)


def _unit(test: str, found: Selectors, command: NetperfCommand | None) -> str:
    """Of the selector, else of ``-f``, else the default: transactions for request tests, 10^6bits for others."""
    printed = found.get("THROUGHPUT_UNITS")
    if isinstance(printed, str):
        unit = unit_of(printed)
        if unit is None:
            raise unreadable(KIND, "THROUGHPUT_UNITS", printed, "a unit such as 10^6bits/s")
        return unit
    if "THROUGHPUT" not in found:
        return TRANSACTIONS
    if command is None:
        raise unreadable(KIND, "output", sorted(found), "THROUGHPUT_UNITS, or the command that tells the unit")
    if command.unit is not None:
        unit = unit_of_letter(command.unit)
        if unit is None:
            raise unreadable(KIND, "option -f of the command", command.unit, "one of B K M G b k m g x")
        return unit
    return TRANSACTIONS if test.endswith(("RR", "CC")) else "10^6bits"


def _ends(found: Selectors, unit: str) -> tuple[float | None, float | None]:
    """What was sent and received in bit/s, by either side; None when not selected or zero on both sides."""
    rates = []
    for way in ("SEND", "RECV"):
        values = [_number(found, f"{side}_{way}_THROUGHPUT") for side in ("LOCAL", "REMOTE")]
        known = [value for value in values if value is not None and value > 0]
        rates.append(rate(known[0], unit, way) if len(known) == 1 and unit != TRANSACTIONS else None)
    return rates[0], rates[1]


def _loss(test: str, found: Selectors, sent: float | None, received: float | None) -> float | None:
    """By throughput: omni output has no count of messages of both sides by default."""
    is_udp = test.startswith("UDP") or found.get("PROTOCOL") == "UDP"
    if not is_udp or sent is None or received is None or test.endswith("RR"):
        return None
    if received > sent * 1.02:
        raise worthless(f"{received:g} bit/s received, more than the {sent:g} bit/s sent")
    return max(0.0, 1 - received / sent)


def _percent(found: Selectors, key: str) -> float | None:
    value = _number(found, key) if found.get(key) is not None else None
    return None if value is None else percent(value, key)


def _demand(found: Selectors, key: str) -> float | None:
    value = _number(found, key) if found.get(key) is not None else None
    return None if value is None else demand(value)


def _size(found: Selectors, *keys: str) -> int | None:
    for key in keys:
        value = found.get(key)
        if isinstance(value, int) and value >= 0:
            return value
    return None


def _confidence(found: Selectors) -> Confidence | None:
    """Widths are whole ones, as CONFIDENCE_INTERVAL is; a negative level or width says that none was asked for."""
    level, wanted = _optional(found, "CONFIDENCE_LEVEL"), _optional(found, "CONFIDENCE_INTERVAL")
    reached = widths(found)
    if level is None or wanted is None or reached[0] is None:
        return None
    met = all(width is None or width <= wanted for width in reached)
    return Confidence(int(level), wanted / 2, met, *reached)


def widths(found: Selectors) -> tuple[float | None, float | None, float | None]:
    """The whole widths reached of throughput, local and remote CPU, in percent of the mean."""
    local, remote = _percent(found, "LOCAL_CPU_UTIL"), _percent(found, "REMOTE_CPU_UTIL")
    return (
        _optional(found, "THROUGHPUT_CONFID"),
        _optional(found, "LOCAL_CPU_CONFID") if local is not None else None,
        _optional(found, "REMOTE_CPU_CONFID") if remote is not None else None,
    )


def _optional(found: Selectors, key: str) -> float | None:
    value = found.get(key)
    return float(value) if isinstance(value, int | float) and value >= 0 else None
