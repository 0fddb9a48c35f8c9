"""Sockets that carry frames: they keep what comes while nobody takes it."""

from __future__ import annotations

import contextlib
import os
import socket
from typing import Any

import pytest

from cableend import open_end

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
