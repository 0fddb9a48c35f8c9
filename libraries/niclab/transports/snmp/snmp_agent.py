"""Reading and writing an SNMP agent, whatever carries the datagrams: every answer is judged here.

A variable that the agent does not have, a value of another kind, a table that never ends, a refused or silently ignored
SET: each is a :class:`~niclab.core.verdict.BenchFault` that names the switch, the variable with its number, and the
value.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline, until
from niclab.transports import ConnectionLost
from niclab.transports.snmp.snmp_records import Instance, Value, ValueKind, Variable, shown

T = TypeVar("T")

SEEN_WITHIN_S = 10.0
"""Assumption: how long a switch may take until a SET that it accepted can be read back. Its model may say otherwise."""
LONGEST_WALK = 100_000
"""Rows of the longest table that is read to its end: the address table of a big switch."""
WALK_WITHIN_S = 300.0
"""Deadline of reading it: 25 rows in 75 ms, which slow agents manage."""

_WANTED = {
    "tooBig": "fewer variables in one datagram: variables_per_pdu of the switch's model",
    "noSuchName": "a variable that this switch has",
    "noAccess": "a login that may do this",
    "authorizationError": "a login that may do this",
    "readOnly": "a variable that can be written, by a login that may do it",
    "notWritable": "a variable that can be written on this switch",
    "wrongType": "a value of the type that the switch has for it",
    "wrongLength": "a value as long as the switch has it",
    "wrongEncoding": "a value that the switch can read",
    "wrongValue": "a value that the switch can take",
    "badValue": "a value of the type and range that the switch has for it",
    "inconsistentValue": "a value that goes with the rest of the switch's configuration",
    "inconsistentName": "a row that can be made in the switch's present configuration",
    "noCreation": "a row that the switch lets be made",
    "resourceUnavailable": "room for it on the switch",
    "commitFailed": "look at the switch's own log",
    "undoFailed": "look at the switch's own log, and at what it is set to now",
    "genErr": "look at the switch's own log",
}
"""Expectation to report where an agent answers with an error status (RFC 3416, section 3)."""


class SnmpRefused(BenchFault):
    """The agent answered that it will not: ``status`` is the name RFC 3416 gives the error."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status


class NoSuchVariable(BenchFault):
    """The agent answered that it does not have this variable, or this row of it."""


class Missing(Enum):
    """The exception in place of a value; the value of the member is how messages call it."""

    OBJECT = "no such variable (noSuchObject)"
    INSTANCE = "no such row (noSuchInstance)"
    END = "the end of all variables (endOfMibView)"


@dataclass(frozen=True)
class Reading:
    """A value as it came, with its kind."""

    kind: ValueKind
    value: Value


class Refusal(Exception):
    """An error status in an answer; ``index`` is the 1-based place of the variable, 0 for none of them."""

    def __init__(self, status: str, index: int) -> None:
        super().__init__(f"{status}, variable {index}")
        self.status, self.index = status, index


class _Unseen(Exception):
    """A written value is not read back."""


