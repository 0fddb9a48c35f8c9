"""A run that is killed while disks or files are in use: the journal undoes each step, newest first."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import changes
from stacking import install

from niclab.bench.records import Role
from niclab.card import StorageFacts, StorageLoad
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links.failure import Cause
from niclab.links.link_loss import MemberLink
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.storage import session
from niclab.storage.iscsi.iscsi_initiator import SESSIONS, attached
from niclab.storage.iscsi.iscsi_target import TARGETS, offering
from niclab.storage.multipath import multipath_disks, multipath_maps
from niclab.storage.multipath.multipath_disks import MultipathDisks
from niclab.storage.nfs.nfs_server import serving
from niclab.storage.nvme import nvme_host, nvme_target
from niclab.storage.volumes import VOLUME_BYTES, VOLUMES, DiskTarget
from niclab.transports.ssh.ssh_records import Result

DISKS = "".join(f"disk {lun} sd{chr(97 + lun)} {VOLUME_BYTES // 512}\n" for lun in range(VOLUMES))
NAMESPACES = "".join(f"disk {1 + each} nvme0c0n{1 + each} {VOLUME_BYTES // 512}\n" for each in range(VOLUMES))
STEPS = {
    f"for f in {SESSIONS}": "session",
    "p=; c=; {": "daemon",
    "m=; c=; {": "maps",
    f"[ ! -d {TARGETS}/iscsi": "target",
    "for f in /sys/class/nvme": "controller",
    f"rm -f {nvme_target.TARGETS}": "subsystem",
    "{ [ ! -e /proc/fs/nfsd/threads ]": "export",
    "ip link delete": "bond",
    "d=/tmp/niclab-job.": "rpc.mountd",
}
"""Begin of the command that undoes a step -> what it ends."""
ANSWERS = {
    Role.DUT: {
        **dict.fromkeys(("modprobe iscsi_tcp", "iscsiadm -m node", "udevadm settle", "command -v"), ""),
        **dict.fromkeys(("if [ -r /proc/fs/nfsd", "rpcinfo -p", "mkdir -p /tmp/niclab.nfs", "rpc.nfsd --no-nfs"), ""),
        f"for d in {SESSIONS}": f"address 198.18.10.1\nhas niclab0\nover niclab0\n{DISKS}",
        "modprobe nvme-tcp": "",
        "c=$(ss": f"address 198.18.10.1\nhas niclab0\nover niclab0\n{NAMESPACES}",
    },
    Role.PEER: dict.fromkeys(
        ("command -v", "modprobe -a nvmet", "modprobe -a target_core_mod", "[ ! -e /sys/kernel", "set -e\nmkdir -p"), ""
    ),
}


@pytest.fixture
def undone(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what is ended on either server, in order, and whether a cable was out by then."""
    found = list[str]()
    monkeypatch.setattr(session, "DISKS_WITHIN_S", 0.0)
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    install(monkeypatch, bench)

    def note(result: Result) -> None:
        for begins, words in STEPS.items():
            if begins in result.command:
                found.append(f"{words}, cable out" if bench.pulled() else words)

    for role, ssh in bench.ssh.items():
        ssh.prepare_job = lambda job: setattr(job, "said", "listens\n")
        ssh.replies |= {**ANSWERS[role], **dict.fromkeys((each for each in STEPS if each != "ip link delete"), "")}
        ssh.on_result = note
    assert taken
    return found


def begin(*parts: AbstractContextManager[Any]) -> list[AbstractContextManager[Any]]:
    """Enter them, and keep them: a process that is killed leaves none of them."""
    for part in parts:
        part.__enter__()
    return list(parts)


def test_disks_over_bonds_with_a_lost_link(bench: FakeBench, taken: Run, undone: list[str]) -> None:
    """The link returns before the session ends, the session ends before its target and the bonds do."""
    before, path = len(changes(taken.journal)), taken.bench.paths[0]
    bonds = taken.part(Bonds)
    bonds.create(BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100, primary_reselect=PrimaryReselect.ALWAYS))
    target = DiskTarget(f"iqn.2026-01.net.niclab:{path.name}", "198.18.10.2")
    entered = begin(offering(taken, path), attached(taken, path, target))
    bonds.lose(MemberLink.ACTIVE, Cause.CABLE, lambda _: None)
    assert entered and undone == [] and bench.pulled() == {"a"}
    taken.journal.undo_all(taken.undo).raise_if_failed()
    assert undone == ["session", "daemon", "target", "bond", "bond"]
    assert bench.pulled() == set() and len(changes(taken.journal)) <= before


def test_disks_over_two_paths_with_a_lost_link(
    bench: FakeBench, taken: Run, undone: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link returns before the maps end, and these before their sessions."""
    before = len(changes(taken.journal))
    bench.ssh[Role.DUT].replies |= dict.fromkeys(("! grep -q multipathd", "modprobe -a dm-multipath"), "")
    bench.ssh[Role.DUT].replies |= {
        f"for d in {SESSIONS}": lambda command: _session("198.18.10.1" if ":a ]" in command else "198.18.11.1"),
    }
    monkeypatch.setattr(multipath_maps, "_await_maps", lambda *_: None)
    monkeypatch.setattr(multipath_disks, "DiskAgent", lambda _: SimpleNamespace(end=lambda: None))
    facts = StorageFacts(workloads=(StorageLoad.READ,), source="a document")
    taken.card = taken.card.model_copy(update={"iscsi": facts})
    disks = taken.part(MultipathDisks)
    disks.connect()
    disks.lose(Cause.CABLE, lambda _: None)
    assert undone == [] and bench.pulled() == {"a"}
    taken.journal.undo_all(taken.undo).raise_if_failed()
    assert undone == ["maps", "session", "session", "daemon", "target", "target"]
    assert bench.pulled() == set() and len(changes(taken.journal)) <= before


def _session(address: str) -> str:
    over = "has niclab0\nover niclab0\n"
    return f"address {address}\n{over}" + "".join(DISKS.splitlines(keepends=True)[:2])


def test_disks_by_nvme(taken: Run, undone: list[str]) -> None:
    """The controller ends before its target does."""
    before, path = len(changes(taken.journal)), taken.bench.paths[0]
    target = DiskTarget(f"{nvme_target.NAME}:{path.name}", "198.18.10.2")
    entered = begin(nvme_target.offering(taken, path), nvme_host.attached(taken, path, target))
    assert entered and undone == []
    taken.journal.undo_all(taken.undo).raise_if_failed()
    assert undone == ["controller", "subsystem"] and len(changes(taken.journal)) <= before


def test_a_file_that_is_served(taken: Run, undone: list[str]) -> None:
    before = len(changes(taken.journal))
    entered = begin(serving(taken, taken.bench.paths[0]))
    assert entered and undone == []
    taken.journal.undo_all(taken.undo).raise_if_failed()
    assert undone == ["rpc.mountd", "export"] and len(changes(taken.journal)) <= before
