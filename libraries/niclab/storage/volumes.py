"""The volumes that the peer offers to the dut as disks, and the target that offers them, by whatever protocol."""

from __future__ import annotations

from dataclasses import dataclass

VOLUMES = 8
"""As in appendix C of the document of DEL-03."""
THREADS = 5
"""Threads of each volume, as there."""
VOLUME_BYTES = THREADS * (256 << 10)
"""Each thread has a transfer of 256 KiB to itself; small, as the target has all of it in memory, and a slow bench takes
seconds for the content of all volumes."""


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
