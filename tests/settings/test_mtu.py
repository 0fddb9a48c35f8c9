"""The MTU of both ends of a path: when ports go down and up, and which error ends a check."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from slow_mtu import SlowPorts

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.run.run import Run
from niclab.settings import mtu

ENDS = ("dut.p0", "peer.p0")


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mtu, "LINKS_WITHIN_S", 0.05)


@pytest.mark.parametrize("already", ["", "dut.p0", "peer.p0"])
def test_no_end_is_slow_inside_the_block_or_after_it(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, already: str
) -> None:
    """Also where one end has the MTU already."""
    if already:
        bench.nic(already).mtu = 9000
    slow, pending = SlowPorts(bench, monkeypatch), taken.journal.pending()
    with mtu.both_ends(taken, taken.bench.paths[0], 9000):
        assert {bench.nic(name).mtu for name in ENDS} == {9000} and slow.names == set()
    assert [bench.nic(name).mtu for name in ENDS] == [9000 if name == already else 1500 for name in ENDS]
    assert slow.names == set() and slow.changes == (2 if already else 4)
    assert taken.journal.pending() == pending


def test_an_mtu_that_is_there_already_changes_nothing(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, changes = SlowPorts(bench, monkeypatch), len(bench.dut.changes)
    with mtu.both_ends(taken, taken.bench.paths[0], 1500):
        assert len(bench.dut.changes) == changes
    assert slow.changes == 0 and len(bench.dut.changes) == changes


def test_a_change_without_down_and_up_is_still_put_back_with_it(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = SlowPorts(bench, monkeypatch)
    with mtu.both_ends(taken, taken.bench.paths[0], 9000, bounce=False):
        assert slow.names == set(ENDS)
    assert slow.names == set()


def test_a_killed_run_leaves_no_port_slow(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal alone puts the MTU of both ends back, then takes both down and up."""
    before = len(taken.journal.pending())
    with mtu.both_ends(taken, taken.bench.paths[0], 9000):
        left = [entry.action for entry in taken.journal.pending()[: len(taken.journal.pending()) - before]]
    slow = SlowPorts(bench, monkeypatch)
    for name in ENDS:
        bench.nic(name).mtu = 9000
    for action in left:
        taken.undo(action)
    assert {bench.nic(name).mtu for name in ENDS} == {1500} and slow.names == set()


def test_a_failure_of_the_card_is_not_hidden_by_a_link_that_stays_down(bench: FakeBench, taken: Run) -> None:
    with (
        pytest.raises(CardFailure, match="no carrier") as caught,
        mtu.both_ends(taken, taken.bench.paths[0], 9000, wait=False),
    ):
        bench.cables.stuck["dut.p0"] = False
        raise CardFailure("no carrier")
    assert "path a to have its link" in caught.value.__notes__[0]


def test_a_link_that_does_not_return_is_a_bench_fault(bench: FakeBench, taken: Run) -> None:
    bench.cables.stuck["dut.p0"] = False
    path = taken.bench.paths[0]
    with pytest.raises(BenchFault, match="path a to have its link"), mtu.both_ends(taken, path, 9000):
        raise AssertionError("the link is awaited before the block")
    assert {bench.nic(name).mtu for name in ENDS} == {1500}


def test_both_ports_are_down_at_once(bench: FakeBench, taken: Run) -> None:
    before = {role: len(host.changes) for role, host in bench.hosts.items()}
    mtu.register_down_and_up(taken, taken.bench.paths[0])
    mtu.take_down_and_up(taken, taken.bench.paths[0])
    for role in Role:
        words = [change for change, _ in bench.hosts[role].changes[before[role] :]]
        assert words == ["enp1s0 down", "enp1s0 up"]
