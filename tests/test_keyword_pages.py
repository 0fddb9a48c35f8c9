"""The pages of the keywords say of each its kind and how it is called, and a verdict of many keywords only once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from robot.libdoc import LibraryDocumentation
from robot.libdocpkg.model import KeywordDoc, LibraryDoc
from robot.utils import normalize

REPOSITORY = Path(__file__).resolve().parents[1]
LIBRARIES, RESOURCES = REPOSITORY / "libraries", REPOSITORY / "resources"
KINDS = {"check", "action", "query"}
OTHER_TAGS = {"boots", "boots-the-dut-once"}
"""Read by ``niclab certify`` to say how many boots to expect."""
SHARED = 3
"""A verdict that as many keywords of a library have in the same words belongs into its introduction."""
SHELL, OF_SHELL = f"{LIBRARIES / 'Shell.py'}::dut", "DutShell."
PAGES = [
    *(SHELL if file.stem == "Shell" else str(file) for file in sorted(LIBRARIES.glob("[A-Z]*.py"))),
    *map(str, sorted(RESOURCES.glob("*.resource"))),
]


@cache
def page(place: str) -> LibraryDoc:
    return LibraryDocumentation(place)


def keywords(place: str) -> Iterator[KeywordDoc]:
    """The keywords of a page that are written here; those of SSHLibrary have its own documentation."""
    for each in page(place).keywords:
        if Path(each.source).is_relative_to(REPOSITORY) and "SSHLibrary" not in Path(each.source).parts:
            yield each


def examples(place: str) -> Iterator[tuple[str, list[str]]]:
    """Name and arguments of every call in the tables of a page."""
    texts = [page(place).doc, *(each.doc for each in keywords(place))]
    for line in "\n".join(texts).splitlines():
        if line.startswith("| "):
            cells = [cell.strip() for cell in line.strip("| ").split(" | ")]
            name, *arguments = [cell.replace("`", "") for cell in cells if not re.fullmatch(r"\$\{\w+\} =", cell)]
            yield name, arguments


def is_called(keyword: KeywordDoc, name: str) -> bool:
    """Is it the keyword's name, with something for every embedded argument?"""
    parts = re.split(r"(\$\{.*?\})", keyword.name)
    pattern = "".join(r"\w+" if part.startswith("${") else re.escape(normalize(part)) for part in parts)
    return re.fullmatch(pattern, normalize(name.removeprefix(OF_SHELL))) is not None


def refusal(keyword: KeywordDoc, arguments: list[str]) -> str | None:
    """The reason why these arguments do not fit the keyword."""
    known = {each.name: each for each in keyword.args}
    embedded = re.findall(r"\$\{(\w+)", keyword.name)
    free = [each for each in keyword.args if each.name not in embedded]
    given = set(embedded)
    for place, argument in enumerate(arguments):
        name, separator, value = argument.partition("=")
        if not separator or name not in known:
            if separator and keyword.args.var_named:
                continue
            name, value = free[place].name if place < len(free) else "", argument
        if not name:
            return f"{argument} is one argument too many"
        given.add(name)
        kind = known[name].type
        if kind and not value.startswith("${"):
            kind.convert(value)
    missing = [each.name for each in keyword.args if each.required and each.name not in given]
    return f"{', '.join(missing)} not given" if missing else None


@pytest.mark.parametrize("place", PAGES, ids=lambda place: Path(place).name)
def test_every_keyword_is_tagged_by_its_kind(place: str) -> None:
    wrong = []
    for each in keywords(place):
        kinds = KINDS & set(each.tags)
        is_check = "should" in each.name.lower().split()
        if len(kinds) != 1 or ("check" in kinds) != is_check or not set(each.tags) <= KINDS | OTHER_TAGS:
            wrong.append(f"{each.name}: {list(each.tags)}")
    assert wrong == []


@pytest.mark.parametrize("place", PAGES, ids=lambda place: Path(place).name)
def test_every_keyword_with_arguments_has_an_example(place: str) -> None:
    shown = {name for name, _ in examples(place)}
    asked = [each for each in keywords(place) if list(each.args)]
    assert [each.name for each in asked if not any(is_called(each, name) for name in shown)] == []


@pytest.mark.parametrize("place", PAGES, ids=lambda place: Path(place).name)
def test_every_example_can_be_called(place: str) -> None:
    for name, arguments in examples(place):
        owner = SHELL if name.startswith(OF_SHELL) else place
        found = [each for each in page(owner).keywords if is_called(each, name)]
        assert [refusal(each, arguments) for each in found] == [None], name


@pytest.mark.parametrize("place", PAGES, ids=lambda place: Path(place).name)
def test_a_verdict_of_many_keywords_is_said_once(place: str) -> None:
    said = Counter[str]()
    for each in keywords(place):
        _, _, raises = each.doc.partition("Raises:")
        said.update(re.sub(r"\s+", " ", entry) for entry in re.findall(r"^ +\w+: .*(?:\n {8,}.*)*", raises, re.M))
    assert [entry for entry, count in said.items() if count >= SHARED] == []


def test_a_wrong_example_would_be_found() -> None:
    """Negative control of this file's own search."""
    (bond,) = [each for each in keywords(f"{LIBRARIES / 'Bonding.py'}") if each.name == "Bond Both Hosts"]
    assert refusal(bond, ["active-backup", "miimon_ms=100"]) is None
    assert refusal(bond, ["miimon_ms=100"]) == "mode not given"
    with pytest.raises(ValueError, match="no-such"):
        refusal(bond, ["no-such-mode"])
