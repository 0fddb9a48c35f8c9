"""Texts of ethtool and its neighbours as people record them, and what their JSON has in common."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode, dedented, load_json
from niclab.hosts.transcript import Line, command_words, transcript

# ethtool writes these to standard error; they stand in the output when both streams were recorded in one file.
_SEPARATOR = "--"  # grep -A writes it between groups of lines
_REMARK = re.compile(r"^(\s*)#(?: |$)")
_LEAST_REMARKS = 2
_NOISE = ("Cannot get ", "netlink error:", "netlink warning:")


def content(text: str) -> list[Line]:
    """Number and text of every line that has content: no blank lines, no prompts, no complaint of the tool beside its
    answer, no margin of all lines."""
    lines = transcript(_uncommented(text), "ethtool", "ip", "cat", "bat", "bridge").filled
    if "\x1b" in text or any(noise in text for noise in _NOISE):
        lines = tuple((number, line) for number, line in lines if not line.lstrip().startswith(_NOISE))
    return [entry for entry in dedented(lines) if entry[1] != _SEPARATOR]


def _uncommented(text: str) -> str:
    """The text without the sharps of a script's remarks, in which pages show what a command prints: they stand before
    every line below the first, which may be the command."""
    if "#" not in text:
        return text
    lines = text.split("\n")
    shown = [line for line in lines if line.strip()][1:]
    if len(shown) < _LEAST_REMARKS or not all(_REMARK.match(line) for line in shown):
        return text
    return "\n".join(_REMARK.sub(r"\1", line) for line in lines)


def asked_interface(text: str, option: str) -> str | None:
    """The interface of ``ethtool OPTION IFACE | ...`` that was echoed before the output; None for any other command.

    A pipe may have taken the heading away, so that the command alone says what the lines are. The option "ethtool" is
    that of the link settings, which have none.
    """
    command = transcript(text, "ethtool").command
    words = command_words(command)
    if command is None or "|" not in command or option not in words[:-1]:
        return None
    asked = words[words.index(option) + 1]
    return None if asked.startswith("-") else asked


def is_json(lines: list[Line]) -> bool:
    """Whether the output is a JSON document."""
    return bool(lines) and lines[0][1].lstrip().startswith(("[", "{"))


def json_document(kind: str, lines: list[Line], *, repeated: bool = False) -> JsonNode:
    """The document of ``lines``."""
    return load_json(kind, "\n".join(line for _, line in lines), repeated=repeated)


def json_interface(kind: str, lines: list[Line], *, repeated: bool = False) -> JsonNode:
    """The only object of ``ethtool --json``'s list: several interfaces are ambiguous, none is no answer."""
    entries = json_document(kind, lines, repeated=repeated).items()
    if len(entries) != 1 or not isinstance(entries[0].value, dict):
        raise unreadable(kind, "JSON", f"{len(entries)} entries", "one object, of one interface")
    return entries[0]


def headed(
    kind: str, lines: list[Line], pattern: re.Pattern[str], first: re.Pattern[str], wanted: str
) -> tuple[str | None, list[Line]]:
    """The interface of the heading and the lines below it.

    :param first: the line that stands below the heading in every version. Where a text begins with it, a pipe or a
        person has taken the heading away, and nothing says what interface it is: None.
    """
    if not lines:
        raise unreadable(kind, "text", "", wanted)
    number, line = lines[0]
    match = pattern.fullmatch(line)
    if match is not None:
        return match[1], lines[1:]
    if first.fullmatch(line.strip()):
        return None, lines
    raise unreadable(kind, f"line {number}", line, wanted)


def on_off(kind: str, where: str, text: str, what: str) -> bool | None:
    """``on`` and ``off``; ``n/a`` is None."""
    if text not in ("on", "off", "n/a", "N/A"):
        raise unreadable(kind, where, text, f"{what}: on, off or n/a")
    return None if text in ("n/a", "N/A") else text == "on"


def json_bool(node: JsonNode | None) -> bool | None:
    """A boolean, or the words on, off and n/a; None when missing."""
    if node is None or node.value == "n/a":
        return None
    if isinstance(node.value, bool):
        return node.value
    if node.value in ("on", "off"):
        return node.value == "on"
    raise node.wrong("true or false")


def json_count(node: JsonNode | None) -> int | None:
    """A whole number; None when missing or "n/a"."""
    return None if node is None or node.value == "n/a" else node.count()


def json_text(node: JsonNode | None) -> str | None:
    """A text; None when missing or empty."""
    return (node.text().strip() or None) if node else None
