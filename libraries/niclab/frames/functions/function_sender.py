"""Sends frames from interfaces until each is gone: runs on Linux, sent there as source, Python 3.7 only.

Its steps (:mod:`niclab.run.step_program`): ``send`` begins, ``end`` ends and says what was sent, and what ended it.
"""

from __future__ import annotations

import errno
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from niclab.run.step_program import work

PER_S = 1000.0
KIND = b"\x88\xb5"
"""The first EtherType of local experiments (IEEE Std 802-2014, 9.2.3)."""
FRAME_BYTES = 301


class Sender(threading.Thread):
    """Sends from one interface. ``ended``: the name of the error that has ended it."""

    def __init__(self, iface: str, source: str, destination: str) -> None:
        super().__init__(daemon=True)
        self.frames, self.ended, self.is_over = 0, "", False
        self._frame = (bytes.fromhex((destination + source).replace(":", "")) + KIND).ljust(FRAME_BYTES, b"\0")
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._socket.bind((iface, 0))

    def run(self) -> None:
        while not self.is_over:
            try:
                self._socket.send(self._frame)
                self.frames += 1
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    self.ended = errno.errorcode.get(error.errno or 0, str(error))
                    break
            time.sleep(1 / PER_S)  # noqa: TID251 - no niclab.core.wait
        self._socket.close()


class Sendings:
    """The senders between two steps."""

    def __init__(self) -> None:
        self.senders: dict[str, Sender] = {}

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        if plan["do"] == "send":
            self.end()
            self.senders = {each["iface"]: Sender(**each) for each in plan["streams"]}
            for sender in self.senders.values():
                sender.start()
            return {}
        return self.end()

    def end(self) -> dict[str, Any]:
        found = {}
        for iface, sender in self.senders.items():
            sender.is_over = True
            sender.join()
            found[iface] = {"frames": sender.frames, "ended": sender.ended}
        self.senders = {}
        return found


if __name__ == "__main__":
    work(Path(sys.argv[1]), float(sys.argv[2]), Sendings().do)
