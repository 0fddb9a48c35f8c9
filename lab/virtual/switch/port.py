"""A port: its state, its counters, and the wire to the server in both directions."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cables import BUFFER_S, wire_time_s
from switch import frames
from wiresocket import WireSocket

BURST = 64
"""Frames taken from a socket before others have their turn."""


@dataclass
class Counters:
    """The traffic that a port has carried; octets are counted with FCS (RFC 3635)."""

    in_octets: int = 0
    in_unicast: int = 0
    in_multicast: int = 0
    in_broadcast: int = 0
    in_discards: int = 0
    in_errors: int = 0
    in_too_long: int = 0
    out_octets: int = 0
    out_unicast: int = 0
    out_multicast: int = 0
    out_broadcast: int = 0
    out_discards: int = 0

    def received(self, frame: bytes) -> None:
        self.in_octets += frames.octets(frame)
        if not frame[0] & 1:
            self.in_unicast += 1
        elif frame[:6] == frames.BROADCAST:
            self.in_broadcast += 1
        else:
            self.in_multicast += 1

    def sent(self, frame: bytes) -> None:
        self.out_octets += frames.octets(frame)
        if not frame[0] & 1:
            self.out_unicast += 1
        elif frame[:6] == frames.BROADCAST:
            self.out_broadcast += 1
        else:
            self.out_multicast += 1

    def copy(self) -> Counters:
        return replace(self)


class Lane:
    """One direction of a wire: a frame arrives when its last bit has, one frame after the other."""

    def __init__(self, arrived: Callable[[bytes, float], None]) -> None:
        self._arrived = arrived
        self._queue: deque[tuple[float, bytes]] = deque()
        self._free_at = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def put(self, frame: bytes, rate_bit_s: float, at: float) -> bool:
        """Send the frame that came ``at`` a moment; tell whether there was room for it in the buffer before the wire.

        The moment may be past: the wire goes on while the host gives this process no processor.
        """
        start = max(at, self._free_at)
        if start - at > BUFFER_S:
            return False
        self._free_at = start + wire_time_s(len(frame), rate_bit_s)
        self._queue.append((self._free_at, frame))
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_at(self._free_at, self._release)
        return True

    def clear(self) -> None:
        """The frames on the wire are lost: the link went down."""
        self._queue.clear()
        self._free_at = 0.0

    @property
    def busy(self) -> bool:
        return bool(self._queue)

    def _release(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._queue and self._queue[0][0] <= now:
            due, frame = self._queue.popleft()
            self._arrived(frame, due)
        self._timer = loop.call_at(self._queue[0][0], self._release) if self._queue else None


@dataclass
class Port:
    """One port of the switch and what is known of it at run time; what is configured is in :mod:`switch.config`.

    Attributes:
        number: As a bridge port, 1 and up; its ifIndex is another number.
        far: The name of the server, and of its port, at the other end of the cable.
        cable: Where the cable takes frames.
        received: Takes the frames that have come, each with its moment.
        scale: Frames travel at the port's speed divided by this.
    """

    number: int
    name: str
    mac: bytes
    far: tuple[str, str]
    socket: WireSocket
    cable: tuple[str, int]
    scale: float
    received: Callable[[bytes, float], None]
    speed_mbps: int = 1000
    up: bool = False
    carrier_changed: asyncio.Event = field(default_factory=asyncio.Event)
    last_change: float = 0.0
    counters: Counters = field(default_factory=Counters)

    def __post_init__(self) -> None:
        self._in = Lane(self._arrived)
        self._out = Lane(self._leave)
        self.silent = False

    @property
    def rate_bit_s(self) -> float:
        return self.speed_mbps * 1e6 / self.scale

    @property
    def busy(self) -> bool:
        """Are frames on its wire?"""
        return self._in.busy or self._out.busy

    def read(self) -> None:
        """Take what the server has sent. Without a link it is lost on the server's side, and nobody counts it here."""
        for _ in range(BURST):
            try:
                frame, arrived = self.socket.take()
            except BlockingIOError:
                return
            if self.up and not self.silent:
                self._in.put(frame, self.rate_bit_s, arrived)

    def _arrived(self, frame: bytes, at: float) -> None:
        if self.up and frames.is_pulse(frame):
            self._shine(frame)
            return
        if not self.up or frames.ether_type(frame) == frames.MAC_CONTROL:
            return  # no flow control: the port goes on sending
        if len(frame) < frames.HEADER_BYTES:
            self.counters.in_errors += 1
        elif len(frame) > frames.MAX_BYTES:
            self.counters.in_errors += 1
            self.counters.in_too_long += 1
        else:
            self.counters.received(frame)
            self.received(frame, at)

    def _shine(self, pulse: bytes) -> None:
        """A port with a link gives light: its own, whatever that of other ports is."""
        with contextlib.suppress(OSError):  # a full socket: the next pulse is answered
            self.socket.sendto(frames.light(pulse, self.mac), self.cable)

    def send(self, frame: bytes, at: float | None = None) -> None:
        """Put the frame on the wire; without room in the buffer it is discarded, and counted so.

        Args:
            frame: The frame.
            at: When it came over another wire; None: the switch itself has made it now.
        """
        moment = asyncio.get_running_loop().time() if at is None else at
        if self.up and not self._out.put(frame.ljust(frames.MIN_BYTES, b"\0"), self.rate_bit_s, moment):
            self.counters.out_discards += 1

    def _leave(self, frame: bytes, _: float) -> None:
        if not self.up:
            return
        self.counters.sent(frame)
        if self.silent:
            return
        try:
            self.socket.sendto(frame, self.cable)
        except OSError:
            self.counters.out_discards += 1

    def set_up(self, up: bool, now: float) -> bool:
        """The link comes or goes; tell whether that is a change."""
        if up == self.up:
            return False
        self.up, self.last_change = up, now
        self._in.clear()
        self._out.clear()
        return True
