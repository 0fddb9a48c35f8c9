"""Offloads of the receiver: what the dut's driver says of the packets that it hands to the stack.

Every check raises BenchFault when the peer or the tool failed, and Undecided when the exchange proves nothing.
"""

from __future__ import annotations

from contextlib import ExitStack

from niclab.bench.records import Role
from niclab.card import OffloadName
from niclab.core.verdict import NotApplicable, Undecided, fail_with
from niclab.frames.answers import HashLook
from niclab.frames.exchange import Say
from niclab.frames.spec import FrameKind, FrameStream
from niclab.frames.wire.ground import ProofGround, addresses_6, slowly_flushed, unmerged
from niclab.run.run import Run
from niclab.settings.offloads.offload_table import on_or_off

SUMMED, SUM_SIZES = 192, (1514, 301, 1024, 133, 777, 1513)
MOST_PART = 0.99
"""Assumption: a driver that judges checksums of a kind of packet does so of all but a few."""
HOLD_NS = 5_000_000
"""On the slowest bench, 25 Mbit/s, two full frames are 0.5 ms apart."""
HASHED, HASHED_CONNECTIONS, HASHED_SIZES = 512, 64, (1200, 1514)
MERGED_BY = {OffloadName.GRO: "generic-receive-offload", OffloadName.LRO: "large-receive-offload"}


def checksums(run: Run, offload: OffloadName, say: Say) -> None:
    """Send right TCP and UDP over IPv4 and IPv6 to the dut: it calls checksums right with the offload on, else none.

    Args:
        run: The current run.
        offload: ``rx-checksum``.
        say: Takes what was seen.

    Raises:
        CardFailure: The driver judges a part of the checksums of a kind, or some with the offload off.
        Undecided: The driver calls no checksum right, or the exchange proves nothing.
        NotApplicable: The sheet has no such offload, or a server does not run Linux.
    """
    ground, problems, doubts = ProofGround(run, offload, say), list[str](), list[str]()
    with unmerged(run, ground.dut.port):
        made = [_right(ground, kind, version) for kind in (FrameKind.TCP, FrameKind.UDP) for version in (4, 6)]
        for on in ground.states:
            with ground.switched(on):
                (leg,) = ground.send(made, on).ledger.legs
            valid = {stream.name: leg.arrived[flow].valid for flow, stream in leg.streams.items()}
            counts = ", ".join(f"{count} of {SUMMED} of {name}" for name, count in valid.items())
            say(f"{ground.dut.place}: called right: {counts}")
            if on and not any(valid.values()):
                said = f"{ground.dut.place}: {ground.row.name.value} is on, and no checksum is called right: the driver"
                doubts.append(f"{said} gives sums of its own (CHECKSUM_COMPLETE), or nothing; a capture cannot tell")
                continue
            allowed = range(int(MOST_PART * SUMMED), SUMMED + 1) if on else ()
            if not all(count == 0 or count in allowed for count in valid.values()):
                wanted = "all of a kind, or none" if on else "none"
                problems.append(ground.wrong(f"is {on_or_off(on)}, and {counts} are called right; expected {wanted}"))
    fail_with(problems, doubts)


def _right(ground: ProofGround, kind: FrameKind, version: int) -> FrameStream:
    addresses = ground.bench.addresses(ground.peer) if version == 4 else addresses_6(ground.run, ground.peer)
    name = f"{kind.value.upper()} over IPv{version}"
    spec = {"kind": kind, "addresses": addresses, "connections": 16}
    return ground.bench.frames(name, ground.peer, SUMMED, SUM_SIZES, **spec)


def merging(run: Run, offload: OffloadName, say: Say) -> None:
    """Send TCP to the dut: packets are merged only with the offload on, and what was merged is what was sent.

    Args:
        run: The current run.
        offload: ``gro`` or ``lro``.
        say: Takes what was seen.

    Raises:
        CardFailure: Packets are merged with the offload off, or data arrive damaged.
        NotApplicable: No packet was merged with the offload on, as a driver need not hand packets to GRO, nor a card
            find two to merge; the sheet has no such offload, or a server does not run Linux.
    """
    ground, problems, merged = ProofGround(run, offload, say), list[str](), None
    for on in ground.states:
        with ExitStack() as undoing:
            undoing.enter_context(ground.switched(on))
            undoing.enter_context(unmerged(run, ground.dut.port, but=MERGED_BY[offload]))
            if on and offload is OffloadName.GRO:
                undoing.enter_context(slowly_flushed(run, ground.dut.port, HOLD_NS))
            view = ground.send([ground.tcp(ground.peer)], on).view(Role.DUT, "in", "tcp4")
        if on:
            merged = view.oversize
        elif view.oversize:
            said = f"{view.oversize} of {view.frames} packets are larger than the MTU"
            problems.append(ground.wrong(f"is off, and {said}; expected none"))
    fail_with(problems)
    if merged == 0:
        raise NotApplicable(ground.wrong("is on, and no packet was merged: its driver hands over each by itself"))


def hashes(run: Run, offload: OffloadName, say: Say) -> None:
    """Send TCP of many connections to the dut: each has one hash, and they differ; none has one with the offload off.

    Args:
        run: The current run.
        offload: ``rx-hash``.
        say: Takes what was seen.

    Raises:
        CardFailure: Packets have no hash, the same for all, or several for a connection; or one with the offload off.
        NotApplicable: The port has one queue and no hash, the sheet has no such offload, the system hashes packets
            itself, or a server does not run Linux.
    """
    ground, problems, without = ProofGround(run, offload, say), list[str](), False
    with unmerged(run, ground.dut.port):
        spec = {"kind": FrameKind.TCP, "connections": HASHED_CONNECTIONS}
        made = ground.bench.frames("TCP of many connections", ground.peer, HASHED, HASHED_SIZES, **spec)
        for on in ground.states:
            with ground.switched(on):
                look = ground.send([made], on).hashes[Role.DUT]
            hashed = f"{look.frames - look.hashless} of {look.frames} packets of {look.connections} connections hashed"
            say(f"{ground.dut.place}: {hashed}, {look.values} values, {look.unsteady} connections with several")
            if look.steered:
                raise NotApplicable(
                    f"{ground.dut.place}: its system hashes packets for RPS, so the card's are not seen"
                )
            without |= on and look.queues == 1 and look.values < 2
            if wrong := _wrong_hashes(look, on):
                problems.append(ground.wrong(f"is {on_or_off(on)}, and {hashed}; {wrong}"))
    fail_with(problems)
    if without:
        raise NotApplicable(ground.wrong("is on, and the port has one queue, for which a card need not hash"))


def _wrong_hashes(look: HashLook, on: bool) -> str:
    if look.connections < HASHED_CONNECTIONS // 2:
        raise Undecided(f"{look.port}: packets of {look.connections} connections were captured; expected more")
    if not on:
        return "" if look.hashless == look.frames else "expected none"
    if look.queues == 1 and look.values < 2:
        return ""
    if look.frames - look.hashless < MOST_PART * look.frames:
        return "expected all"
    if look.unsteady:
        return f"{look.unsteady} connections with several hashes; expected one for each"
    return "" if look.values > 1 else "all with the same; expected different ones"
