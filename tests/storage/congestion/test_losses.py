"""The losses on a congested SAN: those that the switch counts are explained, those of the dut's port are the card's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from niclab.bench.records import Role
from niclab.hosts.counts.load_records import FrameCounters
from niclab.run.watching.standstill import Stood
from niclab.storage.congestion.losses import Lost, lost_of
from niclab.storage.disk_counts import DiskCounts
from niclab.switch.switch_records import COUNTERS
from niclab.traffic.runs.switch_counts import PortCount

NOTHING = FrameCounters(0, 0, 0, 0, 0, 0, 0, 0, 0)
LOST = Lost(Role.PEER, sent=5000, again=300, by_switch=0, by_peer=0, by_dut=0)


def port(name: str, **counted: int) -> PortCount:
    return PortCount(name, "port1", dict.fromkeys(COUNTERS, 0) | counted)


def test_counts_are_those_of_each_direction() -> None:
    counts = DiskCounts(0, 0, 0, 0, 0, 0, dut_resent=7, peer_resent=300, dut_sent=2000, peer_sent=5000)
    switch = (
        port("dut.p0", out_discards=200, out_errors=1, in_errors=64, in_discards=2),
        port("dut.p1", out_discards=9999),
        port("peer.p0", in_errors=3, in_discards=4, out_discards=10),
        port("peer.p1", in_errors=5, out_discards=20),
    )
    ports = {
        "dut.p0": replace(NOTHING, rx_missed_errors=30, tx_errors=1, tx_dropped=2),
        "peer.p0": replace(NOTHING, tx_dropped=40, rx_missed_errors=6),
        "peer.p1": replace(NOTHING, tx_errors=50, rx_errors=7),
    }
    from_peer, from_dut = lost_of(counts, switch, ports, "dut.p0")
    assert from_peer == Lost(Role.PEER, 5000, 300, by_switch=213, by_peer=90, by_dut=30)
    # damaged frames of the dut, which the switch refuses, explain nothing
    assert from_dut == Lost(Role.DUT, 2000, 7, by_switch=32, by_peer=13, by_dut=3)


@pytest.mark.parametrize(
    "changes",
    [{"by_switch": 300}, {"by_switch": 250}, {"by_peer": 260}, {"again": 50}, {"again": 10, "sent": 0}],
    ids=["all by the switch", "but for a hundredth", "by the peer", "a hundredth", "a burst"],
)
def test_explained_losses_are_no_fault(changes: dict[str, int]) -> None:
    found = replace(LOST, **changes).judgement("a load", (), ())
    assert not found.proven and not found.possible


def test_losses_of_two_times_are_added() -> None:
    first, second = Lost(Role.DUT, 1, 2, 3, 4, 5), Lost(Role.DUT, 10, 20, 30, 40, 50)
    assert first.plus(second) == Lost(Role.DUT, 11, 22, 33, 44, 55)


def test_losses_that_nobody_counts_are_nobodys() -> None:
    found = LOST.judgement("a load", (), ())
    assert not found.proven and found.possible == [
        "a load: peer sent 300 TCP segments again, 5000 others; counted as lost on their way: by the switch 0, by the "
        "peer's ports 0, by the dut's port 0; expected at most 1% without such a count (assumption)"
    ]
    assert replace(LOST, by_switch=100, by_dut=199).judgement("a load", (), ()).possible


def test_losses_that_the_duts_port_counts_are_the_cards_unless_the_bench_explains_them() -> None:
    lost = replace(LOST, by_switch=100, by_dut=200)
    assert lost.judgement("a load", (), ()).proven
    for stood, hindrances in (((Stood("dut", 300),), ()), ((), ("dut.p0: no free CPU",))):
        found = lost.judgement("a load", stood, hindrances)
        assert not found.proven and "; dut" in found.possible[0]