class SnmpAgent(ABC):
    """The agent of a switch.

    Args:
        name: How messages call the switch.
        variables_per_pdu: Most variables asked for in one datagram.
    """

    def __init__(self, name: str, *, variables_per_pdu: int = 20) -> None:
        self.name, self.variables_per_pdu = name, variables_per_pdu

    @abstractmethod
    def read(self, oids: Sequence[str]) -> list[Reading | Missing]:
        """One GET. Raises :class:`Refusal` for an error status, a :class:`BenchFault` where there is no answer."""

    @abstractmethod
    def read_after(self, oid: str) -> list[tuple[str, Reading | Missing]]:
        """One GETBULK of what follows ``oid``."""

    @abstractmethod
    def write(self, assignments: Sequence[tuple[Instance, Value]]) -> None:
        """One SET of all ``assignments``."""

    def get(self, what: Instance) -> Value:
        """The value of ``what``.

        Raises:
            NoSuchVariable: When the agent does not have it.
            BenchFault: When it is refused, is of another kind, or nothing answers.
        """
        return self.get_many([what])[what]

    def get_many(self, what: Sequence[Instance]) -> dict[Instance, Value]:
        """The values of ``what``, in as few datagrams as the agent takes. Errors: see :meth:`get`."""
        found: dict[Instance, Value] = {}
        for instance, reading in self._readings(what).items():
            if isinstance(reading, Missing):
                raise NoSuchVariable(f"{self.name}: GET {instance}: {reading.value}; expected a switch that has it")
            found[instance] = reading
        return found

    def find(self, what: Sequence[Instance]) -> dict[Instance, Value | None]:
        """Like :meth:`get_many`; None where the agent answers that it does not have one."""
        readings = self._readings(what)
        return {one: None if isinstance(reading, Missing) else reading for one, reading in readings.items()}

    def walk(self, column: Variable) -> dict[tuple[int, ...], Value]:
        """Every row of a column: index -> value. Empty when the agent has none, or does not know the column.

        Raises:
            BenchFault: When the rows do not ascend (an agent that would never end), one is of another kind, or the end
                does not come within :data:`WALK_WITHIN_S`.
        """
        rows: dict[tuple[int, ...], Value] = {}
        what = f"GETBULK {column.name} ({column.oid})"
        root = last = _numbers(column.oid)
        deadline = Deadline(WALK_WITHIN_S)
        while True:
            if deadline.expired:
                raise BenchFault(f"{self.name}: {what}: no end after {len(rows)} rows and {deadline.seconds:g} s")
            for oid, reading in self._rows_after(what, _dotted(last)):
                here = _numbers(oid)
                if isinstance(reading, Missing) or here[: len(root)] != root:
                    return rows
                if here <= last or len(rows) >= LONGEST_WALK:
                    raise BenchFault(
                        f"{self.name}: {what}: {oid} comes after {_dotted(last)}, row "
                        f"{len(rows) + 1}; expected rows that ascend, at most {LONGEST_WALK}"
                    )
                index = here[len(root) :]
                rows[index] = self._of_kind(column.at(*index), reading)
                last = here

    def has_rows(self, column: Variable) -> bool:
        """Return True if the agent has a row of a column."""
        first, reading = self._rows_after(f"GETBULK {column.name} ({column.oid})", column.oid)[0]
        root = _numbers(column.oid)
        return not isinstance(reading, Missing) and _numbers(first)[: len(root)] == root

    def _rows_after(self, what: str, oid: str) -> list[tuple[str, Reading | Missing]]:
        answer = self._judged(what, [], lambda: self.read_after(oid))
        if not answer:
            raise BenchFault(f"{self.name}: {what}: an empty answer; expected rows, or the end of the table")
        return answer

    def set(self, *assignments: tuple[Instance, Value]) -> None:
        """Write; all of it in one datagram, which the agent takes as a whole or not at all (RFC 3416, 4.2.5).

        That it is accepted does not say that it is done: see :meth:`set_and_see`.

        Raises:
            SnmpRefused: When the agent refuses.
        """
        words = ", ".join(f"{instance} = {shown(value)}" for instance, value in assignments)
        self._judged(f"SET {words}", [instance for instance, _ in assignments], lambda: self.write(assignments))

    def set_and_see(
        self,
        *assignments: tuple[Instance, Value],
        within_s: float = SEEN_WITHIN_S,
        same: Callable[[Value, Value], bool] = operator.eq,
    ) -> None:
        """Write, and read back until every value is seen.

        Args:
            *assignments: Variables with the values to set.
            within_s: Deadline in seconds.
            same: Tells whether what is read is what was written, where an agent may write it in another way.

        Raises:
            BenchFault: When the SET is refused, or was accepted but is not seen within ``within_s``.
        """
        self.set(*assignments)
        wanted = dict(assignments)
        found: Mapping[Instance, Value | None] = {}

        def seen() -> bool:
            nonlocal found
            found = self.find(list(wanted))
            return all(value is not None and same(value, wanted[instance]) for instance, value in found.items())

        try:
            until(seen, within=within_s, what="read back", every=0.05, error=_Unseen)
        except _Unseen:
            wrong = [
                f"{instance} reads {'nothing' if value is None else shown(value)}; expected {shown(wanted[instance])}"
                for instance, value in found.items()
                if value is None or not same(value, wanted[instance])
            ]
            raise BenchFault(
                f"{self.name}: SET was accepted, but not done within {within_s:g} s: {'; '.join(wrong)}"
            ) from None

    def _readings(self, what: Sequence[Instance]) -> dict[Instance, Value | Missing]:
        found: dict[Instance, Value | Missing] = {}
        for start in range(0, len(what), self.variables_per_pdu):
            part = what[start : start + self.variables_per_pdu]
            readings = self._get_part(part)
            found.update(
                (instance, reading if isinstance(reading, Missing) else self._of_kind(instance, reading))
                for instance, reading in zip(part, readings, strict=True)
            )
        return found

    def _get_part(self, part: Sequence[Instance]) -> list[Reading | Missing]:
        words = ", ".join(map(str, part))
        readings = self._judged(f"GET {words}", part, lambda: self.read([instance.oid for instance in part]))
        if len(readings) != len(part):
            raise ConnectionLost(
                f"{self.name}: GET {words}: {len(readings)} values for {len(part)} variables; expected one for each"
            )
        return readings

    def _of_kind(self, instance: Instance, reading: Reading) -> Value:
        if not instance.variable.fits(reading.kind):
            raise BenchFault(
                f"{self.name}: GET {instance}: {shown(reading.value)} is {reading.kind.value}; "
                f"expected {instance.variable.kind.value}"
            )
        return reading.value

    def _judged(self, what: str, of: Sequence[Instance], ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Refusal as refusal:
            which = f" for {of[refusal.index - 1]}" if 0 < refusal.index <= len(of) and len(of) > 1 else ""
            wanted = _WANTED.get(refusal.status, "an answer without error")
            message = f"{self.name}: {what}: refused with {refusal.status}{which}; expected {wanted}"
            raise SnmpRefused(message, refusal.status) from refusal


def _numbers(oid: str) -> tuple[int, ...]:
    return tuple(map(int, oid.split(".")))


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))
