"""The iSCSI initiator of the dut: bound to a port, its disks those of the target, and undone."""

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
from niclab.storage import session
from niclab.storage.iscsi import iscsi_initiator
from niclab.storage.iscsi.iscsi_initiator import DISK, attached, require_installed
from niclab.storage.session import read_session
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget

TARGET = DiskTarget("iqn.2026-01.net.niclab:a", "198.18.10.2")
BEGINS, ENDS, MAKES, UNDOES = "modprobe iscsi_tcp", "p=; c=; {", "iscsiadm -m node", "for f in /sys/class/iscsi_session"
SHOWS = "for d in /sys/class/iscsi_session"
WAY = "has enp1s0\nover enp1s0\n"
DISKS = WAY + "".join(f"disk {lun} sd{chr(97 + lun)} {VOLUME_BYTES // 512}\n" for lun in range(VOLUMES))


@pytest.fixture
def told(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Commands that the dut got -> how many changes the journal had by then."""
    order, note = noting(taken.journal)
    ssh = bench.ssh[Role.DUT]
    ssh.replies |= dict.fromkeys((BEGINS, ENDS, MAKES, UNDOES), note)
    ssh.replies |= {SHOWS: f"address 198.18.10.1\n{DISKS}", "udevadm settle": ""}
    monkeypatch.setattr(session, "DISKS_WITHIN_S", 0.0)
    return order


def test_a_session_is_made_and_undone(taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    with attached(taken, taken.bench.paths[0], TARGET) as disks:
        assert disks == tuple(f"sd{chr(97 + lun)}" for lun in range(VOLUMES))
        assert len(changes(taken.journal)) == before + 2
    assert len(changes(taken.journal)) == before
    begun, made, undone, ended = told
    assert [told[each] for each in (begun, made)] == [before + 1, before + 2]
    assert f"-p {TARGET.address}:3260" in made and "--login" in made and "noop_out_timeout' -v 15" in made
    assert "login_timeout' -v 15" in made and "initial_login_retry_max' -v 3" in made  # 45 of the 60 s of a command
    assert "--logout" in undone and undone.count("-o delete") == 1 and "rm -rf" in ended


def test_no_record_of_an_interface_is_made(taken: Run, told: dict[str, int]) -> None:
    """``iscsiadm -m iface`` would load bnx2i and cnic onto a bnx2x, the card under test."""
    with attached(taken, taken.bench.paths[0], TARGET):
        pass
    assert not [command for command in told if "-m iface" in command]


class Dut(ScriptedDut):
    """A server with open-iscsi."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(folder)
        monkeypatch.setattr(iscsi_initiator, "FOLDER", f"{folder}/lab")
        monkeypatch.setattr(iscsi_initiator, "SESSIONS", f"{folder}/sessions")
        monkeypatch.setattr(iscsi_initiator, "_LISTENS", f"[ -e {folder}/socket ]")
        # the name of a process is that of the file that it began with
        (folder / "bin/daemon").mkdir()
        (folder / "bin/daemon/iscsid").symlink_to("/usr/bin/sleep")
        daemon = f"{folder}/bin/daemon/iscsid 60 </dev/null >/dev/null 2>&1 & echo $! > $4; : > {folder}/socket"
        # as a real one, which is itself long before it listens: a child of the shell has the shell's name at first
        daemon += '; c=; until [ "$c" = iscsid ]; do read -r c < "/proc/$!/comm"; done'
        # the kernel shows its command line a moment later
        daemon += '; c=; until [ "$c" ]; do read -r c < "/proc/$!/cmdline" || :; done'
        self.program("iscsid", daemon)
        self.program(
            "iscsiadm",
            f"""case "$*" in
  *--logout) [ -e {folder}/socket ] || exit 20; rm -r {folder}/sessions/session1 ;;
  *delete) rm {folder}/node ;;
  *default) [ -e {folder}/node ] || exit 21 ;;
esac""",
        )

    def log_in(self, name: str = TARGET.name) -> None:
        (self.folder / "sessions/session1").mkdir(parents=True)
        (self.folder / "sessions/session1/targetname").write_text(f"{name}\n")
        (self.folder / "node").touch()

    @property
    def daemons(self) -> list[str]:
        return [each.parent.name for each in Path("/proc").glob("[0-9]*/comm") if _is_daemon(each, self.folder)]


def _is_daemon(comm: Path, folder: Path) -> bool:
    try:
        return f"{folder}/bin/daemon/iscsid" in (comm.parent / "cmdline").read_text()
    except OSError:
        return False


@pytest.fixture
def dut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dut:
    return Dut(tmp_path, monkeypatch)


def test_the_daemon_is_begun_where_none_listens_and_ended(dut: Dut) -> None:
    assert dut.run(iscsi_initiator.begin_daemon()) == 0
    assert len(dut.daemons) == 1 and (dut.folder / "lab/name").read_text().startswith("InitiatorName=iqn.")
    assert dut.run(iscsi_initiator.begin_daemon()) == 0 and len(dut.daemons) == 1
    assert dut.run(iscsi_initiator.end_daemon()) == 0
    assert not dut.daemons and not (dut.folder / "lab").exists()
    assert dut.run(iscsi_initiator.end_daemon()) == 0


def test_a_process_that_has_got_the_number_of_the_daemon_is_spared(dut: Dut) -> None:
    (dut.folder / "lab").mkdir()
    (dut.folder / "lab/pid").write_text(f"{os.getpid()}\n")
    assert dut.run(iscsi_initiator.end_daemon()) == 0 and not (dut.folder / "lab").exists()


def test_a_session_that_has_outlived_its_daemon_is_ended(dut: Dut) -> None:
    dut.log_in()
    assert dut.run(iscsi_initiator.log_out(TARGET)) == 0
    assert not (dut.folder / "sessions/session1").exists() and not (dut.folder / "node").exists()
    assert dut.run(iscsi_initiator.end_daemon()) == 0 and not dut.daemons


def test_nothing_is_left_to_undo_after_a_boot(dut: Dut) -> None:
    assert dut.run(iscsi_initiator.log_out(TARGET)) == 0
    assert "iscsid " not in dut.said.read_text()


def test_sessions_of_others_are_left_alone(dut: Dut) -> None:
    dut.log_in("iqn.2001-05.com.example:array")
    (dut.folder / "node").unlink()
    assert dut.run(iscsi_initiator.log_out(TARGET)) == 0 and (dut.folder / "sessions/session1").exists()


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (f"address 198.18.20.1\n{DISKS}", r"comes from 198\.18\.20\.1; expected one from 198\.18\.10\.1"),
        (DISKS, "comes from no address"),
        *(
            (f"address 198.18.10.1\n{DISKS.replace(WAY, way)}", rf"goes over {over}; expected {has}, which has 198\.")
            for way, over, has in (
                ("has enp1s0\nover enp2s0\n", "enp2s0", "enp1s0"),
                ("has enp1s0\n", "nothing", "enp1s0"),
                ("over enp1s0\n", "enp1s0", "an interface"),
                ("", "nothing", "an interface"),
                (2 * WAY, "enp1s0, enp1s0", "enp1s0, enp1s0"),
            )
        ),
        (f"address 198.18.10.1\n{DISKS.replace('disk 7', 'disk 9')}", r"has disks of \{.*; expected 8 of 1310720"),
        (f"address 198.18.10.1\n{DISKS}".replace(f"{VOLUME_BYTES // 512}", "9", 1), r"has disks of \{0: 4608,"),
        (f"address 198.18.10.1\n{DISKS.rpartition('disk')[0]}", "dut: 8 disks of iqn.* not within"),
    ],
    ids=[
        *("wrong port", "no address", "another interface", "no route", "no interface", "no way", "two sessions"),
        *("strange LUN", "other size", "missing LUN"),
    ],
)
def test_a_session_that_is_not_the_one_is_the_benchs_fault_and_undone(
    bench: FakeBench, taken: Run, told: dict[str, int], shown: str, words: str
) -> None:
    bench.ssh[Role.DUT].replies[SHOWS] = shown
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match=words), attached(taken, taken.bench.paths[0], TARGET):
        pytest.fail("no load may run")
    assert len(changes(taken.journal)) == before and len(told) == 4


