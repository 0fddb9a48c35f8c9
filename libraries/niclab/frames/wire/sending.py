"""Offloads of the sender: what the dut's stack hands to the driver, and what arrives at the peer.

On: the stack hands over segments larger than the wire carries, sums that are not finished, tags outside of the frame.
Off: it does all of it itself. On the wire every packet is right, either way.

Every check raises BenchFault when the peer or the tool failed, Undecided when the exchange proves nothing,
NotApplicable when the sheet has no such offload or a server does not run Linux, and Deviation where the bench declares
that what its emulated card sends deviates.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from niclab.bench.records import Role
from niclab.card import OffloadName
from niclab.core.verdict import fail_with
from niclab.frames.exchange import Say
from niclab.frames.spec import tag
from niclab.frames.wire.ground import Captured, ProofGround, unmerged
from niclab.run.run import Run
from niclab.settings.offloads.offload_table import on_or_off
from niclab.traffic.flows import in_vlan, ipv6

ODD_MSS = 1001
"""Bytes; with the 12 bytes of TCP's time stamps (RFC 7323) 989 of data, odd as well."""
PRIORITY = 5


def segmentation(run: Run, offload: OffloadName, say: Say) -> None:
    """Send TCP from the dut with segmentation off and on; every segment on the wire has its size and its checksums.

    Args:
        run: The current run.
        offload: ``tso4`` or ``tso6``.
        say: Takes what was seen.

    Raises:
        CardFailure: A segment on the wire is wrong, or the stack segments with it on, or does not with it off.
    """
    ground, problems = _ground(run, offload, say), list[str]()
    version = 4 if offload is OffloadName.TSO4 else 6
    with ipv6.addressed(run, ground.path), unmerged(run, ground.peer):
        for on in ground.states:
            with ground.switched(on):
                seen = ground.send([ground.tcp(ground.dut.port, version, ODD_MSS)], on, [f"tcp{version}"])
            given = seen.view(Role.DUT, "out", f"tcp{version}")
            if (given.oversize > 0) is not on:
                wanted = "at least one" if on else "none"
                said = f"is {on_or_off(on)}, and the stack handed over {given.oversize} of {given.frames} packets uncut"
                problems.append(ground.wrong(f"{said}; expected {wanted}"))
    fail_with(problems)


def checksums(run: Run, offload: OffloadName, say: Say) -> None:
    """Send TCP and UDP over IPv4 and IPv6 from the dut with checksums off and on; every checksum on the wire is right.

    Args:
        run: The current run.
        offload: ``tx-checksum``.
        say: Takes what was seen.

    Raises:
        CardFailure: A checksum on the wire is wrong, or the stack sums with it on, or does not with it off.
    """
    ground, problems = _ground(run, offload, say), list[str]()
    names = [f"{name}{version}" for name in ("tcp", "udp") for version in (4, 6)]
    with ipv6.addressed(run, ground.path), unmerged(run, ground.peer):
        tcp = [ground.tcp(ground.dut.port, version, ODD_MSS) for version in (4, 6)]
        made = [*tcp, *(ground.udp(ground.dut.port, version) for version in (4, 6))]
        for on in ground.states:
            with ground.switched(on):
                seen = ground.send(made, on, names)
            given = {name: seen.view(Role.DUT, "out", name).unfinished for name in names}
            if (given["tcp4"] > 0 if on else any(given.values())) is not on:
                counts = ", ".join(f"{count} of {name}" for name, count in given.items())
                said = f"is {on_or_off(on)}, and the stack left checksums unfinished: {counts}"
                problems.append(ground.wrong(f"{said}; expected {'those of TCP over IPv4' if on else 'none'}"))
    fail_with(problems)


def tags(run: Run, offload: OffloadName, say: Say) -> None:
    """Send TCP and UDP in a VLAN with a priority, from the dut or to it, with a tag's offload off and on.

    Linux takes a tag out of a frame itself before a capture sees it: of ``vlan-strip`` the result alone is judged.

    Args:
        run: The current run.
        offload: ``vlan-insert`` or ``vlan-strip``.
        say: Takes what was seen.

    Raises:
        CardFailure: A tag is lost or another, a packet is wrong, or the stack does what the card is asked for.
        BenchFault: The peer or the tool failed, or a VLAN cannot be made.
        NotApplicable: The path leads through a switch, the sheet has no such offload, or a server does not run Linux.
        Deviation: The bench declares that its emulated card deviates here, in what it sends.
    """
    ground, problems = _ground(run, offload, say), list[str]()
    inserts, wanted = offload is OffloadName.VLAN_INSERT, tag(in_vlan.VLAN_ID, PRIORITY)
    sender, receiver = (ground.dut.port, ground.peer) if inserts else (ground.peer, ground.dut.port)
    with unmerged(run, receiver), in_vlan.vlans(run, ground.path) as over:
        for role, name in over.items():
            mapped = f"ip link set dev {shlex.quote(name)} type vlan egress-qos-map 0:{PRIORITY}"
            run.server(role).run(mapped)
        for on in ground.states:
            with ground.switched(on):
                made = [replace(each, tags=(wanted,)) for each in (ground.tcp(sender, mss=ODD_MSS), ground.udp(sender))]
                seen = ground.send(made, on, ["tcp4", "udp4"] if inserts else [])
            if inserts:
                problems += _given(ground, seen, on)
            for name in ("tcp4", "udp4"):
                seen.view(receiver.role, "in", name)
    fail_with(problems)


def _ground(run: Run, offload: OffloadName, say: Say) -> ProofGround:
    ground = ProofGround(run, offload, say)
    if offload is not OffloadName.VLAN_STRIP:
        ground.require_silicon()
    return ground


def _given(ground: ProofGround, seen: Captured, on: bool) -> list[str]:
    """The tags that the stack left to the card."""
    views = [seen.view(Role.DUT, "out", name) for name in ("tcp4", "udp4")]
    left, done = (sum(sum(getattr(view, how).values()) for view in views) for how in ("handed", "inline"))
    if (done == 0 and left > 0) if on else left == 0:
        return []
    said = f"is {on_or_off(on)}, and the stack left {left} tags to it and inserted {done}"
    return [ground.wrong(f"{said}; expected {'none' if on else 'all'} to be inserted")]
