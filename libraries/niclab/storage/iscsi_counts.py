"""The counts of disks, target and TCP, and where they contradict the program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from niclab.bench.records import Role
from niclab.hosts.errors import ReadError, unreadable
from niclab.run.run import Run
from niclab.storage.iscsi_target import VOLUMES, volume
from niclab.storage.resent import is_much

_KIND = "counts of iSCSI"
_SECTOR, _MIB = 512, 1 << 20
_READS, _SECTORS_READ, _WRITES, _SECTORS_WRITTEN = 0, 2, 4, 6
"""Fields of a disk's ``stat`` (Linux, Documentation/block/stat.rst)."""
OTHERS_BYTES = _MIB
"""Assumption: what the system itself may read of the disks meanwhile, such as partition tables."""
OTHERS_COMMANDS = 16 * VOLUMES
"""Assumption: commands other than reads and writes, such as TEST UNIT READY."""
_OTHERS_READS = OTHERS_BYTES // 4096
"""The system reads no less of a disk than a page at a time."""
_TCP = "grep ^Tcp: /proc/net/snmp"


@dataclass(frozen=True)
class IscsiCounts:
    """Counts since some moment.

    ``disk_...``: of the dut's disks. ``target_...``: of the target's volumes; of bytes it tells whole MiB.
    ``dut_resent``, ``peer_resent``: TCP segments that were sent again, of all connections; ``dut_sent``, ``peer_sent``:
    all others that were sent.
    """

    disk_read_bytes: int
    disk_written_bytes: int
    disk_operations: int
    target_read_bytes: int
    target_written_bytes: int
    target_commands: int
    dut_resent: int
    peer_resent: int
    dut_sent: int
    peer_sent: int

    def since(self, before: IscsiCounts) -> IscsiCounts:
        """Return what was counted since an earlier look.

        Args:
            before: The earlier look.
        """
        return IscsiCounts(
            **{each.name: getattr(self, each.name) - getattr(before, each.name) for each in fields(self)}
        )

    def plus(self, other: IscsiCounts) -> IscsiCounts:
        """Return the counts with those of other disks of the same time; TCP has counted for both.

        Args:
            other: Those of the other disks.
        """
        disks = [each.name for each in fields(self) if each.name.startswith(("disk_", "target_"))]
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in disks})

    @property
    def resent(self) -> str:
        """Segments that TCP has sent again, in words."""
        return f"TCP segments sent again: dut {self.dut_resent}, peer {self.peer_resent}"

    @property
    def resent_much(self) -> dict[Role, int]:
        """The segments that a server has sent again, where they are many of what it sent."""
        counts = {Role.DUT: (self.dut_resent, self.dut_sent), Role.PEER: (self.peer_resent, self.peer_sent)}
        return {role: again for role, (again, sent) in counts.items() if is_much(again, sent)}

    def __str__(self) -> str:
        size = (self.target_read_bytes + self.target_written_bytes) / max(1, self.target_commands)
        return (
            f"disks: {self.disk_read_bytes} bytes read, {self.disk_written_bytes} written in {self.disk_operations} "
            f"operations; target: {self.target_commands} commands of {size / 1024:.0f} KiB on average; "
            f"{self.resent}"
        )


