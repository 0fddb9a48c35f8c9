"""Verdicts about interruptions: proven too long is red, possibly too long cannot be told, within the limit is green."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench

import Gaps as gaps_module
from Gaps import Gaps, Over
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.bond_settings import BondMode
from niclab.run.run import Run
from niclab.traffic import gap_run
from niclab.traffic.gap_records import Direction, GapReport, Noise, Outage
from niclab.traffic.gap_run import ClockFix, End

QUIET = Noise(3000, 1.0, 1.2, 2.0, 5.0, ())
GOOD = Direction("dut to peer", 3000, 3000, 0, 0, 0, 0, 0, 1.0, 400, (), 2.0, 2.5, QUIET, QUIET)
LIMIT_MS = 1100


def outage(proven_ms: float, at_most_ms: float, *, heard: int = 5, over: bool = True) -> Outage:
    return Outage(0, proven_ms, at_most_ms, 5, 0, heard, over)


@pytest.fixture
def gaps(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gaps]:
    """Gaps are measured; ``gaps.back`` is what will be found from the peer to the dut."""
    limit = (
        "carrier_return_within_ms: 5000",
        f"carrier_return_within_ms: 5000\n  failover_within_ms: {LIMIT_MS}",
    )
    bench.edit(bench.sheet, limit)
    taken.card = bench.load()[1]
    found = SimpleNamespace(back=replace(GOOD, name="peer to dut"), forth=GOOD, ends=[], stopped=0, pauses=[])

    class Probing:
        report: GapReport | None = None
        clocks = (ClockFix(0.25, 0.004), ClockFix(-86400.0, 0.5))

        def stop(self) -> GapReport:
            self.report = GapReport(found.forth, found.back, 0, 0)
            return self.report

    @contextmanager
    def probing(first: End, second: End, every_us: int) -> Iterator[Probing]:
        found.every_us = every_us
        found.ends = [(end.server.name, end.address) for end in (first, second)]
        yield Probing()
        found.stopped += 1

    monkeypatch.setattr(gap_run, "probing", probing)
    monkeypatch.setattr(gaps_module, "pause", found.pauses.append)
    made = Gaps()
    made.start_measuring_gaps()
    made.found = found  # type: ignore[attr-defined]
    yield made


def find(gaps: Gaps, direction: str = "back", **changes: object) -> None:
    found = gaps.found  # type: ignore[attr-defined]
    setattr(found, direction, replace(getattr(found, direction), **changes))


def test_no_gap_is_green(gaps: Gaps) -> None:
    gaps.traffic_gap_should_be_within_card_limit()
    gaps.traffic_should_be_unbroken()
    gaps.no_packet_should_arrive_twice()
    assert gaps.found.ends == [("dut", "198.18.10.1"), ("peer", "198.18.10.2")]  # type: ignore[attr-defined]


def test_probes_are_no_load_for_a_path_that_runs_slower(bench: FakeBench, taken: Run, gaps: Gaps) -> None:
    bench.edit(bench.file, ("rate_scale: 20", "rate_scale: 800"))
    taken.bench = bench.load()[0]
    gaps.stop_measuring_gaps()
    gaps.start_measuring_gaps()
    assert gaps.found.every_us == 4000  # type: ignore[attr-defined]


def test_a_vlan_on_a_bond_has_the_second_paths_addresses(gaps: Gaps) -> None:
    gaps.stop_measuring_gaps()
    gaps.start_measuring_gaps(Over.VLAN_ON_BOND)
    assert gaps.found.ends == [("dut", "198.18.11.1"), ("peer", "198.18.11.2")]  # type: ignore[attr-defined]


def test_a_gap_within_the_limit_is_green(gaps: Gaps) -> None:
    find(gaps, outages=(outage(LIMIT_MS - 2, LIMIT_MS),))
    gaps.traffic_gap_should_be_within_card_limit()


@pytest.mark.parametrize("direction", ["forth", "back"])
def test_a_gap_that_is_proven_longer_is_red(gaps: Gaps, direction: str) -> None:
    find(gaps, direction, outages=(outage(600, 602), outage(501, 503)))
    with pytest.raises(CardFailure) as caught:
        gaps.traffic_gap_should_be_within_card_limit()
    name = "dut to peer" if direction == "forth" else "peer to dut"
    assert str(caught.value).startswith(f"{name}: outage 1101.0 to 1105.0 ms; ")
    assert str(caught.value).endswith("; sheet intel-82574l allows 1100 ms")


@pytest.mark.parametrize(
    "change",
    [
        {"outages": (outage(90, LIMIT_MS + 1),)},
        {"outages": (outage(90, 100, over=False),)},
        {"blind_most_ms": LIMIT_MS + 1.0},
        {"silent_most_ms": LIMIT_MS + 1.0},
    ],
)
def test_what_may_be_longer_cannot_be_told(gaps: Gaps, change: dict[str, object]) -> None:
    find(gaps, **change)
    with pytest.raises(Undecided, match=r"^peer to dut: .* allows 1100 ms; sender: 3000 ticks"):
        gaps.traffic_gap_should_be_within_card_limit()


def test_an_outage_is_told_by_the_controllers_clock(gaps: Gaps, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(gaps_module.logger, "info", said.append)
    lost = (replace(outage(20, 25), start_us=3_600_500_000),)
    gaps.found.forth = replace(GOOD, outages=lost)  # type: ignore[attr-defined]
    gaps.found.back = replace(GOOD, name="peer to dut", outages=lost)  # type: ignore[attr-defined]
    gaps.traffic_gap_should_be_within_card_limit()
    told = [line for line in said if line.startswith("  outage")]
    assert "from 01:00:00.250 UTC by the controller's clock, within 4 ms" in told[0]
    assert "from 01:00:00.500 UTC by the controller's clock, within 500 ms" in told[1]


def test_a_gap_is_waited_for_until_it_must_be_proven(gaps: Gaps) -> None:
    gaps.traffic_gap_should_be_within_card_limit()
    assert gaps.found.pauses == [1.0, 2 * LIMIT_MS / 1000 + 1.0]  # type: ignore[attr-defined]
    gaps.traffic_should_be_unbroken()
    assert len(gaps.found.pauses) == 2  # type: ignore[attr-defined]


def test_a_gap_that_does_not_end_and_is_longer_is_red(gaps: Gaps) -> None:
    find(gaps, outages=(outage(LIMIT_MS + 1, LIMIT_MS + 1, over=False),))
    with pytest.raises(CardFailure, match="not over"):
        gaps.traffic_gap_should_be_within_card_limit()


def test_what_the_driver_of_the_bond_takes_is_not_the_cards(gaps: Gaps) -> None:
    find(gaps, outages=(outage(LIMIT_MS + 1990, LIMIT_MS + 2000, heard=LIMIT_MS + 2000),))
    gaps.traffic_gap_should_be_within_card_limit(BondMode.BALANCE_ALB)
    gaps.lost_packets_should_fit_the_allowed_gap(BondMode.BALANCE_ALB)
    for mode in (None, BondMode.BALANCE_TLB):
        with pytest.raises(CardFailure, match=r"; sheet intel-82574l allows 1100 ms$"):
            gaps.traffic_gap_should_be_within_card_limit(mode)
    gaps.stop_measuring_gaps()
    gaps.start_measuring_gaps()
    find(gaps, outages=(outage(LIMIT_MS + 2001, LIMIT_MS + 2003, heard=LIMIT_MS + 2001),))
    for judged in (gaps.traffic_gap_should_be_within_card_limit, gaps.lost_packets_should_fit_the_allowed_gap):
        with pytest.raises(CardFailure, match=r"allows 1100 ms, and balance-alb takes up to 2000 ms of its own$"):
            judged(BondMode.BALANCE_ALB)


class TestPacketsLostOneByOne:
    """A bond that sends round robin loses every second packet with a link."""

    def test_as_many_as_are_sent_in_the_allowed_time_are_green(self, gaps: Gaps) -> None:
        find(gaps, outages=(outage(0, 2, heard=1),) * LIMIT_MS)
        gaps.lost_packets_should_fit_the_allowed_gap()

    @pytest.mark.parametrize("direction", ["forth", "back"])
    def test_one_more_is_red(self, gaps: Gaps, direction: str) -> None:
        find(gaps, direction, outages=(outage(0, 2, heard=1),) * (LIMIT_MS + 1))
        wanted = r"1101 were lost for sure, as many as are sent in 1101 ms; sheet intel-82574l allows 1100 ms$"
        with pytest.raises(CardFailure, match=wanted):
            gaps.lost_packets_should_fit_the_allowed_gap()

    def test_an_end_that_sends_seldom_sends_few_in_that_time(self, gaps: Gaps) -> None:
        find(gaps, outages=(outage(0, 4, heard=1),) * 600, sender=replace(QUIET, median_ms=2.0))
        with pytest.raises(CardFailure, match="600 were lost for sure, as many as are sent in 1200 ms"):
            gaps.lost_packets_should_fit_the_allowed_gap()

    def test_what_the_receiver_may_not_have_heard_is_not_counted(self, gaps: Gaps) -> None:
        find(gaps, outages=(outage(0, 3000, heard=0),))
        gaps.lost_packets_should_fit_the_allowed_gap()


def test_one_lost_packet_breaks_unbroken_traffic(gaps: Gaps) -> None:
    find(gaps, outages=(outage(0, 2, heard=1),))
    with pytest.raises(CardFailure, match=r"^peer to dut: .*; wanted: every packet once, and in time$"):
        gaps.traffic_should_be_unbroken()


def test_packets_lost_in_a_pause_of_the_receiver_prove_nothing(gaps: Gaps) -> None:
    find(gaps, outages=(outage(0, 20, heard=0),))
    with pytest.raises(Undecided, match="the receiver stood still"):
        gaps.traffic_should_be_unbroken()


def test_duplicates_are_red(gaps: Gaps) -> None:
    find(gaps, "forth", duplicated=1)
    with pytest.raises(CardFailure, match=r"^dut to peer: .* 1 duplicated"):
        gaps.no_packet_should_arrive_twice()
    with pytest.raises(CardFailure, match="1 duplicated"):
        gaps.traffic_should_be_unbroken()


def test_without_a_limit_nothing_is_judged(gaps: Gaps, bench: FakeBench, taken: Run) -> None:
    bench.edit(bench.sheet, (f"failover_within_ms: {LIMIT_MS}", "failover_within_ms: unknown"))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=r"does not know limits\.failover_within_ms"):
        gaps.traffic_gap_should_be_within_card_limit()
    bench.edit(bench.sheet, ("  failover_within_ms: unknown\n", ""))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=r"has no limits\.failover_within_ms"):
        gaps.traffic_gap_should_be_within_card_limit()


def test_measurements_are_started_once_and_ended(gaps: Gaps) -> None:
    with pytest.raises(BenchFault, match="measured already"):
        gaps.start_measuring_gaps()
    gaps.stop_measuring_gaps()
    gaps.stop_measuring_gaps()
    assert gaps.found.stopped == 1  # type: ignore[attr-defined]
    with pytest.raises(BenchFault, match="'Start Measuring Gaps' comes first"):
        gaps.traffic_should_be_unbroken()
