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


ARCHIVE = """\
case $1 in
update) ;;
indextargets)
    echo "http://a/debian/ trixie main"
    echo "http://a/debian/ bookworm-updates main"
    echo "http://a/debian/ bookworm main" ;;
install)
    echo "NOTE: This is only a simulation!"
    echo "Inst libc6 [2.36-9] (2.36-10 Debian:12 [amd64])"
    echo "Inst qemu (1:10.0 Backports [amd64]) []"
    echo "Conf qemu (1:10.0 Backports [amd64])" ;;
download) shift 2; touch "$@" ;;
esac
"""


@pytest.fixture
def bookworm(apt: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(debian, "RELEASE_FILE", apt / "os-release")
    (apt / "os-release").write_text('PRETTY_NAME="Debian 12"\nID=debian\nVERSION_CODENAME=bookworm\n')
    (apt / "here").mkdir()
    return apt


def test_a_package_of_another_suite_comes_with_what_it_needs(bookworm: Path) -> None:
    program(bookworm, ARCHIVE)
    assert debian.download_whole("qemu", "backports", bookworm / "here") == {"libc6": "2.36-10", "qemu": "1:10.0"}
    assert {file.name for file in (bookworm / "here").iterdir()} == {"libc6=2.36-10", "qemu=1:10.0"}
    assert "--target-release bookworm-backports qemu" in next(line for line in calls(bookworm) if "install" in line)


def test_the_suite_is_that_of_the_archive_the_machine_has_its_release_from(bookworm: Path) -> None:
    program(bookworm, ARCHIVE)
    debian.download_whole("qemu", "backports", bookworm / "here")
    lines = (image.CACHE / "apt-bookworm-backports.list").read_text().splitlines()
    assert (
        lines[0] == "deb http://a/debian/ bookworm main" and lines[-1] == "deb http://a/debian/ bookworm-backports main"
    )
    assert len(lines) == 4


def test_a_package_of_another_release_comes_from_the_archive_of_this_machines(bookworm: Path) -> None:
    program(bookworm, ARCHIVE)
    debian.download(["dkms"], bookworm / "here", "trixie")
    assert (image.CACHE / "apt-trixie.list").read_text() == "deb http://a/debian/ trixie main\n"
    assert (bookworm / "here/dkms").exists()


def test_a_package_of_this_machines_own_release_comes_by_its_own_lists(bookworm: Path) -> None:
    program(bookworm, ARCHIVE)
    debian.download(["dkms"], bookworm / "here", "bookworm")
    assert calls(bookworm) == ["update -q", "download -q dkms"]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (("Inst qemu", "Inst other"), "bookworm-backports has none newer than this machine's"),
        (("bookworm main", "bookworm contrib"), "no source of Debian bookworm, component main"),
        (("download)", "download) echo gone >&2; exit 1 ;; other)"), "gone$"),
    ],
)
def test_what_another_suite_lacks_is_told(spoil: tuple[str, str], complaint: str, bookworm: Path) -> None:
    program(bookworm, ARCHIVE.replace(*spoil))
    with pytest.raises(debian.PackageError, match=f"^qemu of Debian's backports cannot be fetched: .*{complaint}"):
        debian.download_whole("qemu", "backports", bookworm / "here")


def test_another_system_than_debian_is_told(bookworm: Path) -> None:
    program(bookworm, ARCHIVE)
    (bookworm / "os-release").write_text('PRETTY_NAME="Other 1"\nID=other\n')
    with pytest.raises(debian.PackageError, match="this machine runs Other 1, no release of Debian"):
        debian.download_whole("qemu", "backports", bookworm / "here")
