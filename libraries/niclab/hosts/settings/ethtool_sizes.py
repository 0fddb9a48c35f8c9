"""Readers of ``ethtool -g`` (rings) and ``ethtool -l`` (channels), which print no JSON before ethtool 6.8."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ethtool_output import headed, on_off
from niclab.hosts.reading import whole_number
from niclab.hosts.settings.ethtool_records import ChannelCounts, Channels, Rings, RingSizes

_RINGS = "ethtool -g"
_CHANNELS = "ethtool -l"
_SECTIONS = {"Pre-set maximums:": "max", "Current hardware settings:": "current"}
_ROW = re.compile(r"([A-Z][A-Za-z ]{1,30}):\t+(\S{1,20})")

_RING_ROWS = ("rx", "rx_mini", "rx_jumbo", "tx")
_RING_MORE = ("rx_buf_len", "cqe_size", "tx_push_buff_len", "hds_thresh")
_CHANNEL_ROWS = ("rx", "tx", "other", "combined")
_SWITCHES = ("tx_push", "rx_push", "tcp_data_split")
# TCP data split of a driver that leaves it to itself, or has a state that the tool does not know.
_UNDECIDED = ("auto", "unsupported")

_Section = dict[str, int | bool | None]


def read_rings(text: str) -> Rings:
    """Read ``ethtool -g``: both sections, each with all four rings.

    Raises:
        ReadError: The text is no such output, a section or ring is missing, or a row occurs twice.
    """
    iface, maxima, current = _sections(_RINGS, text, "Ring parameters for", _RING_ROWS, (*_RING_MORE, *_SWITCHES))
    return Rings(iface, _ring_sizes(maxima), _ring_sizes(current))


def read_channels(text: str) -> Channels:
    """Read ``ethtool -l``: both sections, each with all four sorts of queues.

    Raises:
        ReadError: The text is no such output, a section or row is missing, or a row occurs twice.
    """
    iface, maxima, current = _sections(_CHANNELS, text, "Channel parameters for", _CHANNEL_ROWS, ())
    return Channels(iface, _channel_counts(maxima), _channel_counts(current))


def _ring_sizes(rows: Mapping[str, int | bool | None]) -> RingSizes:
    return RingSizes(**{name: rows.get(name) for name in (*_RING_ROWS, *_RING_MORE, *_SWITCHES)})  # type: ignore[arg-type]


def _channel_counts(rows: Mapping[str, int | bool | None]) -> ChannelCounts:
    return ChannelCounts(**{name: rows[name] for name in _CHANNEL_ROWS})


def _sections(
    kind: str, text: str, heading: str, needed: tuple[str, ...], more: tuple[str, ...]
) -> tuple[str, _Section, _Section]:
    """The interface, the maxima and the current settings; what the driver does not have is None."""
    iface, lines = headed(kind, text, heading)
    found: dict[str, _Section] = {}
    section: _Section | None = None
    for number, line in lines:
        where = f"line {number}"
        name = _SECTIONS.get(line)
        if name is not None and name not in found:
            section = found[name] = {}
            continue
        match = _ROW.fullmatch(line)
        if match is None or section is None:
            raise unreadable(kind, where, line, f"{' or '.join(map(repr, _SECTIONS))} once each, then 'NAME: SIZE'")
        row = match[1].lower().replace(" ", "_")
        if row not in (*needed, *more) or row in section:
            raise unreadable(kind, where, line, f"one of {', '.join((*needed, *more))}, once a section")
        section[row] = _value(kind, where, row, match[2])
    for name in _SECTIONS.values():
        missing = [row for row in needed if row not in found.get(name, ())]
        if missing:
            raise unreadable(kind, "text", text, f"also {missing[0]} in section {name}: the output is incomplete")
    return iface, found["max"], found["current"]


def _value(kind: str, where: str, row: str, text: str) -> int | bool | None:
    if row in _SWITCHES:
        return None if row == "tcp_data_split" and text in _UNDECIDED else on_off(kind, where, text, row)
    return None if text == "n/a" else whole_number(kind, where, text, row)
