"""The controller of the dut: through its port, its disks those of the target, and undone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes, noting

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.storage import session
from niclab.storage.nvme import nvme_host
from niclab.storage.nvme.nvme_host import attached, connect, disconnect, of_all_paths
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget

TARGET = DiskTarget("nqn.2026-01.net.niclab:a", "198.18.10.2")
MAKES, SHOWS, UNDOES = "modprobe nvme-tcp", "c=$(ss", "for f in /sys/class/nvme"
WAY = "address 198.18.10.1\nhas enp1s0\nover enp1s0\n"
DISKS = "".join(f"disk {1 + each} nvme0c1n{1 + each} {VOLUME_BYTES // 512}\n" for each in range(VOLUMES))


@pytest.fixture
def told(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Commands that the dut got -> how many changes the journal had by then."""
    order, note = noting(taken.journal)
    bench.ssh[Role.DUT].replies |= {MAKES: note, UNDOES: note, SHOWS: WAY + DISKS, "udevadm settle": ""}
    monkeypatch.setattr(session, "DISKS_WITHIN_S", 0.0)
    return order


def test_a_controller_is_made_and_undone(taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    with attached(taken, taken.bench.paths[0], TARGET) as disks:
        assert disks.names == tuple(f"nvme0n{1 + each}" for each in range(VOLUMES))
        assert disks.counted == tuple(f"nvme0c1n{1 + each}" for each in range(VOLUMES))
        assert len(changes(taken.journal)) == before + 1
    assert len(changes(taken.journal)) == before
    made, undone = told
    assert told[made] == before + 1 and "delete_controller" in undone
    for option in ("traddr=198.18.10.2", "trsvcid=4420", f"nqn={TARGET.name}", "ctrl_loss_tmo=15", "keep_alive_tmo=15"):
        assert f",{option}," in f"{made},".replace("'", ",")


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (WAY.replace("10.1", "20.1") + DISKS, r"comes from 198\.18\.20\.1; expected one from 198\.18\.10\.1"),
        (DISKS, "comes from no address"),
        (WAY.replace("over enp1s0", "over enp2s0") + DISKS, "goes over enp2s0; expected enp1s0, which has 198"),
        (WAY + DISKS.replace("disk 8", "disk 9"), r"has disks of \{.*; expected 8 of 1310720"),
        ((WAY + DISKS).replace(f"n1 {VOLUME_BYTES // 512}", "n1 9"), r"has disks of \{1: 4608,"),
        (WAY + DISKS.rpartition("disk")[0], "dut: 8 disks of nqn.* not within"),
        (f"{WAY}disk 1 sda 2560\n", "expected an address, an interface, or a disk"),
    ],
)
def test_a_controller_that_is_not_the_one_is_the_benchs_fault_and_undone(
    bench: FakeBench, taken: Run, told: dict[str, int], shown: str, words: str
) -> None:
    bench.ssh[Role.DUT].replies[SHOWS] = shown
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match=words), attached(taken, taken.bench.paths[0], TARGET):
        pytest.fail("no load may run")
    assert len(changes(taken.journal)) == before and len(told) == 2


@pytest.mark.parametrize(("name", "opened"), [("nvme0c12n3", "nvme0n3"), ("nvme10n11", "nvme10n11")])
def test_the_disk_that_is_opened_is_that_of_all_paths(name: str, opened: str) -> None:
    assert of_all_paths(name) == opened


class Dut:
    """A server with controllers, whose kernel's folders are plain ones."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        monkeypatch.setattr(nvme_host, "CONTROLLERS", f"{folder}/nvme")
        (folder / "bin").mkdir()
        self.program("ss", "[ $# = 5 ] || [ $# = 6 ] || exit 1; cat $0.said")
        self.say("0 0 198.18.10.1:40000 198.18.10.2:4420\n0 0 198.18.10.1:40001 198.18.10.2:4420\n")
        self.program("ip", 'case "$*" in *addr*) echo "3: enp1s0 inet x" ;; *) echo "x via y dev enp1s0 src z" ;; esac')

    def program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def say(self, text: str) -> None:
        (self.folder / "bin/ss.said").write_text(text)

    def controller(self, name: str, target: str, disks: dict[str, str]) -> Path:
        place = self.folder / "nvme" / name
        place.mkdir(parents=True)
        (place / "subsysnqn").write_text(f"{target}\n")
        for disk, number in disks.items():
            (place / disk).mkdir()
            (place / disk / "nsid").write_text(f"{number}\n")
            (place / disk / "size").write_text("2560\n")
        return place

    def run(self, command: str) -> str:
        command = command.replace('[ ! -b "/dev/$f" ]', '[ -e "$0/no.$f" ]')  # no test can make a block device
        path = f"{self.folder}/bin:/usr/bin:/bin"
        return subprocess.run(
            ["sh", "-c", command, str(self.folder)], capture_output=True, text=True, env={"PATH": path}, check=True
        ).stdout


@pytest.fixture
def dut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dut:
    return Dut(tmp_path, monkeypatch)


def test_disks_and_ways_of_the_target_alone_are_shown(dut: Dut) -> None:
    """A disk is one once programs can open it."""
    dut.controller("nvme0", "nqn.2019-08.org.qemu:disk", {"nvme0n1": "1"})
    dut.controller("nvme1", TARGET.name, {"nvme1c1n1": "1", "nvme1c1n2": "2", "nvme1c1n3": "3"})
    (dut.folder / "no.nvme1n3").touch()
    shown = dut.run(nvme_host.session_command(TARGET))
    disks = "disk 1 nvme1c1n1 2560\ndisk 2 nvme1c1n2 2560\n"
    assert shown == f"{WAY}{disks}"


def test_connections_from_two_addresses_are_two(dut: Dut) -> None:
    dut.say("0 0 198.18.10.1:40000 198.18.10.2:4420\n0 0 198.18.20.1:40001 198.18.10.2:4420\n")
    assert dut.run(nvme_host.session_command(TARGET)).count("address") == 2
    dut.say("")
    assert dut.run(nvme_host.session_command(TARGET)) == ""


def test_controllers_of_others_are_left_alone(dut: Dut) -> None:
    others = dut.controller("nvme0", "nqn.2019-08.org.qemu:disk", {})
    own = [dut.controller(name, TARGET.name, {}) for name in ("nvme1", "nvme2")]
    dut.run(disconnect(TARGET))
    assert all((each / "delete_controller").read_text() == "1\n" for each in own)
    assert not (others / "delete_controller").exists()


def test_nothing_is_left_to_end_after_a_boot(dut: Dut) -> None:
    assert dut.run(disconnect(TARGET)) == ""


def test_the_name_and_number_of_the_host_are_the_labs() -> None:
    """Without the number, the kernel takes its own, and newer ones refuse it under another name."""
    assert "hostnqn=nqn.2026-01.net.niclab:dut,hostid=" in connect(TARGET)
