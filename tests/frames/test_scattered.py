"""Records in pieces of memory: every byte is sent, each piece from another place of its page."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from itertools import pairwise

import pytest

from niclab.frames.delivery import PIECES, RECORD_SIZES
from niclab.frames.scattered import PAGE, ScatteredRecords


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection over TCP; the sending one waits for nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        sending = socket.create_connection(listening.getsockname())
        receiving, _ = listening.accept()
    sending.setblocking(False)
    receiving.settimeout(10)
    with sending, receiving:
        yield sending, receiving


def test_every_byte_is_sent_in_its_order(connection: tuple[socket.socket, socket.socket]) -> None:
    sending, receiving = connection
    records = ScatteredRecords(list(PIECES))
    for size in (*RECORD_SIZES, 1):
        record = os.urandom(size)
        records.lay(record)
        came, left = b"", size
        while left:
            try:
                left -= records.send(sending)
            except BlockingIOError:
                came += receiving.recv(1 << 16)
        while len(came) < size:
            came += receiving.recv(1 << 16)
        assert came == record
    records.close()


def test_pieces_begin_at_each_place_and_adjoin_nowhere() -> None:
    records = ScatteredRecords(list(PIECES))
    for size in RECORD_SIZES * 7:
        records.lay(bytes(size))
    pieces = records._pieces
    assert len(pieces) > 1000 and {at % PAGE for at, _ in pieces[:1000]} == set(range(1000))
    assert all(at // PAGE > (before + length - 1) // PAGE for (before, length), (at, _) in pairwise(pieces))
    assert {length for _, length in pieces} >= set(PIECES)
