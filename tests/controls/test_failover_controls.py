"""A bond that does not fail over, or not in time, is seen red, with the measured outage and the sheet's limit."""

from __future__ import annotations

import re

import pytest
from control_bench import NAME, Bench

pytestmark = pytest.mark.bench

FAILOVER = "Losing The Active Link Costs At Most The Allowed Outage"
BACKUP = "Losing The Backup Link Costs Nothing"
OUTAGE = r"(dut to peer|peer to dut): outage \d+\.\d to \d+\.\d ms.*; sheet intel-82574l allows 1100 ms"


def run_with(bench: Bench, test: str, target: str, fault: str) -> str:
    """The message of the test that must go red when the fault comes before the outage is measured."""
    inject = (test, f"fault set --name {NAME} {target} {fault}", f"fault clear --name {NAME}")
    run = bench.run("--test", test, inject=inject)
    run.should_show(red={test})
    return run.red[test]


@pytest.mark.slow
def test_a_link_that_is_reported_lost_too_late(bench: Bench) -> None:
    message = run_with(bench, FAILOVER, "cable:a", "carrier_delay_s=8")
    assert message.startswith("CardFailure: ") and re.search(OUTAGE, message), message


@pytest.mark.slow
def test_a_backup_path_that_carries_nothing(bench: Bench) -> None:
    message = run_with(bench, FAILOVER, "cable:b", "silent")
    assert message.startswith("CardFailure: ") and re.search(OUTAGE, message), message
    assert "not over" in message


@pytest.mark.slow
def test_packets_lost_on_the_link_that_stays(bench: Bench) -> None:
    message = run_with(bench, BACKUP, "cable:a.dut", "loss=0.01")
    assert message.startswith("CardFailure: dut to peer: outage"), message
    assert "expected every packet once, and in time" in message
