"""Ways from one port of the peer to another, past the card: through the switch of the bench."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.frames.blame.frame_findings import Culprit
from niclab.links import patch_panel, switch_ports
from niclab.run.run import Run

RETURN_WITHIN_S = 30.0
"""Assumption: autonegotiation takes a few seconds, also after a cable was laid elsewhere."""


@dataclass(frozen=True)
class TriedPort:
    """The outcome of the trial of a port. ``CARD``: the port is sound; ``TOOL``: nobody knows."""

    culprit: Culprit
    said: str


def outcomes(
    run: Run, suspects: Collection[Port], vlans: frozenset[int], try_one: Callable[[Port, Port], TriedPort]
) -> dict[Port, TriedPort]:
    """Try ports of the peer past the card, each with another one.

    Args:
        run: The current run.
        suspects: The ports that are suspected.
        vlans: VLAN ids of tagged frames that must pass.
        try_one: Tries the first port with the help of the second.

    Returns:
        The outcome for each.

    Raises:
        BenchFault: The bench could not be put back as it was.
    """
    helped = partners(run, suspects)
    found = {port: TriedPort(Culprit.TOOL, obstacle(run, port)) for port in suspects if port not in helped}
    if not helped:
        return found
    with ExitStack() as undoing:
        try:
            undoing.enter_context(joined(run, list(dict.fromkeys([*helped, *helped.values()])), vlans))
            for port, other in helped.items():
                found[port] = try_one(port, other)
        except (BenchFault, NotApplicable) as error:
            found |= {port: TriedPort(Culprit.TOOL, str(error)) for port in helped if port not in found}
    return found


def partners(run: Run, suspects: Collection[Port]) -> Mapping[Port, Port]:
    """Return the ports of the peer that another one can reach past the card, each with one: an unsuspected one if any.

    Args:
        run: The current run.
        suspects: The ports that are suspected.
    """
    reached = [port for port in _ends(run) if not obstacle(run, port)]
    found = dict[Port, Port]()
    for port in suspects:
        others = sorted((each for each in reached if each != port), key=lambda each: each in suspects)
        if port in reached and others:
            found[port] = others[0]
    return found


def obstacle(run: Run, port: Port) -> str:
    """Say why no other port of the peer reaches a port past the card; empty where one can.

    Args:
        run: The current run.
        port: A port of the peer.
    """
    bench = run.bench
    if bench.switch is None:
        return f"bench {bench.name} has no switch that joins it with another port of the peer"
    joined = [each.name for each in _ends(run) if each.name in bench.switch.ports]
    if port.name not in joined:
        return f"{port.name} is not on {bench.switch.name}"
    if len(joined) < 2:
        return f"no other port of the peer is on {bench.switch.name}"
    if _is_direct(run, port) and bench.switch.connect is None:
        return f"nothing lays the cable of {port.name} to {bench.switch.name}"
    return ""


@contextmanager
def joined(run: Run, ports: Sequence[Port], vlans: frozenset[int]) -> Iterator[None]:
    """Join ports of the peer through the switch inside the ``with`` block.

    Args:
        run: The current run.
        ports: The ports, for which there is no :func:`obstacle`.
        vlans: VLAN ids of tagged frames that must pass.

    Raises:
        BenchFault: A cable, or the switch, does not do what it is asked for, or a port gets no carrier.
        NotApplicable: The switch cannot be set so.
    """
    ends = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
    with ExitStack() as undoing:
        if any(_is_direct(run, port) for port in ports):
            undoing.callback(lambda: run.await_carrier(ends, up=True, within_s=RETURN_WITHIN_S))
            undoing.enter_context(patch_panel.laid_to_switch(run))
        undoing.enter_context(_same_vlans(run, ports, vlans))
        if late := run.await_carrier(ports, up=True, within_s=RETURN_WITHIN_S):
            names = ", ".join(port.place for port in late)
            raise BenchFault(f"{names}: no carrier within {RETURN_WITHIN_S:g} s at {run.switch.name}; expected one")
        yield


@contextmanager
def _same_vlans(run: Run, ports: Sequence[Port], vlans: frozenset[int]) -> Iterator[None]:
    """Let the switch take all ports as one network, with tags of these VLANs."""
    before = {entry.id for entry in run.journal.pending()}
    try:
        now = {port: run.switch.vlans.of(switch_ports.switch_port(run, port)) for port in ports}
        native = now[ports[0]].pvid
        for port, of_port in now.items():
            if of_port.pvid != native or not vlans <= of_port.tagged | {native}:
                switch_ports.set_vlans(run, port, switch_ports.trunk(vlans, native))
        yield
    finally:
        run.journal.undo_all(run.undo, leaving=before).raise_if_failed()


def _ends(run: Run) -> list[Port]:
    return [run.bench.end(path, Role.PEER) for path in run.bench.paths]


def _is_direct(run: Run, port: Port) -> bool:
    return run.bench.path_of(port).through is Wiring.DIRECT
