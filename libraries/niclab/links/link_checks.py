"""Checks of the links between the servers' ports, over every path of the bench."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from niclab.bench.records import BenchPath, Port, Role, SiliconFact, Wiring
from niclab.card import Unknown
from niclab.core.parallel import side_by_side
from niclab.core.verdict import (
    Blamed,
    CardFailure,
    Charge,
    SheetUnknown,
    Undecided,
    blame_charged,
    fail_with,
)
from niclab.core.wait import pause
from niclab.hosts.host import Host
from niclab.links import carrier, link_speed
from niclab.links.path_ping import HEADER_BYTES, PING_COUNT, unanswered
from niclab.run.run import Run
from niclab.run.watching import flap_sides
from niclab.run.watching.standstill import blameless
from niclab.settings import mtu

T = TypeVar("T")


def ports_on_paths(run: Run) -> list[Port]:
    """List the ports at both ends of every path, in the order of the bench file."""
    return [run.bench.port(end) for path in run.bench.paths for end in path.ends]


def require_up(run: Run, say: Callable[[str], object]) -> None:
    """See that every port gets carrier within the sheet's ``carrier_return_within_ms``.

    Args:
        run: The qualification run.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: Naming the ports without carrier, one of the dut among them.
        BenchFault: Only ports of the peer have none.
        Undecided: The answer came too late to decide.
        NotApplicable: The sheet does not know the limit.
    """
    carrier.expect(run, ports_on_paths(run), up=True, began=time.monotonic(), say=say)


def require_sheet_settings(run: Run) -> None:
    """See that every port runs at the sheet's speed, duplex and autonegotiation, those of them that it knows.

    The duplex of a slower link has the reason of its speed.

    Args:
        run: The qualification run.

    Raises:
        CardFailure: Naming the ports that run otherwise, one of the dut among them.
        BenchFault: Only ports of the peer do, or the other ends of slower links offer no more.
        Undecided: Both ends of links show a lower speed that they can exceed.
        SheetUnknown: The sheet knows none of the three.
    """
    card, speed, problems = run.card, run.card.link.speed_mbps, list[Charge]()
    facts = {name: getattr(card.link, name) for name in ("speed_mbps", "duplex", "autoneg")}
    wanted = {name: fact for name, fact in facts.items() if not isinstance(fact, Unknown)}
    if not wanted:
        raise SheetUnknown(f"sheet {card.name} does not know link.speed_mbps, link.duplex, nor link.autoneg")
    every = _of_every_port(run, lambda host, iface: host.links.link_settings(iface))
    for port, settings in every.items():
        own: tuple[Blamed | None, str] = (Blamed.CARD if port.role is Role.DUT else Blamed.BENCH, "")
        of_speed = own
        if not isinstance(speed, Unknown) and settings.speed_mbps != speed:
            of_speed = link_speed.party(run, port, every, speed)
        for field, expected in wanted.items():
            found = getattr(settings, field)
            if found != expected:
                side, reason = own if field == "autoneg" else of_speed
                text = f"{port.place} has {field} {found}; expected {expected} (sheet {card.name})"
                problems.append(Charge(text, side, reason))
    blame_charged(problems)


def require_traffic(run: Run) -> None:
    """See that pings over every path, from both ends, are answered once.

    Args:
        run: The qualification run.

    Raises:
        CardFailure: Naming the ports whose pings were not.
        Undecided: A server stood still while pings were lost.
    """
    require_answers(run, ports_on_paths(run))


def require_stable(run: Run, seconds: float, say: Callable[[str], object]) -> None:
    """See that every port has carrier, and counts no change of it for a time.

    Args:
        run: The qualification run.
        seconds: The time in s.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: Naming the ports without carrier, or those that counted a change, one of the dut among them.
        BenchFault: Only ports of the peer did.
        Undecided: Both ends of a cable did, or the dut's end where a switch has the other one.
    """
    require_up(run, say)
    before = carrier_changes(run)
    pause(seconds)
    blame_charged(unexpected_changes(run, before, frozenset(), f"in {seconds:g} s in which nobody touched it"))


def require_largest_mtu(run: Run, say: Callable[[str], object]) -> None:
    """See that pings that fill the sheet's largest MTU cross every path in one piece, from both ends.

    Both ends of a path get that MTU, and then their own back; both go down and up each time (EMX-08).

    Args:
        run: The qualification run.
        say: Takes what was seen of each port.

    Raises:
        CardFailure: A port of the dut does not take the MTU, has no link in time, or frames are lost.
        BenchFault: A port of the peer does not take it, or a link does not return after the restore.
        Undecided: The answer came too late to decide whether the link returned in time, a server stood still while
            pings were lost, or only large ones were lost over a switch.
        NotApplicable: The sheet does not know the largest MTU, or the bench declares that its emulated card deviates.
    """
    fact = run.card.section(run.card.mtu, "mtu")
    largest = run.card.known(fact.max, "mtu.max")
    if declared := run.bench.deviation(run.card.name, SiliconFact.LARGEST_MTU):
        raise declared.verdict(largest)
    for path in run.bench.paths:
        ends = [run.bench.port(end) for end in path.ends]
        with mtu.both_ends(run, path, largest, wait=False):
            carrier.expect(run, ends, up=True, began=time.monotonic(), say=say)
            _require_large_answers(run, path, ends, largest)


def _require_large_answers(run: Run, path: BenchPath, ends: list[Port], largest: int) -> None:
    """Over a switch: nobody is charged with large pings that are lost where those of the usual size are not."""
    try:
        require_answers(run, ends, largest - HEADER_BYTES)
    except CardFailure as error:
        if path.through is not Wiring.SWITCH:
            raise
        require_answers(run, ends)
        raise Undecided(f"{error}\nthe switch between them may pass no frames of this size") from error


def require_answers(run: Run, ports: list[Port], size: int | None = None) -> None:
    """See that pings from ports to the other ends of their paths are answered once.

    Args:
        run: The qualification run.
        ports: The ports.
        size: Bytes of payload, sent in one piece.

    Raises:
        CardFailure: Naming the ports whose pings were not.
        Undecided: A server stood still while pings were lost.
    """
    with blameless(run):
        answers = side_by_side(lambda port: ping(run, port, size), ports)
        fail_with([problem for problems in answers for problem in problems])


def ping(run: Run, port: Port, size: int | None = None) -> list[str]:
    """Ping from a port to the other end of its path.

    Args:
        run: The qualification run.
        port: The port.
        size: Bytes of payload, sent in one piece.

    Returns:
        What is wrong with the answers; empty when all is well.
    """
    partner = run.bench.partner(port)
    result = run.server_of(port).host.links.ping(
        str(run.bench.address(partner).ip),
        source=str(run.bench.address(port).ip),
        count=PING_COUNT,
        size=size,
        dont_fragment=size is not None,
    )
    kind = "pings" if size is None else f"pings of {size + HEADER_BYTES} bytes"
    return unanswered(f"{port.place} to {partner.name}", result, kind)


def carrier_changes(run: Run) -> dict[Port, int]:
    """Read how many changes of carrier every port has counted."""
    return _of_every_port(run, lambda host, iface: host.counts.carrier_changes(iface).changes)


def unexpected_changes(run: Run, before: dict[Port, int], but: frozenset[str], when: str) -> list[Charge]:
    """Find ports that have counted a change of carrier though their link was not touched.

    The end of a cable that lost its carrier alone is at fault. Where both did, the cable or either port may be why.

    Args:
        run: The qualification run.
        before: What every port had counted before.
        but: Names of the ports whose link was touched.
        when: The time of the changes, for the message.

    Returns:
        The problems; empty when there is none.
    """
    now = carrier_changes(run)
    found = {port: now[port] - before[port] for port in now if port.name not in but and now[port] != before[port]}
    return [
        Charge(f"{port.place} counted {changes} changes of carrier {when}; expected none", *_whose(run, port, found))
        for port, changes in found.items()
    ]


def _whose(run: Run, port: Port, found: Mapping[Port, int]) -> tuple[Blamed | None, str]:
    is_direct = run.bench.path_of(port).through is not Wiring.SWITCH
    side, why = flap_sides.side(run.bench, port, found.get(run.bench.partner(port), 0) if is_direct else 0)
    return side, why if side is None else ""


def _of_every_port(run: Run, question: Callable[[Host, str], T]) -> dict[Port, T]:
    """``question`` about host and interface name of every port of every path."""
    ports = ports_on_paths(run)
    answers = side_by_side(lambda port: question(run.server_of(port).host, run.interface(port)), ports)
    return dict(zip(ports, answers, strict=True))
