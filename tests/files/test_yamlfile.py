"""The rules for every file of the lab, whatever is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field

from niclab.core.verdict import BenchFault
from niclab.files.document import Problem, read, shown_file
from niclab.files.types import Record, Text, Wanted, one_of
from niclab.files.yaml import Sheet, load


class Part(Record):
    text: Text
    number: Annotated[int, one_of(1, 2), Wanted("1 or 2")] = 1
    share: Annotated[float, Wanted("a number")] = 1


class Toy(Sheet):
    part: Part
    more: Annotated[tuple[Part, ...], Field(min_length=1)] = (Part(text="x"),)
    flag: bool = True

    def problems(self) -> Iterator[Problem]:
        if self.part.text == "wrong":
            yield Problem(("part", "text"), "wrong", "right")


def fault(folder: Path, text: str | bytes) -> list[str]:
    """The lines of the error that a file of this content gets, without the folder."""
    file = folder / "toy.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BenchFault) as caught:
        load(file, Toy, Toy.problems)
    return str(caught.value).replace(f"{folder}/", "").splitlines()


def test_a_right_file_is_loaded(tmp_path: Path) -> None:
    file = tmp_path / "toy.yaml"
    file.write_text("part: {text: hello, number: 2, share: 3}\nmore: [{text: a}, {text: b}]\nflag: false\n")
    toy = load(file, Toy, Toy.problems)
    assert (toy.part.text, toy.part.number, toy.part.share, toy.flag) == ("hello", 2, 3.0, False)
    assert [part.text for part in toy.more] == ["a", "b"]
    assert toy.file == file


def test_a_record_cannot_be_changed(tmp_path: Path) -> None:
    file = tmp_path / "toy.yaml"
    file.write_text("part: {text: hello}\n")
    with pytest.raises(ValueError, match="frozen"):
        load(file, Toy, Toy.problems).part.text = "other"  # type: ignore[misc]  # that it is refused is the test


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "toy.yaml:1: is empty; expected a file of `key: value` lines"),
        ("# only a comment\n", "toy.yaml:1: is empty; expected a file of `key: value` lines"),
        ("- a\n", "toy.yaml:1: is no section; expected a file of `key: value` lines"),
        ("part: {text: a}\nflag: [\n", "toy.yaml:3: is not YAML: expected the node content, but found '<stream end>'"),
        ("part:\n\ttext: a\n", "toy.yaml:2: is not YAML: found character '\\t' that cannot start any token"),
        ("part: {text: a}\n---\npart: {text: a}\n", "toy.yaml:2: is not YAML: but found another document"),
        (
            b"part: {text: a}\nflag: \xff\n",
            "toy.yaml:2: is not UTF-8 text (invalid start byte); expected a YAML file in UTF-8",
        ),
        ("part:\n  text: a\x00b\n", "toy.yaml:2: is not YAML: character 0 is not allowed"),
    ],
)
def test_what_is_not_yaml_is_answered_with_its_line(tmp_path: Path, text: str | bytes, line: str) -> None:
    assert fault(tmp_path, text) == [line]


def test_text_that_begins_with_a_comparison_gets_a_hint(tmp_path: Path) -> None:
    (line,) = fault(tmp_path, "part:\n  text: >=1.8\n")
    assert line.startswith("toy.yaml:2: is not YAML: ")
    assert line.endswith("; text that begins with > goes in quotes")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        BenchFault, match=r"nowhere\.yaml: cannot be read: No such file or directory; expected a YAML file"
    ):
        read(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("flag: true\n", "1: part: missing; expected a section with text, number, share"),
        ("part: {number: 1}\n", "1: part.text: missing; expected a text that is not blank"),
        ("part:\n  text: ''\n", '2: part.text: "" is not wanted; expected a text that is not blank'),
        (
            "part:\n  text:\n",
            "2: part.text: no value; expected a text that is not blank; or leave the key out if it is optional",
        ),
        ("part: {text: a, number: 3}\n", "1: part.number: 3 is not wanted; expected 1 or 2"),
        ("part: {text: a, number: true}\n", "1: part.number: true is not wanted; expected 1 or 2"),
        ("part: {text: a, number: 1.0}\n", "1: part.number: 1.0 is not wanted; expected 1 or 2"),
        ("part: {text: a, number: '1'}\n", '1: part.number: "1" is not wanted; expected 1 or 2'),
        ("part: {text: a, number: 01}\n", "1: part.number: 01 is not wanted; expected 1 or 2"),
        ("part: {text: a, share: true}\n", "1: part.share: true is not wanted; expected a number"),
        ("part: {text: a, share: .nan}\n", "1: part.share: .nan is not wanted; expected a number"),
        ("part: {text: a, share: .inf}\n", "1: part.share: .inf is not wanted; expected a number"),
        ("part: {text: a}\nflag: on\n", "2: flag: on is not wanted; expected true or false"),
        ("part: {text: a}\nflag: 1\n", "2: flag: 1 is not wanted; expected true or false"),
        ("part: {text: a}\nflag: 'true'\n", '2: flag: "true" is not wanted; expected true or false'),
        ("part: [a]\n", "1: part: a list is not wanted; expected a section with text, number, share"),
        ("part: {text: {}}\n", "1: part.text: a section is not wanted; expected a text that is not blank"),
        ("part: {text: a}\nmore: []\n", "2: more: 0 entries; expected at least 1 of them"),
        (
            "part: {text: a}\nmore:\n- text: a\n- 5\n",
            "4: more.1: 5 is not wanted; expected a section with text, number, share",
        ),
        ("part: {text: a}\nmore:\n- {}\n", "3: more.0.text: missing; expected a text that is not blank"),
        (
            "part: {text: a}\nflg: true\n",
            "2: flg: unknown key (did you mean flag?); expected one of flag, more, part",
        ),
        ("part: {text: a}\n1: true\n", "2: 1: unknown key; expected one of flag, more, part"),
        ("part:\n  text: a\n\n  text: b\n", "2: part.text: key given again in line 4; expected each key once"),
        ("part: {text: wrong}\n", "1: part.text: wrong; expected right"),
    ],
)
def test_a_problem_is_one_line_with_place_value_and_expectation(tmp_path: Path, text: str, line: str) -> None:
    assert f"toy.yaml:{line}" in fault(tmp_path, text)


@pytest.mark.parametrize(
    "bare",
    [
        "8086",
        "1e10",
        "0710",
        "1.10",
        "10:20",
        "52:54:00:12:34:56",
        "0000:01:00.0",
        "yes",
        "on",
        "true",
        "2026-11-21",
        "1_000",
    ],
)
def test_bare_text_that_a_yaml_reader_takes_for_something_else_is_asked_for_in_quotes(
    tmp_path: Path, bare: str
) -> None:
    assert fault(tmp_path, f"part:\n  text: {bare}\n") == [
        f"toy.yaml:2: part.text: {bare} is not wanted; expected a text that is not blank; "
        f'YAML does not read this as text, put it in quotes: "{bare}"'
    ]
    file = tmp_path / "toy.yaml"
    file.write_text(f'part:\n  text: "{bare}"\n')
    assert load(file, Toy, Toy.problems).part.text == bare


def test_every_problem_is_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = "flag: no\nmore:\n- text: a\n  nmber: 1\npart:\n  number: 9\n  share: 1\n  share: 2\n"
    starts = [line.partition(";")[0] for line in fault(tmp_path, text)]
    assert starts == [
        "toy.yaml:1: flag: no is not wanted",
        "toy.yaml:4: more.0.nmber: unknown key (did you mean number?)",
        "toy.yaml:5: part.text: missing",
        "toy.yaml:6: part.number: 9 is not wanted",
        "toy.yaml:7: part.share: key given again in line 8",
    ]


def test_a_merge_key_is_refused(tmp_path: Path) -> None:
    lines = fault(tmp_path, "part: {text: a}\nmore:\n- <<: {text: a}\n  number: 1\n")
    assert "toy.yaml:3: more.0: a key that is a list, a section or a merge" in lines[0]


@pytest.mark.parametrize(
    "text",
    [
        "part: &p {text: a}\nmore: [*p, *p]\n",
        "part: {text: a}\nmore: &p [*p]\n",
        "a: &a [1, 1]\n"
        + "".join(f"{b}: &{b} [*{a}, *{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)),
    ],
    ids=["of a section", "of its own section", "a million fields"],
)
def test_an_alias_is_refused(tmp_path: Path, text: str) -> None:
    (line,) = fault(tmp_path, text)
    assert re.fullmatch(r"toy\.yaml:2: an alias \(\*[pa]\) is not wanted; expected the value written out", line)


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ("{a: ", "}"), ("[", "")])
def test_deep_nesting_is_refused(tmp_path: Path, begin: str, end: str) -> None:
    (line,) = fault(tmp_path, f"part: {{text: a}}\nmore: {begin * 3000}{end * 3000}\n")
    assert line == "toy.yaml:2: more than 50 sections and lists within each other; expected at most 50"


def test_an_integer_of_too_many_digits_is_answered_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "numbers.yaml"
    file.write_text(f"count: {'9' * 5000}\n")
    document = read(file)
    assert document.data == {"count": "9" * 5000} and list(document.unclear) == [("count",)]  # no field takes it


def test_a_large_file_is_refused(tmp_path: Path) -> None:
    (line,) = fault(tmp_path, "part: {text: a}\n" + "# fill\n" * 160_000)
    assert line == "toy.yaml: has more than 1048576 bytes; expected a YAML file of at most 1048576"


@pytest.mark.parametrize("key", ["password", "Passphrase", "token", "secret", "community"])
@pytest.mark.parametrize("value", ["hunter2", "0123", "12", "'hunter2'"])
def test_a_secret_in_the_file_is_refused_and_not_shown(tmp_path: Path, key: str, value: str) -> None:
    lines = fault(tmp_path, f"part:\n  text: a\n  {key}: {value}\n")
    assert lines
    assert all(line.startswith(f"toy.yaml:3: part.{key}: ") for line in lines)
    assert not any(value.strip("'") in line for line in lines)
    assert any("password_secret: the NAME of the secret" in line for line in lines)


def test_files_of_the_repository_are_shown_from_its_root(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    assert shown_file(root / "lab" / "benches" / "x.yaml") == "lab/benches/x.yaml"
    assert shown_file(tmp_path / "x.yaml") == str(tmp_path / "x.yaml")
