"""From a YAML file of the lab to a typed, frozen record, or to one error that lists everything wrong with the file.

A problem is one line, and says where, what and what is wanted::

    lab/benches/x.yaml:14: servers.dut.ssh.port: 70000 is not wanted; expected a TCP port 1..65535

The shape of the whole file is checked first; what spans several fields is checked once the shape is right
(``problems_of`` of :func:`load`).
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, PrivateAttr, ValidationError
from pydantic_core import ErrorDetails

from niclab.core.verdict import BenchFault
from niclab.files.document import Document, FieldPath, Problem, read, shown_file
from niclab.files.types import Record, Several, Wanted

_LONGEST_SHOWN_VALUE = 80

_SECRET_KEY = re.compile(r"([a-z]+_)?(pass(word|wd|phrase)?|token|community)|secret", re.IGNORECASE)
"""Keys that would hold a secret itself. No sheet has one: ``password_secret`` holds a name."""


class Sheet(Record):
    """A whole file. Relative paths in it are relative to its directory."""

    _file: Path = PrivateAttr()
    _text: str = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        """Keep the file and what was read from it, which :func:`load` hands over as context."""
        self._file, self._text = context["file"], context["text"]

    @property
    def file(self) -> Path:
        """The file this was read from, absolute."""
        return self._file

    @property
    def text(self) -> str:
        """The values that were read, as JSON."""
        return self._text


SheetT = TypeVar("SheetT", bound=Sheet)


def load(file: Path, model: type[SheetT], problems_of: Callable[[SheetT], Iterable[Problem]]) -> SheetT:
    """Read ``file`` into ``model``.

    The values travel as JSON because pydantic's strict mode then turns a list into a tuple and a word into an Enum, a
    path or a network, and converts nothing else.

    Args:
        file: The file.
        model: The record of a whole file.
        problems_of: Yields what no field shows alone: references, overlaps, contradictions.

    Raises:
        BenchFault: With every problem of the file, one a line, in the order of the file.
    """
    document = read(file)
    problems = [*document.problems, *_unreadable_values(document, model)]
    try:
        text = json.dumps(document.data)
        record = model.model_validate_json(text, context={"file": file.absolute(), "text": text})
    except ValidationError as error:
        answered = {problem.field for problem in problems}
        shape = [
            _shape_problem(document, model, details) for details in error.errors() if not _is_echo(document, details)
        ]
        problems += [problem for problem in shape if problem.field not in answered]
    else:
        problems += problems_of(record)
        if not problems:
            return record
    problems.sort(key=lambda problem: document.line_of(problem.field))
    raise BenchFault("\n".join(_one_line(document, problem) for problem in dict.fromkeys(problems)))


def _one_line(document: Document, problem: Problem) -> str:
    where = ".".join(str(step) for step in problem.field) or "(the whole file)"
    line = document.line_of(problem.field)
    return f"{shown_file(document.file)}:{line}: {where}: {problem.found}; expected {problem.wanted}"


def _unreadable_values(document: Document, model: type[Sheet]) -> Iterator[Problem]:
    """Empty and unclear values of known keys; about an unknown key there is enough to say already."""
    for path in (*document.empty, *document.unclear):
        if not _alternatives_at(model, path):
            continue
        if path in document.empty:
            yield Problem(path, "no value", f"{_words_at(model, path)}; or leave the key out if it is optional")
        else:
            yield Problem(path, f"{_shown(document, path)} is not wanted", _with_quotes_hint(document, model, path))


def _is_echo(document: Document, details: ErrorDetails) -> bool:
    """True for "too short" of a list or section that is long enough: pydantic does not count entries that are wrong."""
    if details["type"] != "too_short":
        return False
    path = _path_in_file(document.data, details["loc"], missing=False)
    return len(_value_at(document, path)) >= int(details["ctx"]["min_length"])


def _shape_problem(document: Document, model: type[Sheet], details: ErrorDetails) -> Problem:
    kind, loc = details["type"], details["loc"]
    path = _path_in_file(document.data, loc, missing=kind == "missing")
    if kind == "missing":
        return Problem(path, "missing", _words_at(model, path))
    if kind == "extra_forbidden":
        return _unknown_key(model, path)
    if kind in ("too_short", "too_long"):
        context = details["ctx"]
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return Problem(path, f"{context['actual_length']} entries", f"{bound} of them")
    if kind == Several.ERROR:
        return Problem(path, "a section of these keys is not wanted", details["msg"])
    if loc[-1] == "[key]":
        return Problem(path, f"the name {path[-1]} is not wanted", details["msg"])
    return Problem(path, f"{_shown(document, path)} is not wanted", _with_quotes_hint(document, model, path))


def _path_in_file(data: object, loc: Sequence[str | int], *, missing: bool) -> FieldPath:
    """The steps of a pydantic location that are in the file; it also names alternatives of a type, which do not."""
    path: FieldPath = ()
    for step in loc:
        steps_here: Any = data if isinstance(data, dict) else dict(enumerate(data)) if isinstance(data, list) else {}
        if step in steps_here:
            data = steps_here[step]
            path = (*path, step)
    return (*path, loc[-1]) if missing else path


def _unknown_key(model: type[Sheet], path: FieldPath) -> Problem:
    key = str(path[-1])
    known = sorted(_known_keys(model, path[:-1]))
    if _SECRET_KEY.fullmatch(key):
        wanted = "password_secret: the NAME of the secret; secrets never are in a file of the repository"
        return Problem(path, "a literal secret (not shown)", wanted)
    close = difflib.get_close_matches(key, known, n=1)
    question = f" (did you mean {close[0]}?)" if close else ""
    return Problem(path, f"unknown key{question}", f"one of {', '.join(known)}")


def _shown(document: Document, path: FieldPath) -> str:
    """A value as written; never one that may be a secret."""
    if path not in document.written:
        return "a list" if isinstance(_value_at(document, path), list) else "a section"
    text = document.written[path]
    if _may_be_secret(document, path):
        return "the value (not shown)"
    return text if len(text) <= _LONGEST_SHOWN_VALUE else text[:_LONGEST_SHOWN_VALUE] + "..."


def _may_be_secret(document: Document, path: FieldPath) -> bool:
    """True for passwords, ``password_secret`` (someone may have put the password there), and URLs with a login."""
    text = document.written[path]
    key = str(path[-1])
    return bool(_SECRET_KEY.fullmatch(key.removesuffix("_secret"))) or ("://" in text and "@" in text)


def _with_quotes_hint(document: Document, model: type[Sheet], path: FieldPath) -> str:
    """Return the expectation, and how to write a text that YAML takes for something else."""
    words = _words_at(model, path)
    types = {kind for kind, _ in _alternatives_at(model, path)}
    text = document.written.get(path, "")
    not_text = path in document.unclear or (path in document.bare and not isinstance(_value_at(document, path), str))
    if not not_text or types & {int, float, bool} or any(_is_container(kind) for kind in types):
        return words
    if _may_be_secret(document, path):
        return words
    return f"{words}; YAML does not read this as text, put it in quotes: {json.dumps(text)}"


def _value_at(document: Document, path: FieldPath) -> Any:
    value: Any = document.data
    for step in path:
        value = value[step]
    return value


def _is_container(kind: object) -> bool:
    return (isinstance(kind, type) and issubclass(kind, BaseModel)) or get_origin(kind) in (tuple, Mapping)


def _alternatives(annotation: object, notes: tuple[object, ...]) -> Iterator[tuple[object, tuple[object, ...]]]:
    """The plain types an annotation allows, each with its notes, from inside unions and ``Annotated``."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *more = get_args(annotation)
        yield from _alternatives(inner, (*notes, *more))
    elif origin in (Union, UnionType):
        for member in get_args(annotation):
            if member is not type(None):
                yield from _alternatives(member, notes)
    else:
        yield annotation, notes


