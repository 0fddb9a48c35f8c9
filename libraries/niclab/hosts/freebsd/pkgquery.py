"""What the format of a ``pkg query FORMAT`` command prints, as a pattern that reads it again."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.transcript import command_words

# pkg-query(8): the conversions that stand for one field of one line.
QUERY_FIELDS = {
    **{"n": "name", "v": "version", "c": "comment", "o": "origin", "q": "arch", "p": "prefix", "R": "repository"},
    **{"t": "installed_on"},
}
_WORD = r"\S+?"
_CONVERSION = re.compile(r"%(.)")


def query_pattern(kind: str, command: str | None) -> re.Pattern[str] | None:
    """The pattern of one line; None when the command is no ``pkg query`` (or not known).

    :raises ReadError: for a format that cannot be read back: without %n and %v, or with other conversions.
    """
    words = command_words(command)
    verb = next((word for word in words[:3] if word in ("query", "rquery")), None)
    if verb is None:
        return None
    formats = [word for word in words[words.index(verb) + 1 :] if "%" in word]
    if len(formats) != 1:
        raise unreadable(kind, "command", command, "one format in pkg query")
    parts = _CONVERSION.split(formats[0].replace("\\t", "\t").replace("\\n", ""))
    pattern = re.escape(parts[0])
    seen: set[str] = set()
    for letter, literal in zip(parts[1::2], parts[2::2], strict=True):
        if letter not in QUERY_FIELDS or letter in seen:
            raise unreadable(kind, "command", command, f"each of %{', %'.join(QUERY_FIELDS)} at most once")
        seen.add(letter)
        pattern += f"(?P<{letter}>{'.*' if letter == 'c' else _WORD})" + re.escape(literal)
    if not {"n", "v"} <= seen:
        raise unreadable(kind, "command", command, "a format with %n and %v")
    return re.compile(pattern)
