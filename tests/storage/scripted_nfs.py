"""A scripted server of RPC on the loopback: port mapper, MOUNT and NFS, coded by hand from RFC 1813 and RFC 5531."""

from __future__ import annotations

import hashlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

FOLDER, FILE, SEED, SIZE = "/export", "cached", "seed", 8 << 15
ROOT, HANDLE = b"root-handle!", b"handle"
CONTENT = hashlib.shake_128(SEED.encode()).digest(SIZE)


@dataclass
class ScriptedNfs:
    """``script``: takes the number of a READ, from 0 on, and its answer; returns the messages that are sent for it."""

    script: Callable[[int, bytes], list[bytes]] = lambda _, message: [message]
    mount_status: int = 0
    read_status: int = 0
    registered: bool = True
    denies: bool = False
    closes_at: int | None = None
    reads: list[int] = field(default_factory=list)
    port: int = 0

    def answers(self, message: bytes) -> list[bytes]:
        xid, kind, version, program, _, procedure = struct.unpack(">6I", message[:24])
        assert (kind, version) == (0, 2)
        (size,) = struct.unpack(">I", message[28:32])
        arguments = message[32 + size + 8 :]
        if self.denies:
            return [struct.pack(">5I", xid, 1, 1, 1, 1)]
        head = struct.pack(">6I", xid, 1, 0, 0, 0, 0)
        if program == 100000:
            return [head + struct.pack(">I", self.port if self.registered else 0)]
        if program == 100005:
            assert (procedure, arguments) == (1, struct.pack(">I", len(FOLDER)) + FOLDER.encode() + b"\0")
            return [head + struct.pack(">I", self.mount_status) + struct.pack(">I", len(ROOT)) + ROOT + bytes(8)]
        if procedure == 3:
            assert arguments == struct.pack(">I", 12) + ROOT + struct.pack(">I", 6) + FILE.encode() + b"\0\0"
            return [head + struct.pack(">II", 0, len(HANDLE)) + HANDLE + b"\0\0" + bytes(8)]
        assert procedure == 6 and arguments[:12] == struct.pack(">I", 6) + HANDLE + b"\0\0"
        high, low, count = struct.unpack(">3I", arguments[12:])
        assert high == 0
        self.reads.append(low)
        data = CONTENT[low : low + count]
        attributes = struct.pack(">I", 1) + bytes(84)
        results = struct.pack(">I", self.read_status) + attributes
        results += struct.pack(">III", len(data), int(low + count >= SIZE), len(data)) + data
        return self.script(len(self.reads) - 1, head + results)


@contextmanager
def served(server: ScriptedNfs, monkeyed: Callable[[int], object]) -> Iterator[ScriptedNfs]:
    """Serve over UDP and TCP at one port of the loopback; ``monkeyed`` takes the port, for the port mapper as well."""
    listener = socket.create_server(("127.0.0.1", 0))
    server.port = listener.getsockname()[1]
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.bind(("127.0.0.1", server.port))
    monkeyed(server.port)
    threads = [
        threading.Thread(target=_over_udp, args=(server, datagrams), daemon=True),
        threading.Thread(target=_over_tcp, args=(server, listener), daemon=True),
    ]
    for each in threads:
        each.start()
    try:
        yield server
    finally:
        datagrams.close()
        listener.close()


def _over_udp(server: ScriptedNfs, datagrams: socket.socket) -> None:
    with suppress(OSError):
        while True:
            message, sender = datagrams.recvfrom(65536)
            for each in server.answers(message):
                datagrams.sendto(each, sender)


def _over_tcp(server: ScriptedNfs, listener: socket.socket) -> None:
    with suppress(OSError):
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=_connected, args=(server, connection), daemon=True).start()


def _connected(server: ScriptedNfs, connection: socket.socket) -> None:
    with suppress(OSError), connection, connection.makefile("rb") as lines:
        while len(mark := lines.read(4)) == 4:
            (size,) = struct.unpack(">I", mark)
            for each in server.answers(lines.read(size & 0x7FFFFFFF)):
                record = struct.pack(">I", 0x80000000 | len(each)) + each
                for at in range(0, len(record), 5000):  # records come in pieces
                    connection.sendall(record[at : at + 5000])
            if server.closes_at is not None and len(server.reads) > server.closes_at:
                return
