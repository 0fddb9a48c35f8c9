"""The NFS client against a scripted server: what it asks, what it counts, and that it compares each byte."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted_nfs import CONTENT, FILE, FOLDER, SEED, SIZE, ScriptedNfs, served

from niclab.storage.nfs import nfs_calls, onc_rpc
from niclab.storage.nfs.nfs_program import NfsReading, NfsReadingOn, content
from niclab.storage.nfs.onc_rpc import Reader, RpcError

READ = 1 << 15
Serve = Callable[..., AbstractContextManager[ScriptedNfs]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    monkeypatch.setattr(onc_rpc, "RESEND_AFTER_S", 0.1)
    monkeypatch.setattr(nfs_calls, "ANSWER_WITHIN_S", 0.5)
    return lambda **how: served(ScriptedNfs(**how), partial(monkeypatch.setattr, nfs_calls, "PORTMAPPER_PORT"))


def read(transport: str, seconds: float = 0.3, **other: Any) -> dict[str, Any]:
    plan = {"here": "127.0.0.1", "there": "127.0.0.1", "transport": transport, "seconds": seconds, "under_way": 3}
    plan |= {"read_bytes": READ, "seed": SEED, "file_bytes": SIZE, "folder": FOLDER, "file": FILE}
    return NfsReading(plan | other).run()


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_the_file_is_read_in_order_again_and_again(serve: Serve, transport: str) -> None:
    with serve() as server:
        found = read(transport)
    assert server.reads[:10] == [place % SIZE for place in range(0, 10 * READ, READ)]
    assert found["reads"] > 10 and found["all_reads"] == len(server.reads)
    assert 0.3 <= found["elapsed_s"] < 1 and not found["damaged"] and not found["resent"] and not found["unanswered"]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_answers_may_come_in_another_order(serve: Serve, transport: str) -> None:
    held = list[bytes]()

    def backwards(number: int, message: bytes) -> list[bytes]:
        held.append(message)
        return [] if number % 3 else [held.pop() for _ in range(len(held))]

    with serve(script=backwards):
        found = read(transport, seconds=0.05)
    assert found["reads"] > 2 and not found["damaged"]


def test_a_call_that_is_not_answered_is_sent_again_over_udp(serve: Serve) -> None:
    with serve(script=lambda number, message: [] if number == 5 else [message]) as server:
        found = read("udp")
    assert found["resent"] == 1 and server.reads.count(5 * READ) >= 2 and not found["unanswered"]


def test_a_second_answer_to_a_call_counts_once(serve: Serve) -> None:
    with serve(script=lambda _, message: [message, message]) as server:
        found = read("udp", seconds=0.1)
    assert found["strange"] > 1 and found["all_reads"] <= len(server.reads)


def test_a_server_that_falls_silent_makes_the_rate_fall(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.storage.nfs.nfs_program.ENDS_WITHIN_S", 0.2)
    with serve(script=lambda number, message: [message] if number < 20 else []):
        found = read("udp", seconds=0.5)
    assert found["reads"] < 20 and found["elapsed_s"] > 0.6 and found["unanswered"] == 3


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize(("place", "example"), [(0, "byte 0 is"), (20_000, "byte 20000 is"), (READ - 1, "byte 32767")])
def test_one_wrong_bit_is_seen_and_its_place_is_said(serve: Serve, transport: str, place: int, example: str) -> None:
    def flipped(number: int, message: bytes) -> list[bytes]:
        if number != 4:
            return [message]
        changed = bytearray(message)
        changed[len(message) - READ + place] ^= 1
        return [bytes(changed)]

    with serve(script=flipped):
        found = read(transport)
    assert found["damaged"] == 1 and example in found["example"] and f"from {4 * READ} on" in found["example"]


def test_the_data_of_another_place_are_damaged(serve: Serve) -> None:
    def swapped(_: int, message: bytes) -> list[bytes]:
        return [message[:-READ] + CONTENT[READ : 2 * READ]]

    with serve(script=swapped):
        found = read("udp", seconds=0.1)
    assert found["damaged"] >= found["all_reads"] * 3 // 4


def test_fewer_bytes_than_asked_are_damaged(serve: Serve) -> None:
    with serve():
        found = read("udp", seconds=0.05, file_bytes=SIZE + READ)
    assert found["damaged"] > 0 and "0 bytes from" in found["example"]


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"mount_status": 13}, "MOUNT of /export: status 13; expected 0"),
        ({"read_status": 70}, "READ: status 70; expected 0"),
        ({"registered": False}, "program 100005 version 3 does not listen over"),
        ({"denies": True}, "the server denies the call"),
    ],
)
def test_a_server_that_refuses_is_named(serve: Serve, transport: str, how: dict[str, Any], said: str) -> None:
    with serve(**how), pytest.raises(RpcError, match=said):
        read(transport)


def test_a_connection_that_the_server_closes_is_an_error(serve: Serve) -> None:
    with serve(closes_at=6), pytest.raises((RpcError, OSError), match=r"closed the connection|reset|Broken pipe"):
        read("tcp")


def test_a_server_that_does_not_answer_is_named(serve: Serve) -> None:
    with serve() as server:
        server.answers = lambda _: []  # type: ignore[method-assign]
        with pytest.raises(RpcError, match=r"program 100000 does not answer over udp in 0\.5 s"):
            read("udp")


@pytest.mark.parametrize("data", [b"", bytes(3), bytes(4), (9).to_bytes(4, "big") + bytes(8)])
def test_data_that_end_too_early_are_refused(data: bytes) -> None:
    with pytest.raises(RpcError, match="; expected "):
        reader = Reader(memoryview(data))
        reader.counted()
        reader.word()


def test_no_part_of_the_content_is_like_another() -> None:
    blocks = [CONTENT[at : at + 64] for at in range(0, SIZE, 64)]
    assert content(SEED, SIZE) == CONTENT and len(set(blocks)) == len(blocks)
    assert content("another", SIZE) != CONTENT


def read_on(tmp_path: Path, transport: str = "tcp", lasts_s: float = 0.4) -> dict[str, Any]:
    """Read until the marker is removed, which is ``lasts_s`` after it was made."""
    marker = tmp_path / "goes-on"

    def end() -> None:
        while not marker.exists():
            time.sleep(0.01)
        time.sleep(lasts_s)
        marker.unlink()

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    plan = {"here": "127.0.0.1", "there": "127.0.0.1", "transport": transport, "seconds": 0, "under_way": 3}
    plan |= {"read_bytes": READ, "seed": SEED, "file_bytes": SIZE, "folder": FOLDER, "file": FILE}
    found = NfsReadingOn(plan | {"marker": str(marker)}).run()
    ending.join()
    return found


@pytest.mark.parametrize("transport", ["udp", "tcp"])
def test_reads_go_on_until_they_are_ended(serve: Serve, tmp_path: Path, transport: str) -> None:
    with serve() as server:
        found = read_on(tmp_path, transport)
    assert found["reads"] == len(server.reads) > 10
    assert not found["failed"] and not found["damaged"] and found["silent_s"] < 0.3


def test_a_silence_within_the_reads_is_measured(serve: Serve, tmp_path: Path) -> None:
    def late(number: int, message: bytes) -> list[bytes]:
        if number == 20:
            time.sleep(0.6)
        return [message]

    with serve(script=late):
        found = read_on(tmp_path, lasts_s=1)
    assert 0.55 <= found["silent_s"] < 0.9 and not found["failed"] and found["reads"] > 21


def test_a_silence_that_does_not_end_counts_until_the_end(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niclab.storage.nfs.nfs_program.ENDS_WITHIN_S", 0.2)
    with serve(script=lambda number, message: [message] if number < 20 else []):
        found = read_on(tmp_path, lasts_s=0.5)
    assert found["failed"] == 3 and found["reads"] == 20 and found["silent_s"] >= 0.6


def test_a_connection_that_ends_fails_the_calls_under_way(serve: Serve, tmp_path: Path) -> None:
    with serve(closes_at=20):
        found = read_on(tmp_path)
    assert found["failed"] >= 1 and found["example"]


def test_an_error_of_the_server_fails_a_call(serve: Serve, tmp_path: Path) -> None:
    def refused(number: int, message: bytes) -> list[bytes]:
        return [message[:24] + (70).to_bytes(4, "big") + message[28:] if number == 20 else message]

    with serve(script=refused):
        found = read_on(tmp_path)
    assert found["failed"] >= 1 and "READ: status 70" in found["example"]


def test_reads_that_go_on_are_compared(serve: Serve, tmp_path: Path) -> None:
    def flipped(number: int, message: bytes) -> list[bytes]:
        return [message[:-1] + bytes([message[-1] ^ 1]) if number == 20 else message]

    with serve(script=flipped):
        found = read_on(tmp_path)
    assert found["damaged"] == 1 and "byte 32767" in found["example"]


def test_reads_that_never_begin_are_an_error(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("niclab.storage.nfs.nfs_program.ENDS_WITHIN_S", 0.2)
    with serve(script=lambda *_: []), pytest.raises(RpcError, match=r"no READ is answered in 0\.2 s"):
        plan = {"here": "127.0.0.1", "there": "127.0.0.1", "transport": "tcp", "seconds": 0, "under_way": 3}
        plan |= {"read_bytes": READ, "seed": SEED, "file_bytes": SIZE, "folder": FOLDER, "file": FILE}
        NfsReadingOn(plan | {"marker": str(tmp_path / "goes-on")}).run()
    assert not (tmp_path / "goes-on").exists()
