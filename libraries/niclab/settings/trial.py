"""A number of a port, tried over the range of the sheet and put back."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from niclab.core.verdict import Collected
from niclab.hosts.settings.settings_records import Attempt
from niclab.settings.dut_ports import DutPort, Show, refusal


class Quantity(Protocol):
    """A number of a port that can be read, set and put back, such as its MTU or the size of a ring."""

    @property
    def dut(self) -> DutPort:
        """The port."""

    @property
    def what(self) -> str:
        """Name of the number, as messages say it."""

    def read(self) -> int | None:
        """Read it; None where the port shows none."""

    def set(self, value: int) -> Attempt[int | None]:
        """Set it, and read it back."""

    def put_back(self) -> AbstractContextManager[None]:
        """Journal the number of now, and put it back after the ``with`` block."""


@dataclass(frozen=True)
class Trial:
    """The range of the sheet for one number of one port.

    Attributes:
        quantity: The number.
        least: Lower end of the range; None where nobody knows it.
        largest: Upper end of the range.
        settable: False where the sheet says that it cannot be set: then no attempt may change it.
        refuses_less: One less than the least must be refused.
    """

    quantity: Quantity
    least: int | None
    largest: int
    settable: bool = True
    refuses_less: bool = False

    def judge(self, show: Show) -> None:
        """Set both ends of the range and one step beyond them, and put the number back.

        Args:
            show: Takes each attempt as a sentence.

        Raises:
            CardFailure: It is not as on the sheet, or did not come back.
            BenchFault: It is, as far as it was tried, and could not be put back.
        """
        quantity, place, judged = self.quantity, self.quantity.dut.place, Collected()
        before = quantity.read()
        with judged.one():
            with quantity.put_back():
                for value in self._within():
                    judged.problems += self._taken(value, show)
                for value in self._beyond():
                    judged.problems += self._refused(value)
            after = quantity.read()
            if after != before:
                judged.problems.append(f"{place}: {quantity.what} did not come back: it is {after}, before {before}")
        judged.end()

    def _within(self) -> list[int]:
        return [value for value in (self.least, self.largest) if value is not None] if self.settable else []

    def _beyond(self) -> list[int]:
        if not self.settable:
            return [self.largest // 2, self.largest - 1, self.largest + 1]
        return [self.largest + 1, *([self.least - 1] if self.refuses_less and self.least else [])]

    def _taken(self, value: int, show: Show) -> list[str]:
        quantity = self.quantity
        attempt = quantity.set(value)
        show(f"{quantity.dut.place}: {quantity.what} set to {value}, is {attempt.now}{refusal(attempt)}")
        if attempt.now == value:
            return []
        return [quantity.dut.expected(quantity.what, f"{attempt.now} when set to {value}{refusal(attempt)}", value)]

    def _refused(self, value: int) -> list[str]:
        """Refused, or without effect: a number that is rounded and taken has changed too."""
        quantity, before = self.quantity, self.quantity.read()
        now = quantity.set(value).now
        if now == before:
            return []
        found = f"{now}" if now == value else f"{now} when set to {value}"
        return [quantity.dut.expected(quantity.what, found, "it refused")]
