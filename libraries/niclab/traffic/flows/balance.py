"""The share of each link of a balancing bond in the datagrams that both servers send, by the counters of its ports."""

from __future__ import annotations

from collections.abc import Callable

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import Collected, Trouble, blame
from niclab.core.wait import persistent_problems
from niclab.hosts.host_records import Statistics
from niclab.links.upper.bonds import Bonds
from niclab.links.upper.upper_devices import Stack
from niclab.run.run import Run
from niclab.run.watching.standstill import blameless
from niclab.traffic.flows import many_flows

LEAST_PART = 0.5
"""Assumption: a link that carries less than this part of an even share is not really used."""
COUNTED_WITHIN_S = 5.0
"""Assumption: drivers that fetch the counters of their card do so every second or two."""


def require_shares(run: Run, say: Callable[[str], object]) -> None:
    """Let each server send datagrams of many flows, and see that every member of both bonds carries its share.

    In broadcast mode the share of each member is everything.

    Args:
        run: The qualification run, with bonds.
        say: Takes what each member carried.

    Raises:
        CardFailure: Naming the members that carried less than half of an even share; in broadcast mode, less than all.
        Undecided: A server stood still meanwhile.
        BenchFault: There is no bond, a server does not answer or does not send, or the peer alone sent too little over
            a link.
    """
    dut, peer = (run.part(Bonds).stack(role) for role in Role)
    copies = run.part(Bonds).settings.mode.sends_copies
    judged = Collected()
    with blameless(run):
        for sender, receiver in ((dut, peer), (peer, dut)):
            with judged.one():
                blame(_problems(sender, receiver, say, copies=copies))
        judged.end()


def _problems(sender: Stack, receiver: Stack, say: Callable[[str], object], *, copies: bool) -> list[Trouble]:
    """Members that carry too little of what one bond sends to the other.

    What the peer has not sent over a link is charged to the bench, and with it that the dut has not received it.
    """
    of_dut = sender.server.role is Role.DUT
    short_of = _short_of_all if copies else _short
    before = [_counted(sender), _counted(receiver)]
    sent = many_flows.send(sender.server, str(sender.address.ip), str(receiver.address.ip))
    gained: list[list[int]] = []

    def short() -> list[Trouble]:
        gained[:] = [
            _gained(before[0], _counted(sender), "tx_packets"),
            _gained(before[1], _counted(receiver), "rx_packets"),
        ]
        unsent = short_of(sender, "sent", sent, gained[0])
        missed = short_of(receiver, "received", sent, gained[1])
        return [
            *(Trouble(text, of_dut) for text in unsent.values()),
            *(Trouble(text, of_dut or place not in unsent) for place, text in missed.items()),
        ]

    problems = persistent_problems(short, within=COUNTED_WITHIN_S, every=0.5)
    for bond, did, frames in zip((sender, receiver), ("sent", "received"), gained, strict=True):
        say(f"{bond.server.name}: the members of {bond.name} have {did} {frames} frames of {sent}")
    return problems


def _short(bond: Stack, did: str, sent: int, frames: list[int]) -> dict[int, str]:
    """The problem of each member with less than half of an even share, by its place in the order of the paths."""
    even = sent / len(frames)
    return {
        place: f"{port.place} has {did} {count} of {sent} datagrams of {bond.name}; expected at least "
        f"{LEAST_PART * even:g}, half of an even share of {len(frames)} links"
        for place, (port, count) in enumerate(zip(bond.below, frames, strict=True))
        if count < LEAST_PART * even
    }


def _short_of_all(bond: Stack, did: str, sent: int, frames: list[int]) -> dict[int, str]:
    return {
        place: f"{port.place} has {did} {count} of {sent} datagrams of {bond.name}; expected all, each frame over each "
        "link"
        for place, (port, count) in enumerate(zip(bond.below, frames, strict=True))
        if count < sent
    }


def _counted(bond: Stack) -> list[Statistics]:
    return side_by_side(bond.server.host.counts.statistics, [interface.name for interface in bond.below.values()])


def _gained(before: list[Statistics], after: list[Statistics], counter: str) -> list[int]:
    return [getattr(now, counter) - getattr(then, counter) for then, now in zip(before, after, strict=True)]
