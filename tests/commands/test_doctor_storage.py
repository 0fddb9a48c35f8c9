"""The doctor says what storage tests lack on the servers, before a run does, and how it is mended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_bench import FakeBench

from niclab.bench.records import OperatingSystem, Role
from niclab.card import NfsLimits, StorageFacts, StorageLoad
from niclab.commands.doctor_storage import examine_storage
from niclab.run.run import Run

FACTS = StorageFacts(workloads=(StorageLoad.READ,), source="a document")
LIMITS = NfsLimits(udp_fraction_of_line_rate=0.25, source="a document")
NVME_LISTENS = "ss -Hlntup sport = :4420"
LISTENS, THREADS = "ss -Hlntup sport = :3260", "if [ -r /proc/fs/nfsd"
RUNS = "! grep -q multipathd"
Spoil = Callable[[dict[str, str], dict[str, str]], object]


@pytest.fixture
def asked(bench: FakeBench, taken: Run) -> tuple[dict[str, str], dict[str, str]]:
    """The answers of dut and peer, which have all that is needed, of a card whose sheet asks for iSCSI and NFS."""
    taken.card = taken.card.model_copy(
        update={"iscsi": FACTS, "nvme_tcp": FACTS, "limits": taken.card.limits.model_copy(update={"nfs": LIMITS})}
    )
    answers = []
    for role in (Role.DUT, Role.PEER):
        replies = bench.ssh[role].replies
        replies |= {"command -v": "", "modprobe -n": "", LISTENS: "", NVME_LISTENS: "", THREADS: "", RUNS: ""}
        answers.append(replies)
    return answers[0], answers[1]


def examined(run: Run) -> list[tuple[str, str]]:
    return [(found.subject, found.what) for found in examine_storage(run)]


def test_a_bench_that_has_all_is_well(taken: Run, asked: object) -> None:
    found = list(examine_storage(taken))
    assert asked and [str(each).split()[:3] for each in found] == [
        ["ok", "dut", "iscsi"],
        ["ok", "peer", "iscsi"],
        ["ok", "dut", "multipath"],
        ["ok", "peer", "nvme"],
        ["ok", "dut", "nfs"],
    ]
    assert found[1].seen == "module configfs, module target_core_mod, module iscsi_target_mod, 20480 KiB of memory"


FAULTS: list[tuple[str, str, Spoil, str, str]] = [
    ("dut", "iscsi", lambda dut, _: dut.update({"command -v iscsiadm": "iscsid\nmodule iscsi_tcp\n"}),
        "dut: has no iscsid, module iscsi_tcp; expected iscsiadm, iscsid", "install open-iscsi (Debian;"),
    ("peer", "iscsi", lambda _, peer: peer.update({"modprobe -n": "module target_core_mod\n"}),
        "peer: has no module target_core_mod; expected module configfs, module", "install the modules of the kernel"),
    ("peer", "iscsi", lambda _, peer: peer.update({LISTENS: "tcp LISTEN 0 256  198.18.11.2:3260  0.0.0.0:*\n"}),
        "peer: tcp LISTEN 0 256 198.18.11.2:3260 0.0.0.0:*; expected nobody at 198.18.11.2:3260", "end whatever else"),
    ("peer", "iscsi", lambda _, peer: peer.update({LISTENS: "tcp LISTEN 0 256  [::]:3260  [::]:*\n"}),
        "; expected nobody at 198.18.10.2:3260", "end whatever else"),
    ("dut", "multipath", lambda dut, _: dut.update({"command -v multipathd": "dmsetup\nmodule dm-multipath\n"}),
        "dut: has no dmsetup, module dm-multipath; expected multipathd", "install multipath-tools (Debian;"),
    ("dut", "multipath", lambda dut, _: dut.update({RUNS: "listens\n"}),
        "dut: a multipathd runs; expected none", "systemctl disable --now multipathd.socket multipathd"),
    ("peer", "nvme", lambda _, peer: peer.update({"command -v losetup": "losetup\n"}),
        "peer: has no losetup; expected losetup", "install losetup (Debian: mount;"),
    ("peer", "nvme", lambda _, peer: peer.update({NVME_LISTENS: "tcp LISTEN 0 256  198.18.10.2:4420  0.0.0.0:*\n"}),
        "; expected nobody at 198.18.10.2:4420", "end whatever else listens at port 4420"),
    ("dut", "nfs", lambda dut, _: dut.update({"command -v exportfs": "rpc.nfsd\n"}),
        "dut: has no rpc.nfsd; expected an NFS server", "install nfs-kernel-server"),
    ("dut", "nfs", lambda dut, _: dut.update({THREADS: "8\n"}),
        "dut: an NFS server runs with 8 threads", "systemctl disable --now nfs-server"),
]  # fmt: skip


@pytest.mark.parametrize(("subject", "what", "spoil", "fault", "mend"), FAULTS)
def test_each_lack_is_found_and_mended_by_name(
    taken: Run, asked: tuple[dict[str, str], dict[str, str]], subject: str, what: str, spoil: Spoil, fault: str,
    mend: str,
) -> None:  # fmt: skip
    for replies in asked:
        replies.pop("command -v")
        replies.update(
            dict.fromkeys(
                ("command -v iscsiadm", "command -v multipathd", "command -v exportfs", "command -v losetup"), ""
            )
        )
    spoil(*asked)
    (found,) = [each for each in examine_storage(taken) if each.fault]
    assert (found.subject, found.what) == (subject, what)
    assert fault in found.fault and mend in found.mend


def test_a_listener_at_another_address_is_nobodys_business(
    taken: Run, asked: tuple[dict[str, str], dict[str, str]]
) -> None:
    asked[1][LISTENS] = "tcp LISTEN 0 256  198.18.10.20:3260  0.0.0.0:*\n"
    assert [each.fault for each in examine_storage(taken)] == ["", "", "", "", ""]


def test_a_sheet_that_asks_for_nothing_is_not_looked_at(bench: FakeBench, taken: Run) -> None:
    before = list(bench.ssh[Role.DUT].commands)
    assert examined(taken) == [] and bench.ssh[Role.DUT].commands == before


@pytest.mark.parametrize("role", list(Role))
def test_other_systems_have_no_storage_tests(taken: Run, asked: object, role: Role) -> None:
    server = taken.server(role)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    assert asked and examined(taken) == []
