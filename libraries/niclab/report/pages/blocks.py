"""The blocks of a document: facts, tables, words and pictures below headings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, small lines below it, and the verdict whose colour it has."""

    text: str
    small: str = ""
    result: str = ""


@dataclass(frozen=True)
class Row:
    """A row of a table. ``anchor``: what links point at."""

    cells: tuple[Cell, ...]
    anchor: str = ""


@dataclass(frozen=True)
class Facts:
    """Names with their values."""

    rows: tuple[tuple[str, str], ...]
    kind: Literal["facts"] = "facts"


@dataclass(frozen=True)
class Table:
    """``columns``: titles; ``widths``: parts of the width of the page; ``look``: a class of the style sheet."""

    columns: tuple[str, ...]
    widths: tuple[float, ...]
    rows: tuple[Row, ...]
    look: str = ""
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Words:
    """A paragraph."""

    text: str
    kind: Literal["words"] = "words"


@dataclass(frozen=True)
class Pictures:
    """Drawings as SVG; ``wide`` ones have a row of their own."""

    svgs: tuple[str, ...]
    wide: bool = False
    kind: Literal["pictures"] = "pictures"


@dataclass(frozen=True)
class Part:
    """A heading with what is below it."""

    title: str
    blocks: tuple[Facts | Table | Words | Pictures, ...]


@dataclass(frozen=True)
class Content:
    """The whole document.

    ``look``: good, bad or demonstration. ``answer``: with the verdict, the first page; it fits on one.
    """

    title: str
    subtitle: str
    window_title: str
    banner: str
    headline: str
    look: str
    reasons: tuple[str, ...]
    summary: tuple[str, ...]
    parts: tuple[Part, ...]
    issued: str
    answer: tuple[Part, ...] = ()


def row_of(cells: Any) -> Row:
    """Return a row; a cell is a text or the arguments of a :class:`Cell`.

    Args:
        cells: The cells, or the cells with the anchor that links point at (``anchor``, ``cells``).
    """
    anchor = ""
    if isinstance(cells, dict):
        anchor, cells = cells["anchor"], cells["cells"]
    return Row(tuple(Cell(each) if isinstance(each, str) else Cell(*each) for each in cells), anchor)


def table_part(title: str, columns: tuple[str, ...], widths: tuple[float, ...], rows: Any, look: str = "") -> Part:
    """Return a part of one table, or a part that says that there are no rows.

    Args:
        title: Heading of the part.
        columns: Titles of the columns.
        widths: Parts of the width of the page, one for each column.
        rows: Rows, see :func:`row_of`.
        look: Class of the style sheet.
    """
    made = tuple(row_of(each) for each in rows)
    return Part(title, (Table(columns, widths, made, look),) if made else (Words("There are none."),))
