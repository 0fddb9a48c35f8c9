"""Readers of ``ethtool -c`` (coalescing) and ``ethtool -a`` (pause frames), text and JSON."""

from __future__ import annotations

import json
import re

from niclab.hosts.errors import unreadable
from niclab.hosts.ethtool_records import Coalescing, Pause
from niclab.hosts.linux.capture import (
    content,
    headed,
    is_json,
    json_bool,
    json_count,
    json_interface,
    on_off,
)
from niclab.hosts.reading import JsonNode, once_each, whole_number
from niclab.hosts.transcript import Line

_COALESCE = "ethtool -c"
_PAUSE = "ethtool -a"
_COALESCE_HEADING = re.compile(r"Coalesce parameters for ([^\s:]+):")
_PAUSE_HEADING = re.compile(r"Pause parameters for ([^\s:]+):")
_MODES = re.compile(r"(Adaptive|CQE mode) RX:\s*(\S{1,10})\s+TX:\s*(\S{1,10})")
# ethtool 6.2 to 6.6 print "tx-aggr-time-usecs" without its colon.
_NAME = r"stats-block-usecs|sample-interval|pkt-rate-(?:low|high)|[rt]x-(?:usecs|frames?|aggr|cqe)(?:-[a-z]{1,20}){0,3}"
_JSON_NAME = re.compile(_NAME)
_PARAMETER = re.compile(rf"({_NAME})(?::\s*|\s+)(\S{{1,30}})")
# Steps of the adaptive moderation (ethtool 6.11 and later), which nothing here asks for.
_PROFILE = re.compile(r"[rt]x-profile:(?:\s*n/a)?|\{\.usec = .{1,80}\},?")
_JSON_PROFILES = ("rx-profile", "tx-profile")
_PAUSE_FIRST = re.compile(r"Autonegotiate\s*:\s*\S{1,10}")
_PAUSE_ROW = re.compile(r"(Autonegotiate|RX|TX|RX negotiated|TX negotiated)\s*:\s*(\S{1,10})")
_PAUSE_JSON = {"ifname", "autonegotiate", "rx", "tx", "negotiated", "statistics"}
_PAUSE_STATISTIC = re.compile(r"\s+([a-z][a-z0-9_-]{0,40}):\s*(\S{1,30})")


def read_coalescing(text: str) -> Coalescing:
    """Read ``ethtool -c``: at least one parameter or mode; what the text does not have is None."""
    lines = content(text)
    if is_json(lines):
        return _coalescing_from_json(_named_switches(lines))
    iface, rows = headed(_COALESCE, lines, _COALESCE_HEADING, _MODES, "the heading 'Coalesce parameters for IFACE:'")
    modes: dict[str, tuple[bool | None, bool | None]] = {}
    parameters: dict[str, int | None] = {}
    for number, line in rows:
        where = f"line {number}"
        mode, parameter = _MODES.fullmatch(line.strip()), _PARAMETER.fullmatch(line.strip())
        if mode is not None and mode[1] not in modes:
            rx, tx = (on_off(_COALESCE, where, word, mode[1]) for word in (mode[2], mode[3]))
            modes[mode[1]] = (rx, tx)
        elif parameter is not None and parameter[1] not in parameters:
            name, value = parameter[1], parameter[2]
            parameters[name] = None if value.lower() == "n/a" else whole_number(_COALESCE, where, value, name)
        elif not _PROFILE.fullmatch(line.strip()):
            raise unreadable(_COALESCE, where, line, "'Adaptive RX: on  TX: off' or 'rx-usecs: 3', each once")
    if not modes and not parameters:
        raise unreadable(_COALESCE, "text", iface or "", "at least one parameter")
    adaptive, cqe = (modes.get(name, (None, None)) for name in ("Adaptive", "CQE mode"))
    return Coalescing(iface, *adaptive, *cqe, parameters)


def _named_switches(lines: list[Line]) -> JsonNode:
    """The only object, with the names of later versions: before 6.14 the switches of the adaptive moderation and those
    of the CQE mode are both called rx and tx, the first before the parameters, the others behind them."""
    json_interface(_COALESCE, lines, repeated=True)
    text = "\n".join(line for _, line in lines)
    try:
        document = json.loads(text, object_pairs_hook=_switches)
    except ValueError as error:
        raise unreadable(_COALESCE, "JSON", text, f"each parameter once ({error})") from error
    return JsonNode(_COALESCE, "[0]", document[0])


