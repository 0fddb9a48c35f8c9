"""Counters of the card that prove an offload is used: they grow with it on and stay with it off."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import BenchPath, Role
from niclab.card import Changeable, OffloadName, Proof
from niclab.core.verdict import BenchFault, Collected, NotApplicable
from niclab.core.wait import pause
from niclab.hosts.host_records import Counters
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, Show
from niclab.settings.offloads.offload_table import OffloadRow, on_or_off, put_features_back, rows
from niclab.settings.offloads.unsafe import switch_offload

Traffic = Callable[[Run, BenchPath, Role], AbstractContextManager[object]]
"""Keeps TCP flowing over a path from the server with that role, inside the ``with`` block."""


class ProofTraffic(Enum):
    """The frames of the TCP on which an offload works."""

    PLAIN = "plain"
    TAGGED = "tagged"
    """In a VLAN."""
    IPV6 = "ipv6"


@dataclass(frozen=True)
class TcpFlows:
    """TCP of this lab.

    Attributes:
        steady: Keeps each kind of it flowing.
        require: Requires that it arrives at a server.
        least_bytes: A port that carries no more than so many bytes carries none of it.
    """

    steady: Mapping[ProofTraffic, Traffic]
    require: Callable[[Run, Role], object]
    least_bytes: int


FLOWS = {
    OffloadName.TX_CHECKSUM: (Role.DUT, ProofTraffic.PLAIN),
    OffloadName.TSO4: (Role.DUT, ProofTraffic.PLAIN),
    OffloadName.TSO6: (Role.DUT, ProofTraffic.IPV6),
    OffloadName.VLAN_INSERT: (Role.DUT, ProofTraffic.TAGGED),
    OffloadName.RX_CHECKSUM: (Role.PEER, ProofTraffic.PLAIN),
    OffloadName.GRO: (Role.PEER, ProofTraffic.PLAIN),
    OffloadName.LRO: (Role.PEER, ProofTraffic.PLAIN),
    OffloadName.VLAN_STRIP: (Role.PEER, ProofTraffic.TAGGED),
}
"""The server that sends the TCP on which an offload of the dut works, and the frames of it."""


def is_provable(row: OffloadRow) -> bool:
    """Tell whether a row can be switched and names a counter that TCP of this lab moves."""
    return row.proof is not None and row.change is Changeable.BOTH and row.name in FLOWS


def follows_the_switch(run: Run, offload: str, seconds: float, traffic: TcpFlows, show: Show) -> None:
    """Judge the counters of offloads while TCP flows, with each on and off, and put everything back.

    For offloads of TCP (plain, over IPv6, in a VLAN) whose counter the sheet names, on the dut's end of the first path.

    Args:
        run: The current run.
        offload: Name of an offload, such as ``tso4``, or ``every``.
        seconds: How long the counters of each state are watched, in seconds.
        traffic: The TCP that flows over the path.
        show: Takes the growth of the counters as a sentence.

    Raises:
        CardFailure: A counter does not follow the offload, or no traffic flows after it was switched.
        BenchFault: The offload cannot be switched, a counter is missing, or traffic stops while they are watched.
        NotApplicable: The sheet names no counter by which TCP proves the offload.
    """
    provable = [(row, row.proof) for row in rows(run, offload).values() if row.proof and is_provable(row)]
    if not provable:
        raise NotApplicable(f"sheet {run.card.name} names no counter by which TCP proves {offload}")
    path, judged = run.bench.paths[0], Collected()
    (dut,) = [DutPort(run, port) for port in map(run.bench.port, path.ends) if port.role is Role.DUT]
    for row, proof in provable:
        for on in (True, False):
            sender, flow = FLOWS[row.name]
            with judged.one():
                with traffic.steady[flow](run, path, sender):
                    grown, per = _growth(dut, row, proof, on, seconds, traffic)
                show(f"{dut.place}: {row.name.value} {on_or_off(on)}: {proof.counter} +{grown}, {proof.per} +{per}")
                judged.problems += _judged(dut, row, proof, on, grown, per)
    judged.end()


def _growth(
    dut: DutPort, row: OffloadRow, proof: Proof, on: bool, seconds: float, traffic: TcpFlows
) -> tuple[int, int | None]:
    """Switch an offload for a while; by how much its counter grows, and the counter that it is compared with.

    A driver may take the link down for it, and without traffic no counter grows: it has to flow again first, and on.
    """
    sender, _ = FLOWS[row.name]
    with put_features_back(dut, f"{row.name.value} is switched"):
        attempt = switch_offload(dut.run, dut.port, row.name, row.set_words[0], on)
        if row.feature(dut, attempt.now).on is not on:
            raise BenchFault(f"{dut.place}: {row.name.value} could not be switched {on_or_off(on)} ({attempt.refused})")
        traffic.require(dut.run, Role.PEER if sender is Role.DUT else Role.DUT)
        before, start = dut.host.counts.counters(dut.iface), _carried(dut, sender)
        pause(seconds)
        after, carried = dut.host.counts.counters(dut.iface), _carried(dut, sender) - start
    if carried <= traffic.least_bytes:
        raise BenchFault(
            f"{dut.place}: {carried} bytes of TCP from {sender.value} in {seconds:g} s with {row.name.value} "
            f"{on_or_off(on)}; expected more than {traffic.least_bytes}: its counters say nothing"
        )

    def grown(name: str) -> int:
        return _total(dut, after, name) - _total(dut, before, name)

    return grown(proof.counter), None if proof.per is None else grown(proof.per)


def _carried(dut: DutPort, sender: Role) -> int:
    """Count the bytes that the dut's port has sent, or received from the peer."""
    counts = dut.host.counts.statistics(dut.iface)
    return counts.tx_bytes if sender is Role.DUT else counts.rx_bytes


def _total(dut: DutPort, counters: Counters, name: str) -> int:
    """Get a counter, or the sum of it over all queues (``txq0: NAME``, ``[0]: NAME``, ``txq.0.NAME``)."""
    found = [value for known, value in counters.entries if known == name or known.endswith((f": {name}", f".{name}"))]
    if not found:
        among = f"no counter {name!r} among {len(counters.entries)}"
        raise BenchFault(f"{dut.place}: {among}; sheet {dut.run.card.name} names it as a proof")
    return sum(found)


def _judged(dut: DutPort, row: OffloadRow, proof: Proof, on: bool, grown: int, per: int | None) -> list[str]:
    if per is None or proof.at_least is None:
        if (grown > 0) is on:
            return []
        return [
            row.expected(dut, f"{proof.counter} grew by {grown} with it {on_or_off(on)}", "growth" if on else "none")
        ]
    if per == 0:
        raise BenchFault(f"{dut.place}: {proof.per} did not grow, so no traffic flowed")
    if (grown >= proof.at_least * per) is on:
        return []
    found = f"{proof.counter} grew {grown / per:.2f} times as much as {proof.per} with it {on_or_off(on)}"
    expected = f"at least {proof.at_least:g} times" if on else f"less than {proof.at_least:g} times"
    return [row.expected(dut, found, expected)]
