"""A record of an interface in open-iscsi: which transport a session takes, from which port, with which addresses.

The record is one of the lab's own: those that open-iscsi makes itself, and those of others, stay as they are. Each
value is read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back

PREFIX = "niclab."
EMPTY = "<empty>"
"""The words of ``iscsiadm`` for a value that nobody has set (open-iscsi, usr/idbm.c)."""
_LINE = re.compile(r"iface\.(\w+) = ?(.*)")


@dataclass(frozen=True)
class IfaceRecord:
    """A record.

    Attributes:
        name: Its name.
        values: Value by the name behind ``iface.`` (open-iscsi, usr/idbm_fields.h).
    """

    name: str
    values: Mapping[str, str]

    @property
    def make(self) -> str:
        """The commands that make it."""
        own = _of(self.name)
        steps = [
            f"{own} -o new",
            *(f"{own} -o update -n iface.{name} -v {value}" for name, value in self.values.items()),
        ]
        return "\n".join(f"{each} >/dev/null || exit 1" for each in steps)

    @property
    def remove(self) -> str:
        """The command that removes it, if it is there."""
        return f"! {_of(self.name)} >/dev/null 2>&1 || {_of(self.name)} -o delete >/dev/null"


@contextmanager
def recorded(run: Run, server: Server, record: IfaceRecord) -> Iterator[None]:
    """Have a record inside the ``with`` block.

    Args:
        run: The current run.
        server: The server.
        record: The record.

    Raises:
        BenchFault: open-iscsi refuses it, or has another value than was set.
    """
    with put_back(run, server, server.name, f"open-iscsi has the record {record.name}", record.remove):
        server.run(record.make)
        found = read(server.run(_of(record.name)).stdout)
        others = {name: found.get(name, EMPTY) for name, value in record.values.items() if found.get(name) != value}
        if others:
            shown = ", ".join(
                f"iface.{name} is {value}; expected {record.values[name]}" for name, value in others.items()
            )
            raise BenchFault(f"{server.name}: record {record.name} of open-iscsi: {shown}")
        yield


def read(text: str) -> dict[str, str]:
    """Read a record as ``iscsiadm -m iface -I NAME`` shows it; a value that nobody has set is left out.

    Args:
        text: What was printed.

    Raises:
        ReadError: A line is none of a record.
    """
    found = dict[str, str]()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ReadError(f"record of open-iscsi: {line!r}; expected iface.NAME = VALUE")
        if match[2] != EMPTY:
            found[match[1]] = match[2]
    if "transport_name" not in found:
        raise ReadError(f"record of open-iscsi: {text[:200]!r}; expected iface.transport_name")
    return found


def _of(name: str) -> str:
    return f"iscsiadm -m iface -I {name}"
