"""The program that loads disks: every block is compared, and damage is found and located."""

from __future__ import annotations

import errno
import mmap
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from niclab.core.wait import pause, until
from niclab.storage import disk_program
from niclab.storage.disk_program import BLOCK_BYTES, SEQUENTIAL_BYTES, Loads

THREADS = 5
SIZE = 2 * THREADS * SEQUENTIAL_BYTES


class Bench:
    """Two files in place of disks."""

    def __init__(self, folder: Path) -> None:
        self.files = [folder / "a", folder / "b"]
        for file in self.files:
            file.write_bytes(bytes(SIZE))
        self._loads = Loads()

    def step(self, load: str, seconds: float = 0.05, **more: str) -> dict[str, Any]:
        plan = {"disks": list(map(str, self.files)), "seed": "s", "volume_bytes": SIZE, "threads": THREADS}
        return self._loads.step({**plan, "load": load, "seconds": seconds, **more})


@pytest.fixture
def disks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setattr(disk_program.os, "O_DIRECT", 0)  # file systems in memory refuse it
    return Bench(tmp_path)


def test_filling_writes_each_block_once_and_no_two_are_alike(disks: Bench) -> None:
    found = disks.step("fill", 0)
    assert (found["reads"], found["written"], found["bytes_written"]) == (0, 20, 2 * SIZE)
    data = b"".join(file.read_bytes() for file in disks.files)
    blocks = {data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)}
    assert len(blocks) == 2 * SIZE // BLOCK_BYTES and found["failed"] == 0


def test_each_load_does_what_it_says_and_nothing_is_damaged(disks: Bench) -> None:
    disks.step("fill", 0)
    random, written, read = (disks.step(load) for load in ("random", "write", "read"))
    assert random["bytes_read"] == random["reads"] * BLOCK_BYTES
    assert random["bytes_written"] == random["written"] * BLOCK_BYTES
    assert written["reads"] == 0 and written["bytes_written"] == written["written"] * SEQUENTIAL_BYTES > 0
    assert read["written"] == 0 and read["bytes_read"] == read["reads"] * SEQUENTIAL_BYTES > 0
    assert [each["damaged"] + each["failed"] for each in (random, written, read)] == [0, 0, 0]
    assert read["elapsed_s"] >= 0.05


def test_two_of_three_random_operations_are_reads(disks: Bench) -> None:
    disks.step("fill", 0)
    reads = written = 0
    while reads + written < 400:  # each step is one operation of each thread at least
        found = disks.step("random", 0)
        reads, written = reads + found["reads"], written + found["written"]
    assert reads / (reads + written) == pytest.approx(disk_program.READ_PART, abs=0.1)


def test_a_byte_that_changes_is_found_with_its_place(disks: Bench) -> None:
    disks.step("fill", 0)
    with disks.files[1].open("r+b") as file:
        file.seek(3 * BLOCK_BYTES + 7000)
        (was,) = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([was ^ 1]))
    found = disks.step("check")
    assert found["damaged"] > 0 and found["failed"] == 0
    assert found["example"].startswith(f"volume 1, block 3: byte 7000 is {was ^ 1:#04x} after 1 writes, not {was:#04x}")


def test_a_block_of_another_place_and_an_old_one_are_found(disks: Bench) -> None:
    disks.step("fill", 0)
    old = disks.files[0].read_bytes()
    disks.step("fill", 0)
    new = bytearray(disks.files[0].read_bytes())
    new[:BLOCK_BYTES] = new[BLOCK_BYTES : 2 * BLOCK_BYTES]
    new[-BLOCK_BYTES:] = old[-BLOCK_BYTES:]
    with disks.files[0].open("r+b") as file:
        file.write(new)
    assert disks.step("check")["damaged"] >= 2


@pytest.mark.parametrize("load", ["check", "read"])
def test_a_sector_that_a_read_leaves_out_is_found(disks: Bench, monkeypatch: pytest.MonkeyPatch, load: str) -> None:
    """Memory still has what was written there, which is what the read should bring."""
    disks.step("fill", 0)
    disks.step("check", 0)

    def without_last_sector(file: int, buffers: list[mmap.mmap], at: int) -> int:
        (buffer,) = buffers
        data = os.pread(file, len(buffer), at)
        buffer[:-512] = data[:-512]
        return len(data)

    monkeypatch.setattr(os, "preadv", without_last_sector)
    found = disks.step(load, 0)
    assert found["damaged"] == found["reads"] > 0 and "byte 7680 is 0xff after 1 writes" in found["example"]


def test_an_operation_that_fails_is_counted_and_its_content_is_unknown(
    disks: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.step("fill", 0)

    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(disk_program.os, "pwritev", broken)
        found = disks.step("write")
    assert found["failed"] == 2 * THREADS and "write at byte" in found["example"]
    with disks.files[0].open("r+b") as file:
        file.write(bytes(SEQUENTIAL_BYTES))  # whatever a write that failed has left
    assert disks.step("check")["damaged"] == 0
    with monkeypatch.context() as patch:
        patch.setattr(disk_program.os, "preadv", lambda *_: 512)
        assert "512 of 262144 bytes" in disks.step("check")["example"]


def test_a_load_lasts_while_its_file_is_there_and_its_longest_silence_is_found(
    disks: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.step("fill", 0)
    marker, is_held = tmp_path / "goes-on", threading.Event()
    is_held.set()
    read = os.preadv

    def holding(*words: Any) -> int:
        is_held.wait()
        return read(*words)

    monkeypatch.setattr(disk_program.os, "preadv", holding)
    found = dict[str, Any]()
    step = threading.Thread(target=lambda: found.update(disks.step("read", 60, marker=str(marker))))
    step.start()
    until(marker.exists, within=20, what="a load", every=0.01)
    is_held.clear()
    pause(0.3)
    is_held.set()
    marker.unlink()
    step.join(20)
    assert 0.2 < found["silent_s"] <= found["slowest_s"] < found["elapsed_s"] < 20
    assert found["reads"] >= 2 * THREADS and found["damaged"] == found["failed"] == 0


def test_a_load_whose_threads_have_all_ended_waits_for_nobody(
    disks: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(disk_program.os, "preadv", broken)
    found = disks.step("read", 60, marker=str(tmp_path / "goes-on"))
    assert found["failed"] == 2 * THREADS and found["elapsed_s"] < 20 and (tmp_path / "goes-on").exists()
