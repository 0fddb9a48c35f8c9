"""The disk of a server: kept as long as the image it was made from is the current one."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from card_fakes import card_bench

import server as machine
from identity import Identity
from layout import Server


@pytest.fixture
def dut(tmp_path: Path) -> Server:
    return card_bench(tmp_path / "state").server("dut")


def an_image(folder: Path) -> Path:
    folder.mkdir()
    (folder / "root.ext4").write_bytes(bytes(1 << 20))
    return folder


def backing(disk: Path) -> Path:
    told = subprocess.run(["qemu-img", "info", "--output=json", disk], check=True, capture_output=True, text=True)
    return Path(json.loads(told.stdout)["backing-filename"])


def test_a_disk_of_the_current_image_is_kept(dut: Server, tmp_path: Path) -> None:
    image = an_image(tmp_path / "image-1")
    assert machine.lay_disk(dut, image) is None
    before = dut.disk.stat()
    assert machine.lay_disk(dut, image) is None
    assert (dut.disk.stat().st_ino, dut.disk.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert backing(dut.disk) == image / "root.ext4"


def test_a_disk_of_another_image_gives_way_to_a_new_one_and_the_user_is_told(dut: Server, tmp_path: Path) -> None:
    old, new = an_image(tmp_path / "image-1"), an_image(tmp_path / "image-2")
    machine.lay_disk(dut, old)
    assert machine.lay_disk(dut, new) == "dut: its disk was made from another image; it starts with a new one"
    assert backing(dut.disk) == new / "root.ext4"
    assert machine.lay_disk(dut, new) is None


def test_a_disk_that_was_not_finished_is_made_again(dut: Server, tmp_path: Path) -> None:
    image = an_image(tmp_path / "image-1")
    machine.lay_disk(dut, image)
    dut.disk.unlink()  # ended between the note of its image and the disk itself
    assert machine.lay_disk(dut, image) is None
    assert backing(dut.disk) == image / "root.ext4"


def test_the_initial_ram_disk_with_keys_and_password_is_private(dut: Server, tmp_path: Path) -> None:
    image = tmp_path / "initrd.cpio"
    image.write_bytes(b"the image's part")
    dut.folder.mkdir(parents=True, exist_ok=True)
    machine._make_initrd(dut, Identity(card_bench(tmp_path / "state")), [image])
    made = dut.folder / "initrd.cpio"
    assert made.read_bytes().startswith(b"the image's part")
    assert b"OPENSSH PRIVATE KEY" in made.read_bytes()
    assert made.stat().st_mode & 0o777 == 0o600
