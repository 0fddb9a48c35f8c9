"""Cost of the virtual bench: time to come up, memory, power cycles, and calls to a BMC.

    python benchmarks/vbench_up.py --name measure                5 starts, 20 power cycles, 100 calls each way
    python benchmarks/vbench_up.py --name measure --rounds 2 --cycles 4 --calls 20

The bench of that name is ended and started; do not give the name of one that is in use. It is gone afterwards.
Every time is given as min / median / max.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyipmi
import pyipmi.interfaces

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lab" / "virtual"))

import image
import layout
import lifecycle
import parts
import server as machine
from identity import Identity
from wait import until

CYCLED = "dut"
READY_S = 120.0
BMC_ADDRESS = 0x20  # of every BMC on its own bus (IPMI 2.0, table 5-4)
CIPHER_SUITE = 17  # AES-128 with HMAC-SHA256 (IPMI 2.0, table 22-20)
PYTHON_IPMI_SUITE = 3  # HMAC-SHA1: python-ipmi 0.6.1 derives the session keys of 17 from constants of the wrong length


def show(what: str, times_s: list[float], unit: str = "s") -> None:
    """One line: the figures of ``times_s`` in ``unit`` (s or ms)."""
    factor, digits = (1000, 1) if unit == "ms" else (1, 2)
    low, middle, high = (factor * figure for figure in (min(times_s), statistics.median(times_s), max(times_s)))
    print(f"{what:42} {low:8.{digits}f} {middle:8.{digits}f} {high:8.{digits}f} {unit:2}  n={len(times_s)}", flush=True)


def timed(action: Callable[[], object]) -> float:
    """Return the duration of ``action`` in seconds."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def boot_id(server: layout.Server, identity: Identity) -> str:
    """The kernel's number of this boot; empty while no login succeeds."""
    if not lifecycle.ssh_answers(server):
        return ""  # and no login attempt hangs in a server that is about to boot
    command = [*lifecycle.ssh_command(server, identity), "cat /proc/sys/kernel/random/boot_id"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, stdin=subprocess.DEVNULL)
    return done.stdout.strip() if done.returncode == 0 else ""


def new_boot(server: layout.Server, identity: Identity, before: str) -> bool:
    """Wait for a login in another boot than ``before``."""
    return bool(until(lambda: boot_id(server, identity) not in ("", before), within_s=READY_S))


def measure_up(bench: layout.Bench, rounds: int) -> None:
    """``down --now`` and ``up``, whole; then the steps that ``up`` consists of, one after the other."""
    lifecycle.up(bench, fresh=False)
    steps: dict[str, list[float]] = {name: [] for name in ("down --now", "up")}
    for _ in range(rounds):
        steps["down --now"].append(timed(lambda: lifecycle.down(bench, now=True, purge=False)))
        steps["up"].append(timed(lambda: lifecycle.up(bench, fresh=False)))
    names = (
        "  image (there already)",
        "  disk, initrd, machine",
        "  parts ready",
        "  power on to SSH",
    )
    steps |= {name: [] for name in names}
    for _ in range(rounds):
        lifecycle.down(bench, now=True, purge=False)
        for name, seconds in zip(names, step_times(bench), strict=True):
            steps[name].append(seconds)
    steps["up of a bench that is up"] = [timed(lambda: lifecycle.up(bench, fresh=False)) for _ in range(rounds)]
    for name, times_s in steps.items():
        show(name, times_s)


def step_times(bench: layout.Bench) -> list[float]:
    """Bring a bench that is down up step by step; seconds of each step (both servers together)."""
    identity = Identity(bench)

    def for_both(action: Callable[[layout.Server], object]) -> float:
        with ThreadPoolExecutor() as pool:
            return timed(lambda: list(pool.map(action, bench.servers)))

    def boots(server: layout.Server) -> None:
        lifecycle.redfish(server, identity, "On")
        if not until(lambda: lifecycle.ssh_answers(server), within_s=READY_S, every_s=0.05):
            raise lifecycle.BenchError(f"{server.role}: no SSH within {READY_S:g} s")

    with lifecycle.locked(bench):
        found = timed(image.ensure)
        base = image.ensure()
        return [
            found,
            timed(lambda: [machine.prepare(server, identity, base) for server in bench.servers]),
            timed(lambda: parts.start(bench, parts.parts(bench, identity))),
            for_both(boots),
        ]


def show_memory(bench: layout.Bench) -> None:
    """Resident memory of every process of the bench."""
    for name, pids in sorted(parts.running(bench).items()):
        for pid in pids:
            status = Path(f"/proc/{pid.pid}/status").read_text()
            kib = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
            print(f"{'memory (RSS) of ' + name:42} {kib / 1024:8.1f} MiB", flush=True)


