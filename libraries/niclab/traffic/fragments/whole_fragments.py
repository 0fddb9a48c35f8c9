"""Datagrams that are cut into fragments arrive whole, in both directions, with checksum offload on."""

from __future__ import annotations

from collections.abc import Callable

from niclab.bench.records import BenchPath, Role
from niclab.card import At, OffloadName, Setting
from niclab.core.verdict import CardFailure, Collected, Undecided
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import StandstillWatch
from niclab.traffic.effects.effect import can_switch, switched
from niclab.traffic.effects.variants import Way, applied
from niclab.traffic.fragments import datagrams
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.endpoints import Ends


def judge(run: Run, path: BenchPath, say: Callable[[str], object]) -> None:
    """Send fragmented datagrams over a path in both directions, and judge what arrives.

    Args:
        run: The current run.
        path: The path that carries the datagrams.
        say: Takes what arrived of each direction.

    Raises:
        CardFailure: A datagram is lost, changed, or dropped for a wrong checksum.
        Undecided: Datagrams are lost, and a server stood still meanwhile.
        BenchFault: The program that sends or receives fails.
        NotApplicable: The sheet says nothing about offloads.
    """
    both, judged = standstill.watch(run), Collected()
    for sender in Role:
        with judged.one():
            _judge(run, endpoints.ends(run, path, sender), Way(path, sender), both, say)
    judged.end()


def _judge(run: Run, ends: Ends, way: Way, both: StandstillWatch, say: Callable[[str], object]) -> None:
    with applied(run, way, _checksums_on(run, way.sender)):
        before = both.told()
        found = datagrams.deliver(run, ends)
    say(f"{ends.name}: {found}")
    if not found.problem:
        return
    text = f"{ends.name}: {found.problem}; expected each once and unchanged, checksum offload on"
    stood = [] if found.is_certain else both.between(before, both.told())
    if stood:
        raise Undecided(f"{text}; meanwhile {', '.join(map(str, stood))}")
    raise CardFailure(text)


def _checksums_on(run: Run, sender: Role) -> tuple[Setting, ...]:
    """Checksum offload switched on at each end where the sheet says that its system can; else it is as it is."""
    offloads, settings = run.card.section(run.card.offloads, "offloads"), list[Setting]()
    for role in Role:
        table = offloads.rows(run.server(role).description.os)
        at = At.SENDER if role is sender else At.RECEIVER
        names = (OffloadName.TX_CHECKSUM, OffloadName.RX_CHECKSUM)
        settings += [switched(name, True, at) for name in names if name in table and can_switch(table[name])]
    return tuple(settings)
