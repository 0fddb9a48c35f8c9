"""The language of the repository: field terms, and none of the words that make a sentence hard to read."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from parsed_tree import trees

REPOSITORY = Path(__file__).resolve().parents[1]
AVOIDED = {
    r"\bstands? (in|on|at|for|there|twice|beside|behind|already)\b": "is, means, occurs",
    r"\b(is|are|was|were|be) told\b": "is reported, is compared",
    r"\bwish(es|ed)?\b": "expected",
    r"\banew\b": "again",
    r"\bbeside\b": "with, next to",
    r"\btakes? (it |them )?away\b": "remove",
    r":(param|returns?|raises) ?[\w., |]*:": "Args, Returns, Raises: Libdoc does not render the other form",
    r"\bhouse rules?\b": "assumption",
}
"""Pattern -> what to write instead."""
READ = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "suites", "resources", "libraries", "lab", "benchmarks"),
    *("ci", "tests", ":!tests/test_language.py"),
)
QUOTED = re.compile(r"Please stand by|packages you wish to install")
"""Text of other programs: what a reader of a console looks for, and recorded output."""
CODE = ("libraries", "lab/virtual", "benchmarks", "tests", "ci")
MESSAGES = CODE[:3]
OTHER_EXPECTATION = re.compile(
    r"(?:^|[;,:] )wanted:? |[;,:] wanted:?$|\b(?:is|are) wanted$|\bsheet \S+ wants |[;,] (?:\S+ ){1,3}wants "
    r"|[;,:] must be |(?:^|[;,:] )expected:|[,:] expected "
)
"""Ways to say what was expected other than ``subject: measured; expected ... (source)``."""
NOUN_CLAUSE = re.compile(r"(?:What|Who|Whose|Which|Whether|Of|How|Where|When|Why) (?!.*\?$)")


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


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Every docstring of a module, also those of its constants and of fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for each in node.body:
                if isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
                    yield each.value


def texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of every string of a module but docstrings; a value in an f-string is ``{}``."""
    apart = {id(each) for each in docstrings(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            apart |= {id(each) for each in node.values}
            yield (
                node.lineno,
                "".join(str(each.value) if isinstance(each, ast.Constant) else "{}" for each in node.values),
            )
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart:
            yield node.lineno, node.value


def noun_clauses(tree: ast.Module) -> list[int]:
    """The lines of docstrings that open with a noun clause, such as ``What came of a flow``."""
    return [each.lineno for each in docstrings(tree) if NOUN_CLAUSE.match(str(each.value).strip().partition("\n")[0])]


def other_expectations(tree: ast.Module) -> list[int]:
    """The lines of messages that say in another form what was expected."""
    return [line for line, text in texts(tree) if OTHER_EXPECTATION.search(text)]


@pytest.mark.parametrize("folder", CODE)
def test_a_docstring_opens_with_its_subject(folder: str) -> None:
    files = trees(REPOSITORY / folder)
    assert [f"{file}:{line}" for file, tree in files for line in noun_clauses(tree)] == []


@pytest.mark.parametrize("folder", MESSAGES)
def test_messages_say_in_one_form_what_is_expected(folder: str) -> None:
    files = trees(REPOSITORY / folder)
    found = [f"{file}:{line}" for file, tree in files for line in other_expectations(tree)]
    assert not found, "write SUBJECT: MEASURED; expected WHAT (SOURCE):\n" + "\n".join(found)


def test_another_form_would_be_found() -> None:
    """Negative control of this file's own searches."""
    for text in ("a: 1, wanted 2", "a: 1; wanted: 2", "a: 1; expected: 2", "a: 1: expected 2", "a: a number is wanted"):
        assert other_expectations(ast.parse(f"f({text!r})")), text
        assert other_expectations(ast.parse(f"f(f'{{x}}{text}')")), text
    for text in ("a: 1; expected 2 (sheet x)", "a: 1 is not wanted; expected 2", "unwanted", "expected"):
        assert not other_expectations(ast.parse(f"f({text!r})")), text
    assert other_expectations(ast.parse("f(f'{x} is 1, sheet {y} wants 2')"))
    assert noun_clauses(ast.parse('def f():\n    """What came of a flow."""\n')) == [2]
    assert noun_clauses(ast.parse('A = 1\n"""How long it takes."""\n')) == [2]
    assert not noun_clauses(ast.parse('def f():\n    """Is it gone?"""\nA = 1\n"""Which is it?"""\n'))
