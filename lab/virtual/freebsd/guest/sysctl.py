"""sysctl: the kernel's settings as a tree, with values of the system below where there are such."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import oids
from below import Refusal

_LETTERS = "adeihNnoqx"


def sysctl(arguments: list[str]) -> int:
    letters = "".join(word[1:] for word in arguments if word.startswith("-") and len(word) > 1)
    names = [word for word in arguments if not word.startswith("-")]
    if any(letter not in _LETTERS for letter in letters):
        bad = next(letter for letter in letters if letter not in _LETTERS)
        raise Refusal(f"sysctl: illegal option -- {bad}\n{_usage()}")
    if not names and "a" not in letters:
        raise Refusal(_usage())
    failed = 0
    for name in names or [""]:
        failed |= _one(name, letters)
    return failed


def _usage() -> str:
    return "usage: sysctl [-bdehiNnoqx] name[=value] ...\n       sysctl [-bdehNnoqx] -a"


def _one(name: str, letters: str) -> int:
    name, equals, value = name.partition("=")
    name = name.rstrip(".")
    try:
        if equals:
            return _changed(name, value, letters)
        rows = list(_below(name))
    except Refusal as refusal:
        if "q" not in letters:
            sys.stderr.write(f"sysctl: {refusal}\n")
        return 1
    if not rows:
        if "i" in letters:
            return 0
        sys.stderr.write(f"sysctl: unknown oid '{name}'\n")
        return 1
    for row, text in rows:
        _print(row, text, letters)
    return 0


def _changed(name: str, value: str, letters: str) -> int:
    rows = list(_below(name))
    if not rows:
        sys.stderr.write(f"sysctl: unknown oid '{name}'\n")
        return 1
    if len(rows) != 1 or rows[0][0] != name:
        sys.stderr.write(f"sysctl: oid '{name}' isn't a leaf node\n")
        return 1
    before = rows[0][1]
    after = oids.change(name, value)
    if "n" in letters:
        print(after)
    elif "q" not in letters:
        print(f"{name}: {before} -> {after}")
    return 0


def _print(name: str, text: str, letters: str) -> None:
    if "N" in letters:
        print(name)
    elif "n" in letters:
        print(text)
    else:
        print(f"{name}{'=' if 'e' in letters else ': '}{text}")


def _below(name: str) -> Iterator[tuple[str, str]]:
    """The setting of that name, or all below it; all there are for an empty name."""
    for row, text in oids.tree(name):
        if not name or row == name or row.startswith(f"{name}."):
            yield row, text
