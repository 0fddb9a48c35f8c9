"""The virtual bench with real QEMU machines. The tests share one bench and run in this order."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest
from real_bench import RealBench, elapsed_s, wait_for

import lifecycle

MACHINES = ("qemu-dut", "qemu-peer")
PARTS = ("bmc-dut", "bmc-peer", "consoles", "cables", "switch")
AS_ANOTHER = ("bmc-peer", "qemu-peer")
"""Those that are repaired as another one is."""
CARRIER_S = 1.0
PORT = "/sys/class/net/enp1s0"


def test_both_servers_answer_and_their_clocks_are_right(at: RealBench) -> None:
    # Linux sets its clock once, by a clock chip of whole seconds: half a second off without any delay (rtc_hctosys())
    error_s = lifecycle.CLOCK_ERROR_S
    for role in ("dut", "peer"):
        before = time.time()
        name, clock = at.ssh(role, "hostname; date +%s.%N").splitlines()
        assert name == role
        assert before - error_s < float(clock) < time.time() + error_s
    status = json.loads(at.must("status", "--json"))
    assert status["up"] is True
    assert status["servers"] == {"dut": "ready", "peer": "ready"}
    assert set(status["parts"]) == set(PARTS)


def test_up_of_a_bench_that_is_up_starts_nothing(at: RealBench) -> None:
    before = at.pids()
    assert sorted(before) == sorted([*PARTS, *MACHINES])
    assert all(len(pids) == 1 for pids in before.values())
    at.must("up")
    assert at.pids() == before


def _await_first_carrier(at: RealBench, role: str) -> None:
    wait_for(lambda: at.ssh(role, f"cat {PORT}/carrier") == "1", f"{role} has a carrier", 10)


def _await_carrier(at: RealBench, wanted: int, change: str) -> dict[str, float]:
    """Do ``change`` to cable a; seconds until each guest's own driver reports the carrier ``wanted``."""
    watch = f"echo now; until [ $(cat {PORT}/carrier) = {wanted} ]; do usleep 20000 || sleep 0.02; done; echo seen"
    watches = {role: at.start_ssh(role, watch) for role in ("dut", "peer")}
    for process in watches.values():
        assert process.stdout is not None
        assert process.stdout.readline() == "now\n"
    at.must("cable", change, "a")
    began, seen = time.monotonic(), {}
    for role, process in watches.items():
        out, _ = process.communicate(timeout=10)
        assert out == "seen\n"
        seen[role] = time.monotonic() - began
    return seen


@pytest.mark.slow
def test_both_guests_see_a_cable_pulled_and_plugged_within_a_second(at: RealBench) -> None:
    for role in ("dut", "peer"):
        at.ssh(role, f"ip link set {PORT.rpartition('/')[2]} up")
    for role in ("dut", "peer"):
        _await_first_carrier(at, role)
    pulled = _await_carrier(at, 0, "pull")
    assert max(pulled.values()) < CARRIER_S, pulled
    plugged = _await_carrier(at, 1, "plug")
    assert max(plugged.values()) < CARRIER_S + 2, plugged  # the driver looks at a new link for up to 2 s


def _carriers(at: RealBench) -> dict[str, str]:
    return {role: at.ssh(role, f"cat {PORT}/carrier") for role in ("dut", "peer")}


def test_a_port_that_is_set_down_takes_its_partners_carrier(at: RealBench) -> None:
    """QEMU's model of the card has no light of its own: the cables look whether its driver runs the port."""
    name = PORT.rpartition("/")[2]
    for role in ("dut", "peer"):
        at.ssh(role, f"ip link set {name} up")
    wait_for(lambda: _carriers(at) == {"dut": "1", "peer": "1"}, "both guests have a carrier", 10)
    at.ssh("dut", f"ip link set {name} down")
    wait_for(lambda: at.ssh("peer", f"cat {PORT}/carrier") == "0", "the partner sees it", 5)
    at.ssh("dut", f"ip link set {name} up")
    wait_for(lambda: _carriers(at) == {"dut": "1", "peer": "1"}, "both guests have a carrier", 10)


@pytest.mark.slow
def test_the_card_s_own_ports_are_laid_to_the_switch_and_back(at: RealBench) -> None:
    """A port shut there takes carrier from one guest; the switch hears the guests where the cables lead."""
    name = PORT.rpartition("/")[2]
    for number, role in enumerate(("dut", "peer"), start=1):
        at.ssh(role, f"ip link set {name} up; ip address replace 198.18.10.{number}/24 dev {name}")
    at.must("wiring", "switch")
    try:
        wait_for(lambda: _carriers(at) == {"dut": "1", "peer": "1"}, "both guests have a carrier", 10)
        assert " 0% packet loss" in at.ssh("dut", "ping -c 5 -i 0.2 -w 10 198.18.10.2")
        told = at.ssh("dut", f"timeout 40 tcpdump -i {name} -c 1 -vv ether proto 0x88cc 2>/dev/null")  # each 30 s
        assert "port1" in told and "virtual switch" in told, told
        at.must("switch", "shut", "port1")
        wait_for(lambda: _carriers(at) == {"dut": "0", "peer": "1"}, "the dut alone has lost its carrier", 5)
        at.must("switch", "open", "port1")
        wait_for(lambda: _carriers(at) == {"dut": "1", "peer": "1"}, "both guests have a carrier", 10)
    finally:
        at.must("wiring", "direct")
    wait_for(lambda: _carriers(at) == {"dut": "1", "peer": "1"}, "both guests have a carrier", 10)
    assert "up" not in at.must("switch", "show")


