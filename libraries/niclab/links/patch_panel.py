"""Laying the cables of the card to the switch and back where paths lie directly: what a patch panel does."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.bench.records import Wiring
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import NotApplicable
from niclab.links import wiring
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run


def connect(run: Run) -> list[str]:
    """Lay every path through the switch, and prove it.

    Where the bench file has them so, nothing is done: they were proven when the bench was taken.

    Args:
        run: The qualification run.

    Returns:
        One line of proof per path; empty when nothing was done.

    Raises:
        NotApplicable: The bench has no switch, or cannot connect its paths to it.
        BenchFault: The cables do not lead where the bench file says; they are laid back.
    """
    bench = run.bench
    direct = [path.name for path in bench.paths if path.through is not Wiring.SWITCH]
    if bench.switch is None:
        raise NotApplicable(f"bench {bench.name} has no managed switch")
    if not direct:
        return []
    connected = bench.connected()
    left = [path.name for path in connected.paths if path.through is not Wiring.SWITCH]
    if bench.switch.connect is None or bench.switch.disconnect is None or left:
        names = ", ".join(left or direct)
        raise NotApplicable(f"bench {bench.name}: nothing connects path {names} to {bench.switch.name}")
    try:
        _lay(run, bench.switch.name, bench.switch.connect, bench.switch.disconnect)
        run.bench = connected
        run.part(PreparedPorts).prepare()
        return wiring.prove(run)
    except BaseException:
        _lay_back(run)
        raise


@contextmanager
def laid_to_switch(run: Run) -> Iterator[None]:
    """Lay the cables to the switch inside the ``with`` block, and back: for what needs no proof of where they lie.

    The run goes on to take its paths as the bench file has them.

    Args:
        run: The qualification run.

    Raises:
        NotApplicable: The bench has no switch, or cannot connect its paths to it.
        BenchFault: The cables cannot be laid, or not laid back.
    """
    switch = run.bench.switch
    if switch is None or switch.connect is None or switch.disconnect is None:
        raise NotApplicable(f"bench {run.bench.name}: no command lays its cables to a switch")
    try:
        _lay(run, switch.name, switch.connect, switch.disconnect)
        yield
    finally:
        if (entry := _pending(run)) is not None:
            run.journal.undo(entry, run.undo)


def _lay(run: Run, name: str, connect: str, disconnect: str) -> None:
    undo = Action(ActionKind.LOCAL, "controller", disconnect)
    run.journal.register("bench", f"the cables are laid to {name}", undo)
    run.controller.check(connect)


def disconnect(run: Run) -> list[str]:
    """Lay the cables as the bench file has them, and prove it; do nothing where :func:`connect` has done nothing.

    Args:
        run: The qualification run.

    Returns:
        One line of proof per path; empty when nothing was done.

    Raises:
        BenchFault: The cables do not lead where the bench file says.
    """
    return wiring.prove(run) if _lay_back(run) else []


def _lay_back(run: Run) -> bool:
    entry = _pending(run)
    if entry is None:
        return False
    run.journal.undo(entry, run.undo)
    run.bench = run.described
    return True


def _pending(run: Run) -> Entry | None:
    back = run.bench.switch and run.bench.switch.disconnect
    actions = (entry for entry in run.journal.pending() if entry.action.kind is ActionKind.LOCAL)
    return next((entry for entry in actions if entry.action.command == back), None)
