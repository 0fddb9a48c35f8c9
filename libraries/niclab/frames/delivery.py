"""Data that must arrive: each frame once, in order and unchanged, of every size, and with each offload on and off.

Every check raises BenchFault when the peer alone is wrong or the tool failed, Undecided when the exchange proves
nothing, and NotApplicable when a server cannot send frames of its own.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

from niclab.bench.records import Port, Role
from niclab.card import At, Changeable, OffloadName, Setting, SettingKind
from niclab.core.verdict import NotApplicable, Undecided, fail_with
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.spec import (
    ETHERNET_HEADER,
    SHORTEST_FRAME,
    SHORTEST_TCP_FRAME,
    Arrives,
    FrameKind,
    FrameStream,
    MadeBy,
    Wrong,
)
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.settings.dut_ports import DutPort
from niclab.settings.offloads.offload_table import rows
from niclab.traffic.effects.variants import Way, applied

FRAMES = 997
"""A prime number, so that no counter of something else is taken for it."""
RECORDS, DATAGRAMS = 41, 149
DATAGRAMS_PER_S = 200.0
"""No load: what is lost was not for want of room."""
RECORD_SIZES = (65000, 25, 1448, 32768, 4095, 9001)
DATAGRAM_SIZES, FRAGMENTED_SIZES = (1472, 100, 1471, 25), (8000, 1473, 4097)
"""Bytes; more than 1472 are sent in fragments at an MTU of 1500. A flow has one kind: a card with several queues may
spread fragments by addresses alone, and the others by ports as well."""
PIECES = (1448, 1, 333, 64, 7, 4097, 2, 15, 700, 31, 128, 1023)
"""Bytes; about a thousand pieces, so that they begin at the first thousand places of a page."""
EDGE = 40
PER_SIZE = 3
CHECKED = 96
SUM_SIZES = (SHORTEST_TCP_FRAME, 1514, 301, 1024, 79, 777)


def once_in_order(run: Run, say: Say) -> None:
    """Send frames over every path in both directions at once; each must arrive once, in order, unchanged and counted.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged or miscounted frames.
    """
    bench = FrameBench(run)
    sizes = [60, 1514, 61, 128, 1024, 1513, 65, 590, 333, 1400]
    exchange(run, [bench.frames("frames of mixed sizes", port, FRAMES, sizes) for port in bench.ports], say)


def every_size(run: Run, say: Say) -> None:
    """Send a frame of every size of the MTU that the ports have, over the first path in both directions.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged or miscounted frames.
    """
    bench = FrameBench(run)
    streams = []
    for port in map(run.bench.port, run.bench.paths[0].ends):
        largest = run.server_of(port).host.settings.mtu(run.interface(port)) + ETHERNET_HEADER
        sizes = range(SHORTEST_FRAME, largest + 1)
        streams.append(bench.frames(f"frames of {sizes[0]} to {sizes[-1]} bytes", port, len(sizes), sizes))
    exchange(run, streams, say)


def largest_sizes(run: Run, say: Say) -> None:
    """Send the smallest and the largest frames with the largest MTU of the sheet, over every path in both directions.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged or miscounted frames, or does not take the MTU.
        NotApplicable: The sheet does not know the largest MTU, or a server cannot send frames of its own.
    """
    most = run.card.known(run.card.section(run.card.mtu, "mtu").max, "mtu.max")
    with ExitStack() as undoing:
        for path in run.bench.paths:
            undoing.enter_context(mtu.both_ends(run, path, most))
        bench, end = FrameBench(run), most + ETHERNET_HEADER
        sizes = [*range(SHORTEST_FRAME, SHORTEST_FRAME + EDGE), *range(end - EDGE, end + 1), *range(2000, end, 512)]
        name = f"frames of {SHORTEST_FRAME} to {end} bytes"
        exchange(run, [bench.frames(name, port, PER_SIZE * len(sizes), sizes) for port in bench.ports], say)


def over_sockets(run: Run, say: Say, offload: str, on: bool) -> None:
    """Send records over UDP, in fragments as well, and TCP over the first path both ways, with offloads on or off.

    Args:
        run: The current run.
        say: Takes what became of the records.
        offload: Name of an offload of the sheet such as ``tso4``, or ``every`` for all of them at once.
        on: Are they on?

    Raises:
        CardFailure: A record is lost, doubled, reordered or damaged, or an offload cannot be switched.
        NotApplicable: The sheet says of no such offload that it can be switched.
        SheetUnknown: It does not know how they can be changed.
    """
    named = rows(run, offload).values()
    switched = [row for row in named if row.change is Changeable.BOTH]
    if not switched:
        for row in named:
            run.card.known(row.change, f"how {row.name.value} can be changed")
        raise NotApplicable(f"sheet {run.card.name} knows no offload {offload} that can be switched")
    bench, path = FrameBench(run), run.bench.paths[0]
    dut = DutPort(run, run.bench.end(path, Role.DUT))
    shown = dut.host.settings.features(dut.iface)
    settings = [
        Setting(kind=SettingKind.OFFLOAD, name=row.name.value, to=on, at=At.SENDER)
        for row in switched
        if row.feature(dut, shown).on is not on
    ]
    ports = [run.bench.port(end) for end in path.ends]
    # what clears others is switched off last and on first
    ordered = tuple(settings if on else reversed(settings))
    with applied(run, Way(path, Role.DUT), ordered):
        exchange(run, [stream for port in ports for stream in _records(bench, port)], say)


def gathered(run: Run, say: Say) -> None:
    """Send records over TCP that lie in pieces at every place of a page, from each port of the dut whose card gathers.

    Args:
        run: The current run.
        say: Takes what became of the records.

    Raises:
        CardFailure: A record is lost, doubled, reordered or damaged.
        NotApplicable: The sheet names no scatter-gather, or it is off at each port: their system copies the pieces.
    """
    named = rows(run, OffloadName.SCATTER_GATHER.value)
    bench, streams = FrameBench(run), list[FrameStream]()
    for port in bench.of(Role.DUT):
        dut = DutPort(run, port)
        shown = dut.host.settings.features(dut.iface)
        if all(row.feature(dut, shown).on for row in named.values()):
            made = bench.records("records over TCP in pieces", port, MadeBy.TCP, RECORDS, RECORD_SIZES)
            streams.append(replace(made, pieces=PIECES))
        else:
            say(f"{dut.place}: scatter-gather is off: its system copies the pieces of a frame together")
    if not streams:
        raise NotApplicable(f"{run.server(Role.DUT).name}: scatter-gather is off at each port of the card")
    exchange(run, streams, say)


def _records(bench: FrameBench, port: Port) -> list[FrameStream]:
    datagrams = [
        bench.records("datagrams", port, MadeBy.UDP, DATAGRAMS, DATAGRAM_SIZES),
        bench.records("datagrams in fragments", port, MadeBy.UDP, DATAGRAMS, FRAGMENTED_SIZES),
    ]
    return [
        *(replace(each, per_s=DATAGRAMS_PER_S) for each in datagrams),
        bench.records("records over TCP", port, MadeBy.TCP, RECORDS, RECORD_SIZES),
    ]


def wrong_checksums(run: Run, say: Say) -> None:
    """Send UDP and TCP with wrong checksums, and good ones among them, to every port of the dut.

    No program may get a wrong one, and the system counts each; a connection with a wrong checksum is not answered.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: A wrong one is delivered or not counted, or the card says that its checksum is right.
        Undecided: Connections with good checksums were not answered, which either end may have lost.
    """
    bench = FrameBench(run)
    streams = [stream for port in bench.of(Role.PEER) for stream in _checksums(bench, port)]
    ledger, answers = exchange(run, streams, say)
    ports, dut = len(bench.of(Role.PEER)), run.server(Role.DUT).name
    counted, resets = answers[Role.DUT].wrong_sums, sum(look.resets for look in answers[Role.PEER].ports.values())
    say(f"{dut}: counted wrong checksums {counted}, {resets} connections refused")
    problems = list[str]()
    refused = f"{dut}: {resets} connections to a closed port refused; expected {CHECKED * ports}, those with good sums"
    if resets > CHECKED * ports:
        problems.append(refused)
    for leg in ledger.legs:
        for flow, came in leg.arrived.items():
            stream = leg.streams[flow]
            if stream.frame and stream.frame.wrong is Wrong.TRANSPORT and came.valid:
                said = f"{leg.receiver.place}: the card called {came.valid} checksums of {stream.name} right"
                problems.append(f"{said}; expected none")
    fail_with(problems)
    if resets < CHECKED * ports:
        raise Undecided(f"{refused}; either end may have lost the answers of the others")


def _checksums(bench: FrameBench, port: Port) -> list[FrameStream]:
    """Good and wrong frames of each kind. What the system does with them is counted by it, or by a program."""
    kinds = ((FrameKind.UDP, "UDP"), (FrameKind.TCP, "TCP"))
    found = []
    for kind, name in kinds:
        for wrong, what in ((Wrong.NOTHING, "right"), (Wrong.TRANSPORT, "wrong")):
            made = bench.frames(f"{name} with {what} checksums", port, CHECKED, SUM_SIZES, kind=kind, wrong=wrong)
            delivered = Arrives.NONE if wrong is Wrong.TRANSPORT else Arrives.ALL
            found.append(replace(made, at_program=delivered if kind is FrameKind.UDP else Arrives.ANY))
    made = bench.frames("UDP with wrong IP checksums", port, CHECKED, SUM_SIZES, kind=FrameKind.UDP, wrong=Wrong.IP)
    return [*found, replace(made, at_program=Arrives.NONE)]
