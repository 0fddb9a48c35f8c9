"""Ways from one port of the peer to another: which there are, and what is set on the switch for a moment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fake_switch import FakeSwitch

from niclab.bench.records import Port, Role, Wiring
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.frames.blame import loop
from niclab.links import patch_panel
from niclab.switch.switch_records import PortVlans
from niclab.switch.switch_undo import carry_out

P0, P1, P2 = (Port(Role.PEER, key, "0000:01:00.0", None, None) for key in ("p0", "p1", "p2"))
KEYS = ("p0", "p1", "p2")


@dataclass
class Wired:
    """A run with three paths, as far as a loop asks for it."""

    journal: Journal
    on_switch: tuple[str, ...] = ("peer.p0", "peer.p1")
    through: Wiring = Wiring.DIRECT
    connect: str | None = "to the switch"
    has_switch: bool = True
    commands: list[str] = field(default_factory=list)
    late: list[Port] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fake = FakeSwitch()
        self.switch = self.fake.switch()
        self.controller = SimpleNamespace(check=self.commands.append)

    @property
    def bench(self) -> Any:
        ports = {name: f"Gi1/0/{at}" for at, name in enumerate(self.on_switch, 1)}
        entry = SimpleNamespace(name="sw1", ports=ports, connect=self.connect, disconnect=self.connect and "back")
        paths = [SimpleNamespace(ends=(f"dut.{key}", f"peer.{key}"), through=self.through) for key in KEYS]
        ends = {f"{role.value}.{key}": Port(role, key, "0000:01:00.0", None, None) for role in Role for key in KEYS}
        return SimpleNamespace(
            name="three",
            switch=entry if self.has_switch else None,
            paths=paths,
            port=ends.__getitem__,
            end=lambda path, role: ends[path.ends[role is Role.PEER]],
            path_of=lambda port: next(path for path in paths if port.name in path.ends),
        )

    def await_carrier(self, ports: list[Port], *, up: bool, within_s: float) -> list[Port]:
        assert ports and up and within_s
        return [port for port in ports if port in self.late]

    def undo(self, action: Action) -> None:
        if action.kind is ActionKind.LOCAL:
            self.commands.append(action.command)
        else:
            carry_out(self.switch, action.command)


@pytest.fixture
def wired(tmp_path: Path) -> Iterator[Any]:
    with Journal(tmp_path / "journal").hold() as journal:
        yield Wired(journal)


def test_a_port_is_tried_with_one_that_is_not_suspected(wired: Any) -> None:
    wired.on_switch = ("peer.p0", "peer.p1", "peer.p2")
    assert loop.partners(wired, [P0]) == {P0: P1}
    assert loop.partners(wired, [P0, P1]) == {P0: P2, P1: P2}
    wired.on_switch = ("peer.p0", "peer.p1")
    assert loop.partners(wired, [P0, P1]) == {P0: P1, P1: P0}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"has_switch": False}, "bench three has no switch that joins it with another port of the peer"),
        ({"on_switch": ("peer.p1", "peer.p2")}, "peer.p0 is not on sw1"),
        ({"on_switch": ("peer.p0", "dut.p0")}, "no other port of the peer is on sw1"),
        ({"connect": None}, "nothing lays the cable of peer.p0 to sw1"),
        ({"connect": None, "through": Wiring.SWITCH}, ""),
        ({}, ""),
    ],
)
def test_what_keeps_a_port_from_being_tried_is_said(wired: Any, changes: dict[str, Any], why: str) -> None:
    for name, value in changes.items():
        setattr(wired, name, value)
    assert loop.obstacle(wired, P0) == why
    assert bool(loop.partners(wired, [P0])) is not bool(why)


def test_cables_are_laid_to_the_switch_and_back(wired: Any) -> None:
    with loop.joined(wired, [P0, P1], frozenset()):
        assert wired.commands == ["to the switch"] and len(wired.journal.pending()) == 1
        assert wired.fake.mib.sets == []
    assert wired.commands == ["to the switch", "back"] and wired.journal.pending() == []


def test_ports_of_different_vlans_are_in_one_for_the_moment(wired: Any) -> None:
    wired.through = Wiring.SWITCH
    other = PortVlans(20, frozenset({20}), frozenset())
    wired.switch.vlans.create(20)
    wired.switch.vlans.set("Gi1/0/2", other)
    with loop.joined(wired, [P0, P1], frozenset()):
        assert wired.switch.vlans.of("Gi1/0/1").pvid == wired.switch.vlans.of("Gi1/0/2").pvid == 1
    assert wired.switch.vlans.of("Gi1/0/2") == other
    assert wired.commands == [] and wired.journal.pending() == []


def test_tags_pass_for_the_moment(wired: Any) -> None:
    before = wired.switch.vlans.of("Gi1/0/1")
    with loop.joined(wired, [P0, P1], frozenset({7, 9})):
        assert all(wired.switch.vlans.of(f"Gi1/0/{port}").tagged == {7, 9} for port in (1, 2))
    assert wired.switch.vlans.of("Gi1/0/1") == before and not {7, 9} & wired.switch.vlans.existing()
    assert wired.journal.pending() == []


def test_everything_is_put_back_when_a_port_gets_no_carrier(wired: Any) -> None:
    wired.late = [P1]
    with (
        pytest.raises(BenchFault, match=r"peer\.p1 \(0000:01:00\.0\): no carrier within 30 s at "),
        loop.joined(wired, [P0, P1], frozenset({7})),
    ):
        pytest.fail("no port without carrier is tried")
    assert wired.commands == ["to the switch", "back"] and wired.journal.pending() == []


def test_a_bench_without_a_panel_cannot_lay_cables(wired: Any) -> None:
    wired.connect = None
    with pytest.raises(NotApplicable, match="bench three: no command lays"), patch_panel.laid_to_switch(wired):
        pytest.fail("nothing was laid")