def test_an_engine_has_an_address_that_no_interface_has(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    shown = f"address 198.18.10.254\n{DISKS.replace(WAY, '')}"
    bench.ssh[Role.DUT].replies[SHOWS] = shown
    with attached(taken, taken.bench.paths[0], TARGET, address="198.18.10.254") as disks:
        assert len(disks) == VOLUMES and told


def test_a_dut_without_open_iscsi_is_the_benchs_fault(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["command -v"] = ""
    require_installed(taken)
    bench.ssh[Role.DUT].replies["command -v"] = "iscsiadm\niscsid\n"
    with pytest.raises(BenchFault, match=r"dut: has no iscsiadm, iscsid; expected .*\(Debian: open-iscsi\)"):
        require_installed(taken)


@pytest.mark.parametrize("text", ["disk 0 vda 5120\n", "disk x sda 5120\n", "address none\n", "over \n", "gossip\n"])
def test_other_words_of_a_session_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="expected an address, an interface, or a disk"):
        read_session(text, DISK)


def test_the_daemon_of_two_sessions_is_ended_after_both(taken: Run, told: dict[str, int]) -> None:
    path = taken.bench.paths[0]
    with attached(taken, path, TARGET):
        with attached(taken, path, TARGET):
            ends = [each for each in taken.journal.pending() if each.action.command.startswith(ENDS)]
            assert len(ends) == 1
        assert not any(command.startswith(ENDS) for command in told)
    assert len([command for command in told if command.startswith(ENDS)]) == 1


def test_settings_of_a_session_come_last(taken: Run, told: dict[str, int]) -> None:
    with attached(
        taken, taken.bench.paths[0], TARGET, settings={"node.session.timeo.replacement_timeout": 5, "node.x": 3}
    ):
        pass
    (made,) = [command for command in told if "-o new" in command]
    assert "replacement_timeout' -v 5" in made and "'node.x' -v 3" in made and "replacement_timeout' -v 15" not in made
