"""Differences of an exchange, whom each is charged to, and the verdict that follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from niclab.bench.records import Port, Role
from niclab.core.verdict import Trouble, Undecided, blame
from niclab.frames.spec import FrameStream


class FrameDifference(Enum):
    """Ways in which a frame can go wrong."""

    LOST = "lost"
    TWICE = "twice"
    REORDERED = "reordered"
    DAMAGED = "damaged"
    RETAGGED = "other tags"
    LEAKED = "leaked"
    MISDELIVERED = "delivered to another port"
    MISCOUNTED = "counted wrong"
    BACKWARDS = "counter runs backwards"


class Culprit(Enum):
    """The party at fault. ``TOOL``: nobody, the exchange proves nothing."""

    CARD = "card"
    PEER = "peer"
    TOOL = "tool"


def culprit_of(port: Port) -> Culprit:
    """Return whose fault it is where a port is at fault.

    Args:
        port: The port.
    """
    return Culprit.CARD if port.role is Role.DUT else Culprit.PEER


@dataclass(frozen=True)
class Suspicion:
    """A port of the peer that may have made a difference which is charged to the card: no counter says who did.

    Attributes:
        port: The port of the peer.
        streams: What it has sent or received.
        hits: Frames that differ.
    """

    port: Port
    streams: tuple[FrameStream, ...]
    hits: int


@dataclass(frozen=True)
class FrameFinding:
    """A difference, with its words. ``suspicion``: who may be at fault in place of the culprit; None: nobody."""

    difference: FrameDifference
    culprit: Culprit
    text: str
    suspicion: Suspicion | None = None


Trying = Callable[[Sequence[FrameFinding]], Sequence[FrameFinding]]
"""Tries the peer: the same findings, without suspicion, each with the culprit that the trial has shown."""


def untried(findings: Sequence[FrameFinding]) -> list[FrameFinding]:
    """Return findings as they are while nobody has tried the peer: nobody is proven guilty.

    Args:
        findings: Findings with a suspicion.
    """
    return [replace(each, culprit=Culprit.TOOL, suspicion=None) for each in findings]


def judge(findings: Sequence[FrameFinding], stood: Sequence[object] = (), trying: Trying = untried) -> None:
    """End an exchange with its verdict.

    Args:
        findings: The differences.
        stood: Standstills of servers meanwhile, which excuse losses and nothing else.
        trying: Tries the peer before a difference that it may have made is charged to the card.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged, retagged, leaked or miscounted frames.
        BenchFault: The peer alone did.
        Undecided: The tool had no room for all frames, nobody knows whether the card or the peer is at fault, or a
            server stood still while frames were lost.
    """
    charged = [each for each in findings if each.culprit is not Culprit.TOOL]
    if stood:
        charged = [
            each for each in charged if each.difference not in (FrameDifference.LOST, FrameDifference.MISCOUNTED)
        ]
    suspected = [each for each in charged if each.suspicion]
    tried = [*(each for each in charged if not each.suspicion), *(trying(suspected) if suspected else ())]
    blame([Trouble(each.text, each.culprit is Culprit.CARD) for each in tried if each.culprit is not Culprit.TOOL])
    if findings:
        said = [*(each.text for each in findings if each not in charged), *(each.text for each in tried)]
        raise Undecided("\n".join(said + [f"meanwhile {one}; expected both keep running" for one in stood]))
