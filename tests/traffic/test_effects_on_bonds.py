"""The cost of a bond and of a VLAN on it: a VLAN that is slow is red, and everything is removed again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost, changes
from fake_settings import with_sheet
from measured_states import States
from stacking import Stacking, install

from Effects import Effects
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent
from niclab.hosts.bonds.bond_records import Bond
from niclab.hosts.counts.load_records import FrameCounters
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.traffic.limits import bottleneck
from niclab.traffic.runs import measuring

EFFECTS = """
effects:
  - name: bond
    requirement: SUS-06
    change: [{kind: bond, to: active-backup}]
    wanted: {loses_at_most_percent: 20}
    source: test
  - name: vlan-on-bond
    requirement: SUS-07
    under: [{kind: bond, to: active-backup}]
    change: [{kind: vlan-on-bond, to: 3}]
    wanted: {loses_at_most_percent: 10}
    source: test
  - name: vlan-alone
    requirement: SUS-07
    change: [{kind: vlan-on-bond, to: 3}]
    wanted: {loses_at_most_percent: 10}
    source: test
"""


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    monkeypatch.setattr(mtu, "LINKS_WITHIN_S", 0.2)
    with_sheet(bench, taken, more=EFFECTS)
    made = install(monkeypatch, bench)
    plain = FakeHost.frame_counters

    def frame_counters(self: FakeHost, iface: str) -> FrameCounters:
        upper = made.uppers[self.name].get(iface)
        if upper is None:
            return plain(self, iface)
        on_port = [nic.iface for nic in self.nics if nic.iface in upper.below and upper.vlan_id]
        return plain(self, on_port[0] if on_port else self.nics[1 if upper.vlan_id else 0].iface)

    monkeypatch.setattr(FakeHost, "frame_counters", frame_counters)
    return made


@pytest.fixture
def states(bench: FakeBench, stacking: Stacking) -> States:
    assert stacking
    return States(bench)


def ask(name: str) -> None:
    Effects().effect_should_be_as_on_the_sheet(name, Profile.QUICK)


@pytest.mark.parametrize(("tagged", "verdict"), [(46.0, None), (15.5, CardFailure)])
def test_a_vlan_on_a_bond_is_as_fast_as_the_bond(
    states: States, stacking: Stacking, taken: Run, tagged: float, verdict: type[Exception] | None
) -> None:
    before = changes(taken.journal)
    states.rate = lambda command: tagged if "198.18.11." in command else 47.0
    if verdict is None:
        ask("vlan-on-bond")
    else:
        with pytest.raises(
            verdict, match=r"^dut\.p0 to peer\.p0, vlan-on-bond: -67\.0\d? % change from baseline.*at most 10 % worse"
        ):
            ask("vlan-on-bond")
    assert {"198.18.11.2" in command for command in states.commands} == {True, False}
    assert stacking.uppers == {"dut": {}, "peer": {}} and changes(taken.journal) == before


LIMIT = ("carrier_loss_within_ms: 1000", "vlan_fraction_of_untagged: 0.9\n  carrier_loss_within_ms: 1000")


@pytest.mark.parametrize(("tagged", "verdict"), [(46.0, None), (5.0, CardFailure)])
def test_a_vlan_carries_the_fraction_of_untagged(
    bench: FakeBench,
    states: States,
    stacking: Stacking,
    taken: Run,
    tagged: float,
    verdict: type[Exception] | None,
) -> None:
    bench.edit(bench.sheet, LIMIT)
    taken.card, before = bench.load()[1], changes(taken.journal)
    states.rate = lambda _: tagged if stacking.uppers["dut"] else 47.0
    if verdict is None:
        Effects().tcp_in_a_vlan_should_reach_the_fraction_on_the_sheet(Profile.QUICK)
    else:
        message = (
            r"^dut\.p0 to peer\.p0, vlan: -89\.\d+ % change from baseline.*at most 10 % worse .*vlan_fraction_of_untag"
        )
        with pytest.raises(verdict, match=message) as caught:
            Effects().tcp_in_a_vlan_should_reach_the_fraction_on_the_sheet(Profile.QUICK)
        assert "dut.p1 to peer.p1, vlan" in str(caught.value), "each path is asked"
    assert stacking.uppers == {"dut": {}, "peer": {}} and changes(taken.journal) == before


def test_a_vlan_is_not_measured_where_the_sheet_has_no_fraction(bench: FakeBench, states: States, taken: Run) -> None:
    assert states
    with pytest.raises(SheetSilent, match=r"says nothing about limits\.vlan_fraction_of_untagged"):
        Effects().tcp_in_a_vlan_should_reach_the_fraction_on_the_sheet(Profile.QUICK)
    bench.edit(bench.sheet, (LIMIT[0], LIMIT[1].replace("0.9", "{unknown: test}")))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=r"does not know limits\.vlan_fraction_of_untagged"):
        Effects().tcp_in_a_vlan_should_reach_the_fraction_on_the_sheet(Profile.QUICK)


@pytest.mark.parametrize(("bonded", "verdict"), [(40.0, None), (30.0, CardFailure)])
def test_a_bond_may_cost_what_the_sheet_says(
    states: States, stacking: Stacking, bonded: float, verdict: type[Exception] | None
) -> None:
    states.rate = lambda _: bonded if stacking.uppers["dut"] else 47.0
    if verdict is None:
        ask("bond")
    else:
        with pytest.raises(verdict, match=r"bond: -36\."):
            ask("bond")
    assert stacking.uppers == {"dut": {}, "peer": {}}


def test_both_bonds_use_the_first_path_before_anything_is_measured(
    states: States, stacking: Stacking, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths are cables here: bonds that use different ones would not reach each other."""
    plain = Stacking.seen

    def other(self: Stacking, host: str, name: str) -> Bond:
        found = plain(self, host, name)
        return replace(found, active_slave="enp2s0") if host == "dut" else found

    monkeypatch.setattr(Stacking, "seen", other)
    with pytest.raises(BenchFault, match="every member of both bonds to have its link, and that of the first path"):
        ask("bond")
    assert len(states.commands) == 1  # the one without the bond
    assert stacking.uppers == {"dut": {}, "peer": {}}


def test_a_vlan_without_a_bond_to_lie_on_is_refused(states: States) -> None:
    with pytest.raises(BenchFault, match="a VLAN on a bond is wanted without a bond"):
        ask("vlan-alone")
    assert len(states.commands) == 1


def test_a_bond_that_cannot_be_made_leaves_nothing(states: States, stacking: Stacking) -> None:
    stacking.refuses = True
    with pytest.raises(BenchFault, match="miimon reads 0"):
        ask("bond")
    assert stacking.uppers == {"dut": {}, "peer": {}} and states
