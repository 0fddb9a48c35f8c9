"""Adaptive coalescing: a port that hands single frames over is green, one that never adapts is not; all is put back."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet

from niclab.core.verdict import CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.hosts.settings.ethtool_records import Coalescing
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.traffic.effects import adaptive
from niclab.traffic.effects.adaptive import AdaptiveTurn

BASE_S = 30e-6
"""A round trip without coalescing."""


class Rounds:
    """Round trips by the setting of the dut's port. ``adaptive_us``: the time of the adaptive algorithm."""

    def __init__(self, settings: FakeSettings, adaptive_us: tuple[float, ...], base_s: float) -> None:
        self.settings, self.adaptive_us, self.base_s = settings, adaptive_us, base_s
        self.asked, self.interrupts, self.streams = list[int](), 0, 0

    def per_second(self, _run: object, _ends: object, seconds: int) -> float:
        port = self.settings.ports["enp1s0"]
        usecs = port.coalescing["rx-usecs"] or 0
        if port.adaptive:
            usecs = self.adaptive_us[len(self.asked) // 6 % len(self.adaptive_us)]
        self.asked.append(seconds)
        self.interrupts += 100
        return 1 / max(self.base_s, usecs * 1e-6)

    @contextmanager
    def session(self, *_: object) -> Iterator[Rounds]:
        yield self

    def measure(self, _: object) -> None:
        self.streams += 1

    def arrived(self, *_: object) -> dict[int, dict[int, int]]:
        return {24: {0: self.interrupts, 1: 7}}


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    with_sheet(bench, taken)
    made = settings_of(bench)
    for name, value in (("default: 18", "default: 60"),):
        bench.edit(bench.sheet, (name, value))
    taken.card = bench.load()[1]
    return made


def measured(
    run: Run, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch, *adaptive_us: float, base_s: float = BASE_S
) -> tuple[Rounds, str]:
    made, said = Rounds(settings, adaptive_us, base_s), list[str]()
    monkeypatch.setattr(adaptive.round_trips, "per_second", made.per_second)
    monkeypatch.setattr(adaptive.measuring, "session", made.session)
    monkeypatch.setattr(adaptive, "arrived", made.arrived)
    monkeypatch.setattr(adaptive, "line_mbps", lambda *_: 1000.0)
    monkeypatch.setattr(adaptive, "SHOWN_WITHIN_S", 0.0)
    adaptive.require_adaptive(run, said.append)
    return made, "\n".join(said)


def test_a_port_that_adapts_is_green_and_put_back(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, pending = copy.deepcopy(vars(settings.ports["enp1s0"])), taken.journal.pending()
    made, said = measured(taken, settings, monkeypatch, 5)
    after = vars(settings.ports["enp1s0"])
    assert (after["coalescing"], after["adaptive"]) == (before["coalescing"], before["adaptive"])
    assert taken.journal.pending() == pending and made.streams == 9
    assert "round trips with no time, adaptive and rx-usecs 60: 0.030 / 0.030 / 0.060 ms" in said
    assert "dut.p0 (0000:01:00.0): adaptive: 100.00 interrupts for each received frame that comes alone, 0.00" in said


def test_a_time_that_never_adapts_is_the_cards(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(0000:01:00\.0\): round trips .*: adaptive coalescing holds"):
        measured(taken, settings, monkeypatch, 60)
    assert settings.ports["enp1s0"].adaptive and settings.ports["enp1s0"].coalescing["rx-usecs"] == 18


def test_a_time_that_does_not_show_decides_nothing(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow server hides it: also one that never adapts is not charged."""
    with pytest.raises(NotApplicable, match="the fixed time does not show; expected 2 times as long"):
        measured(taken, settings, monkeypatch, 60, base_s=50e-6)


def test_a_time_that_shows_in_some_turns_alone_is_undecided() -> None:
    """One slow turn does not make a question of a card that never adapts go away."""
    stuck, slow = AdaptiveTurn(30e-6, 90e-6, 90e-6), AdaptiveTurn(46e-6, 90e-6, 90e-6)
    with pytest.raises(Undecided, match="the fixed time shows in some turns alone"):
        adaptive.judge(SimpleNamespace(place="dut.p0"), 60, [stuck, stuck, slow])  # type: ignore[arg-type]


@pytest.mark.parametrize("adaptive_us", [(48,), (60, 5, 60), (5, 5, 60)])
def test_turns_that_contradict_each_other_are_undecided(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch, adaptive_us: tuple[float, ...]
) -> None:
    with pytest.raises(Undecided, match="expected the adaptive ones all near"):
        measured(taken, settings, monkeypatch, *adaptive_us)


def test_a_port_that_stays_adaptive_is_the_cards(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_coalescing = settings.set_coalescing
    deaf = lambda iface, values: set_coalescing(iface, values | {"adaptive-rx": True})  # noqa: E731
    monkeypatch.setattr(settings.host, "set_coalescing", deaf)
    with pytest.raises(CardFailure, match="adaptive receive coalescing when set is on; expected off"):
        measured(taken, settings, monkeypatch, 5)


def test_a_driver_that_takes_no_time_while_it_adapts_is_sound(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Linux, i40e_ethtool.c, __i40e_set_coalesce(): another rx-usecs together with adaptive-rx is refused."""
    set_coalescing, refused = settings.set_coalescing, list[object]()

    def as_i40e(iface: str, values: Mapping[str, int | bool]) -> Attempt[Coalescing]:
        port = settings.ports[iface]
        now = port.coalescing["rx-usecs"]
        if values.get("adaptive-rx", port.adaptive) and values.get("rx-usecs", now) != now:
            refused.append(values)
            return Attempt(
                "RX interrupt moderation cannot be changed if adaptive-rx is enabled", settings.coalescing(iface)
            )
        return set_coalescing(iface, values)

    monkeypatch.setattr(settings.host, "set_coalescing", as_i40e)
    measured(taken, settings, monkeypatch, 5)
    assert not refused


def test_a_time_that_the_port_does_not_take_decides_nothing(
    settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.faults.add("coalescing swapped")
    with pytest.raises(NotApplicable, match="does not take rx-usecs 0"):
        measured(taken, settings, monkeypatch, 5)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("  adaptive_rx: true\n", "", "names no adaptive coalescing of received frames"),
        ("default: 60", "default: {unknown: test}", "knows neither rx-usecs-high nor rx-usecs as delivered"),
    ],
)
def test_without_a_fact_of_the_sheet_it_is_not_applicable(
    bench: FakeBench, settings: FakeSettings, taken: Run, monkeypatch: pytest.MonkeyPatch, old: str, new: str, why: str
) -> None:
    bench.edit(bench.sheet, (old, new))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match=why) as caught:
        measured(taken, settings, monkeypatch, 5)
    assert type(caught.value) is (SheetUnknown if "unknown" in new else NotApplicable)


def test_the_part_that_a_frame_is_held() -> None:
    assert AdaptiveTurn(1.0, 2.0, 5.0).held == 0.25
    assert AdaptiveTurn(1.0, 1.0, 2.0).shows and not AdaptiveTurn(1.0, 1.0, 1.9).shows
