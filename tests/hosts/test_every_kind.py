"""Rules for every kind of ``niclab parse``.

Nothing but the output of its command becomes a record, no accident ends in anything but a record or a refusal, and no
text takes long.

A kind without a file ``examples/KIND.yaml`` fails here.
"""

from __future__ import annotations

import json
import random
import re
import time
from contextlib import suppress
from pathlib import Path

import examples
import pytest

from niclab.commands import parse as parsing
from niclab.commands.parse import parse, parse_batch
from niclab.hosts.errors import ReadError

KINDS = sorted(parsing.KINDS)
MUTATIONS = 120
LONG = 200_000
PATIENCE_S = 5  # a quadratic search in a text of this length takes minutes
# Logs hold prompts, messages of programs and lines of other logs.
LOGS = ("dmesg", "dmesg-freebsd")
# A VLAN is an interface as well.
SHARED = {**dict.fromkeys(LOGS, LOGS), "ip-link": ("vlan",), "vlan": ("ip-link",)}
MESSAGES = json.loads((Path(__file__).parent / "messages.json").read_text())
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
    "nested JSON": "[" * 100_000,
}
# What a terminal, a mail or a page adds: nobody's command prints it, so no reader repairs it.
DRESSINGS = {
    "a prompt": lambda text: f"[root@dut ~]# tool eth0\n{text}",
    "a quotation": lambda text: "".join(f"> {line}\n" for line in text.splitlines()),
    "a fence": lambda text: f"```\n{text}```\n",
    "colours": lambda text: f"\x1b[1m{text}\x1b[0m",
}
GARBAGE = (
    *("", " ", "-1", "abc", "9" * 400, "\n", "\n\n", ":", "=", "|", "\t", "\0", "\x1b[2J", "0x", "NaN", "%"),
    *("\u0664", "{", '"'),
)


def texts(kind: str) -> list[str]:
    return [example.text for example in examples.readable(kind)]


def holds_something(value: object) -> bool:
    """Return True if there is anything but nulls and empty lists in a record."""
    if isinstance(value, dict):
        return any(map(holds_something, value.values()))
    if isinstance(value, list):
        return any(map(holds_something, value))
    return value is not None and value != ""


def answer(kind: str, text: str) -> dict[str, object] | None:
    """The record, None for a refusal. Anything else that is raised is a defect and ends the test."""
    try:
        record = parse(kind, text)
    except ReadError as error:
        assert re.match(r"cannot read |[^:]{1,40}: worthless result: ", str(error)), error
        assert len(str(error)) < 1500
        return None
    assert holds_something(record)
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
            value = dice.choice(GARBAGE).replace("\\", "")
            lines[place] = re.sub(r"\d+", value, lines[place], count=dice.randint(1, 3))
            text = "\n".join(lines)
        else:
            lines[place] = lines[place] + dice.choice(GARBAGE)
            text = "\n".join(lines)
    return text


def test_every_kind_has_examples() -> None:
    assert set(KINDS) <= set(examples.kinds())


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_has_readable_and_refused_examples(kind: str) -> None:
    assert len(examples.readable(kind)) > 2 and examples.refused(kind)


@pytest.mark.parametrize("name", NOT_OUTPUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_another_text_than_an_output_is_refused(kind: str, name: str) -> None:
    assert answer(kind, NOT_OUTPUTS[name]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_no_message_of_a_tool_or_shell_is_an_output(kind: str) -> None:
    for message in MESSAGES["messages"] + MESSAGES["of_a_session"]:
        assert answer(kind, message) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_reader_refuses_the_outputs_of_the_others(kind: str) -> None:
    """Negative control of the readers: none of them makes a record out of another tool's text."""
    for other in KINDS:
        if other != kind and other not in SHARED.get(kind, ()):
            assert [text for text in texts(other) if answer(kind, text) is not None] == []


@pytest.mark.parametrize("dressing", DRESSINGS)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in LOGS])
def test_a_dressed_output_is_refused(kind: str, dressing: str) -> None:
    for text in texts(kind):
        assert answer(kind, DRESSINGS[dressing](text)) is None


