"""The frame ledger: what was sent, counted and delivered, and a name for every difference.

Sent by the tool = counted by the sending port = counted by the receiving port = delivered to the tool. What is missing
was lost at a place; what is too much came twice or is a leak; what is delivered and not counted was counted wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import Port, Role
from niclab.core.verdict import Trouble, Undecided, blame
from niclab.frames.answers import ArrivedFlow, PortLook, SentFlow, ServerAnswer
from niclab.frames.spec import Arrives, FramePlan, FrameStream, MadeBy
from niclab.hosts.counts.load_records import FrameCounters

UNSEEN = 5
"""So many frames may pass a port that its system neither sends nor gets: firmware that speaks LLDP by itself sends so
many in a row (IEEE 802.1AB-2016, txCreditMax), and a filter refuses them behind the counter."""
UNSEEN_LEAST, UNSEEN_MOST = 14, 1522
"""Bytes of such a frame: a header at least; IEEE 802.3-2018, 3.2.7: the longest frame with a tag."""
FCS_BYTES = 4
"""Some drivers count the FCS of each frame, others do not; each of them always the same."""
TAG_BYTES = 4


class FrameDifference(Enum):
    """Ways in which a frame can go wrong."""

    LOST = "lost"
    TWICE = "twice"
    REORDERED = "reordered"
    DAMAGED = "damaged"
    LEAKED = "leaked"
    MISDELIVERED = "delivered to another port"
    MISCOUNTED = "counted wrong"
    BACKWARDS = "counter runs backwards"


class Culprit(Enum):
    """The party at fault. ``TOOL``: nobody, the exchange proves nothing."""

    CARD = "card"
    PEER = "peer"
    TOOL = "tool"


@dataclass(frozen=True)
class FrameFinding:
    """A difference, with its words."""

    difference: FrameDifference
    culprit: Culprit
    text: str


@dataclass(frozen=True)
class Leg:
    """All streams from one port to another, and what both ports counted."""

    sender: Port
    receiver: Port
    streams: Mapping[int, FrameStream]
    sent: Mapping[int, SentFlow]
    arrived: Mapping[int, ArrivedFlow]
    at_programs: Mapping[int, ArrivedFlow]
    looks: tuple[PortLook, PortLook]

    @property
    def name(self) -> str:
        """``dut.p0 to peer.p0``."""
        return f"{self.sender.name} to {self.receiver.name}"

    @property
    def counted(self) -> tuple[FrameCounters, FrameCounters]:
        """The counts of sender and receiver."""
        return self.looks[0].counted, self.looks[1].counted

    @property
    def backwards(self) -> list[tuple[Port, str]]:
        """Counters that run backwards, in words, each with its port."""
        both = zip((self.sender, self.receiver), self.looks, strict=True)
        return [(port, said) for port, look in both for said in look.backwards]


class Ledger:
    """The ledger of one exchange.

    Args:
        plan: What was to be sent.
        answers: What both servers said.
        iface: Gives the name of a port's interface.
    """

    def __init__(self, plan: FramePlan, answers: Mapping[Role, ServerAnswer], iface: Callable[[Port], str]) -> None:
        self._plan, self._answers, self._iface = plan, answers, iface
        self.legs = [self._leg(*pair) for pair in sorted({(s.sender, s.receiver) for s in plan.streams}, key=str)]

    def _leg(self, sender: Port, receiver: Port) -> Leg:
        streams = {
            flow: each
            for flow, each in enumerate(self._plan.streams)
            if (each.sender, each.receiver) == (sender, receiver)
        }
        there, here = self._answers[receiver.role], self._answers[sender.role]
        place = self._iface(receiver)
        return Leg(
            sender,
            receiver,
            streams,
            {flow: here.sent[flow] for flow in streams},
            {flow: there.arrived[place, flow] for flow in streams if (place, flow) in there.arrived},
            {
                flow: there.arrived[each.program.value, flow]
                for flow, each in streams.items()
                if each.program and (each.program.value, flow) in there.arrived
            },
            (here.ports[self._iface(sender)], there.ports[place]),
        )

    def lines(self) -> list[str]:
        """Say of each stream what was sent, and what became of it."""
        return [
            f"{leg.name}: {each.name}: {leg.sent[flow].frames} sent"
            + f", {_said(leg.arrived.get(flow))} at the port" * self._plan.raw
            + f", {_said(leg.at_programs.get(flow))} at the program" * bool(each.program)
            for leg in self.legs
            for flow, each in leg.streams.items()
        ]

    def findings(self) -> list[FrameFinding]:
        """Every difference."""
        found = [finding for leg in self.legs for finding in self._of_leg(leg)]
        return found + list(self._misdelivered()) + list(self._backwards())

    def _backwards(self) -> Iterator[FrameFinding]:
        """Counters may begin again when a port restarts, which one does only in a plan that lasts until stopped."""
        if self._plan.until_stopped:
            return
        for port, said in dict.fromkeys(pair for leg in self.legs for pair in leg.backwards):
            text = port.trouble(f"{said}; expected 64 bits that only grow").text
            yield FrameFinding(FrameDifference.BACKWARDS, culprit_of(port), text)

    def _of_leg(self, leg: Leg) -> Iterator[FrameFinding]:
        for flow, stream in leg.streams.items():
            yield from _short(leg, stream, leg.sent[flow])
            at_port = leg.arrived.get(flow)
            if self._plan.raw:
                yield from _of_flow(leg, stream, stream.at_port, leg.sent[flow], at_port, leg.receiver.place)
            if stream.program:
                at_program = leg.at_programs.get(flow)
                place = f"a program of {leg.receiver.role.value}"
                yield from _of_flow(leg, stream, stream.at_program, leg.sent[flow], at_program, place)
        if leg.looks[1].strange:
            text = f"{leg.name}: {leg.looks[1].strange} frames arrived whose content cannot be read; expected none"
            yield FrameFinding(FrameDifference.DAMAGED, Culprit.CARD, text)
        if self._plan.raw and self._plan.alone and all(each.at_port is Arrives.ALL for each in leg.streams.values()):
            yield from _counts(leg)

    def _misdelivered(self) -> Iterator[FrameFinding]:
        for role, answer in self._answers.items():
            for (place, flow), came in answer.arrived.items():
                port = next(
                    (port for port in self._plan.ports if port.role is role and self._iface(port) == place), None
                )
                if port is None or flow >= len(self._plan.streams) or self._plan.streams[flow].receiver == port:
                    continue
                stream = self._plan.streams[flow]
                text = f"{port.place} received {came.frames} frames of {stream.name} for {stream.receiver.name}"
                yield FrameFinding(FrameDifference.MISDELIVERED, culprit_of(port), f"{text}; expected none")


def judge(findings: Sequence[FrameFinding], stood: Sequence[object] = ()) -> None:
    """End an exchange with its verdict.

    Args:
        findings: The differences.
        stood: Standstills of servers meanwhile, which excuse losses and nothing else.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged, leaked or miscounted frames.
        BenchFault: The peer alone did.
        Undecided: The tool had no room for all frames, or a server stood still while frames were lost.
    """
    proven = [each for each in findings if each.culprit is not Culprit.TOOL]
    if stood:
        proven = [each for each in proven if each.difference not in (FrameDifference.LOST, FrameDifference.MISCOUNTED)]
    blame([Trouble(each.text, each.culprit is Culprit.CARD) for each in proven])
    if findings:
        said = [each.text for each in findings]
        raise Undecided("\n".join(said + [f"meanwhile {one}; expected both to keep running" for one in stood]))


def unknown_where(leg: Leg) -> str:
    """Return why nobody can say where frames were lost: the tool lost some, or a counter ran backwards; else empty.

    Args:
        leg: Where they were sent.
    """
    if leg.looks[1].dropped:
        return f"{leg.looks[1].dropped} lost by the tool of {leg.receiver.role.value}"
    return f"nobody knows where, as {leg.backwards[0][1]} at {leg.backwards[0][0].name}" if leg.backwards else ""


def culprit_of(port: Port) -> Culprit:
    """Return whose fault it is where a port is at fault.

    Args:
        port: The port.
    """
    return Culprit.CARD if port.role is Role.DUT else Culprit.PEER


def _said(came: ArrivedFlow | None) -> str:
    if came is None:
        return "0"
    extras = {"twice": came.twice, "late": came.late, "damaged": came.damaged}
    return ", ".join([str(came.frames), *(f"{count} {name}" for name, count in extras.items() if count)])


def _short(leg: Leg, stream: FrameStream, sent: SentFlow) -> Iterator[FrameFinding]:
    if sent.frames < stream.count:
        why = sent.refused or "its time was over"
        text = f"{leg.name}: {stream.name}: {sent.frames} of {stream.count} frames could be sent ({why}); expected all"
        yield FrameFinding(FrameDifference.LOST, Culprit.TOOL if not sent.refused else culprit_of(leg.sender), text)


def _of_flow(
    leg: Leg, stream: FrameStream, expected: Arrives, sent: SentFlow, came: ArrivedFlow | None, place: str
) -> Iterator[FrameFinding]:
    subject = f"{leg.name}: {stream.name}"
    arrived = came.frames if came else 0
    if expected is Arrives.NONE and arrived:
        text = f"{subject}: {arrived} of {sent.frames} frames were delivered to {place}; expected none"
        yield FrameFinding(FrameDifference.LEAKED, culprit_of(leg.receiver), text)
    if expected not in (Arrives.ALL, Arrives.SOME):
        return
    least = sent.frames if expected is Arrives.ALL else min(1, sent.frames)
    if came is None or came.distinct < least:
        distinct = came.distinct if came else 0
        where, culprit = _lost_where(leg)
        text = f"{subject}: {distinct} of {sent.frames} frames arrived at {place}, {where}; expected {expected.value}"
        yield FrameFinding(FrameDifference.LOST, culprit, text)
    if came is None:
        return
    example = f" ({came.example})" if came.example else ""
    if came.twice:
        text = f"{subject}: {came.twice} frames arrived twice at {place}; expected each once"
        yield FrameFinding(FrameDifference.TWICE, _doubler(leg), text)
    if came.late:
        text = f"{subject}: {came.late} frames arrived behind later ones at {place}{example}; expected in order"
        yield FrameFinding(FrameDifference.REORDERED, Culprit.CARD, text)
    if came.damaged:
        text = (
            f"{subject}: {came.damaged} of {came.frames} frames arrived damaged at {place}{example}; expected as sent"
        )
        yield FrameFinding(FrameDifference.DAMAGED, Culprit.CARD, text)


def _lost_where(leg: Leg) -> tuple[str, Culprit]:
    """Return where frames were lost, by the first counter that says so; between the ports the card is on trial."""
    if unknown := unknown_where(leg):
        return unknown, Culprit.TOOL
    sending, receiving = leg.counted
    refused = sending.tx_dropped + sending.tx_errors
    if refused:
        return f"{refused} counted as dropped by {leg.sender.name}", culprit_of(leg.sender)
    if receiving.rx_missed_errors or receiving.rx_errors or receiving.rx_dropped:
        names = ("rx_missed_errors", "rx_errors", "rx_dropped")
        counts = [f"{getattr(receiving, name)} {name}" for name in names if getattr(receiving, name)]
        return f"counted by {leg.receiver.name} as {', '.join(counts)}", culprit_of(leg.receiver)
    sent = sum(each.frames for each in leg.sent.values())
    if any(each.made_by is not MadeBy.RAW for each in leg.streams.values()):
        return "counted by nobody as lost", Culprit.CARD
    if sending.tx_packets < sent:
        return f"lost at {leg.sender.name}, which counted {sending.tx_packets} of {sent} sent", culprit_of(leg.sender)
    if receiving.rx_packets >= sent:
        return f"lost behind {leg.receiver.name}, which counted {receiving.rx_packets}", culprit_of(leg.receiver)
    counted = (
        f"{leg.sender.name} counted {sending.tx_packets} sent, {leg.receiver.name} {receiving.rx_packets} received"
    )
    return f"lost between the ports: {counted}", Culprit.CARD


def _doubler(leg: Leg) -> Culprit:
    """Return who sent or delivered a frame twice: the sender, when it counted more frames than it was given."""
    given = sum(each.frames for each in leg.sent.values()) + leg.looks[0].leaving + UNSEEN
    if leg.sender.role is Role.PEER and not leg.backwards and leg.counted[0].tx_packets > given:
        return Culprit.PEER
    return Culprit.CARD


@dataclass(frozen=True)
class _Passed:
    """Frames that passed a port, and the bytes they have at least and at most."""

    frames: int
    least: int
    most: int

    def __add__(self, more: _Passed) -> _Passed:
        return _Passed(self.frames + more.frames, self.least + more.least, self.most + more.most)


def _counts(leg: Leg) -> Iterator[FrameFinding]:
    """Do the counters of both ports agree with what passed them?"""
    if leg.backwards:
        return
    (sending, receiving), (there, here) = leg.counted, leg.looks
    # a frame that a full ring refuses leaves the system once more: it is not sure of each that its port counted it
    leaving = _Passed(there.leaving, there.leaving_bytes, there.leaving_most)
    yield from _miscounted(leg.sender, "sent", sending.tx_packets, sending.tx_bytes, _own(leg, leg.sent), leaving)
    if here.dropped:
        return
    came = _own(leg, leg.arrived) + _Passed(here.others, here.others_bytes, here.others_most)
    refused = _Passed(max(0, there.leaving - here.others), 0, there.leaving_most)
    yield from _miscounted(leg.receiver, "received", receiving.rx_packets, receiving.rx_bytes, came, refused)


def _own(leg: Leg, flows: Mapping[int, SentFlow] | Mapping[int, ArrivedFlow]) -> _Passed:
    """The tool's own frames: of one that has a tag some drivers count the bytes without it."""
    frames, size = (sum(getattr(each, name) for each in flows.values()) for name in ("frames", "bytes"))
    tagged = [number for number, each in leg.streams.items() if each.frame and each.frame.vlans]
    hidden = TAG_BYTES * sum(flows[number].frames for number in tagged if number in flows)
    return _Passed(frames, size - hidden, size)


