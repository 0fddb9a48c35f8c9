"""Two servers that are network namespaces of this machine, with two cables between them and a panel."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import network_namespaces
import pytest
from fake_bench import FakeBench
from fake_settings import with_sheet
from macvlans import macvlans
from namespaces import Namespaces
from paneled import Paneled
from queue_cards import Made, QueueCard, QueueCards

from niclab.core.wait import Deadline
from niclab.frames import spec
from niclab.frames.queues import queue_ports
from niclab.frames.queues.flow_agents import FlowAgents
from niclab.run.run import Run

__all__ = ["macvlans"]


@pytest.fixture(scope="session")
def namespaces() -> Iterator[Namespaces]:
    if not network_namespaces.are_possible():
        pytest.skip("needs root and network namespaces with veth")
    with Namespaces() as made:
        yield made


@pytest.fixture
def clean(namespaces: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    """Cables that do nothing wrong, also afterwards. Nothing here is slow, so that silence is short."""
    monkeypatch.setattr(spec, "QUIET_S", 0.5)
    yield namespaces
    namespaces.spoil("")


@pytest.fixture
def made(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Puts cards into the dut; its sheet knows that they can have eight queues."""
    with_sheet(bench, taken)
    monkeypatch.setattr(queue_ports, "Deadline", lambda _: Deadline(0.01))
    monkeypatch.setattr(queue_ports, "pause", lambda _: None)
    # The same flows each time: of 512 at random, one run in 55 has none for a given entry of the table.
    monkeypatch.setattr(queue_ports, "secrets", SimpleNamespace(randbits=random.Random(1).getrandbits))

    def put_in(card: Callable[[], QueueCard]) -> QueueCards:
        cards = QueueCards(bench, card)
        monkeypatch.setattr(FlowAgents, "exchange", lambda agents, flows: cards.exchange(agents._run, flows))
        return cards

    return put_in


@pytest.fixture(scope="session")
def panel(namespaces: Namespaces) -> Iterator[Paneled]:
    """Servers whose cables a patch panel lays to a switch."""
    assert namespaces  # where they are possible
    with Paneled() as made:
        yield made


@pytest.fixture
def paneled(panel: Paneled, monkeypatch: pytest.MonkeyPatch) -> Iterator[Paneled]:
    """Cables that do nothing wrong, also afterwards."""
    monkeypatch.setattr(spec, "QUIET_S", 0.5)
    panel.commands.clear()
    yield panel
    panel.spoil("")
