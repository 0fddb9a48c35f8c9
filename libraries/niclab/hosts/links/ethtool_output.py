"""Shapes that ethtool's outputs have in common.

They are a heading that names the interface, rows of ``NAME: VALUE``, and with ``--json`` a list with one object. Every
command runs with ``LC_ALL=C``, and standard error is kept apart: what is here is what the tool printed.
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode, Line, filled, load_json


def headed(kind: str, text: str, heading: str) -> tuple[str, list[Line]]:
    """Split an output into the interface that its first line names, and the filled lines below.

    Args:
        kind: Name of the output, for messages.
        text: The output.
        heading: The words before the name, ``Ring parameters for``.

    Raises:
        ReadError: The first line is another one.
    """
    lines = filled(text)
    number, first = lines[0] if lines else (1, "")
    match = re.fullmatch(rf"{re.escape(heading)} ([^\s:]{{1,15}}):\s*", first)
    if match is None:
        raise unreadable(kind, f"line {number}", first, f"the heading '{heading} IFACE:'")
    return match[1], lines[1:]


def on_off(kind: str, where: str, text: str, what: str) -> bool | None:
    """Read ``on`` and ``off``; ``n/a`` is None."""
    if text not in ("on", "off", "n/a"):
        raise unreadable(kind, where, text, f"{what}: on, off or n/a")
    return None if text == "n/a" else text == "on"


def json_interface(kind: str, text: str) -> JsonNode:
    """Return the only object of ``ethtool --json``'s list: several interfaces are ambiguous, none is no answer."""
    entries = load_json(kind, text).items()
    if len(entries) != 1 or not isinstance(entries[0].value, dict):
        raise unreadable(kind, "JSON", f"{len(entries)} entries", "one object, of one interface")
    return entries[0]


def json_bool(node: JsonNode | None) -> bool | None:
    """Read true and false; None when missing or null."""
    if node is None:
        return None
    if not isinstance(node.value, bool):
        raise node.wrong("true or false")
    return node.value
