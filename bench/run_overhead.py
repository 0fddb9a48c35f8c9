"""What a measured run costs beyond its traffic: ``bench/run_overhead.py BENCH_FILE [--card CARD] [--runs N]``.

Takes the bench as a test run does, makes runs of 2 s over its first path, and tells the seconds each took beyond those
in which traffic flows (the tool's warm-up counted as traffic), and beside it the load of this machine. Target: 0.3 s.
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

from niclab import lab as labs  # noqa: E402 - found by the path set above
from niclab.bench import Role  # noqa: E402
from niclab.card import load_card  # noqa: E402
from niclab.traffic import measuring  # noqa: E402
from niclab.traffic.tool import Order  # noqa: E402
from niclab.traffic.tools import tool_of  # noqa: E402

RUN_S = 2
TARGET_S = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench", type=Path)
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        taken = labs.take(options.bench, load_card(options.card), Path(folder), lambda: None)
        try:
            taken.prepare_links()
            omitted_s = tool_of(taken.bench.traffic).omitted_s
            beyond = []
            for number in range(options.runs):
                start = time.monotonic()
                measuring.measure(taken, taken.bench.paths[0], Role.DUT, Order(duration_s=RUN_S))
                beyond.append(time.monotonic() - start - RUN_S - omitted_s)
                print(f"run {number + 1}: {beyond[-1]:.2f} s beyond {RUN_S} + {omitted_s} s", flush=True)
        finally:
            labs.give_back()
    load = " ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"median {statistics.median(beyond):.2f} s of {len(beyond)} runs; target {TARGET_S} s; load here {load}")


if __name__ == "__main__":
    main()
