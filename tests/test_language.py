"""The language of the repository: field terms, and none of the words that make a sentence hard to read."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
AVOIDED = {
    r"\bstands? (in|on|at|for|there|twice|beside|behind|already)\b": "is, means, occurs",
    r"\b(is|are|was|were|be) told\b": "is reported, is compared",
    r"\bwish(es|ed)?\b": "expected",
    r"\banew\b": "again",
    r"\bbeside\b": "with, next to",
    r"\btakes? (it |them )?away\b": "remove",
    r":(param|returns?|raises) ?[\w., |]*:": "Args, Returns, Raises: Libdoc does not render the other form",
}
"""Pattern -> what to write instead."""
READ = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "suites", "resources", "libraries", "lab/benches"),
    "lab/plans",
)
QUOTED = re.compile(r"Please stand by")
"""Text of others that a reader of a console looks for."""


def lines() -> Iterator[tuple[str, int, str]]:
    """Every line that people read: file, number, text."""
    listed = subprocess.run(
        ["git", "ls-files", "--", *READ], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if name.endswith((".md", ".py", ".robot", ".resource", ".yaml")):
            text = (REPOSITORY / name).read_text(encoding="utf-8")
            yield from ((name, number, line) for number, line in enumerate(text.splitlines(), start=1))


@pytest.mark.parametrize("pattern", AVOIDED)
def test_words_that_are_hard_to_read_are_avoided(pattern: str) -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, number, line in lines()
        if re.search(pattern, line, re.IGNORECASE) and not QUOTED.search(line)
    ]
    assert not found, f"write {AVOIDED[pattern]}:\n" + "\n".join(found)


def test_the_readme_is_short() -> None:
    assert len((REPOSITORY / "README.md").read_text().splitlines()) <= 150


def test_every_argument_of_a_keyword_is_described() -> None:
    missing = []
    for file in sorted((REPOSITORY / "libraries").glob("*.py")):
        text = file.read_text()
        for found in re.finditer(
            r"@keyword[^\n]*\n    def (\w+)\(\s*self,?([^)]*)\)[^:]*:\n\s+\"\"\"([\s\S]*?)\"\"\"", text
        ):
            names = re.findall(r"\*?(\w+)(?=:)", found[2])
            missing += [f"{file.name}: {found[1]}: {name}" for name in names if f"{name}:" not in found[3]]
    assert missing == []
