"""Changing the switch of a taken bench by the servers' ports. Each change is in the journal first, and is read back.

Each raises NotApplicable for a port that is cabled to no switch.
"""

from __future__ import annotations

from dataclasses import replace

from niclab.bench.records import Port
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run.run import Run
from niclab.switch.model import Settable
from niclab.switch.switch_records import COUNTERS, Admin, PortVlans
from niclab.switch.switch_undo import open_command, remove_vlan_command, vlans_command


def switch_port(run: Run, port: Port) -> str:
    """Return the switch's name of the port that a server's port is cabled to.

    Args:
        run: The qualification run.
        port: The server's port.

    Raises:
        NotApplicable: It is cabled to none.
    """
    entry = run.bench.switch
    if entry is None or port.name not in entry.ports:
        raise NotApplicable(f"bench {run.bench.name}: {port.name} is not on a managed switch")
    return entry.ports[port.name]


def shut(run: Run, port: Port) -> Entry:
    """Shut the switch's port of a server's port.

    Args:
        run: The qualification run.
        port: The server's port.

    Returns:
        The entry of the journal that opens it.

    Raises:
        NotApplicable: ``port`` is cabled to no switch, or the switch's ports cannot be set.
        BenchFault: It is shut already and this run has not done it, or the switch does not shut it.
    """
    theirs = switch_port(run, port)
    run.switch.model.require_settable(Settable.PORTS, run.switch.name)
    undo = Action(ActionKind.SWITCH, "switch", open_command(theirs))
    entry = _pending(run, undo)
    if entry is None:
        admin = run.switch.ports.state(theirs).admin
        if admin is not Admin.UP:
            found = f"{run.switch.name}: {theirs} ({port.name}) is {admin.name} already, and not by this run"
            raise BenchFault(f"{found}; expected an open port, so that shutting it proves something")
        entry = run.journal.register(port.name, f"{run.switch.name} port {theirs} is shut", undo)
    run.switch.ports.set_admin(theirs, Admin.DOWN)
    return entry


def open_port(run: Run, port: Port) -> None:
    """Open the switch's port of a server's port, also one that this run has not shut.

    Args:
        run: The qualification run.
        port: The server's port.

    Raises:
        BenchFault: The switch does not open it.
    """
    theirs = switch_port(run, port)
    entry = _pending(run, Action(ActionKind.SWITCH, "switch", open_command(theirs)))
    if entry is not None:
        run.journal.undo(entry, run.undo)
    else:
        run.switch.ports.set_admin(theirs, Admin.UP)


def open_all(run: Run) -> list[str]:
    """Open every port that this run has shut.

    Args:
        run: The qualification run.

    Returns:
        Names of the servers' ports, the last shut first.

    Raises:
        BenchFault: One cannot be opened; the others have been.
    """
    return _undo_each(run, "open ")


def count(run: Run, port: Port, counter: str) -> int:
    """Read a counter of the switch's port of ``port``.

    Args:
        run: The qualification run.
        port: The server's port.
        counter: Name of the counter.

    Returns:
        What it shows now.

    Raises:
        BenchFault: There is no such counter.
    """
    counters = run.switch.ports.counters(switch_port(run, port))
    known = [name for name in COUNTERS if getattr(counters, name) is not None]
    if counter not in known:
        raise BenchFault(f"{run.switch.name}: there is no counter {counter!r}; expected one of {', '.join(known)}")
    found: int = getattr(counters, counter)
    return found


def set_vlans(run: Run, port: Port, wanted: PortVlans) -> None:
    """Set the VLANs of the switch's port of a server's port; VLANs that are missing on the switch are made.

    However often it is changed, the undo is what it was at first. It is written down each time, so that every port has
    left a VLAN before that is removed.

    Args:
        run: The qualification run.
        port: The server's port.
        wanted: The VLANs.

    Raises:
        NotApplicable: ``port`` is cabled to no switch, or the switch's VLANs cannot be set.
        BenchFault: The switch does not set them.
    """
    theirs, switch = switch_port(run, port), run.switch
    switch.model.require_settable(Settable.VLANS, switch.name)
    before = vlans_command(theirs, switch.vlans.of(theirs))
    earlier = [entry.action.command for entry in _of_switch(run)]
    first = next((command for command in earlier if command.startswith(_vlans_of(theirs))), before)
    _create_missing(run, wanted)
    undo = Action(ActionKind.SWITCH, "switch", first)
    run.journal.register(port.name, f"VLANs of {switch.name} port {theirs} are changed", undo)
    switch.vlans.set(theirs, wanted)


def restore_vlans(run: Run) -> list[str]:
    """Put the VLANs of every port back, and remove those that this run made.

    Args:
        run: The qualification run.

    Returns:
        Names of the servers' ports.

    Raises:
        BenchFault: One cannot be put back; the others have been.
    """
    ports = _undo_each(run, "vlans ")
    _undo_each(run, "remove-vlan ")
    return list(dict.fromkeys(ports))


def access(vlan: int) -> PortVlans:
    """Return the VLANs of a port that is in one VLAN (its id) only, its frames without a tag."""
    return PortVlans(vlan, frozenset({vlan}), frozenset())


def trunk(tagged: frozenset[int], native: int) -> PortVlans:
    """Return the VLANs of a port whose frames carry a tag (``tagged``: VLAN ids), but for those of ``native``."""
    return replace(access(native), tagged=tagged - {native})


def _create_missing(run: Run, wanted: PortVlans) -> None:
    needed = wanted.untagged | wanted.tagged | {wanted.pvid}
    try:
        missing = sorted(needed - run.switch.vlans.existing())
    except NotApplicable:  # the model has no table of VLANs: it takes any number, or refuses it when it is set
        return
    for vlan in missing:
        undo = Action(ActionKind.SWITCH, "switch", remove_vlan_command(vlan))
        run.journal.register("switch", f"VLAN {vlan} is made on {run.switch.name}", undo)
        run.switch.vlans.create(vlan)


def _undo_each(run: Run, command: str) -> list[str]:
    """Undo what is pending of one command."""
    entries = [entry for entry in _of_switch(run) if entry.action.command.startswith(command)]
    problems: list[str] = []
    for entry in entries:
        try:
            run.journal.undo(entry, run.undo)
        except BenchFault as error:
            problems.append(str(error))
    if problems:
        raise BenchFault("\n".join(problems))
    return [entry.subject for entry in entries]


def _of_switch(run: Run) -> list[Entry]:
    return [entry for entry in run.journal.pending() if entry.action.kind is ActionKind.SWITCH]


def _pending(run: Run, undo: Action) -> Entry | None:
    return next((entry for entry in _of_switch(run) if entry.action == undo), None)


def _vlans_of(port: str) -> str:
    """Return the beginning of the command that restores the VLANs of ``port``."""
    return vlans_command(port, access(1)).removesuffix(str(access(1)))
