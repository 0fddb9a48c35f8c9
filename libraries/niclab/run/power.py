"""Power cycles, journaled: a server that is left without power gets it back."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind
from niclab.run.run import Run


def power_cycle(run: Run, role: Role) -> None:
    """Cut the power of a server by its BMC, restore it, and wait until the server runs again.

    Args:
        run: The current run.
        role: The server.

    Raises:
        NotApplicable: It has no BMC.
        BenchFault: The BMC does not answer, or the server does not come back in its time.
    """
    target = run.server(role)
    _ = target.bmc  # without one nothing is to be undone
    undo = Action(ActionKind.POWER, target.name, "on")
    entry = run.journal.register(target.name, "power is cut for a cycle", undo)
    target.power_cycle()
    run.journal.done(entry)
