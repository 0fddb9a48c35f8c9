"""``niclab parse``: one text, the list of kinds, batches; bad requests and bad bytes."""

from __future__ import annotations

import io
import json
import sys

import pytest
from examples import text_of

from niclab.commands import parse as parsing
from niclab.commands.cli import main
from niclab.commands.parse import KINDS, TextKind, parse_batch
from niclab.core.plain import as_json
from niclab.core.verdict import BenchFault

VLAN = text_of("vlan", "customer")


@pytest.fixture
def say(monkeypatch: pytest.MonkeyPatch) -> object:
    """Give bytes to standard input."""

    def to_stdin(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return to_stdin


def batch(*requests: object) -> list[dict[str, object]]:
    lines = [request if isinstance(request, str) else json.dumps(request) for request in requests]
    return [json.loads(line) for line in parse_batch(lines)]


def test_one_text(say, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    say(VLAN.encode())
    assert main(["parse", "vlan"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["name"], record["id"], record["protocol"]) == ("enp1s0.100", 100, "802.1Q")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "niclab: cannot read ip -j: JSON ''; expected one JSON document"),
        (b"\xff\xfe\x00\x01", "niclab: cannot read ip -j: "),
        (b"[]\n", "expected at least one interface"),
    ],
)
def test_an_unreadable_text_is_said_on_standard_error(  # type: ignore[no-untyped-def]
    say, capsys: pytest.CaptureFixture[str], data: bytes, said: str
) -> None:
    say(data)
    assert main(["parse", "vlan"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert "Traceback" not in printed.err


def test_an_unknown_kind_names_the_known_ones(say, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    say(b"")
    assert main(["parse", "nosuch"]) == 2
    assert "unknown kind 'nosuch'; expected one of bonding, dmesg" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["vlan", "--batch"], ["--nosuch"]])
def test_wrong_usage(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["parse", *arguments])
    assert ended.value.code == 2


def test_every_kind_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["parse", "--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == sorted(KINDS)
    assert all(len(line.split()) > 1 for line in lines)


def test_a_batch_answers_each_line_in_its_order(say, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    requests = [
        {"id": 1, "kind": "vlan", "text": VLAN},
        {"id": "b", "kind": "vlan", "text": "nonsense"},
        {"id": [3], "kind": "ethtool-i", "text": text_of("ethtool-i", "e1000e")},
    ]
    say("\ufeff".encode() + "".join(json.dumps(request) + "\n\n" for request in requests).encode() + b"\xff\xfe\n")
    assert main(["parse", "--batch"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [entry["id"] for entry in answers] == [1, "b", [3], None]
    assert [sorted(entry) for entry in answers] == [
        ["id", "record"],
        ["error", "id"],
        ["id", "record"],
        ["error", "id"],
    ]
    assert answers[0]["record"]["id"] == 100
    assert answers[2]["record"]["driver"] == "e1000e"


@pytest.mark.parametrize(
    ("request_line", "identity", "said"),
    [
        ("not JSON", None, "request line 1; expected one JSON object"),
        ("[" * 100_000, None, "request line 1; expected one JSON object"),
        ("[1]", None, "request line 1; expected a JSON object"),
        ({"id": 7}, 7, "expected kind and text as strings"),
        ({"id": 7, "kind": 1, "text": ""}, 7, "expected kind and text as strings"),
        ({"id": 7, "kind": "vlan", "text": None}, 7, "expected kind and text as strings"),
        ({"id": 7, "kind": "nosuch", "text": ""}, 7, "unknown kind 'nosuch'"),
        ('{"id": NaN, "kind": "vlan", "text": ""}', None, "cannot read ip -j"),
    ],
)
def test_a_bad_request_is_answered_with_an_error(request_line: object, identity: object, said: str) -> None:
    (found,) = batch(request_line)
    assert found["id"] == identity
    assert said in str(found["error"])


def test_a_bad_request_does_not_stop_the_batch() -> None:
    assert [sorted(entry) for entry in batch("{", {"kind": "vlan", "text": VLAN})] == [
        ["error", "id"],
        ["id", "record"],
    ]


def test_a_defect_of_a_reader_is_told_and_does_not_stop_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_text: str) -> object:
        raise IndexError("list index out of range")

    monkeypatch.setattr(parsing, "KINDS", {**KINDS, "broken": TextKind("broken", "a reader with a defect", broken)})
    first, second = batch({"id": 1, "kind": "broken", "text": ""}, {"id": 2, "kind": "vlan", "text": VLAN})
    assert first == {"id": 1, "error": "defect of the reader of broken: IndexError: list index out of range"}
    assert "record" in second


def test_a_lone_surrogate_can_be_answered(say, capsys: pytest.CaptureFixture[str]) -> None:  # type: ignore[no-untyped-def]
    say(b'{"id": "\\ud800", "kind": "vlan", "text": "\\udfff"}\n')
    assert main(["parse", "--batch"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "?"


def test_records_become_json_values() -> None:
    assert as_json({1: (2, {"b", "a"}), "x": frozenset({3})}) == {"1": [2, ["a", "b"]], "x": [3]}
    with pytest.raises(BenchFault, match="a value of nan; expected a finite number"):
        as_json([float("nan")])
