"""The cables between the servers: ``python -m cables CONFIG.json``.

Every port of a server is a UDP socket pair on loopback (QEMU's ``-netdev dgram``); this process is what lies between. A
cable carries frames at wire speed in each direction, with a small buffer before it as a card has one, and it carries
*carrier*: a port has a link while its cable is plugged and the machine at the far end has power. Carrier is QEMU's
``set_link``, so that the server's unmodified driver sees a PHY interrupt.

Time on the wire: a frame of ``n`` bytes (without FCS) takes ``(max(n, 60) + 24) * 8`` bit times: 4 bytes FCS,
8 preamble, 12 inter-frame gap (IEEE 802.3-2018, 4A.4.2).
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import random
import socket
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from control import serve
from qmp import QmpError, QmpUnreachable

MIN_FRAME_BYTES = 60
OVERHEAD_BYTES = 24
BUFFER_S = 0.05
"""Frames that would wait longer than this are dropped at the sender's end: 312 kB at 50 Mbit/s."""
QMP_DEADLINE_S = 2.0
TOLD_S = 3.0
"""Within this time both machines have taken a change of carrier, or the one who asked is told that they have not."""

END_FAULTS = {
    "rate_factor": "frames sent by this end leave at this fraction of wire speed",
    "loss": "this fraction of the frames sent by this end is lost",
    "silent": "frames sent by this end are lost, carrier stays",
    "carrier_stuck": "this end keeps its carrier whatever happens to the cable",
    "carrier_delay_s": "this end sees a change of carrier so many seconds late",
}
PANEL_FAULTS = {"crossed": "the far ends of the first two cables are exchanged"}
FRACTIONS = ("rate_factor", "loss")


def wire_time_s(frame_bytes: int, rate_bit_s: float) -> float:
    """How long a frame of so many bytes (without FCS) keeps the wire busy, in seconds."""
    return (max(frame_bytes, MIN_FRAME_BYTES) + OVERHEAD_BYTES) * 8 / rate_bit_s


@dataclass
class End:
    """One port of a server, and the lane of frames that leave it."""

    server: str
    port: str
    socket: socket.socket
    address: tuple[str, int]  # where QEMU listens for frames towards this port
    rate_mbps: float
    paced: bool = True
    """Does the cable keep wire time? Not where the card does, unless a fault slows it down."""
    faults: dict[str, float] = field(default_factory=dict)
    queue: deque[tuple[float, bytes]] = field(default_factory=deque)
    free_at: float = 0.0  # monotonic time at which the wire is free
    frames: int = 0
    dropped: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)  # its carrier may have to change

    @property
    def name(self) -> str:
        return f"{self.server}.{self.port}"


