"""The memory of rings: a port that gives it back is green, also on servers that keep some; a leak is the card's."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet

from niclab.bench.records import OperatingSystem, Role
from niclab.card import Driver, Drivers, Ring, RingFacts, Unknown
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.core.wait import Deadline
from niclab.run.run import Run
from niclab.run.watching import lost_memory
from niclab.settings.rings import ring_memory
from Settings import Settings

MIB = 2**20
BUFFER = 2048
FREE = 300 * MIB


class Memory:
    """The dut's memory: what its rings take, and what ``lost`` says is gone after so many changes and looks.

    ``per_look``: taken by somebody else at each look.
    """

    def __init__(self, settings: FakeSettings, lost: Callable[[int], int], per_look: int = 0) -> None:
        self.settings, self.lost, self.per_look = settings, lost, per_look
        self.changes, self.looks = 0, itertools.count()
        self.set_rings = settings.set_rings
        host = settings.host
        host.set_rings = self.change  # type: ignore[attr-defined]
        host.available_bytes = self.free  # type: ignore[method-assign]

    def change(self, iface: str, sizes: dict[str, int]) -> object:
        self.changes += iface == "enp1s0"
        return self.set_rings(iface, sizes)

    def free(self) -> int:
        taken = sum(port.rings["rx"] * BUFFER for port in self.settings.ports.values())
        return FREE - taken - self.lost(self.changes) - self.per_look * next(self.looks)


@pytest.fixture
def settings(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> FakeSettings:
    monkeypatch.setattr(lost_memory, "Deadline", lambda _: Deadline(0.3))
    monkeypatch.setattr(lost_memory, "LOOK_EVERY_S", 0.01)
    with_sheet(bench, taken)
    return settings_of(bench)


def checked(run: Run) -> str:
    said = list[str]()
    ring_memory.fit_in_memory(run, said.append)
    return "\n".join(said)


def test_what_a_ring_takes_is_shown_next_to_the_estimate(settings: FakeSettings, taken: Run) -> None:
    before, pending = {name: dict(port.rings) for name, port in settings.ports.items()}, taken.journal.pending()
    Memory(settings, lambda _: 0)
    first, *ports = checked(taken).splitlines()
    assert first.startswith("largest rings: 35.2 MiB a port for receiving (4096 descriptors of 9000 bytes)")
    assert ports == [
        f"dut.p{number} (0000:0{number + 1}:00.0): ring rx of 4096 descriptors takes 7.9 MiB more than of 64; "
        "estimated 34.6 MiB at MTU 9000; not given back: 0.0 MiB, 0.0 MiB"
        for number in (0, 1)
    ]
    assert {name: port.rings for name, port in settings.ports.items()} == before and taken.journal.pending() == pending


def test_more_than_the_estimate_is_said_and_not_judged(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("test_ring_memory.BUFFER", 16384)
    Memory(settings, lambda _: 0)
    assert "takes 63.0 MiB more than of 64; estimated 34.6 MiB at MTU 9000, 1.8 times as much" in checked(taken)


def test_a_leak_of_each_change_is_the_cards(settings: FakeSettings, taken: Run) -> None:
    pending = taken.journal.pending()
    Memory(settings, lambda changes: changes * 4 * MIB)
    with pytest.raises(CardFailure) as caught:
        checked(taken)
    (line,) = str(caught.value).splitlines()
    assert line.startswith("dut.p0 (0000:01:00.0): 48.0 MiB of memory are gone after 6 changes of ring rx to 4096")
    assert taken.journal.pending() == pending


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(lambda changes: min(changes, 5) * 8 * MIB, id="a cache that is full at last"),
        pytest.param(lambda changes: changes * MIB, id="less than a server takes by itself"),
        pytest.param(lambda changes: 40 * MIB if changes % 2 else 0, id="a ring that takes more while it is large"),
        pytest.param(lambda changes: 40 * MIB * (changes == 2), id="somebody else for a moment"),
    ],
)
def test_a_sound_card_is_green(settings: FakeSettings, taken: Run, lost: Callable[[int], int]) -> None:
    Memory(settings, lost)
    checked(taken)


def test_memory_that_comes_back_late_is_no_leak(settings: FakeSettings, taken: Run) -> None:
    """As CPUs keep freed pages for some seconds."""
    memory = Memory(settings, lambda _: 0)
    looks = Counter[int]()

    def decaying(changes: int) -> int:
        looks[changes] += 1
        return changes * 4 * MIB if looks[changes] <= 2 else 0

    memory.lost = decaying
    assert "the memory came back" in checked(taken)


def test_memory_that_goes_without_changes_decides_nothing(settings: FakeSettings, taken: Run) -> None:
    Memory(settings, lambda _: 0, per_look=20 * MIB)
    with pytest.raises(Undecided, match="expected it to stay without changes"):
        checked(taken)


def test_a_port_that_refuses_the_sizes_is_not_green(settings: FakeSettings, taken: Run) -> None:
    """Nothing was measured: a leak would not be seen."""
    settings.faults.add("rings halve")
    Memory(settings, lambda changes: changes * 8 * MIB)
    said = "memory is not measured: the port does not take rings of 64 and 4096; expected both"
    with pytest.raises(Undecided) as caught:
        checked(taken)
    assert str(caught.value).splitlines() == [f"dut.p{number} (0000:0{number + 1}:00.0): {said}" for number in (0, 1)]


def test_a_port_that_is_not_measured_hides_no_leak_of_another(settings: FakeSettings, taken: Run) -> None:
    others = list[str]()
    memory = Memory(settings, lambda _: len(others) * 4 * MIB)
    taking = memory.set_rings

    def halving_the_first(iface: str, sizes: dict[str, int]) -> object:
        is_first = iface == "enp1s0"
        others.extend([] if is_first else [iface])
        return taking(iface, {name: size // 2 for name, size in sizes.items()} if is_first else sizes)

    memory.set_rings = halving_the_first  # type: ignore[assignment]
    with pytest.raises(CardFailure, match=r"^dut\.p1 .* of memory are gone"):
        checked(taken)


def test_rings_that_cannot_be_set_are_estimated_alone(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    bench.edit(bench.sheet, ("rings:\n  settable: true", "rings:\n  settable: false"))
    taken.card = bench.load()[1]
    memory = Memory(settings, lambda changes: changes * 8 * MIB)
    assert len(checked(taken).splitlines()) == 1 and memory.changes == 0


@pytest.mark.parametrize(("free_kb", "fits"), [(80_000, True), (70_000, False)])
def test_the_rings_of_all_ports_must_fit(
    bench: FakeBench, settings: FakeSettings, taken: Run, free_kb: int, fits: bool
) -> None:
    assert settings
    bench.dut.memory = 1024 * free_kb
    if fits:
        checked(taken)
        return
    with pytest.raises(BenchFault, match="dut: 68 MiB of memory are available; expected 70 MiB for the largest"):
        Settings().largest_rings_should_fit_in_memory()


def test_on_freebsd_the_rings_are_those_of_its_driver(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    assert settings
    server = taken.server(Role.DUT)
    server.description = server.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    with pytest.raises(NotApplicable, match="says nothing about rings of freebsd's driver"):
        checked(taken)
    ring = Ring(max=Unknown(unknown="test"), default=1024)
    rings = RingFacts(settable=False, rx=ring, tx=ring, source="test")
    drivers = Drivers(freebsd=Driver(module="em", in_kernel=True, rings=rings, source="test"))
    taken.card = taken.card.model_copy(update={"drivers": drivers})
    bench.dut.memory = 20 << 20
    checked(taken)
    bench.dut.memory = 17 << 20
    with pytest.raises(BenchFault, match="dut: 17 MiB of memory are available; expected 18 MiB for the largest"):
        checked(taken)
