"""Failover over plain cables by every cause, and what a link costs there: each test is seen red by its defect.

The last controls take everything from the bench file that two servers and two cables do not have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from control_bench import Bench, only, run_with

pytestmark = [pytest.mark.bench, pytest.mark.slow]

FAILOVER = "Losing The Active Link Costs At Most The Allowed Outage"
OWN = "Taking The Card's Link Down Over Cables Costs At Most The Allowed Outage"
PARTNER = "Taking The Partner's Link Down Over Cables Costs At Most The Allowed Outage"
DRIVER = "Losing The Driver Of The Active Link Over Cables Costs At Most The Allowed Outage"
OVER_VLAN = "A VLAN On A Bond Survives The Loss Of A Link"
PARTNER_OVER_VLAN = "A VLAN On A Bond Survives The Loss Of The Partner's Link"
DRIVER_OVER_VLAN = "A VLAN On A Bond Survives The Loss Of The Driver"
COPIES = "A broadcast Bond Sends Every Frame Over Every Link And One That Returns"
COPIES_LOST = "Losing A Link Of A broadcast Bond Costs Nothing"
AGGREGATED_LOST = "Losing A Link Of An 802.3ad Bond Over Cables Costs At Most The Allowed Outage"
AGGREGATED_BACK = "A Returned Link Of An 802.3ad Bond Over Cables Is Aggregated Again"
RATE = "An active-backup Bond Has Its Full Rate"
RATE_LOST = "Traffic Over Cables Has Its Full Rate After Failover"
RATE_BACK = "Traffic Over Cables Has Its Full Rate After Fail-Back"
UNDER_LOAD = "A Connection Under Load Over Cables Survives The Loss And Return Of Its Link"
VLAN_RATE = "A VLAN On An active-backup Bond Is As Fast As The Sheet Allows"

CARD, BENCH = "CardFailure", "BenchFault"
OUTAGE = r"outage \d+\.\d to \d+\.\d ms(?s:.*); sheet intel-82574l allows 1100 ms"
EMULEX = "emulex-oce11102"


@dataclass(frozen=True)
class Failing:
    """A test, the defect of a cable that must turn it red, and what its message says then."""

    test: str
    target: str
    fault: str
    verdict: str
    says: str


CONTROLS = [
    Failing(OWN, "cable:a.peer", "carrier_stuck", CARD, rf"{OUTAGE}(?s:.*)path a: own-link \(dut\.p0 down, no carrier"),
    Failing(PARTNER, "cable:a.dut", "carrier_stuck", CARD, rf"{OUTAGE}(?s:.*)path a: partner-link \("),
    Failing(DRIVER, "cable:b", "silent", CARD, rf"{OUTAGE}(?s:.*)path a: driver-unload \(dut\.p0 without driver"),
    Failing(OVER_VLAN, "cable:b", "silent", CARD, rf"{OUTAGE}(?s:.*)path a: cable \(dut\.p0 up, no carrier"),
    Failing(PARTNER_OVER_VLAN, "cable:b", "silent", CARD, rf"{OUTAGE}(?s:.*)path a: partner-link \("),
    Failing(DRIVER_OVER_VLAN, "cable:b", "silent", CARD, rf"{OUTAGE}(?s:.*)path a: driver-unload \("),
    Failing(COPIES, "cable:b", "silent", CARD, r"p1 \S+ has received \d+ of 256 datagrams of niclab0; expected all"),
    Failing(
        COPIES_LOST, "cable:a.peer", "carrier_stuck", BENCH, r"^BenchFault: cause of the lost link of path a: one-end"
    ),
    Failing(AGGREGATED_LOST, "cable:b", "silent", CARD, OUTAGE),
    Failing(AGGREGATED_BACK, "cable:b", "silent", CARD, r"\d+ of 10 pings answered|hears LACPDUs of"),
    Failing(RATE, "cable:a.dut", "rate_factor=0.3", CARD, r"over active-backup bond: .*: missed"),
    Failing(RATE_LOST, "cable:b.dut", "rate_factor=0.3", CARD, r"over active-backup bond: .*: missed"),
    Failing(RATE_BACK, "cable:a.dut", "rate_factor=0.3", CARD, r"over active-backup bond: .*: missed"),
    Failing(UNDER_LOAD, "cable:b", "silent", CARD, r"have received \d+ bytes in 10 s, while TCP is sent"),
]


@pytest.mark.parametrize("each", CONTROLS, ids=lambda each: f"{each.target} {each.fault} {each.test}")
def test_a_defect_of_a_cable(bench: Bench, each: Failing) -> None:
    message = run_with(bench, each.test, each.target, each.fault).red[each.test]
    assert message.startswith(f"{each.verdict}: ") and re.search(each.says, message), message


def test_a_vlan_that_is_slow_on_a_bond(bench: Bench) -> None:
    bench.vbench("up", "--card", EMULEX)
    bench.file.write_text(bench.vbench("bench-file"))
    try:
        bench.vbench("fault", "set", "card:dut", "vlan-slow=1500")
        run = bench.run(*only(VLAN_RATE, RATE), card=EMULEX)
        run.should_show(red={VLAN_RATE}, green={RATE})
        assert run.red[VLAN_RATE].startswith("CardFailure: "), run.red
    finally:
        bench.vbench("up", "--card", "intel-82574l")


@pytest.fixture
def plain(bench: Bench, tmp_path: Path) -> list[str]:
    """Options of robot: the bench, described as two servers and two cables."""
    described: dict[str, Any] = yaml.safe_load(bench.file.read_text())
    del described["switch"]
    for server in described["servers"].values():
        del server["bmc"], server["console"]
    for path in described["paths"]:
        del path["pull"], path["plug"]
    file = tmp_path / bench.file.name
    file.write_text(yaml.safe_dump(described, sort_keys=False))
    return ["--variable", f"BENCH:{file}"]


def test_every_suite_over_cables_runs_on_two_servers_and_two_cables(bench: Bench, plain: list[str]) -> None:
    run = bench.run(*plain, "--suite", "over_cables", "--exclude", "slow")
    assert not run.red and not run.skipped and len(run.green) > 6, (run.red, run.skipped)


def test_failover_of_two_servers_and_two_cables_is_seen_red(bench: Bench, plain: list[str]) -> None:
    prefix = f"--name {bench.file.stem}"
    run = bench.run(
        *plain, *only(FAILOVER), inject=(FAILOVER, f"fault set {prefix} cable:b silent", f"fault clear {prefix}")
    )
    message = run.red[FAILOVER]
    assert re.search(rf"{OUTAGE}(?s:.*)path a: own-link \(.*\); expected own-link", message), message
