"""Builds of modules: by this machine's compiler for a kernel of its release, else in a root of the kernel's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab/virtual/card"))

import kbuild  # noqa: E402

import debian  # noqa: E402
import image  # noqa: E402

KERNEL = kbuild.Kernel("trixie", "6.12.118+deb13-amd64", "6.12.118-1")
APT = """\
while [ "$1" = -o ]; do shift 2; done
[ "$1" = update ] && exit
shift 2
for name; do
    [ "$name" != linux-kbuild-6.12.118+deb13=6.12.118-1 ] || exit 100  # it went when a later one came
    : > "${name%=*}_amd64.deb"
done
"""
ASKED = """\
case $1 in
-f) echo 'linux-headers-6.12.118+deb13-common (= 6.12.118-1), linux-kbuild-6.12.118+deb13 (>= 6.12.118-1), gcc-14' ;;
*) mkdir -p "$3/HEADERS" ;;
esac
"""
PROGRAMS = {
    "apt-get": APT,
    "dpkg-deb": ASKED.replace("HEADERS", KERNEL.headers),
    "mmdebstrap": f"mkdir -p {KERNEL.headers} dev; : > dev/null; tar -cf root.tar ./usr ./dev",
    "make": "pwd",
    "unshare": "pwd",
}


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The arguments of the test's programs; none of them does anything but lay files."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(f'#!/bin/sh\necho "{name} $*" >> {tmp_path}/said\n{script}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(image, "CACHE", tmp_path / "cache")
    image.CACHE.mkdir()
    (tmp_path / "work").mkdir()
    return tmp_path / "said"


def called(said: Path, program: str) -> list[str]:
    return [line for line in said.read_text().splitlines() if line.startswith(f"{program} ")]


def test_the_kernel_is_that_of_the_image(tmp_path: Path) -> None:
    packages = {f"linux-image-{KERNEL.release}": KERNEL.version}
    manifest = {"suite": KERNEL.suite, "kernel": KERNEL.release, "packages": packages}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    assert kbuild.kernel_of(tmp_path) == KERNEL


def test_a_kernel_of_this_machines_release_is_built_for_by_its_compiler(
    said: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(debian, "is_release", lambda suite: suite == KERNEL.suite)
    work = said.parent / "work"
    for _ in range(2):
        kbuild.make(KERNEL, work, "A=1")
    headers = image.CACHE / "headers-6.12.118+deb13-amd64-6.12.118-1" / KERNEL.headers
    assert set(called(said, "make")) == {f"make -C {headers} M={work} -s -j2 A=1 modules"}
    assert "deb13-common/Makefile" in (headers / "Makefile").read_text()
    downloads = [line.rsplit(" download -q ", 1)[1] for line in called(said, "apt-get") if " download " in line]
    assert downloads == [
        f"linux-headers-{KERNEL.release}=6.12.118-1 linux-headers-6.12.118+deb13-common=6.12.118-1",
        "linux-kbuild-6.12.118+deb13",
    ]


def test_a_kernel_of_another_release_is_built_for_in_a_root_of_it(said: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "is_release", lambda _: False)
    work = said.parent / "work"
    for _ in range(2):
        kbuild.make(KERNEL, work, "A=1")
    root = image.CACHE / "buildroot-6.12.118+deb13-amd64-6.12.118-1"
    (bootstrap,) = called(said, "mmdebstrap")
    assert f"--include=make,linux-headers-{KERNEL.release}=6.12.118-1 " in bootstrap
    assert bootstrap.endswith(" trixie root.tar")
    assert f"sh {root} {work} make -C /{KERNEL.headers} M=/mnt -s -j2 A=1 modules" in said.read_text()
    assert list((root / "dev").iterdir()) == []


def test_the_end_of_a_failed_step_is_told(said: Path) -> None:
    with pytest.raises(kbuild.BuildError, match=r"^sh -c .* failed with status 3:\nno such header$"):
        kbuild.run(["sh", "-c", "echo no such header >&2; exit 3"], said.parent)


def test_a_command_in_a_root_works_on_the_folder(tmp_path: Path) -> None:
    root, work = tmp_path / "root", tmp_path / "work"
    for folder in (root / "mnt", root / "dev", work):
        folder.mkdir(parents=True)
    (work / "file").touch()
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", kbuild.IN_ROOT, "sh", str(root), str(work)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{os.environ['PATH']}:/usr/sbin:/sbin")
        done = subprocess.run([*command, "/mnt/no-such-program"], capture_output=True, text=True)
    assert done.returncode == 127 and "/mnt/no-such-program" in done.stderr