@pytest.mark.parametrize(
    "part", [pytest.param(part, marks=pytest.mark.slow if part in AS_ANOTHER else ()) for part in (*PARTS, *MACHINES)]
)
def test_a_killed_process_is_named_and_up_repairs_it_alone(at: RealBench, part: str) -> None:
    before = at.pids()
    (pid,) = before.pop(part)
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: part not in at.pids(), f"{part} is dead", 5)
    status = at.vbench("status")
    assert status.returncode == 1
    name, state = (part, "dead") if part in PARTS else (part.removeprefix("qemu-"), "off")
    assert [name, state] in [line.split() for line in status.stdout.splitlines()]
    assert at.pids() == before
    at.must("up")
    after = at.pids()
    assert after.pop(part) != [pid]
    assert after == before
    assert at.vbench("status", "--quiet").returncode == 0


@pytest.mark.slow
def test_a_frozen_server_is_named_and_powered_off_by_its_bmc(at: RealBench) -> None:
    at.must("fault", "set", "server:dut", "frozen")
    status = at.vbench("status")
    assert status.returncode == 1
    assert "on, SSH does not answer" in status.stdout
    assert "qemu-dut" in at.pids()

    def power_off() -> None:
        at.redfish("dut", "ForceOff")
        wait_for(lambda: "qemu-dut" not in at.pids(), "the machine is off", 10)

    assert elapsed_s(power_off) <= 5.0
    at.must("fault", "clear")
    at.must("up")


def test_a_thawed_server_goes_on(at: RealBench) -> None:
    boot = at.boot_id("dut")
    at.must("fault", "set", "server:dut", "frozen")
    at.must("fault", "clear")
    assert at.boot_id("dut") == boot is not None


def _new_boot(at: RealBench, before: str | None) -> str:
    def boot() -> str | None:
        now = at.boot_id("dut")
        return None if now == before else now

    return wait_for(boot, "a new boot", 60)


@pytest.mark.slow
def test_a_file_survives_reboot_power_cycle_and_down_but_not_fresh(at: RealBench) -> None:
    at.ssh("dut", "echo kept > /root/mark; sync")
    boots = [at.boot_id("dut")]
    assert at.vbench("ssh", "dut", "reboot").returncode in (0, 255)  # 255: the connection went with the server
    boots.append(_new_boot(at, boots[-1]))
    assert at.ssh("dut", "cat /root/mark") == "kept"
    at.redfish("dut", "PowerCycle")
    boots.append(_new_boot(at, boots[-1]))
    assert at.ssh("dut", "cat /root/mark") == "kept"
    at.must("down")
    at.must("up")
    boots.append(at.boot_id("dut"))
    assert at.ssh("dut", "cat /root/mark") == "kept"
    assert len({boot for boot in boots if boot}) == 4
    at.must("up", "--fresh")
    assert at.vbench("ssh", "dut", "cat /root/mark").returncode == 1


@pytest.mark.slow
def test_two_benches_side_by_side_answer_and_do_not_disturb_each_other(at: RealBench) -> None:
    second = RealBench("vt2")
    before, boot = at.pids(), at.boot_id("dut")
    try:
        second.must("up", "--fresh")
        assert second.boot_id("dut") not in (None, boot)
        second.must("cable", "pull", "a")
        assert json.loads(at.must("status", "--json"))["cables"]["a"]["plugged"] is True
        assert json.loads(second.must("status", "--json"))["cables"]["a"]["plugged"] is False
        assert at.boot_id("dut") == boot
    finally:
        second.must("down", "--now", "--purge")
    assert second.pids() == {}
    assert at.pids() == before
    assert at.vbench("status", "--quiet").returncode == 0


def test_what_is_wrong_is_one_clear_line(at: RealBench) -> None:
    done = at.vbench("cable", "pull", "c")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "vbench: no cable 'c'; there are a, b\n"


def test_down_leaves_no_process_no_socket_and_no_runtime_file(at: RealBench) -> None:
    files = list(at.layout.folder.rglob("*"))
    assert any(path.is_socket() for path in files)
    assert {path.suffix for path in files} >= {".pid", ".config"}
    at.must("down")
    assert at.pids() == {}
    left = list(at.layout.folder.rglob("*"))
    assert [path for path in left if path.is_socket() or path.suffix in (".pid", ".config", ".new")] == []
    assert at.layout.folder / "dut/disk.qcow2" in left
    assert at.vbench("status", "--quiet").returncode == 3
    at.must("down")
