"""The TCP connection of a session in the kernel's tables of both ends."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.iscsi.iscsi_connection import look
from niclab.storage.volumes import DiskTarget

HEAD = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
    "                                                     \n"
)
SHOWS = "cat /proc/net/tcp"
TARGET = DiskTarget("iqn.2026-01.net.niclab:a", "198.18.10.2")
DUT, PEER, OTHER = "010A12C6", "020A12C6", "02000A0A"
REST = "00000000:00000000 02:000AC5FF 00000000     0        0 23015 2 0000000000000000"


def row(local: str, remote: str, state: str = "01", timer: int = 21) -> str:
    return f"   1: {local} {remote} {state} {REST} {timer} 4 30 10 -1                   \n"


@pytest.fixture
def tables(bench: FakeBench) -> dict[Role, str]:
    """Another session, one of another target, and a login that is over, as well."""
    over = f"   3: {DUT}:C001 {PEER}:0CBC 06 0:0 03:00000F8F 00000000 0 0 0 3 0000000000000000\n"
    found = {
        Role.DUT: HEAD
        + over
        + row(f"{DUT}:0016", f"{OTHER}:0CBC", timer=900)
        + row(f"{DUT}:A1B2", f"{PEER}:0CBC", timer=23),
        Role.PEER: HEAD + row(f"{PEER}:0CBC", "00000000:0000", "0A", 0) + row(f"{PEER}:0CBC", f"{DUT}:A1B2", timer=140),
    }
    for role, text in found.items():
        bench.ssh[role].replies[SHOWS] = text
    return found


def test_the_connection_is_found_with_the_longer_timer(taken: Run, tables: dict[Role, str]) -> None:
    assert tables
    assert look(taken, TARGET, "198.18.10.1") == SessionConnection(0xA1B2, 1400)


@pytest.mark.parametrize("role", list(Role))
def test_an_end_without_it_has_none(bench: FakeBench, taken: Run, tables: dict[Role, str], role: Role) -> None:
    bench.ssh[role].replies[SHOWS] = HEAD
    assert tables and look(taken, TARGET, "198.18.10.1") is None


@pytest.mark.parametrize(
    "text",
    ["", "gossip\n", HEAD + "x\n", HEAD + row(f"{DUT}:A1B2", f"{PEER}:0CBC").replace(" 21 4", " x 4"),
     HEAD + row("0A:1", f"{PEER}:0CBC")],
)  # fmt: skip
def test_other_words_are_refused(bench: FakeBench, taken: Run, tables: dict[Role, str], text: str) -> None:
    bench.ssh[Role.DUT].replies[SHOWS] = text
    with pytest.raises(ReadError, match="cannot read cat /proc/net/tcp"):
        assert tables and look(taken, TARGET, "198.18.10.1")
