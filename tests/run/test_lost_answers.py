"""A lost answer of a server or of the switch is a fault of the bench: never the card's failure, and never a pass."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_parts import PING, FakeHost
from fake_switch import FakeSwitch
from stacking import Stacking, install

from Balancing import Balancing
from Bonding import Bonding
from LinkFailures import LinkFailures
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.core.wait import NotInTime, persistent_problems, until
from niclab.hosts.bonds.bond_settings import BondMode
from niclab.links import patch_panel
from niclab.links.link_loss import MemberLink
from niclab.links.switched import SwitchedPath
from niclab.links.upper import lacp
from niclab.run.run import Run
from niclab.switch import tables
from niclab.traffic.flows import balance, tcp
from niclab.transports import ConnectionLost


class Losing:
    """Raises ConnectionLost in place of an answer."""

    def __init__(self, of: str) -> None:
        self.of = of

    def __call__(self, *_: object, **__: object) -> None:
        raise ConnectionLost(f"{self.of}: connection lost")


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert taken
    made = install(monkeypatch, bench)
    Bonding().bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    return made


@pytest.mark.parametrize("error", [NotInTime, BenchFault])
def test_late_is_told_from_lost(error: type[Exception]) -> None:
    with pytest.raises(error, match="a link: not within 0 s"):
        until(lambda: False, within=0, what="a link", error=error)
    with pytest.raises(ConnectionLost):
        until(Losing("peer"), within=0, what="a link", error=error)


def test_problems_persist_until_a_look_finds_none() -> None:
    looks = iter([["a"], ["b"], []])
    assert persistent_problems(lambda: next(looks), within=5, every=0) == []
    assert persistent_problems(lambda: ["late"], within=0) == ["late"]
    with pytest.raises(ConnectionLost, match="peer: connection lost"):
        persistent_problems(Losing("peer"), within=0)  # type: ignore[arg-type]  # it does not return


@pytest.mark.parametrize("role", list(Role))
def test_members(stacking: Stacking, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    assert stacking
    monkeypatch.setattr(bench.hosts[role], "bond", Losing(role.value), raising=False)
    with pytest.raises(ConnectionLost, match=f"^{role.value}: connection lost$"):
        Bonding().every_member_should_be_up()


def test_the_link_in_use(stacking: Stacking, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stacking
    LinkFailures().lose_the_link(MemberLink.FIRST)
    monkeypatch.setattr(bench.peer, "bond", Losing("peer"), raising=False)
    for keyword in (
        LinkFailures().active_link_should_be_another,
        LinkFailures().active_link_should_be_unchanged,
        LinkFailures().active_link_should_be_the_second,
    ):
        with pytest.raises(ConnectionLost):
            keyword()


@pytest.mark.parametrize("role", list(Role))
def test_shares(stacking: Stacking, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, role: Role) -> None:
    """The answer is lost in the first look, when no share has been counted yet."""
    stacking.idle.add("dut.p1")
    monkeypatch.setattr(balance, "COUNTED_WITHIN_S", 0.02)
    plain = Stacking.send_datagrams

    def send(self: Stacking, host: str) -> None:
        plain(self, host)
        monkeypatch.setattr(bench.hosts[role], "statistics", Losing(role.value))

    monkeypatch.setattr(Stacking, "send_datagrams", send)
    with pytest.raises(ConnectionLost):
        Balancing().every_member_should_carry_its_share()


def test_traffic_that_should_flow_on(taken: Run, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    plain, asked = bench.peer.statistics, []

    def statistics(iface: str) -> object:
        asked.append(iface)
        return plain(iface) if len(asked) <= 2 else Losing("peer")()

    monkeypatch.setattr(bench.peer, "statistics", statistics)
    monkeypatch.setattr(tcp, "FLOW_WITHIN_S", 0.05)
    with pytest.raises(ConnectionLost):
        tcp.require_flow(taken, Role.PEER)


def test_aggregation(patched: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    patch_panel.connect(patched)
    monkeypatch.setattr(lacp, "problems", Losing("sw1"))
    monkeypatch.setattr(lacp, "AGGREGATED_WITHIN_S", 0.05)
    with pytest.raises(ConnectionLost, match=r"^sw1: connection lost$"):
        lacp.require_aggregated(patched, [object()])  # type: ignore[list-item]  # nothing is asked of it


def test_frames_counted_by_the_switch(patched: Run, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> None:
    assert switch
    patch_panel.connect(patched)
    plain, asked = SwitchedPath._counted, []

    def counted(path: SwitchedPath) -> object:
        asked.append(path)
        return plain(path) if len(asked) == 1 else Losing("sw1")()

    monkeypatch.setattr("niclab.links.switched.COUNTED_WITHIN_S", 0.2)
    monkeypatch.setattr(SwitchedPath, "_counted", counted)
    monkeypatch.setattr(FakeHost, "ping", lambda *_, **__: PING)
    with pytest.raises(ConnectionLost, match=r"^sw1: connection lost$"):
        patched.part(SwitchedPath).require_equal_counts()


def test_an_address_that_the_switch_forgets(patched: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A switch that does not answer is not one that does not forget."""
    patch_panel.connect(patched)
    path = patched.part(SwitchedPath)
    path.shut()
    monkeypatch.setattr(tables.Tables, "ports_of_mac", Losing("sw1"))
    with pytest.raises(ConnectionLost, match=r"^sw1: connection lost$"):
        path.require_reported_loss()
