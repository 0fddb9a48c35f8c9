"""The files that go from the cache, and those that stay whatever their age."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

import prune

OLD, NEW = 31, 3


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    made = tmp_path / "cache"
    made.mkdir()
    return made


def folder(cache: Path, name: str, days: float) -> Path:
    """A folder whose file was read last so many days ago."""
    made = cache / name / "deep"
    made.mkdir(parents=True)
    (made / "file").write_bytes(b"x" * 8192)
    then = time.time() - days * 86400
    os.utime(made / "file", (then, then))
    return made.parent


def test_what_nobody_has_read_for_long_goes(cache: Path) -> None:
    gone = [
        folder(cache, f"{kind}-0123456789abcdef", OLD)
        for kind in ("buildroot", "card", "dkms", "driver-be2net", "image", "modules", "rpm-dnf", "rpmroot")
    ]
    stays = [
        folder(cache, "image-fedcba9876543210", NEW),
        folder(cache, "apt", OLD),
        folder(cache, "allure-3.18.0", OLD),
    ]
    removed = prune.prune(cache, 30, frozenset())
    assert [each.folder for each in removed] == gone and not any(each.exists() for each in gone)
    assert all(each.size_bytes == 8192 and 30.9 < each.unread_days < 31.1 for each in removed)
    assert all(each.is_dir() for each in stays)


def test_a_file_that_is_read_keeps_its_folder(cache: Path) -> None:
    old = folder(cache, "image-0123456789abcdef", OLD)
    (old / "deep" / "manifest.json").write_text("{}")
    assert prune.prune(cache, 30, frozenset()) == [] and old.is_dir()


@pytest.mark.parametrize("kind", ["image", "card", "vendor", "freebsd"])
def test_a_build_that_was_given_up_goes_sooner(cache: Path, kind: str) -> None:
    given_up, at_work = folder(cache, f"{kind}-build-ab12", 2), folder(cache, "modules-build-cd34", 0.1)
    assert [each.folder for each in prune.prune(cache, 30, frozenset())] == [given_up]
    assert at_work.is_dir()


def test_an_image_under_a_disk_stays(cache: Path, tmp_path: Path) -> None:
    used, unused = folder(cache, "image-0123456789abcdef", OLD), folder(cache, "image-fedcba9876543210", OLD)
    server = tmp_path / "state" / "virtual" / "dut"
    server.mkdir(parents=True)
    (server / "image-freebsd.json").write_text(json.dumps({"image": str(used)}))
    in_use = prune.images_in_use(tmp_path / "state")
    assert [each.folder for each in prune.prune(cache, 30, in_use)] == [unused]
    assert used.is_dir()


def test_without_a_cache_there_is_nothing_to_do(cache: Path) -> None:
    assert prune.prune(cache / "none", 30, frozenset()) == []
