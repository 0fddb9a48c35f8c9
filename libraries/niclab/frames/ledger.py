"""The frame ledger: what was sent, counted and delivered, and a name for every difference.

Sent by the tool = counted by the sending port = counted by the receiving port = delivered to the tool. What is missing
was lost at a place; what is too much came twice or is a leak; what is delivered and not counted was counted wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from niclab.bench.records import Port, Role
from niclab.frames.answers import ArrivedFlow, PortLook, SentFlow, ServerAnswer
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, Suspicion, culprit_of
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


@dataclass(frozen=True)
class Leg:
    """All streams from one port to another, and what both ports counted.

    ``is_counted``: the ports carry the streams and what their systems send, and nothing else, nor streams of another
    leg, those to groups that a switch passes on to every port among them.
    """

    sender: Port
    receiver: Port
    streams: Mapping[int, FrameStream]
    sent: Mapping[int, SentFlow]
    arrived: Mapping[int, ArrivedFlow]
    at_programs: Mapping[int, ArrivedFlow]
    looks: tuple[PortLook, PortLook]
    is_counted: bool

    @property
    def between(self) -> Culprit:
        """The party charged with what happens between the ports: the card, where a port of it takes part."""
        return Culprit.CARD if Role.DUT in (self.sender.role, self.receiver.role) else Culprit.PEER

    def suspicion(self, streams: Iterable[FrameStream], hits: int) -> Suspicion | None:
        """The suspicion against the port of the peer; None where no port of it takes part.

        Args:
            streams: The streams that differ.
            hits: Frames that differ.
        """
        port = next((each for each in (self.receiver, self.sender) if each.role is Role.PEER), None)
        return None if port is None else Suspicion(port, tuple(streams), hits)

    def missing(self, at_program: bool) -> int:
        """Return how many frames that must all arrive did not.

        Args:
            at_program: At programs of the receiver, not at its port.
        """
        places = self.at_programs if at_program else self.arrived
        wanted = [
            flow
            for flow, each in self.streams.items()
            if (each.at_program if at_program else each.at_port) is Arrives.ALL
        ]
        came = {flow: places[flow].distinct if flow in places else 0 for flow in wanted}
        return sum(max(0, self.sent[flow].frames - count) for flow, count in came.items())

    @property
    def unread(self) -> int:
        """Frames that arrived at the port, and not at the program that must get all of them."""
        flows = [flow for flow, each in self.streams.items() if each.at_program is Arrives.ALL and flow in self.arrived]
        read = {flow: self.at_programs[flow].distinct if flow in self.at_programs else 0 for flow in flows}
        return sum(self.arrived[flow].distinct - count for flow, count in read.items())

    def refused(self, lost: int) -> tuple[str, Culprit] | None:
        """Return which port counted as many frames as refused, in words, and whose it is; None where neither did.

        A counter that does not cover the loss proves nothing. Nor does one of frames that arrived damaged: either end
        of a cable spoils those.

        Args:
            lost: Lost frames.
        """
        refused = self.counted[0].tx_dropped + self.counted[0].tx_errors
        if refused >= lost:
            return f"{refused} counted as dropped by {self.sender.name}", culprit_of(self.sender)
        if self.refused_there >= lost:
            return f"counted by {self.receiver.name} as {self.lost_there}", culprit_of(self.receiver)
        return None

    @property
    def refused_there(self) -> int:
        """Frames that came over the wire and that the receiver counted as refused."""
        return self.counted[1].rx_missed_errors + self.counted[1].rx_dropped

    @property
    def lost_there(self) -> str:
        """Every counter of frames that the receiver lost, in words; empty where none has counted."""
        counted = {name: getattr(self.counted[1], name) for name in ("rx_missed_errors", "rx_errors", "rx_dropped")}
        return ", ".join(f"{count} {name}" for name, count in counted.items() if count)

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

    @property
    def unknown_where(self) -> str:
        """The reason why counters do not tell where frames were lost: one runs backwards; empty where none does."""
        return f"nobody knows where, as {self.backwards[0][1]} at {self.backwards[0][0].name}" if self.backwards else ""


class Ledger:
    """The ledger of one exchange.

    Args:
        plan: What was to be sent.
        answers: What both servers said.
        iface: Gives the name of a port's interface.
        switched: Ports whose paths go through the same switch: frames to groups come to each of them.
    """

    def __init__(
        self,
        plan: FramePlan,
        answers: Mapping[Role, ServerAnswer],
        iface: Callable[[Port], str],
        switched: Collection[Port] = (),
    ) -> None:
        self._plan, self._answers, self._iface, self._switched = plan, answers, iface, switched
        pairs = sorted({(s.sender, s.receiver) for s in plan.streams}, key=str)
        self._shared = [port for port, count in Counter(port for pair in pairs for port in pair).items() if count > 2]
        self.legs = [self._leg(*pair) for pair in pairs]

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
            self._plan.raw
            and self._plan.alone
            and not {sender, receiver} & set(self._shared)
            and not any(self._is_flooded(each, port) for each in self._plan.streams for port in (sender, receiver)),
        )

    def _is_flooded(self, stream: FrameStream, port: Port) -> bool:
        """Does the switch pass the frames of a stream on to a port that they are not for?"""
        ends = (stream.sender, stream.receiver)
        return stream.is_to_group and port not in ends and {stream.sender, port} <= set(self._switched)

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
            yield from unsent(leg, stream, leg.sent[flow])
            at_port = leg.arrived.get(flow)
            if self._plan.raw:
                yield from _of_flow(leg, stream, leg.sent[flow], at_port)
            if stream.program:
                yield from _of_flow(leg, stream, leg.sent[flow], leg.at_programs.get(flow), at_program=True)
        if leg.looks[1].strange:
            text = f"{leg.name}: {leg.looks[1].strange} frames arrived whose content cannot be read; expected none"
            suspicion = leg.suspicion(leg.streams.values(), leg.looks[1].strange)
            yield FrameFinding(FrameDifference.DAMAGED, leg.between, text, suspicion)
        if leg.is_counted and all(each.at_port is Arrives.ALL for each in leg.streams.values()):
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
                if self._is_flooded(stream, port):
                    continue
                text = f"{port.place} received {came.frames} frames of {stream.name} for {stream.receiver.name}"
                yield FrameFinding(FrameDifference.MISDELIVERED, culprit_of(port), f"{text}; expected none")


def _said(came: ArrivedFlow | None) -> str:
    if came is None:
        return "0"
    extras = {"twice": came.twice, "late": came.late, "damaged": came.damaged}
    return ", ".join([str(came.frames), *(f"{count} {name}" for name, count in extras.items() if count)])


def unsent(leg: Leg, stream: FrameStream, sent: SentFlow) -> Iterator[FrameFinding]:
    """Say who is at fault where not all frames of a stream could be sent.

    Args:
        leg: Where it was to be sent.
        stream: The stream.
        sent: What was sent of it.
    """
    if sent.frames < stream.count:
        why = sent.refused or "its time was over"
        text = f"{leg.name}: {stream.name}: {sent.frames} of {stream.count} frames could be sent ({why}); expected all"
        if sent.refused and stream.made_by is MadeBy.TCP:  # nobody has answered, or there was no way to the answer
            doubt = leg.suspicion([stream], stream.count - sent.frames)
            yield FrameFinding(FrameDifference.LOST, leg.between, text, doubt)
        else:
            yield FrameFinding(FrameDifference.LOST, culprit_of(leg.sender) if sent.refused else Culprit.TOOL, text)


def _of_flow(
    leg: Leg, stream: FrameStream, sent: SentFlow, came: ArrivedFlow | None, *, at_program: bool = False
) -> Iterator[FrameFinding]:
    expected = stream.at_program if at_program else stream.at_port
    place = f"a program of {leg.receiver.role.value}" if at_program else leg.receiver.place
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
        where, sure = _lost_where(leg, leg.missing(at_program) or sent.frames, at_program)
        text = f"{subject}: {distinct} of {sent.frames} frames arrived at {place}, {where}; expected {expected.value}"
        doubt = None if sure else leg.suspicion([stream], sent.frames - distinct)
        yield FrameFinding(FrameDifference.LOST, sure or leg.between, text, doubt)
    if came is None:
        return
    example = f" ({came.example})" if came.example else ""
    if came.twice:
        text = f"{subject}: {came.twice} frames arrived twice at {place}; expected each once"
        doubler = _doubler(leg)
        doubt = None if doubler else leg.suspicion([stream], came.twice)
        yield FrameFinding(FrameDifference.TWICE, doubler or leg.between, text, doubt)
    if came.late and stream.in_order:
        text = f"{subject}: {came.late} frames arrived behind later ones at {place}{example}; expected in order"
        yield FrameFinding(FrameDifference.REORDERED, leg.between, text, leg.suspicion([stream], came.late))
    if came.damaged:
        text = (
            f"{subject}: {came.damaged} of {came.frames} frames arrived damaged at {place}{example}; expected as sent"
        )
        yield FrameFinding(FrameDifference.DAMAGED, leg.between, text, leg.suspicion([stream], came.damaged))
    if not at_program:
        yield from _retagged(leg, stream, came)


def _retagged(leg: Leg, stream: FrameStream, came: ArrivedFlow) -> Iterator[FrameFinding]:
    wanted = stream.tags_on_arrival
    if others := sum(count for tags, count in came.tags.items() if tags != wanted):
        found = ", ".join(f"{tags or 'none'} ({count})" for tags, count in sorted(came.tags.items()))
        text = f"{leg.name}: {stream.name}: arrived with tags {found} at {leg.receiver.place}"
        doubt = leg.suspicion([stream], others)
        yield FrameFinding(FrameDifference.RETAGGED, leg.between, f"{text}; expected {wanted or 'none'}", doubt)


def _doubler(leg: Leg) -> Culprit | None:
    """Return who sent a frame twice for sure: the sender, when it counted more frames than it was given."""
    if leg.backwards or not leg.is_counted:
        return None
    given = sum(each.frames for each in leg.sent.values()) + leg.looks[0].leaving + UNSEEN
    return culprit_of(leg.sender) if leg.counted[0].tx_packets > given else None


def _lost_where(leg: Leg, lost: int, at_program: bool) -> tuple[str, Culprit | None]:
    """Return where frames were lost, and by whom for sure.

    Every frame that passes the ports is known: what the tool had no room for accounts for so many frames, and no more.
    """
    there = leg.looks[1]
    if leg.unknown_where:
        return leg.unknown_where, Culprit.TOOL
    sending, receiving = leg.counted
    sender, receiver = leg.sender.name, leg.receiver.name
    if there.dropped and there.dropped + leg.refused_there >= lost:
        return f"{there.dropped} lost by the tool of {leg.receiver.role.value}", Culprit.TOOL
    if proven := leg.refused(lost):
        return proven
    said = f"{leg.lost_there} counted by {receiver}" if leg.lost_there else "counted by nobody as lost"
    sent, came = (sum(each.frames for each in found.values()) for found in (leg.sent, leg.arrived))
    if at_program and leg.unread >= lost:
        return f"lost behind {receiver}, where they arrived", culprit_of(leg.receiver)
    if not leg.is_counted:
        return said, None
    if sent - sending.tx_packets >= lost:
        return f"lost at {sender}, which counted {sending.tx_packets} of {sent} sent", culprit_of(leg.sender)
    if receiving.rx_packets - there.others - came >= lost:
        return f"lost behind {receiver}, which counted {receiving.rx_packets}", culprit_of(leg.receiver)
    counted = f"{sender} counted {sending.tx_packets} sent, {receiver} {receiving.rx_packets} received"
    return f"lost between the ports: {counted}{f', {said}' if leg.lost_there else ''}", None


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
    tagged = [number for number, each in leg.streams.items() if each.tags_on_the_wire]
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
