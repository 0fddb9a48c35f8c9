"""TCP that the card does itself (TOE), at one port of the dut: switched on for a while, and put back.

Its module is loaded first where it is not, and unloaded at the end; each step is in the undo journal before it is made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import Port, Role
from niclab.card import OffloadName, Placement, TcpOffloadFacts
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.settings.offloads.unsafe import switch_offload

UNLOADED_WITHIN_S = 30
"""A module is busy until the last connection of the card is gone, which the other end may close a little later."""


class Mode(Enum):
    """The way the card receives: ``nic`` leaves TCP to the system, ``toe`` does it, ``toe-ddp`` places the data."""

    NIC = "nic"
    TOE = "toe"
    TOE_DDP = "toe-ddp"


@dataclass(frozen=True)
class TcpEngine:
    """A port of the dut whose card may do TCP, and what the sheet says of it."""

    run: Run
    port: Port
    facts: TcpOffloadFacts

    @property
    def iface(self) -> str:
        """Name of the port's interface."""
        return self.run.interface(self.port)


def engine_of(run: Run, port: Port, mode: Mode, read_bytes: int) -> TcpEngine:
    """Return the port as one whose card does TCP.

    Args:
        run: The current run.
        port: A port of the dut.
        mode: The mode that is wanted; not ``nic``.
        read_bytes: Bytes that programs ask for in one read.

    Raises:
        NotApplicable: The sheet knows no such mode of the system's driver, or not on this release.
        SheetSilent: The sheet names no driver for the system.
    """
    if mode is Mode.TOE_DDP:
        placement_of(run, read_bytes)
    return TcpEngine(run, port, _facts(run, mode))


def placement_of(run: Run, read_bytes: int) -> Placement:
    """Return the sheet's facts of direct placement.

    Args:
        run: The current run.
        read_bytes: Bytes that programs ask for in one read.

    Raises:
        NotApplicable: The system's driver has none, or not on this release.
        SheetSilent: The sheet names no driver for the system.
        BenchFault: The dut's release cannot be read.
    """
    placement, kernel = _facts(run, Mode.TOE_DDP).placement, run.server(Role.DUT).host.system.kernel()
    if placement is None:
        raise NotApplicable(f"mode {Mode.TOE_DDP.value}: sheet {run.card.name} names no direct placement")
    release, last = re.match(r"[0-9]+", kernel), placement.before_release
    if release is None:
        raise BenchFault(f"dut: release {kernel!r}; expected a number at its beginning")
    if last is not None and int(release[0]) >= last:
        raise NotApplicable(
            f"mode {Mode.TOE_DDP.value}: what programs read in pieces of {read_bytes} bytes is placed directly before "
            f"release {last} alone, the dut runs {kernel} ({placement.source})"
        )
    return placement


def _facts(run: Run, mode: Mode) -> TcpOffloadFacts:
    system, card = run.server(Role.DUT).description.os, run.card
    facts = card.driver(system).tcp_offload
    if facts is None:
        driver = card.driver(system).module
        raise NotApplicable(f"mode {mode.value}: sheet {card.name} names no TCP offload of {driver} on {system.value}")
    return facts


@contextmanager
def switched_on(engine: TcpEngine, mode: Mode, read_bytes: int) -> Iterator[None]:
    """Let the card do TCP for the ``with`` block. What listened before is not the card's.

    Args:
        engine: The port.
        mode: ``toe`` or ``toe-ddp``.
        read_bytes: Bytes that programs ask for in one read.

    Raises:
        CardFailure: The driver refuses it although its module is there, or does not show it on.
        BenchFault: The module is missing, what the card needs is not reserved, a policy of the server chooses the
            connections, or something could not be put back.
    """
    with ExitStack() as undoing:
        undoing.enter_context(_module(engine))
        _want_reserved(engine)
        undoing.enter_context(_offload(engine))
        undoing.enter_context(_placing(engine, mode, read_bytes))
        yield


