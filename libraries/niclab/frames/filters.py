"""The frames that a port must receive and those that it must not: addresses, groups, modes, VLANs.

Without frames that arrive, frames that do not arrive prove nothing: each exchange has both.

Every check raises BenchFault when the tool failed, Undecided when the exchange proves nothing, NotApplicable when a
server cannot send frames of its own, and Deviation where the bench declares that its emulated card deviates.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from niclab.bench.records import Port, Role, SiliconFact
from niclab.card import (
    At,
    Changeable,
    ExactFilter,
    FilterFacts,
    MulticastFilter,
    OffloadName,
    Setting,
    SettingKind,
)
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, blame, fail_with
from niclab.frames.exchange import BROADCAST, FrameBench, Say, exchange, near_addresses, strange_addresses
from niclab.frames.ledger import Ledger
from niclab.frames.spec import Arrives, FrameStream, PortModes
from niclab.links import link_checks
from niclab.links.upper import upper_devices
from niclab.run.run import Run
from niclab.run.temporary import put_back
from niclab.settings.dut_ports import DutPort
from niclab.settings.offloads.offload_table import rows
from niclab.traffic.effects.variants import Way, applied

COUNT, SIZES = 97, (60, 1514, 301, 64)
BITS = (0, 7, 8, 21, 31, 39)
"""Bits by which near addresses differ from a port's own; none is in the first byte, which tells groups."""
GROUPS, PER_GROUP = 140, 3
"""More groups than the tables of exact addresses of older cards have places."""
UNJOINED = 24
STRANGE = 6
"""A filter of hashes refuses at least one of so many addresses, unless it refuses nothing."""
HASH_LEAKS = 4
"""Assumption: of so many groups that were not joined, one in this many may have the hash of one that was."""
ADDRESSES = 12
VLANS = (2, 5, 127, 128, 1023, 2047, 2048, 4093)
TABLE = tuple(32 * word + (word + 1) % 32 for word in range(128))
"""One VLAN in each word of a table of 4096 bits, four at each bit: e1000e, igb and ixgbe have such a table (VFTA)."""
PER_VLAN = 8
"""Frames of each."""
TOGETHER = 8
SEED = 19


def _from_peer(
    bench: FrameBench, sent: Callable[[Port], Sequence[FrameStream]], say: Say, modes: PortModes | None = None
) -> Ledger:
    """Send from every port of the peer at once and judge; ``modes``: of every port of the dut."""
    streams = [stream for port in bench.of(Role.PEER) for stream in sent(port)]
    listening = dict.fromkeys(bench.of(Role.DUT), modes) if modes else None
    ledger, _ = exchange(bench.run, streams, say, listening)
    return ledger


def _to_own_address(bench: FrameBench, port: Port) -> FrameStream:
    return bench.frames("frames to its own address", port, COUNT, SIZES)


def _only(stream: FrameStream, at_port: Arrives) -> FrameStream:
    return replace(stream, at_port=at_port)


def _section(run: Run) -> FilterFacts:
    return run.card.section(run.card.filters, "filters")


def _require_exact(run: Run, fact: SiliconFact) -> None:
    """The sheet must know that a filter is exact, and the bench must not declare that its model is not.

    Raises:
        SheetUnknown: Nobody knows it.
    """
    section = _section(run)
    run.card.known(section.unicast if fact is SiliconFact.UNICAST_FILTER else section.vlan, fact.value)
    if declared := run.bench.deviation(run.card.name, fact):
        raise declared.verdict(ExactFilter.EXACT.value)


def _refused_address(run: Run, bench: FrameBench, say: Say) -> str:
    """A strange address that no port of the dut receives.

    An exact filter refuses any. One that is not known to be exact is asked: it may let some through by their hash.

    Raises:
        SheetUnknown: It lets each of them through, and nobody knows whether it is exact.
        Deviation: It lets each of them through, and the bench declares that its emulated card deviates here.
    """
    strange, fact = strange_addresses(STRANGE, SEED), SiliconFact.UNICAST_FILTER
    if _section(run).unicast is ExactFilter.EXACT and run.bench.deviation(run.card.name, fact) is None:
        return strange[0]

    def sent(port: Port) -> list[FrameStream]:
        made = [bench.frames(f"frames to {mac}", port, PER_GROUP, SIZES, destination=mac) for mac in strange]
        return [_to_own_address(bench, port), *(_only(each, Arrives.ANY) for each in made)]

    ledger = _from_peer(bench, sent, say)
    arrived = [leg.streams[flow].frame for leg in ledger.legs for flow in leg.arrived]
    passed = {frame.destination for frame in arrived if frame is not None}
    refused = [mac for mac in strange if mac not in passed]
    if not refused:
        _require_exact(run, fact)
    return refused[0]


def own_address_only(run: Run, say: Say) -> None:
    """Send frames to the address of each port of the dut, to near and strange ones, and to all.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A port does not receive what is its own, or receives what is not.
        SheetUnknown: Nobody knows whether the filter is exact.
    """
    _require_exact(run, SiliconFact.UNICAST_FILTER)
    bench = FrameBench(run)
    _from_peer(bench, partial(_addressed, bench), say)


