"""Ports of a toy bench with modules: what each reads follows the cables, unless a test says otherwise."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from fake_bench import FakeBench
from module_dumps import sfp

from niclab.links.optics import cage_checks, received
from niclab.run.run import Run

Memory = Callable[[], bytes]
PORTS = ("dut.p0", "dut.p1", "peer.p0", "peer.p1")


class LitPorts:
    """The modules of every port. ``of``: port -> its memory, read again each time."""

    def __init__(self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.taken, self._said = bench, taken, ""
        self.of: dict[str, Memory] = {name: self.following(name) for name in PORTS}
        monkeypatch.setattr(received, "WITHIN_S", 0.05)
        monkeypatch.setattr(cage_checks, "SETTLES_WITHIN_S", 0.05)
        monkeypatch.setattr(received, "_EVERY_S", 0.01)
        for host in (bench.dut, bench.peer):
            monkeypatch.setattr(host, "module_memory", self._reader(host.name), raising=False)
        self.media("fibre")

    def media(self, words: str) -> None:
        """Let the sheet say what a port may connect to."""
        said = f"  media: [{words}]\n" if words else ""
        self.bench.edit(self.bench.sheet, (f"  autoneg: true\n{self._said}", f"  autoneg: true\n{said}"))
        self._said = said
        self.taken.card = self.bench.load()[1]

    def following(self, name: str) -> Memory:
        """A sound module: lit while its port has a link, sending while its port is up."""

        def memory() -> bytes:
            lit = 420 if self.bench.cables.carrier(name) else 2.1
            return bytes(sfp(received_uw=lit, sent_uw=500 if self.bench.nic(name).admin_up else 0))

        return memory

    def fixed(self, memory: bytes | bytearray) -> Memory:
        """A module that reads the same whatever happens."""
        return lambda: bytes(memory)

    def _reader(self, role: str) -> Callable[[str], bytes]:
        keys = {self.bench.nic(name).iface: name for name in PORTS if name.startswith(role)}
        return lambda iface: self.of[keys[iface]]()
