"""The flow program on both servers, and exchanges of flows with it. Begun once a run, and again after a boot."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from ipaddress import IPv6Address
from typing import Any

from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.frames import frame_content
from niclab.frames.frame_agents import port_addresses
from niclab.frames.queues import flow_content, flow_program
from niclab.frames.queues.flow_content import ports_of
from niclab.frames.server_agent import StepAgent, running
from niclab.hosts.errors import ReadError
from niclab.hosts.steering.hash_records import FlowKind
from niclab.run.run import Run
from niclab.run.server import Server

PER_S = 1000.0
"""Frames a second to each port: less than most emulated servers take; a slower one keeps 512 flows in its ring."""
ATTEMPTS = 3
"""A flow that does not come is sent again, at most so often in all: a server may stand still, its buffers be full."""


@dataclass(frozen=True)
class Flows:
    """Flows of one kind from the partner of a port to the port, one frame of each.

    ``seed``: the ports of the flows follow from it. ``addresses``: IP addresses of sender and receiver.
    """

    receiver: Port
    kind: FlowKind
    seed: int
    count: int
    addresses: tuple[str, str]

    @cached_property
    def ports(self) -> Sequence[tuple[int, int]]:
        """Source and destination port of each flow."""
        return ports_of(self.seed, self.count)


@dataclass
class Came:
    """The arrivals of flows at a port.

    ``queues``: flow -> the queue that it came by. ``unnoted``: flows of whose frames the driver has noted no queue.
    ``moved``: flows that came by two queues. ``others``: frames of something else.
    """

    queues: dict[int, int] = field(default_factory=dict)
    unnoted: set[int] = field(default_factory=set)
    moved: set[int] = field(default_factory=set)
    others: int = 0

    @property
    def flows(self) -> int:
        """Number of flows that came."""
        return len(self.queues) + len(self.unnoted)

    def add(self, said: Mapping[str, Any], server: str) -> None:
        """Take what the program said of one attempt.

        Raises:
            BenchFault: The tool had no room for all frames, or its words cannot be read.
        """
        try:
            came = {int(flow): int(noted) for flow, noted in said["came"].items()}
            moved, others, dropped = set(map(int, said["moved"])), int(said["others"]), int(said["dropped"])
        except (KeyError, ValueError, AttributeError, TypeError) as error:
            raise ReadError(f"it said {str(said)[:200]}; expected came, moved, others, dropped", server) from error
        if dropped:
            raise BenchFault(f"{server}: the flow program had no room for {dropped} frames; expected room for all")
        for flow, noted in came.items():
            if noted:
                self.moved |= {flow} if self.queues.setdefault(flow, noted - 1) != noted - 1 else set()
            else:
                self.unnoted.add(flow)
        self.moved |= moved
        self.others += others


class FlowAgents:
    """The programs of a run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._running: dict[Role, _Agent] = {}

    def exchange(self, flows: Sequence[Flows]) -> list[Came]:
        """Send flows, each to another port, all at once; send what does not come again.

        Args:
            flows: The flows.

        Returns:
            What came of each.

        Raises:
            BenchFault: A program does not begin, or fails; its words are in the message.
            NotApplicable: A server does not run Linux.
        """
        macs = port_addresses(self._run, [each for one in flows for each in self._ends(one)])
        agents = dict(zip(Role, side_by_side(self._on, Role), strict=True))
        found = [Came() for _ in flows]
        for _ in range(ATTEMPTS):
            left = [(one, came) for one, came in zip(flows, found, strict=True) if came.flows < one.count]
            if not left:
                break
            token = secrets.randbits(32)
            receiving = {self._run.interface(one.receiver): (one, came) for one, came in left}
            agents[Role.DUT].do({"do": "open", "ifaces": list(receiving), "token": token})
            streams = [self._stream(one, came, macs) for one, came in left]
            agents[Role.PEER].do({"do": "send", "streams": streams, "token": token})
            awaited = {iface: one.count - came.flows for iface, (one, came) in receiving.items()}
            said = agents[Role.DUT].do({"do": "tell", "awaited": awaited})
            for iface, (_, came) in receiving.items():
                came.add(said.get(iface, {}), "dut")
        return found

    def _ends(self, flows: Flows) -> tuple[Port, Port]:
        return self._run.bench.partner(flows.receiver), flows.receiver

    def _stream(self, flows: Flows, came: Came, macs: Mapping[Port, str]) -> dict[str, Any]:
        sender, receiver = self._ends(flows)
        left = [flow for flow in range(flows.count) if flow not in came.queues and flow not in came.unnoted]
        return {
            "iface": self._run.interface(sender),
            "source": macs[sender],
            "destination": macs[receiver],
            "kind": flows.kind.value,
            "from": flows.addresses[0],
            "to": flows.addresses[1],
            "seed": flows.seed,
            "count": flows.count,
            "only": None if len(left) == flows.count else left,
            "per_s": PER_S,
        }

    def _on(self, role: Role) -> _Agent:
        return running(self._run, self._running, role, _Agent)


def flow_addresses(run: Run, receiver: Port, kind: FlowKind) -> tuple[str, str]:
    """The IP addresses of flows to a port: the bench's own in IPv4, link-local ones of both MAC addresses in IPv6.

    Args:
        run: The current run.
        receiver: The port.
        kind: Kind of the flows.
    """
    sender = run.bench.partner(receiver)
    if kind.version == 4:
        return str(run.bench.address(sender).ip), str(run.bench.address(receiver).ip)
    macs = port_addresses(run, [sender, receiver])
    return link_local(macs[sender]), link_local(macs[receiver])


def link_local(mac: str) -> str:
    """The link-local address of a MAC address (RFC 4291, appendix A)."""
    raw = bytes.fromhex(mac.replace(":", ""))
    part = bytes((raw[0] ^ 2, *raw[1:3], 0xFF, 0xFE, *raw[3:]))
    return str(IPv6Address(b"\xfe\x80" + bytes(6) + part))


class _Agent(StepAgent):
    """The flow program on one server."""

    def __init__(self, server: Server) -> None:
        super().__init__(server, "flow program", flow_program, flow_content, frame_content)
