"""Sockets that carry frames: they keep what comes while nobody takes it."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import time
from typing import Any

import pytest

from cableend import open_end
from wiresocket import OLDEST_S, wire_socket

BURST, FRAME = 1000, bytes(1514)
"""Frames; a sender that leaves the cutting to its card hands over 64 kB at once, for each connection."""


@pytest.mark.skipif(os.geteuid() != 0, reason="a large buffer needs root")
def test_the_end_of_a_cable_keeps_a_burst_of_frames_until_they_are_taken() -> None:
    config: dict[str, Any] = {
        "address": "127.0.0.1",
        "switch_address": "127.0.0.1",
        "servers": {"dut": {"address": "127.0.0.1"}},
    }
    places = {"uplink_udp": 0, "panel_udp": 0, "qemu_udp": 9, "switch_udp": 9}
    end = open_end({"server": "dut", "port": "p0", **places}, config, {"rate_mbps": 25})
    with end.uplink, end.socket, socket.socket(type=socket.SOCK_DGRAM) as card:
        for _ in range(BURST):
            card.sendto(FRAME, end.socket.getsockname())
        arrived = 0
        with contextlib.suppress(BlockingIOError):
            while end.socket.recv(65536):
                arrived += 1
    assert arrived == BURST


def test_a_frame_tells_when_it_arrived_however_late_it_is_read() -> None:
    with wire_socket() as wire, socket.socket(type=socket.SOCK_DGRAM) as card:
        wire.bind(("127.0.0.1", 0))
        before = time.monotonic()
        card.sendto(FRAME, wire.getsockname())
        sent = time.monotonic()
        select.select([], [], [], 0.3)
        frame, arrived = wire.take()
        wire.setblocking(False)
        with pytest.raises(BlockingIOError):
            wire.take()
    assert frame == FRAME
    assert before - 0.05 <= arrived <= sent + 0.05  # two clocks are read one after the other


def test_a_wall_clock_that_was_set_meanwhile_says_little(monkeypatch: pytest.MonkeyPatch) -> None:
    with wire_socket() as wire, socket.socket(type=socket.SOCK_DGRAM) as card:
        wire.bind(("127.0.0.1", 0))
        moments = list[float]()
        for shift_s in (3600.0, -3600.0):
            card.sendto(FRAME, wire.getsockname())
            set_clock = time.time_ns() / 1e9 + shift_s
            monkeypatch.setattr(time, "time", lambda now=set_clock: now)
            moments.append(time.monotonic() - wire.take()[1])
    assert moments == pytest.approx([OLDEST_S, 0], abs=0.05)
