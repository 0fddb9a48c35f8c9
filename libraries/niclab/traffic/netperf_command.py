"""What a netperf command line asked for: without headers (``-P 0``) only it tells the test and the unit."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from niclab.hosts.errors import unreadable

KIND = "netperf"

# Options with a value (GLOBAL_CMD_LINE_ARGS of netperf 2.4.4 to 2.7.1, src/netsh.c). -D takes one where it was built
# with demo mode: what follows it is its value when it is a number.
_WITH_VALUE = frozenset("AaBbFfHIiKkLlnOopPstTvWwyYZ")
_NAME = re.compile(r"netperf(?:[0-9.-]{1,12})?(?:\.exe)?")
_NUMBER = re.compile(r"-?[0-9.]+(?:,-?[0-9.]+)?")
_DEFAULT_LENGTH_S = 10.0
_LEVELS = (95, 99)


@dataclass(frozen=True)
class NetperfCommand:
    """``length_s``: the time asked for, None when the run was limited by bytes or transactions or not at all.
    ``unit``: the letter of ``-f``, None without it. ``level``, ``width_pct``: the confidence asked for, in percent of
    the mean to either side, None when no repeats were asked for. ``selectors``: of the omni output, None for all."""

    test: str
    length_s: float | None
    unit: str | None
    headers: bool
    verbosity: int
    level: int | None
    width_pct: float | None
    selectors: tuple[str, ...] | None
    csv: bool


def read_command(command: str) -> NetperfCommand:
    """The meaning of a command line with netperf in it, which may run under ssh, taskset, ip netns and the like.

    :raises ReadError: when no netperf is called, or an option cannot be read.
    """
    words = _words(command)
    calls = [place for place, word in enumerate(words) if _NAME.fullmatch(word.rpartition("/")[2])]
    if not calls:
        raise unreadable(KIND, "command", command, "a command line that calls netperf")
    options, rest = _split(words[calls[-1] + 1 :])
    level, width_pct = _confidence(options)
    selectors, csv = _selectors(rest)
    return NetperfCommand(
        test=_test(options, words),
        length_s=_length(options),
        unit=options["f"][:1] if "f" in options else None,
        headers=options.get("P", "1").lstrip(",").split(",")[0] != "0",
        verbosity=_whole(options.get("v", "1"), "-v"),
        level=level,
        width_pct=width_pct,
        selectors=selectors,
        csv=csv,
    )


def _test(options: dict[str, str], words: list[str]) -> str:
    """The test; a name that lost its underscore on a printed page ("TCP RR") is put together."""
    test = options.get("t", "TCP_STREAM").upper()
    if test in ("TCP", "UDP", "SCTP") and test in words:
        following = words[words.index(test) + 1 : words.index(test) + 2]
        test = "_".join([test, *following])
    return test


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _split(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Global options by their letter, and the words after ``--``."""
    options: dict[str, str] = {}
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word == "--":
            return options, words[place:]
        if not word.startswith("-"):
            continue
        for position, letter in enumerate(word[1:], start=2):
            following = words[place] if place < len(words) else ""
            if letter in _WITH_VALUE or (letter == "D" and (word[position:] or _NUMBER.fullmatch(following))):
                if not word[position:]:
                    place += 1
                options[letter] = word[position:] or following
                break
            options[letter] = ""
    return options, []


def _length(options: dict[str, str]) -> float | None:
    text = options.get("l")
    if text is None:
        return _DEFAULT_LENGTH_S
    if not re.fullmatch(r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?[KMGkmg]?", text):
        raise unreadable(KIND, "option -l of the command", text, "seconds, or bytes as a negative number")
    if text.startswith("-") or not text[-1].isdigit():
        return None
    return float(text) or None


def _confidence(options: dict[str, str]) -> tuple[int | None, float | None]:
    """netperf.c: ``-I`` alone repeats 10 times at most; ``-i`` alone wants 99 % and a width of 5 %."""
    if "i" not in options and "I" not in options:
        return None, None
    repeats = options.get("i", "10").split(",")[0]
    if "i" in options and _whole(repeats or "10", "-i") <= 1:
        return None, None
    level, _, width = options.get("I", "99,5").partition(",")
    if not re.fullmatch(r"[0-9]{1,2}", level) or not re.fullmatch(r"[0-9]{0,3}(?:\.[0-9]{1,6})?", width):
        raise unreadable(KIND, "option -I of the command", options.get("I"), "level and width such as 99,5")
    return (int(level) if int(level) in _LEVELS else 99), float(width or "5") / 2


def _selectors(rest: list[str]) -> tuple[tuple[str, ...] | None, bool]:
    """The names after ``-o`` (CSV), ``-k`` (keys) or ``-O`` (columns), and whether CSV was asked for."""
    for place, word in enumerate(rest):
        if word[:2] in ("-o", "-k", "-O"):
            names = word[2:] or (rest[place + 1] if place + 1 < len(rest) else "")
            known = not names.startswith("-") and names not in ("", "all", "?") and "/" not in names
            split = tuple(name.strip().upper() for name in re.split(r"[,;]", names) if name.strip())
            return (split if known else None), word[1] == "o"
    return None, False


def _whole(text: str, option: str) -> int:
    if not re.fullmatch(r"[0-9]{1,6}", text):
        raise unreadable(KIND, f"option {option} of the command", text, "a whole number")
    return int(text)
