"""Counts of disks, target and TCP: read strictly, and compared with what the program says."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.disk_counts import DiskCounts, contradictions, counted
from niclab.storage.iscsi import iscsi_counts

MIB = 1 << 20
TCP = "Tcp: ActiveOpens OutSegs RetransSegs InErrs\nTcp: 3 5000 {} 0\n"
FOUND = DiskCounts(64 * MIB, 32 * MIB, 1000, 60 * MIB, 30 * MIB, 1020, 0, 0, 0, 0)
TOTAL = {"bytes_read": 64 * MIB, "bytes_written": 32 * MIB, "reads": 600, "written": 410}
"""A disk may have joined ten of them."""


def test_counts_are_added_over_disks_and_volumes(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["cat /sys/block/sda/stat"] = 2 * "  10 0 2048 1 5 0 512 1 0 1 2\n" + TCP.format(7)
    bench.ssh[Role.PEER].replies["cat /sys/kernel/config"] = 8 * "3\n2\n40\n" + TCP.format(9)
    found = iscsi_counts.look(taken, ["sda", "sdb"])
    assert found == DiskCounts(4096 * 512, 1024 * 512, 30, 24 * MIB, 16 * MIB, 320, 7, 9, 5000, 5000)
    later = replace(found, target_commands=330, target_read_bytes=26 * MIB, peer_resent=10).since(found)
    assert (later.target_commands, later.disk_operations, later.peer_resent) == (10, 0, 1)
    assert "10 commands of 205 KiB on average; TCP segments sent again: dut 0, peer 1" in str(later)


@pytest.mark.parametrize(
    "text",
    [
        *("", "10 0 2048 1 5 0 512\n" + TCP.format(7), 2 * "10 0 2048\n" + TCP.format(7)),
        *(2 * "10 0 2048 1 5 0 x\n" + TCP.format(7), 2 * "10 0 2048 1 5 0 512\n" + "Tcp: A\nTcp: 1\n"),
        2 * "10 0 2048 1 5 0 512\n" + TCP.format(7).replace("OutSegs", "InSegs"),
        "\n10 0 2048 1 5 0 512\n" + TCP.format(7),
    ],
    ids=["nothing", "a disk less", "short", "no number", "no retransmissions", "no segments", "empty line"],
)
def test_other_words_are_refused(bench: FakeBench, taken: Run, text: str) -> None:
    bench.ssh[Role.DUT].replies["cat /sys/block/sda/stat"] = text
    bench.ssh[Role.PEER].replies["cat /sys/kernel/config"] = 8 * "3\n2\n40\n" + TCP.format(9)
    with pytest.raises(ReadError, match=r"counts of disks.*expected"):
        iscsi_counts.look(taken, ["sda", "sdb"])


@pytest.mark.parametrize("stay", [True, False])
def test_a_disk_that_may_go_has_counted_nothing_once_it_is_gone(
    bench: FakeBench, taken: Run, tmp_path: Path, stay: bool
) -> None:
    """Its operations have failed, and that is what is judged."""
    (tmp_path / "sda").mkdir()
    (tmp_path / "sda/stat").write_text("10 0 2048 1 5 0 512 1 0\n")
    (tmp_path / "snmp").write_text(TCP.format(7))

    def shell(command: str) -> str:
        command = command.replace("/sys/block", str(tmp_path)).replace("/proc/net/snmp", f"{tmp_path}/snmp")
        return subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False).stdout

    bench.ssh[Role.DUT].replies["cat /sys/block"] = shell
    bench.ssh[Role.PEER].replies["true"] = TCP.format(9)

    def look() -> DiskCounts:
        return counted(taken, ["sda", "sdb"], "true", lambda _: (0, 0, 0), stay)

    if stay:
        with pytest.raises(ReadError):
            look()
    else:
        assert (look().disk_operations, look().dut_resent) == (15, 7)


@pytest.mark.parametrize(
    ("again", "sent", "is_much"), [(10, 0, False), (11, 0, True), (50, 5000, False), (51, 5000, True)]
)
def test_segments_sent_again_are_many_above_a_hundredth_and_a_burst(again: int, sent: int, is_much: bool) -> None:
    found = replace(FOUND, dut_resent=again, dut_sent=sent, peer_sent=10**6)
    assert found.resent_much == ({Role.DUT: again} if is_much else {})


def test_counts_that_agree_within_their_units() -> None:
    assert contradictions(FOUND, TOTAL) == []
    read_by_the_system = replace(FOUND, disk_operations=1266, target_commands=1266)
    assert contradictions(read_by_the_system, TOTAL) == []


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"disk_read_bytes": 63 * MIB}, "bytes read: .* at the disks; expected the program's"),
        ({"disk_read_bytes": 66 * MIB}, "bytes read: .* at the disks; expected the program's"),
        ({"target_read_bytes": 50 * MIB}, "bytes read: .* at the target; expected the disks'"),
        ({"target_written_bytes": 0}, "bytes written: 0 at the target"),
        ({"target_commands": 999}, "commands: 999 at the target; expected the disks' 1000 operations"),
        ({"target_commands": 2000}, "commands: 2000 at the target"),
        (
            {"disk_operations": 1267, "target_commands": 1267},
            r"transfers: 1267 operations of the disks; expected the program's 1010, none of them cut \(max_sectors_kb",
        ),
    ],
)
def test_a_count_that_disagrees_is_named(changed: dict[str, int], words: str) -> None:
    problems = contradictions(replace(FOUND, **changed), TOTAL)
    assert len(problems) == 1
    assert re.search(words, problems[0])
