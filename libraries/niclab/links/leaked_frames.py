"""Frames that arrive where they should not: watched with tcpdump, while something else happens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from niclab.core.verdict import BenchFault
from niclab.run.server import Server, quoted

READY_WITHIN_S = 10.0
LIMIT_S = 600.0
"""Assumption: pings between two ends take seconds; tcpdump ends by itself after this."""


_LISTENS = 'while IFS= read -r line; do case $line in *"listening on"*) return 0 ;; esac; done <"$1/err"; return 1'
"""Has tcpdump said so? To stderr, after other words."""


class LeakedFrames:
    """The result of a watch, once it is over.

    ``first``: tcpdump's line of the first leaked frame; empty when there was none.
    """

    def __init__(self) -> None:
        self.first = ""


@contextmanager
def untagged_ipv4(server: Server, iface: str, sender_mac: str) -> Iterator[LeakedFrames]:
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
    found = LeakedFrames()
    try:
        job.await_begin(_LISTENS, f"tcpdump on {iface} to listen", READY_WITHIN_S)
        yield found
    finally:
        ended = job.stop()
    if ended.exit_status != 0 and ended.signal != "TERM":
        said = ended.stderr.strip()[-300:]
        raise BenchFault(f"{server.name}: tcpdump on {iface}: {ended.ending}: {said}")
    found.first = ended.stdout.strip()
