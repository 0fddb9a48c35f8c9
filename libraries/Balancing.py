"""Bonds that use all their links at once: what each link carries, of what both servers send."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library
from robot.libraries.BuiltIn import BuiltIn

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure
from niclab.core.wait import until
from niclab.hosts.records import Statistics
from niclab.links.upper import Stack
from niclab.traffic import flows

LEAST_PART = 0.5
"""House rule: a link that carries less than this part of an even share is not really used."""
COUNTED_WITHIN_S = 5.0
"""House rule: drivers that fetch the counters of their card do so every second or two."""


@library(scope="GLOBAL")
class Balancing:
    """Keywords about bonds that balance. Constructing the library connects to nothing."""

    @keyword
    def every_member_should_carry_its_share(self) -> None:
        """Of 256 datagrams of 64 flows, sent by each end in its turn, every member of the sending bond has sent, and
        every member of the other one received, at least half of an even share."""
        dut, peer = (_stack(role) for role in Role)
        problems = [*_problems(dut, peer), *_problems(peer, dut)]
        if problems:
            raise CardFailure("\n".join(problems))


def _stack(role: Role) -> Stack:
    stack: Stack = BuiltIn().get_library_instance("Bonding").stack(role)
    return stack


def _problems(sender: Stack, receiver: Stack) -> list[str]:
    """Members that carry too little of what one bond sends to the other."""
    before = [_counted(sender), _counted(receiver)]
    sent = flows.send(sender.server, str(sender.address.ip), str(receiver.address.ip))
    problems: list[str] = []

    def shared() -> bool:
        problems[:] = [
            *_short(sender, "sent", sent, _gained(before[0], _counted(sender), "tx_packets")),
            *_short(receiver, "received", sent, _gained(before[1], _counted(receiver), "rx_packets")),
        ]
        return not problems

    try:
        until(shared, within=COUNTED_WITHIN_S, what="every member to carry its share", every=0.5)
    except BenchFault:
        logger.info(f"{sender.server.name} to {receiver.server.name}: not shared within {COUNTED_WITHIN_S:g} s")
    return problems


def _short(bond: Stack, did: str, sent: int, frames: list[int]) -> list[str]:
    even = sent / len(frames)
    logger.info(f"{bond.server.name}: the members of {bond.name} have {did} {frames} frames of {sent}")
    return [
        f"{port.place} has {did} {count} of {sent} datagrams of {bond.name}; wanted: at least {LEAST_PART * even:g}, "
        f"half of an even share of {len(frames)} links"
        for port, count in zip(bond.below, frames, strict=True)
        if count < LEAST_PART * even
    ]


def _counted(bond: Stack) -> list[Statistics]:
    return side_by_side(bond.server.host.statistics, [interface.name for interface in bond.below.values()])


def _gained(before: list[Statistics], after: list[Statistics], counter: str) -> list[int]:
    return [getattr(now, counter) - getattr(then, counter) for then, now in zip(before, after, strict=True)]
