"""The dut's multipathd and its maps: in the journal before they are made, the right disks in them, and undone."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes, noting
from scripted_dut import ScriptedDut

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.multipath import multipath_maps
from niclab.storage.multipath.multipath_maps import DiskMap, mapped, read_status, require_installed, serials
from niclab.storage.volumes import VOLUME_BYTES

NAMES = tuple(f"36001405{each}" for each in serials(2))
BEGINS, ENDS, SHOWS, RUNS = "modprobe -a dm-multipath", "m=; c=; {", "dmsetup status", "! grep -q multipathd"
SECTORS = VOLUME_BYTES // 512
DISKS = "".join(f"disk 8:{16 * number} sd{letter}\n" for number, letter in enumerate("abcd"))


def line(name: str, first: str, second: str, used: int = 1, sectors: int = SECTORS, state: str = "AA") -> str:
    groups = f"A 0 1 0 {first} {state[0]} 0 E 0 1 0 {second} {state[1]} 3 "
    return f"{name}: 0 {sectors} multipath 2 0 0 0 2 {used} {groups}\n"


SHOWN = line(NAMES[0], "8:0", "8:32") + line(NAMES[1], "8:16", "8:48") + DISKS


@pytest.fixture
def told(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Commands that the dut got -> how many changes the journal had by then."""
    order, note = noting(taken.journal)
    bench.ssh[Role.DUT].replies |= {BEGINS: note, ENDS: note, SHOWS: SHOWN, RUNS: "", "udevadm settle": ""}
    bench.ssh[Role.DUT].replies |= {"tail -c 400": "no such thing\n"}
    monkeypatch.setattr(multipath_maps, "MAPS_WITHIN_S", 0.0)
    return order


def made(run: Run) -> tuple[str, ...]:
    with mapped(run, (("sda", "sdb"), ("sdc", "sdd")), "198.18.10.2") as names:
        return names


def test_maps_are_made_and_undone(taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    assert made(taken) == NAMES and len(changes(taken.journal)) == before
    begun, ended = told
    assert told[begun] == told[ended] == before + 1
    assert 'prio_args "preferredip=198.18.10.2"' in begun and f'wwid "^{NAMES[0][:-1]}"' in begun


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ("No devices found\n" + DISKS, r"multipathd has made \{\}; expected \{'36.* It says: no such thing"),
        (SHOWN.replace("8:32", "8:48", 1), r"'sda', 'sdd'\]"),
        (SHOWN.replace(f"0 {SECTORS} ", "0 8 ", 1), r"\(4096, \["),
    ],
    ids=["none", "other disk", "other size"],
)
def test_other_maps_are_the_benchs_fault_and_undone(
    bench: FakeBench, taken: Run, told: dict[str, int], shown: str, words: str
) -> None:
    bench.ssh[Role.DUT].replies[SHOWS] = shown
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match=words):
        made(taken)
    assert len(changes(taken.journal)) == before and len(told) == 2


def test_a_daemon_that_runs_is_left_alone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.DUT].replies[RUNS] = "listens\n"
    with pytest.raises(BenchFault, match="dut: a multipathd runs; expected none"):
        made(taken)
    assert not told


