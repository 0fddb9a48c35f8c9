"""netperf as a :class:`~niclab.traffic.tools.tool.TrafficTool`.

netperf makes one connection; several are as many netperfs side by side, each with its text, none of which may be
missing. TCP_STREAM and TCP_RR are asked for omni output (``-k``, from 2.5.0 on), which counts retransmissions.
TCP_SENDFILE has none, and UDP_STREAM prints the line of the receiver in its classic table only.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from niclab.bench.records import TrafficToolName
from niclab.core.verdict import NotApplicable
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.netperf import SELECTORS, NetperfResult, read_netperf
from niclab.traffic.tools.tool import CpuScale, Order, Route, ToolResult, TrafficTest, segment_step_bps

_OMNI = (TrafficTest.TCP_STREAM, TrafficTest.TCP_RR)
_PART = "=== connection "
_PRINTED_STEP_BPS = 1e4
"""netperf prints 10^6bits/s with two digits behind the point."""
_FILE_BYTES = 1 << 20
"""Size of the file behind TCP_SENDFILE; netperf sends it again and again. At least one message."""


@dataclass(frozen=True)
class NetperfTool:
    """netserver serves as long as the run lasts. CPU is measured at both ends (``-c -C``). Nothing is omitted."""

    name: TrafficToolName = TrafficToolName.NETPERF
    programs: tuple[str, ...] = ("netperf", "netserver")
    port: int = 12865
    omitted_s: int = 0

    def server_command(self, address: str) -> str:
        return shlex.join(("netserver", "-D", "-L", _with_family(address), "-p", str(self.port)))

    def client_command(self, route: Route, order: Order) -> str:
        if order.rate_bps is not None:
            raise NotApplicable(
                "netperf paces UDP only where it was built for it, and does not say whether it was; "
                "'traffic: iperf3' in the bench file does"
            )
        command = self._netperf(route, order)
        sends_file = order.test is TrafficTest.TCP_SENDFILE
        if order.connections == 1 and not sends_file:
            return command
        size = max(order.message_bytes or 0, _FILE_BYTES)
        prepared = f"head -c {size} /dev/zero > data && " if sends_file else ""
        numbers = " ".join(str(number) for number in range(1, order.connections + 1))
        return (
            "d=$(mktemp -d) && cd \"$d\" && trap 'cd / && rm -rf \"$d\"' EXIT && trap 'exit 143' TERM INT HUP && "
            f"{prepared}for i in {numbers}; do {command} > out.$i 2>&1 & done; wait; "
            f'for i in {numbers}; do echo "{_PART}$i"; cat out.$i; done'
        )

    def _netperf(self, route: Route, order: Order) -> str:
        ends = ("-H", _with_family(route.receiver), "-L", _with_family(route.sender))
        words = ["netperf", *ends, "-p", str(self.port)]
        words += ["-t", order.test.value, "-l", str(order.duration_s), "-c", "-C", "-P"]
        words.append("0" if order.test in _OMNI else "1")
        if order.test is TrafficTest.TCP_SENDFILE:
            words += ["-F", "data"]
        if order.sender_cpu is not None:
            words += ["-T", f"{order.sender_cpu},{order.receiver_cpu}"]
        rest = ["-k", ",".join(SELECTORS)] if order.test in _OMNI else []
        if order.test is TrafficTest.TCP_RR:
            rest += ["-r", f"{order.request_bytes},{order.response_bytes}"]
        elif order.message_bytes is not None:
            rest += ["-m", str(order.message_bytes)]
        if order.socket_bytes is not None:
            rest += ["-s", str(order.socket_bytes), "-S", str(order.socket_bytes)]
        return shlex.join([*words, "--", *rest] if rest else words)

    def read(self, text: str, order: Order) -> ToolResult:
        found = [read_netperf(part, asked_s=order.duration_s) for part in _parts(text, order)]
        streams = [each.throughput_bps for each in found if each.throughput_bps is not None]
        requests = [each.transactions_per_s for each in found if each.transactions_per_s is not None]
        is_rr, is_udp = order.test is TrafficTest.TCP_RR, order.test is TrafficTest.UDP_STREAM
        if len(requests if is_rr else streams) != len(found):
            raise _worthless(f"no {'transaction rate' if is_rr else 'throughput'} of {order.test.value}")
        if any((each.messages_sent is not None) is not is_udp for each in found):
            raise _worthless(f"messages are counted of {TrafficTest.UDP_STREAM} only; expected {order.test.value}")
        received = sum(each.throughput_bps * each.elapsed_s / 8 for each in found if each.throughput_bps is not None)
        return ToolResult(
            throughput_bps=None if is_rr else sum(streams),
            transactions_per_s=sum(requests) if is_rr else None,
            elapsed_s=min(each.elapsed_s for each in found),
            received_bytes=None if is_rr else received,
            loss=_loss(found) if is_udp else None,
            retransmits=_retransmits(found),
            cpu_local_pct=_most([each.cpu_local_pct for each in found]),
            cpu_remote_pct=_most([each.cpu_remote_pct for each in found]),
            cpu_scale=CpuScale.MACHINE,
        )

    def resolution_bps(self, order: Order) -> float:
        return max(_PRINTED_STEP_BPS * order.connections, segment_step_bps(order))

    def tcp_connections(self, order: Order) -> int:
        """Twice as many: each connection is of a client of its own, which talks over another one."""
        return 2 * order.connections


def _with_family(address: str) -> str:
    """``198.18.10.1,4``: without it netperf takes the family that it finds first."""
    return f"{address},{ip_address(address).version}"


def _worthless(why: str) -> WorthlessResult:
    return WorthlessResult(f"netperf: worthless result: {why}")


def _parts(text: str, order: Order) -> list[str]:
    """The text of each connection."""
    if order.connections == 1 and order.test is not TrafficTest.TCP_SENDFILE:
        return [text]
    head, *parts = re.split(rf"^{_PART}([0-9]+)\n", text, flags=re.MULTILINE)
    numbers = [int(number) for number in parts[::2]]
    if head.strip() or numbers != list(range(1, order.connections + 1)):
        said = f" ({head.strip()[:200]})" if head.strip() else ""
        raise _worthless(f"{len(numbers)} connections ended of {order.connections} asked for{said}")
    return parts[1::2]


def _loss(found: Sequence[NetperfResult]) -> float:
    sent = sum(each.messages_sent or 0 for each in found)
    return (sent - sum(each.messages_received or 0 for each in found)) / sent


def _retransmits(found: Sequence[NetperfResult]) -> int | None:
    """None when one does not count them, as TCP_SENDFILE and other systems than Linux."""
    known = [each.retransmits for each in found if each.retransmits is not None]
    return sum(known) if len(known) == len(found) else None


def _most(loads: Sequence[float | None]) -> float | None:
    """Each netperf measures the whole machine: the largest of them; None when one did not measure."""
    known = [load for load in loads if load is not None]
    return max(known) if len(known) == len(loads) else None
