"""From the bytes of a YAML file to its node tree, within limits that a file of the lab never meets.

An alias lets 200 bytes make a million fields, and deep nesting ends the interpreter's stack; both are refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from niclab.core.verdict import BenchFault

LARGEST_FILE = 1 << 20
"""Bytes; the largest sheet of the lab has 20 thousand."""
DEEPEST = 50
"""Sections and lists within each other; the deepest sheet of the lab has 7."""


class _Refused(Exception):
    """Valid YAML that no file of the lab needs. The arguments: line from 1, what is wrong."""


class _Loader(yaml.SafeLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it without types
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            problem = f"an alias (*{event.anchor}) is not wanted; expected the value written out"
            raise _Refused(line, problem)
        self.depth += 1
        if self.depth > DEEPEST:
            problem = f"more than {DEEPEST} sections and lists within each other; expected at most {DEEPEST}"
            raise _Refused(line, problem)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def compose(text: str, name: str) -> tuple[yaml.SafeLoader, yaml.MappingNode]:
    """Read the text of a YAML file whose top level is a section.

    Args:
        text: The text.
        name: The file as messages show it.

    Returns:
        The loader, which can construct single values, and the node of the whole file.

    Raises:
        BenchFault: The text is not YAML, nested too deeply, no section, or has aliases. The message names file and
            line.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
    except _Refused as error:
        line, problem = error.args
        raise BenchFault(f"{name}:{line}: {problem}") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = "; text that begins with > goes in quotes" if "indentation indicators" in str(error.problem) else ""
        raise BenchFault(f"{name}:{line}: is not YAML: {error.problem or error.context}{hint}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise BenchFault(f"{name}:{line}: is not YAML: character {error.character!r} is not allowed") from error
    if not isinstance(node, yaml.MappingNode):
        found = "is empty" if node is None else "is no section"
        raise BenchFault(f"{name}:1: {found}; expected a file of `key: value` lines")
    return loader, node


def text_of(file: Path, name: str) -> str:
    """Read the text of a file.

    Args:
        file: The file.
        name: The file as messages show it.

    Raises:
        BenchFault: The file is missing, unreadable, too large, or not UTF-8.
    """
    try:
        with file.open("rb") as stream:
            content = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise BenchFault(f"{name}: cannot be read: {error.strerror}; expected a YAML file") from error
    if len(content) > LARGEST_FILE:
        raise BenchFault(f"{name}: has more than {LARGEST_FILE} bytes; expected a YAML file of at most {LARGEST_FILE}")
    try:
        return content.decode().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise BenchFault(f"{name}:{line}: is not UTF-8 text ({error.reason}); expected a YAML file in UTF-8") from error
