"""Retransmissions of TCP, against the sheet's limit: a line that loses frames is seen before it is slow.

Losses come in bursts, so the number of retransmissions scatters more than Poisson's distribution says. The figures
judged are therefore the parts that the runs sent again, whose own scatter counts. Runs without a retransmission say
nothing about bursts that are rare: the bounds are never closer to the mean than a few bursts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.stats.judge import judge_values
from niclab.stats.questions import Expected, Outcome, at_most
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import TCP_HEADERS_BYTES

UNIT = "percent sent again"
BURST = 5
"""Assumption: segments of a burst that no run has shown yet (``benchmarks/stats_simulation.py`` has larger ones)."""
UNSEEN = 3.7
"""So many events are expected where none is seen with probability 2.5 %: -ln(0.025), the exact rule of three."""


def segment_bytes(run: Run, ends: Ends) -> int:
    """Return what a segment carries between two ends: what fits the smaller MTU of both (RFC 9293, 3.7.1).

    Args:
        run: The qualification run.
        ends: Sender and receiver.

    Raises:
        BenchFault: An end does not answer.
    """
    both = ((ends.sender, ends.from_port), (ends.receiver, ends.to_port))
    mtus = side_by_side(lambda end: end[0].host.links.interface(run.interface(end[1])).mtu, both)
    return min(mtus) - TCP_HEADERS_BYTES


def seconds_needed(run: Run, mbps: float, payload_bytes: int) -> float:
    """Return how long TCP must run until no retransmission at all is fewer than the sheet allows beyond doubt.

    Args:
        run: The qualification run, for its card.
        mbps: The rate in Mbit/s at which TCP runs.
        payload_bytes: Of a segment.

    Returns:
        Seconds; 0 where the sheet has no limit.
    """
    most = run.card.limits.retransmitted_percent
    if not isinstance(most, float):
        return 0
    return _unseen_percent(1) / most * payload_bytes * 8 / (mbps * 1e6)


def result(run: Run, runs: Sequence[TrafficRun], plan: SamplingPlan, payload_bytes: int) -> Outcome | None:
    """Judge the retransmissions of runs against the sheet's limit.

    Args:
        run: The qualification run, for its card.
        runs: The counted runs, in time order, warm-up left out.
        plan: How they were made.
        payload_bytes: Of a segment.

    Returns:
        The answer; None where the sheet has no limit.

    Raises:
        BenchFault: The tool does not count the retransmissions of each run.
    """
    most = run.card.limits.retransmitted_percent
    if not isinstance(most, float):
        return None
    pairs = [(each.result.retransmits, each.result.received_bytes) for each in runs]
    known = [(count, size / payload_bytes) for count, size in pairs if count is not None and size]
    if len(known) != len(runs):
        said = f"{runs[0].tool} counted the retransmissions of {len(known)} of {len(runs)} runs"
        raise BenchFault(f"{said}; expected of each, as sheet {run.card.name} has a limit, retransmitted_percent")
    return judge(known, at_most(most, f"sheet {run.card.name}, retransmitted_percent"), plan)


def judge(counted: Sequence[tuple[int, float]], expected: Expected, plan: SamplingPlan) -> Outcome:
    """Judge retransmissions that were counted.

    Args:
        counted: Of each run, retransmissions and all segments.
        expected: The limit, in percent of the segments.
        plan: How the runs were made.

    Returns:
        The answer, with the counts in its reason.

    Raises:
        ValueError: For fewer runs than the first look of the plan needs.
    """
    resent, segments = sum(count for count, _ in counted), sum(size for _, size in counted)

    def least(n: int) -> float:
        # a look has only seen the segments of its own runs: those of later ones make it no surer
        return 2 * _unseen_percent(sum(size for _, size in counted[:n]))

    found = judge_values([100 * count / size for count, size in counted], expected, UNIT, plan, resolution=least)
    return replace(found, reason=f"{resent} of {segments:.0f} segments sent again: {found.reason}")


def _unseen_percent(segments: float) -> float:
    """The most that may be sent again where nothing was seen in so many segments, in percent."""
    return 100 * UNSEEN * BURST / segments