def _switches(pairs: list[tuple[str, object]]) -> dict[str, object]:
    renamed: list[tuple[str, object]] = []
    mode = "adaptive"
    for name, value in pairs:
        renamed.append((f"{mode}-{name}" if name in ("rx", "tx") else name, value))
        mode = "cqe-mode" if _JSON_NAME.fullmatch(name) else mode
    return once_each(renamed)


def _coalescing_from_json(node: JsonNode) -> Coalescing:
    assert isinstance(node.value, dict)
    switches = ("adaptive-rx", "adaptive-tx", "cqe-mode-rx", "cqe-mode-tx")
    names = [name for name in node.value if name not in ("ifname", *switches, *_JSON_PROFILES)]
    if not names or not all(_JSON_NAME.fullmatch(name) for name in names):
        raise node.wrong("parameters such as rx-usecs, at least one")
    values = [json_bool(node.optional(name)) for name in switches]
    return Coalescing(
        iface=node.child("ifname").text(),
        adaptive_rx=values[0],
        adaptive_tx=values[1],
        cqe_mode_rx=values[2],
        cqe_mode_tx=values[3],
        parameters={name: json_count(node.optional(name)) for name in names},
    )


def read_pause(text: str) -> Pause:
    """Read ``ethtool -a``: at least one row, and all three that begin with the first one; what is missing is None."""
    lines = content(text)
    if is_json(lines):
        return _pause_from_json(json_interface(_PAUSE, lines))
    iface, lines = headed(_PAUSE, lines, _PAUSE_HEADING, _PAUSE_FIRST, "the heading 'Pause parameters for IFACE:'")
    rows: dict[str, bool | None] = {}
    statistics: dict[str, int] | None = None
    for number, line in lines:
        where = f"line {number}"
        row, statistic = _PAUSE_ROW.fullmatch(line.strip()), _PAUSE_STATISTIC.fullmatch(line)
        if line.strip() == "Statistics:" and statistics is None:
            statistics = {}
        elif row is not None and row[1] not in rows and statistics is None:
            rows[row[1]] = on_off(_PAUSE, where, row[2], row[1])
        elif statistic is not None and statistics is not None and statistic[1] not in statistics:
            statistics[statistic[1]] = whole_number(_PAUSE, where, statistic[2], statistic[1])
        else:
            raise unreadable(
                _PAUSE, where, line, "'Autonegotiate: on', 'RX: on', 'TX: on', each once, of one interface"
            )
    if not rows or ("Autonegotiate" in rows and not {"RX", "TX"} <= set(rows)):
        raise unreadable(_PAUSE, "text", ", ".join(rows) or iface or "", "RX and TX: the output is incomplete")
    return Pause(
        iface=iface,
        autoneg=rows.get("Autonegotiate"),
        rx=rows.get("RX"),
        tx=rows.get("TX"),
        rx_negotiated=rows.get("RX negotiated"),
        tx_negotiated=rows.get("TX negotiated"),
        statistics=statistics,
    )


def _pause_from_json(node: JsonNode) -> Pause:
    assert isinstance(node.value, dict)
    if not {"ifname", "autonegotiate"} <= set(node.value) <= _PAUSE_JSON:
        raise node.wrong(f"the names {', '.join(sorted(_PAUSE_JSON))}")
    negotiated, statistics = node.optional("negotiated"), node.optional("statistics")
    for name in ("rx", "tx"):
        node.child(name)
    return Pause(
        iface=node.child("ifname").text(),
        autoneg=json_bool(node.optional("autonegotiate")),
        rx=json_bool(node.child("rx")),
        tx=json_bool(node.child("tx")),
        rx_negotiated=json_bool(negotiated.optional("rx")) if negotiated else None,
        tx_negotiated=json_bool(negotiated.optional("tx")) if negotiated else None,
        statistics=_json_statistics(statistics) if statistics else None,
    )


def _json_statistics(node: JsonNode) -> dict[str, int] | None:
    """An empty object is no statistics: the text then has no heading either."""
    if not isinstance(node.value, dict):
        raise node.wrong("an object")
    return {name: node.child(name).count() for name in node.value} or None
