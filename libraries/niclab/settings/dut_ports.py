"""The ports of the dut that settings are read from and tried on, and what the sheet says about their settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeVar

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Unknown
from niclab.core.verdict import CardFailure, Collected, NotApplicable, SheetUnknown, Trouble, blame
from niclab.core.wait import Deadline, pause
from niclab.hosts.errors import NotOffered
from niclab.hosts.host import Host
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back

T = TypeVar("T")
Show = Callable[[str], object]
"""Takes a sentence for the log."""
NotBack = Callable[[Run, Port, int, str], list[Trouble]]
"""Waits so many ms for the link of a port after something was done to it: the problem, and whose fault it is."""

SETTLING_STEP_S = 0.2

EVERY = "every"
"""The name that means all rows of a section of the sheet."""


@dataclass(frozen=True)
class DutPort:
    """One port of the dut in the current run."""

    run: Run
    port: Port

    @property
    def server(self) -> Server:
        """The dut."""
        return self.run.server_of(self.port)

    @property
    def host(self) -> Host:
        """The dut's operating system."""
        return self.server.host

    @property
    def iface(self) -> str:
        """Name of the port's interface."""
        return self.run.interface(self.port)

    @property
    def place(self) -> str:
        """The port and its PCI address, as messages name them."""
        return self.port.place

    def put_back(self, what: str, restoring: str) -> AbstractContextManager[None]:
        """Journal a change of this port, and undo it after the ``with`` block.

        Args:
            what: What the block changes, for the journal.
            restoring: Idempotent command that puts it back.
        """
        return put_back(self.run, self.server, self.port.name, f"{self.iface}: {what}", restoring, self.iface)

    def down_and_up(self) -> None:
        """Set this port down, and up again by the undo of that: a run that is killed between leaves it to restore."""
        with self.put_back("goes down", self.host.undo.link(self.iface, up=True)):
            self.host.links.set_link(self.iface, False)

    def ask(self, what: str, question: Callable[[str], T]) -> T:
        """Ask for a setting of this port that the sheet names.

        Args:
            what: Name of the setting.
            question: Takes the interface, and reads the setting.

        Raises:
            CardFailure: The driver does not offer the setting.
        """
        try:
            return question(self.iface)
        except NotOffered as error:
            problem = f"the driver does not offer {what}, sheet {self.run.card.name} names them: {error}"
            raise CardFailure(f"{self.place}: {problem}") from error

    def expected(self, what: str, found: object, expected: object) -> str:
        """Say that this port does not show what the sheet expects.

        Args:
            what: Name of the setting.
            found: Measured value; None where the port shows none.
            expected: Value of the sheet, or words that describe it.
        """
        return f"{self.place}: {what} is {_shown(found)}; expected {_shown(expected)} (sheet {self.run.card.name})"

    def compare(self, what: str, found: object, expected: object) -> list[str]:
        """Compare a setting of this port with the sheet.

        Args:
            what: Name of the setting.
            found: Measured value; None where the port shows none.
            expected: Value of the sheet; nothing is compared where nobody knows it.

        Returns:
            The problem, or nothing.
        """
        if is_unknown(expected) or (found is not None and found == expected):
            return []
        return [self.expected(what, found, expected)]


def dut_ports(run: Run) -> list[DutPort]:
    """List the ports of the dut, in the order of the bench file."""
    return [DutPort(run, port) for port in run.ports(Role.DUT)]


def driver_section(run: Run, name: str, kind: type[T], reading: Callable[[DutPort], object]) -> T:
    """Get a section of the sheet whose numbers are those of a driver, for the driver of the dut's system.

    Args:
        run: The current run.
        name: ``rings``, ``coalescing`` or ``channels``.
        kind: Class of the section.
        reading: Reads the setting of a port. A driver that does not show it raises NotApplicable and says so.

    Raises:
        NotApplicable: The sheet has no such section, or that of another system's driver only.
    """
    system = run.server(Role.DUT).description.os
    section = run.card.of_driver(name, system)
    if section is None and system is not OperatingSystem.LINUX:
        for dut in dut_ports(run):
            reading(dut)
        raise NotApplicable(f"sheet {run.card.name} knows {name} of Linux' driver only, the dut runs {system.value}")
    found = run.card.section(section, name)
    assert isinstance(found, kind)
    return found


