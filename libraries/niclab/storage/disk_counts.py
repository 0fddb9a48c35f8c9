"""The counts of disks, target and TCP, and where they contradict the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from niclab.bench.records import Role
from niclab.hosts.errors import ReadError, unreadable
from niclab.run.run import Run
from niclab.storage.resent import is_much
from niclab.storage.volumes import SECTOR_BYTES, VOLUMES

_KIND = "counts of disks"
_MIB = 1 << 20
_READS, _READS_MERGED, _SECTORS_READ, _WRITES, _WRITES_MERGED, _SECTORS_WRITTEN = 0, 1, 2, 4, 5, 6
OTHERS_BYTES = _MIB
"""Assumption: what the system itself may read of the disks meanwhile, such as partition tables."""
OTHERS_COMMANDS = 16 * VOLUMES
"""Assumption: commands other than reads and writes, such as TEST UNIT READY."""
_OTHERS_READS = OTHERS_BYTES // 4096
"""The system reads no less of a disk than a page at a time."""
WHOLE_MIB = VOLUMES * _MIB
"""Bytes by which volumes may be apart whose target tells whole MiB."""
_NONE = "0 0 0 0 0 0 0"
_TCP = "grep ^Tcp: /proc/net/snmp"


Numbers = Sequence[Sequence[int]]
OfTarget = Callable[[Numbers], tuple[int, int, int]]


@dataclass(frozen=True)
class DiskStat:
    """The counts of a disk of Linux. ``merged``: operations that were joined to others of ``operations``."""

    read_bytes: int
    written_bytes: int
    operations: int
    merged: int

    @classmethod
    def of(cls, line: Sequence[int]) -> DiskStat:
        """Return the counts of a disk's ``stat`` (Linux, Documentation/block/stat.rst).

        Args:
            line: Its numbers.

        Raises:
            ReadError: They are too few.
        """
        if len(line) <= _SECTORS_WRITTEN:
            raise unreadable(_KIND, "stat of a disk", line, "at least 7 numbers")
        return cls(
            read_bytes=SECTOR_BYTES * line[_SECTORS_READ],
            written_bytes=SECTOR_BYTES * line[_SECTORS_WRITTEN],
            operations=line[_READS] + line[_WRITES],
            merged=line[_READS_MERGED] + line[_WRITES_MERGED],
        )


@dataclass(frozen=True)
class DiskCounts:
    """Counts since some moment.

    ``disk_...``: of the dut's disks. ``target_...``: of the target's volumes.
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

    def since(self, before: DiskCounts) -> DiskCounts:
        """Return what was counted since an earlier look.

        Args:
            before: The earlier look.
        """
        return DiskCounts(**{each.name: getattr(self, each.name) - getattr(before, each.name) for each in fields(self)})

    def plus(self, other: DiskCounts) -> DiskCounts:
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


def counted(run: Run, disks: Sequence[str], at_target: str, of_target: OfTarget, stay: bool = True) -> DiskCounts:
    """Read what disks, target and TCP have counted until now.

    Args:
        run: The current run.
        disks: Names of the disks on the dut.
        at_target: Command that prints lines of numbers on the server of the target.
        of_target: Bytes read, bytes written and commands, by these numbers.
        stay: Are the disks there as long as their session is to last? Else one that is gone has counted nothing.

    Raises:
        BenchFault: A count cannot be read.
    """
    files = [f"/sys/block/{name}/stat" for name in disks]
    shown = f"cat {' '.join(files)}" if stay else "; ".join(f"cat {each} 2>/dev/null || echo {_NONE}" for each in files)
    disk, (dut_resent, dut_sent) = _numbers(run.server(Role.DUT).run(f"{shown} && {_TCP}").stdout)
    target, (peer_resent, peer_sent) = _numbers(run.server(Role.PEER).run(f"{at_target} && {_TCP}").stdout)
    read, written, commands = of_target(target)
    stats_of = [DiskStat.of(line) for line in of_all(disk, len(disks))]
    return DiskCounts(
        disk_read_bytes=sum(each.read_bytes for each in stats_of),
        disk_written_bytes=sum(each.written_bytes for each in stats_of),
        disk_operations=sum(each.operations for each in stats_of),
        target_read_bytes=read,
        target_written_bytes=written,
        target_commands=commands,
        dut_resent=dut_resent,
        peer_resent=peer_resent,
        dut_sent=dut_sent,
        peer_sent=peer_sent,
    )


def of_all(rows: Numbers, lines: int) -> Numbers:
    """Return lines of numbers, where they are as many as they must be.

    Args:
        rows: The lines.
        lines: How many they must be.

    Raises:
        ReadError: They are more or fewer.
    """
    if len(rows) != lines:
        raise unreadable(_KIND, "text", rows, f"{lines} lines of numbers")
    return rows


def contradictions(found: DiskCounts, total: Mapping[str, int], within: int = WHOLE_MIB) -> list[str]:
    """Return where counts disagree, in words.

    Args:
        found: What disks and target have counted.
        total: What the program has read and written: ``bytes_read`` and ``bytes_written`` in ``reads`` and
            ``written`` operations. A disk may join some of them; where it has many more, it has cut them into shorter
            ones than were asked for.
        within: Bytes by which target and disks may be apart.
    """
    problems, asked = bytes_apart(found, total, within), total["reads"] + total["written"]
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


def bytes_apart(found: DiskCounts, total: Mapping[str, int], within: int = WHOLE_MIB) -> list[str]:
    """Return where counts of bytes disagree, in words.

    Args:
        found: What disks and target have counted.
        total: Bytes that the program has read and written, ``bytes_read`` and ``bytes_written``.
        within: Bytes by which target and disks may be apart.
    """
    problems = list[str]()
    for what, program, disk, target in (
        ("read", total["bytes_read"], found.disk_read_bytes, found.target_read_bytes),
        ("written", total["bytes_written"], found.disk_written_bytes, found.target_written_bytes),
    ):
        if not program <= disk <= program + OTHERS_BYTES:
            problems.append(f"bytes {what}: {disk} at the disks; expected the program's {program}")
        if abs(target - disk) > within:
            problems.append(f"bytes {what}: {target} at the target; expected the disks' {disk}, within {within}")
    return problems


def _numbers(text: str) -> tuple[list[list[int]], tuple[int, int]]:
    """The numbers of each line, and how many segments TCP has sent again, and has sent."""
    rows = text.splitlines()
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
