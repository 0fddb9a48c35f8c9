"""Throughput against the sheet: clearly above is green, clearly below red, in every direction and on every path."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from accepted_runs import accept_day
from fake_bench import FakeBench
from fake_parts import link_of
from fake_traffic import GOOD, Rates, carry
from robot.api import logger

from niclab.bench.records import BenchPath, Role
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.host_records import PciDevice, PcieLink
from niclab.links.upper.bonds import Bonds
from niclab.report.evidence.evidence import read_index
from niclab.report.evidence.evidence_links import evidence_links
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.stats import baselines, measurements
from niclab.traffic import WorthlessResult
from niclab.traffic.flows import tcp
from niclab.traffic.limits import bottleneck, limit
from niclab.traffic.limits.limit import BUDGETS
from niclab.traffic.runs import measuring
from niclab.transports.ssh.ssh import Result
from Traffic import Traffic

ALL_GOOD = (GOOD * 3)[:8]
LOW = (23.5, 23.6, 23.4)
ENDS = {Role.DUT: "dut.p{0} to peer.p{0}", Role.PEER: "peer.p{0} to dut.p{0}"}
DIRECTIONS = pytest.mark.parametrize("sender", list(Role))
QUICK, FULL = Profile.QUICK, Profile.FULL


@pytest.fixture
def rates(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Rates:
    assert taken
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    return Rates(bench)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines that go to the log, and to the console."""
    lines: list[str] = []
    monkeypatch.setattr(logger, "info", lambda text, **_: lines.append(text))
    monkeypatch.setattr(logger, "warn", lambda text: lines.append(f"WARN {text}"))
    monkeypatch.setattr(logger, "console", lambda text: lines.append(f"console {text}"))
    return lines


def measured(taken: Run) -> dict[str, measurements.Measurement]:
    return {each.test: each for each in measurements.read(taken.run_dir)}


@DIRECTIONS
def test_clearly_above_is_green_after_all_runs_of_each_path(rates: Rates, taken: Run, sender: Role) -> None:
    Traffic().tcp_should_reach_the_limit(sender, QUICK)
    assert rates.runs == {("a", sender): 8, ("b", sender): 8}
    found = measured(taken)
    assert list(found) == [f"{ENDS[sender].format(index)} reaches the limit of TCP" for index in (0, 1)]
    one = next(iter(found.values()))
    assert one.samples == ALL_GOOD and (one.metric, one.unit, one.better.value) == ("tcp_mbps", "Mbit/s", "higher")
    assert one.key.card == "intel-82574l" and one.key.pcie_link == "2.5 GT/s x1" and one.key.tool == "iperf3 6.1"
    assert one.key.peer == "8086:10d3, e1000e 6.1.0-28-amd64, firmware 2.1-0, Debian 12, 6.1.0-28-amd64"
    wanted = {"test": "TCP_STREAM", "seconds": "2", "connections": "1", "path": "a", "mtu": "1500"}
    assert one.key.parameters == {**wanted, "sender": sender.value}


@DIRECTIONS
@pytest.mark.parametrize(("path", "index"), [("a", 0), ("b", 1)])
def test_clearly_below_on_one_path_is_named(rates: Rates, taken: Run, sender: Role, path: str, index: int) -> None:
    rates.figures[path, sender] = LOW
    with pytest.raises(CardFailure) as caught:
        Traffic().tcp_should_reach_the_limit(sender, QUICK)
    message = str(caught.value)
    assert message.startswith(f"{ENDS[sender].format(index)}: 23.50 Mbit/s, 95 % interval ")
    assert message.endswith(
        "(3 runs); expected at least 42.5 Mbit/s (sheet intel-82574l: 0.85 of line rate, 50 Mbit/s): missed"
    )
    assert "\n" not in message
    assert len(measured(taken)) == 2, "what failed is kept as well"


