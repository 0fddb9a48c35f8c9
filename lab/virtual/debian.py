"""Debian packages fetched as files, by this machine's sources but with lists of our own: without root, and also where
apt's own lists are missing or old."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import image

_PLANNED = re.compile(r"^Inst (\S+) (?:\[\S*\] )?\((\S+) ", re.MULTILINE)
"""A line of ``apt-get --simulate``: package, version installed (if any), version to install."""
RELEASE_FILE = Path("/etc/os-release")
_TARGET = "$(REPO_URI) $(RELEASE) $(COMPONENT)"


class PackageError(Exception):
    """The archive does not have a package, or does not answer."""


def download(names: Sequence[str], folder: Path, suite: str | None = None) -> None:
    """Fetch packages (``name`` or ``name=version``) into ``folder``. Lists that do not lead to them are renewed once.

    Args:
        suite: A release of Debian, when it need not be this machine's own.

    Raises:
        PackageError: With apt's own words.
    """
    try:
        apt = _Apt(image.CACHE / "apt") if suite is None or is_release(suite) else _apt_of(suite)
        if not apt.is_new and apt.succeeds("download", "-q", *names, folder=folder):
            return
        apt.run("update", "-q")
        apt.run("download", "-q", *names, folder=folder)
    except PackageError as error:
        raise PackageError(f"{', '.join(names)} cannot be fetched: {error}") from error


def is_release(suite: str) -> bool:
    """Does this machine run that release of Debian?"""
    try:
        return _release() == suite
    except PackageError:
        return False


def download_whole(name: str, branch: str, folder: Path) -> dict[str, str]:
    """Fetch a package of another suite of Debian, and what it needs that this machine does not have.

    The archive is the one that this machine has its own release of Debian from.

    Args:
        branch: ``backports`` for the suite ``bookworm-backports`` on a machine with ``bookworm``.

    Returns:
        Package -> version of each.

    Raises:
        PackageError: With apt's own words.
    """
    try:
        own = _Apt(image.CACHE / "apt")
        own.run("update", "-q")
        archives = _own_archives(own)
        suite = f"{archives[0].split()[1]}-{branch}"
        apt = _Apt(image.CACHE / f"apt-{suite}", _source_list(archives, archives[0].split()[0], suite))
        apt.run("update", "-q")
        simulated = apt.run("install", "--simulate", "--no-install-recommends", "--target-release", suite, name)
        packages = {match[1]: match[2] for match in _PLANNED.finditer(simulated)}
        if name not in packages:
            raise PackageError(f"{suite} has none newer than this machine's")
        apt.run("download", "-q", *(f"{package}={version}" for package, version in packages.items()), folder=folder)
    except PackageError as error:
        raise PackageError(f"{name} of Debian's {branch} cannot be fetched: {error}") from error
    return packages


def _apt_of(suite: str) -> _Apt:
    """Packages of another release alone, from the archive that this machine has its own release from.

    Raises:
        PackageError: When there is no such archive.
    """
    own = _Apt(image.CACHE / "apt")
    own.run("update", "-q")
    archive = _own_archives(own)[0].split()[0]
    return _Apt(image.CACHE / f"apt-{suite}", _source_list([], archive, suite))


def _own_archives(apt: _Apt) -> list[str]:
    """Archive, suite and component of every list of Debian's own, those of the machine's release first.

    Raises:
        PackageError: When there is none of the release.
    """
    release = _release()
    found = apt.run("indextargets", "--format", _TARGET, "Created-By: Packages", "Origin: Debian").splitlines()
    archives = sorted(set(found), key=lambda line: line.split()[1:] != [release, "main"])
    if not archives or archives[0].split()[1:] != [release, "main"]:
        raise PackageError(f"this machine's apt has no source of Debian {release}, component main")
    return archives


def _release() -> str:
    """Code name of this machine's Debian.

    Raises:
        PackageError: When this is no release of Debian.
    """
    lines = RELEASE_FILE.read_text().splitlines()
    about = {name: value.strip('"') for name, _, value in (line.partition("=") for line in lines)}
    if about.get("ID") != "debian" or "VERSION_CODENAME" not in about:
        raise PackageError(f"this machine runs {about.get('PRETTY_NAME', 'an unknown system')}, no release of Debian")
    return about["VERSION_CODENAME"]


def _source_list(lists: list[str], archive: str, suite: str) -> Path:
    """apt's list of sources: ``lists`` (archive, suite, component), and the suite of the archive."""
    lines = [*lists, f"{archive} {suite} main"]
    file = image.CACHE / f"apt-{suite}.list"
    file.write_text("".join(f"deb {line}\n" for line in lines))
    return file


@dataclass(frozen=True)
class _Apt:
    """``apt-get`` with lists and downloads of our own.

    Attributes:
        sources: Its list of sources; ``None``: those of the machine.
    """

    state: Path
    sources: Path | None = None

    @property
    def is_new(self) -> bool:
        return not self.state.exists()

    def succeeds(self, *command: str, folder: Path) -> bool:
        try:
            self.run(*command, folder=folder)
        except PackageError:
            return False
        return True

    def run(self, *command: str, folder: Path | None = None) -> str:
        """Run the command and return its output.

        Raises:
            PackageError: When it fails, with its own words.
        """
        for place in ("lists/partial", "cache/archives/partial"):
            (self.state / place).mkdir(parents=True, exist_ok=True)
        own = {"Dir::State::Lists": self.state / "lists", "Dir::Cache": self.state / "cache"}
        # with its own user apt could not write into a folder of ours
        settings = {**own, "APT::Sandbox::User": "root", "Debug::NoLocking": "1"}
        if self.sources:
            settings |= {"Dir::Etc::SourceList": self.sources, "Dir::Etc::SourceParts": "/dev/null"}
        options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        try:
            done = subprocess.run(
                ["apt-get", *options, *command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
            )
        except FileNotFoundError:
            raise PackageError("this machine lacks apt-get") from None
        if done.returncode:
            raise PackageError(done.stderr.strip() or f"apt-get ended with status {done.returncode}")
        return done.stdout
