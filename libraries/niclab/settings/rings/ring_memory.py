"""The dut's memory that receive rings take: estimated, measured, and whether each change of a ring gives it back."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from niclab.bench.records import Role
from niclab.card import RingFacts
from niclab.core.verdict import BenchFault, Collected, Undecided
from niclab.run.run import Run
from niclab.run.watching.lost_memory import COMES_BACK_WITHIN_S, LEAST_LOST_BYTES, LostMemory, mib
from niclab.settings.dut_ports import DutPort, Show, dut_ports, require_known
from niclab.settings.rings.ring_sizes import RingSize, read_rings

TSO_BYTES = 64 << 10
"""Bytes that one transmit descriptor may hold with segmentation offload."""
FIRST_ROUNDS, MORE_ROUNDS = 2, 4
"""Rounds of the largest size and the least: of every port, and more of one that lost memory in each of these."""
_MIB = 2**20


@dataclass(frozen=True)
class Round:
    """Bytes available: with the least ring before, then with the largest, then with the least again."""

    before: int
    largest: int
    after: int

    @property
    def taken(self) -> int:
        """Bytes that the largest ring takes more than the least."""
        return self.before - self.largest

    @property
    def lost(self) -> int:
        """Bytes that did not come back."""
        return self.before - self.after


def fit_in_memory(run: Run, show: Show) -> None:
    """See that the dut has memory for the largest receive rings, and gets it back when they become smaller.

    First the memory is estimated for the largest rings of all ports at the largest MTU: descriptors times MTU for
    receiving; for sending with segmentation, descriptors times 64 KiB. Then it is measured port by port, from the least
    ring to the largest and back. What a ring takes is shown next to the estimate and not judged: no source limits it.

    A port whose every change loses memory is changed more often, and then given a minute to return it. A server that
    keeps freed memory for itself keeps that of some changes only, and gives it back.

    Args:
        run: The current run.
        show: Takes estimate and measurement as sentences.

    Raises:
        CardFailure: Each change of a ring loses memory that does not come back.
        BenchFault: The dut has less memory available than estimated, or a ring could not be put back.
        Undecided: Memory goes while no ring is changed as well, or a port does not take the sizes to measure with.
        NotApplicable: The sheet knows no rings of a driver that does not offer them either.
        SheetUnknown: The sheet does not know the largest rings or the largest MTU.
    """
    card, system = run.card, run.server(Role.DUT).description.os
    rings = card.section(card.of_driver("rings", system), f"rings of {system.value}'s driver")
    assert isinstance(rings, RingFacts)
    if not rings.settable:
        require_known(run, "rings", [rings.largest(rings.rx), rings.largest(rings.tx)], read_rings)
    mtu = card.known(card.section(card.mtu, "mtu").max, "mtu.max")
    rx = card.known(rings.largest(rings.rx), "rings.rx.max")
    tx = card.known(rings.largest(rings.tx), "rings.tx.max")
    ports = dut_ports(run)
    receiving, sending = rx * mtu, tx * TSO_BYTES
    free = _free(ports[0])
    show(
        f"largest rings: {mib(receiving)} a port for receiving ({rx} descriptors of {mtu} bytes), up to "
        f"{mib(sending)} for sending with segmentation; dut has {mib(free)} available"
    )
    if len(ports) * receiving > free:
        raise BenchFault(
            f"dut: {free / _MIB:.0f} MiB of memory are available; expected {len(ports) * receiving / _MIB:.0f} MiB for "
            f"the largest receive rings of {len(ports)} ports, sheet {card.name}"
        )
    judged = Collected()
    for dut in ports if rings.settable else ():
        with judged.one():
            judged.problems += _problems(RingMemory(dut, rings, rx), mtu, show)
    judged.end()


class RingMemory:
    """The memory of the receive ring of one port.

    Args:
        dut: The port.
        rings: The rings of the sheet.
        largest: The largest receive ring, in descriptors.
    """

    def __init__(self, dut: DutPort, rings: RingFacts, largest: int) -> None:
        self.dut, self.ring, self.largest = dut, RingSize(dut, "rx"), largest
        now = self.ring.read() or largest
        self.least = rings.rx.min if isinstance(rings.rx.min, int) else min(now, largest // 2)

    def made_least(self) -> bool:
        """Set the ring to its least size, and say whether the port took it."""
        return self.ring.set(self.least).now == self.least

    def rounds(self, count: int) -> list[Round]:
        """Set the ring to its largest and least size in turns, from the least on, which it has.

        Args:
            count: The number of rounds.

        Returns:
            The rounds; none where the port does not take the sizes.
        """
        found, before = list[Round](), _free(self.dut)
        for _ in range(count):
            if self.ring.set(self.largest).now != self.largest:
                return []
            largest = _free(self.dut)
            if not self.made_least():
                return []
            found.append(Round(before, largest, before := _free(self.dut)))
        return found


def _problems(memory: RingMemory, mtu: int, show: Show) -> list[str]:
    place = memory.dut.place
    if memory.least >= memory.largest:
        return []
    with memory.ring.put_back():
        rounds = memory.rounds(FIRST_ROUNDS) if memory.made_least() else []
        if not rounds:
            sizes = f"{memory.least} and {memory.largest}"
            raise Undecided(f"{place}: memory is not measured: the port does not take rings of {sizes}; expected both")
        show(f"{place}: {_measured(memory, rounds, mtu)}")
        if not all(_is_lost(each, rounds) for each in rounds):
            return []
        rounds += memory.rounds(MORE_ROUNDS)
        show(f"{place}: each change lost memory; more of them: {_measured(memory, rounds, mtu)}")
        if not all(_is_lost(each, rounds) for each in rounds):
            return []
        return _not_returned(memory, rounds, show)


def _is_lost(one: Round, rounds: list[Round]) -> bool:
    """Did it lose as much as no server takes by itself, and half of what the ring takes at least?"""
    return one.lost >= max(LEAST_LOST_BYTES, median(each.taken for each in rounds) / 2)


def _not_returned(memory: RingMemory, rounds: list[Round], show: Show) -> list[str]:
    """Wait for the memory, and say that it did not come back."""
    place = memory.dut.place
    lost = LostMemory(place, lambda: _free(memory.dut), rounds[0].before, rounds[-1].after)
    left = lost.left(f"{len(rounds)} changes of ring rx")
    if not left:
        show(f"{place}: the memory came back")
        return []
    each = mib(median(one.lost for one in rounds))
    sizes = f"to {memory.largest} and back to {memory.least}"
    return [f"{left} {sizes}, {each} with each; expected all of it back within {COMES_BACK_WITHIN_S:g} s"]


def _measured(memory: RingMemory, rounds: list[Round], mtu: int) -> str:
    """Say how much the ring takes, next to the estimate; figures without a verdict."""
    taken, estimate = median(each.taken for each in rounds), (memory.largest - memory.least) * mtu
    lost = ", ".join(mib(each.lost) for each in rounds)
    more = (
        f", {taken / estimate:.1f} times as much: several rings, or buffers that are larger" if taken > estimate else ""
    )
    return (
        f"ring rx of {memory.largest} descriptors takes {mib(taken)} more than of {memory.least}; estimated "
        f"{mib(estimate)} at MTU {mtu}{more}; not given back: {lost}"
    )


def _free(dut: DutPort) -> int:
    return dut.host.system.available_bytes()
