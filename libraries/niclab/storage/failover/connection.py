"""The TCP connection that carries storage, as Linux shows it at both ends."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.hosts.errors import unreadable
from niclab.run.run import Run

_SHOW = "cat /proc/net/tcp"
_TICK_MS = 10
"""Times are in units of USER_HZ, 100 a second (linux/net/ipv4/tcp_ipv4.c, get_tcp4_sock(): jiffies_to_clock_t())."""
_LOCAL, _REMOTE, _STATE, _TIMER = 1, 2, 3, 12
_ESTABLISHED = "01"
_TITLE = "local_address"
_End = tuple[str, int]


@dataclass(frozen=True)
class SessionConnection:
    """A connection.

    ``port``: TCP port of the client, for iSCSI another one after each login; ``timer_ms``: the longer one of the
    retransmission timers of both ends.
    """

    port: int
    timer_ms: int


def between(run: Run, client: Role, address: str, there: tuple[str, int]) -> SessionConnection | None:
    """Look for the connection of a client with the other server, at both ends.

    Args:
        run: The current run.
        client: The server that has made the connection.
        address: Its address.
        there: Address and TCP port at which the other one listens.

    Returns:
        The connection; None where an end has none.

    Raises:
        ReadError: The kernel's table cannot be read.
        BenchFault: A server does not answer.
    """
    ends = (client, Role.PEER if client is Role.DUT else Role.DUT)
    own, others = side_by_side(lambda role: _established(run.server(role).run(_SHOW).stdout), ends)
    here = {local[1]: timer_ms for local, remote, timer_ms in own if local[0] == address and remote == there}
    theirs = [timer_ms for local, remote, timer_ms in others if local == there and remote[0] == address]
    if not here or not theirs:
        return None
    return SessionConnection(min(here), max(*here.values(), *theirs))


def _established(text: str) -> list[tuple[_End, _End, int]]:
    """Both ends of each connection, the own one first, and its retransmission timer in ms."""
    heading, *rows = text.splitlines() or [""]
    if _TITLE not in heading:
        raise unreadable(_SHOW, "line 1", heading, f"a heading with {_TITLE}")
    found = list[tuple[_End, _End, int]]()
    for number, row in enumerate(rows, start=2):
        fields = row.split()
        try:
            if fields[_STATE] == _ESTABLISHED:
                found.append((_end(fields[_LOCAL]), _end(fields[_REMOTE]), int(fields[_TIMER]) * _TICK_MS))
        except (ValueError, IndexError, OSError) as error:
            raise unreadable(_SHOW, f"line {number}", row, "ends, state and timer of a connection") from error
    return found


def _end(shown: str) -> _End:
    """Address and port; the kernel shows the address as a number of a little-endian processor."""
    address, _, port = shown.partition(":")
    return socket.inet_ntoa(bytes.fromhex(address)[::-1]), int(port, 16)
