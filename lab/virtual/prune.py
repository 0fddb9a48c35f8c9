"""The cache of what was built, made smaller: everything in it is keyed by content, so old keys stay until they go here.

Only what nobody has read for a while goes, and never what a disk of a bench is based on. What was removed by mistake is
built or fetched again when it is wanted.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

_KINDS = "image|modules|card|driver|vendor|freebsd|rpm|rpmroot|headers|buildroot|dkms|tcsh|qemu"
_KEYED, _UNFINISHED = re.compile(rf"({_KINDS})-.+"), re.compile(rf"({_KINDS})-build-.+")
_DAY_S = 86400.0
UNFINISHED_DAYS = 1.0
"""Assumption: no build takes that long; what is left was given up."""


@dataclass(frozen=True)
class Removed:
    """A folder that is gone. ``unread_days``: since one of its files was read last, as far as the file system tells."""

    folder: Path
    size_bytes: int
    unread_days: float


def images_in_use(state: Path) -> frozenset[Path]:
    """The images that disks of any bench are based on; ``state`` has a folder of each bench."""
    origins = [json.loads(file.read_text())["image"] for file in state.glob("*/*/image*.json")]
    return frozenset(map(Path, origins))


def prune(cache: Path, days: float, keep: frozenset[Path]) -> list[Removed]:
    """Remove every folder of the cache that nobody has read for ``days``.

    Args:
        keep: Folders in use, whatever their age.
    """
    removed = []
    for folder in sorted(cache.iterdir()) if cache.is_dir() else []:
        limit = UNFINISHED_DAYS if _UNFINISHED.fullmatch(folder.name) else days
        if not folder.is_dir() or folder.is_symlink() or folder in keep or not _KEYED.fullmatch(folder.name):
            continue
        files = [file.stat() for file in folder.rglob("*") if file.is_file()]
        read = max((max(file.st_atime, file.st_mtime) for file in files), default=folder.stat().st_mtime)
        unread_days = (time.time() - read) / _DAY_S
        if unread_days > limit:
            shutil.rmtree(folder)
            removed.append(Removed(folder, sum(512 * file.st_blocks for file in files), unread_days))
    return removed
