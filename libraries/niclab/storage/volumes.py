"""The volumes that the peer offers to the dut as disks, and the target that offers them, by whatever protocol."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from niclab.run.server import Server

VOLUMES = 8
"""As in appendix C of the document of DEL-03."""
THREADS = 5
"""Threads of each volume, as there."""
VOLUME_BYTES = THREADS * (256 << 10)
"""Each thread has a transfer of 256 KiB to itself; small, as the target has all of it in memory, and a slow bench takes
seconds for the content of all volumes."""
SECTOR_BYTES = 512
"""Linux, Documentation/block/stat.rst: whatever the disk has; of its ``size`` and of the tables of maps as well."""


@dataclass(frozen=True)
class DiskTarget:
    """A target that is served.

    ``name``: of the target; ``address``: of its server, on the path; ``volumes``: numbers of its volumes on the server,
    in the order of its disks; ``serials``: serial number of each volume, if they have some.
    """

    name: str
    address: str
    volumes: range = range(VOLUMES)
    serials: tuple[str, ...] = ()


def lost(server: Server, target: DiskTarget, looks: Mapping[str, str]) -> list[str]:
    """Return the volumes that a target has lost since it was made, in words.

    Args:
        server: The server of the target.
        target: The target.
        looks: The name of each volume at the target -> a command that fails where it is gone.

    Raises:
        BenchFault: The server does not answer.
    """
    names = list(looks)
    commands = [f"{command} || echo {number}" for number, command in enumerate(looks.values())]
    gone = map(int, server.run("\n".join([*commands, ":"])).stdout.split())
    return [f"{server.name}: {target.name} has no {names[each]}; expected all of {len(names)}" for each in gone]
