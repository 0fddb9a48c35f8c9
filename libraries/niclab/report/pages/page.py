"""The certificate as one HTML page that loads nothing: style sheet and logo are put into it."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault
from niclab.report import LOOK
from niclab.report.pages.blocks import Cell, Content, Facts, Part, Pictures, Row, Table, Words
from niclab.report.pages.content import content_of


def certificate_page(certificate: Mapping[str, Any], charts: Mapping[str, str] | None = None, look: Path = LOOK) -> str:
    """The page for the content of ``certificate.json``.

    Args:
        certificate: Content of ``certificate.json``.
        charts: The charts that it names -> their SVG.
        look: Folder with ``certificate.css`` and ``logo.svg``.

    Raises:
        BenchFault: When one of them cannot be read.
    """
    return page_of(content_of(certificate, charts), look)


def page_of(content: Content, look: Path = LOOK) -> str:
    """Return what is said as an HTML page.

    Args:
        content: What is said.
        look: See :func:`certificate_page`.

    Raises:
        BenchFault: See :func:`certificate_page`.
    """
    banner = f'<p class="demonstration">{_text(content.banner)}</p>\n' if content.banner else ""
    parts = "\n".join(map(_part, content.parts))
    first = "\n".join(map(_part, content.answer))
    answer = f'<section class="answer">\n{first}\n</section>\n' if first else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{_text(content.window_title)}</title>
<style>
{_read(look / "certificate.css")}</style>
</head>
<body>
{banner}<header>
{_read(look / "logo.svg")}<div><h1>{_text(content.title)}</h1><p>{_text(content.subtitle)}</p></div>
</header>
{_verdict(content)}
{answer}{parts}
</body>
</html>
"""


def _verdict(content: Content) -> str:
    reasons = "".join(f"<li>{_text(reason)}</li>" for reason in content.reasons)
    return (
        f'<section class="verdict {content.look}"><strong>{_text(content.headline)}</strong>'
        + (f"<ul>{reasons}</ul>" if reasons else "")
        + "".join(f"<p>{_text(line)}</p>" for line in content.summary)
        + "</section>"
    )


def _part(part: Part) -> str:
    return f"<h2>{_text(part.title)}</h2>\n" + "\n".join(map(_block, part.blocks))


def _block(block: Facts | Table | Words | Pictures) -> str:
    if isinstance(block, Facts):
        return f"<dl>{''.join(f'<dt>{_text(name)}</dt><dd>{_text(value)}</dd>' for name, value in block.rows)}</dl>"
    if isinstance(block, Words):
        return f"<p>{_text(block.text)}</p>"
    if isinstance(block, Pictures):
        return "".join(f'<figure class="{"wide" if block.wide else "chart"}">{svg}</figure>' for svg in block.svgs)
    return _table(block)


def _table(table: Table) -> str:
    total = sum(table.widths)
    columns = "".join(f'<col style="width:{100 * width / total:.1f}%">' for width in table.widths)
    titles = "".join(f"<th>{_text(title)}</th>" for title in table.columns)
    head = f"<thead><tr>{titles}</tr></thead>" if any(table.columns) else ""
    rows = "\n".join(map(_row, table.rows))
    return f'<table class="{table.look}"><colgroup>{columns}</colgroup>{head}<tbody>\n{rows}\n</tbody></table>'


def _row(row: Row) -> str:
    anchor = f' id="{_text(row.anchor)}"' if row.anchor else ""
    return f"<tr{anchor}>{''.join(map(_cell, row.cells))}</tr>"


def _cell(cell: Cell) -> str:
    look = f' class="result {_text(cell.result)}"' if cell.result else ""
    small = f"<small>{'<br>'.join(map(_text, cell.small.splitlines()))}</small>" if cell.small else ""
    return f"<td{look}>{_text(cell.text)}{small}</td>"


def _text(value: str) -> str:
    return html.escape(value)


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BenchFault(f"{path}: cannot be read: {error}") from error
