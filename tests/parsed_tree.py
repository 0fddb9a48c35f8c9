"""The Python files of the repository, parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(file: Path) -> ast.Module:
    """A file, parsed."""
    return ast.parse(file.read_text())


@cache
def trees(folder: Path) -> tuple[tuple[Path, ast.Module], ...]:
    """Every Python file below a folder."""
    return tuple((file, tree_of(file)) for file in sorted(folder.rglob("*.py")))


@cache
def imports(file: Path) -> frozenset[str]:
    """Names of the modules that a file imports."""
    names = set[str]()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return frozenset(names)
