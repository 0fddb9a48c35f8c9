"""Put together the pages of the site: those of the repository at their own places, and one for each keyword library.

Usage: ``pages.py FOLDER``. The places are those of the repository, so that relative links hold; a link to the source of
a keyword library or resource leads to its page.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from robot.libdoc import LibraryDocumentation
from robot.libdocpkg.model import KeywordDoc, LibraryDoc

REPOSITORY = Path(__file__).resolve().parents[2]
KEYWORDS = Path("docs/keywords")
ASSETS = [Path(__file__).parent / name for name in ("iframe-worker.js", "wide.css")]
_SOURCE_LINK = re.compile(r"\]\(\.\./(libraries|resources)/(\w+)\.(?:py|resource)\)")
_LINK = re.compile(r"\]\(([^)\s#]+)")
_ANCHOR = re.compile(r'href="#([^"]+)"')
_CALL = re.compile(r"^\| *((?:\$\{\w+\} = *\| *)?`([^`]+)`.*?) *\|?$", re.MULTILINE)


def pages() -> list[Path]:
    """Return the pages that the repository has, as paths within it."""
    found = [*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("lab/**/README.md")]
    return sorted(each.relative_to(REPOSITORY) for each in found)


def keyword_sources() -> list[str]:
    """Return what Libdoc reads: every keyword library and every resource."""
    libraries = sorted(file for file in REPOSITORY.glob("libraries/[A-Z]*.py") if file.stem != "BenchLibrary")
    places = [f"{file}::dut" if file.stem == "Shell" else str(file) for file in libraries]
    return [*places, *map(str, sorted(REPOSITORY.glob("resources/*.resource")))]


def keyword_page(source: str) -> tuple[str, str]:
    """Return the name of a library's page and the page in Markdown: signature, tags, example and words of each keyword.

    Args:
        source: See :func:`keyword_sources`.
    """
    library = LibraryDocumentation(source)
    calls = _calls(library)
    library.convert_docs_to_html()
    file = Path(source.partition("::")[0])
    sections = [part for each in library.keywords if _is_ours(each) for part in _section(each, calls)]
    return f"{file.parent.name}-{file.stem}", "\n\n".join([f"# {file.name}", _linked(library.doc), *sections]) + "\n"


def assemble(folder: Path) -> None:
    """Write all pages into a folder, which is emptied before.

    Args:
        folder: Where to.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages():
        text = _SOURCE_LINK.sub(r"](keywords/\1-\2.md)", (REPOSITORY / page).read_text("utf-8"))
        _write(folder / page, text)
        for target in _LINK.findall(text):
            file = (REPOSITORY / page).parent / target
            if file.is_file() and file.suffix != ".md":
                _write(folder / file.resolve().relative_to(REPOSITORY), file.read_bytes())
    for asset in ASSETS:
        _write(folder / "assets" / asset.name, asset.read_bytes())
    for source_name in keyword_sources():
        name, text = keyword_page(source_name)
        _write(folder / KEYWORDS / f"{name}.md", text)


def _section(keyword: KeywordDoc, calls: dict[str, list[str]]) -> Iterator[str]:
    yield f"## {keyword.name} {{ #{_slug(keyword.name)} }}"
    yield f"Tags: {', '.join(f'`{tag}`' for tag in keyword.tags)}"
    if arguments := [f"    {each}" for each in keyword.args]:
        yield "\n".join(["```text", keyword.name, *arguments, "```"])
    if mine := [call for name, found in calls.items() if _is_called(keyword, name) for call in found]:
        yield "\n".join(["```robotframework", *mine, "```"])
    yield _linked(keyword.doc)


def _is_ours(keyword: KeywordDoc) -> bool:
    return "SSHLibrary" not in Path(keyword.source or "").parts


def _calls(library: LibraryDoc) -> dict[str, list[str]]:
    """Name -> the calls of it in the tables of a library, as lines of a suite."""
    found: dict[str, list[str]] = {}
    for text in (library.doc, *(each.doc for each in library.keywords)):
        for match in _CALL.finditer(text):
            line = re.sub(r" *\| *", "    ", match[1].replace("`", "")).strip()
            found.setdefault(match[2], []).append(line)
    return found


def _is_called(keyword: KeywordDoc, name: str) -> bool:
    parts = re.split(r"(\$\{.*?\})", keyword.name)
    pattern = "".join(r"\S+" if part.startswith("${") else re.escape(part) for part in parts)
    return re.fullmatch(pattern, name.rpartition(".")[2], re.IGNORECASE) is not None


def _linked(text: str) -> str:
    """The HTML of Libdoc, with its links leading to our anchors; in one block, so that no line of it is Markdown."""
    plain = _ANCHOR.sub(lambda found: f'href="#{_slug(html.unescape(found[1]).replace("%20", " "))}"', text)
    block = re.sub(r"\n+", "\n", plain)
    return f"<div>{block}</div>" if text else ""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _write(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content.encode() if isinstance(content, str) else content)


if __name__ == "__main__":
    assemble(Path(sys.argv[1]))
