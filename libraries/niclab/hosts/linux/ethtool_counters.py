"""Reader of ``ethtool -S``, in the shapes from ethtool 2.6 to 6.15, and of ``ethtool --json -S --groups``."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.linux.capture import asked_interface, content, is_json, json_interface
from niclab.hosts.reading import JsonNode
from niclab.hosts.records import Counters
from niclab.hosts.transcript import Line, transcript

_KIND = "ethtool -S"
_HEADING = "NIC statistics:"
_STANDARD = re.compile(r"Standard stats for [^\s:]+:")
_LEAST_MARGIN = 5
_LONGEST = 20  # digits of the greatest 64-bit counter


def read_counters(text: str) -> Counters:
    """Read the counters. The value stands after the last colon: names may hold colons and blanks."""
    lines = content(text)
    if is_json(lines):
        return _from_json(json_interface(_KIND, lines))
    if lines and (lines[0][1].strip() == _HEADING or _STANDARD.fullmatch(lines[0][1].strip())):
        lines = lines[1:]
    elif lines and asked_interface(text, "-S") is None and not _has_the_margin(text):
        raise unreadable(_KIND, f"line {lines[0][0]}", lines[0][1], f"the heading '{_HEADING}'")
    else:
        _refuse_twice(lines)
    entries: list[tuple[str, int]] = []
    for number, line in lines:
        name, _, value = line.rpartition(":")
        name, value = name.strip(), value.strip()
        if not name:
            raise unreadable(_KIND, f"line {number}", line, "'name: number'")
        if not (value.isdecimal() and value.isascii() and len(value) <= _LONGEST):
            raise unreadable(_KIND, f"line {number}", value, f"counter {name}: a whole number")
        entries.append((name, int(value)))
    return _complete(entries, text)


def _refuse_twice(lines: list[Line]) -> None:
    """Without headings nothing else tells that the counters of one interface stand behind those of another."""
    names = [line.rpartition(":")[0].strip() for _, line in lines]
    half = len(names) // 2
    if half > 1 and names[:half] == names[half:]:
        raise unreadable(_KIND, f"line {lines[half][0]}", lines[half][1], "the counters of one interface, once")


def _has_the_margin(text: str) -> bool:
    """Whether all lines stand as ethtool prints counters, so that it is only the heading that somebody left out."""
    margins = {len(line) - len(line.lstrip(" ")) for _, line in transcript(text, "ethtool").filled}
    return len(margins) == 1 and margins.pop() >= _LEAST_MARGIN


def _from_json(node: JsonNode) -> Counters:
    """Groups of the kernel's standard counters, under the names of the text form: ``eth-mac-FramesTransmittedOK``."""
    node.child("ifname").text()
    assert isinstance(node.value, dict)
    entries: list[tuple[str, int]] = []
    for group in node.value:
        if group == "ifname":
            continue
        members = node.child(group)
        if not isinstance(members.value, dict):
            raise members.wrong("an object of counters")
        for name in members.value:
            member = members.child(name)
            if isinstance(member.value, list):
                entries += [_histogram(group, name, entry) for entry in member.items()]
            else:
                entries.append((f"{group}-{name}", member.count()))
    return _complete(entries, node.child("ifname").text())


def _histogram(group: str, name: str, entry: JsonNode) -> tuple[str, int]:
    """``rx-pktsNtoM`` of rmon: frames by length."""
    low, high = entry.child("low").count(), entry.child("high").count()
    return f"{name.partition('-')[0]}-{group}-etherStatsPkts{low}to{high}Octets", entry.child("val").count()


def _complete(entries: list[tuple[str, int]], text: str) -> Counters:
    if not entries:
        raise unreadable(_KIND, "text", text, f"'{_HEADING}' and at least one counter")
    return Counters(tuple(entries))
