"""Datagrams that are cut into fragments arrive whole, in both directions, with checksum offload on."""

from __future__ import annotations

from collections.abc import Callable

from niclab.bench.records import BenchPath, Role
from niclab.card import At, OffloadName, Setting
from niclab.core.verdict import fail_with
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic.effects.effect import can_switch, switched
from niclab.traffic.effects.variants import Way, applied
from niclab.traffic.fragments import datagrams
from niclab.traffic.runs import endpoints


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
    problems, unclear, both = list[str](), list[str](), standstill.watch(run)
    for sender in Role:
        ends = endpoints.ends(run, path, sender)
        with applied(run, Way(path, sender), _checksums_on(run, sender)):
            before = both.told()
            found = datagrams.deliver(run, ends)
        say(f"{ends.name}: {found}")
        if not found.problem:
            continue
        text = f"{ends.name}: {found.problem}; expected each once and unchanged, checksum offload on"
        stood = [] if found.is_certain else both.between(before, both.told())
        if stood:
            unclear.append(f"{text}; meanwhile {', '.join(map(str, stood))}")
        else:
            problems.append(text)
    fail_with(problems, unclear)


def _checksums_on(run: Run, sender: Role) -> tuple[Setting, ...]:
    """Checksum offload switched on at each end where the sheet says that its system can; else it is as it is."""
    offloads, settings = run.card.section(run.card.offloads, "offloads"), list[Setting]()
    for role in Role:
        table = offloads.rows(run.server(role).description.os)
        at = At.SENDER if role is sender else At.RECEIVER
        names = (OffloadName.TX_CHECKSUM, OffloadName.RX_CHECKSUM)
        settings += [switched(name, True, at) for name in names if name in table and can_switch(table[name])]
    return tuple(settings)
