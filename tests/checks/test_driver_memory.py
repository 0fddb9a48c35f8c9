"""Memory of a driver that is loaded again: green where it comes back, also on servers that keep some for a while."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from fake_bench import FakeBench

from Driver import Driver
from niclab.checks import driver_memory
from niclab.core.verdict import CardFailure, Undecided
from niclab.core.wait import Deadline
from niclab.run.run import Run
from niclab.run.watching import lost_memory

MIB = 1 << 20
Lost = Callable[[int, int], float]
Losing = Callable[[Lost], list[int]]


@pytest.fixture
def free(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Losing:
    """The dut has as much memory less, in MiB, as it is given for numbers of reloads and of looks."""
    assert taken
    monkeypatch.setattr(lost_memory, "Deadline", lambda _: Deadline(0.1))
    monkeypatch.setattr(lost_memory, "LOOK_EVERY_S", 0.01)
    reloads, looks = list[int](), itertools.count()
    monkeypatch.setattr(driver_memory.driver, "reload", lambda *_: reloads.append(1))

    def lose(lost: Lost) -> list[int]:
        left = lambda: round((300 - lost(len(reloads), next(looks))) * MIB)  # noqa: E731
        monkeypatch.setattr(bench.dut, "available_bytes", left)
        return reloads

    return lose


@pytest.mark.parametrize(
    "lost",
    [
        lambda *_: 0,
        lambda reloads, _: 30 if reloads else 0,  # what the first one brings stays
        lambda reloads, _: 0.7 * reloads,
        lambda reloads, _: 5 if 6 <= reloads < 11 else 0,
        lambda reloads, looks: min(5 * reloads, 155 - 5 * looks),  # it comes back by and by
    ],
)
def test_a_driver_that_gives_it_back_is_green(free: Losing, lost: Lost) -> None:
    assert free(lost) is not None
    Driver().reloaded_driver_should_give_its_memory_back()


def test_a_driver_that_loses_some_with_each_reload_is_the_cards_failure(
    free: Losing,
) -> None:
    reloads = free(lambda reloads, _: 0.9 * reloads)
    with pytest.raises(
        CardFailure, match=r"^dut: 27\.0 MiB of memory are gone after 30 reloads .*, 4\.5 MiB, .* by 5 each"
    ):
        Driver().reloaded_driver_should_give_its_memory_back()
    assert len(reloads) == 31


def test_memory_that_goes_by_itself_is_undecided(free: Losing) -> None:
    free(lambda _, looks: 5 * looks)
    with pytest.raises(Undecided, match=r"^dut: .* gone after 30 reloads .*; expected it to stay without changes"):
        Driver().reloaded_driver_should_give_its_memory_back()
