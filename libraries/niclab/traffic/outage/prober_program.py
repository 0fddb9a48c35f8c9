"""The outage prober's program: runs on a server, sent there as source; needs Python 3.7 and its standard library only.

Sends numbered UDP packets to its partner at a steady pace, and notes when each was sent and when each of the partner's
arrived. Arrivals are stamped by the kernel, so that a pause of this program delays none of them. A send that comes late
is not made up for: its tick is noted when it happens, and the ticks show the pause. Runs on Linux and FreeBSD.

Prints ``ready PID`` when it listens, sends from SIGUSR2 on (what asks whether it is ready holds up a slow server), and
prints its notes when it gets SIGUSR1 or SIGTERM, or its time is over::

    clock -12                 microseconds by which the wall clock was stepped against the monotonic one meanwhile
    overflowed 0              packets that the kernel dropped because this program had not fetched the earlier ones; on
                              FreeBSD those of all programs
    refused 17 18             numbers of packets that the kernel refused to send
    full 21                   numbers of packets for which the queue of this server had no room
    ticks 1700000000000000 1003 998
                              wall clock of the first send in microseconds, then the steps to the next ones
    arrivals 0:1700000000000840 1:1001
                              number of each packet that arrived and its wall clock; from the second on the steps
    end 3 2                   how many ticks and arrivals there are
"""

from __future__ import annotations

import errno
import gc
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from array import array
from typing import NamedTuple


class Kernel(NamedTuple):
    """The socket options of a kernel for time stamps and drops; ``per_us``: units of a stamp in a microsecond."""

    stamp_option: int
    stamp_kind: int
    per_us: int
    drops_option: int | None


# Python's socket module has no names for them. Linux: include/uapi/asm-generic/socket.h, SO_TIMESTAMPNS, SO_RXQ_OVFL.
LINUX = Kernel(35, 35, 1000, 40)
# FreeBSD: sys/sys/socket.h, SO_TIMESTAMP and SCM_TIMESTAMP; a socket has no count of its own there.
FREEBSD = Kernel(0x0400, 0x02, 1, None)
KERNEL = FREEBSD if sys.platform.startswith("freebsd") else LINUX
FULL_BUFFERS = re.compile(r"^\s*(\d+) dropped due to full socket buffers$", re.MULTILINE)
PACKET = struct.Struct("!QI")
"""Token of the run, number of the packet."""
STAMP = struct.Struct("@qq")
DROPS = struct.Struct("@I")
FETCH_EVERY = 32
"""Ticks between two looks at the socket: fetching costs more than sending, and the kernel's stamps lose nothing."""
NO_ROOM = (errno.EAGAIN, errno.ENOBUFS)
"""Linux: the socket's own queue; FreeBSD: that of the interface."""
LISTEN_ON_S = 0.3
BUFFER_BYTES = 4 << 20
SO_RCVBUFFORCE = 33
"""Linux: root may have more than net.core.rmem_max."""


URGENT = -10
"""Other programs of a busy server hold this one up less."""
BEGIN_AFTER_S = 0.3
"""The command that sent the signal has ended then."""


class Notes:
    """The observations of one end."""

    def __init__(self) -> None:
        self.ticks, self.refused, self.full = array("q"), array("q"), array("q")
        self.numbers, self.stamps = array("q"), array("q")
        self.overflowed = 0


def opened(address: str, port: int) -> socket.socket:
    """A socket that stamps what arrives."""
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, KERNEL.stamp_option, 1)
    if KERNEL.drops_option is not None:
        sock.setsockopt(socket.SOL_SOCKET, KERNEL.drops_option, 1)
    enlarge(sock)
    sock.bind((address, port))
    sock.setblocking(False)
    return sock


def enlarge(sock: socket.socket) -> None:
    """Give the socket the largest buffer up to BUFFER_BYTES that the kernel allows (FreeBSD: kern.ipc.maxsockbuf)."""
    options = [(SO_RCVBUFFORCE, BUFFER_BYTES)] if KERNEL is LINUX else []
    options += [(socket.SO_RCVBUF, BUFFER_BYTES >> halved) for halved in range(6)]
    for option, size in options:
        try:
            sock.setsockopt(socket.SOL_SOCKET, option, size)
            return
        except OSError as error:
            refused = error
    raise refused


def dropped_by_all() -> int:
    """Packets that FreeBSD has dropped, of all programs, because a socket's buffer was full."""
    said = subprocess.run(["netstat", "-s", "-p", "udp"], stdout=subprocess.PIPE, check=True).stdout.decode()
    found = FULL_BUFFERS.search(said)
    if found is None:
        raise SystemExit(f"netstat -s -p udp: no line 'N dropped due to full socket buffers' in {said!r}")
    return int(found.group(1))