def _alternatives_at(model: type[Sheet], path: FieldPath) -> list[tuple[object, tuple[object, ...]]]:
    """The plain types that may be at ``path``; none for a key the model does not know."""
    found: list[tuple[object, tuple[object, ...]]] = [(model, ())]
    for step in path:
        inside: list[tuple[object, tuple[object, ...]]] = []
        for kind, notes in found:
            origin = get_origin(kind)
            if isinstance(step, str) and any(isinstance(note, Several) for note in notes):
                inside.append((kind, notes))
            elif isinstance(kind, type) and issubclass(kind, BaseModel) and step in kind.model_fields:
                info = kind.model_fields[str(step)]
                inside += _alternatives(info.annotation, tuple(info.metadata))
            elif isinstance(origin, type) and issubclass(origin, Mapping):
                inside += _alternatives(get_args(kind)[1], ())
            elif origin is tuple and isinstance(step, int):
                inside += _alternatives(get_args(kind)[0], ())
        found = inside
    return found


def _known_keys(model: type[Sheet], path: FieldPath) -> set[str]:
    return {
        key
        for kind, _ in _alternatives_at(model, path)
        if isinstance(kind, type) and issubclass(kind, BaseModel)
        for key in kind.model_fields
    }


def _words_at(model: type[Sheet], path: FieldPath) -> str:
    """Describe in plain words what may be at ``path``."""
    words: list[str] = []
    for kind, notes in _alternatives_at(model, path):
        own = [note.words for note in notes if isinstance(note, Wanted)]
        if own:
            words.append(own[-1])
        elif isinstance(kind, type) and issubclass(kind, BaseModel):
            words.append(f"a section with {', '.join(kind.model_fields)}")
        elif get_origin(kind) is tuple:
            words.append("a list")
        elif kind is bool:
            words.append("true or false")
        else:
            words.append("named entries")
    return " or ".join(dict.fromkeys(words))
