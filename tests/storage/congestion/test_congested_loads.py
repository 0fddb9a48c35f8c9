"""Loads on a base and a congested SAN of a fake bench: content and counts decide; the switch may discard frames."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import pytest
from accepted_runs import accept_day
from congested_bench import VLAN, Programs, connected, programs

from CongestedStorage import CongestedStorage
from niclab.card import StorageFacts, StorageLoad
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames import delivery
from niclab.run.run import Run
from niclab.storage.congestion import congested_loads
from niclab.storage.congestion.congested_answer import CongestedAnswer
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.storage_figures import Binding

__all__ = ["connected", "programs"]


def measured(run: Run) -> CongestedAnswer:
    return congested_loads.measure(run, VLAN, Profile.QUICK, lambda _: None)


def judge(run: Run, answer: CongestedAnswer) -> None:
    congested_loads.judge(run, [answer], lambda _: None)


def test_a_sound_card_is_loaded_on_both_sans_in_turns(connected: Run, programs: Programs) -> None:
    answer = measured(connected)
    judge(connected, answer)
    loads = [(plan["load"], "/dev/sdm" in plan["disks"]) for plan in programs.plans]
    turns = [False, True, True, False, False, True]
    assert loads == [
        *(("fill", is_congested) for is_congested in (False, True)),
        *(("read", is_congested) for is_congested in turns),
        *(("random", is_congested) for is_congested in turns),
        *(("check", is_congested) for is_congested in (False, True)),
    ]
    assert programs.ends == 2 and all(len(plan["disks"]) == 8 for plan in programs.plans)
    read, random = answer.loads
    assert read.congested.values == pytest.approx((16 * 0.262144,) * 3) and random.base.values == (200.0,) * 3
    assert read.subject == "peer.p0 and peer.p1 to dut.p0, iSCSI, sequential reads of 256 KiB"
    assert (read.base.peer_resent, read.base.discards) == (0, 0)
    assert (read.congested.peer_resent, read.congested.discards) == (900, 900)
    assert (
        "TCP segments sent again: dut 0, peer 900, 900 frames discarded by the switch; 100 % of base SAN" in read.text
    )
    assert "of the data came from peer.p0 50 %, peer.p1 50 %; pause frames received: dut.p0 not counted" in read.text
    noted = connected.notes.take_figures()
    assert [each.outcome for each in noted] == [Decision.MET] * 2
    assert "iscsi_congested_sequential_read" in (connected.run_dir / "measurements.json").read_text()


def test_the_keyword_shows_figures_and_passes(connected: Run, programs: Programs) -> None:
    CongestedStorage().network_disks_should_lose_nothing_but_what_a_congested_switch_discards(VLAN, Profile.QUICK)
    assert programs.ends == 2 and len(connected.notes.take_figures()) == 2


def test_losses_that_the_switch_does_not_count_are_nobodys(connected: Run, programs: Programs) -> None:
    programs.discarded = 100
    answer = measured(connected)
    with pytest.raises(Undecided, match=r"peer sent 900 TCP segments again.*by the switch 300, .*by the dut's port 0"):
        judge(connected, answer)
    assert {each.outcome for each in connected.notes.take_figures()} == {Decision.UNDECIDED}


def test_losses_that_the_duts_port_counts_are_the_cards(connected: Run, programs: Programs) -> None:
    programs.discarded, programs.missed = 100, 200
    answer = measured(connected)
    with pytest.raises(CardFailure, match=r"by the switch 300, by the peer's ports 0, by the dut's port 600"):
        judge(connected, answer)
    busy = tuple(replace(load, hindrances=("dut.p0: no free CPU",)) for load in answer.loads)
    with pytest.raises(Undecided, match=r"dut\.p0: no free CPU"):
        judge(connected, replace(answer, loads=busy))


def test_operations_that_failed_hide_no_loss_of_the_card(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.discarded, programs.missed = 100, 200
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    answer = replace(measured(connected), damaged=("2 operations failed",))
    with pytest.raises(CardFailure, match="by the dut's port 600"):
        judge(connected, answer)


def test_a_san_that_nothing_fills_is_not_congested(connected: Run, programs: Programs) -> None:
    programs.discarded = programs.resent = 0
    answer = measured(connected)
    assert answer.loads[0].text.endswith("the switch's port was not full")
    with pytest.raises(Undecided, match=r"no load filled the switch's port to the dut.*expected a congested SAN"):
        judge(connected, answer)
    full = replace(answer.loads[0].congested.figures, wire_mbps=0.95 * answer.loads[0].line_mbps)
    load = replace(answer.loads[0], congested=replace(answer.loads[0].congested, figures=full))
    judge(connected, replace(answer, loads=(load, answer.loads[1])))


@pytest.mark.parametrize(("stray", "loads"), [(1, 0), (4, 2)])
def test_a_stray_frame_that_is_discarded_is_no_congestion(
    connected: Run, programs: Programs, stray: int, loads: int
) -> None:
    """Three runs of each load: a switch discards a frame now and then that has to do with neither source."""
    programs.discarded, programs.resent = stray, 0
    answer = measured(connected)
    assert sum(load.is_congested for load in answer.loads) == loads
    with nullcontext() if loads else pytest.raises(Undecided, match="no load filled the switch's port"):
        judge(connected, answer)


def test_data_that_come_through_one_port_alone_are_the_benchs_fault(connected: Run, programs: Programs) -> None:
    programs.strays = True
    answer = measured(connected)
    with pytest.raises(BenchFault, match=r"peer\.p1: 0 bytes came from it into the switch; expected the [0-9]+ read"):
        judge(connected, answer)


@pytest.mark.parametrize("comes", [True, False])
def test_a_switch_that_counts_late_is_waited_for(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch, comes: bool
) -> None:
    monkeypatch.setattr(congested_loads, "COUNTED_WITHIN_S", 5.0 if comes else 0.0)
    monkeypatch.setattr("niclab.core.wait.time.sleep", lambda _: programs.catch_up())
    programs.late = True
    answer = measured(connected)
    if comes:
        judge(connected, answer)
        return
    with pytest.raises(BenchFault, match=r"peer\.p1: [0-9]+ bytes came from it into the switch; expected the"):
        judge(connected, answer)


@pytest.mark.parametrize("silent", ["sda", "sdi", "sdm"], ids=["base", "first source", "second source"])
def test_counts_that_disagree_are_the_benchs_fault(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    def look(run: Run, names: Sequence[str], volumes: Sequence[int]) -> DiskCounts:
        found = programs.look(run, names, volumes)
        return replace(found, disk_read_bytes=0) if silent in names else found

    monkeypatch.setattr("niclab.storage.iscsi.iscsi_counts.look", look)
    answer = measured(connected)
    with pytest.raises(BenchFault, match=r"bytes read: [0-9]+ at the disks; expected the program's"):
        judge(connected, answer)
    assert programs.ends == 2


def test_damage_is_charged_to_whoever_damages_frames(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs.damaged = 2
    answer = measured(connected)

    def by_the_card(*_: object) -> None:
        raise CardFailure("dut.p0 damages frames")

    monkeypatch.setattr(delivery, "once_in_order", by_the_card)
    with pytest.raises(CardFailure, match="damages frames"):
        judge(connected, answer)
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"congested SAN \(2:1\): .*2 blocks.*nobody knows where"):
        judge(connected, answer)


@pytest.mark.parametrize(("dead", "loads"), [("read", 0), ("random", 1)])
def test_disks_that_are_gone_under_a_load_are_judged(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch, dead: str, loads: int
) -> None:
    programs.dead = {dead}
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"base SAN \(1:1\): .* 40 operations failed, .*nobody knows where"):
        CongestedStorage().network_disks_should_lose_nothing_but_what_a_congested_switch_discards(VLAN, Profile.QUICK)
    assert programs.ends == 2 and len(connected.notes.take_figures()) == loads


def test_a_baseline_that_a_slow_target_may_miss_is_nobodys(connected: Run, programs: Programs) -> None:
    measured(connected)
    for day in (1, 2, 3, 4, 5, 6):
        accept_day(connected, day)
    programs.lasts_s = 2.0
    answer = measured(connected)
    with pytest.raises(Undecided, match="held back by the iSCSI target's time to answer, as nothing else is full"):
        judge(connected, answer)
    full = tuple(replace(load, binds=Binding.LINE) for load in answer.loads)
    with pytest.raises(CardFailure, match="expected at most 5 % worse"):
        judge(connected, replace(answer, loads=full))


@pytest.mark.parametrize("workloads", [(StorageLoad.WRITE,), None], ids=["writes alone", "no section"])
def test_a_sheet_without_loads_that_read_costs_nothing(
    connected: Run, programs: Programs, workloads: tuple[StorageLoad, ...] | None
) -> None:
    facts = None if workloads is None else StorageFacts(workloads=workloads, source="a document")
    connected.card = connected.card.model_copy(update={"iscsi": facts})
    with pytest.raises(NotApplicable, match=r"has no (load that reads|section iscsi)|no section iscsi"):
        measured(connected)
    assert not programs.plans
