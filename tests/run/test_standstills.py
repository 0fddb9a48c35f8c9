"""Pings that are lost while a server stalls prove nothing of the card; while both keep running they do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import PING, FakeHost
from stacking import Stacking, install

from Balancing import Balancing
from Bonding import Bonding
from HostLinks import HostLinks
from niclab.bench.records import Role
from niclab.core.verdict import CardFailure, Undecided
from niclab.hosts.bonds.bond_settings import BondMode
from niclab.links import patch_panel
from niclab.links.switched import SwitchedPath
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.traffic.flows import balance
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import Judgement, Over
from Vlans import Vlans

STANDS = pytest.mark.parametrize("stands", [None, *Role])


def verdict(stands: Role | None) -> AbstractContextManager[object]:
    if stands is None:
        return pytest.raises(CardFailure)
    return pytest.raises(Undecided, match=rf"\nmeanwhile {stands.value} stood still for 260 ms; expected both to keep")


@pytest.fixture
def stall(bench: FakeBench) -> Callable[[Role | None], None]:
    def stand(role: Role | None) -> None:
        if role is not None and not bench.ssh[role].stood:
            bench.ssh[role].stood = "stood 260\n"

    return stand


@pytest.fixture
def losing(monkeypatch: pytest.MonkeyPatch, stall: Callable[[Role | None], None]) -> Callable[[Role | None], None]:
    """From now on every ping of a plain port is lost, and a server stalls meanwhile."""

    def prepare(stands: Role | None) -> None:
        def ping(_: FakeHost, *__: Any, **___: Any) -> object:
            stall(stands)
            return replace(PING, received=9)

        monkeypatch.setattr(FakeHost, "ping", ping)

    return prepare


@pytest.fixture
def stacking(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, stall: Callable[[Role | None], None]
) -> Callable[[Role | None], Stacking]:
    """Fake bonds and VLANs over which every ping is lost."""
    assert taken

    def prepare(stands: Role | None) -> Stacking:
        made = install(monkeypatch, bench)
        made.mute, answered = True, made.answered

        def lost(*words: Any) -> int:
            stall(stands)
            return answered(*words)

        monkeypatch.setattr(made, "answered", lost)
        return made

    return prepare


@STANDS
@pytest.mark.parametrize("keyword", ["every_link_should_carry_traffic", "frames_of_the_largest_mtu_should_arrive"])
def test_of_links(
    bench: FakeBench, taken: Run, losing: Callable[[Role | None], None], keyword: str, stands: Role | None
) -> None:
    bench.edit(bench.sheet, ("\nerrata:", "\nmtu: {min: 68, max: 9000, default: 1500, source: test}\n\nerrata:"))
    taken.card = bench.load()[1]
    losing(stands)
    with verdict(stands):
        getattr(HostLinks(), keyword)()


@STANDS
def test_of_bonds(stacking: Callable[[Role | None], Stacking], stands: Role | None) -> None:
    stacking(stands)
    Bonding().bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    with verdict(stands):
        Bonding().bonds_should_carry_traffic()


@STANDS
def test_of_bonds_after_a_failover(
    taken: Run, stacking: Callable[[Role | None], Stacking], stands: Role | None
) -> None:
    """Certain results of the failover itself are kept apart from what a standstill may hide."""
    stacking(stands)
    Bonding().bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    found = Failover(taken, None, print, print)._traffic(Over.BOND)  # type: ignore[arg-type]  # no link fails here
    assert isinstance(found, Judgement)
    assert bool(found.proven) is (stands is None) and bool(found.possible) is (stands is not None)
    assert taken.part(Bonds).both


@STANDS
@pytest.mark.parametrize("keyword", ["vlans_should_carry_traffic", "vlans_should_carry_packets_of_full_size"])
def test_of_vlans(stacking: Callable[[Role | None], Stacking], keyword: str, stands: Role | None) -> None:
    stacking(stands)
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    with verdict(stands):
        getattr(vlans, keyword)()


@STANDS
def test_of_balancing_bonds(
    stacking: Callable[[Role | None], Stacking],
    stall: Callable[[Role | None], None],
    monkeypatch: pytest.MonkeyPatch,
    stands: Role | None,
) -> None:
    made = stacking(stands)
    made.idle.add("dut.p1")
    monkeypatch.setattr(balance, "COUNTED_WITHIN_S", 0.02)
    monkeypatch.setattr(Stacking, "send_datagrams", lambda *_: stall(stands))
    Bonding().bond_both_hosts(BondMode.BALANCE_RR, 100)
    with verdict(stands):
        Balancing().every_member_should_carry_its_share()


@STANDS
@pytest.mark.parametrize("check", ["require_traffic", "require_equal_counts"])
def test_over_the_switch(
    patched: Run,
    losing: Callable[[Role | None], None],
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    stands: Role | None,
) -> None:
    monkeypatch.setattr("niclab.links.switched.COUNTED_WITHIN_S", 0.2)
    patch_panel.connect(patched)
    losing(stands)
    with verdict(stands):
        getattr(patched.part(SwitchedPath), check)()


def test_answered_pings_are_green_whoever_stood_still(bench: FakeBench, taken: Run) -> None:
    assert taken
    ping = bench.dut.ping

    def slow(*words: Any, **more: Any) -> object:
        bench.ssh[Role.DUT].stood += "stood 260\n"
        return ping(*words, **more)

    bench.dut.ping = slow  # type: ignore[method-assign,assignment]
    HostLinks().every_link_should_carry_traffic()
