"""A test begins with links that have come back from what was put back before it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from fake_bench import FakeBench
from robot import result, running

from listeners.KernelLog import KernelLog
from niclab.bench.records import Port, Role
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.run.watching.carrier_watch import CarrierWatch, rest
from niclab.run.watching.kernel_watch import KernelWatch


class Waits:
    """The waits for carrier that a run is asked for: ports and deadline in s."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], float]] = []
        self.trouble: Exception | None = None

    def __call__(self, ports: Sequence[Port], *, up: bool, within_s: float) -> list[Port]:
        assert up
        self.asked.append(([port.name for port in ports], within_s))
        if self.trouble is not None:
            raise self.trouble
        return []


@pytest.fixture
def waits(taken: Run, monkeypatch: pytest.MonkeyPatch) -> Waits:
    with taken.part(KernelWatch).beginning():
        pass
    begin()
    made = Waits()
    monkeypatch.setattr(taken, "await_carrier", made)
    return made


def begin() -> None:
    """The next test begins."""
    KernelLog().start_test(running.TestCase("any"), result.TestCase("any"))


def restart(run: Run) -> None:
    """A setting is put back, for which the driver restarts the port."""
    run.server(Role.DUT).run("ip link set dev enp1s0 up")


def test_a_link_that_a_restored_setting_takes_down_is_waited_for_at_both_ends(taken: Run, waits: Waits) -> None:
    restart(taken)
    begin()
    (((*ports,), within_s),) = waits.asked
    assert {"dut.p0", "peer.p0"} <= set(ports)
    assert rest(taken).back_s - 5 < within_s <= rest(taken).back_s


def test_each_touch_is_waited_for_once(taken: Run, waits: Waits) -> None:
    restart(taken)
    begin()
    begin()
    assert len(waits.asked) == 1


def test_a_test_that_touches_no_link_costs_no_question(taken: Run, waits: Waits) -> None:
    taken.server(Role.DUT).run("true")
    begin()
    assert waits.asked == []


def test_links_that_were_seen_up_meanwhile_cost_no_question(taken: Run, waits: Waits) -> None:
    restart(taken)
    assert taken.part(KernelWatch)._look_at(Role, recovering=False, fresh=True) == []
    begin()
    assert waits.asked == []


def test_a_link_that_was_seen_down_meanwhile_is_waited_for(bench: FakeBench, taken: Run, waits: Waits) -> None:
    restart(taken)
    bench.cables.stuck["dut.p0"] = False
    taken.part(KernelWatch)._look_at(Role, recovering=False, fresh=True)
    begin()
    assert len(waits.asked) == 1


def test_nobody_waits_while_a_cable_is_pulled(taken: Run, waits: Waits) -> None:
    taken.journal.register("bench", "cable is pulled", Action(ActionKind.LOCAL, "controller", "true"))
    begin()
    assert waits.asked == []


def test_a_server_that_does_not_answer_is_left_to_the_test(taken: Run, waits: Waits) -> None:
    waits.trouble = BenchFault("dut does not answer")
    restart(taken)
    begin()
    assert len(waits.asked) == 1


def test_before_the_watch_nobody_waits(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Waits()
    monkeypatch.setattr(taken, "await_carrier", made)
    assert CarrierWatch(taken).settle() is None and made.asked == []
