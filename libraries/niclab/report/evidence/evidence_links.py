"""The link by which a log message points to a file of evidence.

It is shown in Robot Framework's log.html as it is, and becomes an attachment of the keyword in the Allure report::

    <a class="evidence" type="image/svg+xml" href="evidence/plot.svg">throughput over block size</a>
"""

from __future__ import annotations

import html
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

from niclab.core.verdict import BenchFault


@dataclass(frozen=True)
class EvidenceLink:
    """``href`` is a path relative to the run folder, not URL-quoted."""

    name: str
    mime: str
    href: str

    def markup(self) -> str:
        """The link as HTML; of a picture, the picture itself."""
        target = html.escape(quote(self.href))
        name = html.escape(self.name)
        inner = f'<img src="{target}" width="640" alt="{name}">' if self.mime.startswith("image/") else name
        return f'<a class="evidence" type="{html.escape(self.mime)}" href="{target}">{inner}</a>'


def evidence_links(markup: str) -> list[EvidenceLink]:
    """All evidence links in ``markup``; other markup is passed over.

    Raises:
        BenchFault: For an evidence link without type or href, or one that is not closed.
    """
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    if parser.pending:
        raise BenchFault(f"evidence link to {parser.pending[1]!r}: is not closed; expected </a>")
    return parser.found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[EvidenceLink] = []
        self.pending: tuple[str, str] | None = None  # MIME type and href of the link that is open
        self._name = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "evidence" in given.get("class", "").split():
            if not given.get("type") or not given.get("href"):
                raise BenchFault(f"evidence link {self.get_starttag_text()}; expected both type and href")
            self.pending, self._name = (given["type"], unquote(given["href"])), ""
        elif tag == "img" and self.pending:
            self._name += given.get("alt", "")

    def handle_data(self, data: str) -> None:
        if self.pending:
            self._name += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self.pending:
            mime, href = self.pending
            self.found.append(EvidenceLink(self._name.strip() or PurePosixPath(href).name, mime, href))
            self.pending = None
