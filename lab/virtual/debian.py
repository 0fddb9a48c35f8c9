"""Debian packages fetched as files, by this machine's sources but with lists of our own: without root, and also where
apt's own lists are missing or old."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import image


class PackageError(Exception):
    """The archive does not have a package, or does not answer."""


def download(names: Sequence[str], folder: Path) -> None:
    """Fetch packages (``name`` or ``name=version``) into ``folder``. Lists that do not lead to them are renewed once.

    :raises PackageError: with apt's own words.
    """
    state = image.CACHE / "apt"
    said = _apt(state, ["download", "-q", *names], folder) if state.exists() else "no lists yet"
    if said:
        said = _apt(state, ["update", "-q"], folder) or _apt(state, ["download", "-q", *names], folder)
    if said:
        raise PackageError(f"{', '.join(names)} cannot be fetched: {said}")


def _apt(state: Path, command: list[str], folder: Path) -> str:
    """What went wrong; nothing when all is well."""
    for place in ("lists/partial", "cache/archives/partial"):
        (state / place).mkdir(parents=True, exist_ok=True)
    own = ["-o", f"Dir::State::Lists={state / 'lists'}", "-o", f"Dir::Cache={state / 'cache'}"]
    try:
        # with its own user apt could not write into a folder of ours
        own += ["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=1"]
        done = subprocess.run(
            ["apt-get", *own, *command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
    except FileNotFoundError:
        return "this machine lacks apt-get"
    return "" if done.returncode == 0 else (done.stderr.strip() or f"apt-get ended with status {done.returncode}")
