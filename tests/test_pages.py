"""The pages for people: each link leads somewhere, the site has each page, the messages they name are the product's."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import yaml

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "ci" / "site"))
import pages as site  # noqa: E402

LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
PROGRAM = re.compile(r"^\s*if __name__ ==", re.MULTILINE)
QUOTED_IN_ROW = re.compile(r"^\| `([^`]+)`", re.MULTILINE)
SAID_ELSEWHERE = {"missing Debian packages: ...": REPOSITORY / "ci" / "debian-packages"}
"""Message of a program that is no Python."""
SHORTEST = 4
"""Characters of a part of a message by which it can be found."""


def links(page: Path) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", (REPOSITORY / page).read_text(), flags=re.DOTALL)
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as forges and the site make them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def lost(page: Path) -> list[str]:
    """The links of a page that lead nowhere."""
    wrong = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        file = (REPOSITORY / page).parent / path if path else REPOSITORY / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    return wrong


@pytest.mark.parametrize("page", site.pages(), ids=str)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert lost(page) == []


def test_a_lost_link_would_be_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A title\n[a](#a-title) [b](#another) [c](no.md) [d](page.md#a-title) [e](https://x.example)\n")
    assert lost(page) == ["#another", "no.md"]


def test_the_site_has_each_page_once() -> None:
    def named(entry: object) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for each in entry if isinstance(entry, list) else entry.values() if isinstance(entry, dict) else ():
                yield from named(each)

    nav = yaml.safe_load((REPOSITORY / "ci/site/mkdocs.yml").read_text())["nav"]
    assert sorted(named(nav)) == sorted(map(str, site.pages()))


def test_the_readme_leads_to_each_page_for_users() -> None:
    named = {target.partition("#")[0] for target in links(Path("README.md"))}
    assert {str(page) for page in site.pages() if page.parts[0] == "docs"} - named == set()


class TestKeywordReference:
    def test_each_library_and_resource_is_in_it(self) -> None:
        named = set(links(Path("docs/keywords.md")))
        sources = (Path(source.partition("::")[0]) for source in site.keyword_sources())
        assert {f"../{file.relative_to(REPOSITORY)}" for file in sources} - named == set()

    def test_each_example_calls_a_keyword_of_its_file(self) -> None:
        rows = re.findall(r"\]\(\.\./((?:libraries|resources)/\S+)\).*\| `([^`]+)` \|$", self.text(), re.MULTILINE)
        assert len(rows) > 30
        for file, call in rows:
            source = (REPOSITORY / file).read_text()
            name = next(cell for cell in re.split(r" {2,}", call) if not cell.startswith("${"))
            python_name = re.sub(r"\W+", "_", name.lower())
            assert name in source or f"def {python_name}(" in source, f"{file}: {name}"

    @pytest.mark.parametrize("source", ["libraries/Bonding.py", "resources/bonding.resource"])
    def test_a_page_has_tags_arguments_and_examples(self, source: str) -> None:
        name, text = site.keyword_page(str(REPOSITORY / source))
        assert name == source.partition(".")[0].replace("/", "-")
        sections = text.split("\n## ")[1:]
        assert sections and all("\nTags: `" in each for each in sections)
        with_arguments = [each for each in sections if "```text" in each]
        assert with_arguments and all("```robotframework" in each for each in with_arguments)
        targets = set(re.findall(r'href="#([^"]+)"', text))
        assert targets <= set(re.findall(r"\{ #(\S+) \}", text))

    @staticmethod
    def text() -> str:
        return (REPOSITORY / "docs/keywords.md").read_text()


def test_each_program_that_measures_is_named_with_its_claim() -> None:
    folders = (REPOSITORY / "benchmarks", REPOSITORY / "tests" / "robustness")
    programs = [file for folder in folders for file in folder.glob("*.py") if PROGRAM.search(file.read_text())]
    named = set(links(Path("docs/claims.md")))
    assert {f"../{file.relative_to(REPOSITORY)}" for file in programs} - named == set()


@cache
def texts_of_the_product() -> tuple[str, ...]:
    """Every text of the libraries; what is put into it is ``\\0``."""
    found = []
    for file in sorted((REPOSITORY / "libraries").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.JoinedStr):
                parts = (each.value if isinstance(each, ast.Constant) else "\0" for each in node.values)
                found.append("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return tuple(found)


def is_said(message: str) -> bool:
    """Has the product a text with all parts of a message, in their order?"""
    parts = [part.strip() for part in message.split("...")]
    parts = [part for part in parts if len(part) >= SHORTEST]
    pattern = re.compile(".*".join(map(re.escape, parts)), re.DOTALL)
    return bool(parts) and any(pattern.search(text) for text in texts_of_the_product())


def test_messages_of_the_troubleshooting_page_are_those_of_the_product() -> None:
    messages = QUOTED_IN_ROW.findall((REPOSITORY / "docs/troubleshooting.md").read_text())
    assert len(messages) > 30
    wrong = [each for each in messages if each not in SAID_ELSEWHERE and not is_said(each)]
    assert wrong == []
    for message, file in SAID_ELSEWHERE.items():
        assert message in messages and message.partition("...")[0] in file.read_text()


def test_a_message_that_nobody_says_would_be_found() -> None:
    assert not is_said("the card ...; expected a friendlier one")
    assert is_said("...: no SSH login at ... within ... s") and not is_said("within ... no SSH login at")
