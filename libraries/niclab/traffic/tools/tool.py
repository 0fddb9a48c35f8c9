"""One interface over the tools that make traffic: what is asked (:class:`Order`).

And what was found (:class:`ToolResult`), whichever tool did it.

The client always sends, so that a direction is chosen by who runs the client.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol

from niclab.bench.records import TrafficToolName

TCP_HEADERS_BYTES = 52
"""20 IPv4, 20 TCP, 12 time stamps (RFC 7323)."""
TCP_PAYLOAD_BYTES = 1500 - TCP_HEADERS_BYTES
"""Payload of a packet of 1500 bytes. TCP hands over whole ones."""


class TrafficTest(StrEnum):
    """``TCP_SENDFILE``: the sender's data comes from a file without a copy in user space (sendfile(2))."""

    TCP_STREAM = "TCP_STREAM"
    TCP_SENDFILE = "TCP_SENDFILE"
    UDP_STREAM = "UDP_STREAM"
    TCP_RR = "TCP_RR"


@dataclass(frozen=True)
class Order:
    """The task of one run.

    ``message_bytes``: handed to one call of send; None: the tool's default. ``request_bytes``, ``response_bytes``: of
    ``TCP_RR``. ``rate_bps``: of UDP, all connections together, bit/s of payload; None: as fast as it goes.
    ``socket_bytes``: socket buffers asked for on both ends; None: the system's. ``sender_cpu``, ``receiver_cpu``: both
    or neither; the tool's processes are bound to them.

    Raises:
        ValueError: For what cannot be asked.
    """

    test: TrafficTest = TrafficTest.TCP_STREAM
    duration_s: int = 10
    connections: int = 1
    message_bytes: int | None = None
    request_bytes: int = 1
    response_bytes: int = 1
    rate_bps: int | None = None
    socket_bytes: int | None = None
    sender_cpu: int | None = None
    receiver_cpu: int | None = None

    def __post_init__(self) -> None:
        for field in ("duration_s", "connections", "request_bytes", "response_bytes"):
            self._want(field, getattr(self, field) >= 1, "at least 1")
        for field in ("message_bytes", "rate_bps", "socket_bytes"):
            value = getattr(self, field)
            self._want(field, value is None or value >= 1, "at least 1, or nothing")
        for field in ("sender_cpu", "receiver_cpu"):
            value = getattr(self, field)
            self._want(field, value is None or value >= 0, "a number of a CPU, or nothing")
        paired = (self.sender_cpu is None) == (self.receiver_cpu is None)
        self._want("receiver_cpu", paired, "a CPU of the receiver just when one of the sender is given")
        is_udp = self.test is TrafficTest.UDP_STREAM
        self._want("rate_bps", self.rate_bps is None or is_udp, f"a rate with {TrafficTest.UDP_STREAM} only")

    def _want(self, field: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ValueError(f"traffic: {field}: {getattr(self, field)!r} is not wanted; expected {wanted}")

    @property
    def words(self) -> str:
        """The task in words."""
        return self.test.value

    @property
    def parameters(self) -> dict[str, str]:
        """All that tells this order from others, by name, for the key of a measurement."""
        given = {
            "test": self.test.value,
            "seconds": self.duration_s,
            "connections": self.connections,
            "message_bytes": self.message_bytes,
            "rate_bps": self.rate_bps,
            "socket_bytes": self.socket_bytes,
            "sender_cpu": self.sender_cpu,
            "receiver_cpu": self.receiver_cpu,
        }
        if self.test is TrafficTest.TCP_RR:
            given |= {"request_bytes": self.request_bytes, "response_bytes": self.response_bytes}
        return {name: str(value) for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Route:
    """Addresses of the two ends of a run, both of IPv4 or both of IPv6."""

    sender: str
    receiver: str


class CpuScale(StrEnum):
    """The meaning of 100 % of a CPU load."""

    ONE_CPU = "one CPU"
    MACHINE = "all CPUs"


@dataclass(frozen=True)
class ToolResult:
    """The tool's result of one run, all connections together.

    ``throughput_bps``: what the receiver got, bit/s of payload; None for request/response, which has
    ``transactions_per_s``. ``elapsed_s``: of the shortest connection. ``received_bytes``: payload. ``loss``: part 0..1
    of the UDP messages, None for TCP. ``retransmits``: of the sender; None when not counted. CPU in percent of
    ``cpu_scale``, as the tool claims it; ``local`` is the client, which sends. ``window_bytes``: the largest window
    that the receiver's TCP has offered, of the connection that was offered least; None when the tool does not tell.
    """

    throughput_bps: float | None
    transactions_per_s: float | None
    elapsed_s: float
    received_bytes: float | None
    loss: float | None
    retransmits: int | None
    cpu_local_pct: float | None
    cpu_remote_pct: float | None
    cpu_scale: CpuScale
    window_bytes: int | None = None


class TrafficClient(Protocol):
    """The part of a tool that makes a run. ``omitted_s``: seconds at the start of a run that it does not count."""

    @property
    def name(self) -> Enum: ...
    @property
    def omitted_s(self) -> int: ...

    def client_command(self, route: Route, order: Order) -> str:
        """One run.

        Raises:
            NotApplicable: When this tool cannot do it.
        """

    def read(self, text: str, order: Order) -> ToolResult:
        """Read the client's standard output.

        Raises:
            ReadError: When it cannot be read, or (:class:`~niclab.traffic.WorthlessResult`) proves nothing.
        """


class TrafficTool(TrafficClient, Protocol):
    """A tool. ``programs``: what must be installed on both servers. ``port``: where its server listens."""

    @property
    def name(self) -> TrafficToolName: ...
    @property
    def programs(self) -> tuple[str, ...]: ...
    @property
    def port(self) -> int: ...

    def server_command(self, address: str) -> str:
        """Serves in the foreground at ``address``."""

    def resolution_bps(self, order: Order) -> float:
        """Smallest step of the throughput of a run, in bit/s."""

    def tcp_connections(self, order: Order) -> int:
        """Return how many connections of TCP the receiver has in a run, with those over which the tool talks."""


def segment_step_bps(order: Order) -> float:
    """The step that one segment more or less makes."""
    return TCP_PAYLOAD_BYTES * 8 / order.duration_s
