"""Cost of a measured run beyond its traffic: ``benchmarks/run_overhead.py BENCH_FILE [--card CARD] [--runs N]``.

Takes the bench as a test run does and makes runs of 2 s over its first path, one after the other as every limit and
sweep does. Told for each: the seconds that the tool's own command took beyond those in which traffic flows (its warm-up
counted as traffic), and those that the framework took beyond the tool's command: looking at both ends, reading, judging
the counters. Next to them: the cost of one listening server, which a whole series of runs shares, and the load of
this machine. Target of the framework: 0.3 s a run.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.bench.records import Role  # noqa: E402
from niclab.card import load_card  # noqa: E402
from niclab.run import run as labs  # noqa: E402 - found by the path set above
from niclab.run.acquiring.prepared_ports import PreparedPorts  # noqa: E402
from niclab.traffic.runs import endpoints, line_rate, measuring  # noqa: E402
from niclab.traffic.tools.tool import Order  # noqa: E402
from niclab.traffic.tools.tool_choice import tool_of  # noqa: E402

RUN_S = 2
TARGET_S = 0.3


def measured(taken: labs.Run, runs: int) -> tuple[list[float], list[float], float]:
    """Seconds of each run beyond its traffic that are the tool's, those that are the framework's, and of the server."""
    omitted_s = tool_of(taken.bench.traffic).omitted_s
    tool, framework = [], []
    start = time.monotonic()
    path = taken.bench.paths[0]
    line_mbps = line_rate.line_mbps(taken, endpoints.ends(taken, path, Role.DUT), path)
    with measuring.session(taken, path, Role.DUT, line_mbps) as session:
        server_s = time.monotonic() - start
        session.measure(Order(duration_s=RUN_S))  # the first one also looks before it
        for number in range(runs):
            start = time.monotonic()
            run = session.measure(Order(duration_s=RUN_S))
            framework.append(time.monotonic() - start - run.seconds)
            tool.append(run.seconds - RUN_S - omitted_s)
            told = f"tool {tool[-1]:.2f} s beyond {RUN_S} + {omitted_s} s, framework {framework[-1]:.2f} s"
            print(f"run {number + 1}: {told}", flush=True)
        start = time.monotonic()
    return tool, framework, server_s + time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = labs.acquire(options.bench, load_card(options.card), Path(folder), lambda: None)
        try:
            taken.part(PreparedPorts).prepare()
            tool, framework, server_s = measured(taken, options.runs)
        finally:
            labs.release()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    tool_s, framework_s = statistics.median(tool), statistics.median(framework)
    print(
        f"median of {len(tool)} runs: tool {tool_s:.2f} s, framework {framework_s:.2f} s (target {TARGET_S} s); "
        f"server {server_s:.2f} s a series; load here {load}"
    )


if __name__ == "__main__":
    main()
