"""A switch that lies, leaks or forgets nothing, and a slow card behind it, are each seen by the test meant for it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench, only, run_with

pytestmark = pytest.mark.bench

SHUT = "A Shut Switch Port Is Seen By The Card In Time"
COUNTED = "Every Frame Is Counted By The Card And The Switch Alike"
FAILOVER = "Losing The Active Link At The Switch Costs At Most The Allowed Outage"
ISOLATED = "Ends In Different VLANs Of The Switch Are Isolated"
DIRECT = "Every Link Carries Traffic"
AGGREGATED = "A Returned Link Of An 802.3ad Bond Is Aggregated Again"


@pytest.mark.slow
def test_a_set_that_is_accepted_and_not_done(bench: Bench) -> None:
    run = run_with(bench, SHUT, "switch:", "set_ignored", COUNTED)
    assert run.red[SHUT].startswith(
        "BenchFault: port port1 cannot be set DOWN: sw: SET was accepted, but not done within"
    )


@pytest.mark.slow
def test_a_vlan_that_leaks(bench: Bench) -> None:
    run = run_with(bench, ISOLATED, "switch:port1", "vlan_leak", SHUT)
    assert re.match(r"BenchFault: sw: port1 \(dut\.p0\) has passed on \d+ frames of another VLAN", run.red[ISOLATED])


@pytest.mark.slow
def test_a_set_that_is_refused(bench: Bench) -> None:
    run = run_with(bench, SHUT, "switch:", "set_gen_err")
    assert re.match("(BenchFault|SnmpRefused): .*port1 cannot be set DOWN", run.red[SHUT])


@pytest.mark.slow
def test_an_agent_that_is_dead(bench: Bench) -> None:
    run = run_with(bench, SHUT, "switch:", "agent_dead")
    assert re.match("(BenchFault|ConnectionLost): .*no answer", run.red[SHUT])


@pytest.mark.slow
def test_addresses_that_stay_known_at_a_port_without_link(bench: Bench) -> None:
    run = run_with(bench, SHUT, "switch:", "fdb_not_flushed", FAILOVER)
    assert re.match(r"BenchFault: sw: port1 has no link, and the address .* is known there", run.red[SHUT])


@pytest.mark.slow
def test_a_link_whose_loss_is_seen_too_late(bench: Bench) -> None:
    run = run_with(bench, FAILOVER, "cable:a.dut", "carrier_delay_s=5")
    outage = r"(dut to peer|peer to dut): outage \d+\.\d to \d+\.\d ms.*; sheet intel-82574l allows 1100 ms"
    assert run.red[FAILOVER].startswith("CardFailure: ") and re.search(outage, run.red[FAILOVER]), run.red


@pytest.mark.slow
def test_counters_that_stand_still(bench: Bench) -> None:
    run = run_with(bench, COUNTED, "switch:port1", "counters_stuck", SHUT)
    stuck = r"BenchFault: (?s:.*)dut\.p0 .* has sent \d+ frames, the switch has received 0; expected all"
    assert re.match(stuck, run.red[COUNTED])


@pytest.mark.slow
@pytest.mark.parametrize("defect", ["lacp_other_system", "lacp_not_in_sync"])
def test_a_partner_that_is_not_one_or_not_in_sync(bench: Bench, defect: str) -> None:
    run = run_with(bench, AGGREGATED, "switch:port1", defect)
    assert run.red[AGGREGATED].startswith("BenchFault: sw: ") and "dut" in run.red[AGGREGATED], run.red


@pytest.mark.slow
def test_a_port_that_has_shut_itself_stops_the_suites_at_the_switch_alone(bench: Bench) -> None:
    bench.vbench("fault", "set", "switch:port1", "err_disabled")
    run = bench.run(*only(COUNTED, DIRECT))
    run.should_show(red={COUNTED}, green={DIRECT})
    assert "before the wiring proof: no carrier at dut.p0" in run.red[COUNTED]


@pytest.mark.slow
def test_crossed_cables_stop_the_suites_at_the_switch(bench: Bench) -> None:
    inject = (DIRECT, f"fault set --name {NAME} cable:a crossed", "")
    run = bench.run(*only(COUNTED, DIRECT), inject=inject)
    assert COUNTED in run.red
    assert re.search(r"sw: the address .* of peer\.p0 is at port4; expected port3 alone", run.red[COUNTED]), run.red


@pytest.mark.slow
def test_a_port_found_shut_is_told_and_left_shut(bench: Bench) -> None:
    bench.vbench("switch", "shut", "port4")
    run = bench.run(*only(COUNTED))
    assert "ports found shut that no run of this bench has shut: peer.p1 (port4) is DOWN" in run.setup_message
    assert "port4  peer.p1  shut" in bench.vbench("switch", "show")


@pytest.mark.slow
def test_a_run_killed_with_a_port_shut_is_undone(bench: Bench) -> None:
    """The port is open and the cables lie as before, by ``niclab restore``."""
    # a switch that forgets nothing keeps the test waiting with the port shut: time enough to kill it there
    bench.vbench("fault", "set", "switch:", "fdb_not_flushed")
    process = subprocess.Popen(
        bench.command(*only(SHUT)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while "port1  dut.p0   shut" not in bench.vbench("switch", "show"):
            assert time.monotonic() < deadline, "no port was shut"
            assert process.poll() is None, "the run ended"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "port1  dut.p0   shut" in bench.vbench("switch", "show")
    niclab = [str(Path(sys.executable).with_name("niclab")), "restore", str(bench.file)]
    restored = subprocess.run(niclab, capture_output=True, text=True, cwd=REPOSITORY, timeout=120)
    assert restored.returncode == 0, restored.stderr
    lines = restored.stdout.splitlines()
    undone = [number for number, line in enumerate(lines) if "undo: switch on switch: open port1" in line]
    assert undone == [0], restored.stdout  # before anything else
    assert "port1  dut.p0   open" in bench.vbench("switch", "show")
    assert _links(bench) == ["down"] * 4


def _links(bench: Bench) -> list[str]:
    """The state of each link at the switch: all are down when the cables lie directly."""
    rows = [line.split() for line in bench.vbench("switch", "show").splitlines() if line.startswith("port")]
    return [row[3] for row in rows[1:]]
