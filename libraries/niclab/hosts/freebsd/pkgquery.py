"""What the format of a ``pkg query FORMAT`` command prints, as a pattern that reads it again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.transcript import command_words

# pkg-query(8): the conversions that stand for one field of one line.
QUERY_FIELDS = {
    **{"n": "name", "v": "version", "c": "comment", "o": "origin", "q": "arch", "p": "prefix", "R": "repository"},
    **{"t": "installed_on"},
}
# As much as fits: a name may hold the hyphen that also stands before the version ("%n-%v").
_WORD = r"\S+"
_CONVERSION = re.compile(r"%(.)")


@dataclass(frozen=True)
class Query:
    """``pattern`` of one line. ``name`` of the only package asked for, when the format does not print it."""

    pattern: re.Pattern[str]
    name: str | None


def read_query(kind: str, command: str | None) -> Query | None:
    """What a command prints; None when it is no ``pkg query`` (or not known).

    :raises ReadError: for a format that cannot be read back: without %v, without %n for several packages, or with
        conversions that print several lines.
    """
    words = command_words(command)
    verb = next((word for word in words[:3] if word in ("query", "rquery")), None)
    if verb is None:
        return None
    arguments = [word for word in words[words.index(verb) + 1 :] if not word.startswith("-")]
    formats = [word for word in arguments if "%" in word]
    names = [word for word in arguments if "%" not in word]
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
    if "v" not in seen or ("n" not in seen and len(names) != 1):
        raise unreadable(kind, "command", command, "a format with %n and %v")
    return Query(re.compile(pattern), None if "n" in seen else names[0])
