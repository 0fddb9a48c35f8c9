"""A cable that does what a file says to one of every ten frames of each direction."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import sys
import time
from pathlib import Path

from finishing import finished

ETH_P_ALL, RCVBUFFORCE = 3, 33
SOL_PACKET, AUXDATA, VLAN_VALID = 263, 8, 16
OURS = b"NLFR"
PAUSE = bytes.fromhex("88080001")
TAGGED = bytes.fromhex("8100")
PLACES = (9, 4, 7, 2, 0, 5, 8, 1, 6, 3)
"""The frame of ten that is changed, in ten times ten: of streams that take turns, one alone would lose frames else."""
LATE_S = 0.01
"""Delay of frames that the system sends by itself: the answers to two hundred frames need two seconds."""


def opened(names: list[str]) -> list[socket.socket]:
    """Sockets that get every frame of interfaces, and send over them."""
    sockets = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) for _ in names]
    for each, name in zip(sockets, names, strict=True):
        each.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 64 << 20)
        each.setsockopt(SOL_PACKET, AUXDATA, 1)
        each.bind((name, ETH_P_ALL))
    return sockets


def got(of: socket.socket) -> tuple[bytes, int]:
    """A frame with its tag, which Linux hands over outside of it, and whether it came in or goes out."""
    frame, extra, _, address = of.recvmsg(65536, 64)
    for _, kind, value in extra:
        status, *_, tci, protocol = struct.unpack("=IIIHHHH", value)
        if kind == AUXDATA and status & VLAN_VALID:
            frame = frame[:12] + struct.pack("!HH", protocol, tci) + frame[12:]
    return frame, address[2]


class Spoiler:
    """One direction."""

    def __init__(self) -> None:
        self.seen, self.held, self.word = 0, b"", ""

    def carried(self, word: str, frame: bytes) -> list[bytes]:
        """Return what comes out of the cable of a frame that went in."""
        if word != self.word:  # which frames are changed does not depend on how many came before
            self.seen, self.word, self.held = 0, word, b""
        if word.startswith("card"):
            return finished(frame, word)
        if word == "late" and OURS not in frame:
            time.sleep(LATE_S)
        if not word or word == "late" or word.startswith("obeys") or OURS not in frame:
            return [frame]
        tens, place = divmod(self.seen, 10)
        self.seen += 1
        if self.held:
            held, self.held = self.held, b""
            return [frame, held]
        if place != PLACES[tens % 10]:
            return [frame]
        if word == "swap":
            self.held = frame
        if word == "retag":
            return [frame[:14] + bytes([frame[14] & 0x1F]) + frame[15:] if frame[12:14] == TAGGED else frame]
        at = frame.index(OURS) + 17
        flipped = frame[:at] + bytes([frame[at] ^ 4]) + frame[at + 1 :]
        return {"drop": [], "twice": [frame, frame], "swap": [], "flip": [flipped], "cut": [frame[:-20]]}[word]


class Pausing:
    """The sending side of a card at one end: it holds its frames while pause frames of the other end ask it to."""

    def __init__(self) -> None:
        self.until, self.held = 0.0, list[bytes]()

    def asked(self, word: str, frame: bytes) -> bool:
        """Is it a pause frame? With ``obeys SECONDS`` it is heeded, and a quantum is so long."""
        if frame[12:16] != PAUSE:
            return False
        if word.startswith("obeys "):
            self.until = time.monotonic() + int.from_bytes(frame[16:18], "big") * float(word.split()[1])
        return True


class Relay:
    def __init__(self, names: list[str], faults: Path) -> None:
        self.sockets, self.faults = opened(names), faults
        self.spoilers, self.pausing = [Spoiler() for _ in names], Pausing()

    def word(self, way: int) -> str:
        """Return the fault of frames that come in at the interface of a number: a word, or one with ``from-NUMBER``."""
        word, _, only = self.faults.read_text().partition(" from-")
        return word if only in ("", str(way)) else ""

    def run(self) -> None:
        print("ready", flush=True)
        while True:
            for ready in select.select(self.sockets, [], [], 0.01 if self.pausing.held else None)[0]:
                frame, came = got(ready)
                way = self.sockets.index(ready)
                if came == socket.PACKET_OUTGOING:
                    continue
                if way == 1 and self.pausing.asked(self.word(way), frame):
                    continue
                for each in self.spoilers[way].carried(self.word(way), frame):
                    self.send(1 - way, each)
            if time.monotonic() >= self.pausing.until:
                held, self.pausing.held = self.pausing.held, []
                for each in held:
                    self.send(1, each)

    def send(self, to: int, frame: bytes) -> None:
        if to == 1 and time.monotonic() < self.pausing.until:
            self.pausing.held.append(frame)
            return
        with contextlib.suppress(OSError):
            self.sockets[to].send(frame)


if __name__ == "__main__":
    Relay(sys.argv[1:3], Path(sys.argv[3])).run()
