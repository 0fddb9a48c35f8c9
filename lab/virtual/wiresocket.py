"""UDP sockets that carry frames, with room for what arrives while their process does not get the host's processor.

With the kernel's default (208 KiB, some 90 frames) frames are lost then, counted by nobody: it looks like a defect of
the card.
"""

from __future__ import annotations

import socket
import struct
import time

RECEIVE_BYTES = 4 << 20
"""Bytes that a cable of 25 Mbit/s carries in 1.3 s."""
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # asm-generic/socket.h; Python has no names for them
MOMENT = struct.Struct("@qq")
"""``struct timespec`` of a machine of 64 bits: seconds and nanoseconds of the wall clock."""
OLDEST_S = 2.0
"""No frame waits longer for its process: a wall clock that was set meanwhile says nothing of it."""


class WireSocket(socket.socket):
    """A socket that tells when each frame arrived, whenever its process reads it."""

    def take(self) -> tuple[bytes, float]:
        """Return the next frame, and the moment of its arrival, in s of the monotonic clock.

        Raises:
            BlockingIOError: None has arrived.
        """
        frame, notes, _, _ = self.recvmsg(65536, socket.CMSG_SPACE(MOMENT.size))
        now = time.monotonic()
        for level, kind, note in notes:
            if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMPNS):
                seconds, nanoseconds = MOMENT.unpack(note)
                waited_s = time.time() - seconds - nanoseconds / 1e9
                return frame, now - min(max(waited_s, 0.0), OLDEST_S)
        return frame, now


def wire_socket() -> WireSocket:
    """Make a socket. Only root may have a buffer above the kernel's ``rmem_max``."""
    made = WireSocket(socket.AF_INET, socket.SOCK_DGRAM)
    made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    try:
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    except PermissionError:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # cut to rmem_max by the kernel
    return made