def _addressed(bench: FrameBench, port: Port) -> list[FrameStream]:
    own = bench.mac(bench.run.bench.partner(port))
    near = near_addresses(own, BITS)
    refused = [("a near address", mac) for mac in near] + [("a strange address", strange_addresses(1, SEED)[0])]
    return [
        _to_own_address(bench, port),
        *(
            _only(bench.frames(f"frames to {n} {m}", port, COUNT, SIZES, destination=m), Arrives.NONE)
            for n, m in refused
        ),
        bench.frames("broadcasts", port, COUNT, SIZES, destination=BROADCAST),
    ]


def promiscuous(run: Run, say: Say) -> None:
    """Send frames for a strange address to ports of the dut that are promiscuous, and again when they are not any more.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A port does not receive everything while it is promiscuous, or still does afterwards.
        SheetUnknown, Deviation: A filter that is not known to be exact refuses no address.
    """
    bench = FrameBench(run)
    strange = _refused_address(run, bench, say)

    def sent(name: str, at_port: Arrives, port: Port) -> list[FrameStream]:
        made = bench.frames(f"frames to a strange address {name}", port, COUNT, SIZES, destination=strange)
        return [_to_own_address(bench, port), _only(made, at_port)]

    _from_peer(bench, partial(sent, "while promiscuous", Arrives.ALL), say, PortModes(promiscuous=True))
    _from_peer(bench, partial(sent, "afterwards", Arrives.NONE), say, PortModes(promiscuous=False))


def groups(run: Run, say: Say) -> None:
    """Send frames to groups that the ports of the dut have joined, more than a small table holds, and to others.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A frame to a group that was joined is lost, or those to others get through the sheet's filter.
    """
    macs = strange_addresses(GROUPS + UNJOINED, SEED, multicast=True)
    joined, others = macs[:GROUPS], macs[GROUPS:]
    bench = FrameBench(run)
    _from_peer(bench, partial(_to_groups, bench, joined, Arrives.ALL), say, PortModes(groups=tuple(joined)))
    _left(run, bench, joined[-UNJOINED:] + others, say)


def _left(run: Run, bench: FrameBench, others: Sequence[str], say: Say) -> None:
    """Groups that were left, or never joined, do not get through; how many may, the kind of the filter says."""

    def sent(port: Port) -> list[FrameStream]:
        return [_to_own_address(bench, port), *_to_groups(bench, others, Arrives.ANY, port)]

    ledger = _from_peer(bench, sent, say)
    facts = _section(run)
    allowed = {MulticastFilter.EXACT: 0, MulticastFilter.HASH: len(others) // HASH_LEAKS}.get(
        facts.multicast, len(others)
    )
    problems = []
    for leg in ledger.legs:
        leaked = len({flow for flow in leg.arrived if leg.streams[flow].at_port is Arrives.ANY})
        say(f"{leg.receiver.name}: {leaked} of {len(others)} groups that were not joined got through")
        if leaked > allowed:
            said = f"{leg.receiver.place}: frames to {leaked} of {len(others)} groups that nobody has joined arrived"
            kind = f"its filter is {facts.multicast.value}"
            problems.append(f"{said}; sheet {run.card.name} allows {allowed}: {kind}")
    fail_with(problems)


def _to_groups(bench: FrameBench, macs: Sequence[str], at_port: Arrives, port: Port) -> list[FrameStream]:
    return [
        _only(bench.frames(f"frames to group {mac}", port, PER_GROUP, SIZES, destination=mac), at_port) for mac in macs
    ]


def all_groups(run: Run, say: Say) -> None:
    """Send frames to groups that nobody has joined to ports of the dut that receive all groups.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: One is lost, or frames for a strange address arrive.
        SheetUnknown, Deviation: A filter that is not known to be exact refuses no address.
    """
    bench, macs = FrameBench(run), strange_addresses(TOGETHER, SEED + 1, multicast=True)
    refused = _refused_address(run, bench, say)

    def sent(port: Port) -> list[FrameStream]:
        strange = bench.frames("frames to a strange address", port, COUNT, SIZES, destination=refused)
        return [*_to_groups(bench, macs, Arrives.ALL, port), _only(strange, Arrives.NONE)]

    _from_peer(bench, sent, say, PortModes(all_multicast=True))


def more_addresses(run: Run, say: Say) -> None:
    """Send frames to addresses that the ports of the dut have in addition to their own.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: One is lost.
    """
    bench, macs = FrameBench(run), strange_addresses(ADDRESSES, SEED + 2)

    def sent(port: Port) -> list[FrameStream]:
        return [bench.frames(f"frames to address {mac}", port, PER_GROUP, SIZES, destination=mac) for mac in macs]

    _from_peer(bench, sent, say, PortModes(addresses=tuple(macs)))


