"""UDP sockets that carry frames, with room for what arrives while their process does not get the host's processor.

With the kernel's default (208 KiB, some 90 frames) frames are lost then, counted by nobody: it looks like a defect of
the card.
"""

from __future__ import annotations

import socket

RECEIVE_BYTES = 4 << 20
"""Bytes that a cable of 25 Mbit/s carries in 1.3 s."""
SO_RCVBUFFORCE = 33  # socket(7); Python has no name for it


def wire_socket() -> socket.socket:
    """Make a socket. Only root may have a buffer above the kernel's ``rmem_max``."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    except PermissionError:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # cut to rmem_max by the kernel
    return made