def test_a_dut_without_multipath_is_the_benchs_fault(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    assert not told
    replies = bench.ssh[Role.DUT].replies
    replies["command -v"] = ""
    require_installed(taken)
    replies["command -v"] = "multipathd\nmodule dm-multipath\n"
    with pytest.raises(BenchFault, match=r"dut: has no multipathd, module dm-multipath; .*\(Debian: multipath-tools\)"):
        require_installed(taken)
    replies |= {"command -v": "", RUNS: "listens\n"}
    with pytest.raises(BenchFault, match="a multipathd runs"):
        require_installed(taken)


def test_the_path_in_use_is_that_of_the_kernels_group() -> None:
    lost = line(NAMES[1], "8:16", "8:48", used=2, state="FA") + line(NAMES[0], "8:0", "8:32")
    others = "3600a098000: 0 8 linear\nNo devices found\n"
    assert read_status(others + lost + DISKS) == [
        DiskMap(NAMES[0], VOLUME_BYTES, "sda", {"sda": True, "sdc": True}),
        DiskMap(NAMES[1], VOLUME_BYTES, "sdd", {"sdb": False, "sdd": True}),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"{NAMES[0]}: 0 {SECTORS} multipath gossip\n{DISKS}",
        line(NAMES[0], "8:0", "8:32", used=3) + DISKS,
        line(NAMES[0], "8:0", "8:32", used=0) + DISKS,
        line(NAMES[0], "8:0", "8:32").replace(" E 0 1 0", " E 0 2 0") + DISKS,
        line(NAMES[0], "8:0", "9:9") + DISKS,
    ],
    ids=["other words", "no such group", "no group", "two paths in a group", "no disk"],
)
def test_other_words_of_a_map_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="dmsetup status"):
        read_status(text)


class Dut(ScriptedDut):
    """A server with multipathd."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        monkeypatch.setattr(multipath_maps, "FOLDER", f"{folder}/lab")
        monkeypatch.setattr(multipath_maps, "BLOCK", f"{folder}/block")
        monkeypatch.setattr(multipath_maps, "_LISTENS", f"[ -e {folder}/socket ]")
        self.program("modprobe", ":")
        self.program("mount", f": > {folder}/socket")
        self.program("unshare", 'shift; exec "$@"')
        self.program("dmsetup", f"[ ! -e {folder}/busy ] || exit 1; rm -r {folder}/block/dm-0")
        # the name of a process is that of the file that it began with, and a script's that of its shell
        (folder / "bin/multipathd").symlink_to("/usr/bin/sleep")

    def begin(self) -> int:
        return self.run(multipath_maps.begin_daemon("198.18.10.2").replace("multipathd -d -s", "multipathd 60"))

    def end(self) -> int:
        return self.run(multipath_maps.end_daemon())

    def map(self, name: str) -> Path:
        folder = self.folder / "block/dm-0/dm"
        folder.mkdir(parents=True)
        (folder / "name").write_text(f"{name}\n")
        return folder


@pytest.fixture
def dut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dut:
    return Dut(tmp_path, monkeypatch)


def test_the_daemon_sees_a_configuration_of_the_lab_and_is_ended(dut: Dut) -> None:
    assert dut.begin() == 0
    pid = (dut.folder / "lab/pid").read_text().strip()
    until_named(pid)
    assert f"mount --bind {dut.folder}/lab/etc /etc" in dut.said.read_text()
    assert "failback immediate" in (dut.folder / "lab/etc/multipath.conf").read_text()
    gone = dut.map(NAMES[0])
    assert dut.end() == 0
    assert not Path(f"/proc/{pid}").exists() and not gone.exists() and not (dut.folder / "lab").exists()
    assert dut.end() == 0


def until_named(pid: str) -> None:
    while Path(f"/proc/{pid}/comm").read_text() != "multipathd\n":
        pass


def test_a_daemon_that_does_not_listen_is_an_error(dut: Dut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipath_maps, "_LISTENS", "false")
    dut.program("sleep", ":")
    assert dut.begin() == 1
    (dut.folder / "bin/sleep").unlink()
    assert dut.end() == 0


def test_a_process_that_has_got_the_number_of_the_daemon_is_spared(dut: Dut) -> None:
    (dut.folder / "lab").mkdir()
    (dut.folder / "lab/pid").write_text(f"{os.getpid()}\n")
    assert dut.end() == 0 and not (dut.folder / "lab").exists()


def test_a_map_that_stays_is_no_success(dut: Dut) -> None:
    stays = dut.map(NAMES[0])
    (dut.folder / "busy").touch()
    assert dut.end() == 1 and stays.exists()


def test_maps_of_others_are_left_alone(dut: Dut) -> None:
    stays = dut.map("vg0-root")
    assert dut.end() == 0 and stays.exists()
