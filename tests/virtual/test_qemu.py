"""The QEMU of a server: this machine's own, one that was chosen, or an unpacked one for some cards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import program

import cardmodel
import debian
import image
import qemu

NEEDS_9 = cardmodel.card("intel-82576")
CARDS = [cardmodel.card(name) for name in cardmodel.names()]
ANY = [card for card in CARDS if not (card.qemu and card.qemu.oldest)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, on a machine whose PATH begins with ``tmp_path/bin``."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.delenv("VBENCH_QEMU", raising=False)
    monkeypatch.setattr(image, "CACHE", tmp_path / "cache")
    return tmp_path / "cache"


def says(file: Path, prints: str) -> Path:
    return program(file, f'#!/bin/sh\necho "{prints}"\n')


def of_this_machine(cache: Path, version: str) -> Path:
    return says(cache.parent / "bin" / qemu.PROGRAM, f"QEMU emulator version {version} (Debian)")


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Debian's archive with one package, whose QEMU prints its libraries; what was asked of it."""
    asked: list[str] = []

    def download_whole(name: str, branch: str, folder: Path) -> dict[str, str]:
        asked.append(f"{name} of {branch}")
        tree = folder.parent / "tree"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "DEBIAN/control").write_text(
            f"Package: {name}\nVersion: 1:10.0.2\nArchitecture: all\nMaintainer: A <a@b>\nDescription: test\n"
        )
        says(tree / "usr/bin" / qemu.PROGRAM, "QEMU emulator version 10.0.2 with $LD_LIBRARY_PATH and $*")
        (tree / "usr/lib/x86_64-linux-gnu").mkdir(parents=True)
        (tree / "usr/lib/x86_64-linux-gnu/libslirp.so.0").write_text("")
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-b", str(tree), str(folder)], check=True, capture_output=True
        )
        shutil.rmtree(tree)
        return {name: "1:10.0.2"}

    monkeypatch.setattr(debian, "download_whole", download_whole)
    return asked


def test_this_machines_own_is_used_where_it_is_new_enough(cache: Path, archive: list[str]) -> None:
    of_this_machine(cache, "9.0.1")
    assert qemu.ensure(NEEDS_9) == qemu.Qemu((qemu.PROGRAM,), (9, 0)) and not archive


@pytest.mark.parametrize("card", ANY, ids=lambda card: card.name)
def test_every_other_card_has_this_machines_own_whatever_its_age(
    card: cardmodel.Card, cache: Path, archive: list[str]
) -> None:
    of_this_machine(cache, "7.2.22")
    assert qemu.ensure(card) == qemu.Qemu((qemu.PROGRAM,), (7, 2)) and not archive and not cache.exists()


def test_nothing_is_fetched_for_them_where_this_machine_has_none(
    archive: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(qemu.QemuError, match=r"^this machine has no qemu-system-x86_64$"):
        qemu.ensure(ANY[0])
    assert not archive


def test_another_is_unpacked_once_where_it_is_older(cache: Path, archive: list[str]) -> None:
    of_this_machine(cache, "8.2.7")
    found = qemu.ensure(NEEDS_9)
    assert found.version == (10, 0)
    assert qemu.ensure(NEEDS_9) == found and archive == ["qemu-system-x86 of backports"]
    manifest = json.loads((qemu.folder() / "manifest.json").read_text())
    assert manifest["packages"] == {"qemu-system-x86": "1:10.0.2"}
    assert [len(each) for each in manifest["sha256"].values()] == [64]


def test_an_unpacked_one_finds_its_libraries_and_its_data_before_those_of_the_machine(
    cache: Path, archive: list[str]
) -> None:
    of_this_machine(cache, "8.2.7")
    command = qemu.ensure(NEEDS_9).command
    said = subprocess.run([*command, "-M", "q35"], check=True, capture_output=True, text=True).stdout
    root = qemu.folder() / "root"
    data = f"-L {root}/usr/share/qemu -L {root}/usr/share/seabios"
    assert f"with {root}/usr/lib/x86_64-linux-gnu and {data} -M q35\n" in said and len(archive) == 1


def test_a_chosen_one_is_used_whatever_its_age(
    cache: Path, archive: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = says(cache.parent / "own", "QEMU emulator version 7.2.0")
    monkeypatch.setenv("VBENCH_QEMU", str(chosen))
    assert qemu.ensure(NEEDS_9) == qemu.Qemu((str(chosen),), (7, 2)) and not archive


@pytest.mark.parametrize(
    ("prints", "complaint"), [("a shell", "--version: 'a shell'; expected the version of a QEMU"), (None, "cannot be")]
)
def test_what_is_no_qemu_is_refused(
    prints: str | None, complaint: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = cache.parent / "own"
    if prints:
        says(chosen, prints)
    monkeypatch.setenv("VBENCH_QEMU", str(chosen))
    with pytest.raises(qemu.QemuError, match=complaint):
        qemu.ensure(NEEDS_9)


def test_an_archive_that_has_none_is_told_and_nothing_is_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_this_machine(cache, "7.2.22")

    def nothing(*wanted: object) -> dict[str, str]:
        raise debian.PackageError(f"{wanted[0]} of Debian's {wanted[1]} cannot be fetched: no network")

    monkeypatch.setattr(debian, "download_whole", nothing)
    with pytest.raises(
        qemu.QemuError,
        match=r"^this machine has no qemu-system-x86_64 of at least 9\.0 for intel-82576: .* no network$",
    ):
        qemu.ensure(NEEDS_9)
    assert [each.name for each in cache.iterdir()] == ["qemu.lock"]
