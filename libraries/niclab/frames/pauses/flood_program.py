"""Floods a port with frames, or counts those that come: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``listen`` begins to count the frames that come in at interfaces, ``heard``
tells how many came since the last question, ``flood`` sends as many as it can for a while, or a number of them in
their time, and waits until the card has sent them, and ``end`` ends the counting.
"""

from __future__ import annotations

import errno
import fcntl
import socket
import struct
import sys
import threading
import time
from pathlib import Path
from typing import Any

from niclab.run.step_program import work

PROTOCOL = 0x88B6
"""IEEE 802 local experimental ethertype 2."""
MARK = b"NLFRfull"
SIZE = 1514
SENDERS = 2
"""Threads of an interface: the kernel works for one while another prepares its next frame."""
EVERY_S, LOOKS_S = 0.01, 0.02
# linux/if_packet.h, linux/sockios.h
SOL_PACKET, STATISTICS, SIOCOUTQ = 263, 6, 0x5411


class Flooder:
    """Sends frames from an interface: ``count`` of them 10 ms apart, or without a break until ``seconds`` are over."""

    def __init__(self, plan: dict[str, Any], seconds: float, count: int) -> None:
        self.sent, self._until, self._left = 0, time.monotonic() + seconds, count
        header = bytes.fromhex((plan["destination"] + plan["source"]).replace(":", ""))
        self._frame = (header + struct.pack(">H", PROTOCOL) + MARK).ljust(SIZE, b"\0")
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind((plan["iface"], 0))
        self._socket.settimeout(0.1)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        paced = self._left > 0
        while time.monotonic() < self._until and (not paced or self._left > 0):
            try:
                self._socket.send(self._frame)
            except OSError as error:  # also when there was no room in time
                if not isinstance(error, socket.timeout) and error.errno not in (errno.ENETDOWN, errno.ENOBUFS):
                    raise
                continue
            self.sent += 1
            if paced:
                self._left -= 1
                time.sleep(EVERY_S)  # noqa: TID251 - on the server there is no niclab.core.wait

    def ended(self, within_s: float) -> int:
        """Wait until the card has sent everything; return the bytes that it has not, with the kernel's own part."""
        self._thread.join()
        deadline = time.monotonic() + within_s
        while self._waiting() and time.monotonic() < deadline:
            time.sleep(LOOKS_S)  # noqa: TID251 - on the server there is no niclab.core.wait
        waiting = self._waiting()
        self._socket.close()
        return waiting

    def _waiting(self) -> int:
        return int(struct.unpack("i", fcntl.ioctl(self._socket, SIOCOUTQ, bytes(4)))[0])


def flood(plan: dict[str, Any]) -> dict[str, Any]:
    """Send from every interface at once; say how many frames each took, and the bytes of them that still wait."""
    count = plan["count"]
    number = 1 if count else SENDERS
    senders = {each["iface"]: [Flooder(each, plan["seconds"], count) for _ in range(number)] for each in plan["ends"]}
    deadline = time.monotonic() + plan["seconds"] + plan["sent_within_s"]
    waiting = {
        iface: sum(each.ended(max(0.0, deadline - time.monotonic())) for each in group)
        for iface, group in senders.items()
    }
    sent = {iface: sum(each.sent for each in group) for iface, group in senders.items()}
    return {iface: {"sent": sent[iface], "waiting": waiting[iface]} for iface in senders}


class Counting:
    """The sockets at which frames come between two steps."""

    def __init__(self) -> None:
        self._listening: dict[str, socket.socket] = {}

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "flood":
            return flood(plan)
        if plan["do"] == "heard":
            return {iface: self._heard(each) for iface, each in self._listening.items()}
        while self._listening:
            self._listening.popitem()[1].close()
        if plan["do"] == "listen":
            for iface in plan["ifaces"]:
                self._listening[iface] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
                self._listening[iface].bind((iface, PROTOCOL))
        return {}

    @staticmethod
    def _heard(listening: socket.socket) -> int:
        """Frames that came since the last question: those that find no room in the socket are counted, and not kept."""
        came, _ = struct.unpack("II", listening.getsockopt(SOL_PACKET, STATISTICS, 8))
        return int(came)


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Counting().do)
