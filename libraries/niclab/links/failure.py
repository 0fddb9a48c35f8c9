"""The ways in which a link fails in the field, each with its undo in the journal first."""

from __future__ import annotations

from enum import Enum

from niclab.bench.records import BenchPath, Port, Role, Wiring
from niclab.core.exposure import Exposure
from niclab.core.undo import Entry
from niclab.core.verdict import NotApplicable
from niclab.links import switch_ports, wiring
from niclab.run.run import Run


class Cause(Enum):
    """The cause of a link failure. :func:`ends_without_link` says which ends of the path see it."""

    CABLE = "cable"
    """Its cable is pulled; of a path through the switch, that of the dut."""
    CABLE_OR_LINK = "cable-or-link"
    """``CABLE`` where a command of the bench pulls the cable of the path, else ``OWN_LINK``."""
    SWITCH_PORT = "switch-port"
    """The switch's port of the dut is shut over SNMP."""
    PARTNER_SWITCH_PORT = "partner-switch-port"
    """The switch's port of the peer is shut over SNMP."""
    OWN_LINK = "own-link"
    """The dut's interface is taken down."""
    PARTNER_LINK = "partner-link"
    """The peer's interface is taken down."""
    DRIVER_UNLOAD = "driver-unload"
    """The driver is taken from the PCI function of the dut's port."""

    @property
    def loser(self) -> Role:
        """The server that surely sees it."""
        return Role.PEER if self in (Cause.PARTNER_SWITCH_PORT, Cause.PARTNER_LINK) else Role.DUT


def chosen(path: BenchPath, cause: Cause) -> Cause:
    """Return the way in which the link of a path fails where the bench file has the choice.

    Args:
        path: The path.
        cause: The way that is asked for.
    """
    if cause is Cause.CABLE_OR_LINK:
        return Cause.CABLE if path.pull else Cause.OWN_LINK
    return cause


def lose(run: Run, path: BenchPath, cause: Cause) -> Entry:
    """Let the link of a path fail.

    Args:
        run: The qualification run.
        path: The path.
        cause: The way in which its link fails.

    Returns:
        The entry of the journal that restores it, for :func:`niclab.links.wiring.mend_path`.

    Raises:
        NotApplicable: The bench cannot do that to this path.
        BenchFault: The link cannot be made to fail. What was done of it is undone.
    """
    port = run.bench.end(path, cause.loser)
    before = {entry.id for entry in run.journal.pending()}
    try:
        entry = _lose(run, path, port, cause)
    except BaseException:
        run.journal.undo_all(run.undo, leaving=before)  # what cannot be stays in the journal
        raise
    run.notes.exposed(Exposure.LINK_FAILURES, 1)
    return entry


def _lose(run: Run, path: BenchPath, port: Port, cause: Cause) -> Entry:
    match chosen(path, cause):
        case Cause.CABLE:
            if not path.pull:
                raise NotApplicable(f"bench {run.bench.name} has no command to pull the cable of path {path.name}")
            return wiring.break_path(run, path)
        case Cause.SWITCH_PORT | Cause.PARTNER_SWITCH_PORT:
            return switch_ports.shut(run, port)
        case Cause.OWN_LINK | Cause.PARTNER_LINK:
            return wiring.take_down(run, port)
        case _:
            return wiring.take_driver(run, port)


def ends_without_link(path: BenchPath, cause: Cause) -> frozenset[str]:
    """Name the ports that lose their link: both ends of a direct path, one end of a path through a switch.

    Args:
        path: The path.
        cause: The way in which its link fails.

    Returns:
        Names of the ports.
    """
    if path.through is Wiring.DIRECT:
        return frozenset(path.ends)
    return frozenset(end for end in path.ends if end.startswith(f"{cause.loser.value}."))
