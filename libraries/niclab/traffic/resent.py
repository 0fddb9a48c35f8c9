"""How much of the TCP was sent twice, against the sheet's limit: a line that loses frames is seen before it is slow.

Retransmissions are counted events, so the bounds of their number are those of Poisson's distribution (normal
approximation with the rule of three for none: Hanley & Lippman-Hand 1983, JAMA 249:1743).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from niclab.run.run import Run
from niclab.stats.questions import Look, Result, at_most
from niclab.traffic.measuring import TrafficRun
from niclab.traffic.tool import TCP_PAYLOAD_BYTES

_LEVEL, _CRITICAL, _RULE_OF_THREE = 0.95, 1.96, 3.0
UNIT = "percent sent again"


def result(run: Run, runs: Sequence[TrafficRun]) -> Result | None:
    """The answer for all ``runs`` together; None where the sheet has no limit, or the tool does not count them."""
    most = run.card.limits.retransmitted_percent
    counts = [measured.result.retransmits for measured in runs]
    known = [count for count in counts if count is not None]
    sizes = [measured.result.received_bytes for measured in runs]
    segments = sum(size for size in sizes if size is not None) / TCP_PAYLOAD_BYTES
    if not isinstance(most, float) or len(known) != len(runs) or not segments:
        return None
    wish = at_most(most, f"sheet {run.card.name}, retransmitted_percent")
    count, scale = sum(known), 100 / segments
    low = max(0.0, count - _CRITICAL * math.sqrt(count)) * scale
    estimate, high = count * scale, (count + _CRITICAL * math.sqrt(count) + _RULE_OF_THREE) * scale
    decision = wish.decide(low, high)
    look = Look(len(runs), _CRITICAL, estimate, low, high, decision)
    reason = (
        f"{count} of {segments:.0f} segments sent again, {estimate:.3f} %, 95 % interval {low:.3f} to {high:.3f}, "
        f"{wish.text}: {decision.value}"
    )
    return Result(
        estimate, low, high, UNIT, _LEVEL, len(runs), None, float(len(runs)), wish, decision, None, (look,), reason
    )
