"""Loads by the card's engine against the software initiator on a fake bench: each verdict, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.card import IscsiOffload, Prediction, StorageFacts, StorageLoad
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames import delivery
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.watching.standstill import StandstillWatch, Stood
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.offload import offload_turns
from niclab.storage.offload.engine import Engine
from niclab.storage.volumes import VOLUMES, DiskTarget
from StorageOffload import StorageOffload

OFFLOAD = IscsiOffload(
    transport="bnx2i", mac_offset=1, transfer_bytes=65024, wanted=Prediction(loses_at_most_percent=50), source="test"
)
BASE, OWN, STRANGE = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:77"
ENGINE = Engine("niclab.a", OWN, BASE, "198.18.10.254")
DISKS, RECORDS = ("sda", "sdb"), ("default", "niclab.a")
SIZES = {"random": 8192, "read": 262144, "write": 262144, "fill": 262144, "check": 262144}
_NOISE = (1.0, 1.004, 0.997, 1.002, 0.996)


class Side:
    """The program and the counts of one session. ``record``: that of its interface."""

    def __init__(self, disks: Disks, record: str) -> None:
        self._disks, self._record = disks, record
        self.counts = DiskCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)

    def end(self) -> None:
        self._disks.log.append(f"end {self._record}")

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        disks, load, seconds = self._disks, plan["load"], plan["seconds"] or 1
        disks.log.append(f"{load} {self._record}")
        count = round(400 * seconds * disks.speed(self._record, load) * next(disks.noise)) if plan["seconds"] else 10
        reads = {"fill": 0, "write": 0, "random": count * 2 // 3}.get(load, count)
        read, written = reads * SIZES[load], (count - reads) * SIZES[load]
        now = self.counts
        self.counts = replace(
            now,
            disk_read_bytes=now.disk_read_bytes + read,
            disk_written_bytes=now.disk_written_bytes + written,
            target_read_bytes=now.target_read_bytes + read - disks.target_loses,
            target_written_bytes=now.target_written_bytes + written,
            target_commands=now.target_commands + count * disks.commands(self._record, load),
        )
        return {
            "reads": reads,
            "written": count - reads,
            "bytes_read": read,
            "bytes_written": written,
            "damaged": disks.damaged if self._record != "default" else 0,
            "failed": 0,
            "elapsed_s": float(seconds),
            "silent_s": 0.1,
            "slowest_s": 0.2,
            "example": "block 7",
        }


class Disks:
    """The disks of both sessions.

    ``speed``: part of full speed by record and load; ``commands``: for each operation; ``setting``, ``driver``: most
    KiB of a command; ``mac``: of the session at the peer; ``damaged``: blocks of each step of the engine;
    ``target_loses``: bytes that it does not count of each step; ``log``: sessions and steps in their order.
    """

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.log, self._sides = list[str](), list[Side]()
        self.speed: Callable[[str, str], float] = lambda *_: 1.0
        self.commands: Callable[[str, str], int] = lambda record, load: (
            5 if record != "default" and load != "random" else 1
        )
        self.setting, self.driver, self.mac, self.damaged, self.target_loses = 63, 63, OWN, 0, 0
        self.noise, self._agents = cycle(_NOISE), iter(self._sides)
        ssh = bench.ssh
        ssh[Role.DUT].replies |= {"command -v": "", "modprobe -n": "", "cat /sys/block": lambda _: self._limits()}
        ssh[Role.PEER].replies |= {
            "ip neigh flush": lambda _: self.log.append("forget") or "",
            "ip neigh show": lambda _: f"198.18.10.254 lladdr {self.mac} REACHABLE\n",
        }
        monkeypatch.setattr(offload_turns, "engine_of", self._engine)
        monkeypatch.setattr(offload_turns, "offering", self._offering)
        monkeypatch.setattr(offload_turns, "attached", self._attached)
        monkeypatch.setattr(offload_turns, "DiskAgent", self._agent)
        monkeypatch.setattr(offload_turns.iscsi_counts, "look", self._look)

    @contextmanager
    def _engine(self, *_: object) -> Iterator[Engine]:
        yield ENGINE

    @contextmanager
    def _offering(self, _: Run, __: object, volumes: range, after: DiskTarget | None = None) -> Iterator[DiskTarget]:
        yield DiskTarget("iqn.a:b.2" if after else "iqn.a:b", "198.18.10.2", volumes)

    @contextmanager
    def _attached(
        self, _: Run, __: object, target: DiskTarget, record: str = "default", address: str = ""
    ) -> Iterator[tuple[str, ...]]:
        self._sides.append(Side(self, record))
        self.log.append(f"{target.name} by {record} {address}".strip())
        yield DISKS
        self.log.append(f"log out {record}")

    def _agent(self, _: object) -> Side:
        return next(self._agents)

    def _look(self, _: Run, __: object, volumes: range) -> DiskCounts:
        return self._sides[volumes.start // VOLUMES].counts

    def _limits(self) -> str:
        return "".join(f"{each}\n" for each in (self.setting, 1280, self.driver, 2048))


@pytest.fixture
def disks(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Disks:
    facts = StorageFacts(workloads=tuple(StorageLoad), source="a document")
    taken.card = taken.card.model_copy(update={"iscsi": facts, "iscsi_offload": OFFLOAD})
    return Disks(bench, monkeypatch)


def check(profile: Profile = Profile.QUICK) -> None:
    StorageOffload().network_disks_by_the_engine_should_match_those_by_software(profile)


def cut(record: str, load: str) -> int:
    """Writes of 256 KiB leave in commands of 16 KiB, as in the document."""
    return {"write": 16, "random": 1}.get(load, 5) if record != "default" else 1


def test_an_engine_as_on_the_sheet_passes_and_is_recorded(taken: Run, disks: Disks) -> None:
    disks.speed = lambda record, load: 0.8 if record != "default" and load == "write" else 1.0
    check()
    assert disks.log[:5] == [
        *("forget", "iqn.a:b by default", f"iqn.a:b.2 by niclab.a {ENGINE.address}"),
        *("fill default", "fill niclab.a"),
    ]
    assert disks.log[-6:] == [
        *("check default", "check niclab.a", "end niclab.a", "end default", "log out niclab.a", "log out default")
    ]
    assert [disks.log.count(f"{load} {each}") for load in ("random", "read", "write") for each in RECORDS] == 6 * [3]
    noted = {each.subject: each for each in taken.notes.take_figures()}
    assert len(noted) == 6, "three loads: the change, and the commands"
    slow = noted["dut.p0, iSCSI by bnx2i, sequential writes of 256 KiB"]
    assert slow.value == pytest.approx(-20, abs=1) and slow.outcome is Decision.MET
    sent = noted["dut.p0, iSCSI by bnx2i, sequential writes of 256 KiB, commands at the target"]
    assert sent.value == 5 and sent.expected == "at most 5 an operation" and sent.outcome is Decision.MET
    assert "software initiator: 400" in sent.found and "51.2 KiB each" in sent.found and "CPU of the dut" in sent.found


def test_transfers_that_the_engine_cuts_are_the_cards(taken: Run, disks: Disks) -> None:
    disks.commands = cut
    words = r"writes of 256 KiB: 19\d+ commands .* 16\.0 KiB each; .* expected at most 5 commands .* 65024 bytes"
    with pytest.raises(CardFailure, match=words) as error:
        check()
    assert "sequential reads" not in str(error.value)
    (sent,) = (each for each in taken.notes.take_figures() if each.outcome is Decision.MISSED)
    assert sent.subject.endswith("writes of 256 KiB, commands at the target")


def test_transfers_that_a_setting_cuts_are_the_benchs(disks: Disks) -> None:
    disks.commands, disks.setting = cut, 16
    with pytest.raises(BenchFault, match=r"allows 16 KiB, their driver 63 KiB.*a setting of the server cuts them"):
        check()


@pytest.mark.parametrize(("setting", "error"), [(51, BenchFault), (52, CardFailure)])
def test_a_setting_cuts_by_less_than_a_kib_as_well(disks: Disks, setting: int, error: type) -> None:
    disks.setting = setting  # 5 commands for 256 KiB take 51.2 KiB each
    disks.commands = lambda record, load: 6 if record != "default" and load != "random" else 1
    with pytest.raises(error, match=f"allows {setting} KiB, their driver 63 KiB"):
        check()


def test_transfers_that_the_driver_does_not_take_are_no_setting(disks: Disks) -> None:
    disks.commands, disks.setting, disks.driver = cut, 16, 16
    with pytest.raises(CardFailure, match="their driver 16 KiB"):
        check()


def test_transfers_that_the_software_initiator_cuts_as_well_are_the_benchs(disks: Disks) -> None:
    disks.commands = lambda _, load: 1 if load == "random" else 16
    with pytest.raises(BenchFault, match="are cut as well, by the server or the target: software initiator"):
        check()


def test_an_engine_that_loses_more_than_on_the_sheet_is_the_cards(disks: Disks) -> None:
    disks.speed = lambda record, load: 0.25 if record != "default" and load == "write" else 1.0
    with pytest.raises(CardFailure, match=r"bnx2i, sequential writes of 256 KiB: .*at most 50 % ") as error:
        check()
    assert "reads" not in str(error.value)


def test_a_loss_while_a_server_stood_still_is_undecided(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    disks.speed = lambda record, _: 0.25 if record != "default" else 1.0
    monkeypatch.setattr(StandstillWatch, "between", lambda *_: (Stood("peer", 800),))
    with pytest.raises(Undecided, match="peer stood still for 800 ms"):
        check()


def test_a_loss_that_nobody_predicts_is_recorded(taken: Run, disks: Disks) -> None:
    unknown = OFFLOAD.model_copy(update={"wanted": Prediction(unknown="no document")})
    taken.card = taken.card.model_copy(update={"iscsi_offload": unknown})
    disks.speed = lambda record, _: 0.25 if record != "default" else 1.0
    check()
    noted = {each.subject: each for each in taken.notes.take_figures()}
    lost = noted["dut.p0, iSCSI by bnx2i, sequential writes of 256 KiB"]
    assert lost.value == pytest.approx(-75, abs=1) and lost.expected.startswith("any change: no document")


def test_sessions_with_the_ports_mac_address_are_the_cards(disks: Disks) -> None:
    disks.mac = BASE
    with pytest.raises(CardFailure, match=rf"MAC address {BASE} at the peer; expected {OWN}, that of the port plus 1"):
        check()


def test_a_strange_mac_address_is_undecided(disks: Disks) -> None:
    disks.mac = STRANGE
    with pytest.raises(Undecided, match=rf"{STRANGE} at the peer.*whether another station has 198\.18\.10\.254"):
        check()


@pytest.mark.parametrize("what", ["cut", "slow"])
def test_a_strange_mac_address_hides_no_failure(taken: Run, disks: Disks, what: str) -> None:
    disks.mac = STRANGE
    if what == "cut":
        disks.commands = cut
    else:
        disks.speed = lambda record, load: 0.25 if record != "default" and load == "write" else 1.0
    words = {"cut": "expected at most 5 commands", "slow": "at most 50 % "}
    with pytest.raises(CardFailure, match=f"writes of 256 KiB: .*{words[what]}"):
        check()
    assert [each for each in taken.notes.take_figures() if each.outcome is Decision.MISSED]


def test_counts_that_disagree_are_the_benchs_fault(disks: Disks) -> None:
    disks.target_loses = 4 << 20
    with pytest.raises(BenchFault, match=r"bytes read: .* at the target"):
        check()


def test_damage_is_undecided_where_frames_arrive_unchanged(disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    disks.damaged, disks.target_loses = 1, 4 << 20
    with pytest.raises(Undecided, match=r"engine of the card: .* blocks with another content"):
        check()


def test_limits_that_cannot_be_read_are_refused(disks: Disks) -> None:
    disks.driver = -1
    with pytest.raises(ReadError, match="expected 4 numbers"):
        check()


def test_a_card_without_an_engine_is_not_applicable(taken: Run, disks: Disks) -> None:
    taken.card = taken.card.model_copy(update={"iscsi_offload": None})
    with pytest.raises(NotApplicable, match="no section iscsi_offload"):
        check()
    assert not disks.log
