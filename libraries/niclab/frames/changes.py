"""Settings changed while traffic flows, in an order drawn from a seed that the log names."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

from niclab.bench.records import Role
from niclab.card import At, Changeable, Setting, SettingKind, Unknown
from niclab.core.profile import Profile
from niclab.core.verdict import NotApplicable, fail_with
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.ledger import Ledger
from niclab.frames.spec import Arrives
from niclab.run.run import Run
from niclab.settings.offload_table import rows
from niclab.traffic.arms import Way, applied

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
    bench = FrameBench(run)
    ports = [run.bench.port(end) for end in path.ends]

    def change() -> None:
        for setting in order:
            with applied(run, Way(path, Role.DUT), (setting,)):
                say(f"{setting} is set")

    name = f"frames while settings change, seed {chosen}"
    flowing = [replace(bench.frames(name, port, 0, SIZES), per_s=PER_S, at_port=Arrives.SOME) for port in ports]
    ledger, _ = exchange(run, flowing, say, meanwhile=change)
    _require_returns(run, ledger, chosen)
    exchange(run, [bench.frames(f"frames after seed {chosen}", port, FRAMES, SIZES) for port in ports], say)


def _require_returns(run: Run, ledger: Ledger, seed: int) -> None:
    """A change may restart the port: frames must be back as fast as a link must be."""
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
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
            if parameter.settable and isinstance(parameter.max, int):
                found += [_setting(SettingKind.COALESCING, parameter.name, parameter.max // 2)]
    if card.pause and card.pause.settable:
        found += [_setting(SettingKind.PAUSE, name, False) for name in ("rx", "tx")]
    if card.offloads:
        switched = [row.name.value for row in rows(run).values() if row.change is Changeable.BOTH]
        found += [_setting(SettingKind.OFFLOAD, name, False) for name in switched]
    return found


def _setting(kind: SettingKind, name: str, to: int | bool) -> Setting:
    return Setting(kind=kind, name=name, to=to, at=At.SENDER)
