"""Packets with wrong checksums that both systems count in an exchange: as many as were sent on purpose, no others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from niclab.bench.records import Role
from niclab.frames.answers import ServerAnswer
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding
from niclab.frames.spec import Arrives, FrameKind, FramePlan, FrameStream, Wrong


def findings(plan: FramePlan, answers: Mapping[Role, ServerAnswer]) -> Iterator[FrameFinding]:
    """Compare the systems' counts with the plan.

    A system counts over all of its interfaces, so too many prove that something is wrong, and not whose fault it is:
    the exchange decides nothing then. Captures of the wire say whose. Fewer than arrived: the card called wrong ones
    right. Those that did not arrive are the ledger's to judge.

    Args:
        plan: What was to be sent.
        answers: What both servers said.
    """
    for role, answer in answers.items():
        most, least = _sent(plan, role), _arrived(plan, role, answer)
        for name in sorted({*answer.wrong_sums, *most}):
            counted, wanted = answer.wrong_sums.get(name), most[name] or "none"
            said = f"{role.value}: {counted} wrong checksums of {name.upper()} counted; expected {wanted}"
            if counted is None:
                text = (
                    f"{role.value}: its kernel keeps no count of wrong checksums of {name.upper()}; expected {wanted}"
                )
                yield FrameFinding(FrameDifference.MISCOUNTED, Culprit.TOOL, text)
            elif counted > most[name]:
                yield FrameFinding(FrameDifference.DAMAGED, Culprit.TOOL, said)
            elif counted < least[name]:
                culprit = Culprit.CARD if role is Role.DUT else Culprit.PEER
                yield FrameFinding(FrameDifference.MISCOUNTED, culprit, f"{said}, and all {least[name]} that arrived")


def _sent(plan: FramePlan, role: Role) -> Counter[str]:
    """The wrong packets that are sent to a system, by the name of its count."""
    found = Counter[str]()
    for stream in plan.streams:
        name = _counted_as(stream)
        if name and stream.receiver.role is role:
            found[name] += stream.count
    return found


def _arrived(plan: FramePlan, role: Role, answer: ServerAnswer) -> Counter[str]:
    """Those of streams of which all must arrive that came to a port, and once."""
    found = Counter[str]()
    for flow, stream in enumerate(plan.streams):
        name = _counted_as(stream)
        if name and stream.receiver.role is role and stream.at_port is Arrives.ALL:
            came = (each.distinct for (_, number), each in answer.arrived.items() if number == flow)
            found[name] += min(stream.count, max(came, default=0))
    return found


def _counted_as(stream: FrameStream) -> str:
    if stream.frame is None or stream.frame.wrong in (Wrong.NOTHING, Wrong.FCS):
        return ""
    if stream.frame.wrong is Wrong.IP:
        return "ip"
    is_udp6 = stream.frame.kind is FrameKind.UDP and ":" in stream.frame.addresses[1]
    return "udp6" if is_udp6 else stream.frame.kind.value
