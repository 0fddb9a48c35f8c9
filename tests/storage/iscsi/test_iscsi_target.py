"""The iSCSI target of the peer: in the journal before it is made, and undone whatever state it is in."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes, noting

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.storage.iscsi import iscsi_target
from niclab.storage.iscsi.iscsi_target import gone, offering, offering_too
from niclab.storage.volumes import VOLUMES, DiskTarget
from niclab.transports.ssh.ssh_records import Result

BEGIN, LOOK, DO = "modprobe -a target_core_mod", "[ ! -e /sys/kernel", "set -e\nmkdir -p"
UNDO = "[ ! -d /sys/kernel/config/target/iscsi"


@pytest.fixture
def told(bench: FakeBench, taken: Run) -> dict[str, int]:
    """Commands that the peer got -> how many changes the journal had by then."""
    order, note = noting(taken.journal)
    bench.ssh[Role.PEER].replies |= {BEGIN: "", LOOK: "", DO: note, UNDO: note}
    return order


def test_the_target_is_in_the_journal_before_and_gone_after(taken: Run, told: dict[str, int]) -> None:
    before = len(changes(taken.journal))
    with offering(taken, taken.bench.paths[0]) as target:
        assert target.address == "198.18.10.2" and target.name.startswith("iqn.2026-01.net.niclab:")
        assert len(changes(taken.journal)) == before + 1
    assert len(changes(taken.journal)) == before
    made, undone = told
    assert told[made] == before + 1
    assert f"np/{target.address}:3260" in made and made.count("rd_pages=320") == made.count("ln -s") == VOLUMES
    assert target.name in undone and "echo 0 >" in undone


def test_two_targets_share_an_address_and_no_volume(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    path = taken.bench.paths[0]
    with offering(taken, path) as first:
        bench.ssh[Role.PEER].replies["ss -Hlntup"] = f"tcp LISTEN 0 256  {first.address}:3260  0.0.0.0:*\n"
        with offering(taken, path, range(VOLUMES, 2 * VOLUMES), after=first) as second:
            assert (second.name, second.address) == (f"{first.name}.2", first.address)
    made, others, *_ = told
    assert not set(re.findall(r"/v[0-9]+", made)) & set(re.findall(r"/v[0-9]+", others))


def test_a_volume_that_a_target_has_lost_is_named(
    bench: FakeBench, taken: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iscsi_target, "TARGETS", str(tmp_path))
    target = DiskTarget("iqn.a:b", "198.18.10.2")
    luns = tmp_path / "iscsi/iqn.a:b/tpgt_1/lun"
    for place in range(VOLUMES):
        (luns / f"lun_{place}").mkdir(parents=True)
        (luns / f"lun_{place}/volume").touch()

    def shell(command: str) -> str:
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout

    bench.ssh[Role.PEER].replies[f"[ -e {tmp_path}"] = shell
    assert gone(taken, target) == []
    for place in (3, 7):
        (luns / f"lun_{place}/volume").unlink()
    assert gone(taken, target) == [f"peer: iqn.a:b has no LUN {place}; expected all of 8" for place in (3, 7)]


def test_a_kernel_without_a_target_is_the_benchs_fault(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.PEER].replies[BEGIN] = Result("modprobe", 1, None, "", "FATAL: Module iscsi_target_mod", 0.1)
    with (
        pytest.raises(BenchFault, match=r"peer: cannot offer .* iscsi_target_mod; expected the modules"),
        offering(taken, taken.bench.paths[0]),
    ):
        pass
    assert not told


def test_what_another_run_has_left_is_named(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.PEER].replies[LOOK] = "/sys/kernel/config/target/core/rd_mcp_7114\n"
    with (
        pytest.raises(BenchFault, match="rd_mcp_7114 exist already; expected none"),
        offering(taken, taken.bench.paths[0]),
    ):
        pass
    assert not told


def test_what_is_made_in_part_is_undone(bench: FakeBench, taken: Run, told: dict[str, int]) -> None:
    bench.ssh[Role.PEER].replies[DO] = Result("mkdir", 1, None, "", "Cannot assign requested address", 0.1)
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match="Cannot assign"), offering(taken, taken.bench.paths[0]):
        pass
    assert len(changes(taken.journal)) == before and len(told) == 1


@pytest.mark.parametrize("parts", [(), ("core",), ("core", "group"), ("core", "group", "portal", "lun")])
def test_the_undo_works_in_whatever_state_it_is(
    parts: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iscsi_target, "TARGETS", str(tmp_path))
    monkeypatch.setattr(iscsi_target, "STORE", f"{tmp_path}/core/rd_mcp_7114")
    target = DiskTarget("iqn.a:b", "198.18.10.2")
    group = tmp_path / "iscsi/iqn.a:b/tpgt_1"
    places = {
        "core": tmp_path / "core/rd_mcp_7114/v0",
        "group": group,
        "portal": group / "np/198.18.10.2:3260",
        "lun": group / "lun/lun_0",
    }
    for part in parts:
        places[part].mkdir(parents=True)
    if "lun" in parts:
        (group / "lun/lun_0/volume").symlink_to(places["core"])
    undo = iscsi_target._undo(target)
    if "group" in parts:  # configfs removes its own files and folders with the folder
        own = "rm -f $f/enable; rmdir $f/np $f/lun 2>/dev/null || :; rmdir $f"
        undo = undo.replace("|| rmdir $f ||", f"|| {{ {own}; }} ||")
    done = subprocess.run(["sh", "-c", undo], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert not (tmp_path / "iscsi/iqn.a:b").exists() and not (tmp_path / "core/rd_mcp_7114").exists()


def test_a_folder_that_stays_is_no_success_whatever_follows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iscsi_target, "TARGETS", str(tmp_path))
    monkeypatch.setattr(iscsi_target, "STORE", f"{tmp_path}/core/rd_mcp_7114")
    (tmp_path / "iscsi/iqn.a:b/tpgt_1/np/198.18.10.2:3260/busy").mkdir(parents=True)
    undo = iscsi_target._undo(DiskTarget("iqn.a:b", "198.18.10.2"))
    done = subprocess.run(["sh", "-c", f"({undo}\n) && echo undone"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == ""


def test_the_volumes_of_another_target_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(iscsi_target, "TARGETS", str(tmp_path))
    monkeypatch.setattr(iscsi_target, "STORE", f"{tmp_path}/core/rd_mcp_7114")
    store = tmp_path / "core/rd_mcp_7114"
    for number in (0, 8, 9):
        (store / f"v{number}").mkdir(parents=True)
    first, second = DiskTarget("iqn.a:a", "198.18.10.2"), DiskTarget("iqn.a:b", "198.18.11.2", range(8, 10))
    assert subprocess.run(["sh", "-c", iscsi_target._undo(second)], check=False).returncode == 0
    assert [each.name for each in store.iterdir()] == ["v0"]
    assert subprocess.run(["sh", "-c", iscsi_target._undo(first)], check=False).returncode == 0
    assert not store.exists()


def test_volumes_have_numbers_of_the_server_and_places_of_the_target() -> None:
    made = iscsi_target._do(DiskTarget("iqn.a:b", "198.18.11.2", range(8, 10)))
    assert "rd_mcp_7114/v8 " in made and "/lun/lun_1\n" in made and "/lun/lun_8" not in made and "/v0" not in made


def test_a_second_target_offers_the_volumes_of_the_first(taken: Run, told: dict[str, int]) -> None:
    first, second = taken.bench.paths
    with offering(taken, first, range(2), ("ab0", "ab1")) as target, offering_too(taken, second, target) as other:
        assert (other.address, other.volumes) == ("198.18.11.2", range(2)) and other.name != target.name
    made, too, undone, ended = told
    assert [told[each] for each in (made, too)] == [told[made], told[made] + 1]
    assert "echo ab1 > /sys/kernel/config/target/core/rd_mcp_7114/v1/wwn/vpd_unit_serial" in made
    assert "rd_pages" not in too and "ln -s /sys/kernel/config/target/core/rd_mcp_7114/v1 " in too and other.name in too
    assert other.name in undone and "rd_mcp_7114" not in undone and target.name in ended and "rd_mcp_7114/v1" in ended


def test_volumes_have_no_serial_number_by_themselves(taken: Run, told: dict[str, int]) -> None:
    with offering(taken, taken.bench.paths[0]):
        pass
    assert not any("vpd_unit_serial" in command for command in told)
