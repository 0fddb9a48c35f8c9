"""The cost of a lost link, measured over bonds of fake servers: judged in the right order, repeated only if open."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pytest
from fake_bench import FakeBench
from stacking import Stacking, install

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, SheetUnknown, Undecided
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links.failure import Cause
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.links.upper.vlans import HostVlans
from niclab.report.own_checks import spoiled_runs
from niclab.run.run import Run
from niclab.traffic import WorthlessResult
from niclab.traffic.outage import outage, prober
from niclab.traffic.outage.outage import Over
from niclab.traffic.outage.outage_records import Noise, Outage, OutageReport, ProbedDirection
from niclab.traffic.outage.prober import ClockFix, End
from Outages import Outages

QUIET = Noise(3000, 1.0, 1.2, 2.0, 5.0, ())
GOOD = ProbedDirection("dut to peer", 3000, 3000, 0, 0, 0, 0, 0, 1.0, (), 2.0, 2.5, QUIET, QUIET)
LIMIT_MS = 1100
STALLED = {"blind_most_ms": LIMIT_MS + 1.0}
"""An end was not at work for so long: a longer outage may hide there."""


def lasting(ms: int) -> dict[str, object]:
    return {"outages": (Outage(3_600_500_000, ms, ms + 2, ms, 0, ms, True),)}


@dataclass
class Prober:
    """The findings of the prober: of each measurement the changes of the direction from the dut, the last one again."""

    finds: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    ends: list[list[tuple[str, str]]] = field(default_factory=list)
    periods_us: list[int] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    running: int = 0
    late_s: dict[str, float] = field(default_factory=dict)
    """From now to the first packet of a direction."""


class FakeProbing:
    clocks = (ClockFix(0.25, 0.004), ClockFix(-86400.0, 0.5))

    def __init__(self, changes: dict[str, Any], late_s: dict[str, float]) -> None:
        self._changes, self._late_s = changes, late_s

    def stop(self) -> OutageReport:
        report = OutageReport(replace(GOOD, **self._changes), replace(GOOD, name="peer to dut"))
        for (way, clock), direction in zip(
            zip(("forth", "back"), self.clocks, strict=True), report.directions, strict=True
        ):
            if way in self._late_s:
                first_us = round((time.time() + self._late_s[way] + clock.ahead_s) * 1e6)
                report = replace(report, **{way: replace(direction, first_us=first_us)})
        return report


@pytest.fixture
def found(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Prober:
    limits = f"carrier_return_within_ms: 50\n  failover_within_ms: {LIMIT_MS}"
    bench.edit(bench.sheet, ("carrier_return_within_ms: 5000", limits))
    taken.card = bench.load()[1]
    made = Prober()

    @contextmanager
    def probing(first: End, second: End, every_us: int) -> Iterator[FakeProbing]:
        made.ends.append([(end.server.name, end.address) for end in (first, second)])
        made.periods_us.append(every_us)
        made.running += 1
        try:
            yield FakeProbing(made.finds[min(len(made.ends), len(made.finds)) - 1], made.late_s)
        finally:
            made.running -= 1

    monkeypatch.setattr(prober, "probing", probing)
    monkeypatch.setattr(outage, "pause", made.pauses.append)
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    return made


@pytest.fixture
def stacking(bench: FakeBench, found: Prober, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert found
    return install(monkeypatch, bench)


def bond(taken: Run, mode: BondMode = BondMode.ACTIVE_BACKUP, reselect: PrimaryReselect | None = None) -> None:
    taken.part(Bonds).create(BondSettings(mode, miimon_ms=100, primary_reselect=reselect))


@pytest.fixture
def bonded(taken: Run, stacking: Stacking) -> Stacking:
    bond(taken)
    return stacking


class TestActiveLink:
    def test_a_good_failover_is_green(self, bench: FakeBench, bonded: Stacking, found: Prober) -> None:
        assert bonded
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bench.pulled() == {"a"} and found.running == 0
        assert found.ends == [[("dut", "198.18.10.1"), ("peer", "198.18.10.2")]]
        assert found.pauses == [1.0, 2 * LIMIT_MS / 1000 + 1.0]

    @pytest.mark.parametrize("way", ["forth", "back"])
    def test_probes_that_began_after_the_loss_prove_nothing(self, bonded: Stacking, found: Prober, way: str) -> None:
        """A server that stands still when they are to begin sends none until the outage is over."""
        assert bonded
        found.late_s = {way: 3.0}
        with pytest.raises(WorthlessResult, match=r"outage prober: .* first .* 3\.\d s after the watch had begun"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        found.late_s = {way: -0.6}
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()

    def test_it_begins_with_whole_bonds(self, bench: FakeBench, bonded: Stacking) -> None:
        bench.cables.stuck["dut.p1"] = False
        with pytest.raises(CardFailure, match=r"^dut: 1 of 2 links; expected all"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and bench.pulled() == set()

    def test_a_proven_outage_is_red_at_once(self, bonded: Stacking, found: Prober) -> None:
        found.finds = [lasting(LIMIT_MS + 1), {}]
        with pytest.raises(CardFailure, match=r"^dut to peer: outage 1101\.0 .*; sheet intel-82574l allows 1100 ms\n"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and len(found.ends) == 1

    def test_an_undecided_outage_does_not_hide_duplicates(self, bonded: Stacking, found: Prober) -> None:
        """Seven packets arrived twice: that is sure, though a stall may hide how long the outage was."""
        found.finds = [{**STALLED, "duplicated": 7}, {}]
        with pytest.raises(CardFailure, match=r"^dut to peer: .* 7 duplicated.*; expected none duplicated(?m:$)"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and len(found.ends) == 1

    def test_an_undecided_outage_does_not_hide_the_wrong_link(self, bonded: Stacking, found: Prober) -> None:
        found.finds, bonded.stays = [STALLED, {}], True
        with pytest.raises(CardFailure, match=r"^dut uses enp1s0; expected enp2s0 that has its link; sheet .* 50 ms"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert len(found.ends) == 1

    def test_three_stalls_are_undecided(self, bench: FakeBench, bonded: Stacking, found: Prober) -> None:
        found.finds = [STALLED]
        with pytest.raises(Undecided, match=r"^dut to peer: no outage; .*; sender: 3000 ticks"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and len(found.ends) == 3 and bench.said == ["pull", "plug"] * 2 + ["pull"]

    def test_a_stall_and_then_a_good_measurement_is_green(
        self, bonded: Stacking, found: Prober, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        warnings: list[str] = []
        monkeypatch.setattr("Outages.logger.warn", warnings.append)
        found.finds = [STALLED, {}]
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and len(found.ends) == 2
        assert len(warnings) == 1 and warnings[0].startswith("measured again after measurement 1 of 3: dut to peer: ")

    def test_a_measurement_that_is_repeated_counts_among_the_spoiled_runs(
        self, taken: Run, bonded: Stacking, found: Prober
    ) -> None:
        found.finds = [STALLED, {}]
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        lines = (taken.evidence_folder / spoiled_runs.FILE).read_text().splitlines()
        assert bonded and [json.loads(line)["stood"] for line in lines] == [["dut", "peer"], []]

    def test_an_outage_has_the_time_of_the_controllers_clock(
        self, bonded: Stacking, found: Prober, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines: list[str] = []
        monkeypatch.setattr("Outages.logger.info", lines.append)
        found.finds = [lasting(20)]
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        (line,) = [line for line in lines if line.startswith("  outage")]
        assert bonded and "from 01:00:00.250 UTC by the controller's clock, within 4 ms" in line

    def test_probes_are_no_load_for_a_slowed_path(
        self, bench: FakeBench, taken: Run, bonded: Stacking, found: Prober
    ) -> None:
        bench.edit(bench.file, ("rate_scale: 20", "rate_scale: 800"))
        taken.bench = bench.load()[0]
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage()
        assert bonded and found.periods_us == [4000]

    def test_a_vlan_on_the_bonds_is_measured_by_its_own_addresses(
        self, taken: Run, bonded: Stacking, found: Prober
    ) -> None:
        with pytest.raises(BenchFault, match="there is no VLAN"):
            Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage(over=Over.VLAN_ON_BOND)
        taken.part(HostVlans).on_bonds(3)
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage(over=Over.VLAN_ON_BOND)
        assert bonded and found.ends == [[("dut", "198.18.11.1"), ("peer", "198.18.11.2")]]


class TestBackupLink:
    def test_nothing_lost_is_green(self, bench: FakeBench, bonded: Stacking) -> None:
        Outages().losing_the_backup_link_should_cost_nothing()
        assert bonded and bench.pulled() == {"b"}

    def test_one_lost_packet_is_red(self, bonded: Stacking, found: Prober) -> None:
        found.finds = [lasting(1)]
        with pytest.raises(CardFailure, match=r"^dut to peer: .*; expected every packet once, and in time(?m:$)"):
            Outages().losing_the_backup_link_should_cost_nothing()
        assert bonded

    def test_packets_that_are_held_back_for_most_of_a_second_are_not_nothing(
        self, bonded: Stacking, found: Prober
    ) -> None:
        found.finds = [{"silent_most_ms": 900.0}]
        with pytest.raises(Undecided, match=r"^dut to peer: no outage; .*nothing arrived for 900 ms"):
            Outages().losing_the_backup_link_should_cost_nothing()
        assert bonded and len(found.ends) == outage.MEASUREMENTS

    def test_a_bond_that_changes_its_link_is_red(self, bench: FakeBench, bonded: Stacking) -> None:
        """Traffic goes on; but the bond has moved though its link was not touched."""
        assert bonded
        plain = prober.probing

        @contextmanager
        def moved(*arguments: Any) -> Iterator[Any]:
            with plain(*arguments) as probing:
                yield probing
                bench.cables.stuck |= {"dut.p0": False, "dut.p1": True}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(prober, "probing", moved)
            wanted = r"^dut uses enp2s0; expected enp1s0 as before the loss of another link\n"
            with pytest.raises(CardFailure, match=wanted):
                Outages().losing_the_backup_link_should_cost_nothing()


class TestEachLink:
    def test_each_is_lost_once(self, bench: FakeBench, taken: Run, stacking: Stacking, found: Prober) -> None:
        bond(taken, BondMode.BALANCE_RR)
        Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        assert stacking and len(found.ends) == 2 and bench.pulled() == {"b"}

    @pytest.mark.parametrize(
        ("keyword", "mode"),
        [
            ("losing_each_link_should_cost_at_most_the_allowed_outage", BondMode.BALANCE_RR),
            ("losing_each_link_should_cost_nothing", BondMode.BROADCAST),
        ],
    )
    def test_a_bench_of_three_paths_loses_three(
        self, taken: Run, stacking: Stacking, monkeypatch: pytest.MonkeyPatch, keyword: str, mode: BondMode
    ) -> None:
        bond(taken, mode)
        stacking.copies = mode is BondMode.BROADCAST
        lost, paths = list[str](), taken.bench.paths
        third = paths[1].model_copy(update={"name": "c"})
        monkeypatch.setattr(taken, "bench", taken.bench.model_copy(update={"paths": (*paths, third)}))
        monkeypatch.setattr(Bonds, "lose_path", lambda _, path, *__: lost.append(path.name))
        for name in ("make_whole", "require_causes"):
            monkeypatch.setattr(Bonds, name, lambda *_: None)
        getattr(Outages(), keyword)()
        assert lost == ["a", "b", "c"]

    def test_a_path_that_cannot_be_decided_hides_no_outage_of_another(
        self, bench: FakeBench, taken: Run, stacking: Stacking, found: Prober
    ) -> None:
        bond(taken, BondMode.BALANCE_RR)
        found.finds = [*[STALLED] * outage.MEASUREMENTS, lasting(LIMIT_MS + 1)]
        with pytest.raises(CardFailure, match=r"(?s)^dut to peer: outage 1101\.0 to 1103\.0 ms.*allows 1100 ms"):
            Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        assert stacking and bench.pulled() == {"b"}

    def test_a_path_that_cannot_be_decided_is_undecided_when_all_others_are_good(
        self, taken: Run, stacking: Stacking, found: Prober
    ) -> None:
        bond(taken, BondMode.BALANCE_RR)
        found.finds = [*[STALLED] * outage.MEASUREMENTS, {}]
        with pytest.raises(Undecided, match=r"^dut to peer: no outage; "):
            Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        assert stacking and len(found.ends) == outage.MEASUREMENTS + 1

    def test_packets_lost_one_by_one_are_red(self, taken: Run, stacking: Stacking, found: Prober) -> None:
        bond(taken, BondMode.BALANCE_RR)
        found.finds = [{"outages": (Outage(0, 0, 2, 1, 0, 1, True),) * (LIMIT_MS + 1)}]
        with pytest.raises(CardFailure, match="1101 were lost for sure, as many as are sent in 1101 ms"):
            Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        assert stacking and len(found.ends) == 1

    @pytest.mark.parametrize(("mode", "own_ms"), [(BondMode.BALANCE_ALB, 2000), (BondMode.BALANCE_TLB, 0)])
    def test_the_time_that_the_driver_takes_is_not_the_cards(
        self, taken: Run, stacking: Stacking, found: Prober, mode: BondMode, own_ms: int
    ) -> None:
        bond(taken, mode)
        found.finds = [lasting(LIMIT_MS + own_ms - 2)]
        Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        found.finds = [lasting(LIMIT_MS + own_ms + 1)]
        with pytest.raises(CardFailure) as caught:
            Outages().losing_each_link_should_cost_at_most_the_allowed_outage()
        last = "allows 1100 ms, and balance-alb takes up to 2000 ms of its own" if own_ms else "allows 1100 ms"
        assert stacking and str(caught.value).splitlines()[0].endswith(last)


class TestBroadcast:
    COPIES: ClassVar = {"duplicated": 3000}

    def test_copies_are_wanted_and_each_link_is_lost_once(
        self, bench: FakeBench, taken: Run, stacking: Stacking, found: Prober
    ) -> None:
        bond(taken, BondMode.BROADCAST)
        stacking.copies = True
        found.finds = [self.COPIES]
        Outages().losing_each_link_should_cost_nothing()
        assert len(found.ends) == 2 and bench.pulled() == {"b"}

    def test_a_packet_that_was_lost_is_red(self, taken: Run, stacking: Stacking, found: Prober) -> None:
        bond(taken, BondMode.BROADCAST)
        found.finds = [{**self.COPIES, **lasting(1)}]
        with pytest.raises(
            CardFailure, match=r"^dut to peer: .*; expected every packet, and in time\ncause of the lost"
        ):
            Outages().losing_each_link_should_cost_nothing()
        assert stacking and len(found.ends) == 1

    def test_copies_of_another_mode_are_red(self, taken: Run, stacking: Stacking, found: Prober) -> None:
        bond(taken, BondMode.BALANCE_RR)
        found.finds = [self.COPIES]
        with pytest.raises(CardFailure, match=r"3000 duplicated.*; expected every packet once"):
            Outages().losing_each_link_should_cost_nothing()
        assert stacking


class TestReturn:
    def test_a_primary_that_is_used_again_is_green(self, bench: FakeBench, taken: Run, stacking: Stacking) -> None:
        bond(taken, reselect=PrimaryReselect.ALWAYS)
        Outages().return_of_the_primary_link_should_cost_at_most_the_allowed_outage()
        assert stacking and bench.said == ["pull", "plug"]

    def test_one_that_is_not_is_red_though_the_outage_is_undecided(
        self, taken: Run, stacking: Stacking, found: Prober
    ) -> None:
        bond(taken)
        found.finds = [STALLED]
        with pytest.raises(CardFailure, match=r"^dut uses enp2s0; expected enp1s0 of path a; sheet"):
            Outages().return_of_the_primary_link_should_cost_at_most_the_allowed_outage()
        assert stacking and len(found.ends) == 1


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ((f"failover_within_ms: {LIMIT_MS}", "failover_within_ms: {unknown: test}"), SheetUnknown),
        ((f"  failover_within_ms: {LIMIT_MS}\n", ""), SheetSilent),
    ],
)
def test_without_a_limit_no_link_is_touched(
    bench: FakeBench, taken: Run, bonded: Stacking, change: tuple[str, str], kind: type[NotApplicable]
) -> None:
    bench.edit(bench.sheet, change)
    taken.card = bench.load()[1]
    with pytest.raises(kind, match=r"(does not know|says nothing about) limits\.failover_within_ms"):
        Outages().losing_the_active_link_should_cost_at_most_the_allowed_outage(Cause.CABLE)
    assert bonded and bench.said == []


def test_bonds_come_first(found: Prober) -> None:
    with pytest.raises(BenchFault, match="'Bond Both Hosts' comes first"):
        Outages().losing_the_backup_link_should_cost_nothing()
    assert found.ends == []
