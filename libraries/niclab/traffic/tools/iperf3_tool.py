"""iperf3 as a :class:`~niclab.traffic.tools.tool.TrafficTool`."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from niclab.bench.records import TrafficToolName
from niclab.core.verdict import NotApplicable
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.iperf3 import read_iperf3
from niclab.traffic.tools.tool import CpuScale, Order, Route, ToolResult, TrafficTest, segment_step_bps


@dataclass(frozen=True)
class Iperf3Tool:
    """The server serves run after run. The first second of TCP, its slow start, is not counted."""

    name: TrafficToolName = TrafficToolName.IPERF3
    programs: tuple[str, ...] = ("iperf3",)
    port: int = 5201
    omitted_s: int = 1

    def server_command(self, address: str) -> str:
        return shlex.join(("iperf3", "--server", "--bind", address, "--port", str(self.port)))

    def client_command(self, route: Route, order: Order) -> str:
        if order.test is TrafficTest.TCP_RR:
            raise NotApplicable("iperf3 measures no request/response; 'traffic: netperf' in the bench file does")
        words = ["iperf3", "--client", route.receiver, "--bind", route.sender, "--port", str(self.port)]
        is_udp = order.test is TrafficTest.UDP_STREAM
        # 3.12 counts datagrams lost in omitted seconds among those of the others; UDP has no slow start to leave out
        words += ["--time", str(order.duration_s), "--omit", str(0 if is_udp else self.omitted_s), "--json"]
        if order.test is TrafficTest.TCP_SENDFILE:
            words.append("--zerocopy")
        if is_udp:
            # --bitrate is of each connection; without it iperf3 sends UDP at 1 Mbit/s, and 0 is no limit
            words += ["--udp", "--bitrate", str((order.rate_bps or 0) // order.connections)]
        if order.connections > 1:
            words += ["--parallel", str(order.connections)]
        if order.message_bytes is not None:
            words += ["--length", str(order.message_bytes)]
        if order.socket_bytes is not None:
            words += ["--window", str(order.socket_bytes)]
        if order.sender_cpu is not None:
            words += ["--affinity", f"{order.sender_cpu},{order.receiver_cpu}"]
        return shlex.join(words)

    def read(self, text: str, order: Order) -> ToolResult:
        found = read_iperf3(text, asked_s=order.duration_s)
        protocol = "UDP" if order.test is TrafficTest.UDP_STREAM else "TCP"
        if found.test.value != protocol or found.streams != order.connections or found.reverse:
            direction = " in reverse" if found.reverse else ""
            raise WorthlessResult(
                f"iperf3 -J: worthless result: of {found.test.value} with {found.streams} connections{direction}; "
                f"expected {protocol} with {order.connections}"
            )
        return ToolResult(
            throughput_bps=found.throughput_bps,
            transactions_per_s=None,
            elapsed_s=found.elapsed_s,
            received_bytes=found.received_bytes,
            loss=found.loss,
            retransmits=found.retransmits,
            cpu_local_pct=found.cpu_local_pct,
            cpu_remote_pct=found.cpu_remote_pct,
            cpu_scale=CpuScale.ONE_CPU,
            window_bytes=found.window_bytes,
        )

    def resolution_bps(self, order: Order) -> float:
        return segment_step_bps(order)

    def tcp_connections(self, order: Order) -> int:
        """One more, over which client and server talk."""
        return order.connections + 1
