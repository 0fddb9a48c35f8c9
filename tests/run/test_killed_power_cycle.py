"""A run that is killed at any step of a power cycle leaves no server without power: the next run gives it back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.undo import Journal
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.transports.bmc.bmc import PowerState

STEPS = 10
"""Before and after each of the five calls of a cycle: look, order off, look, look, order on; then it looks again."""


class Killed(BaseException):
    """The end of the process: nothing of it runs any more."""


class Dying:
    """Ends the process before or after a call of the BMC; each counts as a step."""

    def __init__(self, step: int) -> None:
        self._left = step

    def _step(self) -> None:
        if self._left == 0:
            raise Killed
        self._left -= 1

    def call(self, own: Callable[..., Any]) -> Callable[..., Any]:
        def dying(*arguments: object) -> object:
            self._step()
            found = own(*arguments)
            self._step()
            return found

        return dying


def forget(killed: Run) -> None:
    """The kernel takes the lock of the bench from a process that is gone."""
    runs._CURRENT.clear()
    with killed._stack:
        killed.bench_servers.close()


@pytest.mark.parametrize("step", range(STEPS))
def test_the_next_run_gives_the_power_back(bench: FakeBench, monkeypatch: pytest.MonkeyPatch, step: int) -> None:
    bench.write(commands=False, cables=True)
    taken, bmc, dying = bench.take(), bench.bmcs[Role.DUT]["ipmi"], Dying(step)
    with monkeypatch.context() as patch:
        for name in ("power_status", "control"):
            patch.setattr(bmc, name, dying.call(getattr(bmc, name)))
        with pytest.raises(Killed):
            taken.server(Role.DUT).cycle_power()
    forget(taken)
    bench.take("run-2")
    assert bench.dut.power is PowerState.ON and bench.dut.alive
    runs.release()
    assert bench.dut.power is PowerState.ON and Journal.for_bench("virtual").pending() == []


def test_the_steps_are_all_that_there_are(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last of them is behind the order that gives the power back."""
    bench.write(commands=False, cables=True)
    taken, bmc, dying = bench.take(), bench.bmcs[Role.DUT]["ipmi"], Dying(STEPS)
    for name in ("power_status", "control"):
        monkeypatch.setattr(bmc, name, dying.call(getattr(bmc, name)))
    with pytest.raises(Killed):
        taken.server(Role.DUT).cycle_power()
    assert bench.dut.power is PowerState.ON and bench.dut.boots == 2
    forget(taken)
