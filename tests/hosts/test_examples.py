"""The examples of every kind: the record is what was written down, and what must be refused is refused."""

from __future__ import annotations

import json

import examples
import pytest
from examples import Example

from niclab.commands.parse import KINDS, parse
from niclab.hosts.errors import ReadError

PARSED = [kind for kind in examples.kinds() if kind in KINDS]


def cases(refused: bool) -> list[object]:
    entries = [entry for kind in PARSED for entry in examples.load(kind) if entry.refused is refused]
    return [pytest.param(entry, id=entry.id) for entry in entries]


@pytest.mark.parametrize("example", cases(refused=False))
def test_the_record_is_what_was_written_down(example: Example) -> None:
    record = json.loads(json.dumps(parse(example.kind, example.text)))
    assert examples.differences(example.expected, record) == []


@pytest.mark.parametrize("example", cases(refused=True))
def test_no_record_comes_from_a_damaged_or_foreign_output(example: Example) -> None:
    with pytest.raises(ReadError, match=r"^cannot read |worthless result"):
        parse(example.kind, example.text)
