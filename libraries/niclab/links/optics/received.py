"""The power that a module receives: it falls when the light goes, and returns with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from niclab.bench.records import BenchPath, Port, Role, Wiring
from niclab.core.verdict import BenchFault, Collected, NotApplicable, fail_with
from niclab.core.wait import persistent_problems
from niclab.hosts.errors import ModuleUnread
from niclab.links import wiring
from niclab.links.failure import Cause, ends_without_link, lose
from niclab.links.optics.cage_checks import SETTLES_WITHIN_S, end_of_modules, read_module, require_cages
from niclab.run.run import Run

FALLS_TO = 0.25
"""A quarter of the power before, 6 dB less: a reading may be 3 dB wrong (SFF-8472)."""
LIT_MW = 0.02
"""-17 dBm: with less light a reading is too near to that of a dark fibre to fall."""
WITHIN_S = SETTLES_WITHIN_S
_EVERY_S = 0.2

_Powers = Mapping[str, float]
"""Reading -> power in mW."""


def require_following(run: Run, say: Callable[[str], object]) -> None:
    """Take the light away from each port of the dut, one after the other, and give it back.

    The cable is pulled where a command does that. Elsewhere the port at the far end is taken down, and its module must
    show that its laser is off: some drivers leave it on.

    Args:
        run: The qualification run.
        say: Takes what was read.

    Raises:
        CardFailure: Naming the ports of the dut whose received power did not fall or return, or is not read any more.
        BenchFault: The light does not go, or the link does not return.
        Undecided: The driver shows some modules of the dut and not another one, or one is of a kind that is not read.
        NotApplicable: Nothing shows the received power of any port, or takes the light away; why, for each.
    """
    require_cages(run.card)
    judged, without = Collected(), list[NotApplicable]()
    for path in run.bench.paths:
        port = run.bench.end(path, Role.DUT)
        with judged.one():
            try:
                lit = _lit(port, partial(_received, run, port))
            except NotApplicable as error:
                without.append(error)
                continue
            try:
                _follow(run, path, lit, say)
            except NotApplicable as error:  # whatever the far end or the bench does not offer
                without.append(NotApplicable(str(error)))
    judged.end()
    end_of_modules(run, without, say)


def _follow(run: Run, path: BenchPath, lit: _Powers, say: Callable[[str], object]) -> None:
    port, far = run.bench.end(path, Role.DUT), run.bench.end(path, Role.PEER)
    if not path.pull and path.through is Wiring.SWITCH:
        raise NotApplicable(f"{port.place}: no command of bench {run.bench.name} pulls its cable")
    sent = {} if path.pull else _lit(far, lambda: _sent(run, far))
    say(f"{port.name}: lit: {_shown(lit)}")
    entry, judged = lose(run, path, Cause.CABLE if path.pull else Cause.PARTNER_LINK), Collected()
    with judged.one():
        try:
            with judged.one():
                _require_dark(run, path, sent)
                stays, shown = _still(lambda: _received(run, port), lambda now: _above(now, lit))
                say(f"{port.name}: dark: {shown}")
                when = f"{WITHIN_S:g} s after its light has gone"
                fail_with([f"{port.place} reads {line} {when}; {_expected(lit)}" for line in stays])
        finally:
            wiring.mend_path(run, entry)
            _require_link(run, path)
        lost, shown = _still(lambda: _received(run, port), lambda now: _below(now, lit))
        say(f"{port.name}: lit again: {shown}")
        when = f"{WITHIN_S:g} s after its link has returned"
        fail_with([f"{port.place} reads {line} {when}; {_expected(lit, up=True)}" for line in lost])
    judged.end()


def _require_dark(run: Run, path: BenchPath, sent: _Powers) -> None:
    """See that the light is gone: by the carrier of an end whose cable is pulled, else by the laser of the far end."""
    if path.pull:
        ends = [port for port in _ends(run, path) if port.name in ends_without_link(path, Cause.CABLE)]
        if run.await_carrier(ends, up=False, within_s=wiring.LOSS_WITHIN_S) == ends:
            raise BenchFault(
                f"path {path.name}: its cable is pulled, and {' and '.join(end.name for end in ends)} have carrier; "
                f"expected none; check pull of the bench file {run.bench.file}"
            )
        return
    far = run.bench.end(path, Role.PEER)
    try:
        stays = _unless(lambda: _above(_sent(run, far), sent))
    except ModuleUnread as error:
        raise NotApplicable(
            f"{far.place}: nobody knows whether its light is off while its port is down: {error}"
        ) from error
    if stays:
        raise NotApplicable(f"{far.place} sends light while its port is down: {', '.join(stays)}")


def _require_link(run: Run, path: BenchPath) -> None:
    if late := run.await_carrier(_ends(run, path), up=True, within_s=wiring.RETURN_WITHIN_S):
        names = " and ".join(port.name for port in late)
        within = f"{wiring.RETURN_WITHIN_S:g} s"
        raise BenchFault(f"path {path.name}: {names} without carrier {within} after the light is back; expected a link")


def _ends(run: Run, path: BenchPath) -> list[Port]:
    return [run.bench.port(end) for end in path.ends]


def _received(run: Run, port: Port) -> _Powers:
    memory = run.server_of(port).host.links.module_memory(run.interface(port))
    return {each.what: each.value for each in read_module(port.place, memory).received}


def _sent(run: Run, port: Port) -> _Powers:
    memory = run.server_of(port).host.links.module_memory(run.interface(port))
    return {each.what: each.value for each in read_module(port.place, memory).sent}


def _lit(port: Port, look: Callable[[], _Powers]) -> _Powers:
    """Return the readings that show light; where none does, the link may have come up just now.

    Raises:
        NotApplicable: None does, or the module is not read.
    """
    powers: _Powers = {}

    def dark() -> list[str]:
        nonlocal powers
        powers = look()
        return [] if not powers or max(powers.values()) > LIT_MW else ["no light"]

    try:
        _unless(dark)
    except ModuleUnread as error:
        raise NotApplicable(str(error)) from error
    lit = {what: power for what, power in powers.items() if power > LIT_MW}
    if not lit:
        raise NotApplicable(f"{port.place}: its module shows no light above {LIT_MW:g} mW: {_shown(powers)}")
    return lit


def _still(look: Callable[[], _Powers], problems: Callable[[_Powers], list[str]]) -> tuple[list[str], str]:
    """Return the problems that stay of a module that was read before, and its last readings."""
    shown = ""

    def found() -> list[str]:
        nonlocal shown
        try:
            powers = look()
        except (NotApplicable, ModuleUnread) as error:
            shown = f"no module ({error})"
            return [shown]
        shown = _shown(powers)
        return problems(powers)

    return _unless(found), shown


def _above(now: _Powers, before: _Powers) -> list[str]:
    return [
        f"{what} {now.get(what, 0):.4f} mW" for what, power in before.items() if now.get(what, 0) > FALLS_TO * power
    ]


def _below(now: _Powers, before: _Powers) -> list[str]:
    return [
        f"{what} {now.get(what, 0):.4f} mW" for what, power in before.items() if now.get(what, 0) <= FALLS_TO * power
    ]


def _unless(look: Callable[[], list[str]]) -> list[str]:
    return persistent_problems(look, within=WITHIN_S, every=_EVERY_S)


def _expected(lit: _Powers, *, up: bool = False) -> str:
    least = ", ".join(f"{FALLS_TO * power:.4f} mW" for power in lit.values())
    return f"expected {'more than' if up else 'at most'} {least}, {FALLS_TO:g} of that before"


def _shown(powers: _Powers) -> str:
    return ", ".join(f"{what} {power:.4f} mW" for what, power in powers.items()) or "none"