def arrived_us(kernel: Kernel, extras: list[tuple[int, int, bytes]]) -> int | None:
    """Return when a packet arrived, by its ancillary data: wall clock in microseconds."""
    for level, kind, value in extras:
        if level == socket.SOL_SOCKET and kind == kernel.stamp_kind:
            seconds, fractions = STAMP.unpack(value[: STAMP.size])
            return int(seconds * 1000000 + fractions // kernel.per_us)
    return None


def fetch(sock: socket.socket, token: int, notes: Notes) -> None:
    """Note everything that waits in the socket."""
    while True:
        try:
            data, extras, _, _ = sock.recvmsg(64, 128)
        except BlockingIOError:
            return
        for level, kind, value in extras:
            if level == socket.SOL_SOCKET and kind == KERNEL.drops_option:
                notes.overflowed = DROPS.unpack(value[: DROPS.size])[0]
        stamp = arrived_us(KERNEL, extras)
        if len(data) == PACKET.size and stamp is not None:
            of, number = PACKET.unpack(data)
            if of == token:
                notes.numbers.append(number)
                notes.stamps.append(stamp)


def probe(
    sock: socket.socket, partner: tuple[str, int], token: int, period_ns: int, limit_s: float, stop: list[int]
) -> Notes:
    """Send and listen until ``stop`` holds something or ``limit_s`` have passed."""
    notes = Notes()
    pack, clock, wall, send, ticks = PACKET.pack, time.monotonic_ns, time.time_ns, sock.sendto, notes.ticks
    due = clock()
    end, number, look = due + int(limit_s * 1e9), 0, 0
    while not stop and due < end:
        wait = due - clock()
        if wait > 0:
            select.select([], [], [], wait / 1e9)
        ticks.append(wall() // 1000)
        try:
            send(pack(token, number), partner)
        except OSError as error:
            (notes.full if error.errno in NO_ROOM else notes.refused).append(number)
        number += 1
        look += 1
        if look == FETCH_EVERY:
            look = 0
            fetch(sock, token, notes)
        due = max(due + period_ns, clock())
    last = clock() + int(LISTEN_ON_S * 1e9)
    while clock() < last:
        select.select([], [], [], 0.02)
        fetch(sock, token, notes)
    return notes


def steps(values: array[int]) -> list[int]:
    """The first value, then the difference of each to the one before it."""
    return [value - before for value, before in zip(values, [0, *values[:-1]])]  # noqa: B905 - strict= is Python 3.10


def told(notes: Notes, stepped_us: int) -> str:
    """The notes as text."""
    pairs = zip(notes.numbers, steps(notes.stamps))  # noqa: B905 - as above
    lines = [
        f"clock {stepped_us}",
        f"overflowed {notes.overflowed}",
        " ".join(["refused", *map(str, notes.refused)]),
        " ".join(["full", *map(str, notes.full)]),
        " ".join(["ticks", *map(str, steps(notes.ticks))]),
        " ".join(["arrivals", *(f"{number}:{step}" for number, step in pairs)]),
        f"end {len(notes.ticks)} {len(notes.numbers)}",
    ]
    return "\n".join(lines) + "\n"


def wall_ahead_ns() -> int:
    """Return the lead of the wall clock over the monotonic one: of many readings the one least disturbed by a pause."""
    readings = []
    for _ in range(50):
        before, wall, after = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        readings.append((after - before, wall - (before + after) // 2))
    return min(readings)[1]


def wait_for_begin(ready: str, limit_s: float) -> None:
    """Print ``ready`` and return a moment after SIGUSR2, or when another signal or the limit ends it."""
    signals = (signal.SIGUSR2, signal.SIGUSR1, signal.SIGTERM)
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    print(ready, flush=True)
    got = signal.sigtimedwait(signals, limit_s)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
    if got is None or got.si_signo != signal.SIGUSR2:
        raise SystemExit("nobody made it begin")
    select.select([], [], [], BEGIN_AFTER_S)


def main(arguments: list[str]) -> None:
    """``ADDRESS PORT PARTNER PORT TOKEN PERIOD_US LIMIT_S``."""
    address, port, partner, partner_port, token, period_us, limit_s = arguments
    stop: list[int] = []
    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, lambda caught, _: stop.append(caught))
    gc.disable()
    if os.geteuid() == 0:
        os.nice(URGENT)
    sock = opened(address, int(port))
    dropped = dropped_by_all() if KERNEL is FREEBSD else 0
    wait_for_begin(f"ready {os.getpid()}", float(limit_s))
    before = wall_ahead_ns()
    partner_at = (partner, int(partner_port))
    notes = probe(sock, partner_at, int(token), int(period_us) * 1000, float(limit_s), stop)
    stepped_us = (wall_ahead_ns() - before) // 1000
    if KERNEL is FREEBSD:
        notes.overflowed = dropped_by_all() - dropped
    sys.stdout.write(told(notes, stepped_us))


if __name__ == "__main__":
    main(sys.argv[1:])