@pytest.mark.parametrize("mbps", [100, None])
def test_what_cannot_be_asked_of_one_path_hides_no_failure_of_another(
    bench: FakeBench, rates: Rates, mbps: int | None
) -> None:
    rates.figures["a", Role.DUT] = LOW
    for name in ("dut.p1", "peer.p1"):
        negotiate(bench, name, mbps)
    with pytest.raises(CardFailure, match=r"(?s)^dut\.p0 to peer\.p0: 23\.50 Mbit/s, .*: missed\n.*dut\.p1.*link"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


def test_what_cannot_be_asked_of_the_first_path_hides_no_failure_of_the_second(bench: FakeBench, rates: Rates) -> None:
    rates.figures["b", Role.DUT] = LOW
    for name in ("dut.p0", "peer.p0"):
        negotiate(bench, name, 100)
    with pytest.raises(CardFailure, match=r"(?s)^dut\.p1 to peer\.p1: 23\.50 Mbit/s, .*: missed\n.*dut\.p0.*link"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


def test_at_the_limit_the_runs_cannot_tell(rates: Rates) -> None:
    rates.figures["a", Role.DUT] = (42.4, 42.6)
    with pytest.raises(Undecided, match=r"^dut\.p0 to peer\.p0: .*: undecided; .*the budget of 20 runs is spent$"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert rates.runs["a", Role.DUT] == 20


def test_bad_runs_that_are_discarded_are_not_forgotten(bench: FakeBench, rates: Rates) -> None:
    """The dut stands still in three of four runs, which are slow: no row is long enough to be noticed by itself."""
    plain, count = bench.ssh[Role.DUT].replies["iperf3 --client"], iter(range(1000))
    assert callable(plain)

    def run(command: str) -> str | Result:
        if next(count) % 4:
            bench.ssh[Role.DUT].stood += "stood 400\n"
        return plain(command)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    with pytest.raises(Undecided) as caught:
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    message = str(caught.value)
    assert re.search(r"^dut\.p0 to peer\.p0: 2\d runs discarded, 8 counted: undecided; expected no more", message)
    assert rates.runs["a", Role.DUT] > 16


def test_a_few_discarded_runs_are_part_of_the_answer(bench: FakeBench, rates: Rates, said: list[str]) -> None:
    plain, count = bench.ssh[Role.DUT].replies["iperf3 --client"], iter(range(1000))
    assert callable(plain)

    def run(command: str) -> str | Result:
        if next(count) == 2:
            bench.ssh[Role.DUT].stood += "stood 400\n"
        return plain(command)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert said[0].startswith("dut.p0 to peer.p0: ") and said[0].endswith(": met; 1 runs discarded, 8 counted")
    assert rates.runs["a", Role.DUT] == 9


def test_bursts_of_retransmissions_are_no_proof_against_the_card(bench: FakeBench, taken: Run, rates: Rates) -> None:
    """One burst of 60 is no proof of more than the limit allows, and no number of runs makes it none."""
    bench.edit(bench.sheet, ("limits:\n", "limits:\n  retransmitted_percent: 0.05\n"))
    taken.card = bench.load()[1]
    plain, count = bench.ssh[Role.DUT].replies["iperf3 --client"], iter(range(1000))
    assert callable(plain)

    def run(command: str) -> str | Result:
        rates.tool_says = {"retransmits": 60 if next(count) == 1 else 0}
        return plain(command)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    with pytest.raises(Undecided, match=r"retransmissions: 60 of 162310 .*; run 2 is far above the rest"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


def test_more_runs_decide_on_retransmissions(bench: FakeBench, taken: Run, rates: Rates) -> None:
    """Eight runs without any have too few segments for a limit of one in 5000; twelve have enough."""
    bench.edit(bench.sheet, ("limits:\n", "limits:\n  retransmitted_percent: 0.02\n"))
    taken.card = bench.load()[1]
    rates.figures["a", Role.DUT] = (47.0,)
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert 8 < rates.runs["a", Role.DUT] <= 12


def test_runs_are_longer_where_the_card_carries_little(bench: FakeBench, taken: Run, rates: Rates) -> None:
    """A sound card of 7 Mbit/s carries 27 000 segments in twenty runs of 2 s; a limit of one in 2000 needs 37 000."""
    bench.edit(
        bench.sheet,
        ("limits:\n", "limits:\n  retransmitted_percent: 0.05\n"),
        ("tcp_fraction_of_line_rate: 0.85", "tcp_fraction_of_line_rate: 0.135"),
    )
    taken.card = bench.load()[1]
    rates.figures = {(path, Role.DUT): (7.2, 7.1) for path in ("a", "b")}
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert 8 < rates.runs["a", Role.DUT] <= 16
    assert next(iter(measured(taken).values())).key.parameters["seconds"] == "4"


def test_the_warm_up_run_counts_for_no_retransmission(bench: FakeBench, taken: Run, rates: Rates) -> None:
    bench.edit(bench.sheet, ("limits:\n", "limits:\n  retransmitted_percent: 0.05\n"))
    taken.card = bench.load()[1]
    plain = bench.ssh[Role.DUT].replies["iperf3 --client"]
    assert callable(plain)

    def run(command: str) -> str | Result:
        rates.tool_says = {"retransmits": 900 if rates.runs.get(("a", Role.DUT), 0) == 0 else 0}
        return plain(command)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    Traffic().tcp_should_reach_the_limit(Role.DUT, FULL)


def test_more_runs_decide_what_three_cannot(rates: Rates) -> None:
    rates.figures["a", Role.DUT] = (44.5, 43.2, 43.8, 43.9, 43.8, 43.9, 43.8, 43.9)
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert 3 < rates.runs["a", Role.DUT] <= 8


@pytest.mark.parametrize(("figure", "error"), [(47.0, None), (42.5, Undecided), (41.0, CardFailure)])
def test_runs_that_are_the_same_to_the_last_bit_are_decided_by_the_step_of_the_figure(
    rates: Rates, figure: float, error: type[Exception] | None
) -> None:
    rates.figures = {(path, Role.DUT): (figure,) for path in ("a", "b")}
    if error is None:
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        return
    with pytest.raises(error):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


def test_the_full_profile_warms_up_and_tells_how_far_it_is(rates: Rates, said: list[str]) -> None:
    Traffic().tcp_should_reach_the_limit(Role.DUT, FULL)
    assert rates.runs == {("a", Role.DUT): 13, ("b", Role.DUT): 13}
    told = [line for line in said if line.startswith("console ")]
    assert told[0] == ("console dut.p0 to peer.p0: run 1 of at most 31 (warm-up): 47.0 Mbit/s, at most 330 s left")
    assert told[1].startswith("console dut.p0 to peer.p0: run 2 of at most 31: 47.1 Mbit/s, at most 319 s left")
    assert len(told) == 26


def test_netperf_of_the_bench_file_warms_up_because_it_omits_nothing(
    bench: FakeBench, taken: Run, rates: Rates
) -> None:
    bench.edit(bench.file, ("description:", "traffic: netperf\ndescription:"))
    taken.bench = bench.load()[0]
    figures = iter((30.0, *ALL_GOOD) * 2)

    def run(command: str) -> str:
        carry(bench, command)
        return (
            f"THROUGHPUT={next(figures):.2f}\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=2.00\n"
            "LOCAL_CPU_UTIL=12.50\nREMOTE_CPU_UTIL=20.00\nLOCAL_TRANSPORT_RETRANS=0\n"
            "LOCAL_SEND_SIZE=16384\nLSS_SIZE_END=87380\nRSR_SIZE_END=131072\n"
        )

    bench.ssh[Role.DUT].replies["netperf -H"] = run
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert rates.runs == {} and next(figures, None) is None
    assert {(each.samples, each.key.tool) for each in measured(taken).values()} == {(ALL_GOOD, "netperf 6.1")}


def test_short_questions_are_quiet(rates: Rates, said: list[str]) -> None:
    assert rates
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert not [line for line in said if line.startswith("console ")]


def test_the_log_has_answer_bench_runs_and_chart(rates: Rates, taken: Run, said: list[str]) -> None:
    assert rates
    Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert said[0].startswith("dut.p0 to peer.p0: 47.01 Mbit/s, 95 % interval ")
    assert "dut.p0: 1.68 Gbit/s over PCIe 2.5 GT/s x1 with payloads of 128 bytes" in said[1]
    shown = [line for line in said if "iperf3 TCP_STREAM: " in line]
    assert len(shown) == 16
    assert shown[0].startswith("iperf3 TCP_STREAM: 47.0 Mbit/s in 2.00 s, 0 retransmissions, dut.p0: cpu1 10 %")
    links = [link for line in said for link in evidence_links(line)]
    assert [link.mime for link in links] == ["image/svg+xml", "text/csv", "application/json"] * 2
    assert [link.href for link in links] == [f"evidence/{entry.file}" for entry in read_index(taken.evidence_folder)]
    text = (taken.run_dir / links[0].href).read_text()
    assert text.startswith("<svg") and "limit at least 42.5 Mbit/s" in text
    runs = json.loads((taken.run_dir / links[2].href).read_text())
    assert len(runs) == 8 and {run["tool"] for run in runs} == {"iperf3"}
    assert runs[0]["sender"]["cpu"]["cpus"]["1"]["busy"] == pytest.approx(0.1)


def negotiate(bench: FakeBench, name: str, speed_mbps: int | None) -> None:
    nic = bench.nic(name)
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=speed_mbps)


def let_sheet_say(bench: FakeBench, taken: Run, *changes: tuple[str, str]) -> None:
    bench.edit(bench.sheet, *changes)
    taken.card = bench.load()[1]


@DIRECTIONS
def test_a_link_below_its_speed_does_not_lower_the_limit(bench: FakeBench, rates: Rates, sender: Role) -> None:
    for name in ("dut.p0", "peer.p0"):
        negotiate(bench, name, 100)
    rates.figures["a", sender] = (4.7,)
    with pytest.raises(Undecided) as caught:
        Traffic().tcp_should_reach_the_limit(sender, QUICK)
    first, *rest = sorted(str(caught.value).split("\n"))
    assert first.startswith("dut.p0 (0000:01:00.0): link at 100 Mbit/s; expected 1000 Mbit/s (sheet intel-82574l); its")
    assert len(rest) == 1 and rest[0].startswith("peer.p0 (")
    assert ("a", sender) not in rates.runs


@DIRECTIONS
def test_a_link_whose_speed_the_dut_alone_shows_is_the_cards(bench: FakeBench, rates: Rates, sender: Role) -> None:
    negotiate(bench, "dut.p0", 100)
    with pytest.raises(CardFailure) as caught:
        Traffic().tcp_should_reach_the_limit(sender, QUICK)
    assert str(caught.value) == ("dut.p0 (0000:01:00.0): link at 100 Mbit/s; expected 1000 Mbit/s (sheet intel-82574l)")
    assert ("a", sender) not in rates.runs


@DIRECTIONS
def test_a_partner_that_advertises_less_is_the_benchs(bench: FakeBench, rates: Rates, sender: Role) -> None:
    for name in ("dut.p0", "peer.p0"):
        negotiate(bench, name, 100)
    nic = bench.nic("dut.p0")
    assert nic.settings is not None
    nic.settings = replace(nic.settings, partner=("100baseT/Full",))
    with pytest.raises(BenchFault, match=r"dut\.p0 .* the other end of its link advertises 100 Mbit/s"):
        Traffic().tcp_should_reach_the_limit(sender, QUICK)
    assert ("a", sender) not in rates.runs


@DIRECTIONS
def test_a_slow_port_of_the_peer_alone_is_the_benchs(bench: FakeBench, rates: Rates, sender: Role) -> None:
    negotiate(bench, "peer.p1", 100)
    with pytest.raises(BenchFault, match=r"^peer\.p1 \(\S+: link at 100 Mbit/s; expected 1000 Mbit/s \(sheet"):
        Traffic().tcp_should_reach_the_limit(sender, QUICK)
    assert ("b", sender) not in rates.runs


def test_a_faster_port_of_the_peer_is_no_matter(bench: FakeBench, rates: Rates) -> None:
    negotiate(bench, "peer.p0", 10_000)
    Traffic().tcp_should_reach_the_limit(Role.PEER, QUICK)
    assert len(rates.runs) == 2


def test_the_senders_speed_counts_where_the_sheet_knows_none(bench: FakeBench, rates: Rates, taken: Run) -> None:
    let_sheet_say(bench, taken, ("speed_mbps: 1000", "speed_mbps: {unknown: test}"))
    negotiate(bench, "dut.p0", 2000)
    Traffic().tcp_should_reach_the_limit(Role.PEER, QUICK)
    with pytest.raises(CardFailure, match=r"expected at least 85 Mbit/s \(.*line rate, 100 Mbit/s\)") as caught:
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert "dut.p1" not in str(caught.value)
    assert len(rates.runs) == 4


@pytest.mark.parametrize("speed_mbps", [None, 0])
def test_no_line_rate_is_a_bench_fault(bench: FakeBench, rates: Rates, speed_mbps: int | None) -> None:
    nic = bench.nic("dut.p1")
    assert nic.settings is not None
    nic.settings = replace(nic.settings, speed_mbps=speed_mbps)
    with pytest.raises(BenchFault, match=r"^dut\.p1: link speed is unknown"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert ("b", Role.DUT) not in rates.runs


def test_faster_than_the_line_is_worthless(rates: Rates) -> None:
    rates.figures["a", Role.DUT] = (51.1,)
    with pytest.raises(BenchFault, match=r"prove nothing: peer\.p0: worthless result: 51\.1 .* at most the 50 Mbit/s"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


def test_an_unknown_limit_is_not_applicable_and_measures_nothing(bench: FakeBench, taken: Run, rates: Rates) -> None:
    bench.edit(bench.sheet, ("tcp_fraction_of_line_rate: 0.85", "tcp_fraction_of_line_rate: {unknown: test}"))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=r"does not know limits.tcp_fraction_of_line_rate: test$"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert rates.runs == {}


def test_time_that_is_spent_before_the_first_look_is_undecided(rates: Rates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(limit.BUDGETS, QUICK, replace(BUDGETS[QUICK], most_s=0))  # type: ignore[arg-type]
    with pytest.raises(Undecided, match=r"^dut\.p0 to peer\.p0: 0 runs made when the time was spent"):
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
    assert rates.runs == {}


def no_link(address: str) -> tuple[PcieLink, ...]:
    raise BenchFault(f"dut: no PCIe link leads to {address}: it sits on a root or conventional PCI bus")


def run_at_40_gigabit(bench: FakeBench, taken: Run) -> None:
    """2 Gbit/s of line on the scaled path."""
    let_sheet_say(bench, taken, ("speed_mbps: 1000", "speed_mbps: 40000"))
    for name in bench.cables.nics:
        negotiate(bench, name, 40_000)


class TestTheBenchAsBottleneck:
    def test_a_bus_that_cannot_carry_the_limit_is_a_bench_fault_before_any_run(
        self, bench: FakeBench, rates: Rates, taken: Run
    ) -> None:
        run_at_40_gigabit(bench, taken)
        with pytest.raises(BenchFault) as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        lines = str(caught.value).split("\n")
        assert [line.split(":")[0] for line in lines] == ["dut.p0", "peer.p0"]
        assert lines[0].startswith("dut.p0: the bench carries at most 1.68 Gbit/s over PCIe 2.5 GT/s x1")
        assert lines[0].endswith("0.85 of line rate, 2000 Mbit/s: 1700 Mbit/s")
        assert rates.runs == {}

    def test_a_wider_bus_has_room(self, bench: FakeBench, rates: Rates, taken: Run) -> None:
        run_at_40_gigabit(bench, taken)
        for nic in bench.cables.nics.values():
            nic.path = (link_of(nic.pci, width=2),)
        rates.figures["a", Role.DUT] = rates.figures["b", Role.DUT] = (1900.0, 1901.0, 1899.0)
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)

    def test_an_express_card_without_a_readable_path_is_a_bench_fault(
        self, bench: FakeBench, rates: Rates, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(bench.dut, "pcie_path", no_link)
        with pytest.raises(BenchFault, match=r"^dut: no PCIe link leads to 0000:01:00\.0"):
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert rates.runs == {}

    def test_a_card_on_conventional_pci_has_no_ceiling_but_is_judged(
        self, bench: FakeBench, taken: Run, rates: Rates, said: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert rates
        monkeypatch.setattr(bench.dut, "pcie_path", no_link)
        for name in ("dut.p0", "dut.p1"):
            bench.nic(name).device = PciDevice(bench.nic(name).pci, "12ae", "0001")
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert measured(taken)["dut.p0 to peer.p0 reaches the limit of TCP"].key.pcie_link == "conventional PCI"
        assert any("dut.p0: no ceiling known of its bus" in line for line in said)

    @pytest.mark.parametrize("role", list(Role))
    def test_a_missed_limit_without_free_cpu_is_a_bench_fault(self, bench: FakeBench, rates: Rates, role: Role) -> None:
        bench.hosts[role].busy_ticks = 96
        rates.figures["a", Role.DUT] = LOW
        with pytest.raises(BenchFault, match=r"^dut\.p0 to peer\.p0: 23.*: missed; the bench may be why: ") as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert f"{role.value}.p0: its busiest CPU had 4 % free time during the runs" in str(caught.value)
        assert f"{role.value}.p0: a CPU was 96 % busy before the runs" in str(caught.value)

    def test_a_met_limit_without_free_cpu_is_green(self, bench: FakeBench, rates: Rates) -> None:
        assert rates
        bench.dut.busy_ticks = 100
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)

    def test_a_card_failure_beside_a_bench_fault_stays_one(self, rates: Rates, monkeypatch: pytest.MonkeyPatch) -> None:
        rates.figures = {(path, Role.DUT): LOW for path in ("a", "b")}
        found = iter([["noise"], []])
        monkeypatch.setattr(bottleneck, "hindrances", lambda *_: next(found))
        with pytest.raises(CardFailure) as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        one, other = str(caught.value).split("\n")
        assert one.startswith("dut.p1 to peer.p1: ") and one.endswith(": missed")
        assert other.startswith("dut.p0 to peer.p0: ") and other.endswith("; the bench may be why: noise")


class TestSendTcp:
    def test_it_flows_over_every_path_and_is_not_judged(self, rates: Rates, said: list[str]) -> None:
        rates.figures["a", Role.PEER] = LOW
        Traffic().send_tcp(Role.PEER, 2)
        assert rates.runs == {("a", Role.PEER): 1, ("b", Role.PEER): 1}
        assert said[0].startswith("peer.p0 to dut.p0: iperf3 TCP_STREAM: 23.5 Mbit/s")

    def test_what_did_not_arrive_is_a_fault(self, rates: Rates) -> None:
        rates.figures["b", Role.DUT] = (0.0,)
        with pytest.raises(WorthlessResult, match="0 bytes received"):
            Traffic().send_tcp(Role.DUT, 2)


def test_what_an_earlier_run_into_the_folder_measured_is_not_of_this_one(bench: FakeBench) -> None:
    folder = bench.folder / "again"
    folder.mkdir()
    (folder / measurements.FILE).write_text("old")
    made = runs.acquire(bench.file, bench.load()[1], folder, lambda: None)
    with made._stack:
        made.bench_servers.close()
    assert not (folder / measurements.FILE).exists()


class TestSteady:
    @pytest.fixture
    def flows(self, taken: Run, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The events of the traffic."""
        assert taken
        events: list[str] = []

        @contextmanager
        def steady(_: Run, path: BenchPath, sender: Role) -> Iterator[None]:
            events.append(f"starts on {path.name} from {sender.value}")
            if len(events) > 3:
                raise BenchFault("no traffic")
            yield
            events.append("stops")

        monkeypatch.setattr(tcp, "steady", steady)
        return events

    def test_it_flows_between_start_and_stop(self, flows: list[str]) -> None:
        traffic = Traffic()
        traffic.stop_steady_traffic()
        traffic.start_steady_traffic()
        assert flows == ["starts on a from dut"]
        with pytest.raises(BenchFault, match=r"^steady traffic flows already"):
            traffic.start_steady_traffic()
        traffic.stop_steady_traffic()
        traffic.stop_steady_traffic()
        assert flows == ["starts on a from dut", "stops"]

    def test_it_can_be_started_again_after_a_start_that_failed(self, flows: list[str]) -> None:
        traffic = Traffic()
        flows += ["", "", ""]
        with pytest.raises(BenchFault, match=r"^no traffic$"):
            traffic.start_steady_traffic()
        flows.clear()
        traffic.start_steady_traffic()
        traffic.stop_steady_traffic()
        assert flows == ["starts on a from dut", "stops"]


class TestTheBaseline:
    """A run is accepted, and later runs of the same conditions are judged against it."""

    @pytest.fixture
    def accepted(self, bench: FakeBench, taken: Run, rates: Rates) -> Rates:
        """The figures of the first run are the baseline: 47 Mbit/s."""
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        accept_day(taken, 1)
        assert bench
        return rates

    @pytest.mark.parametrize(("figures", "words"), [(GOOD, None), ((49.0, 49.1, 48.9), "better than the baseline")])
    def test_the_same_or_better_is_green_and_told(
        self, accepted: Rates, said: list[str], figures: tuple[float, ...], words: str | None
    ) -> None:
        accepted.figures = {(path, Role.DUT): figures for path in ("a", "b")}
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        told = [line for line in said if "baseline of" in line]
        assert len(told) == 2 and all(words is None or words in line for line in told)

    def test_one_day_alone_makes_no_worse_card(self, accepted: Rates) -> None:
        accepted.figures["b", Role.DUT] = (44.0, 44.1, 43.9)
        with pytest.raises(Undecided, match=r"days differ by 1 % \(assumed; 1 day accepted\)$"):
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)

    def test_worse_is_red_though_the_limit_is_met(self, accepted: Rates, taken: Run) -> None:
        for day in range(2, 7):
            accept_day(taken, day)
        accepted.figures["b", Role.DUT] = (44.0, 44.1, 43.9)
        with pytest.raises(CardFailure) as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        message = str(caught.value)
        assert message.startswith("dut.p1 to peer.p1, baseline: -6.41 % change from baseline") and "\n" not in message
        assert re.search(r"\(baseline of 6 days, .*, run \S+\): missed", message)

    def test_runs_go_on_until_the_baseline_is_clear_too(self, accepted: Rates) -> None:
        before = accepted.runs["a", Role.DUT]
        accepted.figures["a", Role.DUT] = (45.5, 44.3, 45.2, 44.5)
        with pytest.raises(Undecided, match=r"^dut\.p0 to peer\.p0, baseline: "):
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert accepted.runs["a", Role.DUT] - before == 20

    def test_other_conditions_are_not_compared_but_told(
        self, bench: FakeBench, accepted: Rates, said: list[str]
    ) -> None:
        nic = bench.nic("dut.p0")
        nic.info = replace(nic.info, firmware="2.2-0")
        accepted.figures["a", Role.DUT] = (44.0, 44.1, 43.9)
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert any("no baseline of these conditions; the nearest: 47.0125 Mbit/s" in line for line in said)
        assert any("firmware: 2.2-0 here, 2.1-0 there" in line for line in said)

    def test_a_damaged_baseline_is_a_bench_fault(self, accepted: Rates, taken: Run) -> None:
        for file in (taken.run_dir.parent / baselines.FOLDER).glob("*.json"):
            file.write_text("{")
        with pytest.raises(BenchFault, match="is not JSON"):
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        assert accepted.runs


class TestRetransmissions:
    """Frames that are lost and sent again are seen before the throughput is."""

    @pytest.fixture(autouse=True)
    def limited(self, bench: FakeBench, taken: Run, rates: Rates) -> None:
        assert rates
        bench.edit(bench.sheet, ("limits:\n", "limits:\n  retransmitted_percent: 0.05\n"))
        taken.card = bench.load()[1]

    @pytest.mark.parametrize(("each_run", "verdict"), [(0, None), (1, None), (5, CardFailure), (8, CardFailure)])
    def test_more_than_the_sheet_allows_is_red(
        self, rates: Rates, each_run: int, verdict: type[Exception] | None
    ) -> None:
        rates.tool_says = {"retransmits": each_run}  # of 8117 segments a run; 4 are allowed
        if verdict is None:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
            return
        with pytest.raises(verdict) as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        first = str(caught.value).splitlines()[0]
        runs, segments = (20, 162310) if each_run == 5 else (8, 64934)  # what is near the limit takes longer
        found = f"{runs * each_run} of {segments} segments sent again: "
        assert first.startswith(f"dut.p0 to peer.p0, retransmissions: {found}")
        assert "expected at most 0.05 percent sent again (sheet intel-82574l, retransmitted_percent)" in first

    @pytest.mark.parametrize(("of_peer", "segment_bytes"), [(9000, 8948), (1500, 1448)])
    def test_segments_are_as_long_as_both_mtus_allow(
        self, bench: FakeBench, rates: Rates, of_peer: int, segment_bytes: int
    ) -> None:
        bench.nic("dut.p0").mtu, bench.nic("peer.p0").mtu = 9000, of_peer
        rates.tool_says = {"retransmits": 400}
        with pytest.raises(CardFailure, match="retransmissions: ") as caught:
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)
        (found,) = re.findall(r"of ([0-9]+) segments", str(caught.value).splitlines()[0])
        seconds = {float(each) for each in re.findall(r"--time ([0-9.]+)", "\n".join(bench.ssh[Role.DUT].commands))}
        assert int(found) == pytest.approx(8 * 47e6 / 8 * max(seconds) / segment_bytes, rel=0.01)

    @pytest.mark.parametrize(("uncounted", "counted"), [(range(100), 0), ((3,), 7)])
    def test_a_tool_that_does_not_count_them_in_each_run_is_a_fault_of_the_bench(
        self, bench: FakeBench, rates: Rates, uncounted: Sequence[int], counted: int
    ) -> None:
        plain, count = bench.ssh[Role.DUT].replies["iperf3 --client"], iter(range(1000))
        assert callable(plain)

        def run(command: str) -> str | Result:
            rates.tool_says = {"retransmits": None if next(count) in uncounted else 0}
            return plain(command)

        bench.ssh[Role.DUT].replies["iperf3 --client"] = run
        with pytest.raises(BenchFault, match=f"iperf3 counted the retransmissions of {counted} of 8 runs; expected"):
            Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)

    def test_without_a_limit_nobody_must_count_them(self, bench: FakeBench, rates: Rates, taken: Run) -> None:
        bench.edit(bench.sheet, ("  retransmitted_percent: 0.05\n", ""))
        taken.card, rates.tool_says = bench.load()[1], {"retransmits": None}
        Traffic().tcp_should_reach_the_limit(Role.DUT, QUICK)


class TestOverBonds:
    """TCP over a bond is judged against the line of the ports that its servers use, and told from TCP over a port."""

    @pytest.fixture
    def bonding(self, bench: FakeBench, rates: Rates, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
        """Bonds with the addresses of the first path: the dut's uses its second port, the peer's its first."""
        assert rates
        used = {Role.DUT: "dut.p1", Role.PEER: "peer.p0"}
        for role in Role:
            bench.hosts[role].nics.append(replace(bench.nic(f"{role.value}.p0"), iface="niclab0"))
        made = SimpleNamespace(
            stack=lambda _: SimpleNamespace(name="niclab0"),
            active_port=lambda role: runs.current().bench.port(used[role]),
            described=lambda: "active-backup bond",
            used=used,
        )
        monkeypatch.setitem(runs.current()._parts, Bonds, made)
        return made

    def test_what_is_kept_says_so(self, bonding: SimpleNamespace, rates: Rates, taken: Run) -> None:
        assert bonding
        Traffic().tcp_over_the_bonds_should_reach_the_limit(Role.DUT, QUICK)
        assert rates.runs == {("a", Role.DUT): 8}
        ((test, found),) = measured(taken).items()
        assert test == "dut.p1 to peer.p0 over active-backup bond reaches the limit of TCP"
        assert (found.key.parameters["over"], found.key.parameters["path"]) == ("active-backup bond", "a")
        assert found.key.slot == "0000:02:00.0"

    def test_a_link_that_is_slow_is_named(self, bonding: SimpleNamespace, rates: Rates) -> None:
        assert bonding
        rates.figures["a", Role.PEER] = LOW
        with pytest.raises(
            CardFailure, match=r"^peer\.p0 to dut\.p1 over active-backup bond: 23\.50 Mbit/s, .*: missed$"
        ):
            Traffic().tcp_over_the_bonds_should_reach_the_limit(Role.PEER, QUICK)

    def test_the_line_is_that_of_the_port_in_use(
        self, bench: FakeBench, bonding: SimpleNamespace, rates: Rates
    ) -> None:
        """The other port of the dut has lost its link: it has no speed."""
        assert rates
        nic = bench.nic("dut.p0")
        assert nic.settings is not None
        nic.settings = replace(nic.settings, speed_mbps=None)
        Traffic().tcp_over_the_bonds_should_reach_the_limit(Role.DUT, QUICK)
        bonding.used[Role.DUT] = "dut.p0"
        with pytest.raises(BenchFault, match=r"^dut\.p0: link speed is unknown"):
            Traffic().tcp_over_the_bonds_should_reach_the_limit(Role.DUT, QUICK)

    def test_traffic_that_did_not_pass_the_bond_is_worthless(
        self, bench: FakeBench, bonding: SimpleNamespace, rates: Rates
    ) -> None:
        assert bonding and rates
        bench.hosts[Role.PEER].by_iface("niclab0").frames = {}
        with pytest.raises(WorthlessResult, match="the traffic went another way"):
            Traffic().tcp_over_the_bonds_should_reach_the_limit(Role.DUT, QUICK)
