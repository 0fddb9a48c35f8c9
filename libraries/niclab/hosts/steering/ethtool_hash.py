"""Readers of ``ethtool -x`` (indirection table, key, function) and ``ethtool -n IFACE rx-flow-hash KIND`` (fields).

Shapes: ethtool 4.8 to 6.14, common.c, print_indir_table() and print_rss_hkey(); ethtool.c and netlink/rss.c, do_grxfh()
and rss_reply_cb(), dump_rxfhash() and unparse_rxfhashopts().
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import Line, filled
from niclab.hosts.steering.hash_records import FlowKind, HashField, HashFields, ReceiveHash

_TABLE, _FIELDS = "ethtool -x", "ethtool -n rx-flow-hash"
_HEADING = re.compile(r"RX flow hash indirection table for ([^\s:]{1,15}) with ([0-9]{1,5}) RX ring\(s\):")
_ROW = re.compile(r" {0,4}([0-9]{1,5}): {1,8}([0-9]{1,5}(?: {1,6}[0-9]{1,5}){0,7})")
_KEY, _FUNCTION, _TRANSFORMATION = "RSS hash key:", "RSS hash function:", "RSS input transformation:"
_KEY_BYTES = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){0,255}")
_SWITCH = re.compile(r" {4}([a-z0-9-]{1,31}): (on|off)")
_NOT_SHOWN = "Operation not supported"

_KINDS = {
    "TCP over IPV4": FlowKind.TCP4,
    "UDP over IPV4": FlowKind.UDP4,
    "TCP over IPV6": FlowKind.TCP6,
    "UDP over IPV6": FlowKind.UDP6,
}
_KIND = re.compile(
    r"((?:TCP|UDP) over IPV[46]) flows "
    r"(use these fields for computing Hash flow key:|- All matching flows discarded on RX)"
)
_WORDS = {
    "L2DA": HashField.DESTINATION_MAC,
    "VLAN tag": HashField.VLAN,
    "L3 proto": HashField.PROTOCOL,
    "IP SA": HashField.SOURCE,
    "IP DA": HashField.DESTINATION,
    "L4 bytes 0 & 1 [TCP/UDP src port]": HashField.SOURCE_PORT,
    "L4 bytes 2 & 3 [TCP/UDP dst port]": HashField.DESTINATION_PORT,
    "IPv6 Flow Label": HashField.FLOW_LABEL,
}


def read_receive_hash(text: str) -> ReceiveHash:
    """Read ``ethtool -x``.

    Raises:
        ReadError: The text is no such output, or a row of the table is missing.
    """
    lines = filled(text)
    number, first = lines[0] if lines else (1, "")
    heading = _HEADING.fullmatch(first)
    if heading is None:
        wanted = "'RX flow hash indirection table for IFACE with N RX ring(s):'"
        raise unreadable(_TABLE, f"line {number}", first, wanted)
    sections = _sections(lines[1:])
    table, rings = _table(sections["table"]), int(heading[2])
    on = _switched_on(sections.get(_FUNCTION, []))
    if len(on) > 1:
        raise unreadable(_TABLE, "hash function", ", ".join(on), "one function that is on")
    transformed = bool(_switched_on(sections.get(_TRANSFORMATION, [])))
    return ReceiveHash(heading[1], rings, table, _key(sections.get(_KEY, [])), on[0] if on else None, transformed)


def read_hash_fields(text: str) -> HashFields:
    """Read ``ethtool -n IFACE rx-flow-hash KIND``.

    Raises:
        ReadError: The text is no such output, a field is unknown or occurs twice, or none is named.
    """
    lines = filled(text)
    number, first = lines[0] if lines else (1, "")
    heading = _KIND.fullmatch(first.rstrip())
    if heading is None:
        raise unreadable(_FIELDS, f"line {number}", first, "'TCP over IPV4 flows use these fields ...'")
    kind = _KINDS[heading[1]]
    if heading[2].startswith("-"):
        return HashFields(kind, frozenset({HashField.DISCARDED}))
    if [line for _, line in lines[1:]] == ["None"]:
        return HashFields(kind, frozenset())
    found = set[HashField]()
    for number, line in lines[1:]:
        field = _WORDS.get(line)
        if field is None or field in found:
            raise unreadable(_FIELDS, f"line {number}", line, f"one of {', '.join(_WORDS)}, once")
        found.add(field)
    if not found:
        raise unreadable(_FIELDS, "text", text, "at least one field, or None")
    return HashFields(kind, frozenset(found))


def _sections(lines: list[Line]) -> dict[str, list[Line]]:
    """The lines below each heading, each heading once and in their order; those before the first are the table."""
    found: dict[str, list[Line]] = {"table": []}
    last = "table"
    order = ["table", _KEY, _FUNCTION, _TRANSFORMATION]
    for number, line in lines:
        if line.rstrip() in order:
            if order.index(line.rstrip()) <= order.index(last):
                raise unreadable(_TABLE, f"line {number}", line, "each heading once, key before function")
            last = line.rstrip()
            found[last] = []
        else:
            found[last].append((number, line))
    return found


def _table(lines: list[Line]) -> tuple[int, ...]:
    if [line for _, line in lines] == [_NOT_SHOWN]:
        return ()
    found = list[int]()
    for number, line in lines:
        row = _ROW.fullmatch(line)
        if row is None or int(row[1]) != len(found):
            raise unreadable(_TABLE, f"line {number}", line, f"'{len(found):5}: QUEUE QUEUE ...'")
        found += [int(word) for word in row[2].split()]
    if not found:
        raise unreadable(_TABLE, "table", "no entry", f"the entries, or {_NOT_SHOWN!r}")
    return tuple(found)


def _key(lines: list[Line]) -> bytes | None:
    texts = [line for _, line in lines]
    if texts in ([], [_NOT_SHOWN]):
        return None
    if len(texts) != 1 or not _KEY_BYTES.fullmatch(texts[0]):
        raise unreadable(_TABLE, "hash key", "\n".join(texts), "bytes as 6d:5a:56, in one line")
    return bytes.fromhex(texts[0].replace(":", ""))


def _switched_on(lines: list[Line]) -> list[str]:
    if [line.strip() for _, line in lines] == [_NOT_SHOWN]:
        return []
    on = list[str]()
    for number, line in lines:
        switch = _SWITCH.fullmatch(line)
        if switch is None:
            raise unreadable(_TABLE, f"line {number}", line, "'    NAME: on' or '    NAME: off'")
        on += [switch[1]] if switch[2] == "on" else []
    return on