def ipmi_session(bench: layout.Bench, identity: Identity) -> pyipmi.Ipmi:
    """A session of python-ipmi with the BMC of the cycled server."""
    server = bench.server(CYCLED)
    interface = pyipmi.interfaces.create_interface("rmcpplus", cipher_suite=PYTHON_IPMI_SUITE, keep_alive_interval=0)
    ipmi = pyipmi.create_connection(interface)
    ipmi.target = pyipmi.Target(ipmb_address=BMC_ADDRESS)
    ipmi.session.set_session_type_rmcp(server.bmc_address, layout.IPMI_PORT)
    ipmi.session.set_auth_type_user("admin", identity.secret("VBENCH_BMC_PASSWORD"))
    ipmi.session.set_priv_level("ADMINISTRATOR")
    ipmi.open()
    return ipmi


def measure_cycles(bench: layout.Bench, cycles: int) -> None:
    """Power cycles, by Redfish and by IPMI in turn: from the command to a login in a *new* boot."""
    identity, server = Identity(bench), bench.server(CYCLED)
    ways: dict[str, Callable[[pyipmi.Ipmi], object]] = {
        "Redfish": lambda _: lifecycle.redfish(server, identity, "PowerCycle"),
        "IPMI": lambda ipmi: ipmi.chassis_control_power_cycle(),
    }
    times: dict[str, list[float]] = {way: [] for way in ways}
    for number in range(cycles):
        way = list(ways)[number % len(ways)]
        before, ipmi = boot_id(server, identity), ipmi_session(bench, identity)
        try:
            began = time.perf_counter()
            ways[way](ipmi)
            if not new_boot(server, identity, before):
                raise lifecycle.BenchError(f"{CYCLED}: no new boot within {READY_S:g} s of a power cycle by {way}")
            times[way].append(time.perf_counter() - began)
        finally:
            ipmi.close()
    for way, times_s in times.items():
        if times_s:
            show(f"power cycle by {way} to login", times_s)


def measure_status(bench: layout.Bench, calls: int) -> None:
    """Power status: ipmitool (process and session per call), python-ipmi with a session per call, and within one."""
    identity, server = Identity(bench), bench.server(CYCLED)

    def must_be_on(on: bool) -> None:
        if not on:
            raise lifecycle.BenchError(f"{CYCLED}: its BMC says that it is off")

    def by_ipmitool() -> None:
        command = ["ipmitool", "-I", "lanplus", "-C", str(CIPHER_SUITE), "-H", server.bmc_address]
        command += ["-p", str(layout.IPMI_PORT), "-U", "admin", "-E", "power", "status"]
        environment = {**os.environ, "IPMI_PASSWORD": identity.secret("VBENCH_BMC_PASSWORD")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=True)
        must_be_on(done.stdout == "Chassis Power is on\n")

    def by_new_session() -> None:
        ipmi = ipmi_session(bench, identity)
        must_be_on(ipmi.get_chassis_status().power_on)
        ipmi.close()

    if shutil.which("ipmitool"):
        show("power status, ipmitool", [timed(by_ipmitool) for _ in range(calls)], "ms")
    else:
        print("power status, ipmitool                     not installed")
    show("power status, python-ipmi, session each", [timed(by_new_session) for _ in range(calls)], "ms")
    ipmi = ipmi_session(bench, identity)
    within = [timed(lambda: must_be_on(ipmi.get_chassis_status().power_on)) for _ in range(calls)]
    show("power status, python-ipmi, one session", within, "ms")
    ipmi.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True, help="name of the bench to measure")
    parser.add_argument("--rounds", type=int, default=5, help="starts")
    parser.add_argument("--cycles", type=int, default=20, help="power cycles")
    parser.add_argument("--calls", type=int, default=100, help="power status calls, each way")
    options = parser.parse_args()
    if min(options.rounds, options.cycles, options.calls) < 1:
        parser.error("--rounds, --cycles and --calls; expected numbers above 0")
    bench = layout.bench(options.name)
    load_1min, load_5min, _ = os.getloadavg()
    print(
        f"bench {bench.name}, {os.cpu_count()} processors, load {load_1min:.1f} (5 min: {load_5min:.1f}); "
        "min / median / max"
    )
    try:
        measure_up(bench, options.rounds)
        show_memory(bench)
        measure_status(bench, options.calls)
        measure_cycles(bench, options.cycles)
    finally:
        lifecycle.down(bench, now=True, purge=True)


if __name__ == "__main__":
    main()
