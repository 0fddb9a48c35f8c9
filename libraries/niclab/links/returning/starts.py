"""Fresh starts of the dut, shared by the checks that need one: a real server takes minutes to start.

A start is made once a run and kind. What each check finds right after it is kept, and given to the test that asks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from niclab.bench.records import Role
from niclab.checks import driver, pcie
from niclab.checks.asked import Say
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.links.returning.inventory import Inventories
from niclab.run.run import Run


class Start(Enum):
    """The ways in which the dut starts again."""

    WARM = "warm restart"
    COLD = "power cycle"


class SeenAtStart(Enum):
    """The checks right after a start."""

    DRIVER = "driver"
    PCIE_LINK = "PCIe link"
    INVENTORY = "inventory of every port"


_Failure = CardFailure | BenchFault | NotApplicable | Undecided
_CHECKS: dict[SeenAtStart, Callable[[Run, Say], None]] = {
    SeenAtStart.DRIVER: lambda run, _: driver.require_loaded(run),
    SeenAtStart.PCIE_LINK: pcie.require_link,
}


@dataclass
class _Found:
    """The findings of a check: what it said, and how it failed, if it did."""

    said: list[str] = field(default_factory=list)
    failure: _Failure | None = None


class Starts:
    """The fresh starts of the dut in this run. A part of the run.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._found: dict[Start, dict[SeenAtStart, _Found]] = {}

    def once(self, start: Start, warn: Callable[[str], object]) -> bool:
        """Start the dut again unless this run has done so, and look at all subjects right afterwards.

        The inventory of every port is kept before, and compared afterwards.

        Args:
            start: How it starts.
            warn: Takes warnings, such as a driver that had to be loaded.

        Returns:
            Whether it was started now.

        Raises:
            NotApplicable: It has no BMC that could cut its power.
            CardFailure: A port does not come back with it, and the card or its driver is to blame.
            BenchFault: It does not come back in its time.
        """
        if start in self._found:
            return False
        inventories = self._run.part(Inventories)
        kept = self._look(lambda _, say: inventories.keep(say))
        self._start(start)
        inventories.make_ready(f"a {start.value}", warn)
        found = {subject: self._look(check) for subject, check in _CHECKS.items()}
        if kept.failure is None:
            kept = self._look(lambda _, say: inventories.require_as_kept(f"a {start.value}", say))
        self._found[start] = found | {SeenAtStart.INVENTORY: kept}
        return True

    def forget(self) -> None:
        """Keep no start any more: the boot has other settings now, of which former starts prove nothing."""
        self._found.clear()

    def require(self, start: Start, subject: SeenAtStart, say: Say) -> None:
        """Give the verdict of a check that was made right after a start.

        Args:
            start: The start.
            subject: What was looked at.
            say: Takes what the check said.

        Raises:
            CardFailure: The check failed.
            NotApplicable: The check cannot be asked of this card.
            Undecided: The check could not tell.
            BenchFault: The dut has not been started that way, or the check could not be made.
        """
        if start not in self._found:
            raise BenchFault(f"dut: no {start.value} was made in this run; 'Start The Dut Once' comes first")
        found = self._found[start][subject]
        for line in found.said:
            say(line)
        if found.failure is not None:
            raise found.failure

    def _start(self, start: Start) -> None:
        if start is Start.WARM:
            self._run.server(Role.DUT).reboot()
        else:
            self._run.server(Role.DUT).power_cycle()

    def _look(self, check: Callable[[Run, Say], None]) -> _Found:
        found = _Found()
        try:
            check(self._run, found.said.append)
        except (CardFailure, BenchFault, NotApplicable, Undecided) as failure:
            found.failure = failure
        return found
