"""The effects of settings against the sheet: as predicted is green, not so is red, and all is put back."""

from __future__ import annotations

import copy
import itertools
import logging
import sys
from dataclasses import replace
from itertools import cycle
from typing import Any

import fake_settings
import pytest
from fake_bench import FakeBench
from fake_parts import FakeJob, FakeSsh
from fake_settings import with_sheet
from measured_states import MORE, States
from robot.api import logger

from Effects import Effects
from niclab.bench.records import BenchPath, DeclaredDeviation, OperatingSystem, Role, SiliconFact
from niclab.card import Sequence as Steps
from niclab.card import Step
from niclab.card.effects import Prediction
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.report.evidence.evidence import read_index
from niclab.report.evidence.runfolder import finish_run, new_run
from niclab.run import program
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.stats import baselines, measurements
from niclab.stats.baselines import BaselineStore
from niclab.traffic.effects import effect
from niclab.traffic.effects.effect import EffectAnswer
from niclab.traffic.effects.variants import Variants
from niclab.traffic.limits import bottleneck, receive_window
from niclab.traffic.runs import measuring
from niclab.transports.ssh.ssh import Result

QUICK = Profile.QUICK


@pytest.fixture
def states(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> States:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    monkeypatch.setattr(mtu, "LINKS_WITHIN_S", 0.2)
    bench.sheet.write_text(bench.sheet.read_text().replace("errata: []\n", ""))
    with_sheet(bench, taken, more=MORE)
    return States(bench)


def ask(name: str) -> None:
    Effects().effect_should_be_as_on_the_sheet(name, QUICK)


def test_an_effect_as_predicted_is_green_and_put_back(states: States, taken: Run) -> None:
    before = {role: copy.deepcopy(vars(each.ports["enp1s0"])) for role, each in states.settings.items()}
    states.rate = lambda _: 47.0 if states.tso() else 30.1
    ask("tso-off")
    after = {role: vars(each.ports["enp1s0"]) for role, each in states.settings.items()}
    assert {role: port["features"] for role, port in after.items()} == {
        role: port["features"] for role, port in before.items()
    }
    assert not taken.journal.pending() or all("tso4" not in entry.what for entry in taken.journal.pending())
    kinds = [entry.file.rsplit(".", 1)[-1] for entry in read_index(taken.evidence_folder)]
    assert kinds == ["svg", "csv", "json"]
    assert {"--bind 198.18.10.1" in command for command in states.commands} == {True}


@pytest.mark.parametrize("rate", [47.0, 20.0])
def test_an_effect_that_does_not_show_is_the_cards(states: States, rate: float) -> None:
    states.rate = lambda _: 47.0 if states.tso() else rate
    with pytest.raises(CardFailure) as caught:
        ask("tso-off")
    message = str(caught.value)
    assert message.startswith("dut.p0 to peer.p0, tso-off: ")
    assert "expected 0.64 times as much within 10 % (sheet intel-82574l, tso-off): missed" in message
    assert states.tso(), "put back all the same"


def test_an_effect_at_the_edge_is_undecided(states: States) -> None:
    states.rate = lambda _: 47.0 if states.tso() else 47.0 * 0.576
    with pytest.raises(Undecided, match=r"the budget of 8 pairs is spent$"):
        ask("tso-off")


def test_a_missed_effect_on_a_bench_without_free_cpu_is_the_benchs(bench: FakeBench, states: States) -> None:
    bench.dut.busy_ticks = 99
    with pytest.raises(BenchFault, match=r"tso-off: .*missed; the bench may be why: dut\.p0: "):
        ask("tso-off")
    assert states.commands


def test_what_nobody_knows_is_measured_and_not_applicable(states: States, taken: Run) -> None:
    seen: set[str] = set()

    def rate(_: str) -> float:
        seen.add(states.sysctls[Role.DUT]["net.ipv4.tcp_window_scaling"])
        return 47.0

    states.rate = rate
    with pytest.raises(NotApplicable, match=r"any change: the round trip decides.*: not judged$"):
        ask("nobody-knows")
    assert seen == {"0", "1"}
    assert {known["net.ipv4.tcp_window_scaling"] for known in states.sysctls.values()} == {"1"}
    assert read_index(taken.evidence_folder)


@pytest.mark.parametrize(("rate", "words"), [(20.0, "met"), (47.0, "missed"), (2.0, "missed")])
def test_a_window_is_judged_by_the_round_trip(
    states: States, monkeypatch: pytest.MonkeyPatch, rate: float, words: str
) -> None:
    """40 round trips a second of 65535 bytes: at most 21 of 50 Mbit/s, and at least a third of that."""
    monkeypatch.setattr(receive_window.round_trips, "per_second", lambda *_: 40.0)
    states.rate = lambda _: rate if states.sysctls[Role.DUT]["net.ipv4.tcp_window_scaling"] == "0" else 47.0
    if words == "met":
        ask("window")
        return
    with pytest.raises(CardFailure, match=r"65535 bytes each round trip of 25 ms are at most 20\.97 of 50 Mbit/s"):
        ask("window")


@pytest.mark.parametrize(("rate", "fails"), [(30.0, False), (20.0, False), (40.0, True)])
def test_a_factor_that_must_not_gain(states: States, monkeypatch: pytest.MonkeyPatch, rate: float, fails: bool) -> None:
    states.sysctls[Role.DUT]["net.ipv4.tcp_low_latency"] = states.sysctls[Role.PEER]["net.ipv4.tcp_low_latency"] = "0"
    for host in states.bench.hosts.values():
        monkeypatch.setattr(host, "kernel", lambda: "2.6.32-279.el6.x86_64")
    states.rate = lambda _: rate if states.sysctls[Role.DUT]["net.ipv4.tcp_low_latency"] == "1" else 30.0
    if not fails:
        ask("low-latency")
        return
    with pytest.raises(CardFailure, match="expected at most 10 % more"):
        ask("low-latency")


def test_a_sysctl_that_the_kernel_no_longer_heeds_is_not_applicable(states: States) -> None:
    for known in states.sysctls.values():
        known["net.ipv4.tcp_low_latency"] = "0"
    with pytest.raises(NotApplicable, match=r"tcp_low_latency has no effect since Linux 4\.14, the kernel is 6\.1"):
        ask("low-latency")


def test_a_sysctl_that_does_not_stay_is_a_bench_fault(states: States) -> None:
    states.deaf.add("net.ipv4.tcp_window_scaling")
    with pytest.raises(BenchFault, match=r"^dut: sysctl net\.ipv4\.tcp_window_scaling is '1' when set to '0'"):
        ask("nobody-knows")


def test_an_offload_that_cannot_be_switched_is_not_applicable(states: States) -> None:
    with pytest.raises(NotApplicable, match=r"^fixed: sheet intel-82574l does not say that offload vlan-strip can be"):
        ask("fixed")
    assert len(states.commands) == 1, "only the warm-up of the other arm"


def test_an_offload_that_is_stuck_is_the_cards(states: States) -> None:
    states.settings[Role.DUT].faults.add("tx-tcp-segmentation stuck")
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(.*\): offload tso4 off at the sender was set, it shows True"):
        ask("tso-off")


def test_a_way_out_that_fails_replaces_no_failure(states: States, monkeypatch: pytest.MonkeyPatch) -> None:
    """The links of a wrong card may stay down when its settings are put back."""
    states.settings[Role.DUT].faults.add("tx-tcp-segmentation stuck")
    close = Variants.close

    def closed(self: Variants) -> None:
        close(self)
        if sys.exception() is not None:
            raise BenchFault("dut.p0: no link")

    monkeypatch.setattr(Variants, "close", closed)
    with pytest.raises(CardFailure, match="was set, it shows True") as caught:
        ask("tso-off")
    assert caught.value.__notes__ == ["dut.p0: no link"]


def test_an_offload_is_switched_by_the_words_of_the_duts_system(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, states: States
) -> None:
    row = "freebsd: {label: TSO4, bit: 8, set_words: [tso4, tso], default: true, change: both}"
    bench.edit(bench.sheet, ("    - name: gro\n", f"      {row}\n    - name: gro\n"))
    taken.card = bench.load()[1]
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    monkeypatch.setitem(fake_settings.WORDS, "tso4", "TSO4")
    port = states.settings[Role.DUT].ports["enp1s0"]
    port.features["TSO4"] = fake_settings.ON
    states.rate = lambda _: 47.0 if states.settings[Role.DUT].ports["enp1s0"].features["TSO4"].on else 30.1
    ask("tso-off")
    assert "tso4 False" in states.settings[Role.DUT].told
    assert states.settings[Role.DUT].ports["enp1s0"].features["TSO4"].on, "put back"
    with pytest.raises(NotApplicable, match="has no offload vlan-strip that can be switched on freebsd"):
        ask("fixed")


def test_unsafe_checksums_are_warned_of_once(states: States, caplog: pytest.LogCaptureFixture) -> None:
    states.rate = lambda _: 40.0
    ask("sums-off")
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == ["dut.p0 (0000:01:00.0): offload tx-checksum goes off: Sums stay on. (test)"]


def test_an_effect_that_the_emulated_card_cannot_show_is_its_declared_deviation(states: States, taken: Run) -> None:
    facts = {"card": "intel-82574l", "fact": SiliconFact.CHECKSUM_WORK, "how": "it sums by itself", "source": "test"}
    declared = DeclaredDeviation(**facts)  # type: ignore[arg-type]
    taken.bench = taken.bench.model_copy(update={"deviations": (declared,)})
    with pytest.raises(Deviation, match=r"sums-off-cpu: .*costs the server nothing.*: it sums by itself \(test\)"):
        ask("sums-off-cpu")
    assert not states.commands
    ask("sums-off")


@pytest.mark.parametrize(("slow", "verdict"), [(47.0, None), (31.0, CardFailure)])
def test_the_mtu_erratum_is_seen_where_the_card_has_it(
    states: States, slow: float, verdict: type[Exception] | None
) -> None:
    states.rate = lambda _: 47.0 if states.was_bounced else slow
    if verdict is None:
        ask("in-flight")
    else:
        with pytest.raises(verdict, match=r"dut\.p0 to peer\.p0, in-flight: -34"):
            ask("in-flight")
    assert {port.mtu for each in states.settings.values() for port in each.ports.values()} == {1500}


def test_a_card_that_refuses_the_mtu_of_its_sheet_fails(states: States) -> None:
    states.settings[Role.DUT].faults.add("small frames")
    with pytest.raises(CardFailure, match=r"MTU is 1500 when set to 9000 \(mtu out of range\)"):
        ask("in-flight")


def test_a_processor_that_is_not_there_is_not_applicable(states: States) -> None:
    with pytest.raises(NotApplicable, match="has no processor 9 to bind the traffic to"):
        ask("processor-9")
    assert not states.commands


@pytest.fixture
def trips(bench: FakeBench, states: States, monkeypatch: pytest.MonkeyPatch) -> dict[int, str]:
    """The output of the program for round trips, by rx-usecs of the receiver."""
    texts = {18: "trips 16000\nseconds 2.0\nend\n", 50: "trips 20020\nseconds 2.0\nend\n"}
    figures = cycle((1.0, 1.001, 0.999))
    monkeypatch.setattr(program, "BEGINS_WITHIN_S", 0.1)

    def ask_for_trips(_: str) -> str:
        now = states.settings[Role.PEER].ports["enp1s0"].coalescing["rx-usecs"]
        text = texts[now or 0]
        return text.replace("seconds 2.0", f"seconds {2 * next(figures):.4f}")

    for ssh in bench.ssh.values():
        ssh.replies |= {"mktemp": "/tmp/niclab.fake\n", "rm -rf": "", "exec python3": ask_for_trips}
        ssh.put_text = lambda *_: None  # type: ignore[attr-defined]

        def start(command: str, *, limit_s: float, mark: str, ssh: FakeSsh = ssh) -> FakeJob:
            assert limit_s > 0 and mark
            job = FakeJob(command, ssh)
            job.said = "ready\n"
            return job

        ssh.start = start  # type: ignore[assignment, method-assign]
    return texts


def test_latency_follows_coalescing_with_a_program_of_ours(states: States, trips: dict[int, str]) -> None:
    assert trips
    ask("latency")
    assert not states.commands
    assert states.settings[Role.PEER].ports["enp1s0"].coalescing["rx-usecs"] == 18


def test_coalescing_that_is_stored_and_not_done_is_red(states: States, trips: dict[int, str]) -> None:
    trips[50] = trips[18]
    with pytest.raises(
        CardFailure, match=r"latency: [+-]0\.\d+ % change from baseline, .*expected 1\.25 times as much within 10 %"
    ):
        ask("latency")
    assert states


@pytest.mark.parametrize("role", list(Role))
def test_round_trips_in_which_a_server_stood_still_are_made_again(
    states: States, trips: dict[int, str], role: Role
) -> None:
    """Half of 40 round trips a second would predict at most 10.5 Mbit/s of a card that rightly carries 20."""
    answers = ["trips 40\nseconds 2.0\nend\n", "trips 80\nseconds 2.0\nend\n"]

    def ask_for_trips(_: str) -> str:
        states.bench.ssh[role].stood += "stood 1000\n" if len(answers) == 2 else ""
        return answers.pop(0)

    assert trips
    states.bench.ssh[Role.DUT].replies["exec python3"] = ask_for_trips
    states.rate = lambda _: 20.0 if states.sysctls[Role.DUT]["net.ipv4.tcp_window_scaling"] == "0" else 47.0
    ask("window")
    assert not answers


def test_a_server_that_always_stands_still_makes_no_round_trips(states: States, trips: dict[int, str]) -> None:
    def ask_for_trips(_: str) -> str:
        states.bench.ssh[Role.PEER].stood += "stood 300\n"
        return "trips 40\nseconds 2.0\nend\n"

    assert trips
    states.bench.ssh[Role.DUT].replies["exec python3"] = ask_for_trips
    with pytest.raises(
        Undecided, match=r"^dut\.p0 to peer\.p0, round trips: 9 runs in a row prove nothing: 20 a second"
    ):
        ask("window")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trips 0\nseconds 2.0\nend\n", "worthless result: 0 round trips in"),
        ("trips 80\nseconds 2.0\n", "expected trips, seconds, end"),
    ],
)
def test_round_trips_that_prove_nothing_are_a_bench_fault(
    states: States, trips: dict[int, str], text: str, words: str
) -> None:
    trips[18] = trips[50] = text
    with pytest.raises(BenchFault, match=f"^dut: round trips: .*{words}"):
        ask("latency")
    assert states


