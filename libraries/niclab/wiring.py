"""Proof that the cables lie as the bench file says, before anything is judged by them.

A path is broken at one place and both of its ends, and no other port, must lose carrier; mended, both must get it back.
A path with a ``pull`` command is broken by it; without one, by taking the dut's end down, which the peer must see.
"""

from __future__ import annotations

from niclab.bench import BenchPath, Port
from niclab.lab import Lab, checked_local_command
from niclab.undo import Action, ActionKind, Entry
from niclab.verdict import BenchFault
from niclab.wait import until

LOSS_WITHIN_S = 10.0
RETURN_WITHIN_S = 30.0
"""House rule: autonegotiation takes a few seconds; this proves wiring, not speed (the sheet's limits do)."""


def prove(lab: Lab) -> list[str]:
    """Prove every path of the bench; returns one line of proof per path.

    :raises BenchFault: naming the path, the ports that should have changed and those that did.
    """
    ports = [lab.bench.port(end) for path in lab.bench.paths for end in path.ends]
    _wait(lab, ports, up=True, within_s=RETURN_WITHIN_S, doing="before the wiring proof")
    return [_prove_path(lab, path, ports) for path in lab.bench.paths]


def _prove_path(lab: Lab, path: BenchPath, ports: list[Port]) -> str:
    ends = [lab.bench.port(end) for end in path.ends]
    entry = break_path(lab, path)
    try:
        watched = ends if path.pull else [end for end in ends if end.role.value == "peer"]
        _wait(lab, watched, up=False, within_s=LOSS_WITHIN_S, doing=f"path {path.name} broken")
        lost = lab.without_carrier([port for port in ports if port not in ends])
        if lost:
            names = ", ".join(port.name for port in lost)
            raise BenchFault(f"path {path.name} broken: {names} lost carrier too; the bench file says otherwise")
    finally:
        mend_path(lab, entry)
    _wait(lab, ends, up=True, within_s=RETURN_WITHIN_S, doing=f"path {path.name} mended")
    return f"path {path.name}: {' and '.join(path.ends)} lost and regained carrier together, no other port did"


def break_path(lab: Lab, path: BenchPath) -> Entry:
    """Break a path where the bench file says how, else at the dut's end; the undo is in the journal before that."""
    if path.pull and path.plug:
        entry = lab.journal.register(
            f"path {path.name}", "cable is pulled", Action(ActionKind.LOCAL, "controller", path.plug)
        )
        checked_local_command(path.pull)
        return entry
    port = next(port for port in map(lab.bench.port, path.ends) if port.role.value == "dut")
    server = lab.server_of(port)
    iface = server.interface(port)
    undo = Action(ActionKind.SHELL, server.name, server.host.restoring_link(iface, up=True))
    entry = lab.journal.register(port.name, f"{iface} is taken down", undo)
    server.host.set_link(iface, False)
    return entry


def mend_path(lab: Lab, entry: Entry) -> None:
    """Undo :func:`break_path`."""
    lab.journal.undo(entry, lab.undo)


def _wait(lab: Lab, ports: list[Port], *, up: bool, within_s: float, doing: str) -> None:
    """Wait until all ``ports`` have carrier, or none has."""

    def wrong() -> list[str]:
        down = lab.without_carrier(ports)
        return [port.name for port in ports if (port in down) is up]

    try:
        until(lambda: not wrong(), within=within_s, what=doing, every=0.1)
    except BenchFault as error:
        state = "no carrier" if up else "still carrier"
        raise BenchFault(
            f"{doing}: {state} at {', '.join(wrong()) or 'ports that changed late'} after {within_s:g} s; "
            f"check the cables against the bench file {lab.bench.file}"
        ) from error
