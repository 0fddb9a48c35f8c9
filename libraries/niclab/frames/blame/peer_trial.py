"""The trial of the peer: the same exchange without the card, before a difference is charged to the card.

It is held only where a difference is about to be charged that either side may have made. A sound card never sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.frames.answers import ServerAnswer
from niclab.frames.blame import loop, twin
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding
from niclab.frames.blame.loop import TriedPort
from niclab.frames.blame.twin import Pair
from niclab.frames.frame_agents import FrameAgents, port_addresses
from niclab.frames.ledger import Ledger
from niclab.frames.spec import FramePlan, FrameSpec, FrameStream
from niclab.run.run import Run
from niclab.run.watching import standstill

Charges = Mapping[Port, Sequence[FrameFinding]]
LEAST_ARRIVED = 0.9
"""Assumption: where losses are not the question, so large a part must arrive to tell what becomes of frames."""
SPOILT = (
    FrameDifference.LOST,
    FrameDifference.TWICE,
    FrameDifference.REORDERED,
    FrameDifference.DAMAGED,
    FrameDifference.RETAGGED,
)
ATTEMPTS = 3
"""A trial in which a server stood still, or the tool lost frames, is held again, at most so often in all."""
PASSES_WITHIN_S = 35.0
"""Assumption: spanning tree holds a port back for two times 15 s (IEEE 802.1D-2004, 17.14) after a cable was laid."""
FIRST, FIRST_SIZES = 5, (64, 1514)


def tried(run: Run, suspected: Sequence[FrameFinding], say: Callable[[str], object]) -> list[FrameFinding]:
    """Try each port of the peer that is suspected.

    Args:
        run: The current run.
        suspected: Findings with a suspicion.
        say: Takes what came out for each port.

    Returns:
        The findings: of the card where the port is sound, of the peer where the port does the like without the card,
        of nobody where that is not known; the text says why.

    Raises:
        BenchFault: The bench could not be put back as it was.
    """
    charges = dict[Port, list[FrameFinding]]()
    for each in suspected:
        if each.suspicion:
            charges.setdefault(each.suspicion.port, []).append(each)
    outcomes = _outcomes(run, charges)
    for port, outcome in outcomes.items():
        say(f"{port.place} without the card: {outcome.said}")
    return [_charged(each, each.suspicion.port, outcomes[each.suspicion.port]) for each in suspected if each.suspicion]


def _charged(finding: FrameFinding, port: Port, outcome: TriedPort) -> FrameFinding:
    texts = {
        Culprit.CARD: finding.text,
        Culprit.PEER: f"{finding.text}\n{port.place} does so without the card: {outcome.said}",
        Culprit.TOOL: f"{finding.text}\nnobody knows whether {port.place} did it: {outcome.said}",
    }
    return replace(finding, culprit=outcome.culprit, text=texts[outcome.culprit], suspicion=None)


def _outcomes(run: Run, charges: Charges) -> dict[Port, TriedPort]:
    suspicions = [each.suspicion for found in charges.values() for each in found if each.suspicion]
    streams = [stream for each in suspicions for stream in each.streams]
    vlans = {tag & twin.VLAN_BITS for each in streams for tag in each.tags_on_the_wire[:1]}
    return loop.outcomes(
        run, charges, frozenset(vlans - {0}), lambda port, other: _tried(run, _pair(run, port, other), charges[port])
    )


def _pair(run: Run, suspect: Port, other: Port) -> Pair:
    settings = run.server(Role.PEER).host.settings
    mtu = min(settings.mtu(run.interface(port)) for port in (suspect, other))
    return Pair(suspect, other, port_addresses(run, [suspect, other]), mtu)


def _tried(run: Run, pair: Pair, charges: Sequence[FrameFinding]) -> TriedPort:
    streams = twin.twins(pair, charges)
    if not streams:
        return TriedPort(Culprit.TOOL, "a switch need not keep tags of VLAN id 0")
    plan = FramePlan(tuple(streams), twin.modes(pair, streams))
    _await_passage(run, pair)
    both = standstill.watch(run)
    before = both.told()
    for _ in range(ATTEMPTS):
        ledger = _ledger(run, plan)
        findings = _spoilt(ledger)
        after = both.told() if findings else before
        stood, before = both.between(before, after), after
        if not stood and all(each.culprit is not Culprit.TOOL for each in findings):
            break
    is_asked = any(each.difference is FrameDifference.LOST for each in charges)
    sent, came = _sent_and_arrived(ledger)
    if not is_asked and came >= LEAST_ARRIVED * sent:
        findings = [each for each in findings if each.difference is not FrameDifference.LOST]
    has_foreign_switch = run.bench.path_of(pair.suspect).through is Wiring.DIRECT
    unclear = [each for each in findings if _proves_nothing(each, is_asked and not stood, has_foreign_switch)]
    if guilty := [each.text for each in findings if each not in unclear]:
        return TriedPort(Culprit.PEER, "; ".join(guilty))
    if unclear:
        return TriedPort(Culprit.TOOL, "; ".join([*(each.text for each in unclear), *map(str, stood)]))
    said = f"{came} of {sent} frames between it and {pair.other.name} arrived, each once, in order and unchanged"
    return TriedPort(Culprit.CARD, said)


def _proves_nothing(finding: FrameFinding, loss_is_asked: bool, has_foreign_switch: bool) -> bool:
    """Is it no sign of guilt? A loss may be that of a server that stood still, or of a switch that is not on the path.

    Such a switch carries frames of the common sizes, as any does. It may change tags.
    """
    streams = finding.suspicion.streams if finding.suspicion else ()
    if finding.culprit is Culprit.TOOL:
        return True
    need_not_pass = has_foreign_switch and bool(streams) and all(map(twin.is_uncommon, streams))
    if finding.difference is FrameDifference.RETAGGED:
        return need_not_pass
    return finding.difference is FrameDifference.LOST and (need_not_pass or not loss_is_asked)


def _spoilt(ledger: Ledger) -> list[FrameFinding]:
    return [each for each in ledger.findings() if each.difference in SPOILT and not _is_of_priority_tags(each)]


def _is_of_priority_tags(finding: FrameFinding) -> bool:
    streams = finding.suspicion.streams if finding.suspicion else ()
    return finding.difference is FrameDifference.RETAGGED and all(map(twin.gives_priority_alone, streams))


def _sent_and_arrived(ledger: Ledger) -> tuple[int, int]:
    sent = sum(found.frames for leg in ledger.legs for found in leg.sent.values())
    return sent, sum(found.distinct for leg in ledger.legs for found in leg.arrived.values())


def _await_passage(run: Run, pair: Pair) -> None:
    """Wait until frames pass both ways: a switch may hold a port back that came up just now.

    Raises:
        BenchFault: None do.
    """
    ways = ((pair.suspect, pair.other), (pair.other, pair.suspect))
    first = [
        FrameStream("first frames", here, there, FIRST, FIRST_SIZES, FrameSpec(pair.macs[here], pair.macs[there]))
        for here, there in ways
    ]
    deadline = Deadline(PASSES_WITHIN_S)
    while silent := [leg.name for leg in _ledger(run, FramePlan(tuple(first))).legs if not leg.arrived]:
        if deadline.expired:
            raise BenchFault(f"{silent[0]}: no frame passes within {PASSES_WITHIN_S:g} s; expected some of {FIRST}")


def _ledger(run: Run, plan: FramePlan) -> Ledger:
    answers: dict[Role, ServerAnswer] = dict(run.part(FrameAgents).exchange(plan))
    return Ledger(plan, answers, run.interface)
