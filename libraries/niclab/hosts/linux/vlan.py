"""Reader of VLANs: ``/proc/net/vlan/config``, ``/proc/net/vlan/NAME``, and ``ip -d link`` of VLAN interfaces."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.link_records import Vlan, Vlans
from niclab.hosts.linux.capture import content, is_json
from niclab.hosts.linux.ip_link import read_links
from niclab.hosts.reading import whole_number
from niclab.hosts.transcript import Line

_KIND = "/proc/net/vlan"
_CONFIG = re.compile(r"VLAN Dev name\s*\|\s*VLAN ID")
_NAME_TYPE = re.compile(r"Name-Type: (\S+)(?:\s+bad_proto_recvd: \d{1,20})?")
_ROW = re.compile(r"(\S{1,30})\s*\|\s*(\S{1,10})\s*\|\s*(\S{1,30})")
_DEVICE = re.compile(r"(\S{1,30})\s+VID:\s*(\S{1,10})\s+REORDER_HDR:\s*([01])\s+dev->priv_flags:\s*[0-9a-f]{1,16}")
_COUNTER = re.compile(r"\s+([A-Za-z][A-Za-z /]{2,60}?)\s+(\S{1,30})")
_BELOW = re.compile(r"Device:\s*(\S{1,30})")
_MAPPINGS = re.compile(r"\s*(?:INGRESS|EGRESSS?) priority [Mm]appings:[0-9a-f: ]*")
_IP = re.compile(r"\d{1,9}: .*<.*")
_WANTED = "/proc/net/vlan/config, /proc/net/vlan/NAME or 'ip -d link' of a VLAN"
_HIGHEST_ID = 4095


def read_vlans(text: str) -> Vlans:
    """Read the VLANs of a text; ``config`` may hold none, the other forms must hold at least one."""
    lines = content(text)
    if not lines:
        raise unreadable(_KIND, "text", text, _WANTED)
    number, first = lines[0]
    if _CONFIG.fullmatch(first.strip()):
        return _config(lines[1:])
    if _DEVICE.fullmatch(first.strip()):
        return Vlans(None, (_device(lines),))
    if is_json(lines) or _IP.fullmatch(first):
        return _of_links(text)
    raise unreadable(_KIND, f"line {number}", first, _WANTED)


def _vlan_id(number: int, text: str) -> int:
    value = whole_number(_KIND, f"line {number}", text, "VLAN id")
    if value > _HIGHEST_ID:
        raise unreadable(_KIND, f"line {number}", text, f"VLAN id: 0 to {_HIGHEST_ID}")
    return value


def _config(lines: list[Line]) -> Vlans:
    name_type: str | None = None
    vlans: list[Vlan] = []
    for number, line in lines:
        kind, row = _NAME_TYPE.fullmatch(line.strip()), _ROW.fullmatch(line.strip())
        if kind is not None and name_type is None:
            name_type = kind[1]
        elif row is not None and name_type is not None:
            vlans.append(Vlan(row[1], _vlan_id(number, row[2]), row[3]))
        else:
            raise unreadable(_KIND, f"line {number}", line, "one 'Name-Type: X', then 'eth0.3 | 3 | eth0'")
    if name_type is None:
        raise unreadable(_KIND, "text", "VLAN Dev name | VLAN ID", "a line 'Name-Type: X' below it")
    return Vlans(name_type, tuple(vlans))


def _device(lines: list[Line]) -> Vlan:
    number, first = lines[0]
    head = _DEVICE.fullmatch(first.strip())
    assert head is not None
    below: str | None = None
    counters: dict[str, int] = {}
    for number_of, line in lines[1:]:
        device, counter = _BELOW.fullmatch(line.strip()), _COUNTER.fullmatch(line)
        if device is not None and below is None:
            below = device[1]
        elif _MAPPINGS.fullmatch(line):
            continue
        elif counter is not None and counter[1] not in counters:
            counters[counter[1]] = whole_number(_KIND, f"line {number_of}", counter[2], counter[1])
        else:
            raise unreadable(_KIND, f"line {number_of}", line, "a counter, 'Device: eth0' or priority mappings, once")
    if below is None or not counters:
        raise unreadable(_KIND, "text", first, "counters and a line 'Device: IFACE' below it")
    return Vlan(head[1], _vlan_id(number, head[2]), below, None, head[3] == "1", counters)


def _of_links(text: str) -> Vlans:
    vlans = tuple(
        Vlan(link.name, link.vlan_id, link.link, link.vlan_protocol)
        for link in read_links(text).interfaces
        if link.kind == "vlan" and link.vlan_id is not None
    )
    if not vlans:
        raise unreadable(_KIND, "text", text.strip(), "at least one interface of kind vlan, with its id (ip -d link)")
    return Vlans(None, vlans)
