"""Golden texts: ``captures/KIND/NAME.txt`` and beside it ``NAME.expected.json``.

A capture begins with lines ``#| where it comes from``, which are not part of the text. To add one: write the text, run
``python tests/hosts/goldens.py``, which writes the missing expectations, and check each of them by eye.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import examples

from niclab.commands.parse import parse

FREEBSD = (
    *("dmesg-freebsd", "ifconfig-freebsd", "kldstat", "loader-conf", "netstat-freebsd", "pciconf", "pkg"),
    *("sysctl-freebsd", "vmstat-freebsd"),
)
TOOLS = ("console", "iperf3", "netperf")

CAPTURES = Path(__file__).parent / "captures"

READERS: dict[str, Callable[[str], Any]] = {kind: partial(parse, kind) for kind in (*FREEBSD, *TOOLS)}


def captures() -> list[Path]:
    return sorted(CAPTURES.glob("*/*.txt"))


def text_of(capture: Path) -> str:
    """The text without the lines that say where it comes from."""
    lines = capture.read_bytes().decode().split("\n")  # as they are: a console ends lines with CR LF
    return "\n".join(line for line in lines if not line.startswith("#|"))


def capture(kind: str, name: str) -> str:
    if kind in examples.kinds():
        return examples.text_of(kind, name)
    return text_of(CAPTURES / kind / f"{name}.txt")


def plain(record: Any) -> Any:
    """A record as JSON would hold it."""
    value = [plain(entry) for entry in record] if isinstance(record, tuple) else record
    value = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.loads(json.dumps(value))


def expectation(path: Path) -> Path:
    return path.with_suffix(".expected.json")


def write_missing() -> None:
    for path in captures():
        if not expectation(path).exists():
            record = plain(READERS[path.parent.name](text_of(path)))
            expectation(path).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    write_missing()
