"""What holds for every kind of ``niclab parse``: its captures are read, and nothing else becomes a record.

Captures of a kind stand in ``captures/KIND/``. A new kind without captures fails here.
"""

from __future__ import annotations

import random
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from goldens import CAPTURES, text_of

from niclab.commands.parse import KINDS, parse
from niclab.hosts.errors import ReadError

MUTATIONS = 120
# Their answers name positions in the text, which other line ends move.
POSITIONS = ("console",)
# Kinds whose empty record is an answer, and why.
MAY_HOLD_NOTHING = {"loader-conf": "a file of comments sets nothing"}
NOT_OUTPUTS = {
    "nothing": "",
    "blank lines": "\n \n\t\n",
    "NUL": "\0" * 200,
    "binary": bytes(range(256)).decode("latin-1") * 3,
    "wrong bytes": "\ufffd" * 300,
    "no such command": "sh: 1: tool: not found\n",
    "no such command of bash": "-bash: tool: command not found\n",
    "no permission": "tool: Permission denied\n",
    "a page": "<!DOCTYPE html>\n<html><head><title>404 Not Found</title></head></html>\n",
    "JSON of nothing": "{}\n",
    "prose": "The quick brown fox jumps over the lazy dog. It did so 17 times: no more, no less.\n" * 4,
    "a prompt": "[root@dut ~]# \n",
}
GARBAGE = (
    "",
    " ",
    "-1",
    "abc",
    "9" * 400,
    "\n",
    "\n\n",
    ":",
    "=",
    "|",
    "\t",
    "\0",
    "\x1b[2J",
    "0x",
    "NaN",
    "%",
    "\u0664",
    "{",
    '"',
)


def captures_of(kind: str) -> list[Path]:
    return sorted((CAPTURES / kind).glob("*.txt"))


def readable(kind: str) -> list[str]:
    """The captures that the kind reads; some hold defects on purpose."""
    found = []
    for path in captures_of(kind):
        try:
            parse(kind, text_of(path))
        except ReadError:
            continue
        found.append(text_of(path))
    return found


def holds_something(value: object) -> bool:
    """Whether there is anything but nulls and empty lists in a record."""
    if isinstance(value, dict):
        return any(map(holds_something, value.values()))
    if isinstance(value, list):
        return any(map(holds_something, value))
    return value is not None and value != ""


def answer(kind: str, text: str, command: str | None = None) -> dict[str, object] | None:
    """The record, None for a refusal. Anything else that is raised is a defect and ends the test."""
    try:
        record = parse(kind, text, command)
    except ReadError as error:
        assert re.match(r"cannot read |[^:]{1,40}: worthless result: ", str(error)), error
        assert len(str(error)) < 1500
        return None
    assert holds_something(record) or kind in MAY_HOLD_NOTHING
    return record


def mutated(text: str, dice: random.Random) -> str:
    """The text after one to three accidents."""
    for _ in range(dice.randint(1, 3)):
        lines = text.split("\n")
        place = dice.randrange(len(lines))
        at = dice.randint(0, len(text))
        accident = dice.randrange(8)
        if accident == 0:
            text = text[:at]
        elif accident == 1:
            text = text[at:]
        elif accident == 2:
            text = text[:at] + text[at + dice.randint(1, 40) :]
        elif accident == 3:
            text = text[:at] + dice.choice(GARBAGE) + text[at + dice.randint(0, 6) :]
        elif accident == 4:
            lines.insert(place, dice.choice(lines))
            text = "\n".join(lines)
        elif accident == 5:
            del lines[place]
            text = "\n".join(lines)
        elif accident == 6:
            lines[place] = re.sub(
                r"\d+", dice.choice(GARBAGE).replace("\\", ""), lines[place], count=dice.randint(1, 3)
            )
            text = "\n".join(lines)
        else:
            lines[place] = lines[place] + dice.choice(GARBAGE)
            text = "\n".join(lines)
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_captures_and_reads_them(kind: str) -> None:
    assert captures_of(kind), f"no capture in {CAPTURES / kind}"
    assert all(answer(kind, text) for text in readable(kind))
    assert len(readable(kind)) * 2 > len(captures_of(kind))


@pytest.mark.parametrize("name", NOT_OUTPUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_output_is_refused(kind: str, name: str) -> None:
    assert answer(kind, NOT_OUTPUTS[name]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_accidents_end_in_a_record_or_a_refusal(kind: str) -> None:
    dice = random.Random(kind)
    texts = readable(kind)
    for _ in range(MUTATIONS):
        answer(kind, mutated(dice.choice(texts), dice), dice.choice((None, None, "tool", "'", "-x \0", kind)))


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_cut_anywhere_is_a_record_or_a_refusal(kind: str) -> None:
    for text in readable(kind)[:6]:
        for end in range(0, len(text), max(1, len(text) // 40)):
            answer(kind, text[:end])


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in POSITIONS])
def test_line_ends_of_a_terminal_change_nothing(kind: str) -> None:
    for text in readable(kind):
        assert answer(kind, text.replace("\r\n", "\n").replace("\n", "\r\n")) == answer(kind, text)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in POSITIONS])
def test_blank_lines_around_change_nothing(kind: str) -> None:
    for text in readable(kind):
        assert answer(kind, "\n\n" + text + "\n\n") == answer(kind, text)


def cost_s(kind: str, text: str) -> float:
    """CPU time of one reading, the least of three."""
    times = []
    for _ in range(3):
        began = time.process_time()
        with suppress(ReadError):
            parse(kind, text)
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize("kind", KINDS)
def test_four_times_the_text_costs_at_most_eight_times_as_much(kind: str) -> None:
    """Quadratic readers cost sixteen times as much. What is done within 50 ms cannot be told apart from noise."""
    text = max(readable(kind), key=len)
    pieces = {
        "lines": text,
        "first line": text.split("\n")[0] + " ",
        "blanks": " ",
        "word": "a",
        "number": "0",
        "colon": "a: ",
    }
    for name, piece in pieces.items():
        small, large = (piece * max(1, size // max(1, len(piece))) for size in (50_000, 200_000))
        assert cost_s(kind, large) <= max(8 * cost_s(kind, small), 0.05), name


def test_a_quadratic_reader_would_be_found() -> None:
    """Negative control of the measurement above."""

    def quadratic(size: int) -> float:
        began = time.process_time()
        re.search(r"a*b", "a" * size)
        return time.process_time() - began

    assert quadratic(16_000) > 8 * quadratic(4_000)
