"""One end of a cable: its sockets, and what goes over it. Part of :mod:`cables`."""

from __future__ import annotations

import asyncio
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from wiresocket import WireSocket, wire_socket


class Loss:
    """The frames that an end loses: one of each so many, at a random place among them.

    Lost each by its own chance, 1 % of the frames leave one in eight runs of 200 whole: no control could rely on it.
    """

    def __init__(self) -> None:
        self._share, self._next = 0.0, random.random()

    def takes_one(self, fraction: float) -> bool:
        """Is the frame lost that comes now, while this fraction of them is?"""
        self._share += fraction
        if self._share < self._next:
            return False
        self._next = int(self._next) + 1 + random.random()
        return True


@dataclass
class End:
    """One port of a server, and the lane of frames that leave it."""

    server: str
    port: str
    uplink: WireSocket  # its place at the switch
    socket: WireSocket
    address: tuple[str, int]  # where QEMU listens for frames towards this port
    switch: tuple[str, int]  # where the switch listens for frames from there
    rate_mbps: float
    paced: bool = True
    """Does the cable keep wire time? Not where the card does, unless a fault slows it down."""
    keeps_light: bool = True
    """Does the card itself take the light from the far end when its port is down?"""
    lit: bool = True
    """Does it send light? Known of a card that does not keep it."""
    faults: dict[str, float] = field(default_factory=dict)
    queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    loss: Loss = field(default_factory=Loss)
    free_at: float = 0.0  # monotonic time at which the wire is free
    frames: int = 0
    dropped: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # its carrier may have to change
    mended: asyncio.Event = field(default_factory=asyncio.Event)  # no fault delays a change of its carrier any more
    light: bool | None = None  # what the switch gives at its place there; None: the switch has not said

    @property
    def name(self) -> str:
        return f"{self.server}.{self.port}"


def open_end(end: dict[str, Any], config: dict[str, Any], cable: dict[str, Any]) -> End:
    """An end as the configuration of the cables has it."""
    return End(
        server=end["server"],
        port=end["port"],
        uplink=_bound(config["address"], end["uplink_udp"]),
        socket=_bound(config["address"], end["panel_udp"]),
        address=(config["servers"][end["server"]]["address"], end["qemu_udp"]),
        switch=(config["switch_address"], end["switch_udp"]),
        rate_mbps=float(cable["rate_mbps"]),
        paced=cable.get("paced", True),
        keeps_light=cable.get("keeps_light", True),
    )


def _bound(address: str, port: int) -> WireSocket:
    link = wire_socket()
    link.setblocking(False)
    link.bind((address, port))
    return link