def test_an_unknown_name_is_a_bench_fault(states: States) -> None:
    with pytest.raises(BenchFault, match=r"effect 'tso-on' is not on sheet intel-82574l; expected every, tso-off,"):
        ask("tso-on")
    assert not states.commands


def test_a_sheet_without_effects_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    assert bench and taken
    with pytest.raises(NotApplicable, match="predicts no effects"):
        ask("every")
    with pytest.raises(NotApplicable, match="says nothing about sequence"):
        Effects().each_factor_alone_should_change_what_the_sheet_predicts(QUICK)


def test_the_sequence_is_told_in_percent_of_its_baseline(states: States, taken: Run) -> None:
    states.rate = lambda _: 49.5 if states.mtu() == 9000 else 47.0
    Effects().each_factor_alone_should_change_what_the_sheet_predicts(QUICK)
    (table,) = [entry for entry in read_index(taken.evidence_folder) if entry.file.endswith(".csv")]
    rows = (taken.evidence_folder / table.file).read_text().splitlines()
    assert [row.split(",")[0] for row in rows] == ["setting", "default", "reno"]
    assert rows[1].endswith(",met") and rows[2].endswith(",not judged")


def test_a_step_that_the_system_has_not_leaves_the_others_judged(
    states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(logger, "info", lambda text, **_: said.append(text))
    for ssh in states.bench.ssh.values():
        ssh.replies = {"sysctl -n net.ipv4.tcp_congestion_control": Result("", 255, None, "", "unknown key", 0.1)} | (
            ssh.replies
        )
    states.rate = lambda _: 49.5 if states.mtu() == 9000 else 47.0
    Effects().each_factor_alone_should_change_what_the_sheet_predicts(QUICK)
    assert any(line.startswith("not applicable: reno: dut: linux has no sysctl net.ipv4") for line in said)


def test_a_step_that_cannot_be_decided_hides_no_failure_of_another(
    states: States, monkeypatch: pytest.MonkeyPatch
) -> None:
    states.rate = lambda _: 49.5
    ask_one = effect.ask_step

    def ask_step(run: Run, path: BenchPath, sequence: Steps, step: Step, *others: Any) -> EffectAnswer:
        if step.name == "reno":
            raise Undecided("reno: 0 pairs made when the time was spent")
        return ask_one(run, path, sequence, step, *others)

    monkeypatch.setattr(effect, "ask_step", ask_step)
    with pytest.raises(CardFailure, match=r"(?s)^dut\.p0 to peer\.p0, default: .*: missed\nreno: 0 pairs made"):
        Effects().each_factor_alone_should_change_what_the_sheet_predicts(QUICK)


def test_a_step_that_is_not_as_predicted_is_named(states: States) -> None:
    states.rate = lambda _: 49.5
    with pytest.raises(
        CardFailure, match=r"^dut\.p0 to peer\.p0, default: [+-]0\.\d+ % change from baseline, .*: missed$"
    ):
        Effects().each_factor_alone_should_change_what_the_sheet_predicts(QUICK)


@pytest.mark.parametrize(("with_it", "met"), [(47.0, True), (44.0, True), (4.7, False), (60.0, False)])
def test_what_should_change_little_may_neither_lose_nor_gain_much(with_it: float, met: bool) -> None:
    wanted = Prediction(loses_at_most_percent=10, gains_at_most_percent=10)
    assert wanted.allows(with_it / 47) is met
    expected, change = effect.expectation_of(wanted, "test"), 100 * (with_it / 47 - 1)
    assert (expected.decide(change - 0.1, change + 0.1) is Decision.MET) is met
    assert expected.text == "at most 10 % less and 10 % more (test)"


def test_cpu_is_told_for_each_gigabit(states: States, taken: Run) -> None:
    assert states
    order = effect.order_of(taken, taken.card.effects[0], 1)
    found = measuring.measure(taken, taken.bench.paths[0], Role.DUT, order, line_mbps=50)
    busy_s = 0.1 * found.receiver.seconds
    assert effect.cpu_s_per_gbit(found.receiver, found) == pytest.approx(busy_s / 48)


class TestTriage:
    """Both arms are kept, and compared with what was accepted for them."""

    @pytest.fixture
    def accepted(self, states: States, taken: Run) -> States:
        """Accepted: 47 Mbit/s with segmentation, 30.1 without."""
        states.rate = lambda _: 47.0 if states.tso() else 30.1
        ask("tso-off")
        earlier = new_run(taken.run_dir.parent / "earlier", "intel-82574l", "virtual", repository=taken.run_dir.parent)
        for each in measurements.read(taken.run_dir):
            measurements.add(earlier, each)
        finish_run(earlier, 0)
        BaselineStore(taken.run_dir.parent / baselines.FOLDER).accept(earlier)
        (taken.run_dir / measurements.FILE).unlink()
        return states

    def test_both_arms_are_kept_with_their_settings(self, states: States, taken: Run) -> None:
        states.rate = lambda _: 47.0 if states.tso() else 30.1
        ask("tso-off")
        kept = measurements.read(taken.run_dir)
        assert [(each.key.parameters["arm"], each.key.parameters["settings"]) for each in kept] == [
            ("without", "as delivered"),
            ("with", "offload tso4 off at the sender"),
        ]
        assert [round(each.samples[0]) for each in kept] == [47, 30]

    def test_both_slower_than_before_is_red_though_the_effect_shows(self, accepted: States) -> None:
        accepted.rate = lambda _: 40.0 if accepted.tso() else 25.6
        with pytest.raises(CardFailure) as caught:
            ask("tso-off")
        lines = str(caught.value).splitlines()
        assert [line.split(": ")[0] for line in lines] == [
            "dut.p0 to peer.p0, tso-off, without it, baseline",
            "dut.p0 to peer.p0, tso-off, with it, baseline",
        ]

    def test_runs_of_which_more_were_discarded_than_counted_prove_neither_worse(
        self, bench: FakeBench, accepted: States
    ) -> None:
        made = itertools.count()

        def rate(_: str) -> float:
            bench.ssh[Role.PEER].stood += "stood 700\n" if next(made) % 3 else ""
            return 40.0 if accepted.tso() else 25.6

        accepted.rate = rate
        with pytest.raises(Undecided, match="expected no more discarded than counted"):
            ask("tso-off")

    def test_other_releases_are_a_hint(
        self, bench: FakeBench, accepted: States, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said: list[str] = []
        monkeypatch.setattr(logger, "info", lambda text, **_: said.append(text))
        nic = bench.nic("dut.p0")
        nic.info = replace(nic.info, firmware="2.2-0")
        accepted.rate = lambda _: 40.0 if accepted.tso() else 25.6
        ask("tso-off")
        assert any("tso-off, with: no baseline of these conditions; the nearest: 30" in line for line in said)
        assert any("firmware: 2.2-0 here, 2.1-0 there" in line for line in said)
