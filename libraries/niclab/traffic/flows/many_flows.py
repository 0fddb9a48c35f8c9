"""Datagrams of many flows at once: what spreads traffic over the links of a bond has something to spread."""

from __future__ import annotations

from niclab.run.server import Server, quoted

FLOWS, EACH = 64, 4
"""The ports of the flows follow one another, so a hash that is linear in them, as that of Linux' bonding driver
(Documentation/networking/bonding.rst, layer3+4), divides them evenly."""
FIRST_PORT, DISCARD_PORT = 20000, 9
"""Below the ports that a system gives away itself; where nobody listens (RFC 863)."""
_PROGRAM = """
import socket, sys
source, target = sys.argv[1:3]
first, flows, each, port = map(int, sys.argv[3:])
for number in range(first, first + flows):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flow:
        flow.bind((source, number))
        for _ in range(each):
            flow.sendto(b"niclab", (target, port))
"""


def send(server: Server, source: str, target: str) -> int:
    """Send :data:`EACH` datagrams from each of :data:`FLOWS` ports.

    Args:
        server: The server that sends.
        source: Its address.
        target: The address that they are sent to.

    Returns:
        How many datagrams were sent.

    Raises:
        BenchFault: The server does not send them all.
    """
    server.run(quoted("python3", "-c", _PROGRAM, source, target, *map(str, (FIRST_PORT, FLOWS, EACH, DISCARD_PORT))))
    return FLOWS * EACH
