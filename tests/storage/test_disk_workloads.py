"""The loads of DEL-03 on a fake bench: content and counts decide, figures are recorded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from accepted_runs import accept_day
from fake_bench import FakeBench
from fake_traffic import carry

from niclab.bench.records import OperatingSystem, Role
from niclab.card import StorageFacts, StorageLoad
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames import delivery
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.storage import disk_workloads
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.disk_loads import DiskClient
from niclab.storage.disk_workloads import LoadFound, LoadsAnswer
from niclab.storage.iscsi import iscsi_workloads
from niclab.storage.nvme import nvme_workloads
from niclab.storage.nvme.nvme_host import NvmeDisks
from niclab.storage.storage_figures import Binding
from niclab.storage.volumes import DiskTarget
from niclab.traffic import WorthlessResult
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs.traffic_run import TrafficRun
from Storage import Storage

FACTS = StorageFacts(workloads=tuple(StorageLoad), source="a document")
COMMAND = "cd /tmp/niclab.fake && load disks"
DISKS = tuple(f"sd{letter}" for letter in "abcdefgh")
TIMES = {"silent_s": 0.1, "slowest_s": 0.2}
ZERO = DiskCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


class Program:
    """The program on the dut, whose operations pass the ports of the fake bench.

    ``dead_from``: the number of the step of a path from which on no operation ends.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.damaged = self.failed = 0
        self.dead_from: int | None = None
        self.gone = list[str]()
        self.overhead = 1.05
        self.plans = list[dict[str, Any]]()
        self.total = {"bytes_read": 0, "bytes_written": 0}
        self.ends = self.steps = 0
        self._bench, self._path, self._lasts_s = bench, 0, 1.0
        bench.ssh[Role.DUT].replies[COMMAND] = self._run

    def end(self) -> None:
        self.ends += 1
        self._path += 1
        self.steps = 0

    def restart(self, lasts_s: float) -> None:
        """Begin with the first path again. ``lasts_s``: time of each load."""
        self._path, self._lasts_s = 0, lasts_s

    def command(self, plan: dict[str, Any], lasts_s: int = 0) -> str:
        assert lasts_s == plan["seconds"]
        self.plans.append(plan)
        return COMMAND

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        self.plans.append(plan)
        return self._said(plan["load"])

    def _said(self, load: str) -> dict[str, Any]:
        reads = {"fill": 0, "write": 0, "random": 134, "read": 16, "check": 80}[load]
        written = {"fill": 80, "write": 16, "random": 66, "read": 0, "check": 0}[load]
        size, failed = 8192 if load == "random" else 262144, self.failed
        self.steps += 1
        if self.dead_from is not None and self.steps >= self.dead_from:
            reads, written, failed = 0, 0, 40
        said = {"reads": reads, "written": written, "bytes_read": reads * size, "bytes_written": written * size}
        for name in self.total:
            self.total[name] += said[name]
        return said | {
            "damaged": self.damaged,
            "failed": failed,
            "elapsed_s": self._lasts_s,
            **TIMES,
            "example": "block 7",
        }

    def _run(self, _: str) -> str:
        load = self.plans[-1]["load"]
        said, net = self._said(load), f"198.18.{10 + 10 * self._path}"
        size = said["bytes_written"] if load == "write" else said["bytes_read"]
        ends = f"{net}.2 --bind {net}.1" if load == "write" else f"{net}.1 --bind {net}.2"
        carry(self._bench, ends, size=round(self.overhead * size), frames=size // 1448)
        return json.dumps(said)

    @staticmethod
    def said(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text)
        return found


@pytest.fixture
def program(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Program:
    made = Program(bench)

    @contextmanager
    def offering(*_: object) -> Iterator[DiskTarget]:
        yield DiskTarget("iqn.a:b", "198.18.10.2")

    @contextmanager
    def attached(*_: object) -> Iterator[tuple[str, ...]]:
        yield DISKS

    def look(*_: object) -> DiskCounts:
        read, written = made.total["bytes_read"], made.total["bytes_written"]
        return replace(
            ZERO, disk_read_bytes=read, disk_written_bytes=written, target_read_bytes=read, target_written_bytes=written
        )

    def gone(*_: object) -> list[str]:
        return made.gone

    for name, value in {"offering": offering, "attached": attached, "gone": gone}.items():
        monkeypatch.setattr(iscsi_workloads, name, value)
    monkeypatch.setattr(disk_workloads, "DiskAgent", lambda _: made)
    monkeypatch.setattr(iscsi_workloads.iscsi_counts, "look", look)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.loopback_bps", lambda *_: 1e9)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.pause", lambda _: None)
    bench.ssh[Role.DUT].replies["command -v"] = ""
    taken.card = taken.card.model_copy(update={"iscsi": FACTS})
    return made


def measured(run: Run) -> list[LoadsAnswer]:
    facts = iscsi_workloads.require_asked(run)
    return disk_workloads.measure(run, iscsi_workloads.ISCSI, facts.workloads, Profile.QUICK, lambda _: None)


def judge(run: Run, answers: list[LoadsAnswer]) -> None:
    disk_workloads.judge(run, answers, lambda _: None)


def test_a_sound_card_is_loaded_over_each_path(taken: Run, program: Program) -> None:
    first, second = answers = measured(taken)
    judge(taken, answers)
    loads = [plan["load"] for plan in program.plans]
    once = ["fill", "random", "check"]
    assert loads == ["fill", *3 * ["random"], *3 * ["read"], *3 * ["write"], "check", *once] and program.ends == 2
    assert program.plans[0]["disks"][0] == "/dev/sda" and program.plans[0]["threads"] == 5
    random, read, _ = first.loads
    assert random.values == (200.0,) * 3 and read.values == pytest.approx((16 * 0.262144,) * 3)
    assert random.found.operations_per_s == 200.0 and read.found.operations_per_s == 16.0
    assert "TCP segments sent again: dut 0, peer 0; held back by" in random.text
    assert {each.binds for each in first.loads} == {Binding.TARGET} and second.loads[0].binds is None
    assert random.subject == "peer.p0 to dut.p0, iSCSI, random operations of 8 KiB, 67 % reads"
    assert "peer.p1 to dut.p1" in second.loads[0].subject and len(second.loads) == len(second.loads[0].runs) == 1
    noted = taken.notes.take_figures()
    assert len(noted) == 4 and all(each.expected == "no limit: recorded" for each in noted)
    assert "iscsi_sequential_read" in (taken.run_dir / "measurements.json").read_text()


def test_the_keyword_shows_figures_and_passes(taken: Run, program: Program) -> None:
    Storage().iscsi_blocks_should_come_back(Profile.QUICK)
    assert program.ends == 2 and len(taken.notes.take_figures()) == 4


@pytest.mark.parametrize("what", ["damaged", "failed"])
def test_damage_is_charged_to_whoever_damages_frames(
    taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    setattr(program, what, 2)
    answers = measured(taken)
    assert len(answers[0].damaged) == 11

    def by_the_card(*_: object) -> None:
        raise CardFailure("dut.p0 damages frames")

    monkeypatch.setattr(delivery, "once_in_order", by_the_card)
    with pytest.raises(CardFailure, match="damages frames"):
        judge(taken, answers)
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"2 (blocks|operations).*such as block 7.*nobody knows where"):
        judge(taken, answers)


@pytest.mark.parametrize("step", [2, 4, 6], ids=["at once", "after two runs", "in the second load"])
def test_disks_that_are_gone_under_a_load_are_judged(
    program: Program, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """Their operations failed: a run in which none ended is no reason to charge the bench."""
    program.dead_from = step
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"path a, iSCSI: .*: .* 40 operations failed, .*nobody knows where"):
        Storage().iscsi_blocks_should_come_back(Profile.QUICK)
    assert program.ends == 2


def test_a_run_without_an_operation_is_worthless(taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program
    monkeypatch.setattr(DiskClient, "read", lambda *_: (_ for _ in ()).throw(WorthlessResult("worthless result")))
    with pytest.raises(WorthlessResult):
        measured(taken)


def test_operations_that_fail_without_their_volume_are_the_benchs_fault(
    taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card that damages frames is charged all the same."""
    program.gone, program.failed = ["peer: iqn.a:b has no LUN 3"], 2
    answers = measured(taken)
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(BenchFault, match=r"2 operations failed, such as block 7; .*; peer: iqn\.a:b has no LUN 3$"):
        judge(taken, answers)

    def by_the_card(*_: object) -> None:
        raise CardFailure("dut.p0 damages frames")

    monkeypatch.setattr(delivery, "once_in_order", by_the_card)
    with pytest.raises(CardFailure, match="damages frames"):
        judge(taken, answers)


def test_counts_that_disagree_are_the_benchs_fault(
    taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(iscsi_workloads.iscsi_counts, "look", lambda *_: ZERO)
    answers = measured(taken)
    with pytest.raises(BenchFault, match="bytes read: 0 at the disks; expected the program's"):
        judge(taken, answers)
    assert program.ends == 2


def test_a_port_that_carries_much_more_is_the_benchs_fault(taken: Run, program: Program) -> None:
    program.overhead = 2.0
    answers = measured(taken)
    with pytest.raises(BenchFault, match=r"dut\.p0: [0-9]+ bytes received in sequential reads.*expected at most"):
        judge(taken, answers)


def test_data_that_go_another_way_prove_nothing(taken: Run, program: Program) -> None:
    program.overhead = 0.5
    with pytest.raises(BenchFault, match="the traffic went another way"):
        measured(taken)
    assert program.ends == 1


def test_a_sheet_without_the_section_costs_nothing(bench: FakeBench, taken: Run, program: Program) -> None:
    taken.card = taken.card.model_copy(update={"iscsi": None})
    asked = [len(ssh.commands) for ssh in bench.ssh.values()]
    with pytest.raises(NotApplicable, match="has no section iscsi"):
        measured(taken)
    assert [len(ssh.commands) for ssh in bench.ssh.values()] == asked and not program.plans


class TestNvme:
    """By NVMe over TCP it is the same, with names, modules and counts of its own."""

    @pytest.fixture
    def asked(self, bench: FakeBench, taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
        @contextmanager
        def offering(*_: object) -> Iterator[DiskTarget]:
            yield DiskTarget("nqn.a:b", "198.18.10.2")

        @contextmanager
        def attached(*_: object) -> Iterator[NvmeDisks]:
            names = tuple(f"nvme0n{1 + each}" for each in range(8))
            yield NvmeDisks(names, tuple(name.replace("0n", "0c0n") for name in names))

        def look(*asked: Any) -> DiskCounts:
            assert asked[2][7] == "nvme0c0n8"
            return iscsi_workloads.iscsi_counts.look(*asked)

        fakes = {"offering": offering, "attached": attached, "gone": lambda *_: program.gone}
        for name, value in fakes.items():
            monkeypatch.setattr(nvme_workloads, name, value)
        monkeypatch.setattr(nvme_workloads.nvme_target, "look", look)
        for ssh in bench.ssh.values():
            ssh.replies["modprobe -n"] = ""
        taken.card = taken.card.model_copy(update={"iscsi": None, "nvme_tcp": FACTS})
        return program

    def test_the_keyword_loads_each_path_and_passes(self, taken: Run, asked: Program) -> None:
        Storage().nvme_blocks_should_come_back(Profile.QUICK)
        assert asked.ends == 2 and asked.plans[0]["disks"][0] == "/dev/nvme0n1"
        noted = taken.notes.take_figures()
        assert [each.subject for each in noted if "random" in each.subject] == [
            f"peer.p{port} to dut.p{port}, NVMe over TCP, random operations of 8 KiB, 67 % reads" for port in (0, 1)
        ]
        assert "held back by the NVMe target's time to answer" in noted[0].found
        measured = (taken.run_dir / "measurements.json").read_text()
        assert "nvme_tcp_sequential_read" in measured and "NVMe load 1" in measured

    @pytest.mark.usefixtures("asked")
    def test_counts_agree_closer_than_those_in_whole_mib(self, monkeypatch: pytest.MonkeyPatch) -> None:
        look, looks = nvme_workloads.nvme_target.look, count()

        def apart(*of: Any) -> DiskCounts:
            found = look(*of)
            return replace(found, target_read_bytes=found.target_read_bytes + (next(looks) << 20))

        monkeypatch.setattr(nvme_workloads.nvme_target, "look", apart)
        with pytest.raises(BenchFault, match=r"bytes read: \d+ at the target; expected the disks' \d+, within 1048576"):
            Storage().nvme_blocks_should_come_back(Profile.QUICK)

    def test_a_namespace_that_is_gone_is_the_benchs_fault(
        self, asked: Program, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked.gone, asked.failed = ["peer: nqn.a:b has no namespace 4"], 2
        monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
        with pytest.raises(BenchFault, match=r"2 operations failed, such as block 7; .*; peer: nqn\.a:b has no name"):
            Storage().nvme_blocks_should_come_back(Profile.QUICK)

    @pytest.mark.parametrize(("role", "module"), [(Role.DUT, "nvme-tcp"), (Role.PEER, "nvmet-tcp")])
    def test_a_kernel_without_the_module_has_no_test(
        self, bench: FakeBench, asked: Program, role: Role, module: str
    ) -> None:
        bench.ssh[role].replies["modprobe -n"] = f"module {module}\n"
        with pytest.raises(NotApplicable, match=f"{role.value}: its kernel has no module {module} for NVMe over TCP"):
            Storage().nvme_blocks_should_come_back(Profile.QUICK)
        assert not asked.plans

    @pytest.mark.parametrize("role", list(Role))
    def test_other_systems_have_no_such_test(self, taken: Run, asked: Program, role: Role) -> None:
        server = taken.server(role)
        server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
        with pytest.raises(NotApplicable, match=f"{role.value} runs freebsd: disks are offered and used by NVMe"):
            Storage().nvme_blocks_should_come_back(Profile.QUICK)
        assert not asked.plans

    def test_a_sheet_without_the_section_asks_for_nothing(self, taken: Run, asked: Program) -> None:
        taken.card = taken.card.model_copy(update={"nvme_tcp": None})
        with pytest.raises(NotApplicable, match="has no section nvme_tcp"):
            Storage().nvme_blocks_should_come_back(Profile.QUICK)
        assert not asked.plans


@pytest.fixture
def losing(program: Program, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Between two looks, the peer sends 100 of 5000 segments again."""
    look, looks = iscsi_workloads.iscsi_counts.look, count(1)

    def lossy(*args: Any) -> DiskCounts:
        number = next(looks)
        return replace(look(*args), peer_resent=100 * number, peer_sent=5000 * number, dut_sent=5000 * number)

    monkeypatch.setattr(iscsi_workloads.iscsi_counts, "look", lossy)
    return program


LOST = r"peer sent 100 TCP segments again, 5000 others; expected at most 1% \(assumption\); the dut's port counted"


@pytest.mark.usefixtures("losing")
def test_segments_that_are_lost_somewhere_are_nobodys(taken: Run) -> None:
    answers = measured(taken)
    with pytest.raises(Undecided, match=rf"random operations of 8 KiB, 67 % reads: {LOST} 0 as lost"):
        judge(taken, answers)
    assert {each.outcome for each in taken.notes.take_figures()} == {Decision.UNDECIDED}


@pytest.mark.usefixtures("losing")
def test_segments_that_the_duts_port_had_no_room_for_are_the_cards(taken: Run) -> None:
    answers = measured(taken)
    load = answers[0].loads[0]
    load = replace(load, runs=tuple(map(_missing, load.runs)))
    with pytest.raises(CardFailure, match=rf"{LOST} 120 as lost"):
        judge(taken, [replace(answers[0], loads=(load,))])
    for hindered in (replace(load, stood=(Stood("dut", 300),)), replace(load, hindrances=("dut.p0: no free CPU",))):
        with pytest.raises(Undecided, match=rf"{LOST} 120 as lost; dut"):
            judge(taken, [replace(answers[0], loads=(hindered,))])


@pytest.mark.usefixtures("losing")
def test_operations_that_failed_hide_no_loss_of_the_card(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations fail because the card loses frames: those with known content arrive, one at a time."""
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    answers = measured(taken)
    load = answers[0].loads[0]
    load = replace(load, runs=tuple(map(_missing, load.runs)))
    damaged = replace(answers[0], loads=(load,), damaged=("2 operations failed",))
    with pytest.raises(CardFailure, match=rf"{LOST} 120 as lost"):
        judge(taken, [damaged])
    with pytest.raises(Undecided, match=r"2 operations failed.*nobody knows where it happened$"):
        judge(taken, [replace(damaged, loads=())])


@pytest.mark.usefixtures("losing")
def test_losses_that_leave_no_time_for_the_runs_are_named(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = replace(disk_workloads.BUDGETS[Profile.QUICK], most_s=0)
    monkeypatch.setattr(disk_workloads, "BUDGETS", {Profile.QUICK: budget})
    says = r"0 runs made when the time was spent; expected at least 3; peer sent 100 TCP segments again meanwhile$"
    with pytest.raises(Undecided, match=says):
        measured(taken)


def _missing(run: TrafficRun) -> TrafficRun:
    """The run, with 40 frames for which the dut's port had no room."""
    assert run.receiver.port == "dut.p0"
    return replace(run, receiver=replace(run.receiver, frames=replace(run.receiver.frames, rx_missed_errors=40)))


@pytest.mark.parametrize("is_cards", [True, False])
def test_a_later_path_that_fails_hides_no_loss_of_the_card(
    taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch, is_cards: bool
) -> None:
    """The figures of the path before are noted, too."""
    attached, paths = iscsi_workloads.attached, count(1)

    def once(*args: Any) -> AbstractContextManager[tuple[str, ...]]:
        if next(paths) > 1:
            raise BenchFault("dut: no session with iqn.a:b")
        return attached(*args)

    monkeypatch.setattr(iscsi_workloads, "attached", once)
    monkeypatch.setattr(LoadFound, "lost", [Judgement(["dut.p0 lost 120"], [])] if is_cards else [])
    words = r"^dut\.p0 lost 120" if is_cards else r"^dut: no session with iqn\.a:b$"
    with pytest.raises(CardFailure if is_cards else BenchFault, match=words):
        Storage().iscsi_blocks_should_come_back(Profile.QUICK)
    assert program.ends == 1 and len(taken.notes.take_figures()) == 3


def test_a_load_that_cannot_be_told_hides_no_loss_in_another(
    taken: Run, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first load ends without an answer, the others are made all the same."""
    measure = disk_workloads._Loads._measured

    def untold(self: disk_workloads._Loads, load: StorageLoad) -> LoadFound:
        if load is StorageLoad.RANDOM:
            raise Undecided("random operations: a server stood still too often")
        return measure(self, load)

    monkeypatch.setattr(disk_workloads._Loads, "_measured", untold)
    answers = measured(taken)
    assert [each.unit for each in answers[0].loads] == ["Mbyte/s"] * 2 and program.ends == 2
    with pytest.raises(Undecided, match=r"^random operations: a server stood still too often$"):
        judge(taken, answers)
    monkeypatch.setattr(LoadFound, "lost", [Judgement(["dut.p0 lost 120"], [])])
    with pytest.raises(CardFailure, match=r"dut\.p0 lost 120"):
        judge(taken, answers)


def test_a_baseline_that_a_slow_target_may_miss_is_nobodys(taken: Run, program: Program) -> None:
    answers = measured(taken)
    for day in (1, 2, 3, 4, 5, 6):
        accept_day(taken, day)
    program.restart(lasts_s=2.0)
    answers = measured(taken)
    assert {load.binds for load in answers[0].loads} == {Binding.TARGET}
    words = "held back by the iSCSI target's time to answer, as nothing else is full: nobody knows if the target or the"
    with pytest.raises(Undecided, match=words):
        judge(taken, answers)
    (first, *_), line = answers[0].loads, Binding.LINE
    with pytest.raises(CardFailure, match="expected at most"):
        judge(taken, [replace(answers[0], loads=(replace(first, binds=line),))])