def changed_address(run: Run, say: Say) -> None:
    """Give each port of the dut another MAC address, and its own back: the one that it has is the one that works.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A port does not receive at its address, still does at the other one, or loses pings.
        BenchFault: The tool failed, or an address cannot be set or put back.
    """
    bench = FrameBench(run)
    ports = bench.of(Role.DUT)
    own = {port: bench.mac(port) for port in ports}
    new = dict(zip(ports, strange_addresses(len(ports), SEED + 3), strict=True))
    with ExitStack() as undoing:
        for port in ports:
            undoing.enter_context(_address(run, port, own[port], new[port]))
        _answers_at(run, FrameBench(run), new, own, say)
        _require_pings(run, bench)
    _answers_at(run, FrameBench(run), own, new, say)
    _require_pings(run, bench)


def _require_pings(run: Run, bench: FrameBench) -> None:
    """Pings from the system itself; the peer asks for addresses again, which it may remember for a minute."""
    for port in bench.of(Role.PEER):
        run.server_of(port).run(f"ip neigh flush dev {shlex.quote(run.interface(port))}")
    link_checks.require_traffic(run)


@contextmanager
def _address(run: Run, port: Port, own: str, new: str) -> Iterator[None]:
    server, iface = run.server_of(port), run.interface(port)
    command = server.host.links.mac_command
    with put_back(run, server, port.name, f"{iface}: MAC address becomes {new}", command(iface, own), iface):
        server.run(command(iface, new))
        found = server.host.links.interface(iface).mac
        if found != new:
            raise BenchFault(f"{port.place}: MAC address is {found}, {new} was set")
        yield


def _answers_at(run: Run, bench: FrameBench, now: dict[Port, str], before: dict[Port, str], say: Say) -> None:
    exact = _section(run).unicast is ExactFilter.EXACT and not run.bench.deviation(
        run.card.name, SiliconFact.UNICAST_FILTER
    )

    def sent(sender: Port) -> list[FrameStream]:
        port = run.bench.partner(sender)
        old = bench.frames(f"frames to {before[port]}", sender, COUNT, SIZES, destination=before[port])
        new = bench.frames(f"frames to {now[port]}", sender, COUNT, SIZES, destination=now[port])
        return [new, _only(old, Arrives.NONE if exact else Arrives.ANY)]

    _from_peer(bench, sent, say)


def vlans(run: Run, say: Say, own: Sequence[int] = VLANS, per_vlan: int = COUNT) -> None:
    """Send frames of many VLANs to a port of the dut that is in some of them.

    Args:
        run: The current run.
        say: Takes what became of the frames.
        own: Ids of the VLANs that it is in.
        per_vlan: Frames of each VLAN.

    Raises:
        CardFailure: One of its own VLANs is lost, loses its tag, or another one gets through the filter; the filter is
            off and cannot be switched on, while the sheet says that it is on as delivered.
        BenchFault: The tool failed, or a VLAN cannot be made or removed.
        SheetUnknown: Nobody knows whether the filter is exact.
        NotApplicable: The sheet does not say that the driver filters VLANs, or a server cannot send frames of its own.
    """
    _require_exact(run, SiliconFact.VLAN_FILTER)
    bench = FrameBench(run)
    sender = bench.of(Role.PEER)[0]
    dut = DutPort(run, run.bench.partner(sender))
    with applied(run, Way(run.bench.paths[0], Role.DUT), _filter_on(dut)):
        _filtered(bench, sender, dut, own, per_vlan, say)


def _filter_on(dut: DutPort) -> tuple[Setting, ...]:
    """The features that must be set so that a port filters VLANs.

    Raises:
        CardFailure: Its filter is off and fixed, while the sheet says that it is on as delivered.
        NotApplicable: The sheet does not say that it is on, or can be switched on.
    """
    run = dut.run
    row = rows(run).get(OffloadName.VLAN_FILTER)
    if row is None:
        system = run.server(Role.DUT).description.os.value
        raise NotApplicable(f"sheet {run.card.name} names no offload {OffloadName.VLAN_FILTER.value} for {system}")
    feature = row.feature(dut, dut.host.settings.features(dut.iface))
    if feature.on:
        return ()
    if row.change is Changeable.BOTH:
        return (Setting(kind=SettingKind.OFFLOAD, name=row.name.value, to=True, at=At.SENDER),)
    if row.default is not True:
        raise NotApplicable(
            f"{dut.place} does not filter VLANs, nor does sheet {run.card.name} say that its driver does"
        )
    raise CardFailure(row.expected(dut, "is off and cannot be switched", "it on, and filters.vlan: exact"))


def _filtered(bench: FrameBench, sender: Port, dut: DutPort, own: Sequence[int], per_vlan: int, say: Say) -> None:
    def frames(vid: int) -> FrameStream:
        return bench.frames(f"frames of VLAN {vid}", sender, per_vlan, SIZES, vlans=(vid,))

    others = sorted({vid + step for vid in own for step in (1, 16)} - set(own))
    with ExitStack() as undoing:
        made_for = upper_devices.vlans_without_addresses(dut.run, dut.port, own)
        undoing.callback(lambda: blame(upper_devices.remove(dut.run, made_for)))
        untagged = bench.frames("frames without tag", sender, COUNT, SIZES)
        foreign = (_only(frames(vid), Arrives.NONE) for vid in others)
        exchange(dut.run, [untagged, *map(frames, own), *foreign], say)
