"""The offload table of the sheet, as the dut's system has it, and the features that a port shows for it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import Changeable, FreebsdOffload, LinuxOffload, OffloadName, Offloads, Proof, Unknown
from niclab.core.verdict import BenchFault, NotApplicable, SheetSilent
from niclab.hosts.settings.ethtool_records import Feature, Features
from niclab.hosts.settings.features import CAPABILITIES
from niclab.run.run import Run
from niclab.settings.dut_ports import EVERY, DutPort


@dataclass(frozen=True)
class OffloadRow:
    """One row of the table.

    Attributes:
        name: Neutral name of the offload.
        word: Name under which the system shows it.
        set_words: Names that switch it, each of them alike.
        tried: The same; for what cannot be changed the names by which one would try.
        default: On or off as delivered.
        change: How it can be changed.
        clears: Offloads that go off together with it.
        proof: Counters that prove it is used.
        shows_fixed: The system shows what cannot be changed. ifconfig does not: there only trying tells.
    """

    name: OffloadName
    word: str
    set_words: tuple[str, ...]
    tried: tuple[str, ...]
    default: bool | Unknown
    change: Changeable | Unknown
    clears: tuple[OffloadName, ...]
    proof: Proof | None
    shows_fixed: bool

    def feature(self, dut: DutPort, shown: Features) -> Feature:
        """Find this offload among the features that a port shows.

        Args:
            dut: The port, for the message.
            shown: Its features.

        Raises:
            BenchFault: The port does not show it.
        """
        try:
            return shown[self.word]
        except BenchFault as error:
            raise BenchFault(f"{dut.place}: {error}; sheet {dut.run.card.name} has it") from error

    def expected(self, dut: DutPort, found: str, expected: str) -> str:
        """Say that a port does not keep to this row.

        Args:
            dut: The port.
            found: What it does, with the verb.
            expected: What the sheet expects.
        """
        subject = f"{dut.place}: offload {self.name.value} ({self.word})"
        return f"{subject} {found}; expected {expected} (sheet {dut.run.card.name})"


def table(run: Run) -> Offloads:
    """Get the offload table of the sheet.

    Args:
        run: The current run.

    Raises:
        NotApplicable: The sheet has none.
    """
    return run.card.section(run.card.offloads, "offloads")


def rows(run: Run, offload: str = EVERY) -> dict[OffloadName, OffloadRow]:
    """Get rows of the table for the dut's system.

    Args:
        run: The current run.
        offload: Name of an offload, such as ``tso4``, or ``every``.

    Raises:
        NotApplicable: The sheet has no such row for the system.
        SheetSilent: It has none at all.
        BenchFault: No offload has that name.
    """
    system = run.server(Role.DUT).description.os
    found = {name: _row(name, row) for name, row in table(run).rows(system).items()}
    if not found:
        raise SheetSilent(f"sheet {run.card.name} says nothing about any offload for {system.value}")
    if offload != EVERY:
        known = [name.value for name in OffloadName]
        if offload not in known:
            raise BenchFault(f"offload {offload!r} is not known; expected {EVERY}, {', '.join(known)}")
        found = {name: row for name, row in found.items() if name.value == offload}
    if not found:
        raise NotApplicable(f"sheet {run.card.name} says nothing about offload {offload} for {system.value}")
    return found


def put_features_back(dut: DutPort, what: str) -> AbstractContextManager[None]:
    """Journal the offloads of the table as a port has them now, and put them back after the ``with`` block.

    Args:
        dut: The port.
        what: What the block changes, for the journal.

    Raises:
        BenchFault: They could not be put back.
    """
    words = {row.word: row.set_words[0] for row in rows(dut.run).values() if row.set_words}
    return dut.put_back(what, dut.host.undo.features(dut.iface, words))


def on_or_off(on: bool) -> str:
    """Say ``on`` or ``off``."""
    return "on" if on else "off"


def _row(name: OffloadName, row: LinuxOffload | FreebsdOffload) -> OffloadRow:
    if isinstance(row, LinuxOffload):
        words = (row.set_word or row.word,)
        return OffloadRow(
            name, row.word, words, words, row.default, row.change, row.clears, row.proof, shows_fixed=True
        )
    own = next((one.word for one in CAPABILITIES if one.label == row.label), None)
    tried = row.set_words or ((own,) if own else ())
    return OffloadRow(
        name, row.label, row.set_words, tried, row.default, row.change, row.clears, row.proof, shows_fixed=False
    )
