"""Outputs with the values that a person wrote down before any reader had seen them, and texts that are no record.

``examined/KIND.json``: ``read`` has texts (as lines, joined by line feeds), where they come from, the command where it
matters, and of the record the fields that were written down; ``refused`` has texts that must not become a record.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from niclab.commands.parse import KINDS, parse, parse_batch
from niclab.hosts.errors import ReadError

EXAMINED = Path(__file__).parent / "examined"
LONG = 200_000
PATIENCE_S = 5  # a quadratic search in a text of this length takes minutes


def sheets(part: str) -> list[Any]:
    return [
        pytest.param(path.stem, entry, id=f"{path.stem}-{entry['name']}")
        for path in sorted(EXAMINED.glob("*.json"))
        for entry in json.loads(path.read_text())[part]
    ]


def differences(expected: object, found: object, place: str = "") -> list[str]:
    """Where ``found`` is not what was written down; it may hold more fields, but no more entries."""
    if isinstance(expected, dict) and isinstance(found, dict):
        missing = [f"{place}.{name}: missing" for name in expected if name not in found]
        return missing + [
            line
            for name in expected
            if name in found
            for line in differences(expected[name], found[name], f"{place}.{name}")
        ]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [
            line
            for index, (left, right) in enumerate(zip(expected, found, strict=True))
            for line in differences(left, right, f"{place}[{index}]")
        ]
    numbers = (int, float)
    if type(expected) in numbers and type(found) in numbers:
        assert isinstance(expected, int | float) and isinstance(found, int | float)
        return [] if expected == pytest.approx(found, rel=1e-6) else [f"{place}: {found}, expected {expected}"]
    return [] if expected == found and type(expected) is type(found) else [f"{place}: {found!r}, expected {expected!r}"]


@pytest.mark.parametrize(("kind", "entry"), sheets("read"))
def test_the_values_are_what_a_person_reads(kind: str, entry: dict[str, Any]) -> None:
    record = json.loads(json.dumps(parse(kind, "\n".join(entry["text"]), entry.get("command"))))
    assert differences(entry["expected"], record) == []


@pytest.mark.parametrize(("kind", "entry"), sheets("refused"))
def test_what_is_no_whole_output_of_the_tool_is_refused(kind: str, entry: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match=r"^cannot read |worthless result"):
        parse(kind, "\n".join(entry["text"]))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_no_message_is_an_output(kind: str) -> None:
    """What shells, programs and the tools themselves say instead of an answer; only a console shows a login."""
    found = json.loads((Path(__file__).parent / "messages.json").read_text())
    for message in found["messages"] + (found["of_a_session"] if kind != "console" else []):
        with pytest.raises(ReadError):
            parse(kind, message)


def test_a_wrong_value_is_seen() -> None:
    """Negative control of the comparison."""
    assert differences({"a": 1, "b": [True]}, {"a": 1, "b": [True], "c": 3}) == []
    for wrong in ({"a": 2, "b": [True]}, {"a": 1, "b": [1]}, {"a": 1, "b": []}, {"a": 1}, {"a": "1", "b": [True]}):
        assert differences({"a": 1, "b": [True]}, wrong)


@pytest.mark.parametrize("kind", sorted(path.stem for path in EXAMINED.glob("*.json")))
def test_no_long_line_takes_long(kind: str) -> None:
    """200 kB of one character within, before and behind a line, and as many short lines."""
    dice = random.Random(kind)
    text = "\n".join(dice.choice(json.loads((EXAMINED / f"{kind}.json").read_text())["read"])["text"])
    lines = text.split("\n")
    place = dice.randrange(len(lines))
    for char in " ,a0:<(]":
        inside = [*lines[:place], f"{lines[place][:9]}{char * LONG}{lines[place][9:]} ]", *lines[place + 1 :]]
        for long in ("\n".join(inside), char * LONG + text, text + char * LONG):
            _reads_soon(kind, long)
    _reads_soon(kind, text + "\n" * LONG)
    _reads_soon(kind, "\n".join(f"k{index}: {index}" for index in range(LONG // 12)))


# Each of these once took seconds to minutes: something was searched again from each place of the text.
BLANKS = " " * (LONG // 2)
ONCE_SLOW = (
    ("rpm", f"Name        : ethtool{BLANKS}x\nVersion     : 6\nRelease     : 4.el5\n"),
    ("ethtool-c", f'[ {{ "ifname": "e0",{BLANKS} ]\n'),
    ("ifconfig-freebsd", f"em0: flags=8843<UP,BROADCAST,{BLANKS}SIMPLEX> metric 0 mtu 1500\n"),
    ("ifconfig-freebsd", "\n".join(f"k{index}: {index}" for index in range(LONG // 12))),
)


@pytest.mark.parametrize(("kind", "text"), ONCE_SLOW, ids=["rpm", "ethtool-c", "ifconfig", "ifconfig-none"])
def test_what_once_was_searched_from_each_place_is_not(kind: str, text: str) -> None:
    _reads_soon(kind, text)


def _reads_soon(kind: str, text: str) -> None:
    begun = time.process_time()
    try:
        parse(kind, text)
    except ReadError:
        pass
    finally:
        assert time.process_time() - begun < PATIENCE_S, text[:60]


def test_a_batch_answers_every_line_whatever_it_holds() -> None:
    """One answer a line: broken JSON, other values than objects, unknown kinds, missing and odd members, long texts."""
    good = json.dumps({"id": "good", "kind": "ethtool-a", "text": "Pause parameters for e0:\nRX:\t\ton\nTX:\t\toff\n"})
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
