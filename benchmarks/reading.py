"""Cost of reading 10 000 counters of ``ethtool -S``, next to a plain ``str.split`` of the same text.

    PYTHONPATH=libraries python benchmarks/reading.py [--lines N] [--rounds N]

The two take turns, so that a busy machine is as busy for one as for the other; the median of the rounds is printed.
Ends with 1 when reading takes longer than the wanted 2 microseconds a line (20 ms for 10 000 lines).
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

from niclab.hosts.counts.ethtool_counters import read_counters

_WANTED_US_A_LINE = 2.0


def _text(lines: int) -> str:
    rows = (f"     [{number % 64}]: rx_queue_{number}_bytes: {number * 7919}" for number in range(lines))
    return "NIC statistics:\n" + "\n".join(rows) + "\n"


def _split(text: str) -> list[list[str]]:
    return [line.split(":") for line in text.split("\n")]


def _timed_ms(action: Callable[[str], object], text: str) -> float:
    began = time.perf_counter()
    action(text)
    return (time.perf_counter() - began) * 1000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=31)
    options = parser.parse_args()
    text = _text(options.lines)
    read, split = [], []
    for _ in range(options.rounds):
        read.append(_timed_ms(read_counters, text))
        split.append(_timed_ms(_split, text))
    read_ms, split_ms = statistics.median(read), statistics.median(split)
    print(f"{options.lines} lines: read {read_ms:.1f} ms, str.split {split_ms:.1f} ms, ratio {read_ms / split_ms:.1f}")
    return 0 if read_ms * 1000 <= _WANTED_US_A_LINE * options.lines else 1


if __name__ == "__main__":
    sys.exit(main())
