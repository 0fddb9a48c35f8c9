"""The traffic tools by name."""

from __future__ import annotations

from collections.abc import Mapping

from niclab.bench.records import TrafficToolName
from niclab.traffic.tools.iperf3_tool import Iperf3Tool
from niclab.traffic.tools.netperf_tool import NetperfTool
from niclab.traffic.tools.tool import TrafficTool

_TOOLS: Mapping[TrafficToolName, TrafficTool] = {
    TrafficToolName.IPERF3: Iperf3Tool(),
    TrafficToolName.NETPERF: NetperfTool(),
}


def tool_of(name: TrafficToolName) -> TrafficTool:
    """The tool that the bench file names."""
    return _TOOLS[name]
