"""The answers of the frame program on a server: what it has sent, received and counted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from niclab.hosts.counts.load_records import FrameCounters
from niclab.hosts.errors import ReadError

Count = Annotated[int, Field(ge=0)]


class _Line(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class SentFlow(_Line):
    """A flow that was sent. ``refused``: why no more could be sent, in the words of the system.

    ``seconds``: from the first frame to the last.
    """

    flow: Count
    frames: Count
    bytes: Count
    refused: str
    seconds: float = 0.0


class ArrivedFlow(_Line):
    """The arrivals of a flow at a place: an interface, or a program's socket of ``udp`` or ``tcp``.

    ``late``: behind a frame of a higher number; ``valid``: the card said that the checksum is right; ``tags``: by VLAN
    id, empty for none; ``example``: of what is wrong; ``holes``: the first number of each run of missing ones, and how
    many, before the last one that came.
    """

    place: str
    flow: Count
    frames: Count
    bytes: Count
    distinct: Count
    twice: Count
    late: Count
    damaged: Count
    valid: Count
    tags: Mapping[str, int]
    example: str
    holes: list[Annotated[list[Count], Field(min_length=2, max_length=2)]]


class FlowGap(_Line):
    """The longest time in s between two frames of a flow at a place, or until now where none has come since."""

    place: str
    flow: Count
    gap_s: float


class PortLook(_Line):
    """A port: the kernel's counters before and after, and what came there that is of no flow.

    ``others`` were delivered to the system, ``leaving`` were sent by it: ``bytes`` as the system has them, ``most`` as
    they may be on the wire, padded. ``strange``: frames of the tool's own kind that cannot be read; ``resets``: TCP
    segments that refuse a connection; ``dropped``: frames for which the tool had no room.
    """

    port: str
    before: Mapping[str, int]
    after: Mapping[str, int]
    others: Count
    others_bytes: Count
    others_most: Count
    leaving: Count
    leaving_bytes: Count
    leaving_most: Count
    strange: Count
    resets: Count
    dropped: Count

    @property
    def counted(self) -> FrameCounters:
        """The counts of the port over the exchange.

        Raises:
            ReadError: A counter runs backwards.
        """
        return FrameCounters(**self.after).since(FrameCounters(**self.before))

    @property
    def backwards(self) -> tuple[str, ...]:
        """The counters that run backwards, in words."""
        return FrameCounters(**self.after).backwards(FrameCounters(**self.before))


class WireView(_Line):
    """Packets of one protocol, in or out, at an interface.

    ``oversize``: larger than the MTU or the maximum segment size, so not yet cut up or already merged; ``unfinished``:
    without a checksum, which the card is to write, or which nobody needs after merging. Of packets that came in with
    their checksums: ``wrong_headers`` (of IPv4), ``wrong`` (TCP, UDP), ``cut``, ``short`` (less data than the most),
    ``odd``. ``handed``: by tags, where the outer one is handed over outside of the frame; ``inline``: by tags, where
    all are in the frame.
    """

    frames: Count
    largest: Count
    oversize: Count
    unfinished: Count
    wrong_headers: Count
    wrong: Count
    cut: Count
    short: Count
    odd: Count
    handed: Mapping[str, int]
    inline: Mapping[str, int]
    example: str

    def __str__(self) -> str:
        counts = ("oversize", "unfinished", "wrong_headers", "wrong", "cut", "short", "odd")
        said = [f"{getattr(self, name)} {name}" for name in counts if getattr(self, name)]
        tags = {"handed over": self.handed, "in the frame": self.inline}
        said += [f"{n} with tag {tag} {how}" for how, found in tags.items() for tag, n in found.items() if tag]
        return ", ".join([f"{self.frames} packets of at most {self.largest} bytes", *said])


class WireLook(_Line):
    """The packets at an interface by way and protocol, such as ``out tcp4``. ``dropped``: the capture had no room."""

    port: str
    views: Mapping[str, WireView]
    dropped: Count


class HashLook(_Line):
    """The hashes of frames that came in at an interface.

    ``hashless``: frames without; ``values``: different ones; ``unsteady``: connections that have several; ``queues``:
    receive queues of the interface; ``steered``: the system hashes by itself, to spread frames over CPUs.
    """

    port: str
    frames: Count
    hashless: Count
    connections: Count
    values: Count
    unsteady: Count
    queues: Count
    steered: bool
    dropped: Count


class WrongSums(_Line):
    """As many packets with a wrong checksum as the system has counted, by protocol.

    ``backlog``: frames for which the backlogs of its CPUs had no room.
    """

    wrong: Mapping[str, int]
    backlog: int = 0


@dataclass(frozen=True)
class ServerAnswer:
    """All that one server said of an exchange."""

    sent: Mapping[int, SentFlow]
    arrived: Mapping[tuple[str, int], ArrivedFlow]
    ports: Mapping[str, PortLook]
    wrong_sums: Mapping[str, int]
    wire: Mapping[str, WireLook]
    hashes: Mapping[str, HashLook]
    backlog: int = 0


def read_answer(text: str) -> ServerAnswer:
    """Read the result of the frame program.

    Raises:
        ReadError: It is not whole, or the program failed; its words are in the message.
    """
    sent, arrived, ports = dict[int, SentFlow](), dict[tuple[str, int], ArrivedFlow](), dict[str, PortLook]()
    sums, wire, hashes = WrongSums(wrong={}), dict[str, WireLook](), dict[str, HashLook]()
    ended = False
    for line in text.splitlines():
        kind, words = _line(line)
        try:
            if kind == "sent":
                one = SentFlow(**words)
                sent[one.flow] = one
            elif kind == "received":
                came = ArrivedFlow(**words)
                arrived[came.place, came.flow] = came
            elif kind == "port":
                look = PortLook(**words)
                ports[look.port] = look
            elif kind == "wire":
                captured = WireLook(**words)
                wire[captured.port] = captured
            elif kind == "hashes":
                hashed = HashLook(**words)
                hashes[hashed.port] = hashed
            elif kind == "sums":
                sums = WrongSums(**words)
            elif kind == "error":
                raise ReadError(str(words.get("error")))
        except ValidationError as error:
            raise ReadError(f"{line[:200]!r}: {error.errors()[0]['msg']}") from error
        ended = kind == "end"
    if not ended:
        raise ReadError(f"{text[-200:]!r}; expected lines of JSON, the last of kind end")
    return ServerAnswer(sent, arrived, ports, sums.wrong, wire, hashes, sums.backlog)


def read_gaps(text: str) -> dict[int, float]:
    """Read the gaps of the flows that arrive at a server.

    Args:
        text: What the frame program has written.

    Returns:
        The gap in s of each flow.

    Raises:
        ReadError: It is not whole, it is the result of an exchange that is over, or the program failed; its words are
            in the message.
    """
    gaps, ended = dict[int, float](), False
    for line in text.splitlines():
        kind, words = _line(line)
        if kind == "error":
            raise ReadError(str(words.get("error")))
        if kind == "gap":
            try:
                gap = FlowGap(**words)
            except ValidationError as error:
                raise ReadError(f"{line[:200]!r}: {error.errors()[0]['msg']}") from error
            gaps[gap.flow] = gap.gap_s
        elif kind != "end":
            raise ReadError(f"{line[:200]!r}; expected the gaps of an exchange that goes on")
        ended = kind == "end"
    if not ended:
        raise ReadError(f"{text[-200:]!r}; expected lines of JSON, the last of kind end")
    return gaps


def _line(line: str) -> tuple[str, dict[str, Any]]:
    try:
        words = json.loads(line)
        return words.pop("kind"), words
    except (ValueError, AttributeError, KeyError) as error:
        raise ReadError(f"{line[:200]!r}; expected a JSON object with its kind") from error
