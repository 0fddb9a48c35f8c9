"""Bonds that lose their driver, that balance, or that watch by ARP: each test of them is seen red by its defect."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from control_bench import REPOSITORY, Bench, only, run_with

pytestmark = [pytest.mark.bench, pytest.mark.slow]

DRIVER = "Losing The Driver Of The Active Link Costs At Most The Allowed Outage"
BALANCE_RR = "A balance-rr Bond Uses Every Link And One That Returns"
BALANCE_RR_LOST = "Losing A Link Of A balance-rr Bond Costs At Most The Allowed Outage"
BALANCE_XOR = "A balance-xor Bond Uses Every Link And One That Returns"
BALANCE_XOR_LOST = "Losing A Link Of A balance-xor Bond Costs At Most The Allowed Outage"
BALANCED = {
    "tlb": "Losing A Link Of A balance-tlb Bond Costs At Most The Allowed Outage",
    "alb": "Losing A Link Of A balance-alb Bond Costs At Most The Allowed Outage",
}
BY_ARP = "A Bond With ARP Monitoring Survives The Loss Of Its Link"
MOVING = "A Bond With fail_over_mac Active Survives The Loss Of Its Link"
FULL_RATE = "Traffic Has Its Full Rate After The Loss Of Its Link"
TWO_TAGS = "A VLAN In A VLAN Carries Traffic"
OUTAGE = r"(dut to peer|peer to dut): outage \d+\.\d to \d+\.\d ms.*; sheet intel-82574l allows 1100 ms"
FIRST_FUNCTION = "0000:01:00.0"


@pytest.mark.parametrize("test", [DRIVER, BY_ARP, MOVING])
def test_a_backup_path_that_carries_nothing(bench: Bench, test: str) -> None:
    message = run_with(bench, test, "cable:b", "silent").red[test]
    assert message.startswith("CardFailure: ") and re.search(OUTAGE, message), message
    assert "not over" in message


@pytest.mark.parametrize("test", [BALANCE_RR, BALANCE_XOR])
def test_a_link_that_is_sent_over_and_carries_nothing(bench: Bench, test: str) -> None:
    message = run_with(bench, test, "cable:b", "silent").red[test]
    assert re.search(r"peer\.p1 .* has received \d+ of 256 datagrams of niclab0; expected at least 64", message), (
        message
    )


def test_a_link_of_balance_rr_that_is_reported_lost_too_late(bench: Bench) -> None:
    """Every second packet arrives all the time: those that do not are counted."""
    message = run_with(bench, BALANCE_RR_LOST, "cable:a", "carrier_delay_s=5").red[BALANCE_RR_LOST]
    lost = r"(dut to peer|peer to dut): outage .*; \d+ were lost for sure, .*; sheet intel-82574l allows 1100 ms"
    assert message.startswith("CardFailure: ") and re.search(lost, message), message


def test_a_link_of_balance_xor_that_is_reported_lost_too_late(bench: Bench) -> None:
    message = run_with(bench, BALANCE_XOR_LOST, "cable:b", "carrier_delay_s=5").red[BALANCE_XOR_LOST]
    assert message.startswith("CardFailure: ") and re.search(OUTAGE, message), message


@pytest.mark.parametrize("mode", BALANCED)
def test_a_balancing_bond_whose_lost_link_is_seen_too_late(bench: Bench, mode: str) -> None:
    test = BALANCED[mode]
    message = run_with(bench, test, "cable:a.dut", "carrier_delay_s=8").red[test]
    assert message.startswith("CardFailure: ") and re.search(OUTAGE, message), message


def test_a_link_that_is_left_and_slow(bench: Bench) -> None:
    message = run_with(bench, FULL_RATE, "cable:b.dut", "rate_factor=0.3").red[FULL_RATE]
    assert re.match(r"CardFailure: dut\.p1 to peer\.p0 over active-backup bond: .*: missed$", message), message


def test_frames_with_two_tags_that_are_lost(bench: Bench) -> None:
    message = run_with(bench, TWO_TAGS, "cable:a", "silent").red[TWO_TAGS]
    assert re.search(r"CardFailure: dut to peer over niclab\.5\.3: 0 of 10 pings answered", message), message


def test_a_run_killed_without_the_driver_is_undone(bench: Bench) -> None:
    """The driver is given back, and the bond is gone, by ``niclab restore``."""
    process = subprocess.Popen(
        bench.command(*only(DRIVER)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        deadline = time.monotonic() + 120
        while _driver(bench) == "e1000e":
            assert time.monotonic() < deadline, "the driver was not taken"
            assert process.poll() is None, "the run ended"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert _driver(bench) == "none"
    niclab = [str(Path(sys.executable).with_name("niclab")), "restore", str(bench.file)]
    restored = subprocess.run(niclab, capture_output=True, text=True, cwd=REPOSITORY, timeout=120)
    assert restored.returncode == 0, restored.stdout + restored.stderr
    assert _driver(bench) == "e1000e"
    assert "niclab0" not in bench.ssh("dut", "ls /sys/class/net").split()


def _driver(bench: Bench) -> str:
    """The driver of the dut's first port."""
    look = f"d=$(readlink /sys/bus/pci/devices/{FIRST_FUNCTION}/driver); echo ${{d##*/}} none"
    return bench.ssh("dut", look).split()[0]
