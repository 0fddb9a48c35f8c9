"""The NFS server of the dut: in the journal before it is begun, and undone whatever state it is in."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes, noting

from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run.run import Run
from niclab.storage.nfs import nfs_server
from niclab.storage.nfs.nfs_server import FOLDER, NfsExport, serving, to_itself
from niclab.transports.ssh.ssh_records import Result

STEPS = ("mkdir -p /tmp/niclab.nfs", "rpc.nfsd --no-nfs-version")


@pytest.fixture
def told(bench: FakeBench, taken: Run) -> dict[str, int]:
    """Commands that the dut got -> how many changes the journal had by then."""
    ssh, (order, note) = bench.ssh[Role.DUT], noting(taken.journal)
    ssh.prepare_job = lambda job: setattr(job, "said", "listens\n")
    ssh.replies |= {"command -v": "", "if [ -r /proc/fs/nfsd": "", "rpcinfo -p": ""}
    ssh.replies |= dict.fromkeys((*STEPS, "{ [ ! -e /proc/fs/nfsd/threads ]"), note)
    return order


def test_every_change_is_in_the_journal_before_and_undone_after(
    bench: FakeBench, taken: Run, told: dict[str, int]
) -> None:
    before = len(changes(taken.journal))
    with serving(taken, taken.bench.paths[0]) as export:
        assert (export.here, export.there) == ("198.18.10.2", "198.18.10.1") and len(export.seed) == 16
        assert len(changes(taken.journal)) == before + 2  # the end of rpc.mountd as well
    assert len(changes(taken.journal)) == before
    made, begun, undone = told
    assert [told[each] for each in (made, begun)] == [before + 1] * 2
    assert f"exportfs -o ro,insecure,no_subtree_check,fsid=7114 198.18.10.2:{FOLDER}" in made
    assert "--udp --tcp --host 198.18.10.1 8" in begun and undone.startswith("{ [ ! -e /proc/fs/nfsd/threads ]")
    assert [job.stopped for job in bench.ssh[Role.DUT].jobs if job not in bench.ssh[Role.DUT].watches] == [1]


def test_the_dut_reads_its_own_file_only_for_a_while(bench: FakeBench, taken: Run) -> None:
    told = list[str]()

    def note(command: str) -> str:
        told.append(command)
        return ""

    bench.ssh[Role.DUT].replies |= dict.fromkeys(("exportfs -o", "! grep -qs"), note)
    before = len(changes(taken.journal))
    with to_itself(taken, NfsExport("198.18.10.2", "198.18.10.1", "abc")) as own:
        assert own == NfsExport("198.18.10.1", "198.18.10.1", "abc") and len(changes(taken.journal)) == before + 1
    made, undone = told
    assert made == f"exportfs -o ro,insecure,no_subtree_check,fsid=7114 198.18.10.1:{FOLDER}"
    assert undone.endswith(f"exportfs -u 198.18.10.1:{FOLDER}") and len(changes(taken.journal)) == before


def test_another_servers_work_is_left_alone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.DUT].replies["if [ -r /proc/fs/nfsd"] = "8\n"
    with (
        pytest.raises(BenchFault, match="dut: an NFS server runs with 8 threads; expected none"),
        serving(taken, taken.bench.paths[0]),
    ):
        pass
    assert not told


def test_a_program_that_is_missing_is_named(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.DUT].replies["command -v"] = "exportfs\nrpcbind\n"
    with (
        pytest.raises(BenchFault, match="dut: has no exportfs, rpcbind; expected an NFS server"),
        serving(taken, taken.bench.paths[0]),
    ):
        pass
    assert not told


def test_what_begun_in_part_is_undone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.DUT].replies[STEPS[1]] = Result("rpc.nfsd", 1, None, "", "rpc.nfsd: unable to bind", 0.1)
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match="unable to bind"), serving(taken, taken.bench.paths[0]):
        pass
    assert len(changes(taken.journal)) == before and len(told) == 2


def test_another_system_is_not_asked(taken: Run, told: dict[str, int]) -> None:
    peer = taken.server(Role.PEER)
    peer.description = replace_os(peer.description)
    with pytest.raises(NotApplicable, match="peer runs freebsd"), serving(taken, taken.bench.paths[0]):
        pass
    assert not told


def replace_os(description: object) -> object:
    return description.model_copy(update={"os": OperatingSystem.FREEBSD})  # type: ignore[attr-defined]


@pytest.mark.skipif(Path(nfs_server.FOLDER).exists(), reason="somebody serves NFS here")
@pytest.mark.parametrize("had_files", [True, False])
def test_the_undo_works_where_nothing_or_a_folder_is_left(had_files: bool) -> None:
    for left in (False, True):
        if left:
            Path(FOLDER).mkdir()
        undo = nfs_server._undo("198.18.10.2", had_files)
        try:
            done = subprocess.run(["sh", "-c", undo], capture_output=True, text=True)
            assert (done.returncode, done.stderr) == (0, "") and not Path(FOLDER).exists()
        finally:
            shutil.rmtree(FOLDER, ignore_errors=True)
