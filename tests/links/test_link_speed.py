"""The party at fault for a slow link: by what both ends show, can do and are offered."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from niclab.bench.records import Role, Wiring
from niclab.core.verdict import Blamed
from niclab.hosts.host_records import LinkSettings
from niclab.links.link_speed import party
from niclab.run.run import Run

GIGABIT, MEGABIT = ("100baseT/Full", "1000baseT/Full"), ("10baseT/Full", "100baseT/Full")
BOTH = "its cable, or either end of it, may be why"


def settings(mbps: int | None, supported: tuple[str, ...], partner: tuple[str, ...] | None = None) -> LinkSettings:
    return cast(LinkSettings, SimpleNamespace(speed_mbps=mbps, supported=supported, partner=partner))


class _Port:
    def __init__(self, role: Role) -> None:
        self.role = role


DUT, PEER = _Port(Role.DUT), _Port(Role.PEER)


def blamed(port: _Port, dut: LinkSettings, peer: LinkSettings, wiring: Wiring = Wiring.DIRECT) -> tuple[Any, str]:
    bench = SimpleNamespace(
        partner=lambda of: PEER if of is DUT else DUT, path_of=lambda _: SimpleNamespace(through=wiring)
    )
    found: Any = {DUT: dut, PEER: peer}
    return party(cast(Run, SimpleNamespace(bench=bench)), cast(Any, port), found, 1000)


@pytest.mark.parametrize(
    ("dut", "peer", "of_dut", "of_peer"),
    [
        pytest.param(
            settings(100, GIGABIT), settings(100, GIGABIT), (None, BOTH), (None, BOTH), id="a bad pair of the cable"
        ),
        pytest.param(
            settings(100, MEGABIT), settings(100, GIGABIT), (Blamed.CARD, ""), (None, BOTH), id="a card that cannot"
        ),
        pytest.param(
            settings(100, GIGABIT),
            settings(100, MEGABIT),
            (Blamed.BENCH, "the other end of its link offers 10, 100 Mbit/s"),
            (Blamed.BENCH, ""),
            id="a peer that cannot",
        ),
        pytest.param(
            settings(100, GIGABIT, partner=MEGABIT),
            settings(100, GIGABIT),
            (Blamed.BENCH, "the other end of its link advertises 10, 100 Mbit/s"),
            (None, BOTH),
            id="a partner that advertises less",
        ),
        pytest.param(
            settings(100, GIGABIT), settings(1000, GIGABIT), (Blamed.CARD, ""), (Blamed.BENCH, ""), id="the dut alone"
        ),
        pytest.param(
            settings(None, GIGABIT), settings(100, GIGABIT), (Blamed.CARD, ""), (Blamed.BENCH, ""), id="no speed"
        ),
    ],
)
def test_an_end_of_a_cable(
    dut: LinkSettings, peer: LinkSettings, of_dut: tuple[Blamed | None, str], of_peer: tuple[Blamed | None, str]
) -> None:
    assert (blamed(DUT, dut, peer), blamed(PEER, dut, peer)) == (of_dut, of_peer)


def test_nobody_is_to_blame_for_a_slow_port_on_a_switch() -> None:
    slow = settings(100, GIGABIT)
    assert blamed(DUT, slow, settings(1000, GIGABIT), Wiring.SWITCH) == (None, BOTH)
    assert blamed(PEER, settings(1000, GIGABIT), slow, Wiring.SWITCH) == (Blamed.BENCH, "")
