"""Examples of what a tool prints and what its reader makes of it: one file ``examples/KIND.yaml`` per kind.

A file is a list of entries::

    - name: bnx2x-default           unique in its file
      origin: who printed it, or after what it was written
      synthetic: true               where nobody printed it: constructed from sources, or written from memory
      text: |                       as the tool printed it
        Ring parameters for p1p1:
      expected: {...}               the record, or those of its fields that a person wrote down
      refused: true                 instead of ``expected``: the text must not become a record

``python tests/hosts/examples.py KIND`` writes a file again, with the records of the entries that have neither
``expected`` nor ``refused``. Check each of them by eye.
"""

from __future__ import annotations

import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

FOLDER = Path(__file__).parent / "examples"
FIELDS = frozenset(("name", "origin", "synthetic", "text", "expected", "refused"))


@dataclass(frozen=True)
class Example:
    """One text and its record; ``expected`` is None where the text must be refused."""

    kind: str
    name: str
    origin: str
    text: str
    synthetic: bool = False
    expected: Any = None
    refused: bool = False

    @property
    def id(self) -> str:
        return f"{self.kind}-{self.name}"


def kinds() -> list[str]:
    """The kinds that have a file."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@functools.cache
def load(kind: str) -> tuple[Example, ...]:
    """The examples of a kind, in the order of its file."""
    entries = yaml.load((FOLDER / f"{kind}.yaml").read_text(), Loader=yaml.CSafeLoader)
    for entry in entries:
        assert set(entry) <= FIELDS, f"{kind}: {entry.get('name')}: unknown {set(entry) - FIELDS}"
    examples = tuple(Example(kind=kind, **entry) for entry in entries)
    names = [example.name for example in examples]
    assert len(set(names)) == len(names), f"{kind}: names must be unique"
    return examples


def readable(kind: str) -> tuple[Example, ...]:
    return tuple(example for example in load(kind) if not example.refused)


def refused(kind: str) -> tuple[Example, ...]:
    return tuple(example for example in load(kind) if example.refused)


def text_of(kind: str, name: str) -> str:
    """The text of one example."""
    return next(example.text for example in load(kind) if example.name == name)


def differences(expected: object, found: object, place: str = "") -> list[str]:
    """Return where ``found`` is not what was written down; it may hold more fields, but no more entries."""
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


def as_yaml(examples: list[Example]) -> str:
    """The examples as a file: texts as blocks that a person can read, records in as few lines as possible."""
    return "\n".join(_entry(example) for example in examples)


def _entry(example: Example) -> str:
    lines = [f"- name: {_flow(example.name)}", f"  origin: {_flow(example.origin)}"]
    lines += ["  synthetic: true"] if example.synthetic else []
    lines += [f"  text: {_block(example.text)}"]
    lines += ["  refused: true"] if example.refused else []
    lines += ["  expected:" + _record(example.expected)] if example.expected is not None else []
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    """JSON is YAML; a plain word needs no quotes."""
    if isinstance(value, str) and "\n" not in value:
        try:
            if yaml.safe_load(f"a: {value}") == {"a": value}:
                return value
        except yaml.YAMLError:
            pass
    return json.dumps(value, ensure_ascii=not isinstance(value, str) or not value.isprintable())


def _block(text: str) -> str:
    """A literal block; a quoted string for what no block can hold (CR LF, NUL, escape sequences)."""
    chomp = "-" if not text.endswith("\n") else "" if text.rstrip("\n") + "\n" == text else "+"
    lines = text.removesuffix("\n").split("\n")
    head = f"|2{chomp}" if not lines[0] or lines[0][0].isspace() else f"|{chomp}"
    block = "\n".join((head, *(f"    {line}" if line else "" for line in lines)))
    try:
        if yaml.safe_load(f"- a: 1\n  text: {block}\n")[0]["text"] == text:
            return block
    except yaml.YAMLError:
        pass
    return json.dumps(text)


def _record(record: Any) -> str:
    """One line per field, and one per entry of a list of objects."""
    if not isinstance(record, dict):
        return " " + json.dumps(record)
    lines = []
    for name, value in record.items():
        if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
            lines += [f"    {_flow(name)}:", *(f"      - {json.dumps(item)}" for item in value)]
        else:
            lines.append(f"    {_flow(name)}: {json.dumps(value)}")
    return "\n".join(("", *lines))


def write(kind: str, examples: list[Example]) -> None:
    (FOLDER / f"{kind}.yaml").write_text(as_yaml(examples))
    load.cache_clear()
    assert list(load(kind)) == examples


def _fill(kind: str) -> None:
    from dataclasses import replace

    from niclab.commands.parse import parse

    write(
        kind,
        [
            entry if entry.refused or entry.expected is not None else replace(entry, expected=parse(kind, entry.text))
            for entry in load(kind)
        ],
    )


if __name__ == "__main__":
    _fill(sys.argv[1])
