"""From answers to the verdict of a test."""

from __future__ import annotations

from collections.abc import Mapping

from niclab.core.decision import Decision
from niclab.core.verdict import CardFailure, Undecided
from niclab.stats.questions import Outcome


def conclude(results: Mapping[str, Outcome]) -> None:
    """End a check whose answers are ``results``, by subject; returns only when every one is MET.

    Args:
        results: The subject of each answer (``dut.p0 to peer.p0, TCP``) names it in the message.

    Raises:
        CardFailure: When any is MISSED; what is undecided is in the message too.
        Undecided: When none is missed and any is UNDECIDED.
        ValueError: Without results: nothing asked is not an answer.
    """
    if not results:
        raise ValueError("no results; expected at least one")
    lines = [
        f"{subject}: {result.reason}" for subject, result in results.items() if result.decision is not Decision.MET
    ]
    if any(result.decision is Decision.MISSED for result in results.values()):
        raise CardFailure("\n".join(lines))
    if lines:
        raise Undecided("\n".join(lines))
