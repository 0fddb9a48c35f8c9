"""A number over its range: what is tried, in which order, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort
from niclab.settings.trial import Trial


@dataclass
class Dial:
    """A number that takes ``low`` to ``high``, rounded up to a multiple of ``step``.

    ``stuck``: nothing can put it back. ``lost``: the server does not answer when it is set to this.
    """

    dut: DutPort
    what: str = "dial"
    value: int = 5
    low: int = 1
    high: int = 9
    step: int = 1
    comes_back: bool = True
    stuck: bool = False
    lost: int | None = None
    tried: list[int] = field(default_factory=list)

    def read(self) -> int | None:
        return self.value

    def set(self, value: int) -> Attempt[int | None]:
        self.tried.append(value)
        if value == self.lost:
            raise BenchFault("dut: no answer")
        if not self.low <= value <= self.high:
            return Attempt("out of range", self.value)
        self.value = -(-value // self.step) * self.step
        return Attempt(None, self.value)

    @contextmanager
    def put_back(self) -> Iterator[None]:
        before = self.value
        yield
        if self.stuck:
            raise BenchFault("dut.p0: not put back")
        if self.comes_back:
            self.value = before


def problems(trial: Trial) -> list[str]:
    try:
        trial.judge(print)
    except CardFailure as failure:
        return str(failure).splitlines()
    return []


@pytest.fixture
def dial(taken: Run) -> Dial:
    return Dial(DutPort(taken, taken.ports(Role.DUT)[0]))


def test_both_ends_and_one_step_beyond_them_are_tried(dial: Dial) -> None:
    said: list[str] = []
    Trial(dial, 1, 9, refuses_less=True).judge(said.append)
    assert dial.tried == [1, 9, 10, 0] and dial.value == 5
    assert said == [f"{dial.dut.place}: dial set to 1, is 1", f"{dial.dut.place}: dial set to 9, is 9"]


def test_an_unknown_least_is_not_tried(dial: Dial) -> None:
    assert problems(Trial(dial, None, 9, refuses_less=True)) == []
    assert dial.tried == [9, 10]


def test_what_is_not_taken_and_what_is_taken_beyond_are_wrong(dial: Dial) -> None:
    dial.low, dial.high = 2, 10
    place = "dut.p0 (0000:01:00.0)"
    assert problems(Trial(dial, 1, 9)) == [
        f"{place}: dial is 5 when set to 1 (out of range); expected 1 (sheet intel-82574l)",
        f"{place}: dial is 10; expected it refused (sheet intel-82574l)",
    ]


def test_a_number_that_cannot_be_set_may_not_change(dial: Dial) -> None:
    (problem, *_) = problems(Trial(dial, 1, 8, settable=False))
    assert dial.tried == [4, 7, 9]
    assert problem.endswith("dial is 4; expected it refused (sheet intel-82574l)")


def test_a_number_that_cannot_be_set_may_not_be_rounded_either(dial: Dial) -> None:
    dial.value, dial.high, dial.step = 80, 90, 32
    assert problems(Trial(dial, None, 80, settable=False)) == [
        f"{dial.dut.place}: dial is 64 when set to 40; expected it refused (sheet intel-82574l)",
        f"{dial.dut.place}: dial is 96 when set to 79; expected it refused (sheet intel-82574l)",
    ]
    assert dial.tried == [40, 79, 81]


def test_a_number_that_cannot_be_set_may_be_what_is_tried(dial: Dial) -> None:
    dial.value = dial.low = dial.high = 4
    assert problems(Trial(dial, None, 8, settable=False)) == []


def test_a_number_that_does_not_come_back_is_wrong(dial: Dial) -> None:
    dial.comes_back = False
    assert problems(Trial(dial, 1, 9)) == [f"{dial.dut.place}: dial did not come back: it is 9, before 5"]


def test_one_that_cannot_be_put_back_is_of_the_bench(dial: Dial) -> None:
    dial.stuck = True
    with pytest.raises(BenchFault, match=r"^dut\.p0: not put back$"):
        Trial(dial, 1, 9).judge(print)


@pytest.mark.parametrize("fault", [{"stuck": True}, {"lost": 10}])
def test_what_the_card_did_before_a_fault_of_the_bench_is_said(dial: Dial, fault: dict[str, int]) -> None:
    dial.high = 8
    for name, value in fault.items():
        setattr(dial, name, value)
    wanted = "dial is 1 when set to 9 (out of range); expected 9 (sheet intel-82574l)"
    with pytest.raises(CardFailure) as caught:
        Trial(dial, 1, 9).judge(print)
    failure, doubt = str(caught.value).splitlines()
    assert failure == f"{dial.dut.place}: {wanted}" and doubt.startswith("undecided: dut")
