"""How soon a server loses its link when its port of the switch is shut: ``bench/carrier.py BENCH_FILE [--card CARD]
[--times 30]``.

Takes the bench as a test run does, lays its paths to the switch, and shuts and opens the switch's port of the dut's
first port. A program on the dut (a Linux server with python3) looks at the carrier every millisecond and writes down
when it changes, by the dut's clock; that is compared with the controller's before each change. Told: from the begin of
the SET to the loss as the dut's kernel shows it, and to the carrier's return; least, median, 95 %, most; beside them
the time that the SET itself took, read back, and how well the clocks are known. Wanted: the loss within 50 ms.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab import lab as labs  # noqa: E402 - found by the path set above
from niclab import switchports, switchwiring  # noqa: E402
from niclab.bench import Port, Role  # noqa: E402
from niclab.card import load_card  # noqa: E402
from niclab.server import Server, quoted  # noqa: E402
from niclab.traffic.gap_run import clock_fix  # noqa: E402
from niclab.transports.ssh import Job  # noqa: E402
from niclab.wait import pause, until  # noqa: E402

TARGET_MS = 50.0
RESTS_S = 1.5
WATCHER = """
import sys, time
file = open(f"/sys/class/net/{sys.argv[1]}/carrier")
before = ""
while True:
    file.seek(0)
    now = file.read().strip()
    if now != before:
        print(f"{time.time():.6f}", now, flush=True)
        before = now
    time.sleep(0.001)
"""


def changes(job: Job) -> list[tuple[float, bool]]:
    """What the watcher has seen: the dut's clock, carrier."""
    lines = (line.split() for line in job.output().splitlines())
    return [(float(at), carrier == "1") for at, carrier in lines]


def one(server: Server, job: Job, act: Callable[[], object], up: bool) -> tuple[float, float, float]:
    """Milliseconds from the begin of ``act`` to the carrier ``up``, those it took, those the clocks may be off."""
    seen = len(changes(job))
    fix = clock_fix(server)
    began = time.time()
    act()
    took_ms = (time.time() - began) * 1e3
    until(lambda: len(changes(job)) > seen, within=10, what=f"{server.name}: carrier {up}")
    at, carrier = changes(job)[seen]
    assert carrier is up, f"{server.name}: the carrier is {carrier}, wanted {up}"
    return (at - fix.ahead_s - began) * 1e3, took_ms, fix.bound_s * 1e3


def measure(taken: labs.Lab, port: Port, times: int) -> None:
    server = taken.server_of(port)
    job = server.ssh.start("exec " + quoted("python3", "-c", WATCHER, taken.interface(port)), limit_s=3600)
    lost, returned = [], []
    try:
        until(lambda: changes(job), within=20, what=f"{server.name}: the watcher to begin")
        for _ in range(times):
            lost.append(one(server, job, lambda: switchports.shut(taken, port), up=False))
            pause(RESTS_S)
            returned.append(one(server, job, lambda: switchports.open_port(taken, port), up=True))
            pause(RESTS_S)
    finally:
        job.stop()
        switchports.open_all(taken)
    for what, found in (("shut: SET to loss", lost), ("open: SET to carrier", returned)):
        print(f"{what}: {spread([each[0] for each in found])}; SET, read back: {spread([each[1] for each in found])}")
    print(f"clocks known within {spread([each[2] for each in lost + returned])}")
    median_ms = statistics.median(each[0] for each in lost)
    print(f"target: loss within {TARGET_MS:g} ms: {'met' if median_ms <= TARGET_MS else 'missed'} by the median")


def spread(values: Sequence[float]) -> str:
    """Least, median, 95 % (nearest rank) and most, in ms."""
    ordered = sorted(values)
    at_95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return f"{ordered[0]:.1f} / {statistics.median(ordered):.1f} / {at_95:.1f} / {ordered[-1]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--times", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = labs.take(options.bench, load_card(options.card), Path(folder), lambda: None)
        try:
            taken.prepare_links()
            switchwiring.connect(taken)
            measure(taken, taken.ports(Role.DUT)[0], options.times)
            switchwiring.disconnect(taken)
        finally:
            labs.give_back()


if __name__ == "__main__":
    main()
