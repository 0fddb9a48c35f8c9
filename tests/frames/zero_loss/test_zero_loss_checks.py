"""Zero-loss rates of real frames between network namespaces, where cables lose some at one end or the other."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from paneled import Paneled

from niclab.bench.records import Role
from niclab.card import ZeroLossLimit
from niclab.core import figures
from niclab.core.decision import Decision
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion
from niclab.frames.frame_agents import FrameAgents
from niclab.frames.zero_loss import zero_loss_checks, zero_loss_search, zero_loss_trials
from niclab.frames.zero_loss.zero_loss_search import LossTrial
from niclab.hosts.counts.load_records import CpuTime, CpuTimes
from niclab.run.run_notes import RunNotes
from niclab.run.watching import standstill
from niclab.run.watching.standstill import Stood
from niclab.stats import measurements
from niclab.stats.measurements import Key
from niclab.stats.questions import Direction
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.limits.pcie_ceiling import Ceiling

WAYS = ("dut.p1 to peer.p1", "peer.p1 to dut.p1")
EVERY_TENTH = "drop"


class Bench:
    """The namespaces with a line of 4 Mbit/s. ``busy``: part of their CPU time between two looks that is work."""

    def __init__(self, paneled: Paneled, monkeypatch: pytest.MonkeyPatch, run_dir: Path) -> None:
        self.paneled, self.busy, self._ticks = paneled, 0.0, itertools.count(1)
        self.run: Any = paneled.run
        self.limits = SimpleNamespace(zero_loss=())
        monkeypatch.setattr(self.run, "card", SimpleNamespace(name="veth", errata=(), filters=None, limits=self.limits))
        monkeypatch.setattr(self.run, "notes", RunNotes(run_dir / "notes"))
        for server in paneled.servers.values():
            monkeypatch.setattr(server.host, "counts", SimpleNamespace(cpu_times=self._times), raising=False)
        monkeypatch.setattr(zero_loss_checks.MeasuredPath, "looked_at", self._looked_at)
        monkeypatch.setattr(zero_loss_checks.endpoints, "ends", self._ends)
        monkeypatch.setattr(zero_loss_search, "SHORT_S", 0.1)
        monkeypatch.setattr(zero_loss_search, "LONG_S", 0.2)
        monkeypatch.setattr(zero_loss_checks, "PROOF_S", 0.3)
        monkeypatch.setattr(zero_loss_search, "STEP", 4.0)
        monkeypatch.setattr(zero_loss_trials, "FIRST", 100)
        monkeypatch.setattr(zero_loss_checks, "SIZES", (64,))
        monkeypatch.setattr(self.run, "run_dir", run_dir, raising=False)
        self.path: Any = self.run.bench.paths[1]
        self.path.rate_scale = 1
        self.before = tuple[Before, ...]()

    def _looked_at(self, run: Any, path: object, ends: Any) -> Any:
        words = dict.fromkeys(Key.model_fields, "x") | {"card": "veth", "parameters": {"sender": ends.from_port.name}}
        return SimpleNamespace(
            run=run, path=path, ends=ends, rate_mbps=4.0, key=lambda _: Key(**words), before=self.before
        )

    def _ends(self, _: object, path: Any, sender: Role) -> Any:
        port = self.run.bench.end(path, sender)
        partner = self.run.bench.partner(port)
        return SimpleNamespace(name=f"{port.name} to {partner.name}", from_port=port, to_port=partner)

    def _times(self) -> CpuTimes:
        worked = 0 if not self.busy else 1_000_000_000
        tick = next(self._ticks)
        return CpuTimes({0: CpuTime(worked * tick, 0, 0, tick, 0, 0, 0, 0)})

    def wants(self, frame_bytes: int, per_s: int) -> None:
        self.limits.zero_loss = (ZeroLossLimit(frame_bytes=frame_bytes, frames_per_s=per_s, source="the datasheet"),)

    def judge(self) -> list[figures.NotedFigure]:
        zero_loss_checks.judge(self.run, self.path, str)
        return self.run.notes.take_figures()  # type: ignore[no-any-return]


@pytest.fixture
def bench(paneled: Paneled, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    monkeypatch.setattr(paneled.run.bench.paths[1], "rate_scale", 1, raising=False)
    return Bench(paneled, monkeypatch, tmp_path)


def counted_as(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    """Change what a server that receives says."""
    plain = FrameAgents.exchange

    def exchanged(agents: FrameAgents, plan: Any, meanwhile: Any = None) -> Any:
        answers = dict(plain(agents, plan, meanwhile))
        receiver = plan.streams[0].receiver
        if "backlog" in changes:
            answers[receiver.role] = replace(answers[receiver.role], backlog=changes["backlog"])
        else:
            look = answers[receiver.role].ports["p1"]
            after = {**look.after, **{name: look.before[name] + count for name, count in changes.items()}}  # type: ignore[operator]
            ports = {**answers[receiver.role].ports, "p1": look.model_copy(update={"after": after})}
            answers[receiver.role] = replace(answers[receiver.role], ports=ports)
        return answers

    monkeypatch.setattr(FrameAgents, "exchange", exchanged)


def test_a_sound_card_has_a_rate_of_each_size_in_each_direction(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zero_loss_checks, "SIZES", (64, 1518))
    asked = dict[int, float]()
    plain = FrameAgents.exchange

    def exchanged(agents: FrameAgents, plan: Any, meanwhile: Any = None) -> Any:
        (stream,) = plan.streams
        asked.setdefault(stream.sizes[0], stream.per_s)
        return plain(agents, plan, meanwhile)

    monkeypatch.setattr(FrameAgents, "exchange", exchanged)
    found = bench.judge()
    wanted = [f"{way}: zero-loss rate of frames of {size} bytes" for way in WAYS for size in (64, 1518)]
    assert [each.subject for each in found] == wanted
    for each in found:
        assert each.value and each.expected == "no limit: recorded" and each.at_least is None and each.runs == 3
        assert "lost in 3 trials, so that fewer than 1 in" in each.found and each.outcome is Decision.MET
    assert asked[1514] == pytest.approx(4e6 / 8 / 1538), "the first rate is that of the line"
    assert found[1].value is not None and found[1].value < 1.1 * asked[1514]
    assert bench.paneled.commands == []


@pytest.mark.parametrize(
    ("place", "verdict", "way"),
    [
        ("to dut.p1", CardFailure, WAYS[1]),
        ("from dut.p1", CardFailure, WAYS[0]),
        ("to peer.p1", BenchFault, WAYS[0]),
        ("from peer.p1", BenchFault, WAYS[1]),
    ],
)
def test_a_port_that_loses_frames_at_each_rate_is_charged(
    bench: Bench, place: str, verdict: type[Exception], way: str
) -> None:
    bench.paneled.spoil(EVERY_TENTH, place)
    with pytest.raises(verdict, match=rf"^{way}: frames of 64 bytes: \d+ of \d+ frames arrived at "):
        bench.judge()
    assert bench.paneled.commands == ["to the switch", "back"]


def test_frames_that_the_port_of_the_dut_counts_are_the_cards(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.paneled.spoil(EVERY_TENTH, "to dut.p1")
    counted_as(monkeypatch, rx_missed_errors=100_000)
    with pytest.raises(CardFailure, match=rf"^{WAYS[1]}: .*counted by dut\.p1 as 100000 rx_missed_errors"):
        bench.judge()
    assert bench.paneled.commands == []


def test_a_receiver_without_cpu_time_excuses_the_card(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.paneled.spoil(EVERY_TENTH, "to dut.p1")
    counted_as(monkeypatch, rx_missed_errors=100_000)
    bench.busy = 1.0
    with pytest.raises(Undecided, match=rf"^{WAYS[1]}: (?s:.*)dut: a CPU had no time left while the frames came"):
        bench.judge()


def test_a_full_backlog_excuses_the_card(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.paneled.spoil(EVERY_TENTH, "to dut.p1")
    counted_as(monkeypatch, backlog=7)
    with pytest.raises(Undecided, match=r"dut: 7 frames found a full backlog of a CPU \(softnet_stat\)"):
        bench.judge()


def test_a_card_that_damages_frames_is_no_matter_of_rates(bench: Bench) -> None:
    bench.paneled.spoil("flip", "from dut.p1")
    with pytest.raises(CardFailure, match=rf"^{WAYS[0]}: frames of 64 bytes: \d+ of \d+ frames arrived damaged"):
        bench.judge()


@pytest.mark.parametrize(
    ("sender", "frames", "refused", "verdict"),
    [
        (Role.DUT, 0, "EIO: Input/output error", CardFailure),
        (Role.DUT, 7, "EIO: Input/output error", CardFailure),
        (Role.PEER, 0, "EIO: Input/output error", BenchFault),
        (Role.DUT, 0, "", Undecided),
    ],
)
def test_frames_that_could_not_be_sent_prove_no_rate(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, sender: Role, frames: int, refused: str, verdict: type[Exception]
) -> None:
    """None of them is lost."""
    plain = FrameAgents.exchange

    def exchanged(agents: FrameAgents, plan: Any, meanwhile: Any = None) -> Any:
        (stream,) = plan.streams
        if stream.sender.role is not sender:
            return plain(agents, plan, meanwhile)
        shorter = replace(plan, streams=(replace(stream, count=max(1, frames)),))
        answers = dict(plain(agents, shorter, meanwhile))
        changes = {"refused": refused} | ({} if frames else {"frames": 0, "bytes": 0, "seconds": 0.0})
        sent = {flow: each.model_copy(update=changes) for flow, each in answers[sender].sent.items()}
        answers[sender] = replace(answers[sender], sent=sent)
        if not frames:
            answers[stream.receiver.role] = replace(answers[stream.receiver.role], arrived={})
        return answers

    monkeypatch.setattr(FrameAgents, "exchange", exchanged)
    why = refused or "its time was over"
    with pytest.raises(verdict, match=rf"frames of 64 bytes: {frames} of \d+ frames could be sent \({why}\)"):
        bench.judge()


class Standing:
    """A watch whose servers stand still in each of the first looks."""

    def __init__(self, times: int) -> None:
        self.times = times

    def told(self) -> int:
        self.times -= 1
        return self.times

    def between(self, _: int, after: int) -> tuple[Stood, ...]:
        return (Stood("peer", 300),) if after >= 0 else ()


@pytest.mark.parametrize("forever", [False, True])
def test_a_server_that_stands_still_is_no_loss_of_the_card(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, forever: bool
) -> None:
    """The loss ends with the standstill, or both last."""
    standing = Standing(10_000 if forever else 3)
    monkeypatch.setattr(standstill, "watch", lambda *_: standing)
    plain, said = zero_loss_trials.ZeroLossTrials._carried, list[str]()

    def carried(trials: Any, stream: Any) -> LossTrial:
        bench.paneled.spoil(*((EVERY_TENTH, "from dut.p1") if standing.times > 0 else ("",)))
        return plain(trials, stream)

    monkeypatch.setattr(zero_loss_trials.ZeroLossTrials, "_carried", carried)
    if forever:
        with pytest.raises(Undecided, match=r"lost, peer stood still for 300 ms; expected one of 5 trials in which"):
            bench.judge()
    else:
        zero_loss_checks.judge(bench.run, bench.path, said.append)
        assert len(bench.run.notes.take_figures()) == 2 and "again, as peer stood still for 300 ms" in said


class Found:
    """A search that has ended, and a card at the rate of the sheet."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        found_per_s: float,
        at_sheet: LossTrial,
        loses: Culprit = Culprit.TOOL,
    ) -> None:
        self.asked = list[float]()
        lossy = LossTrial(2 * found_per_s, 1000, 9, (finding(loses),))
        rate = zero_loss_search.ZeroLossRate(3 * (LossTrial(found_per_s, 100_000),), lossy, 10.0)
        monkeypatch.setattr(zero_loss_checks, "search", lambda *_: rate)

        def at(_: object, per_s: float, __: float) -> LossTrial:
            self.asked.append(per_s)
            return at_sheet

        monkeypatch.setattr(zero_loss_trials.ZeroLossTrials, "at", at)


