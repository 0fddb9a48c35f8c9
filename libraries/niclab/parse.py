"""Every reader of tool output under one name each: text in, record as JSON out (``niclab parse``).

A kind is named after the tool and form it reads (``ethtool-i``, ``pciconf``). Its reader gets the text and, where
known, the command line that printed it, and returns a record or raises :class:`~niclab.hosts.errors.ReadError`.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from niclab.hosts.errors import ReadError
from niclab.hosts.linux import bonding, ethtool, ip_link, vlan
from niclab.hosts.linux import ethtool_coalesce as coalesce
from niclab.hosts.linux import ethtool_counters as counters
from niclab.hosts.linux import ethtool_features as features
from niclab.hosts.linux import ethtool_module as module
from niclab.hosts.linux import ethtool_sizes as sizes
from niclab.traffic import iperf3

Reader = Callable[[str, str | None], object]


@dataclass(frozen=True)
class Kind:
    """``what`` is one line for ``niclab parse --list``. ``read(text, command)`` gives a dataclass."""

    name: str
    what: str
    read: Reader


def _of_text(reader: Callable[[str], object]) -> Reader:
    """A reader that does not need to know the command."""
    return lambda text, _command: reader(text)


_ALL = (
    Kind("ethtool", "link settings: ethtool IFACE", _of_text(ethtool.read_link_settings)),
    Kind("ethtool-i", "driver: ethtool -i IFACE", _of_text(ethtool.read_driver_info)),
    Kind("ethtool-S", "counters: ethtool -S IFACE", _of_text(counters.read_counters)),
    Kind("ethtool-k", "features: ethtool -k IFACE", _of_text(features.read_features)),
    Kind("ethtool-g", "rings: ethtool -g IFACE", _of_text(sizes.read_rings)),
    Kind("ethtool-l", "channels: ethtool -l IFACE", _of_text(sizes.read_channels)),
    Kind("ethtool-c", "coalescing: ethtool -c IFACE", _of_text(coalesce.read_coalescing)),
    Kind("ethtool-a", "pause frames: ethtool -a IFACE", _of_text(coalesce.read_pause)),
    Kind("ethtool-m", "module: ethtool -m IFACE", _of_text(module.read_module)),
    Kind("ip-link", "interfaces: ip [-j] [-d] [-s] link or addr", _of_text(ip_link.read_links)),
    Kind("bonding", "a bond: /proc/net/bonding/NAME", _of_text(bonding.read_bonding)),
    Kind("vlan", "VLANs: /proc/net/vlan/config, /proc/net/vlan/NAME, ip -d link", _of_text(vlan.read_vlans)),
    Kind("iperf3", "iperf3 -J", _of_text(iperf3.read_iperf3)),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in sorted(_ALL, key=lambda kind: kind.name)}


def parse(kind: str, text: str, command: str | None = None) -> dict[str, object]:
    """The record of ``text`` as JSON values.

    :raises ReadError: when the text cannot be read, or no such kind exists.
    """
    if kind not in KINDS:
        raise ReadError(f"unknown kind {kind!r}: expected one of {', '.join(KINDS)}")
    record = as_json(KINDS[kind].read(text, command))
    assert isinstance(record, dict)
    return record


def parse_batch(lines: Iterable[str]) -> Iterator[str]:
    """For each JSON line ``{"id", "kind", "text", "command"}`` one line ``{"id", "record"}`` or ``{"id", "error"}``."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield json.dumps(_answer(number, line), ensure_ascii=False)


def _answer(number: int, line: str) -> dict[str, object]:
    identity: object = None
    try:
        request = json.loads(line)
        if not isinstance(request, dict):
            raise ReadError(f"request line {number}: expected a JSON object")
        identity = request.get("id")
        kind, text, command = request.get("kind"), request.get("text"), request.get("command")
        if not isinstance(kind, str) or not isinstance(text, str) or not isinstance(command, str | None):
            raise ReadError(f"request line {number}: expected kind and text as strings, command a string or null")
        return {"id": identity, "record": parse(kind, text, command)}
    except (ValueError, RecursionError) as error:
        return {"id": identity, "error": f"request line {number}: expected one JSON object ({error})"}
    except ReadError as error:
        return {"id": identity, "error": str(error)}


def as_json(value: object) -> object:
    """Records as JSON values; a record with an ``as_json`` method of its own is asked."""
    own = getattr(value, "as_json", None)
    if own is not None:
        return as_json(own())
    if dataclasses.is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item) for item in value]
    return value


def run(kind: str | None, command: str | None, *, batch: bool, listing: bool) -> int:
    """What ``niclab parse`` does; 0 all read, 2 unreadable and said on standard error (never so for a batch)."""
    if listing:
        for entry in KINDS.values():
            print(f"{entry.name:20} {entry.what}")
        return 0
    if batch:
        for answer in parse_batch(sys.stdin):
            print(answer, flush=True)
        return 0
    text = sys.stdin.buffer.read().decode("utf-8", errors="replace")
    try:
        print(json.dumps(parse(kind or "", text, command), indent=2, ensure_ascii=False))
    except ReadError as error:
        print(f"niclab: {error}", file=sys.stderr)
        return 2
    return 0
