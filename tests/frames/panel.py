"""A patch panel and a switch between the ports of two servers: ``panel.py STATE INTERFACE=PORT ...``.

STATE is a file of JSON. ``switch``: do the cables lead to the switch? Else dut.p0 leads to peer.p0, and so on.
``spoilt``: ``from peer.p1`` or ``to peer.p1`` -> what happens to one of every ten frames there, as of ``relay.py``.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
import sys
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from relay import Spoiler, got, opened


class Panel:
    def __init__(self, state: Path, ports: dict[str, str]) -> None:
        self.file, self.ports = state, dict(zip(ports.values(), opened([*ports]), strict=True))
        self.spoilers = defaultdict(Spoiler)
        self.learned: dict[bytes, str] = {}

    def targets(self, port: str, frame: bytes, switched: bool) -> list[str]:
        role, _, key = port.partition(".")
        if not switched:
            self.learned.clear()
            return [f"{'peer' if role == 'dut' else 'dut'}.{key}"]
        self.learned[frame[6:12]] = port
        known = self.learned.get(frame[:6])
        return [each for each in self.ports if each != port and known in (None, each)]

    def forward(self, port: str, frame: bytes) -> None:
        state = json.loads(self.file.read_text())
        for sent in self.spoiled(state, f"from {port}", frame):
            for target in self.targets(port, sent, state["switch"]):
                for arrived in self.spoiled(state, f"to {target}", sent):
                    with contextlib.suppress(OSError):
                        self.ports[target].send(arrived)

    def spoiled(self, state: dict[str, dict[str, str]], place: str, frame: bytes) -> list[bytes]:
        return self.spoilers[place].carried(state["spoilt"].get(place, ""), frame)

    def run(self) -> None:
        print("ready", flush=True)
        names = {each: port for port, each in self.ports.items()}
        while True:
            for ready in select.select([*names], [], [])[0]:
                frame, came = got(ready)
                if came != socket.PACKET_OUTGOING:
                    self.forward(names[ready], frame)


if __name__ == "__main__":
    Panel(Path(sys.argv[1]), dict(each.split("=") for each in sys.argv[2:])).run()
