"""Each check is seen red: by the defect it is there for, with a message naming subject, measured, wanted, source."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench, only

pytestmark = pytest.mark.bench

IDLE = "The Link Is As On The Sheet When Idle"
PULLED = "A Pulled Cable Is Seen At Both Ends In Time"
PLUGGED = "A Plugged Cable Carries Traffic Again In Time"
ON_SHEET = "Every Port Is The Card On The Sheet"
CARRIES = "Every Link Carries Traffic"
SENDS = "The Dut Sends At The Rate On The Sheet"
RECEIVES = "The Dut Receives At The Rate On The Sheet"
AT_BOOT = "The Driver Is Loaded After A Power Cycle"
EVIDENCE = "Every Tool That Gives Evidence Of A Failure Answers"
SHOWN = "Every BMC Reports The Power As It Is"


class TestWrongSheet:
    """The sheet asks for what the card is not: a card that is not what its sheet says, seen from the other side."""

    @pytest.mark.slow
    def test_firmware(self, bench: Bench) -> None:
        sheet = bench.sheet(firmware=('\n  required: ["2.1-0"]', '\n  required: ["2.2-0"]'))
        run = bench.run("--suite", "identity", "--suite", "firmware", card=sheet)
        run.should_show(red={"The Firmware Is One The Sheet Wants"})
        message = run.red["The Firmware Is One The Sheet Wants"]
        assert message.startswith("CardFailure: dut.p0 (0000:01:00.0) runs firmware 2.1-0, sheet intel-82574l")
        assert {"Every Port Is The Card On The Sheet", "All Ports Run The Same Firmware"} <= run.green

    @pytest.mark.slow
    def test_device_id(self, bench: Bench) -> None:
        sheet = bench.sheet(device=('device_id: "10d3"', 'device_id: "10d4"'))
        run = bench.run("--suite", "identity", card=sheet)
        run.should_show(red={"Every Port Is The Card On The Sheet", "The Dut Shows As Many Ports As The Sheet Says"})
        assert "is 8086:10d3; expected 8086:10d4 (sheet intel-82574l)" in run.red["Every Port Is The Card On The Sheet"]

    @pytest.mark.slow
    def test_pcie_width(self, bench: Bench) -> None:
        sheet = bench.sheet(width=("  width: 1\n", "  width: 4\n"))
        run = bench.run(*only(IDLE, "Every Link Is Up"), card=sheet)
        run.should_show(red={IDLE})
        assert "dut.p0 (0000:01:00.0) trained to x1 (" in run.red[IDLE]
        assert "expected x4 (sheet intel-82574l)" in run.red[IDLE]

    @pytest.mark.slow
    def test_pcie_speed_in_every_state(self, bench: Bench) -> None:
        sheet = bench.sheet(speed=("  speed_gts: 2.5\n", "  speed_gts: 5\n"))
        run = bench.run("--suite", "pcie", card=sheet)
        assert len(run.red) == 4 and all(name.startswith("The Link Counts No Errors") for name in run.green)
        assert all("trained to 2.5 GT/s" in message for message in run.red.values())

    @pytest.mark.slow
    def test_link_speed(self, bench: Bench) -> None:
        speeds = "speeds_mbps: [10, 100, 1000"
        sheet = bench.sheet(speed=("speed_mbps: 1000", "speed_mbps: 10000"), speeds=(speeds, f"{speeds}, 10000"))
        run = bench.run(*only("Every Link Is Up", "Every Link Runs At The Speed On The Sheet"), card=sheet)
        run.should_show(red={"Every Link Runs At The Speed On The Sheet"})
        assert "has speed_mbps 1000; expected 10000 (sheet intel-82574l)" in next(iter(run.red.values()))

    @pytest.mark.slow
    def test_driver(self, bench: Bench) -> None:
        sheet = bench.sheet(module=("module: e1000e", "module: igb"))
        run = bench.run(*only("Every Port Is Driven By The Driver On The Sheet", ON_SHEET), card=sheet)
        run.should_show(red={"Every Port Is Driven By The Driver On The Sheet"}, green={ON_SHEET})


class TestCables:
    @pytest.mark.slow
    def test_carrier_that_stays_is_seen(self, bench: Bench) -> None:
        inject = (PULLED, f"fault set --name {NAME} cable:a.dut carrier_stuck", f"fault clear --name {NAME}")
        run = bench.run(*only(PULLED, PLUGGED), inject=inject)
        run.should_show(red={PULLED})
        wanted = "dut.p0 (0000:01:00.0) has still carrier after 1000 ms, all that sheet intel-82574l allows"
        assert run.red[PULLED] == f"CardFailure: {wanted}"

    @pytest.mark.slow
    def test_carrier_that_goes_late_is_seen(self, bench: Bench) -> None:
        inject = (PULLED, f"fault set --name {NAME} cable:a carrier_delay_s=3", f"fault clear --name {NAME}")
        run = bench.run(*only(PULLED), inject=inject)
        assert run.red[PULLED].startswith("CardFailure: dut.p0")

    @pytest.mark.slow
    def test_a_silent_cable_is_seen(self, bench: Bench) -> None:
        inject = (CARRIES, f"fault set --name {NAME} cable:b.peer silent", f"fault clear --name {NAME}")
        run = bench.run(*only("Every Link Is Up", CARRIES), inject=inject)
        run.should_show(red={CARRIES})
        assert "dut.p1 (0000:02:00.0) to peer.p1: 0 of 10 pings answered" in run.red[CARRIES]
        assert "dut.p0" not in run.red[CARRIES]

    @pytest.mark.slow
    def test_a_slow_direction_is_seen_in_that_direction(self, bench: Bench) -> None:
        bench.vbench("fault", "set", "cable:a.dut", "rate_factor=0.5")
        run = bench.run(*only(SENDS, RECEIVES))
        blamed = {name: message for name, message in run.red.items() if not message.startswith("Undecided: ")}
        assert set(blamed) == {SENDS}, run.red  # other work on the controller may leave the sound direction undecided
        assert "dut.p0 to peer.p0: 1" in run.red[SENDS]  # 11.7 of 25 Mbit/s
        assert "sheet intel-82574l: 0.85 of line rate" in run.red[SENDS]

    @pytest.mark.slow
    def test_a_cable_that_loses_frames_is_seen(self, bench: Bench) -> None:
        bench.vbench("fault", "set", "cable:b.peer", "loss=0.05")
        run = bench.run(*only(SENDS, RECEIVES))
        assert RECEIVES in run.red and "peer.p1 to dut.p1" in run.red[RECEIVES]

    @pytest.mark.slow
    def test_crossed_cables_stop_the_run_before_any_verdict(self, bench: Bench) -> None:
        bench.vbench("fault", "set", "cable:a", "crossed")
        run = bench.run(*only("Every Link Is Up"))
        assert not run.green
        assert "BenchFault: path a broken: still carrier at peer.p0" in run.red["Every Link Is Up"]


class TestDriver:
    @pytest.mark.slow
    def test_a_driver_that_does_not_load_at_boot_is_seen(self, bench: Bench) -> None:
        bench.ssh("dut", "echo blacklist e1000e > /etc/modprobe.d/control.conf && sync")
        try:
            run = bench.run(*only(AT_BOOT, "Every Link Is Up"))
        finally:
            bench.ssh("dut", "rm /etc/modprobe.d/control.conf && sync")
        run.should_show(red={AT_BOOT})
        assert run.red[AT_BOOT].startswith("CardFailure: dut: driver e1000e is not loaded after boot")


class TestEvidence:
    @pytest.mark.slow
    def test_a_tool_that_is_not_installed_is_named(self, bench: Bench) -> None:
        tool = "/usr/bin/vmstat"
        inject = (
            EVIDENCE,
            f"ssh --name {NAME} dut mv {tool} {tool}.gone",
            f"ssh --name {NAME} dut mv {tool}.gone {tool}",
        )
        run = bench.run(*only(EVIDENCE), inject=inject)
        run.should_show(red={EVIDENCE})
        assert re.search(r"^BenchFault: dut-system-load\.txt: .*vmstat: .*not found", run.red[EVIDENCE]), run.red


class TestBmc:
    @pytest.mark.slow
    def test_a_silent_bmc_is_a_bench_fault(self, bench: Bench) -> None:
        inject = (SHOWN, f"fault set --name {NAME} bmc:peer drop", f"fault clear --name {NAME}")
        run = bench.run(*only(SHOWN), inject=inject)
        assert run.red[SHOWN].startswith("ConnectionLost: peer BMC: power status: no answer from")

    @pytest.mark.slow
    def test_a_bmc_that_does_not_cut_the_power_is_a_bench_fault(self, bench: Bench) -> None:
        test = "A Power Cycle Is In The Event Log"
        inject = (test, f"fault set --name {NAME} bmc:peer power_stuck", f"fault clear --name {NAME}")
        run = bench.run(*only(test), inject=inject)
        assert run.red[test].startswith("BenchFault: peer BMC")


class TestRecovery:
    @pytest.mark.slow
    def test_a_frozen_server_ends_the_test_in_time_and_the_run_goes_on(self, bench: Bench) -> None:
        frozen, later = "Every Port Is Driven By The Driver On The Sheet", "All Ports Run The Same Firmware"
        inject = (frozen, f"fault set --name {NAME} server:dut frozen", "")
        run = bench.run(*only(frozen, later), inject=inject)
        run.should_show(red={frozen}, green={later})
        assert re.match("(ConnectionLost|CommandTimeout): dut: ", run.red[frozen])  # bench faults by their kind
        assert run.seconds < 150

    def test_a_killed_run_is_undone(self, bench: Bench) -> None:
        """The cable that a killed run had pulled is plugged, and its links are as they were before."""
        # a carrier that stays keeps the wiring proof waiting with the cable pulled: time enough to kill it there
        bench.vbench("fault", "set", "cable:a.dut", "carrier_stuck")
        process = subprocess.Popen(
            bench.command(*only(PULLED)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
        try:
            deadline = time.monotonic() + 120
            while '"plugged": false' not in bench.vbench("status", "--json"):
                assert time.monotonic() < deadline, "no cable was pulled"
                assert process.poll() is None, "the run ended"
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        restored = subprocess.run(
            [str(Path(sys.executable).with_name("niclab")), "restore", str(bench.file)],
            capture_output=True,
            text=True,
            cwd=REPOSITORY,
            timeout=120,
        )
        assert restored.returncode == 0, restored.stderr
        assert "cable is pulled" in restored.stdout
        assert '"plugged": false' not in bench.vbench("status", "--json")
        assert bench.ssh("dut", "cat /sys/class/net/enp1s0/flags").strip() == "0x1002"  # not up, as before the run
