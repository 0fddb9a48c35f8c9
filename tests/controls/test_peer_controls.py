"""A defect of the peer's card is a fault of the bench; one that either card may have is nobody's without a proof."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from control_bench import Bench, only
from defect import BROADCOM

pytestmark = [pytest.mark.bench, pytest.mark.slow]

ONCE, CARRIES = "Every Frame Arrives Once In Order And Unchanged", "Every Link Carries Traffic"
OF_PEER = {
    "rx-flip=50": "peer.p1 to peer.p0",
    "tx-flip=50": "peer.p0 to peer.p1",
    "rx-reorder=20": "peer.p1 to peer.p0",
}
"""Defect of the peer's first port -> the way past the dut on which it is seen."""


@pytest.fixture
def broadcom(bench: Bench) -> Iterator[Bench]:
    """The bench with a virtual card in both servers, which has defects."""
    if BROADCOM not in bench.vbench("cards"):
        bench.vbench("up", "--card", BROADCOM)
        bench.file.write_text(bench.vbench("bench-file"))
    yield bench
    bench.vbench("fault", "clear")


@pytest.mark.parametrize("defect", OF_PEER)
def test_a_defect_of_the_peer_is_a_fault_of_the_bench(broadcom: Bench, defect: str) -> None:
    broadcom.vbench("fault", "set", "card:peer.p0", defect)
    run = broadcom.run(*only(ONCE, CARRIES), card=BROADCOM)
    run.should_show(red={ONCE}, green={CARRIES})
    said = rf"BenchFault: (?s:.*)peer\.p0 \(\S+\) does so without the card: {OF_PEER[defect]}: "
    assert re.match(said, run.red[ONCE]), run.red[ONCE]


def test_without_a_way_past_the_card_nobody_is_charged(broadcom: Bench, tmp_path: Path) -> None:
    described: dict[str, Any] = yaml.safe_load(broadcom.file.read_text())
    del described["switch"]
    file = tmp_path / broadcom.file.name
    file.write_text(yaml.safe_dump(described, sort_keys=False))
    broadcom.vbench("fault", "set", "card:dut.p0", "rx-flip=50")
    run = broadcom.run("--variable", f"BENCH:{file}", *only(ONCE, CARRIES), card=BROADCOM)
    run.should_show(red={ONCE}, green={CARRIES})
    assert re.match(r"Undecided: (?s:.*)nobody knows whether peer\.p0 \(\S+\) did it: bench ", run.red[ONCE]), run.red
