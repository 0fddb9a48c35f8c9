"""The tree of managed objects: read one, find the next, set several as one."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

from switch.config import Config

Oid = tuple[int, ...]
Value = int | bytes | Oid


class Syntax(Enum):
    """Types of values (RFC 2578, 7.1); Unsigned32 and Gauge32 are one on the wire."""

    INTEGER = "Integer32"
    OCTETS = "OCTET STRING"
    OID = "OBJECT IDENTIFIER"
    COUNTER32 = "Counter32"
    COUNTER64 = "Counter64"
    GAUGE = "Gauge32"
    TICKS = "TimeTicks"


class Refusal(StrEnum):
    """The reason why a SET is refused (RFC 3416, 4.2.5)."""

    NOT_WRITABLE = "notWritable"
    WRONG_TYPE = "wrongType"
    WRONG_LENGTH = "wrongLength"
    WRONG_VALUE = "wrongValue"
    NO_CREATION = "noCreation"
    INCONSISTENT_NAME = "inconsistentName"
    INCONSISTENT_VALUE = "inconsistentValue"
    NO_ACCESS = "noAccess"
    GEN_ERR = "genErr"


class SetError(Exception):
    """A SET is refused.

    Attributes:
        refusal: why.
        position: Which of its objects is the reason, from 0.
    """

    def __init__(self, refusal: Refusal, position: int = 0) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal
        self.position = position


class Absent(Enum):
    """The reason why there is nothing to read (RFC 3416, 4.2.1)."""

    NO_OBJECT = "noSuchObject"
    NO_INSTANCE = "noSuchInstance"


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        read: Row -> value.
        write: Changes the configuration it is given, for the row of this index; raises :class:`SetError`.
        creates: A row that is not there may be written to.
        first: It is written before the other objects of the same request.
    """

    number: int
    syntax: Syntax
    read: Callable[[Any], Value]
    write: Callable[[Config, Oid, Any], None] | None = None
    creates: bool = False
    first: bool = False


@dataclass(frozen=True)
class Table:
    """A table; scalars are columns of a table whose only row is ``.0``.

    Attributes:
        rows: Index -> what :attr:`Column.read` is given.
    """

    entry: Oid
    rows: Callable[[], Mapping[Oid, Any]]
    columns: tuple[Column, ...]


def scalars(group: Oid, *columns: Column) -> Table:
    return Table(group, lambda: {(0,): None}, columns)


@dataclass(frozen=True)
class Given:
    """An object of a SET request."""

    oid: Oid
    syntax: Syntax | None  # None: a type that no object has
    value: Value


class Tree:
    """All tables.

    Args:
        version: Changes when rows come or go; values are always read again.
    """

    def __init__(self, tables: Iterable[Table], version: Callable[[], object]) -> None:
        self._tables = list(tables)
        self._version = version
        self._columns = {(*table.entry, column.number): column for table in self._tables for column in table.columns}
        self._lengths = sorted({len(oid) for oid in self._columns})
        self._seen: object = None
        self._oids: list[Oid] = []
        self._rows: dict[Oid, tuple[Column, Any]] = {}

    def read(self, oid: Oid) -> tuple[Syntax, Value] | Absent:
        self._refresh()
        if oid not in self._rows:
            return Absent.NO_OBJECT if self._column(oid) is None else Absent.NO_INSTANCE
        column, row = self._rows[oid]
        return column.syntax, column.read(row)

    def after(self, oid: Oid) -> tuple[Oid, Syntax, Value] | None:
        """The first object after ``oid``; ``None`` at the end of all."""
        self._refresh()
        at = bisect.bisect_right(self._oids, oid)
        if at == len(self._oids):
            return None
        column, row = self._rows[self._oids[at]]
        return self._oids[at], column.syntax, column.read(row)

    def write(self, config: Config, given: list[Given]) -> None:
        """Change ``config`` as the request says.

        Raises:
            SetError: When any of its objects is refused; ``config`` is then worthless.
        """
        self._refresh()
        found = [self._writable(position, one) for position, one in enumerate(given)]
        for position in sorted(range(len(given)), key=lambda position: not found[position][0].first):
            column, index = found[position]
            assert column.write is not None  # _writable has seen to it
            try:
                column.write(config, index, given[position].value)
            except SetError as error:
                raise SetError(error.refusal, position) from error

    def _writable(self, position: int, given: Given) -> tuple[Column, Oid]:
        found = self._column(given.oid)
        if found is None or found[0].write is None:
            raise SetError(Refusal.NOT_WRITABLE, position)
        column, index = found
        if given.syntax is not column.syntax:
            raise SetError(Refusal.WRONG_TYPE, position)
        if given.oid not in self._rows and not column.creates:
            raise SetError(Refusal.NO_CREATION, position)
        return column, index

    def _column(self, oid: Oid) -> tuple[Column, Oid] | None:
        """The column that ``oid`` is in, and the index of its row."""
        for length in self._lengths:
            if column := self._columns.get(oid[:length]):
                return column, oid[length:]
        return None

    def _refresh(self) -> None:
        version = self._version()
        if version == self._seen:
            return
        self._rows = {
            (*table.entry, column.number, *index): (column, row)
            for table in self._tables
            for index, row in table.rows().items()
            for column in table.columns
        }
        self._oids = sorted(self._rows)
        self._seen = version