class Machine:
    """The link control (QMP) of one server; it exists while the server has power."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: asyncio.StreamWriter | None = None
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.carrier: dict[str, bool] = {}
        """Port -> carrier as taken by *this* QEMU: one that starts has every link up and has been told nothing."""

    @property
    def powered(self) -> bool:
        return self._writer is not None

    async def watch(self, changed: Callable[[], None]) -> None:
        """Keep a connection for as long as there is a QEMU; call ``changed()`` when power comes or goes.

        It is called as well when a machine that stood still gives a late answer: by then it may have to be told anew.
        """
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(self._path)
            except OSError:
                await asyncio.sleep(0.05)  # no machine: look again
                continue
            try:
                await reader.readline()  # the greeting
                writer.write(b'{"execute": "qmp_capabilities"}\n')
                await reader.readline()
                self._writer = writer
                changed()
                while line := await reader.readline():
                    message = json.loads(line)
                    if "event" not in message and not self._answered(message):
                        changed()
            except (OSError, ValueError) as error:
                print(f"{self._path}: {error}", file=sys.stderr, flush=True)
            finally:
                writer.close()
                self._writer, self.carrier = None, {}
                for number in list(self._waiting):
                    self._answered({"id": number, "error": "QEMU hung up"})
                changed()

    def _answered(self, message: dict[str, Any]) -> bool:
        """Give the answer to the one who waits for it; tell whether there is one."""
        waiting = self._waiting.pop(message.get("id", -1), None)
        if waiting is None or waiting.done():
            return False
        waiting.set_result(message)
        return True

    async def set_link(self, port: str, up: bool) -> None:
        """Give or take carrier at ``port``.

        :raises QmpUnreachable: when the machine has no power or does not answer.
        :raises QmpError: when QEMU refuses.
        """
        if self._writer is None:
            raise QmpUnreachable(f"{self._path}: no power")
        carrier, number = self.carrier, next(self._numbers)
        carrier.pop(port, None)  # nobody knows it until the answer is here
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        command = {"execute": "set_link", "arguments": {"name": port, "up": up}, "id": number}
        self._writer.write(json.dumps(command).encode() + b"\n")
        try:
            message = await asyncio.wait_for(answer, QMP_DEADLINE_S)
        except TimeoutError as error:
            raise QmpUnreachable(f"{self._path}: no answer within {QMP_DEADLINE_S:g} s") from error
        finally:
            self._waiting.pop(number, None)
        if "error" in message:
            raise QmpError(f"{self._path}: set_link {port}: {message['error']}")
        carrier[port] = up


class Panel:
    """All cables of a bench."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._state_file = Path(config["state_file"])
        self._machines = {name: Machine(Path(server["qmp"])) for name, server in config["servers"].items()}
        self._cables: dict[str, list[End]] = {}
        for name, cable in config["cables"].items():
            self._cables[name] = [self._open(end, config, cable) for end in cable["ends"]]
        self._pulled: set[str] = set()
        self._panel_faults: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._load_state()

    @staticmethod
    def _open(end: dict[str, Any], config: dict[str, Any], cable: dict[str, Any]) -> End:
        link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        link.setblocking(False)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 22)
        link.bind((config["address"], end["panel_udp"]))
        address = (config["servers"][end["server"]]["address"], end["qemu_udp"])
        return End(end["server"], end["port"], link, address, float(cable["rate_mbps"]), cable.get("paced", True))

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            for end in self._ends():
                loop.add_reader(end.socket, self._frames_from, end)
                tasks.create_task(self._keep_carrier(end))
            for machine in self._machines.values():
                tasks.create_task(machine.watch(self._carrier_changed))

    def _ends(self) -> list[End]:
        return [end for cable in self._cables.values() for end in cable]

    # --- frames

    def _partner(self, end: End) -> tuple[str, End]:
        """The cable ``end`` is plugged into, and the end at the other side, with the cables as they really lie."""
        far = {name: second for name, (_, second) in self._cables.items()}
        if "crossed" in self._panel_faults:
            a, b = list(far)[:2]
            far[a], far[b] = far[b], far[a]
        for name, (first, _) in self._cables.items():
            second = far[name]
            if end is first:
                return name, second
            if end is second:
                return name, first
        raise LookupError(end.name)

    def _frames_from(self, end: End) -> None:
        cable, _ = self._partner(end)
        rate_bit_s = end.rate_mbps * 1e6 * end.faults.get("rate_factor", 1.0)
        was_idle = not end.queue
        for _ in range(64):
            try:
                frame = end.socket.recv(65536)
            except BlockingIOError:
                break
            if cable in self._pulled or "silent" in end.faults or random.random() < end.faults.get("loss", 0.0):
                end.dropped += 1
                continue
            now = time.monotonic()
            start = max(now, end.free_at)
            if start - now > BUFFER_S:
                end.dropped += 1
                continue
            slowed = end.paced or "rate_factor" in end.faults
            end.free_at = start + wire_time_s(len(frame), rate_bit_s) if slowed else start
            end.queue.append((end.free_at, frame))
        if was_idle and end.queue:
            self._release(end)

    def _release(self, end: End) -> None:
        """Hand over the frames whose last bit has arrived; come back when the next one is due."""
        cable, partner = self._partner(end)
        now = time.monotonic()
        while end.queue and end.queue[0][0] <= now:
            _, frame = end.queue.popleft()
            if cable in self._pulled or not self._machines[partner.server].powered:
                end.dropped += 1
                continue
            try:
                partner.socket.sendto(frame, partner.address)
                end.frames += 1
            except OSError:  # the far machine's buffer is full, or it is gone: the frame is lost, as on a wire
                end.dropped += 1
        if end.queue:
            loop = asyncio.get_running_loop()
            self._timers[end.name] = loop.call_at(loop.time() + end.queue[0][0] - now, self._release, end)

    # --- carrier

    def _wanted(self, end: End) -> bool:
        cable, partner = self._partner(end)
        return "carrier_stuck" in end.faults or (cable not in self._pulled and self._machines[partner.server].powered)

    def _carrier(self, end: End) -> bool | None:
        """The port's carrier as taken by its machine; ``None``: it has not been told, has not answered, or is off."""
        return self._machines[end.server].carrier.get(end.port)

    def _carrier_changed(self) -> None:
        for end in self._ends():
            end.changed.set()

    async def _keep_carrier(self, end: End) -> None:
        """Make the port's carrier what it must be, whenever something has changed. No port waits for another's."""
        machine = self._machines[end.server]
        while True:
            await end.changed.wait()
            end.changed.clear()
            if not machine.powered or self._carrier(end) == self._wanted(end):
                continue
            if delay_s := end.faults.get("carrier_delay_s"):
                await asyncio.sleep(delay_s)
            try:
                await machine.set_link(end.port, self._wanted(end))
            except QmpError as error:
                print(f"{end.name}: {error}", file=sys.stderr, flush=True)

    # --- control

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """``{"pull": cable}``, ``{"plug": cable}``, ``{"status": true}``, ``{"fault": ...}``, ``{"clear": ...}``."""
        match request:
            case {"pull": name}:
                self._pulled.add(self._cable(name))
            case {"plug": name}:
                self._pulled.discard(self._cable(name))
            case {"fault": {"target": str(target), "name": str(name), "value": int() | float() as value}}:
                self._set_fault(target, name, float(value))
            case {"clear": {}}:
                for end in self._ends():
                    end.faults.clear()
                self._panel_faults.clear()
            case {"status": True}:
                return self.status()
            case _:
                raise ValueError(f"not understood: {request!r}")
        self._save_state()
        self._carrier_changed()
        if "pull" in request or "plug" in request:
            await self._carrier_told(request.get("pull") or request["plug"])
        return self.status()

    async def _carrier_told(self, name: str) -> None:
        """Wait until both machines know, so that the caller's clock starts with the change itself.

        :raises ValueError: when one does not take it in time, for example because it stands still.
        """
        ends = [
            end
            for end in self._ends()
            if self._partner(end)[0] == name
            and self._machines[end.server].powered
            and "carrier_delay_s" not in end.faults
        ]
        deadline = time.monotonic() + TOLD_S
        while late := [end for end in ends if self._carrier(end) != self._wanted(end)]:
            if time.monotonic() > deadline:
                names = ", ".join(end.name for end in late)
                raise ValueError(f"cable {name!r}: {names} has not taken the change of carrier within {TOLD_S:g} s")
            await asyncio.sleep(0.01)

    def _cable(self, name: object) -> str:
        if name not in self._cables:
            raise ValueError(f"no cable {name!r}; there are {', '.join(self._cables)}")
        return str(name)

    def _set_fault(self, target: str, name: str, value: float) -> None:
        cable, _, server = target.partition(".")
        ends = [end for end in self._cables[self._cable(cable)] if server in ("", end.server)]
        if not ends:
            raise ValueError(f"cable {cable!r} has no end at {server!r}")
        if name in PANEL_FAULTS:
            self._panel_faults.add(name)
            return
        if name not in END_FAULTS:
            raise ValueError(f"no fault {name!r}; there are {', '.join([*END_FAULTS, *PANEL_FAULTS])}")
        if not 0 < value < math.inf or (name in FRACTIONS and value > 1):
            wanted = "a fraction above 0, at most 1" if name in FRACTIONS else "a number above 0"
            raise ValueError(f"{target}: {name} is {value:g}, wanted {wanted}")
        for end in ends:
            end.faults[name] = value

    def status(self) -> dict[str, Any]:
        return {
            "cables": {
                name: {
                    "plugged": name not in self._pulled,
                    "ends": {
                        end.name: {
                            "carrier": self._carrier(end),
                            "frames": end.frames,
                            "dropped": end.dropped,
                            "faults": end.faults,
                        }
                        for end in ends
                    },
                }
                for name, ends in self._cables.items()
            },
            "faults": sorted(self._panel_faults),
        }

    def _save_state(self) -> None:
        faults = {
            f"{name}.{end.server}": end.faults for name, ends in self._cables.items() for end in ends if end.faults
        }
        draft = self._state_file.with_suffix(".new")
        state = {"pulled": sorted(self._pulled), "faults": faults, "panel_faults": sorted(self._panel_faults)}
        draft.write_text(json.dumps(state))
        draft.replace(self._state_file)

    def _load_state(self) -> None:
        """A pulled cable stays pulled when this process is started anew."""
        if not self._state_file.exists():
            return
        state = json.loads(self._state_file.read_text())
        self._pulled = {self._cable(name) for name in state["pulled"]}
        for name in state["panel_faults"]:
            self._set_fault(next(iter(self._cables)), name, 1.0)
        for target, faults in state["faults"].items():
            for name, value in faults.items():
                self._set_fault(target, name, value)


async def main(config_file: Path) -> None:
    config = json.loads(config_file.read_text())
    panel = Panel(config)
    await serve(Path(config["control_socket"]), panel.handle)
    print("ready", flush=True)
    await panel.run()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
