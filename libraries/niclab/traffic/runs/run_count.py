"""The traffic runs and failovers that a server spoiled by standing still, and whether it does so without traffic.

Nobody stalls a server often but its own firmware, or the driver and the card. Where the dut alone does so beyond the
bound of the bench file, it is watched for a while with nothing to carry: what vanishes then came with the traffic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from niclab.bench.records import Role
from niclab.core.wait import pause
from niclab.report.own_checks.spoiled_runs import FILE, exceeds
from niclab.run.run import Run
from niclab.run.watching import standstill

LEAST_IDLE_S, MOST_IDLE_S = 20.0, 60.0
EXPECTED_STANDSTILLS = 3
"""The idle time is as long as it took under load to stand still so often: none in it is chance once in 20."""


class RunCount:
    """Counts runs, and those that were spoiled. A part of the run; each run is a line in the evidence.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._made, self._seconds = 0, 0.0
        self._spoiled = Counter[str]()
        self._alone = 0
        run.ending.callback(self._finish)

    def note(self, stood: Collection[str], seconds: float) -> None:
        """Count a run.

        Args:
            stood: Names of the servers that stood still meanwhile.
            seconds: How long it lasted.
        """
        self._made, self._seconds = self._made + 1, self._seconds + seconds
        self._spoiled.update(stood)
        self._alone += set(stood) == {Role.DUT.value}
        self._run.notes.add(FILE, {"stood": sorted(stood), "bound_percent": self._run.bench.discarded_runs_percent})

    def _finish(self) -> None:
        """Compare with an idle dut where it spoiled too many runs, before anything is undone."""
        bound = self._run.bench.discarded_runs_percent
        if not self._alone or not exceeds(self._spoiled[Role.DUT.value], self._made, bound):
            return
        expected = EXPECTED_STANDSTILLS * self._seconds / self._alone
        seconds = min(MOST_IDLE_S, max(LEAST_IDLE_S, expected))
        both = standstill.watch(self._run)
        before = both.told()
        pause(seconds)
        stood = [each for each in both.between(before, both.told()) if each.server == Role.DUT.value]
        self._run.notes.add(FILE, {"idle_s": round(seconds, 1), "stood_idle": len(stood)})
