"""Records that lie in pieces at odd places of memory: part of the frame program, Python 3.7 and its library only."""

from __future__ import annotations

import os
import socket
import tempfile

PAGE = 4096
CORK = 3
"""linux/tcp.h: ``TCP_CORK``."""


class ScatteredRecords:
    """Sends each record over TCP out of pages of a file in which no piece follows the one before.

    Linux copies nothing where the driver gathers (``sendfile(2)``): the card fetches each piece from where it lies.
    What was sent stays as it is, since it may be fetched again.

    Args:
        lengths: Bytes of the pieces, taken in turn. Each begins one byte later in its page than the one before.
    """

    def __init__(self, lengths: list[int]) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the stream
        self._lengths, self._number, self._page = lengths, 0, 0
        self._pieces: list[tuple[int, int]] = []

    def lay(self, record: bytes) -> None:
        """Take the next record; the one before has been sent."""
        at = 0
        while at < len(record):
            length = self._lengths[self._number % len(self._lengths)]
            piece = record[at : at + length]
            offset = self._page * PAGE + self._number % PAGE
            os.pwrite(self._file.fileno(), piece, offset)
            self._pieces.append((offset, len(piece)))
            self._page += (offset % PAGE + len(piece) - 1) // PAGE + 1
            self._number += 1
            at += length

    def send(self, out: socket.socket) -> int:
        """Send what there is room for, and return the number of bytes.

        Raises:
            OSError: Nothing was sent: EAGAIN where there was no room.
        """
        out.setsockopt(socket.IPPROTO_TCP, CORK, 1)
        offset, length = self._pieces[0]
        sent = os.sendfile(out.fileno(), self._file.fileno(), offset, length)
        self._pieces[:1] = [(offset + sent, length - sent)] if sent < length else []
        if not self._pieces:
            out.setsockopt(socket.IPPROTO_TCP, CORK, 0)
        return sent

    def close(self) -> None:
        """Give the pages back once they are sent."""
        self._file.close()