def look(run: Run, disks: Sequence[str], volumes: Sequence[int] = range(VOLUMES)) -> IscsiCounts:
    """Read what disks, target and TCP have counted until now.

    Args:
        run: The current run.
        disks: Names of the disks on the dut.
        volumes: Numbers of the volumes on the server of the target.

    Raises:
        BenchFault: A count cannot be read.
    """
    stats = " ".join(f"/sys/block/{name}/stat" for name in disks)
    names = ("read_mbytes", "write_mbytes", "num_cmds")
    folders = [f"{volume(number)}/statistics/scsi_lu" for number in volumes]
    wanted = " ".join(f"{folder}/{name}" for folder in folders for name in names)
    disk, (dut_resent, dut_sent) = _numbers(run.server(Role.DUT).run(f"cat {stats} && {_TCP}").stdout, len(disks))
    shown = run.server(Role.PEER).run(f"cat {wanted} && {_TCP}").stdout
    target, (peer_resent, peer_sent) = _numbers(shown, 3 * len(volumes))
    if any(len(line) <= _SECTORS_WRITTEN for line in disk):
        raise unreadable(_KIND, "stat of a disk", disk, "at least 7 numbers each")
    return IscsiCounts(
        disk_read_bytes=_SECTOR * sum(line[_SECTORS_READ] for line in disk),
        disk_written_bytes=_SECTOR * sum(line[_SECTORS_WRITTEN] for line in disk),
        disk_operations=sum(line[_READS] + line[_WRITES] for line in disk),
        target_read_bytes=_MIB * sum(line[0] for line in target[0::3]),
        target_written_bytes=_MIB * sum(line[0] for line in target[1::3]),
        target_commands=sum(line[0] for line in target[2::3]),
        dut_resent=dut_resent,
        peer_resent=peer_resent,
        dut_sent=dut_sent,
        peer_sent=peer_sent,
    )


def contradictions(found: IscsiCounts, total: Mapping[str, int]) -> list[str]:
    """Return where counts disagree, in words.

    Args:
        found: What disks and target have counted.
        total: What the program has read and written: ``bytes_read`` and ``bytes_written`` in ``reads`` and
            ``written`` operations. A disk may join some of them; where it has many more, it has cut them into shorter
            ones than were asked for.
    """
    problems, asked = bytes_apart(found, total), total["reads"] + total["written"]
    if found.disk_operations > asked + _OTHERS_READS:
        problems.append(
            f"transfers: {found.disk_operations} operations of the disks; expected the program's {asked}, none of them "
            "cut (max_sectors_kb of the disks, block limits of the target)"
        )
    if not found.disk_operations <= found.target_commands <= found.disk_operations + OTHERS_COMMANDS:
        problems.append(
            f"commands: {found.target_commands} at the target; expected the disks' {found.disk_operations} operations"
        )
    return problems


def bytes_apart(found: IscsiCounts, total: Mapping[str, int]) -> list[str]:
    """Return where counts of bytes disagree, in words.

    Args:
        found: What disks and target have counted.
        total: Bytes that the program has read and written, ``bytes_read`` and ``bytes_written``.
    """
    problems = list[str]()
    for what, program, disk, target in (
        ("read", total["bytes_read"], found.disk_read_bytes, found.target_read_bytes),
        ("written", total["bytes_written"], found.disk_written_bytes, found.target_written_bytes),
    ):
        if not program <= disk <= program + OTHERS_BYTES:
            problems.append(f"bytes {what}: {disk} at the disks; expected the program's {program}")
        if abs(target - disk) > VOLUMES * _MIB:
            problems.append(f"bytes {what}: {target} at the target, in whole MiB; expected the disks' {disk}")
    return problems


def _numbers(text: str, lines: int) -> tuple[list[list[int]], tuple[int, int]]:
    """The numbers of so many lines, and how many segments TCP has sent again, and has sent."""
    rows = text.splitlines()
    if len(rows) != lines + 2:
        raise unreadable(_KIND, "text", text, f"{lines} lines of numbers, and two of TCP")
    try:
        numbers = [list(map(int, row.split())) for row in rows[:-2]]
        names, values = (row.split() for row in rows[-2:])
        if not all(numbers):
            raise ValueError("an empty line")
        return numbers, (int(values[names.index("RetransSegs")]), int(values[names.index("OutSegs")]))
    except (ValueError, IndexError) as error:
        raise ReadError(
            f"{_KIND}: {error} in {text[:120]!r}; expected numbers, RetransSegs and OutSegs of TCP"
        ) from error
