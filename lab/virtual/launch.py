"""Starts a machine with sockets for its cables: ``python launch.py PART WIRES PROGRAM ARGUMENT...``

PART is the identity the process is found by. WIRES is JSON, ``[[descriptor, local, port, remote, port], ...]``: each
becomes a connected UDP socket under that file descriptor.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from wiresocket import wire_socket


def connected(local: tuple[str, int], remote: tuple[str, int]) -> socket.socket:
    """Connect two addresses."""
    wire = wire_socket()
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
