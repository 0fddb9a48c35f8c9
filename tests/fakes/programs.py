"""Programs that play others."""

from __future__ import annotations

import stat
from pathlib import Path


def program(path: Path, text: str) -> Path:
    """Write a program that its owner can run, with the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