def chosen_rows(run: Run, name: str, rows: dict[str, T], what: str) -> dict[str, T]:
    """Choose rows of a section of the sheet.

    Args:
        run: The current run.
        name: Name of a row, or ``every``.
        rows: All rows, by name.
        what: What a row is, for the message.

    Raises:
        NotApplicable: The sheet has no such row.
    """
    chosen = rows if name == EVERY else {known: row for known, row in rows.items() if known == name}
    if not chosen:
        raise NotApplicable(f"sheet {run.card.name} names no {what}{'' if name == EVERY else f' {name}'}")
    return chosen


def require_known(
    run: Run, section: str, facts: Iterable[object], reading: Callable[[DutPort], object] | None = None
) -> None:
    """Require that the sheet knows at least one fact of a section: a check that judges nothing is never green.

    Args:
        run: The current run.
        section: Name of the section, for the message.
        facts: Its facts as delivered.
        reading: Reads the section from a port, where the sheet says that it cannot be set. Where the sheet knows
            nothing and no port's driver offers it either, both say the same: there is none.

    Raises:
        SheetUnknown: It knows none of those it names.
        NotApplicable: It names none, or the driver offers none.
    """
    named = [fact for fact in facts if fact is not None]
    why = list(dict.fromkeys(fact.unknown for fact in named if isinstance(fact, Unknown)))
    if not all(isinstance(fact, Unknown) for fact in named):
        return
    said = f"sheet {run.card.name} knows nothing of {section} as delivered"
    if reading is not None and (words := _offers_none(run, reading)):
        raise NotApplicable(f"{said}, and the driver offers none: {words}")
    raise SheetUnknown(f"{said}: {'; '.join(why)}") if why else NotApplicable(said)


def _offers_none(run: Run, reading: Callable[[DutPort], object]) -> str | None:
    """The first port's words where no port's driver offers what is read."""
    words = list[str]()
    for dut in dut_ports(run):
        try:
            reading(dut)
        except NotOffered as error:
            words.append(f"{dut.place}: {error}")
        else:
            return None
    return words[0]


def settled(read: Callable[[], T], done: Callable[[T], bool], within_s: float) -> T:
    """Read a setting until it is as expected, or the time is over.

    Args:
        read: Reads it.
        done: Is it as expected?
        within_s: Seconds.

    Returns:
        What was read last.
    """
    deadline, found = Deadline(within_s), read()
    while not done(found) and not deadline.expired:
        pause(SETTLING_STEP_S)
        found = read()
    return found


def charged(judged: Collected, found: Sequence[Trouble]) -> list[Trouble]:
    """Keep the problems of the card for the end of a check, and return those of the bench.

    Args:
        judged: Takes those of the card.
        found: The problems of both.
    """
    judged.problems += [each.text for each in found if each.of_card]
    return [each for each in found if not each.of_card]


def end(judged: Collected, others: Sequence[Trouble]) -> None:
    """End a check with the problems of the card, and those of the bench.

    Args:
        judged: The parts of the check.
        others: The problems of the bench.

    Raises:
        CardFailure: With every problem, when the card has any.
        BenchFault: With those of the bench, when all are.
        Undecided: With every doubt, when there are doubts alone.
    """
    blame([*(Trouble(text, of_card=True) for text in judged.problems), *others])
    judged.end()


def is_unknown(fact: object) -> bool:
    """Is this fact of the sheet left out or unknown?"""
    return fact is None or isinstance(fact, Unknown)


def refusal(attempt: Attempt[T]) -> str:
    """Give the words of a refused attempt in brackets, for a message; empty when it was not refused."""
    return f" ({attempt.refused})" if attempt.refused else ""


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "not shown" if value is None else str(value)
