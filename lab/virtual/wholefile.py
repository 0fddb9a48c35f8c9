"""Files that are written in one step: a reader sees the old file or the new one, and an end by force leaves no half."""

from __future__ import annotations

from pathlib import Path


def draft_of(path: Path) -> Path:
    """The name under which a file is written before it takes its place; what is left there may be removed."""
    return path.with_name(path.name + ".new")


def write_whole(path: Path, content: str) -> None:
    """Write a file in one step."""
    draft = draft_of(path)
    draft.write_text(content)
    draft.replace(path)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file that only this user may read, in one step."""
    draft = draft_of(path)
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    draft.write_bytes(content.encode() if isinstance(content, str) else content)
    draft.replace(path)
