"""A number over its range: what is tried, in which order, and what is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

from niclab.bench.records import Role
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort
from niclab.settings.trial import Trial


@dataclass
class Dial:
    """A number that takes ``low`` to ``high``, rounded up to a multiple of ``step``."""

    dut: DutPort
    what: str = "dial"
    value: int = 5
    low: int = 1
    high: int = 9
    step: int = 1
    comes_back: bool = True
    tried: list[int] = field(default_factory=list)

    def read(self) -> int | None:
        return self.value

    def set(self, value: int) -> Attempt[int | None]:
        self.tried.append(value)
        if not self.low <= value <= self.high:
            return Attempt("out of range", self.value)
        self.value = -(-value // self.step) * self.step
        return Attempt(None, self.value)

    @contextmanager
    def put_back(self) -> Iterator[None]:
        before = self.value
        yield
        if self.comes_back:
            self.value = before


@pytest.fixture
def dial(taken: Run) -> Dial:
    return Dial(DutPort(taken, taken.ports(Role.DUT)[0]))


def test_both_ends_and_one_step_beyond_them_are_tried(dial: Dial) -> None:
    said: list[str] = []
    assert Trial(dial, 1, 9, refuses_less=True).problems(said.append) == []
    assert dial.tried == [1, 9, 10, 0] and dial.value == 5
    assert said == [f"{dial.dut.place}: dial set to 1, is 1", f"{dial.dut.place}: dial set to 9, is 9"]


def test_an_unknown_least_is_not_tried(dial: Dial) -> None:
    assert Trial(dial, None, 9, refuses_less=True).problems(print) == []
    assert dial.tried == [9, 10]


def test_what_is_not_taken_and_what_is_taken_beyond_are_wrong(dial: Dial) -> None:
    dial.low, dial.high = 2, 10
    place = "dut.p0 (0000:01:00.0)"
    assert Trial(dial, 1, 9).problems(print) == [
        f"{place}: dial is 5 when set to 1 (out of range); expected 1 (sheet intel-82574l)",
        f"{place}: dial is 10; expected it refused (sheet intel-82574l)",
    ]


def test_a_number_that_cannot_be_set_may_not_change(dial: Dial) -> None:
    (problem, *_) = Trial(dial, 1, 8, settable=False).problems(print)
    assert dial.tried == [4, 7, 9]
    assert problem.endswith("dial is 4; expected it refused (sheet intel-82574l)")


def test_a_number_that_cannot_be_set_may_not_be_rounded_either(dial: Dial) -> None:
    dial.value, dial.high, dial.step = 80, 90, 32
    assert Trial(dial, None, 80, settable=False).problems(print) == [
        f"{dial.dut.place}: dial is 64 when set to 40; expected it refused (sheet intel-82574l)",
        f"{dial.dut.place}: dial is 96 when set to 79; expected it refused (sheet intel-82574l)",
    ]
    assert dial.tried == [40, 79, 81]


def test_a_number_that_cannot_be_set_may_be_what_is_tried(dial: Dial) -> None:
    dial.value = dial.low = dial.high = 4
    assert Trial(dial, None, 8, settable=False).problems(print) == []


def test_a_number_that_does_not_come_back_is_wrong(dial: Dial) -> None:
    dial.comes_back = False
    assert Trial(dial, 1, 9).problems(print) == [f"{dial.dut.place}: dial did not come back: it is 9, before 5"]
