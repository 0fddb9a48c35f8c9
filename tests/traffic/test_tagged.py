"""TCP in a VLAN: both ends of the path get one with the address of their port, and lose it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from fake_bench import FakeBench
from stacking import install

from niclab.bench.records import Role, Wiring
from niclab.core.verdict import NotApplicable
from niclab.run.run import Run
from niclab.traffic.flows import in_vlan, tcp


def test_traffic_flows_between_two_vlans(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stacking, seen = install(monkeypatch, bench), list[set[str]]()

    @contextmanager
    def steady(*_: object) -> Iterator[str]:
        seen.append({name for uppers in stacking.uppers.values() for name in uppers})
        yield "job"

    monkeypatch.setattr(tcp, "steady", steady)
    with in_vlan.steady(taken, taken.bench.paths[0], Role.PEER) as job:
        assert job == "job" and stacking.uppers["dut"]["enp1s0.3"].addresses == ["198.18.10.1/24"]
    assert seen == [{"enp1s0.3"}] and stacking.uppers == {"dut": {}, "peer": {}}


def test_a_path_through_a_switch_carries_no_tag(taken: Run) -> None:
    path = taken.bench.paths[1].model_copy(update={"through": Wiring.SWITCH})
    with pytest.raises(NotApplicable, match="path b leads through a switch"), in_vlan.vlans(taken, path):
        pass
