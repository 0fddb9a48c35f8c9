"""Readers of ``ethtool -g`` (rings) and ``ethtool -l`` (channels): two sections of sizes, text and JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.hosts.errors import unreadable
from niclab.hosts.ethtool_records import ChannelCounts, Channels, Rings, RingSizes
from niclab.hosts.linux.capture import (
    content,
    headed,
    is_json,
    json_bool,
    json_count,
    json_interface,
    on_off,
)
from niclab.hosts.reading import JsonNode, whole_number
from niclab.hosts.transcript import Line

_RINGS = "ethtool -g"
_CHANNELS = "ethtool -l"
_RING_HEADING = re.compile(r"Ring parameters for ([^\s:]+):")
_CHANNEL_HEADING = re.compile(r"Channel parameters for ([^\s:]+):")
_FIRST = re.compile(r"Pre-set maximums:")
_SECTIONS = {"Pre-set maximums:": "max", "Current hardware settings:": "current"}
_ROW = re.compile(r"\s*([A-Za-z][A-Za-z ]{0,30}):\s*(\S{1,30})")

_RING_ROWS = ("rx", "rx_mini", "rx_jumbo", "tx")
_RING_MORE = ("rx_buf_len", "cqe_size", "tx_push_buff_len", "hds_thresh")
_SWITCHES = ("tx_push", "rx_push", "tcp_data_split")
# TCP data split of a driver that leaves it to itself, or has a state that the tool does not know.
_UNDECIDED = ("auto", "unsupported")
_CHANNEL_ROWS = ("rx", "tx", "other", "combined")
# Every version prints these rows in both sections or in none.
_IN_BOTH = frozenset((*_RING_ROWS, *_CHANNEL_ROWS))

_Sizes = dict[str, int | None]
_Flags = dict[str, bool | None]


def read_rings(text: str) -> Rings:
    """Read ``ethtool -g``. Both sections must be there, each with a row; a row that is missing is None."""
    lines = content(text)
    known = _RING_ROWS + _RING_MORE
    iface: str | None
    if is_json(lines):
        node = json_interface(_RINGS, lines)
        iface, sections = node.child("ifname").text(), _json_sections(node, _RING_ROWS, known)
    else:
        iface, rows = headed(_RINGS, lines, _RING_HEADING, _FIRST, "the heading 'Ring parameters for IFACE:'")
        sections = _sections(_RINGS, rows, known)
    return Rings(iface, _ring_sizes(*sections["max"]), _ring_sizes(*sections["current"]))


def read_channels(text: str) -> Channels:
    """Read ``ethtool -l``. Both sections must be there, each with a row; a row that is missing is None."""
    lines = content(text)
    iface: str | None
    if is_json(lines):
        node = json_interface(_CHANNELS, lines)
        iface, sections = node.child("ifname").text(), _json_sections(node, _CHANNEL_ROWS, _CHANNEL_ROWS)
    else:
        wanted = "the heading 'Channel parameters for IFACE:'"
        iface, rows = headed(_CHANNELS, lines, _CHANNEL_HEADING, _FIRST, wanted)
        sections = _sections(_CHANNELS, rows, _CHANNEL_ROWS)
    return Channels(iface, _channel_counts(sections["max"][0]), _channel_counts(sections["current"][0]))


def _ring_sizes(sizes: Mapping[str, int | None], flags: Mapping[str, bool | None]) -> RingSizes:
    return RingSizes(
        rx=sizes.get("rx"),
        rx_mini=sizes.get("rx_mini"),
        rx_jumbo=sizes.get("rx_jumbo"),
        tx=sizes.get("tx"),
        rx_buf_len=sizes.get("rx_buf_len"),
        cqe_size=sizes.get("cqe_size"),
        tx_push=flags.get("tx_push"),
        rx_push=flags.get("rx_push"),
        tx_push_buff_len=sizes.get("tx_push_buff_len"),
        tcp_data_split=flags.get("tcp_data_split"),
        hds_thresh=sizes.get("hds_thresh"),
    )


def _channel_counts(sizes: Mapping[str, int | None]) -> ChannelCounts:
    return ChannelCounts(sizes.get("rx"), sizes.get("tx"), sizes.get("other"), sizes.get("combined"))


def _sections(kind: str, lines: list[Line], known: tuple[str, ...]) -> dict[str, tuple[_Sizes, _Flags]]:
    """Both sections, each with its sizes and its switches.

    Some versions after 6.15 print neither heading of -g: the second section begins where the first row comes back.
    """
    unnamed = not any(line.strip() in _SECTIONS for _, line in lines)
    found: dict[str, tuple[_Sizes, _Flags]] = {"max": ({}, {})} if unnamed else {}
    section = found.get("max")
    for number, line in lines:
        where = f"line {number}"
        name = _SECTIONS.get(line.strip())
        if name is not None and name not in found:
            section = found[name] = ({}, {})
            continue
        match = _ROW.fullmatch(line)
        if match is None or section is None:
            raise unreadable(kind, where, line, f"{' or '.join(map(repr, _SECTIONS))} once each, then 'NAME: SIZE'")
        row = match[1].strip().lower().replace(" ", "_")
        if unnamed and "current" not in found and row == next(iter(section[0]), None):
            section = found["current"] = ({}, {})
        if row in section[0] or row in section[1]:
            raise unreadable(kind, where, line, f"{match[1]} once a section")
        if row in _SWITCHES and kind == _RINGS:
            value = "n/a" if row == "tcp_data_split" and match[2] in _UNDECIDED else match[2]
            section[1][row] = on_off(kind, where, value, match[1])
        elif row in known:
            value = match[2]
            section[0][row] = None if value.lower() == "n/a" else whole_number(kind, where, value, match[1])
        else:
            raise unreadable(kind, where, line, f"one of {', '.join(known)}")
    _refuse_missing(kind, found)
    return found


def _refuse_missing(kind: str, found: Mapping[str, tuple[_Sizes, _Flags]]) -> None:
    for heading_line, name in _SECTIONS.items():
        if name not in found or not any(found[name]):
            raise unreadable(kind, "text", heading_line, "this section with at least one row: the output is incomplete")
    maxima, current = (found[name][0] for name in _SECTIONS.values())
    lost = [row for row in maxima if row in _IN_BOTH and row not in current]
    if lost:
        raise unreadable(kind, "text", ", ".join(current), f"{lost[0]} in both sections: the output is incomplete")


def _json_sections(node: JsonNode, needed: tuple[str, ...], known: tuple[str, ...]) -> dict[str, tuple[_Sizes, _Flags]]:
    """Maxima are named ``rx-max``, current sizes ``rx``; what a driver does not have is left out or "n/a"."""
    assert isinstance(node.value, dict)
    names = {"ifname"} | {row.replace("_", "-") for row in known + (_SWITCHES if node.kind == _RINGS else ())}
    unknown = [name for name in node.value if name.removesuffix("-max") not in names]
    if unknown:
        raise node.wrong(f"the names {', '.join(sorted(names))}, not {unknown[0]}")
    maxima = {row: json_count(node.optional(f"{row.replace('_', '-')}-max")) for row in known}
    current = {row: json_count(node.optional(row.replace("_", "-"))) for row in known}
    if all(current[row] is None and maxima[row] is None for row in needed):
        raise node.wrong(f"at least one of {', '.join(needed)}")
    switches = {row: node.optional(row.replace("_", "-")) for row in _SWITCHES}
    flags = {
        row: None if row == "tcp_data_split" and switch and switch.value in _UNDECIDED else json_bool(switch)
        for row, switch in switches.items()
    }
    return {"max": (maxima, {}), "current": (current, flags)}