def _miscounted(
    port: Port, way: str, counted: int, counted_bytes: int, sure: _Passed, possible: _Passed
) -> Iterator[FrameFinding]:
    """Find a wrong count: ``possible`` frames may have passed in addition to those that are ``sure``."""
    more = counted - sure.frames
    if not 0 <= more <= possible.frames + UNSEEN:
        text = f"{port.place} counted {counted} frames {way}; expected {sure.frames}, as the tool did"
        also = f", and at most {possible.frames} of its system" if possible.frames else ""
        yield FrameFinding(FrameDifference.MISCOUNTED, culprit_of(port), text + also)
        return
    unseen = max(0, more - possible.frames)
    least = sure.least + (possible.least if more >= possible.frames else 0) + UNSEEN_LEAST * unseen
    most = sure.most + (possible.most if more else 0) + UNSEEN_MOST * unseen
    if not any(least <= counted_bytes - fcs <= most for fcs in (0, FCS_BYTES * counted)):
        wanted = str(least) if least == most else f"{least} to {most}"
        text = f"{port.place} counted {counted_bytes} bytes {way} in {counted} frames; expected {wanted}"
        yield FrameFinding(FrameDifference.MISCOUNTED, culprit_of(port), f"{text}, or {FCS_BYTES} more for each FCS")
