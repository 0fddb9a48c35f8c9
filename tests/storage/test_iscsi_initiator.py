"""The iSCSI initiator of the dut: bound to a port, its disks those of the target, and undone."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_parts import changes

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage import iscsi_initiator
from niclab.storage.iscsi_initiator import attached, read_session, require_installed
from niclab.storage.iscsi_target import VOLUME_BYTES, VOLUMES, IscsiTarget
from niclab.transports.ssh.ssh_records import Result

TARGET = IscsiTarget("iqn.2026-01.net.niclab:a", "198.18.10.2")
FOLDER, LISTENS, MAKES, ENDS = (
    "mkdir -p /tmp/niclab.iscsi",
    "grep -q '@ISCSIADM",
    "set -e\niscsiadm",
    "set -e\nfor f in",
)
SHOWS = "for d in /sys/class/iscsi_session"
DISKS = "".join(f"disk {lun} sd{chr(97 + lun)} {VOLUME_BYTES // 512}\n" for lun in range(VOLUMES))


@pytest.fixture
def told(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Commands that the dut got -> how many changes the journal had by then."""
    order = dict[str, int]()

    def note(command: str) -> str:
        order[command] = len(changes(taken.journal))
        return ""

    ssh = bench.ssh[Role.DUT]
    ssh.prepare_job = lambda job: setattr(job, "said", "listens\n")
    ssh.replies |= {LISTENS: Result("grep", 1, None, "", "", 0.1), "udevadm settle": "", "rm -rf /tmp/niclab.iscsi": ""}
    ssh.replies |= {SHOWS: f"address 198.18.10.1\n{DISKS}", FOLDER: note, MAKES: note, ENDS: note}
    monkeypatch.setattr(iscsi_initiator, "DISKS_WITHIN_S", 0.0)
    return order


def test_a_session_is_bound_to_the_port_and_undone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    with attached(taken, taken.bench.paths[0], TARGET) as disks:
        assert disks == tuple(f"sd{chr(97 + lun)}" for lun in range(VOLUMES))
        assert len(changes(taken.journal)) == before + 3  # the folder, iscsid, the session
    assert len(changes(taken.journal)) == before
    folder, made, undone = told
    assert told[folder] == before + 1 and told[made] == before + 3
    iface = taken.interface(taken.bench.end(taken.bench.paths[0], Role.DUT))
    assert f"iface.net_ifacename -v {iface} " in made and f"-p {TARGET.address}:3260" in made and "--login" in made
    assert "--logout" in undone and undone.count("-o delete") == 2
    assert [job.stopped for job in bench.ssh[Role.DUT].jobs if job not in bench.ssh[Role.DUT].watches] == [1]


def test_a_daemon_that_listens_already_is_used(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.DUT].replies[LISTENS] = ""
    before = len(changes(taken.journal))
    with attached(taken, taken.bench.paths[0], TARGET):
        assert len(changes(taken.journal)) == before + 2
    assert len(told) == 3


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        (f"address 198.18.20.1\n{DISKS}", r"comes from 198\.18\.20\.1; expected one from 198\.18\.10\.1"),
        (DISKS, "comes from no address"),
        (f"address 198.18.10.1\n{DISKS.replace('disk 7', 'disk 9')}", r"has disks of \{.*; expected 8 of 2621440"),
        (f"address 198.18.10.1\n{DISKS}".replace("5120", "9", 1), r"has disks of \{0: 4608,"),
        (f"address 198.18.10.1\n{DISKS.rpartition('disk')[0]}", "dut: 8 disks of iqn.* not within"),
    ],
    ids=["wrong port", "no address", "strange LUN", "other size", "missing LUN"],
)
def test_a_session_that_is_not_the_one_is_the_benchs_fault_and_undone(
    bench: FakeBench, taken: Run, told: dict[str, int], shown: str, words: str
) -> None:
    bench.ssh[Role.DUT].replies[SHOWS] = shown
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match=words), attached(taken, taken.bench.paths[0], TARGET):
        pytest.fail("no load may run")
    assert len(changes(taken.journal)) == before and len(told) == 3


def test_without_open_iscsi_it_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["{ command -v"] = ""
    require_installed(taken)
    bench.ssh[Role.DUT].replies["{ command -v"] = "iscsiadm\niscsid\n"
    with pytest.raises(NotApplicable, match="dut has no iscsiadm, iscsid: the iSCSI initiator is open-iscsi's"):
        require_installed(taken)


@pytest.mark.parametrize("text", ["disk 0 vda 5120\n", "disk x sda 5120\n", "address none\n", "gossip\n"])
def test_other_words_of_a_session_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="expected an address, or a disk"):
        read_session(text)
