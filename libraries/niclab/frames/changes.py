"""Settings changed while traffic flows, in an order drawn from a seed that the log names."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from niclab.bench.records import Port, Role
from niclab.card import At, Changeable, Setting, SettingKind, Unknown
from niclab.core.parallel import side_by_side
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, blame, fail_with
from niclab.core.wait import pause
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.ledger import Ledger
from niclab.frames.spec import Arrives
from niclab.run.run import Run
from niclab.settings.offload_table import rows
from niclab.traffic.arms import Way, applied

FLOWS_AGAIN_S = 1.0
"""Frames flow for so long after the last change: one of them ends the gap that it made."""
CHANGES: Mapping[Profile, int] = {Profile.QUICK: 4, Profile.FULL: 40}
FRAMES, SIZES, PER_S = 199, (60, 1514, 333), 100.0


def under_traffic(run: Run, profile: Profile, say: Say, seed: int | None = None) -> None:
    """Change settings of the dut's first port while frames flow both ways, each for a moment, and put each back.

    Args:
        run: The current run.
        profile: How many changes are made.
        say: Takes the seed, and each change.
        seed: The order of the changes follows from it; None: another one each time.

    Raises:
        CardFailure: A setting is not taken, frames stay away for longer than the sheet allows a link to return, or are
            lost or damaged afterwards.
        BenchFault: A setting could not be put back.
        NotApplicable: The sheet names no setting that can be changed, or a server cannot send frames of its own.
    """
    chosen = random.randrange(1 << 32) if seed is None else seed
    drawn, path, settings = random.Random(chosen), run.bench.paths[0], candidates(run)
    if not settings:
        raise NotApplicable(f"sheet {run.card.name} names no ring, coalescing, pause or offload that can be changed")
    say(f"seed {chosen}, {len(settings)} settings")
    rounds = CHANGES[profile] // len(settings) + 1
    order = [setting for _ in range(rounds) for setting in drawn.sample(settings, len(settings))][: CHANGES[profile]]
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    bench = FrameBench(run)
    ports = [run.bench.port(end) for end in path.ends]

    def change() -> None:
        for setting in order:
            with applied(run, Way(path, Role.DUT), (setting,)):
                say(f"{setting} is set")
        _await_links(run, ports, limit_ms, chosen)
        pause(FLOWS_AGAIN_S)

    name = f"frames while settings change, seed {chosen}"
    flowing = [replace(bench.frames(name, port, 0, SIZES), per_s=PER_S, at_port=Arrives.SOME) for port in ports]
    ledger, _ = exchange(run, flowing, say, meanwhile=change)
    _require_returns(run, ledger, limit_ms, chosen)
    exchange(run, [bench.frames(f"frames after seed {chosen}", port, FRAMES, SIZES) for port in ports], say)


def _await_links(run: Run, ports: Sequence[Port], limit_ms: int, seed: int) -> None:
    """The last change may have restarted the port as well: it has the time that a link has."""

    def returns(port: Port) -> bool:
        return run.server_of(port).host.links.await_carrier(run.interface(port), True, limit_ms / 1000)

    text = (
        f"has no carrier {limit_ms} ms after settings changed (seed {seed}); sheet {run.card.name} wants a link by then"
    )
    came = side_by_side(returns, ports)
    blame([port.trouble(text) for port, returned in zip(ports, came, strict=True) if not returned])


def _require_returns(run: Run, ledger: Ledger, limit_ms: int, seed: int) -> None:
    """A change may restart the port: frames must be back as fast as a link must be."""
    problems = []
    for leg in ledger.legs:
        for came in leg.arrived.values():
            if came.gap_s * 1000 > limit_ms:
                said = f"{leg.name}: no frame for {came.gap_s * 1000:.0f} ms while settings changed (seed {seed})"
                problems.append(f"{said}; sheet {run.card.name} allows {limit_ms} ms for a link to return")
    fail_with(problems)


def candidates(run: Run) -> list[Setting]:
    """The settings of the dut that the sheet says can be changed, each to another value than delivered.

    Args:
        run: The current run.
    """
    card, system = run.card, run.server(Role.DUT).description.os
    found = list[Setting]()
    if card.rings and card.rings.settable and card.of_driver("rings", system):
        for name, ring in (("rx", card.rings.rx), ("tx", card.rings.tx)):
            if not isinstance(ring.max, Unknown):
                found += [_setting(SettingKind.RING, name, size) for size in (ring.max // 2, ring.max)]
    if card.coalescing and card.of_driver("coalescing", system):
        for parameter in card.coalescing.parameters:
            if parameter.settable is True and isinstance(parameter.max, int):
                found += [_setting(SettingKind.COALESCING, parameter.name, parameter.max // 2)]
    if card.pause and card.pause.settable:
        found += [_setting(SettingKind.PAUSE, name, False) for name in ("rx", "tx")]
    if card.offloads:
        switched = [row.name.value for row in rows(run).values() if row.change is Changeable.BOTH]
        found += [_setting(SettingKind.OFFLOAD, name, False) for name in switched]
    return found


def _setting(kind: SettingKind, name: str, to: int | bool) -> Setting:
    return Setting(kind=kind, name=name, to=to, at=At.SENDER)
