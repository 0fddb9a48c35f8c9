"""A YAML file of the lab as written: plain values, with the line and the text of each.

Four rules make the files safe to read:

* A bare word that YAML 1.1 readers (PyYAML) and YAML 1.2 readers (editors) take for different things is refused:
  ``1e10``, ``0710``, ``on``, ``0000:01:00.0``, ``52:54:00:12:34:56``. In quotes it is the same text to every reader.
* Nothing is converted: ``true`` is no number, ``8086`` is no text, and an empty value is never "not given".
* A key may occur once, and must be known.
* Nothing grows in the reader: no aliases, no deep nesting, no large files (:mod:`niclab.files.nodes`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import yaml

from niclab.files.nodes import compose, text_of
from niclab.files.repository import REPOSITORY

FieldPath = tuple[str | int, ...]
"""Place of a value in a file: ``("paths", 0, "subnet")``, shown as ``paths.0.subnet``."""

_YAML_1_2_CORE = (  # YAML 1.2.2, chapter 10.3.2, tag resolution of the core schema
    ("null", re.compile(r"~|null|Null|NULL|")),
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE")),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")),
    (
        "float",
        re.compile(
            r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        ),
    ),
)


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file: the field, what was found there, and what is wanted in plain words."""

    field: FieldPath
    found: str
    wanted: str


@dataclass(frozen=True)
class Document:
    """A YAML file as read.

    ``data`` holds plain values, ``lines`` the 1-based line of each field, ``written`` each single value as it is in
    the file, ``bare`` the fields whose value is not in quotes, ``unclear`` the bare words that YAML readers disagree
    about, ``empty`` the fields without a value, and ``problems`` duplicate and impossible keys.
    """

    file: Path
    data: Mapping[str, object]
    lines: Mapping[FieldPath, int]
    written: Mapping[FieldPath, str]
    bare: frozenset[FieldPath]
    unclear: tuple[FieldPath, ...]
    empty: tuple[FieldPath, ...]
    problems: tuple[Problem, ...]

    def line_of(self, path: FieldPath) -> int:
        """Line of a field; of the nearest section around it when the field is missing."""
        while path not in self.lines:
            path = path[:-1]
        return self.lines[path]


@dataclass
class _Reader:
    """Turns the node tree of one file into a :class:`Document`."""

    loader: yaml.SafeLoader
    lines: dict[FieldPath, int] = field(default_factory=dict)
    written: dict[FieldPath, str] = field(default_factory=dict)
    bare: set[FieldPath] = field(default_factory=set)
    unclear: list[FieldPath] = field(default_factory=list)
    empty: list[FieldPath] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def value(self, node: yaml.Node, path: FieldPath) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, path)
        return self._mapping(node, path) if isinstance(node, yaml.MappingNode) else self._sequence(node, path)

    def _mapping(self, node: yaml.MappingNode, path: FieldPath) -> dict[str, object]:
        section: dict[str, object] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode) or key_node.value == "<<":
                wanted = f"every key a plain word (look at line {line})"
                self.problems.append(Problem(path, "a key that is a list, a section or a merge", wanted))
                continue
            key = str(key_node.value)
            if key in section:
                found = f"key given again in line {line}"
                self.problems.append(Problem((*path, key), found, "each key once"))
                continue
            self.lines[(*path, key)] = line
            section[key] = self.value(value_node, (*path, key))
        return section

    def _sequence(self, node: yaml.Node, path: FieldPath) -> list[object]:
        return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]

    def _scalar(self, node: yaml.ScalarNode, path: FieldPath) -> object:
        text = str(node.value)
        if node.style is not None:
            self.written[path] = json.dumps(text, ensure_ascii=False)
            return text
        self.written[path] = text
        self.bare.add(path)
        old = node.tag.rpartition(":")[2]
        new = next((kind for kind, shape in _YAML_1_2_CORE if shape.fullmatch(text)), "str")
        if old != new or (old == "int" and re.match(r"[-+]?0[0-9]", text)):
            self.unclear.append(path)
            return text
        if new == "null":
            self.empty.append(path)
            return None
        try:
            return self.loader.construct_object(node)
        except ValueError:  # more digits than an integer of Python may be read from
            self.unclear.append(path)
            return text


_KEPT = 64
_READ: dict[str, Document] = {}
"""By their text: a sheet is asked for again and again, also as its copy in the folder of a run."""


def shown_file(file: Path) -> str:
    """A file as messages show it: from the repository root when it lies below it."""
    absolute = file.absolute()
    return str(absolute.relative_to(REPOSITORY) if absolute.is_relative_to(REPOSITORY) else file)


def read(file: Path) -> Document:
    """Read a YAML file whose top level is a section.

    Raises:
        BenchFault: The file is missing, unreadable, too large, not UTF-8, not YAML, nested too deeply, no section, or
            has aliases. The message names file and line.
    """
    name = shown_file(file)
    text = text_of(file, name)
    if text not in _READ:
        if len(_READ) >= _KEPT:
            _READ.clear()
        _READ[text] = _document(file, text, name)
    return replace(_READ[text], file=file)


def _document(file: Path, text: str, name: str) -> Document:
    loader, node = compose(text, name)
    reader = _Reader(loader)
    data = reader.value(node, ())
    assert isinstance(data, dict)  # the node is a mapping
    return Document(
        file=file,
        data=data,
        lines=reader.lines,
        written=reader.written,
        bare=frozenset(reader.bare),
        unclear=tuple(reader.unclear),
        empty=tuple(reader.empty),
        problems=tuple(reader.problems),
    )
