"""The NVMe target of the peer: in the journal before it is made, counted by its volumes, undone whatever its state."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes, noting

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.nvme import nvme_target
from niclab.storage.nvme.nvme_target import gone, look, offering
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget
from niclab.transports.ssh.ssh_records import Result

TARGET = DiskTarget("nqn.a:b", "198.18.10.2")
BEGIN, LOOK, DO, UNDO = "modprobe -a nvmet", "[ ! -e /sys/kernel", "set -e\nmkdir -p", "rm -f /sys/kernel/config/nvmet"
TCP = "Tcp: OutSegs RetransSegs\nTcp: 5000 {}\n"


@pytest.fixture
def told(bench: FakeBench, taken: Run) -> dict[str, int]:
    """Commands that the peer got -> how many changes the journal had by then."""
    order, note = noting(taken.journal)
    bench.ssh[Role.PEER].replies |= {"command -v losetup": "", BEGIN: "", LOOK: "", DO: note, UNDO: note}
    return order


def test_the_target_is_in_the_journal_before_and_gone_after(taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    with offering(taken, taken.bench.paths[0]) as target:
        assert target == DiskTarget("nqn.2026-01.net.niclab:a", "198.18.10.2")
        assert len(changes(taken.journal)) == before + 1
    assert len(changes(taken.journal)) == before
    made, undone = told
    assert told[made] == before + 1
    assert made.count(f"truncate -s {VOLUME_BYTES}") == made.count("losetup -f") == VOLUMES
    assert "echo 198.18.10.2 > /sys/kernel/config/nvmet/ports/7114/addr_traddr" in made
    assert "echo 4420 > /sys/kernel/config/nvmet/ports/7114/addr_trsvcid" in made
    assert target.name in undone and "losetup -d" in undone and "umount /tmp/niclab.nvme" in undone


@pytest.mark.parametrize(
    ("begins", "answer", "words"),
    [
        ("command -v losetup", "losetup\n", "peer: has no losetup; expected losetup, 10240 KiB of memory"),
        (LOOK, "/tmp/niclab.nvme\n", r"/tmp/niclab\.nvme exist already; expected none \(niclab restore\)"),
        ("ss -Hlntup", "tcp LISTEN 0 256  0.0.0.0:4420  0.0.0.0:*\n", r"expected nobody at 198\.18\.10\.2:4420"),
        (BEGIN, Result("modprobe", 1, None, "", "FATAL: nvmet-tcp", 0.1), "cannot offer .* FATAL: nvmet-tcp; expected"),
    ],
)
def test_a_peer_that_cannot_offer_one_is_the_benchs_fault(
    bench: FakeBench, taken: Run, told: dict[str, int], begins: str, answer: str | Result, words: str
) -> None:
    bench.ssh[Role.PEER].replies[begins] = answer
    with pytest.raises(BenchFault, match=words), offering(taken, taken.bench.paths[0]):
        pytest.fail("nothing may be made")
    assert not told


def test_what_is_made_in_part_is_undone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.PEER].replies[DO] = Result("ln", 1, None, "", "Cannot assign requested address", 0.1)
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match="Cannot assign"), offering(taken, taken.bench.paths[0]):
        pass
    assert len(changes(taken.journal)) == before and len(told) == 1


def test_the_volumes_count_for_the_target(bench: FakeBench, taken: Run) -> None:
    """A command that the volume's queue has joined to another one is counted as well."""
    bench.ssh[Role.DUT].replies["cat /sys/block/nvme0c0n1/stat"] = 2 * "10 0 2048 1 5 0 512 1 0\n" + TCP.format(7)
    bench.ssh[Role.PEER].replies["for f in /sys/kernel/config/nvmet"] = 8 * "3 1 512 1 1 2 256 1 0\n" + TCP.format(9)
    found = look(taken, TARGET, ["nvme0c0n1", "nvme0c0n2"])
    assert (found.disk_read_bytes, found.disk_written_bytes, found.disk_operations) == (4096 * 512, 1024 * 512, 30)
    assert (found.target_read_bytes, found.target_written_bytes) == (8 * 512 * 512, 8 * 256 * 512)
    assert (found.target_commands, found.dut_resent, found.peer_resent) == (8 * 7, 7, 9)
    assert "nvme0c0n2/stat 2>/dev/null || echo 0 " in bench.ssh[Role.DUT].commands[-1]  # it goes with its controller
    bench.ssh[Role.PEER].replies["for f in /sys/kernel/config/nvmet"] = 7 * "3 1 512 1 1 2 256\n" + TCP.format(9)
    with pytest.raises(ReadError, match="expected 8 lines"):
        look(taken, TARGET, ["nvme0c0n1", "nvme0c0n2"])


