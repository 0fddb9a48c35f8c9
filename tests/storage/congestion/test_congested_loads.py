"""Loads on a base and a congested SAN of a fake bench: content and counts decide; the switch may discard frames."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from accepted_runs import accept_day
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch
from fake_traffic import carry

from CongestedStorage import CongestedStorage
from niclab.bench.records import BenchPath, Role
from niclab.card import IscsiFacts, IscsiLoad
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames import delivery
from niclab.links import patch_panel
from niclab.run.run import Run
from niclab.storage.congestion import congested_loads
from niclab.storage.congestion.congested_answer import CongestedAnswer
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.iscsi_counts import IscsiCounts
from niclab.storage.iscsi_target import IscsiTarget
from niclab.storage.storage_figures import Binding

FACTS = IscsiFacts(workloads=tuple(IscsiLoad), source="a document")
COMMAND, VLAN = "cd /tmp/niclab.fake && load disks", 103
HERE = tuple(f"sd{letter}" for letter in "abcdefghijkl")
THERE = ("sdm", "sdn", "sdo", "sdp")
PLACES = {"dut.p0": "Gi1/0/3", "peer.p0": "Gi1/0/4", "peer.p1": "Gi1/0/2"}


class Programs:
    """The programs on the dut, whose operations pass the ports and the switch of a fake bench.

    ``resent``, ``discarded``, ``missed``: by each run on the congested SAN: segments that the peer sends again, frames
    that the switch discards, frames for which the dut's port has no room. ``strays``: data of the second port come
    through the first one.
    """

    def __init__(self, bench: FakeBench, switch: FakeSwitch) -> None:
        self.plans = list[dict[str, Any]]()
        self.read, self.written = Counter[str](), Counter[str]()
        self.sent = self.resent_until_now = self.ends = self.damaged = 0
        self.lasts_s = 1.0
        self.resent, self.discarded, self.missed, self.strays = 300, 300, 0, False
        self._bench, self._switch = bench, switch
        bench.ssh[Role.DUT].replies[COMMAND] = self._run

    def end(self) -> None:
        self.ends += 1

    def command(self, plan: dict[str, Any], _: int = 0) -> str:
        self.plans.append(plan)
        return COMMAND

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        self.plans.append(plan)
        return self._said(plan)

    def _said(self, plan: dict[str, Any]) -> dict[str, Any]:
        load = plan["load"]
        reads = {"fill": 0, "random": 136, "read": 16, "check": 80}[load]
        written = {"fill": 80, "random": 64, "read": 0, "check": 0}[load]
        size = 8192 if load == "random" else 262144
        names = [disk.removeprefix("/dev/") for disk in plan["disks"]]
        for name in names:
            self.read[name] += reads * size // len(names)
            self.written[name] += written * size // len(names)
        for name in names:
            source = "peer.p1" if name in THERE and not self.strays else "peer.p0"
            self._count(source, "ifHCInOctets", reads * size // len(names))
        said = {"reads": reads, "written": written, "bytes_read": reads * size, "bytes_written": written * size}
        times = {"elapsed_s": self.lasts_s, "silent_s": 0.1, "slowest_s": 0.2}
        return {**said, **times, "damaged": self.damaged, "failed": 0, "example": "block 7"}

    def _run(self, _: str) -> str:
        plan = self.plans[-1]
        said = self._said(plan)
        carry(self._bench, "198.18.10.1 --bind 198.18.10.2", size=round(1.05 * said["bytes_read"]), frames=3000)
        self.sent += 5000
        if "/dev/sdm" in plan["disks"]:
            self.resent_until_now += self.resent
            self._count("dut.p0", "ifOutDiscards", self.discarded)
            frames = self._bench.nic("dut.p0").frames
            frames["rx_missed_errors"] = frames.get("rx_missed_errors", 0) + self.missed
        return json.dumps(said)

    def _count(self, port: str, counter: str, gained: int) -> None:
        index = PORTS[PLACES[port]]
        before = self._switch.mib.value(counter, index)
        assert isinstance(before, int)
        self._switch.mib.put(counter, [index], before + gained)

    @staticmethod
    def said(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text)
        return found

    def look(self, _: Run, names: Sequence[str], volumes: Sequence[int]) -> IscsiCounts:
        assert len(names) == len(volumes)
        read, written = (sum(counts[name] for name in names) for counts in (self.read, self.written))
        return IscsiCounts(read, written, 0, read, written, 0, 0, self.resent_until_now, self.sent, self.sent)


@pytest.fixture
def connected(patched: Run, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Run:
    @contextmanager
    def laid(*_: object) -> Iterator[None]:
        yield

    patch_panel.connect(patched)
    monkeypatch.setattr(CongestedSan, "laid", laid)
    monkeypatch.setattr(congested_loads, "COUNTED_WITHIN_S", 0.0)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.loopback_bps", lambda *_: 1e9)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.pause", lambda _: None)
    bench.ssh[Role.DUT].replies["command -v"] = ""
    patched.card = patched.card.model_copy(update={"iscsi": FACTS, "pause": "unknown"})
    return patched


@pytest.fixture
def programs(connected: Run, bench: FakeBench, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> Programs:
    assert connected
    made = Programs(bench, switch)

    @contextmanager
    def offering(_: Run, path: BenchPath, volumes: range) -> Iterator[IscsiTarget]:
        yield IscsiTarget(f"iqn.a:{path.name}", "198.18.10.2", volumes)

    @contextmanager
    def attached(_: Run, path: BenchPath, target: IscsiTarget) -> Iterator[tuple[str, ...]]:
        found = {"a": HERE, "b": THERE}[path.name]
        assert len(found) == len(target.volumes)
        yield found

    for name, value in {"offering": offering, "attached": attached, "IscsiAgent": lambda _: made}.items():
        monkeypatch.setattr(congested_loads, name, value)
    monkeypatch.setattr("niclab.storage.iscsi_counts.look", made.look)
    return made


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


def test_a_san_that_nothing_fills_is_not_congested(connected: Run, programs: Programs) -> None:
    programs.discarded = programs.resent = 0
    answer = measured(connected)
    assert answer.loads[0].text.endswith("the switch's port was not full")
    with pytest.raises(Undecided, match=r"no load filled the switch's port to the dut.*expected a congested SAN"):
        judge(connected, answer)
    full = replace(answer.loads[0].congested.figures, wire_mbps=0.95 * answer.loads[0].line_mbps)
    load = replace(answer.loads[0], congested=replace(answer.loads[0].congested, figures=full))
    judge(connected, replace(answer, loads=(load, answer.loads[1])))


def test_data_that_come_through_one_port_alone_are_the_benchs_fault(connected: Run, programs: Programs) -> None:
    programs.strays = True
    answer = measured(connected)
    with pytest.raises(BenchFault, match=r"peer\.p1: 0 bytes came from it into the switch; expected the [0-9]+ read"):
        judge(connected, answer)


@pytest.mark.parametrize("silent", ["sda", "sdi", "sdm"], ids=["base", "first source", "second source"])
def test_counts_that_disagree_are_the_benchs_fault(
    connected: Run, programs: Programs, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    def look(run: Run, names: Sequence[str], volumes: Sequence[int]) -> IscsiCounts:
        found = programs.look(run, names, volumes)
        return replace(found, disk_read_bytes=0) if silent in names else found

    monkeypatch.setattr("niclab.storage.iscsi_counts.look", look)
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


@pytest.mark.parametrize("workloads", [(IscsiLoad.WRITE,), None], ids=["writes alone", "no section"])
def test_a_sheet_without_loads_that_read_costs_nothing(
    connected: Run, programs: Programs, workloads: tuple[IscsiLoad, ...] | None
) -> None:
    facts = None if workloads is None else IscsiFacts(workloads=workloads, source="a document")
    connected.card = connected.card.model_copy(update={"iscsi": facts})
    with pytest.raises(NotApplicable, match=r"has no (load that reads|section iscsi)|no section iscsi"):
        measured(connected)
    assert not programs.plans
