"""Files of the virtual bench are written in one step."""

from __future__ import annotations

from pathlib import Path

import pytest

from wholefile import draft_of, write_private, write_whole


def test_a_file_takes_the_place_of_the_old_one_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cards.json"
    path.write_text("old")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(Path, "replace", cut)
        write_whole(path, "new")
    assert path.read_text() == "old" and draft_of(path).exists()
    write_whole(path, "new")
    assert path.read_text() == "new" and not draft_of(path).exists()


@pytest.mark.parametrize("content", ["secret", b"secret"])
def test_a_private_file_is_its_owners_alone_whatever_was_left(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "key"
    draft_of(path).write_text("half")
    draft_of(path).chmod(0o644)
    write_private(path, content)
    assert path.read_bytes() == b"secret" and path.stat().st_mode & 0o777 == 0o600
