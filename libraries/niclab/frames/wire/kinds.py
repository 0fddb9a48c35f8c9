"""Frames of kinds that one plain flow does not have: IPv6 with extension headers, tags, many connections, padding."""

from __future__ import annotations

from contextlib import ExitStack

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import blame
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.server_agent import require_packet_sockets
from niclab.frames.spec import FrameKind, FrameStream, tag
from niclab.frames.wire.ground import addresses_6
from niclab.links.upper import upper_devices
from niclab.run.run import Run

OUTER, INNER = 7, 9
"""VLAN ids."""
PRIORITIES = range(8)
COUNT, SIZES = 48, (151, 1514, 777, 118, 1513, 333)
"""Bytes."""
MANY, CONNECTIONS = 512, 64
PADDED, PADDED_SIZES = 240, (1514, 38, 1514, 45, 1514, 59, 1514, 52)
"""Bytes; before each frame that is padded comes one whose bytes must not be in the padding."""


def every_kind(run: Run, say: Say) -> None:
    """Send IPv6 with extension headers, TCP of many connections, and tags of every priority over the first path.

    Tags, VLAN id 0 and two tags among them, where the path is a cable: a switch carries the VLANs that it is set to.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The card lost, doubled, reordered, damaged or miscounted frames, or changed a tag.
        BenchFault: The peer alone did, the tool failed, or a VLAN cannot be made or removed.
        Undecided: The exchange proves nothing.
        NotApplicable: A server does not run Linux.
    """
    for role in Role:
        require_packet_sockets(run.server(role))
    path, bench = run.bench.paths[0], FrameBench(run)
    ports = [run.bench.port(end) for end in path.ends]
    streams = [stream for port in ports for stream in _untagged(bench, port)]
    with ExitStack() as undoing:
        if path.through is Wiring.DIRECT:
            for port in ports:
                made = upper_devices.vlans_without_addresses(run, port, [OUTER])
                undoing.callback(lambda made=made: blame(upper_devices.remove(run, made)))  # type: ignore[misc]
            streams += [stream for port in ports for stream in _tagged(bench, port)]
        exchange(run, streams, say)


def _untagged(bench: FrameBench, port: Port) -> list[FrameStream]:
    over_6 = {"addresses": addresses_6(bench.run, port), "connections": 16}
    many = bench.frames("TCP of many connections", port, MANY, SIZES, kind=FrameKind.TCP, connections=CONNECTIONS)
    return [
        many,
        *(
            bench.frames(
                f"{kind.value.upper()} over IPv6 with {extensions} extension headers",
                port,
                COUNT,
                SIZES,
                kind=kind,
                extensions=extensions,
                **over_6,
            )
            for kind in (FrameKind.UDP, FrameKind.TCP)
            for extensions in range(3)
        ),
    ]


def _tagged(bench: FrameBench, port: Port) -> list[FrameStream]:
    kinds: dict[str, tuple[int, ...]] = {f"priority {each} in VLAN {OUTER}": (tag(OUTER, each),) for each in PRIORITIES}
    kinds |= {f"priority {each} in no VLAN": (tag(0, each),) for each in (0, 6)}
    kinds |= {"two tags": (tag(OUTER, 3), tag(INNER, 5))}
    return [bench.frames(f"frames of {name}", port, COUNT, SIZES, vlans=tags) for name, tags in kinds.items()]


def padding(run: Run, say: Say) -> None:
    """Send frames that are too short for Ethernet, between long ones, from every port of the dut: zeros fill them up.

    RFC 894 and RFC 1042 demand zeros. Others are what is left of other frames, or of the server's memory.

    Args:
        run: The current run.
        say: Takes what became of the frames.

    Raises:
        CardFailure: The padding of a frame is not zeros, or frames are lost, doubled, reordered or damaged.
        BenchFault: The tool failed.
        Undecided: The exchange proves nothing.
        NotApplicable: A server does not run Linux.
    """
    bench = FrameBench(run)
    made = [bench.frames("frames with padding", port, PADDED, PADDED_SIZES) for port in bench.of(Role.DUT)]
    # the size of what is padded is counted by some cards as it was given to them, by others as it left
    exchange(run, made, say, alone=False)
