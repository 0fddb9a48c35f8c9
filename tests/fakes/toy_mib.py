"""The variables of a toy agent, and every way in which an agent can misbehave. Plain state that tests bend."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from niclab.transports import ConnectionLost
from niclab.transports.snmp.snmp_agent import Missing, Reading, Refusal, SnmpAgent
from niclab.transports.snmp.snmp_records import VARIABLES, Instance, Value, ValueKind

Oid = tuple[int, ...]


def numbers(oid: str) -> Oid:
    return tuple(map(int, oid.split(".")))


@dataclass
class ToyMib:
    """``rows``: what the agent has. Names are those of :data:`VARIABLES`."""

    rows: dict[Oid, Reading] = field(default_factory=dict)
    writable: set[str] = field(default_factory=set)
    refuses: dict[str, str] = field(default_factory=dict)
    """Variable -> error status that a SET of it gets."""
    ignores: set[str] = field(default_factory=set)
    """Variables whose SET is accepted and not done."""
    late: dict[str, int] = field(default_factory=dict)
    """Variable -> how many reads a SET of it takes to be seen."""
    repeats: bool = False
    """The agent answers GETBULK with the same row for ever."""
    silent: bool = False
    check: Callable[[str, Oid, Value], str | None] | None = None
    """Error status that a SET gets for what a switch would not have; None where it is well."""
    on_write: Callable[[str, Oid, Value], None] | None = None
    """Called after a SET was done: what a switch does with it."""
    ticks: bool = False
    """The agent's time goes on, from what it was set to."""
    reads: int = 0
    sets: list[tuple[str, Oid, Value]] = field(default_factory=list)
    """Every SET that arrived, done or not."""
    _waiting: dict[Oid, tuple[int, str, Value]] = field(default_factory=dict)
    _uptime_set_at: float = field(default_factory=time.monotonic)

    def put(self, name: str, index: Sequence[int], value: Value, kind: ValueKind | None = None) -> None:
        variable = VARIABLES[name]
        if name == "sysUpTime":
            self._uptime_set_at = time.monotonic()
        self.rows[(*numbers(variable.oid), *index)] = Reading(kind or variable.kind, value)

    def value(self, name: str, *index: int) -> Value:
        return self.rows[(*numbers(VARIABLES[name].oid), *index)].value

    def uptime(self) -> int:
        """The agent's time by now."""
        oid = numbers(VARIABLES["sysUpTime"].at(0).oid)
        found = self._ticking(oid, self.rows[oid]).value
        assert isinstance(found, int)
        return found

    def drop(self, name: str, *index: int) -> None:
        """Forget a row, or the whole variable."""
        start = (*numbers(VARIABLES[name].oid), *index)
        self.rows = {oid: row for oid, row in self.rows.items() if oid[: len(start)] != start}

    def get(self, oid: Oid) -> Reading | Missing:
        self.reads += 1
        if oid in self._waiting:
            left, name, value = self._waiting.pop(oid)
            if left > 1:
                self._waiting[oid] = (left - 1, name, value)
            else:
                self._do(name, oid, value)
        if oid in self.rows:
            return self._ticking(oid, self.rows[oid])
        known = any(other[: len(oid) - 1] == oid[:-1] for other in self.rows)
        return Missing.INSTANCE if known else Missing.OBJECT

    def _ticking(self, oid: Oid, reading: Reading) -> Reading:
        if not self.ticks or oid != numbers(VARIABLES["sysUpTime"].at(0).oid):
            return reading
        assert isinstance(reading.value, int)
        return Reading(reading.kind, reading.value + int((time.monotonic() - self._uptime_set_at) * 100))

    def after(self, oid: Oid, count: int) -> list[tuple[Oid, Reading | Missing]]:
        self.reads += 1
        rows: list[tuple[Oid, Reading | Missing]] = [
            (each, self.rows[each]) for each in sorted(self.rows) if each > oid or (self.repeats and each == oid)
        ]
        return rows[:count] or [(oid, Missing.END)]

    def write(self, assignments: Sequence[tuple[Oid, Reading]]) -> None:
        """All or nothing; raises :class:`Refusal`."""
        named = [(self._name(oid), oid, reading) for oid, reading in assignments]
        self.sets += [(name, self._index(name, oid), reading.value) for name, oid, reading in named]
        for place, (name, oid, reading) in enumerate(named, start=1):
            if name in self.refuses:
                raise Refusal(self.refuses[name], place)
            if name not in self.writable:
                raise Refusal("notWritable", place)
            if not VARIABLES[name].fits(reading.kind):
                raise Refusal("wrongType", place)
            if self.check and (status := self.check(name, self._index(name, oid), reading.value)):
                raise Refusal(status, place)
        for name, oid, reading in named:
            if name in self.late:
                self._waiting[oid] = (self.late[name], name, reading.value)
            elif name not in self.ignores:
                self._do(name, oid, reading.value)

    def _do(self, name: str, oid: Oid, value: Value) -> None:
        self.rows[oid] = Reading(VARIABLES[name].kind, value)
        if self.on_write:
            self.on_write(name, self._index(name, oid), value)

    @staticmethod
    def _name(oid: Oid) -> str:
        return next(
            (name for name, each in VARIABLES.items() if oid[: len(numbers(each.oid))] == numbers(each.oid)), "?"
        )

    @staticmethod
    def _index(name: str, oid: Oid) -> Oid:
        return oid[len(numbers(VARIABLES[name].oid)) :] if name in VARIABLES else oid


class FakeAgent(SnmpAgent):
    """The agent of a toy MIB without a network."""

    def __init__(self, mib: ToyMib, name: str = "sw1") -> None:
        super().__init__(name)
        self.mib = mib

    def _ask(self) -> None:
        if self.mib.silent:
            raise ConnectionLost(f"{self.name}: SNMP: no answer")

    def read(self, oids: Sequence[str]) -> list[Reading | Missing]:
        self._ask()
        return [self.mib.get(numbers(oid)) for oid in oids]

    def read_after(self, oid: str) -> list[tuple[str, Reading | Missing]]:
        self._ask()
        return [(".".join(map(str, each)), reading) for each, reading in self.mib.after(numbers(oid), 5)]

    def write(self, assignments: Sequence[tuple[Instance, Value]]) -> None:
        self._ask()
        self.mib.write([(numbers(one.oid), Reading(one.variable.kind, value)) for one, value in assignments])
