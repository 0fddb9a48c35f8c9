"""The wires of cables and switch on a clock of their own: what takes a second there takes no time here.

The clock moves only when nothing is left to do at its time, so that a busy host changes nothing.
"""

from __future__ import annotations

import asyncio
import selectors
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from bench_fakes import own_address, short_folder

import cables
from cableend import End

T = TypeVar("T")
ROLES = ("dut", "peer")
TICK_S = 1e-9
"""Each look at what is ready takes this: what is due a rounding error later would never be due on a clock at rest."""


class _Jump(selectors.SelectSelector):
    """Waits for nobody: moves the clock instead."""

    def __init__(self, loop: ClockLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        assert timeout is not None, "everybody waits for something that never comes"
        self._loop.now_s += timeout + TICK_S
        return super().select(0)


class ClockLoop(asyncio.SelectorEventLoop):
    """An event loop with a clock of its own.

    Attributes:
        now_s: What :meth:`time` says.
    """

    def __init__(self) -> None:
        self.now_s = 1000.0
        super().__init__(_Jump(self))

    def time(self) -> float:
        return self.now_s


class MemorySocket:
    """The socket of a cable's or switch's port: what its card has sent, and what came to the card, with the moment."""

    def __init__(self) -> None:
        self.sent: deque[tuple[bytes, float]] = deque()
        self.came: list[tuple[float, bytes]] = []

    def take(self) -> tuple[bytes, float]:
        if not self.sent:
            raise BlockingIOError
        return self.sent.popleft()

    def send(self, frame: bytes, ago_s: float = 0.0) -> None:
        """The card has sent a frame, so many seconds ago."""
        self.sent.append((frame, asyncio.get_running_loop().time() - ago_s))

    def sendto(self, frame: bytes, _: object) -> None:
        self.came.append((asyncio.get_running_loop().time(), frame))


class _Machine:
    """A machine that has power and takes every change of carrier at once.

    Attributes:
        told: ``(moment, port, carrier)`` of each change.
    """

    powered = True

    def __init__(self) -> None:
        self.carrier = {"p0": True, "p1": True}
        self.told: list[tuple[float, str, bool]] = []

    async def set_link(self, port: str, up: bool) -> None:
        self.carrier[port] = up
        self.told.append((asyncio.get_running_loop().time(), port, up))


class Wires:
    """Two cables between two machines; ports are named as ``dut.p0``."""

    def __init__(self, folder: Path, rate_mbps: float, paced: bool) -> None:
        self.panel = cables.Panel(_config(folder, rate_mbps, paced))
        self.machines = {role: _Machine() for role in ROLES}
        self.panel._machines = dict(self.machines)  # type: ignore[arg-type]
        self.ends: dict[str, End] = {end.name: end for end in self.panel._ends()}
        self.sockets: dict[str, MemorySocket] = {}
        for name, end in self.ends.items():
            end.socket.close()
            end.uplink.close()
            self.sockets[name] = end.socket = MemorySocket()  # type: ignore[assignment]

    def send(self, port: str, *frames: bytes) -> None:
        """The card at ``port`` sends the frames at once."""
        for frame in frames:
            self.sockets[port].send(frame)
        while self.sockets[port].sent:
            self.panel._frames_from(self.ends[port])

    def came(self, port: str) -> list[bytes]:
        return [frame for _, frame in self.sockets[port].came]

    def counted(self, port: str) -> tuple[int, int]:
        """Frames from ``port`` that were carried, and dropped."""
        return self.ends[port].frames, self.ends[port].dropped

    async def ask(self, **request: Any) -> dict[str, Any]:
        return await self.panel.handle(request)

    async def fault(self, target: str, name: str, value: float = 1.0) -> None:
        await self.ask(fault={"target": target, "name": name, "value": value})

    async def rate_mbps(self, source: str, target: str, frame_bytes: int, for_s: float = 4.0) -> float:
        """Offer more than the wire takes for a while; the rate at which it came out, in Mbit/s of wire time.

        Counted is what the wire is busy with: every frame and the 24 bytes of FCS, preamble and gap (IEEE 802.3).
        So long that the bunch in which frames are handed over last does not matter.
        """
        await offered(lambda frame: self.send(source, frame), b"x" * frame_bytes, for_s)
        return wire_mbps(self.sockets[target].came)


def _config(folder: Path, rate_mbps: float, paced: bool) -> dict[str, Any]:
    lanes: dict[str, Any] = {
        name: {"rate_mbps": rate_mbps, "paced": paced, "ends": [
            {"server": role, "port": f"p{n}", "qemu_udp": 5000 + n, "switch_udp": 5100 + n}
            | {"panel_udp": 5000 + 10 * number + n, "uplink_udp": 5200 + 10 * number + n}
            for number, role in enumerate(ROLES)
        ]}
        for n, name in enumerate("ab")
    }  # fmt: skip
    servers = {role: {"qmp": "", "address": "", "outlet": str(folder / f"outlet-{role}")} for role in ROLES}
    files = {"control_socket": "cables.control", "state_file": "cables.json"}
    config = {"address": own_address(2), "switch_address": "", "servers": servers, "cables": lanes}
    return config | {name: str(folder / file) for name, file in files.items()}


async def offered(send: Callable[[bytes], object], frame: bytes, for_s: float) -> None:
    """Twenty frames each 2 ms, for so long."""
    for _ in range(round(for_s / 0.002)):
        for _ in range(20):
            send(frame)
        await asyncio.sleep(0.002)


def wire_mbps(came: list[tuple[float, bytes]]) -> float:
    """The rate at which these frames came, which are all of one size, in Mbit/s of wire time."""
    assert len(came) > 20
    (first, frame), (last, _) = came[0], came[-1]
    return (len(came) - 1) * (len(frame) + 24) * 8 / (last - first) / 1e6


def on_a_clock(scenario: Callable[[], Awaitable[T]]) -> T:
    """Run the scenario on a clock of its own."""

    async def whole() -> T:
        return await scenario()

    with asyncio.Runner(loop_factory=ClockLoop) as runner, pytest.MonkeyPatch.context() as patch:
        loop = runner.get_loop()
        patch.setattr(cables, "time", SimpleNamespace(monotonic=loop.time))
        return runner.run(whole())


def on_wires(scenario: Callable[[Wires], Awaitable[T]], *, rate_mbps: float = 50.0, paced: bool = True) -> T:
    """Run the scenario with two cables, on a clock of its own."""

    async def whole() -> T:
        with short_folder() as folder:
            wires = Wires(folder, rate_mbps, paced)
            keepers = [asyncio.ensure_future(wires.panel._keep_carrier(end)) for end in wires.ends.values()]
            try:
                return await scenario(wires)
            finally:
                for keeper in keepers:
                    keeper.cancel()
                await asyncio.gather(*keepers, return_exceptions=True)

    return on_a_clock(whole)
