"""A verdict follows from records and Enums: no code searches the words of a message of the project's own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from parsed_tree import trees

LIBRARIES = Path(__file__).resolve().parents[1] / "libraries"
NICLAB = LIBRARIES / "niclab"
READERS = (NICLAB / "hosts",)
"""Folders whose modules read what tools of a server print."""
FOREIGN_WORDS = {"files/nodes.py": "PyYAML has no code for its problems"}
"""Modules that search words of another package, and why."""
MESSAGES = {"message", "reason"}
ERRORS = ("Fault", "Error", "Failure", "Failed")
SEARCHES = {"startswith", "endswith", "find", "index", "count", "partition", "search", "match", "fullmatch", "findall"}


def searched(tree: ast.Module) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """The text that is looked for (None: not known) and the one that is searched, of every search in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operator, text in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn):
                    yield node.left, text
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            yield None, node.func.value
            for text in node.args:
                yield None, text


def is_own_message(text: ast.expr, caught: set[str]) -> bool:
    """Is a text an error turned into words, or a field or variable that holds a message?"""
    if isinstance(text, ast.Call) and ast.unparse(text.func) == "str" and text.args:
        return isinstance(text.args[0], ast.Name) and text.args[0].id in caught
    name = text.attr if isinstance(text, ast.Attribute) else text.id if isinstance(text, ast.Name) else ""
    return name in MESSAGES


def breaches(tree: ast.Module, *, reads_tools: bool) -> list[int]:
    """The lines in which a module searches a message, or a sentence in any text unless it reads what tools print."""
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    caught |= {
        each.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arguments)
        for each in node.args
        if each.annotation is not None
        and ast.unparse(each.annotation).endswith(("Fault", "Error", "Failure", "Failed"))
    }
    found = list[int]()
    for wanted, text in searched(tree):
        of_in = wanted is not None
        sentence = isinstance(wanted, ast.Constant) and isinstance(wanted.value, str) and " " in wanted.value.strip()
        if (is_own_message(text, caught) and (of_in or isinstance(text, ast.Call))) or (sentence and not reads_tools):
            found.append(text.lineno)
    return found


def test_no_message_of_the_project_is_searched() -> None:
    found = {
        str(file.relative_to(NICLAB if file.is_relative_to(NICLAB) else LIBRARIES)): lines
        for file, tree in trees(LIBRARIES)
        if (lines := breaches(tree, reads_tools=any(file.is_relative_to(folder) for folder in READERS)))
    }
    assert {file: lines for file, lines in found.items() if file not in FOREIGN_WORDS} == {}
    assert set(FOREIGN_WORDS) <= set(found)


def test_a_breach_would_be_found() -> None:
    """Negative control of this file's own search."""
    of_an_error = "try:\n    f()\nexcept ValueError as error:\n    if 'busy' in str(error):\n        raise\n"
    of_an_argument = "def f(error: BenchFault) -> bool:\n    return 'busy' in str(error)\n"
    by_a_pattern = "try:\n    f()\nexcept ValueError as error:\n    re.search('busy', str(error))\n"
    of_a_reason, of_a_list = "kind = 'busy' in each.reason\n", "any('stood still' in each for each in lines)\n"
    for text in (of_an_error, of_an_argument, by_a_pattern, of_a_reason, of_a_list):
        assert breaches(ast.parse(text), reads_tools=False), text
    for text in ("'busy' in result.stderr\n", "name in names\n", "kind in (1, 2)\n"):
        assert not breaches(ast.parse(text), reads_tools=False), text
    assert not breaches(ast.parse("'no device' in result.stderr\n"), reads_tools=True)
