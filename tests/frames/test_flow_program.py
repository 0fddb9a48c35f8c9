"""The flow program in two network namespaces: every flow comes, with the queue that its packet notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from namespaces import ADDRESSES, Namespaces

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.frames.queues import flow_agents
from niclab.frames.queues.flow_agents import FlowAgents, Flows, flow_addresses
from niclab.hosts.steering.hash_records import FlowKind

COUNT, QUEUES = 512, 4


@pytest.fixture
def port(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Port]:
    """A cable of four queues. veth keeps the sender's queue in the packet: as a driver that notes 1 for the first."""
    dut, peer = (clean.servers[role] for role in Role)
    queues = f"numtxqueues {QUEUES} numrxqueues {QUEUES}"
    dut.run(f"ip link add q0 {queues} type veth peer name q0 {queues} netns {peer.holder.pid}")
    for server in (dut, peer):
        server.run("ip link set q0 up")
    ports = {role: Port(role, "q0", "0000:01:00.0", None, None) for role in Role}
    bench: Any = clean.run.bench
    monkeypatch.setattr(bench, "partner", lambda port: ports[Role.PEER if port.role is Role.DUT else Role.DUT])
    monkeypatch.setattr(flow_agents, "PER_S", 20_000.0)
    yield ports[Role.DUT]
    dut.run("ip link del q0")


def flows(made: Namespaces, port: Port, kind: FlowKind, seed: int = 3) -> Flows:
    addresses = (ADDRESSES["peer.p0"], ADDRESSES["dut.p0"])
    return Flows(port, kind, seed, COUNT, addresses if kind.version == 4 else flow_addresses(made.run, port, kind))


@pytest.mark.parametrize("kind", FlowKind, ids=lambda kind: kind.value)
def test_every_flow_comes_and_is_told_its_queue(clean: Namespaces, port: Port, kind: FlowKind) -> None:
    (came,) = clean.run.part(FlowAgents).exchange([flows(clean, port, kind)])
    assert (came.flows, came.moved) == (COUNT, set())
    found = Counter(came.queues.values())
    assert sorted(found) == list(range(QUEUES - 1)) and len(came.unnoted) > COUNT // 8
    assert min(found.values()) > COUNT // 8


def test_a_flow_keeps_its_queue(clean: Namespaces, port: Port) -> None:
    agents = clean.run.part(FlowAgents)
    (one,), (other,) = (agents.exchange([flows(clean, port, FlowKind.TCP4)]) for _ in range(2))
    assert one.queues == other.queues and one.unnoted == other.unnoted


def test_nobody_answers_a_flow_of_tcp(clean: Namespaces, port: Port) -> None:
    sent = "cat /sys/class/net/q0/statistics/tx_packets"
    dut = clean.servers[Role.DUT]
    before = int(dut.run(sent).stdout)
    clean.run.part(FlowAgents).exchange([flows(clean, port, FlowKind.TCP4)])
    assert int(dut.run(sent).stdout) - before < 8


def test_a_flow_that_does_not_come_is_sent_again(
    clean: Namespaces, port: Port, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, asked = flows(clean, port, FlowKind.UDP4), list[Any]()
    agents = clean.run.part(FlowAgents)
    stream = FlowAgents._stream

    def half(self: FlowAgents, one: Flows, came: Any, macs: Any) -> dict[str, Any]:
        made = stream(self, one, came, macs)
        asked.append(made["only"])
        return made | ({"only": list(range(0, COUNT, 2))} if made["only"] is None else {})

    monkeypatch.setattr(FlowAgents, "_stream", half)
    (came,) = agents.exchange([wanted])
    assert came.flows == COUNT
    assert asked == [None, list(range(1, COUNT, 2))]


def test_flows_that_are_lost_are_missing(clean: Namespaces, port: Port) -> None:
    clean.servers[Role.DUT].run("ip link set q0 down")
    (came,) = clean.run.part(FlowAgents).exchange([flows(clean, port, FlowKind.TCP6)])
    assert came.flows == 0


@pytest.mark.usefixtures("port")
def test_the_words_of_a_program_that_fails_are_in_the_message(clean: Namespaces) -> None:
    agent = clean.run.part(FlowAgents)._on(Role.DUT)
    with pytest.raises(BenchFault, match=r"dut: flow program: .*No such device"):
        agent.do({"do": "open", "ifaces": ["q7"], "token": 1})
    assert agent.do({"do": "open", "ifaces": ["q0"], "token": 1}) == {}


def test_it_needs_linux(clean: Namespaces, port: Port, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean.servers[Role.PEER].description, "os", OperatingSystem.FREEBSD)
    with pytest.raises(NotApplicable, match="peer runs freebsd: the flow program needs packet sockets of Linux"):
        FlowAgents(clean.run).exchange([flows(clean, port, FlowKind.TCP4)])
