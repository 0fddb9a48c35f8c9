"""Places where records arrive at a program over sockets: part of the frame program, Python 3.7 and its library only."""

from __future__ import annotations

import socket
import struct
from abc import ABC, abstractmethod
from typing import Any

from niclab.frames.frame_arrivals import Arrivals
from niclab.frames.frame_content import HEAD, LEAST, MAGIC

DRAIN = 256
RCVBUFFORCE = 33
BUFFER_BYTES = 256 << 20


class Place(ABC):
    """A place where frames arrive."""

    socket: socket.socket

    @abstractmethod
    def read(self) -> None:
        """Take what has arrived."""


class UdpPort(Place):
    """Datagrams that the system delivers to a program."""

    def __init__(self, plan: dict[str, Any], arrivals: Arrivals) -> None:
        self.arrivals = arrivals
        self.socket = socket.socket(family(plan["address"]), socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, BUFFER_BYTES)
        self.socket.bind((plan["address"], plan["port"]))

    def read(self) -> None:
        for _ in range(DRAIN):
            try:
                data = self.socket.recv(65536)
            except BlockingIOError:
                return
            self.arrivals.take("udp", data, len(data))


class TcpConnection(Place):
    """Records of a connection. What is no record is skipped up to the next one: it is missing in its flow."""

    def __init__(self, connection: socket.socket, arrivals: Arrivals) -> None:
        self.socket, self.arrivals, self.data = connection, arrivals, b""
        self.mark = MAGIC + struct.pack("!I", arrivals.content.token)

    def read(self) -> None:
        try:
            got = self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        self.data += got
        while len(self.data) >= HEAD.size:
            if not self.data.startswith(self.mark):
                at = self.data.find(self.mark, 1)
                self.data = self.data[at if at > 0 else len(self.data) :]
                continue
            length = max(HEAD.unpack_from(self.data)[3], LEAST)
            if len(self.data) < length:
                break
            self.arrivals.take("tcp", self.data[:length], length)
            self.data = self.data[length:]
        if not got:
            self.socket.close()


class TcpPort(Place):
    """Takes connections, and what comes over them."""

    def __init__(self, plan: dict[str, Any], arrivals: Arrivals, places: list[Place]) -> None:
        self.arrivals, self.places = arrivals, places
        self.socket = socket.socket(family(plan["address"]), socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((plan["address"], plan["port"]))
        self.socket.listen(64)
        self.socket.setblocking(False)

    def read(self) -> None:
        connection, _ = self.socket.accept()
        connection.setblocking(False)
        self.places.append(TcpConnection(connection, self.arrivals))


def family(address: str) -> socket.AddressFamily:
    """The family of an IP address."""
    return socket.AF_INET6 if ":" in address else socket.AF_INET
