"""The place of the repository: a checkout, or the copy that an installed package brings."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from niclab.files.repository import COPY, REPOSITORY, RESULTS, root_of


def test_a_checkout_is_the_repository(tmp_path: Path) -> None:
    (tmp_path / "suites").mkdir()
    assert root_of(tmp_path / "libraries" / "niclab") == tmp_path
    assert root_of(REPOSITORY / "libraries" / "niclab") == REPOSITORY
    assert REPOSITORY / "results" == RESULTS


def test_an_installed_package_has_a_copy_beside_it(tmp_path: Path) -> None:
    assert root_of(tmp_path / "site-packages" / "niclab") == tmp_path / "site-packages" / COPY


@pytest.mark.slow
def test_a_wheel_brings_what_a_checkout_holds(tmp_path: Path) -> None:
    clone, wheels = tmp_path / "clone", tmp_path / "wheels"
    subprocess.run(["git", "clone", "--quiet", str(REPOSITORY), str(clone)], check=True)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(wheels), str(clone)], check=True)
    (wheel,) = wheels.glob("*.whl")
    packed = zipfile.ZipFile(wheel)
    names = {name for name in packed.namelist() if name.startswith(f"{COPY}/") and ".egg-info" not in name}
    listed = subprocess.run(["git", "ls-files"], cwd=clone, capture_output=True, text=True, check=True).stdout.split()
    expected = {
        f"{COPY}/{name}"
        for name in listed
        if name.startswith(("suites/", "resources/", "lab/"))
        or (name.startswith("libraries/") and not name.startswith("libraries/niclab/"))
    }
    assert names == expected
    assert packed.getinfo(f"{COPY}/lab/virtual/vbench").external_attr >> 16 & 0o111