def finding(culprit: Culprit, suspicion: Suspicion | None = None) -> FrameFinding:
    return FrameFinding(FrameDifference.LOST, culprit, "lost", suspicion)


def test_the_rate_of_the_sheet_is_met(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.wants(512, 5000)
    found = Found(monkeypatch, 6000, LossTrial(0, 0))
    noted = bench.judge()
    assert [each.subject.rpartition(" of ")[2] for each in noted] == 2 * ["64 bytes", "512 bytes"]
    assert (noted[1].at_least, noted[1].source, noted[0].at_least) == (5000, "the datasheet", None)
    assert found.asked == []


@pytest.mark.parametrize(
    ("at_sheet", "verdict"),
    [
        (LossTrial(5000, 1000), None),
        (LossTrial(4000, 1000), Undecided),
        (LossTrial(5000, 1000, 9, (finding(Culprit.CARD),)), CardFailure),
        (LossTrial(5000, 1000, 9, (finding(Culprit.PEER),)), BenchFault),
        (LossTrial(5000, 1000, 9, (finding(Culprit.TOOL),)), Undecided),
        (LossTrial(5000, 1000, 9, (finding(Culprit.CARD),), ("no CPU",)), Undecided),
    ],
)
def test_a_rate_below_that_of_the_sheet_is_tried_at_it(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, at_sheet: LossTrial, verdict: type[Exception] | None
) -> None:
    """A search may end too low by chance; one that the sender cannot send proves nothing."""
    bench.wants(64, 5000)
    found = Found(monkeypatch, 3000, at_sheet)
    if verdict is None:
        assert bench.judge()[0].value == 5000
    else:
        with pytest.raises(verdict):
            bench.judge()
    assert found.asked[0] == 5000


@pytest.mark.parametrize(("carries_bps", "verdict"), [(2.3e6, BenchFault), (2.5e6, CardFailure)])
def test_a_bus_of_the_bench_that_carries_less_than_the_sheet_wants_is_not_the_cards_fault(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, carries_bps: float, verdict: type[Exception]
) -> None:
    """5000 frames of 60 bytes without FCS are 2.4 Mbit/s: a card whose bus carries less has to drop some."""
    bench.wants(64, 5000)
    bench.before = (Before("dut.p1", None, Ceiling(carries_bps, "so much over PCI"), 1e9, 0.1, 0.0),)
    Found(monkeypatch, 3000, LossTrial(5000, 1000, 9, (finding(Culprit.CARD),)))
    with pytest.raises(
        verdict, match="carries at most so much over PCI; .* zero-loss" if verdict is BenchFault else ""
    ):
        bench.judge()


def test_a_sender_that_stood_still_in_its_first_frames_shortens_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    """1000 frames in a third of a second, and then 100 000 a second: 45 s at 50 000 are 2.25 million frames."""
    counts, paces = list[int](), iter((3000.0, 100_000.0, 50_000.0))

    def made(_: object, count: int, per_s: float) -> LossTrial:
        counts.append(count)
        return LossTrial(min(next(paces), per_s), count)

    monkeypatch.setattr(zero_loss_trials.ZeroLossTrials, "_made", made)
    trials = zero_loss_trials.ZeroLossTrials(None, None, str)  # type: ignore[arg-type]
    trials.at(200_000, 2)
    assert trials.at(50_000, 45).sent == counts[-1] == 2_250_000


def test_the_scale_of_the_path_holds_for_the_sheet(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.wants(64, 5000)
    bench.path.rate_scale = 10
    Found(monkeypatch, 600, LossTrial(0, 0))
    assert bench.judge()[0].at_least == 500


@pytest.mark.parametrize(
    ("lossy", "is_the_cards"),
    [
        (LossTrial(9, 9, 1, (finding(Culprit.CARD),)), True),
        (LossTrial(9, 9, 1, (finding(Culprit.CARD),), ("no CPU",)), False),
        (LossTrial(9, 9, 1, (finding(Culprit.CARD), finding(Culprit.PEER))), False),
        (LossTrial(9, 9, 1, (finding(Culprit.CARD, Suspicion(None, (), 1)),)), False),  # type: ignore[arg-type]
        (LossTrial(9, 9, 1), False),
    ],
)
def test_only_counters_prove_that_the_card_holds_a_rate_back(lossy: LossTrial, is_the_cards: bool) -> None:
    assert zero_loss_trials.is_of_the_card(lossy) is is_the_cards


def accepted(monkeypatch: pytest.MonkeyPatch, per_s: float) -> None:
    days = [SimpleNamespace(samples=(per_s, 1.001 * per_s, 0.999 * per_s))]
    kept: Any = SimpleNamespace(days=days, better=Direction.HIGHER, source="baseline of run 1")
    monkeypatch.setattr(zero_loss_checks.Against, "stored", lambda _, __, plan: Against(kept, "", plan))


@pytest.mark.parametrize(
    ("before", "loses", "is_red"),
    [(6000, Culprit.CARD, True), (3100, Culprit.CARD, False), (6000, Culprit.TOOL, False)],
)
def test_a_rate_that_the_card_holds_back_is_compared_with_accepted_runs(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, before: float, loses: Culprit, is_red: bool
) -> None:
    """A rate that the receiver or the sender holds back says nothing of the card."""
    accepted(monkeypatch, before)
    Found(monkeypatch, 3000, LossTrial(0, 0), loses)
    if is_red:
        with pytest.raises(CardFailure, match=rf"^{WAYS[0]}: zero-loss rate of frames of 64 bytes, baseline: -50"):
            bench.judge()
    else:
        bench.judge()
    kept = measurements.read(bench.run.run_dir) if loses is Culprit.CARD else ()
    assert [each.samples for each in kept] == 2 * (loses is Culprit.CARD) * [3 * (3000.0,)]


@pytest.mark.parametrize(("per_s", "shortest_ms"), [(1e6, 150), (1000, 200), (10, 250)])
def test_a_standstill_that_fills_a_ring_excuses_a_loss(per_s: float, shortest_ms: int) -> None:
    assert zero_loss_trials._standstill_ms(per_s) == shortest_ms


def test_a_size_that_cannot_be_judged_hides_no_failure_of_another(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dut loses what comes in; nobody knows about what goes out."""
    bench.paneled.spoil(EVERY_TENTH, "to dut.p1")
    found = zero_loss_checks.search

    def searched(trial_at: Any, line_per_s: float) -> Any:
        if trial_at.__self__._stream.sender.name == "dut.p1":
            raise Undecided("a server stood still")
        return found(trial_at, line_per_s)

    monkeypatch.setattr(zero_loss_checks, "search", searched)
    with pytest.raises(CardFailure, match=rf"^{WAYS[1]}: frames of 64 bytes"):
        bench.judge()
