"""Debian packages as files: lists of our own, renewed once, and apt's own words when it does not work."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import debian
import image


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for an ``apt-get`` of the test's, which notes its commands in ``calls``."""
    monkeypatch.setattr(image, "CACHE", tmp_path / "cache")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return tmp_path


def program(apt: Path, script: str) -> None:
    file = apt / "apt-get"
    file.write_text(f'#!/bin/sh\nwhile [ "$1" = -o ]; do shift 2; done\necho "$@" >> {apt}/calls\n{script}\n')
    file.chmod(0o755)


def calls(apt: Path) -> list[str]:
    return (apt / "calls").read_text().splitlines()


def test_lists_are_fetched_the_first_time_only(apt: Path) -> None:
    program(apt, '[ "$1" = update ] || touch "$3.deb"')
    (apt / "here").mkdir()
    debian.download(["tcsh"], apt / "here")
    debian.download(["dkms"], apt / "here")
    assert calls(apt) == ["update -q", "download -q tcsh", "download -q dkms"]
    assert {file.name for file in (apt / "here").iterdir()} == {"tcsh.deb", "dkms.deb"}


def test_old_lists_are_renewed(apt: Path) -> None:
    program(apt, f"case $1 in update) touch {apt}/new ;; download) [ -e {apt}/new ] ;; esac")
    (apt / "cache/apt").mkdir(parents=True)
    debian.download(["tcsh"], apt)
    assert calls(apt) == ["download -q tcsh", "update -q", "download -q tcsh"]


def test_what_the_archive_lacks_is_told_in_apts_words(apt: Path) -> None:
    program(apt, '[ "$1" = update ] || { echo "E: Unable to locate package tcsh" >&2; exit 100; }')
    with pytest.raises(debian.PackageError, match=r"^tcsh cannot be fetched: E: Unable to locate package tcsh$"):
        debian.download(["tcsh"], apt)


def test_an_archive_that_does_not_answer_is_told(apt: Path) -> None:
    program(apt, "exit 100")
    with pytest.raises(debian.PackageError, match="apt-get ended with status 100"):
        debian.download(["tcsh"], apt)