class Peer:
    """A server whose kernel's folders are plain ones, and whose loop devices are folders as in ``/sys/block``."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        for name, place in (("TARGETS", "nvmet"), ("FOLDER", "lab"), ("BLOCKS", "block")):
            monkeypatch.setattr(nvme_target, name, f"{folder}/{place}")
        for place in ("nvmet/subsystems", "nvmet/ports", *(f"block/loop{number}" for number in range(9)), "bin"):
            (folder / place).mkdir(parents=True)
        self._loop(8, "/somebody/else")
        self.program("mount", f'case "$*" in *"{folder}/lab") : > {folder}/mounted ;; esac')
        self.program("umount", f"rm {folder}/mounted")
        self.program(
            "losetup",
            f"""case $1 in
  -f) for d in {folder}/block/loop*; do
      [ -e $d/loop ] || {{ mkdir $d/loop; echo "$2" > $d/loop/backing_file; exit; }}
    done; exit 1 ;;
  -d) rm -r {folder}/block/${{2##*/}}/loop ;;
esac""",
        )

    def _loop(self, number: int, file: str) -> None:
        (self.folder / f"block/loop{number}/loop").mkdir()
        (self.folder / f"block/loop{number}/loop/backing_file").write_text(f"{file}\n")

    def program(self, name: str, text: str) -> None:
        path = self.folder / "bin" / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        command = command.replace("/proc/mounts", f"{self.folder}/mounts")
        command = command.replace(f"mkdir {self.folder}/nvmet", f"mkdir -p {self.folder}/nvmet")
        # configfs makes and removes its own files and folders with the folder
        command = re.sub(r"(ln -s \S+ )(\S+)/subsystems/", r"mkdir -p \2/subsystems; \1\2/subsystems/", command)
        own = 'rm -f "$f"/attr_* "$f"/addr_* "$f"/enable "$f"/device_path; rmdir "$f"/* 2>/dev/null; rmdir "$f"'
        command = command.replace('rmdir "$f" ||', f"{{ {own}; }} ||")
        (self.folder / "mounts").write_text(f"x {self.folder}/lab y\n" if (self.folder / "mounted").exists() else "")
        path = f"{self.folder}/bin:/usr/bin:/bin"
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, env={"PATH": path}, check=False)

    @property
    def left(self) -> list[str]:
        places = [*self.folder.glob("nvmet/*/*"), *self.folder.glob("lab"), *self.folder.glob("block/loop*/loop")]
        return sorted(str(each.relative_to(self.folder)) for each in [*places, *self.folder.glob("mounted")])


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Peer:
    return Peer(tmp_path, monkeypatch)


def test_each_namespace_has_the_loop_device_of_its_volume(peer: Peer) -> None:
    done = peer.run(nvme_target.do(TARGET))
    assert (done.returncode, done.stderr) == (0, "")
    namespaces = peer.folder / "nvmet/subsystems/nqn.a:b/namespaces"
    for number in range(VOLUMES):
        device = (namespaces / f"{number + 1}/device_path").read_text().strip()
        backing = peer.folder / "block" / device.removeprefix("/dev/") / "loop/backing_file"
        assert backing.read_text().strip() == f"{peer.folder}/lab/v{number}"
        assert (namespaces / f"{number + 1}/enable").read_text() == "1\n"
        assert (peer.folder / f"lab/v{number}").stat().st_size == VOLUME_BYTES
    assert (peer.folder / "nvmet/ports/7114/subsystems/nqn.a:b").is_symlink()


@pytest.mark.parametrize("steps", [0, 1, 2, 4, 5, 6, 7, 9, 12, 30, None])
def test_the_undo_works_in_whatever_state_it_is(peer: Peer, steps: int | None) -> None:
    """Also after each step of the making, at whose first ones the lines are whole commands."""
    made = nvme_target.do(TARGET).splitlines()
    lines = made if steps is None else made[: 1 + steps]
    while lines and subprocess.run(["sh", "-n", "-c", "\n".join(lines)], capture_output=True).returncode:
        lines = lines[:-1]
    assert peer.run("\n".join(lines)).returncode == 0
    for _ in range(2):
        done = peer.run(nvme_target.undo(TARGET))
        assert (done.returncode, done.stderr) == (0, "")
        assert peer.left == ["block/loop8/loop"]


def test_a_folder_that_stays_is_no_success(peer: Peer) -> None:
    assert peer.run(nvme_target.do(TARGET)).returncode == 0
    (peer.folder / "nvmet/subsystems/nqn.a:b/namespaces/3/busy/busy").mkdir(parents=True)
    assert peer.run(nvme_target.undo(TARGET)).returncode == 1


def test_a_volume_that_a_target_has_lost_is_named(bench: FakeBench, taken: Run, peer: Peer) -> None:
    bench.ssh[Role.PEER].replies[f'[ "$(cat {peer.folder}'] = lambda command: peer.run(command).stdout
    peer.run(nvme_target.do(TARGET))
    assert gone(taken, TARGET) == []
    (peer.folder / "nvmet/subsystems/nqn.a:b/namespaces/4/enable").write_text("0\n")
    (peer.folder / "nvmet/subsystems/nqn.a:b/namespaces/8/enable").unlink()
    assert gone(taken, TARGET) == [f"peer: nqn.a:b has no namespace {each}; expected all of 8" for each in (4, 8)]
