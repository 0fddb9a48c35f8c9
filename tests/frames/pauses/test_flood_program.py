"""The flood programs in two network namespaces: what was sent is what came, and a wire that loses frames shows."""

from __future__ import annotations

import pytest
from namespaces import Namespaces

from niclab.bench.records import Port, Role
from niclab.core.wait import until
from niclab.frames.pauses import flood_agents
from niclab.frames.pauses.flood_agents import FloodAgents
from niclab.hosts.errors import ReadError


def _ports(clean: Namespaces) -> list[Port]:
    return [clean.run.bench.end(path, Role.DUT) for path in clean.run.bench.paths]


def test_a_flood_is_counted_at_both_ends(clean: Namespaces) -> None:
    """The relay between both holds what it has not carried yet."""
    ports, agents = _ports(clean), clean.run.part(FloodAgents)
    with agents.listening(ports):
        floods = agents.flood(ports, 0.1)
        came = {port: floods[port].heard for port in ports}

        def all_came() -> bool:
            for port, late in agents.heard(ports).items():
                came[port] += late
            return all(came[port] >= floods[port].sent for port in ports)

        until(all_came, within=30, what="every frame of the flood")
    assert all(came[port] == floods[port].sent > 100 and floods[port].waiting == 0 for port in ports)


def test_single_frames_all_come(clean: Namespaces) -> None:
    ports, agents = _ports(clean), clean.run.part(FloodAgents)
    with agents.listening(ports):
        sent = agents.send(ports, 5)
        late = agents.heard(ports)
        assert agents.heard(ports) == dict.fromkeys(ports, 0)
    assert all(sent[port].sent == 5 and sent[port].heard + late[port] == 5 for port in ports)


def test_frames_that_are_lost_do_not_come(clean: Namespaces) -> None:
    clean.spoil("drop")
    ports, agents = _ports(clean), clean.run.part(FloodAgents)
    with agents.listening(ports):
        sent = agents.send(ports, 12)
        late = agents.heard(ports)
    assert any(sent[port].heard + late[port] == 11 for port in ports)


def test_other_words_are_named(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    ports, agents = _ports(clean), clean.run.part(FloodAgents)
    with agents.listening(ports):
        monkeypatch.setattr(flood_agents.StepAgent, "do", lambda *_: {})
        with pytest.raises(ReadError, match="expected numbers of each interface"):
            agents.send(ports, 1)
