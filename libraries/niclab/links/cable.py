"""A cable of a direct path that is pulled and plugged, and what both ends and the other ports see of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from niclab.bench.records import BenchPath, Port, Wiring
from niclab.core.undo import Entry
from niclab.core.verdict import BenchFault, NotApplicable, blame_charged
from niclab.links import carrier, link_checks, wiring
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import blameless


class Cable:
    """The cable of a run that is pulled or was plugged last.

    Args:
        run: The qualification run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._pulled: tuple[BenchPath, Entry, float] | None = None
        self._plugged: tuple[BenchPath, float] | None = None
        self._before: dict[Port, int] = {}

    def pull(self, say: Callable[[str], object]) -> None:
        """Pull the first cable of a direct path that a command can pull; :meth:`plug` or the journal plugs it.

        Args:
            say: Takes what was pulled.

        Raises:
            NotApplicable: No command of the bench pulls a cable of a direct path.
            BenchFault: The command fails.
        """
        bench = self._run.bench
        path = next((path for path in bench.paths if path.through is Wiring.DIRECT and path.pull), None)
        if path is None:
            raise NotApplicable(f"bench {bench.name} has no command to pull a cable")
        self._before = link_checks.carrier_changes(self._run)
        standstill.watch(self._run)  # begun now: it takes a server a moment, and carrier is timed
        began = time.monotonic()
        self._pulled = (path, wiring.break_path(self._run, path), began)
        say(f"cable of path {path.name} pulled: {' and '.join(path.ends)}")

    def plug(self) -> None:
        """Plug the cable that was pulled, if one is.

        Raises:
            BenchFault: The command fails; it can be tried again, and the journal keeps it.
        """
        if self._pulled is not None:
            (path, entry, _), began = self._pulled, time.monotonic()
            wiring.mend_path(self._run, entry)
            self._pulled = None
            self._plugged = (path, began)

    def require_loss(self, say: Callable[[str], object]) -> None:
        """See that both ends lose carrier within the sheet's ``carrier_loss_within_ms`` of the pulling.

        Args:
            say: Takes what was seen of each port.

        Raises:
            CardFailure: The dut's end alone still has carrier.
            Undecided: The answer came too late to decide, or a server stood still.
            BenchFault: No cable is pulled, the peer's end still has carrier, or both have: it was not pulled.
        """
        path, _, began = self._require_pulled()
        with blameless(self._run):
            carrier.expect(self._run, self._ends(path), up=False, began=began, say=say)

    def require_return(self, say: Callable[[str], object]) -> None:
        """See that both ends have carrier within the sheet's ``carrier_return_within_ms`` of the plugging.

        Args:
            say: Takes what was seen of each port.

        Raises:
            CardFailure: An end has no carrier.
            Undecided: The answer came too late to decide.
            BenchFault: No cable was plugged.
        """
        if self._plugged is None:
            raise BenchFault("no cable was plugged: 'Pull A Cable' and 'Plug The Cable' come first")
        path, began = self._plugged
        carrier.expect(self._run, self._ends(path), up=True, began=began, say=say)

    def require_others_unaffected(self) -> None:
        """See that no port of another path has counted a change of carrier since the cable was pulled.

        Raises:
            CardFailure: Naming the ports that have, one of the dut among them.
            Undecided: Both ends of a cable have, or the dut's end where a switch has the other one.
            BenchFault: Only ports of the peer have, or no cable is pulled.
        """
        path, _, _ = self._require_pulled()
        when = f"while the cable of path {path.name} was pulled"
        blame_charged(link_checks.unexpected_changes(self._run, self._before, frozenset(path.ends), when))

    def _require_pulled(self) -> tuple[BenchPath, Entry, float]:
        if self._pulled is None:
            raise BenchFault("no cable is pulled: 'Pull A Cable' comes first")
        return self._pulled

    def _ends(self, path: BenchPath) -> list[Port]:
        return [self._run.bench.port(end) for end in path.ends]