def require_off(run: Run, port: Port) -> None:
    """Check that the system does TCP itself, as in mode ``nic``: what the server has set is not the lab's to change.

    Args:
        run: The current run.
        port: A port of the dut.

    Raises:
        BenchFault: The server lets the card do it.
    """
    server, card = run.server_of(port), run.card
    system = server.description.os
    row = None if card.offloads is None else card.offloads.rows(system).get(OffloadName.TOE)
    if row is None:
        return
    feature = server.host.settings.features(run.interface(port)).features.get(row.shown_as)
    if feature is not None and feature.on:
        raise BenchFault(f"{port.place}: TCP offload is on ({row.shown_as}); expected off in mode {Mode.NIC.value}")


@contextmanager
def _module(engine: TcpEngine) -> Iterator[None]:
    """Load the module. One that is loaded, or in the kernel, stays."""
    server, module = engine.run.server_of(engine.port), engine.facts.module
    drivers, undo = server.host.drivers, server.host.undo
    if drivers.loaded_module(module) is not None or drivers.modinfo(module).built_in:
        yield
        return
    tries = f"n=0; until {{ {undo.unload_driver(module)}; }}; do n=$((n + 1)); test $n -lt {UNLOADED_WITHIN_S}"
    unload = f"{tries} || exit 1; sleep 1; done"
    with put_back(engine.run, server, server.name, f"module {module} loaded", unload):
        told = server.ssh.run(undo.load_driver(module))
        if drivers.loaded_module(module) is None:
            raise BenchFault(f"{server.name}: module {module} is not loaded: {told.stderr.strip()[-200:]}")
        yield


def _want_reserved(engine: TcpEngine) -> None:
    asked, name = engine.run.server_of(engine.port).host.engine, engine.port.place
    if not asked.is_reserved(engine.iface):
        raise BenchFault(f"{name}: the driver has reserved nothing for TCP offload: by its configuration, or a tunable")
    if asked.is_by_policy(engine.iface):
        raise BenchFault(f"{name}: a policy of the server chooses the connections that the card gets; expected none")


@contextmanager
def _offload(engine: TcpEngine) -> Iterator[None]:
    run, server = engine.run, engine.run.server_of(engine.port)
    row = run.card.section(run.card.offloads, "offloads").rows(server.description.os)[OffloadName.TOE]
    label, word = row.shown_as, row.set_with
    if word is None:
        raise NotApplicable(f"sheet {run.card.name} has no word that switches offload toe on")
    restoring = server.host.undo.features(engine.iface, {label: word})
    with put_back(run, server, engine.port.name, f"{engine.iface}: TCP offload on", restoring, engine.iface):
        attempt = switch_offload(run, engine.port, OffloadName.TOE, word, True)
        if not attempt.now[label].on:
            why = f"refused: {attempt.refused}" if attempt.refused else f"taken, and {label} is shown as off"
            raise CardFailure(f"{engine.port.place}: `{word}` with module {engine.facts.module} loaded: {why}")
        yield


@contextmanager
def _placing(engine: TcpEngine, mode: Mode, read_bytes: int) -> Iterator[None]:
    """Place data directly or not, as the mode says: the server may have it on, too."""
    run, server, iface = engine.run, engine.run.server_of(engine.port), engine.iface
    asked, on = server.host.engine, mode is Mode.TOE_DDP
    if not on and (engine.facts.placement is None or not asked.placing(iface).on):
        yield
        return
    word = "on" if on else "off"
    with put_back(run, server, engine.port.name, f"{iface}: placement {word}", asked.restoring_placing(iface), iface):
        attempt = asked.set_placing(iface, on)
        if attempt.now.on is not on:
            shown = "on" if attempt.now.on else "off"
            why = f"refused: {attempt.refused}" if attempt.refused else f"taken, and shown as {shown}"
            raise CardFailure(f"{engine.port.place}: direct placement {word}: {why}")
        least = attempt.now.least_bytes
        if on and least is not None and least > read_bytes:
            raise BenchFault(
                f"{engine.port.place}: reads of fewer than {least} bytes have nothing placed; expected at most "
                f"{read_bytes}: the server's own setting"
            )
        yield
