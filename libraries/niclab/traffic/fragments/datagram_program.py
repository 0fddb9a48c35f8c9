"""Large UDP datagrams with a known content: runs on a server, sent there as source, Python 3.7 and its library only.

``receive ADDRESS PORT COUNT BYTES SECONDS`` prints ``ready``, then what arrived, as ``numbers 0 1 2``, ``damaged 1``
(datagrams whose content is not what was sent) and ``end``. ``send FROM TO PORT COUNT BYTES`` sends them, 50 ms apart.
Datagram n holds its number in 4 bytes and then SHA-256 of number and place, again and again: no two are alike, so that
a fragment that was put into another datagram is seen.
"""

from __future__ import annotations

import hashlib
import select
import socket
import struct
import sys
import time

APART_S = 0.05


def content(number: int, size: int) -> bytes:
    """Datagram ``number``."""
    head = struct.pack("!I", number)
    blocks = (size - len(head)) // 32 + 1
    return (head + b"".join(hashlib.sha256(head + struct.pack("!I", at)).digest() for at in range(blocks)))[:size]


def receive(address: str, port: int, count: int, size: int, seconds: float) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    sock.bind((address, port))
    print("ready", flush=True)
    deadline = time.monotonic() + seconds
    arrived: list[int] = []
    damaged = 0
    while len(arrived) < count and time.monotonic() < deadline:
        if not select.select([sock], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        data = sock.recv(65536)
        number = struct.unpack("!I", data[:4])[0] if len(data) >= 4 else count
        if number < count and data == content(number, size):
            arrived.append(number)
        else:
            damaged += 1
    print("numbers", *arrived)
    print("damaged", damaged)
    print("end", flush=True)


def send(source: str, destination: str, port: int, count: int, size: int) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
    sock.bind((source, 0))
    for number in range(count):
        sock.sendto(content(number, size), (destination, port))
        select.select([], [], [], APART_S)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]), float(sys.argv[6]))
    else:
        send(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]))
