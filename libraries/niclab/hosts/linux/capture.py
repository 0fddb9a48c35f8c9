"""Texts as people record them: a shell prompt before and after the output, warnings of standard error in between."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode, load_json

_PROMPT = r"[^#$>%:|<]{0,80}(?::[^#$>%|<]{0,80})?[#$>%]"
_ECHO = re.compile(
    rf"\s*(?:{_PROMPT}\s*(?:\S.{{0,120}} )?)?(?:sudo\s+)?(?:/[a-z/]{{1,40}}/)?(?:ethtool|ip|cat|bat)(?: .*)?"
)
_BARE_PROMPT = re.compile(
    rf"(?:\[?[A-Za-z0-9_.-]{{1,40}}@{_PROMPT}|[A-Za-z0-9_.-]{{1,40}}:[~/][^#$>%]{{0,80}}[#$>%]|[#$>%])\s*(?:exit)?"
)
# ethtool writes these to standard error; they stand in the output when both streams were recorded in one file.
_NOISE = ("Cannot get ", "netlink error:", "netlink warning:")

Line = tuple[int, str]


def content(text: str) -> list[Line]:
    """Number and text of every line that has content: no blank lines, no prompt with the command before it, no bare
    prompt after it, no complaint of the tool, no line end of Windows, no NUL of a console."""
    plain = text.removeprefix("\ufeff").replace("\x00", "")
    lines = [(number, line) for number, raw in enumerate(plain.split("\n"), start=1) if (line := raw.rstrip())]
    if any(noise in plain for noise in _NOISE):
        lines = [(number, line) for number, line in lines if not line.startswith(_NOISE)]
    if lines and _ECHO.fullmatch(lines[0][1]):
        lines = lines[1:]
    if lines and _BARE_PROMPT.fullmatch(lines[-1][1]):
        lines = lines[:-1]
    return lines


def is_json(lines: list[Line]) -> bool:
    """Whether the output is a JSON document."""
    return bool(lines) and lines[0][1].lstrip().startswith(("[", "{"))


def json_document(kind: str, lines: list[Line]) -> JsonNode:
    """The document of ``lines``."""
    return load_json(kind, "\n".join(line for _, line in lines))


def json_interface(kind: str, lines: list[Line]) -> JsonNode:
    """The only object of ``ethtool --json``'s list: several interfaces are ambiguous, none is no answer."""
    entries = json_document(kind, lines).items()
    if len(entries) != 1 or not isinstance(entries[0].value, dict):
        raise unreadable(kind, "JSON", f"{len(entries)} entries", "one object, of one interface")
    return entries[0]


def heading(kind: str, lines: list[Line], pattern: re.Pattern[str], wanted: str) -> str:
    """The interface of the heading, which is the first line."""
    if not lines:
        raise unreadable(kind, "text", "", wanted)
    number, line = lines[0]
    match = pattern.fullmatch(line)
    if match is None:
        raise unreadable(kind, f"line {number}", line, wanted)
    return match[1]


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
