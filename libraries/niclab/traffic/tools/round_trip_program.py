"""Round trips of one byte over TCP: runs on a server, sent there as source, Python 3.7 and its library only.

``serve ADDRESS PORT SECONDS`` prints ``ready`` and returns every byte of one connection. ``ask FROM TO PORT SECONDS``
sends a byte, waits for it, and so on; prints ``trips 8123`` and ``seconds 2.0004``, then ``end``.
"""

from __future__ import annotations

import socket
import sys
import time


def serve(address: str, port: int, seconds: float) -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.settimeout(seconds)
    listener.bind((address, port))
    listener.listen(1)
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.settimeout(seconds)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        data = connection.recv(64)
        if not data:
            return
        connection.sendall(data)


def ask(source: str, destination: str, port: int, seconds: float) -> None:
    connection = socket.create_connection((destination, port), timeout=seconds + 10, source_address=(source, 0))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    trips, start = 0, time.monotonic()
    while time.monotonic() - start < seconds:
        connection.sendall(b"x")
        if connection.recv(64) != b"x":
            raise SystemExit("another answer than was sent")
        trips += 1
    print("trips", trips)
    print("seconds", time.monotonic() - start)
    print("end", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        ask(sys.argv[2], sys.argv[3], int(sys.argv[4]), float(sys.argv[5]))