@pytest.mark.parametrize("kind", KINDS)
def test_accidents_end_in_a_record_or_a_refusal(kind: str) -> None:
    dice = random.Random(kind)
    for _ in range(MUTATIONS):
        answer(kind, mutated(dice.choice(texts(kind)), dice))


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_cut_anywhere_is_a_record_or_a_refusal(kind: str) -> None:
    for text in texts(kind)[:6]:
        for end in range(0, len(text), max(1, len(text) // 40)):
            answer(kind, text[:end])


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
    """Quadratic readers cost sixteen times as much. What is done within 50 ms cannot be distinguished from noise."""
    text = max(texts(kind), key=len)
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
        def once() -> float:
            began = time.process_time()
            re.search(r"a*b", "a" * size)
            return time.process_time() - began

        return min(once() for _ in range(3))

    assert quadratic(32_000) > 8 * quadratic(8_000)


@pytest.mark.parametrize("kind", KINDS)
def test_no_long_line_takes_long(kind: str) -> None:
    """200 kB of one character within, before and after a line, and as many short lines."""
    dice = random.Random(kind)
    text = dice.choice(texts(kind))
    lines = text.split("\n")
    place = dice.randrange(len(lines))
    for char in " ,a0:<(]":
        inside = [*lines[:place], f"{lines[place][:9]}{char * LONG}{lines[place][9:]} ]", *lines[place + 1 :]]
        for long in ("\n".join(inside), char * LONG + text, text + char * LONG):
            reads_soon(kind, long)
    reads_soon(kind, text + "\n" * LONG)
    reads_soon(kind, "\n".join(f"k{index}: {index}" for index in range(LONG // 12)))


def reads_soon(kind: str, text: str) -> None:
    begun = time.process_time()
    with suppress(ReadError):
        parse(kind, text)
    assert time.process_time() - begun < PATIENCE_S, text[:60]


def test_a_wrong_value_is_seen() -> None:
    """Negative control of the comparison of records."""
    assert examples.differences({"a": 1, "b": [True]}, {"a": 1, "b": [True], "c": 3}) == []
    for wrong in ({"a": 2, "b": [True]}, {"a": 1, "b": [1]}, {"a": 1, "b": []}, {"a": 1}, {"a": "1", "b": [True]}):
        assert examples.differences({"a": 1, "b": [True]}, wrong)


def test_a_batch_answers_every_line_whatever_it_holds() -> None:
    """One answer a line: broken JSON, other values than objects, unknown kinds, missing and odd members, long texts."""
    pause = "Pause parameters for e0:\nAutonegotiate:\toff\nRX:\t\ton\nTX:\t\toff\n"
    good = json.dumps({"id": "good", "kind": "ethtool-a", "text": pause})
    odd = [
        *("{", "[]", "null", "17", '"text"', "NaN", '{"id": 1}', '{"id": 1, "kind": "ethtool-i"}', "[" * 100_000),
        *(json.dumps({"id": id, "kind": "ethtool-i", "text": None}) for id in (None, [1], {"a": 2}, 1.5, True)),
        json.dumps({"id": 1, "kind": ["ethtool-i"], "text": "driver: x"}),
        json.dumps({"id": 1, "kind": "no-such-kind", "text": "driver: x"}),
        json.dumps({"id": 1, "kind": "ethtool-i", "text": "driver: x\n", "command": 7}),
        json.dumps({"id": 1, "kind": "ethtool-i", "text": "\ud800\x00\uffff"}),
        json.dumps({"id": 1, "kind": "ethtool-S", "text": "x" * 5_000_000}),
        b'{"id": 1, "kind": "ethtool-i", "text": "\xff\xfe"}'.decode("utf-8", errors="replace"),
        '{"id": 1e999, "kind": "ethtool-i", "text": "driver: x"}',
        '{"id": 1, "id": 2, "kind": "ethtool-i", "text": "driver"}',
    ]
    answers = [json.loads(line) for line in parse_batch([line for text in odd for line in (text, good)])]
    assert len(answers) == 2 * len(odd)
    assert all(answer["id"] == "good" and answer["record"]["rx"] is True for answer in answers[1::2])
    assert all("error" in answer and "defect" not in answer["error"] for answer in answers[::2])
