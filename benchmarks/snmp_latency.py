"""Cost of one SNMP exchange: Snmp.get and Snmp.set next to net-snmp's programs, against net-snmp's own agent.

    python benchmarks/snmp_latency.py

The ways take turns, ten exchanges at a time, so that a busy machine is as busy for one as for the other. net-snmp's
programs read no MIB files.
Ends with status 1 when a GET of an open Snmp, v2c, takes more than the target in the median.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "fakes"))

from throwaway_snmpd import AUTH, PRIV, READ, USER, WRITE, ThrowawaySnmpd

from niclab.transports.snmp.snmp import Communities, Snmp, User
from niclab.transports.snmp.snmp_records import VARIABLES

TARGET_MS = 1.5
IN_A_TURN = 10
UPTIME, NAME = VARIABLES["sysUpTime"].at(0), VARIABLES["sysName"].at(0)
ENVIRONMENT = {**os.environ, "MIBS": ""}


def _program(name: str, port: int, login: list[str], *what: str) -> Callable[[], object]:
    command = [name, *login, f"127.0.0.1:{port}", *what]
    return lambda: subprocess.run(
        command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=30, env=ENVIRONMENT
    )


def measure(agent: ThrowawaySnmpd, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each exchange, by way."""
    v2c, v3 = Snmp(agent.endpoint(Communities(READ, WRITE))), Snmp(agent.endpoint(User(USER, AUTH, PRIV)))
    by_v2c = ["-v2c", "-c", WRITE]
    by_v3 = ["-v3", "-l", "authPriv", "-u", USER, "-a", "SHA-256", "-A", AUTH, "-x", "AES", "-X", PRIV]
    set_name = (NAME.oid, "s", "throwaway")
    ways: dict[str, Callable[[], object]] = {
        "Snmp.get v2c": lambda: v2c.get(UPTIME),
        "snmpget v2c": _program("snmpget", agent.port, by_v2c, UPTIME.oid),
        "Snmp.set v2c": lambda: v2c.set((NAME, b"throwaway")),
        "snmpset v2c": _program("snmpset", agent.port, by_v2c, *set_name),
        "Snmp.get v3": lambda: v3.get(UPTIME),
        "snmpget v3": _program("snmpget", agent.port, by_v3, UPTIME.oid),
        "Snmp.set v3": lambda: v3.set((NAME, b"throwaway")),
        "snmpset v3": _program("snmpset", agent.port, by_v3, *set_name),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    for action in ways.values():  # warm: the engine is made, the agent's engine id known, files cached
        action()
    for _ in range(rounds // IN_A_TURN):
        for name, action in ways.items():
            for _ in range(IN_A_TURN):
                began = time.perf_counter()
                action()
                times[name].append((time.perf_counter() - began) * 1000)
    return times


def report(times: dict[str, list[float]]) -> str:
    """A table: median, 95th percentile, and how many times Snmp.get by v2c fits in."""
    base = statistics.median(times["Snmp.get v2c"])
    lines = [f"{'way':16}{'n':>6}{'median ms':>11}{'p95 ms':>9}{'ratio':>8}"]
    for name, values in times.items():
        median, p95 = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        lines.append(f"{name:16}{len(values):6}{median:11.2f}{p95:9.2f}{median / base:8.2f}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description="What one SNMP exchange costs, by way of making it.")
    parser.add_argument("--rounds", type=int, default=200)
    given = parser.parse_args()
    if given.rounds < 20:
        parser.error(f"--rounds is {given.rounds}; expected at least 20")
    with tempfile.TemporaryDirectory() as directory, ThrowawaySnmpd(Path(directory)) as agent:
        times = measure(agent, given.rounds)
    print(report(times))
    median = statistics.median(times["Snmp.get v2c"])
    print(f"target: Snmp.get v2c within {TARGET_MS:g} ms: {'met' if median <= TARGET_MS else 'missed'}")
    return 0 if median <= TARGET_MS else 1


if __name__ == "__main__":
    sys.exit(main())
