"""Frames that arrive where they should not: watched with tcpdump, while something else happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.run.server import Server, quoted

READY_WITHIN_S = 10.0
LIMIT_S = 600.0
"""House rule: pings between two ends take seconds; tcpdump ends by itself after this."""


class StrayFrames:
    """What a watch has seen. ``first``: tcpdump's line of the first stray frame; empty when there was none."""

    def __init__(self) -> None:
        self.first = ""


@contextmanager
def untagged_ipv4(server: Server, iface: str, sender_mac: str) -> Iterator[StrayFrames]:
    """Watch for ARP and ICMP frames of ``sender_mac`` without a VLAN's tag on ``iface``, for as long as the body takes.

    The port is not made promiscuous: that would switch off the filter under test.

    Args:
        server: The server that watches.
        iface: Its interface.
        sender_mac: MAC address of the sender whose frames are watched for.

    Raises:
        BenchFault: tcpdump does not start (it is not installed), or ends for another reason than a frame.
    """
    # "not vlan" comes last: in pcap's language it moves the offsets of all that follows it by a tag
    expression = f"ether src {sender_mac} and (arp or icmp) and not vlan"
    job = server.start(
        quoted("tcpdump", "-p", "-n", "-l", "--immediate-mode", "-c", "1", "-i", iface, expression), limit_s=LIMIT_S
    )
    found = StrayFrames()

    def listening() -> bool:
        if (status := job.poll()) not in (None, 0):
            said = job.errors().strip()[-300:]
            raise BenchFault(f"{server.name}: tcpdump on {iface} ended with status {status}: {said}")
        return "listening on" in job.errors()

    try:
        until(listening, within=READY_WITHIN_S, what=f"{server.name}: tcpdump to listen on {iface}")
        yield found
        listening()
        found.first = job.output().strip()
    finally:
        job.stop()
