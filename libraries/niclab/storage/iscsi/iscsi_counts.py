"""The counts of disks over iSCSI, of the kernel's own target (LIO), and of TCP."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.run.run import Run
from niclab.storage.disk_counts import DiskCounts, Numbers, counted, of_all
from niclab.storage.iscsi.iscsi_target import volume
from niclab.storage.volumes import VOLUMES

_MIB = 1 << 20
_NAMES = ("read_mbytes", "write_mbytes", "num_cmds")


def look(run: Run, disks: Sequence[str], volumes: Sequence[int] = range(VOLUMES)) -> DiskCounts:
    """Read what disks, target and TCP have counted until now. Of bytes the target tells whole MiB.

    Args:
        run: The current run.
        disks: Names of the disks on the dut.
        volumes: Numbers of the volumes on the server of the target.

    Raises:
        BenchFault: A count cannot be read.
    """
    folders = [f"{volume(number)}/statistics/scsi_lu" for number in volumes]
    wanted = " ".join(f"{folder}/{name}" for folder in folders for name in _NAMES)

    def of_target(rows: Numbers) -> tuple[int, int, int]:
        values = [line[0] for line in of_all(rows, len(_NAMES) * len(volumes))]
        read, written, commands = (sum(values[place :: len(_NAMES)]) for place in range(len(_NAMES)))
        return _MIB * read, _MIB * written, commands

    return counted(run, disks, f"cat {wanted}", of_target)
