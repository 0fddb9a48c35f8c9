"""A bench file and a card sheet that are right, and a way to make them wrong in one place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parent / "samples"
Edit = Callable[..., Path]


def _editor(source: Path, folder: Path) -> Edit:
    def edit(*changes: tuple[str, str]) -> Path:
        """A copy of the file with each ``(old, new)`` replaced at its first place; its lines keep their numbers."""
        text = source.read_text(encoding="utf-8")
        for old, new in changes:
            assert old in text, f"{old!r} is not in {source}"
            text = text.replace(old, new, 1)
        file = folder / source.name
        file.write_text(text, encoding="utf-8")
        return file

    return edit


@pytest.fixture
def edited_bench(tmp_path: Path) -> Edit:
    return _editor(SAMPLES / "virtual.yaml", tmp_path)


@pytest.fixture
def edited_card(tmp_path: Path) -> Edit:
    return _editor(SAMPLES / "intel-82574l.yaml", tmp_path)
