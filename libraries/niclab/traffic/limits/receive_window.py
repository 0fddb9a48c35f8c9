"""The throughput of TCP that a receive window of fixed size allows: one window each round trip (RFC 7323, 1.1)."""

from __future__ import annotations

import math

from niclab.run.run import Run
from niclab.stats.questions import Expected
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.tools import round_trips

ROUND_TRIPS_S = 2
"""Time in s for which round trips are counted before the runs."""
LOADED = 3.0
"""Assumption: queues, delayed acknowledgements and coalesced interrupts make the round trip under load at most so many
times as long as that of single bytes."""
TOLERANCE = 0.1
"""Assumption: of either bound."""


def expected(
    run: Run, ends: Ends, window_bytes: int, line_mbps: float, least_fraction: float | None, source: str
) -> Expected:
    """Measure the round trip between two ends, and predict what a window leaves of the throughput.

    Args:
        run: The current run.
        ends: Who sends to whom.
        window_bytes: The largest receive window.
        line_mbps: Line rate of the path.
        least_fraction: The part of line rate that TCP reaches at least without the setting; None: not known.
        source: Who says that the window is so large.

    Raises:
        BenchFault: A program fails, or its result is worthless.
    """
    trip_s = 1 / round_trips.per_second(run, ends, ROUND_TRIPS_S)
    return limited(window_bytes, trip_s, line_mbps, least_fraction or 1.0, source)


def limited(window_bytes: int, trip_s: float, line_mbps: float, least_fraction: float, source: str) -> Expected:
    """Predict the change of the throughput in percent.

    At most a window passes each idle round trip, and at least one each loaded round trip. Without the setting it is at
    least ``least_fraction`` of line rate, and at most line rate.

    Args:
        window_bytes: The largest receive window.
        trip_s: Round trip of single bytes in s.
        line_mbps: Line rate of the path.
        least_fraction: The part of line rate that TCP reaches without the setting.
        source: Who says that the window is so large.
    """
    allowed_mbps = window_bytes * 8e-6 / trip_s
    share = allowed_mbps / line_mbps
    low = 100 * ((1 - TOLERANCE) * min(1.0, share / LOADED) - 1)
    high = 100 * ((1 + TOLERANCE) * share / least_fraction - 1) if share < least_fraction else math.inf
    most = f" to {high:+.0f} %" if math.isfinite(high) else " % or more"
    return Expected(
        f"{low:+.0f}{most}: {window_bytes} bytes each round trip of {1000 * trip_s:.3g} ms are at most "
        f"{allowed_mbps:.4g} of {line_mbps:g} Mbit/s, and a third of that under load ({source})",
        low,
        high,
    )
