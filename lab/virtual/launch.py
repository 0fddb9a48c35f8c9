"""Starts a machine with sockets for its cables: ``python launch.py PART WIRES PROGRAM ARGUMENT...``

PART is the identity the process is found by. WIRES is JSON, ``[[descriptor, local, port, remote, port], ...]``: each
becomes a connected UDP socket under that file descriptor, with a receive buffer that holds what arrives while the
emulated machine does not get the host's processor. With the kernel's default (208 KiB, some 90 frames) frames were lost
then, which looks like a defect of the card.
"""

from __future__ import annotations

import json
import os
import socket
import sys

RECEIVE_BYTES = 4 << 20
"""Bytes that a cable of 25 Mbit/s carries in 1.3 s."""
SO_RCVBUFFORCE = 33  # socket(7); Python has no name for it


def connected(local: tuple[str, int], remote: tuple[str, int]) -> socket.socket:
    """A UDP socket between two addresses. Only root may have a buffer above the kernel's ``rmem_max``."""
    wire = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        wire.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BYTES)
    except PermissionError:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # cut to rmem_max by the kernel
    wire.bind(local)
    wire.connect(remote)
    return wire


def main(part: str, wires: str, *command: str) -> None:
    for descriptor, local, local_port, remote, remote_port in json.loads(wires):
        wire = connected((local, local_port), (remote, remote_port))
        os.dup2(wire.detach(), descriptor, inheritable=True)
    os.execvpe(command[0], command, {**os.environ, "VBENCH_PART": part})


if __name__ == "__main__":
    main(*sys.argv[1:])
