"""Remote procedure calls of Sun: messages, and the two ways in which they travel. Sent to servers, Python 3.7 only.

RFC 5531 has the messages, RFC 4506 the coding of data. A call over UDP that is not answered is sent again; TCP does
that by itself.
"""

from __future__ import annotations

import select
import socket
import struct
import time

CALL, REPLY, VERSION, UNIX = 0, 1, 2, 1
RESEND_AFTER_S, RESEND_AT_MOST_S = 1.1, 8.8
"""As Linux does over UDP: after 1.1 s (nfs(5), timeo), then after twice the time."""
LARGEST_DATAGRAM = 65536
LAST_FRAGMENT = 0x80000000
_WORD = struct.Struct(">I")


class RpcError(Exception):
    """A server that refuses a call, or answers something else."""


class Reader:
    """Takes coded data apart, from the front.

    Args:
        data: The data.
    """

    def __init__(self, data: memoryview) -> None:
        self._data, self._at = data, 0

    def word(self) -> int:
        """Take 32 bits.

        Raises:
            RpcError: There are not so many.
        """
        return int(_WORD.unpack(self.fixed(4))[0])

    def fixed(self, size: int) -> memoryview:
        """Take as many bytes, without what they are filled up with.

        Raises:
            RpcError: There are not so many.
        """
        end = self._at + size
        if end > len(self._data):
            raise RpcError(f"the answer ends after {len(self._data)} bytes; expected {size} from byte {self._at} on")
        found = self._data[self._at : end]
        self._at = end + -size % 4
        return found

    def counted(self) -> memoryview:
        """Take bytes that are preceded by their number.

        Raises:
            RpcError: There are not so many.
        """
        return self.fixed(self.word())


def words(*numbers: int) -> bytes:
    """Code numbers of 32 bits."""
    return struct.pack(f">{len(numbers)}I", *numbers)


def counted(data: bytes) -> bytes:
    """Code bytes, preceded by their number and filled up to 4."""
    return words(len(data)) + data + bytes(-len(data) % 4)


def call(xid: int, program: int, version: int, procedure: int, arguments: bytes) -> bytes:
    """Code a call of user 0, which servers take for nobody.

    Args:
        xid: Number that the answer has as well.
        program: Number of the program.
        version: Version of the program.
        procedure: Number of the procedure.
        arguments: Coded.
    """
    credential = words(0) + counted(b"niclab") + words(0, 0, 0)
    head = words(xid, CALL, VERSION, program, version, procedure, UNIX)
    return head + counted(credential) + words(0, 0) + arguments


def answer(message: memoryview) -> tuple[int, Reader]:
    """Read the answer to a call.

    Args:
        message: The message.

    Returns:
        The number of the call, and its results.

    Raises:
        RpcError: The server refuses the call, or it is no answer.
    """
    reader = Reader(message)
    xid, kind, state = reader.word(), reader.word(), reader.word()
    if kind != REPLY:
        raise RpcError(f"message of kind {kind}; expected an answer")
    if state:
        raise RpcError(f"the server denies the call, reason {[reader.word(), reader.word()]}")
    reader.word()  # kind of the server's own proof of identity
    reader.counted()
    status = reader.word()
    if status:
        raise RpcError(f"the server does not carry the call out, status {status}; expected 0")
    return xid, reader


class Udp:
    """Calls over UDP.

    Args:
        here: Own address.
        there: Address and port of the server.

    Attributes:
        resent: Calls that were sent again.
    """

    def __init__(self, here: str, there: tuple[str, int]) -> None:
        self.resent = 0
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._socket.bind((here, 0))
        self._socket.connect(there)
        self._waiting: dict[int, tuple[bytes, float, float]] = {}

    def send(self, xid: int, message: bytes) -> None:
        """Send a call."""
        self._socket.send(message)
        self._waiting[xid] = (message, time.monotonic() + RESEND_AFTER_S, RESEND_AFTER_S)

    def receive(self, until: float) -> memoryview | None:
        """Wait for a message; calls that wait too long for theirs are sent again.

        Args:
            until: Time of the monotonic clock in s.

        Returns:
            The message, or None when the time is over.
        """
        while True:
            now = time.monotonic()
            for xid, (message, due, wait_s) in self._waiting.items():
                if due <= now:
                    self._socket.send(message)
                    self.resent += 1
                    longer_s = min(2 * wait_s, RESEND_AT_MOST_S)
                    self._waiting[xid] = (message, now + longer_s, longer_s)
            due = min([until, *(each[1] for each in self._waiting.values())])
            if select.select([self._socket], [], [], max(0.0, due - now))[0]:
                return memoryview(self._socket.recv(LARGEST_DATAGRAM))
            if time.monotonic() >= until:
                return None

    def answered(self, xid: int) -> None:
        """Send a call no more."""
        self._waiting.pop(xid, None)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


class Tcp:
    """Calls over TCP, in records of one fragment.

    Args:
        here: Own address.
        there: Address and port of the server.

    Attributes:
        resent: Calls that were sent again: none.
    """

    def __init__(self, here: str, there: tuple[str, int]) -> None:
        self.resent = 0
        self._socket = socket.create_connection(there, timeout=10, source_address=(here, 0))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._came = bytearray()

    def send(self, _: int, message: bytes) -> None:
        """Send a call."""
        self._socket.sendall(words(LAST_FRAGMENT | len(message)) + message)

    def receive(self, until: float) -> memoryview | None:
        """Wait for a message.

        Args:
            until: Time of the monotonic clock in s.

        Returns:
            The message, or None when the time is over.

        Raises:
            RpcError: The server closes the connection, or sends no whole record.
        """
        while True:
            size = self._size()
            if size is not None and len(self._came) >= 4 + size:
                message = bytes(self._came[4 : 4 + size])
                del self._came[: 4 + size]
                return memoryview(message)
            if not select.select([self._socket], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            came = self._socket.recv(1 << 18)
            if not came:
                raise RpcError("the server has closed the connection")
            self._came += came

    def _size(self) -> int | None:
        if len(self._came) < 4:
            return None
        mark = int(_WORD.unpack(self._came[:4])[0])
        if not mark & LAST_FRAGMENT:
            raise RpcError("the server has sent a record in fragments; expected one")
        return mark & ~LAST_FRAGMENT

    def answered(self, _: int) -> None:
        """Do nothing: TCP has sent the call again where that was due."""

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()
