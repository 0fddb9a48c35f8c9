"""The command ``vbench`` as it is called from any folder, with whatever Python is first on the path."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

import cli
import image

VBENCH = Path(__file__).parents[2] / "lab" / "virtual" / "vbench"


def test_it_uses_the_environment_of_its_repository(tmp_path: Path) -> None:
    house = tmp_path / "a house"
    (house / "lab/virtual").mkdir(parents=True)
    shutil.copy(VBENCH, house / "lab/virtual")
    (house / "lab/virtual/cli.py").write_text("import sys\n\n\ndef main(_):\n    print(sys.prefix, sys.argv[1:])\n")
    command = [str(house / "lab/virtual/vbench"), "status", "--name", "a b"]
    base = Path(sys.base_prefix) / "bin" / "python3"
    bare = subprocess.run([base, "-I", *command], capture_output=True, text=True, cwd=tmp_path)
    assert bare.returncode == 1 and "expected the environment that make setup-virtual creates" in bare.stderr
    venv.create(house / ".venv", symlinks=True)
    packages = house / ".venv/lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    (packages / "pysnmp.py").touch()
    done = subprocess.run([base, *command], capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout == f"{house / '.venv'} ['status', '--name', 'a b']\n", done.stderr


@pytest.mark.parametrize(
    ("asked", "made"),
    [
        ([], ["bookworm"]),
        (["--os", "debian13", "--os", "linux"], ["bookworm", "trixie"]),
        (["--os", "freebsd", "--os", "freebsd"], ["bookworm"]),
        (["--os", "rpm-zypper", "--os", "rpm-dnf"], ["bookworm", "bookworm+rpm"]),
    ],
)
def test_the_images_of_the_systems_that_are_asked_for_are_made(
    asked: list[str], made: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(image, "ensure", lambda suite, _: Path("/cache") / suite)
    assert cli.main(None, ["image", *asked]) == 0
    assert capsys.readouterr().out.splitlines() == [f"/cache/{suite}" for suite in made]
