"""The cables between the servers: ``python -m cables CONFIG.json``.

Every port of a server is a UDP socket pair on loopback (QEMU's ``-netdev dgram``); this process is what lies between. A
cable carries frames at wire speed in each direction, with a small buffer before it as a card has one, and it carries
*carrier*: a port has a link while its cable is plugged, the machine at the far end has power, and its driver runs the
port (:mod:`light`). Carrier is QEMU's ``set_link``: the server's unmodified driver sees a PHY interrupt.

The cables lead from server to server, or all of them to the switch (``{"wiring": "switch"}``): then every port has a
cable of its own to the switch's port of :mod:`uplinks`, and a link while that port gives light (:mod:`outlets`). Such a
cable is pulled at the dut: ``pull a`` is the one of the first server's end. The switch keeps wire time then.

Time on the wire: a frame of ``n`` bytes (without FCS) takes ``(max(n, 60) + 24) * 8`` bit times: 4 bytes FCS,
8 preamble, 12 inter-frame gap (IEEE 802.3-2018, 4A.4.2).
"""

from __future__ import annotations

import asyncio
import json
import math
import socket
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from cableend import End, open_end
from control import serve
from light import Lamp
from linkcontrol import Machine
from outlets import Outlet
from qmp import QmpError
from wholefile import write_whole

MIN_FRAME_BYTES = 60
"""The least an Ethernet frame has, without FCS. Drivers of QEMU's cards leave the padding to the card (TCTL.PSP), whose
model does not pad, and counts what it receives as too short: here the cable pads."""
OVERHEAD_BYTES = 24
BUFFER_S = 0.05
"""Frames that would wait longer than this are dropped at the sender's end: 156 kB at 25 Mbit/s."""
BUNCH_S = 0.01
"""Frames that follow one another are handed over so often. An adapter that moderates its interrupts hands a host 4000
bunches a second of bulk traffic (e1000e, bulk_latency); this is that on a wire that is 40 times slower."""
BURST = 64
"""Frames taken from a socket before others have their turn."""
LIGHT_S = 1.5
"""Within this time a machine has taken the light that the switch gives; less than the switch waits for it."""
WIRINGS = ("direct", "switch")
TOLD_S = 3.0
"""Within this time both machines have taken a change of carrier, or the caller gets an error."""

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
    """Return the time in seconds for which a frame of so many bytes (without FCS) keeps the wire busy."""
    return (max(frame_bytes, MIN_FRAME_BYTES) + OVERHEAD_BYTES) * 8 / rate_bit_s


class Panel:
    """All cables of a bench."""

    def __init__(self, config: dict[str, Any]) -> None:
        self._state_file = Path(config["state_file"])
        self._machines = {name: Machine(Path(server["qmp"])) for name, server in config["servers"].items()}
        self._cables: dict[str, list[End]] = {}
        for name, cable in config["cables"].items():
            self._cables[name] = [open_end(end, config, cable) for end in cable["ends"]]
        self._outlets = {name: self._outlet(name, Path(server["outlet"])) for name, server in config["servers"].items()}
        self._powers_changed = asyncio.Event()
        self._switched = False
        self._pulled: set[str] = set()
        self._panel_faults: set[str] = set()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._load_state()

    def _outlet(self, server: str, path: Path) -> Outlet:
        async def give_light(port: str, on: bool) -> None:
            await self._give_light(server, port, on)

        def dark() -> None:
            for end in self._ends():
                if end.server == server:
                    end.light = None
            self._carrier_changed()

        return Outlet(path, give_light, dark)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            for end in self._ends():
                loop.add_reader(end.socket, self._frames_from, end)
                loop.add_reader(end.uplink, self._frames_to, end)
                tasks.create_task(self._keep_carrier(end))
                if not end.keeps_light:
                    lamp = Lamp(self._machines[end.server], end.port)
                    tasks.create_task(lamp.keep(lambda: not self._switched, partial(self._set_lit, end)))
            for machine in self._machines.values():
                tasks.create_task(machine.watch(self._carrier_changed))
            tasks.create_task(self._keep_outlets())

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

    def _place(self, end: End) -> End:
        """The end whose place at the switch ``end`` is plugged into, and the other way round: itself if not crossed."""
        (_, first), (_, second) = list(self._cables.values())[:2]
        crossed = {first.name: second, second.name: first} if "crossed" in self._panel_faults else {}
        return crossed.get(end.name, end)

    def _is_pulled(self, end: End) -> bool:
        """Is the cable that ``end`` is plugged into pulled? One to the switch has an end of its own there."""
        cable, _ = self._partner(end)
        return cable in self._pulled and not (self._switched and end is not self._cables[cable][0])

    def _frames_to(self, end: End) -> None:
        """Frames of the switch have come, at the place of ``end``."""
        target = self._place(end)
        passing = self._switched and bool(end.light) and not self._is_pulled(target)
        for _ in range(BURST):
            try:
                frame = end.uplink.recv(65536)
                if passing and self._machines[target.server].powered:
                    target.socket.sendto(frame, target.address)
            except BlockingIOError:
                return
            except OSError:  # the machine's buffer is full, or it is gone: the frame is lost, as on a wire
                continue

    def _frames_from(self, end: End) -> None:
        rate_bit_s = end.rate_mbps * 1e6 * end.faults.get("rate_factor", 1.0)
        slowed = (end.paced and not self._switched) or "rate_factor" in end.faults
        is_lost, loss = self._is_pulled(end) or "silent" in end.faults, end.faults.get("loss", 0.0)
        was_idle = not end.queue
        for _ in range(BURST):
            try:
                frame, arrived = end.socket.take()
            except BlockingIOError:
                break
            frame = frame.ljust(MIN_FRAME_BYTES, b"\0")
            if is_lost or (loss and end.loss.takes_one(loss)):
                end.dropped += 1
                continue
            start = max(arrived, end.free_at)  # the wire went on while the host gave this process no processor
            if start - arrived > BUFFER_S:
                end.dropped += 1
                continue
            end.free_at = start + wire_time_s(len(frame), rate_bit_s) if slowed else start
            end.queue.append((end.free_at, frame))
        if was_idle and end.queue:
            self._release(end)

    def _release(self, end: End) -> None:
        """Hand over the frames whose last bit has arrived; come back when the next one, or the next bunch, is due."""
        now = time.monotonic()
        way = self._way(end)
        while end.queue and end.queue[0][0] <= now:
            _, frame = end.queue.popleft()
            if way is None:
                end.dropped += 1
                continue
            try:
                way[0].sendto(frame, way[1])
                end.frames += 1
            except OSError:  # the far machine's buffer is full, or it is gone: the frame is lost, as on a wire
                end.dropped += 1
        if end.queue:
            loop = asyncio.get_running_loop()
            due_s = end.queue[0][0] - now if len(end.queue) == 1 else BUNCH_S
            self._timers[end.name] = loop.call_at(loop.time() + due_s, self._release, end)

    def _way(self, end: End) -> tuple[socket.socket, tuple[str, int]] | None:
        """From where to where a frame goes that has left ``end``; ``None``: nowhere."""
        if self._is_pulled(end):
            return None
        if self._switched:
            place = self._place(end)
            return (place.uplink, place.switch) if place.light else None
        _, partner = self._partner(end)
        return (partner.socket, partner.address) if self._machines[partner.server].powered else None

    # --- carrier

    def _wanted(self, end: End) -> bool:
        if "carrier_stuck" in end.faults:
            return True
        _, partner = self._partner(end)
        lit = bool(self._place(end).light) if self._switched else self._machines[partner.server].powered and partner.lit
        return lit and not self._is_pulled(end)

    def _carrier(self, end: End) -> bool | None:
        """The port's carrier as taken by its machine; ``None``: it has not been told, has not answered, or is off."""
        return self._machines[end.server].carrier.get(end.port)

    def _carrier_changed(self) -> None:
        self._powers_changed.set()
        for end in self._ends():
            end.changed.set()

    def _set_lit(self, end: End, lit: bool) -> None:
        if end.lit != lit:
            end.lit = lit
            self._carrier_changed()

    async def _keep_outlets(self) -> None:
        while True:
            await self._powers_changed.wait()
            self._powers_changed.clear()
            for server, outlet in self._outlets.items():
                await outlet.keep(self._switched and self._machines[server].powered)

    async def _give_light(self, server: str, port: str, on: bool) -> None:
        """The switch gives light, or takes it, at the place of a port. Returns when the machine has taken it.

        Raises:
            ValueError: When no cable leads there, or the machine does not take it in time.
        """
        place = next(end for end in self._ends() if (end.server, end.port) == (server, port))
        end = self._place(place)
        place.light = on
        end.changed.set()
        if "carrier_delay_s" not in end.faults:
            deadline = time.monotonic() + LIGHT_S
            while self._carrier(end) != self._wanted(end) and time.monotonic() < deadline:
                await asyncio.sleep(0.002)
            if self._carrier(end) != self._wanted(end):
                raise ValueError(f"{end.name} has not taken the change of carrier within {LIGHT_S:g} s")
        if self._is_pulled(end):
            raise ValueError(f"the cable to {end.name} is pulled")

    async def _keep_carrier(self, end: End) -> None:
        """Make the port's carrier what it must be, whenever something has changed. No port waits for another's."""
        machine = self._machines[end.server]
        while True:
            await end.changed.wait()
            end.changed.clear()
            if not machine.powered or self._carrier(end) == self._wanted(end):
                continue
            if delay_s := end.faults.get("carrier_delay_s"):
                with suppress(TimeoutError):
                    await asyncio.wait_for(end.mended.wait(), delay_s)
            try:
                await machine.set_link(end.port, self._wanted(end))
            except QmpError as error:
                print(f"{end.name}: {error}", file=sys.stderr, flush=True)

    # --- control

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """``{"pull": cable}``, ``{"plug": cable}``, ``{"wiring": "direct"}`` or ``"switch"``, ``{"status": true}``,
        ``{"fault": ...}``, ``{"clear": ...}``."""
        before = self._pulled.copy()
        match request:
            case {"pull": name}:
                self._pulled.add(self._cable(name))
            case {"plug": name}:
                self._pulled.discard(self._cable(name))
            case {"wiring": str(wiring)}:
                self._set_wiring(wiring)
            case {"fault": {"target": str(target), "name": str(name), "value": int() | float() as value}}:
                self._set_fault(target, name, float(value))
            case {"clear": {}}:
                for end in self._ends():
                    end.faults.clear()
                    end.mended.set()
                self._panel_faults.clear()
            case {"status": True}:
                return self.status()
            case _:
                raise ValueError(f"not understood: {request!r}")
        self._save_state()
        self._carrier_changed()
        if name := request.get("pull") or request.get("plug"):
            ends = [end for end in self._ends() if self._partner(end)[0] == name]
            if self._switched:
                ends = self._cables[name][:1]
            if self._switched and self._pulled != before:
                self._outlets[ends[0].server].cable_changed(self._place(ends[0]).port)
            await self._carrier_told(f"cable {name!r}", ends)
        if "wiring" in request:
            await self._carrier_told(f"wiring {request['wiring']!r}", self._ends())
        return self.status()

    def _set_wiring(self, wiring: str) -> None:
        """Lay all cables: from server to server, or from the servers to the switch."""
        if wiring not in WIRINGS:
            raise ValueError(f"no wiring {wiring!r}; there are {', '.join(WIRINGS)}")
        self._switched = wiring == "switch"

    async def _carrier_told(self, what: str, ends: list[End]) -> None:
        """Wait until the machines know, so that the caller's clock starts with the change itself.

        Raises:
            ValueError: When one does not take it in time, for example because it stands still.
        """
        told = [end for end in ends if self._machines[end.server].powered and "carrier_delay_s" not in end.faults]

        def late() -> list[End]:
            return [
                end
                for end in told
                if self._carrier(end) != self._wanted(end) or (self._switched and self._place(end).light is None)
            ]

        deadline = time.monotonic() + TOLD_S
        while waiting := late():
            if time.monotonic() > deadline:
                names = ", ".join(end.name for end in waiting)
                raise ValueError(f"{what}: {names} has not taken the change of carrier within {TOLD_S:g} s")
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
            raise ValueError(f"{target}: {name} is {value:g}; expected {wanted}")
        for end in ends:
            end.faults[name] = value
            end.mended.clear()

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
            "wiring": WIRINGS[self._switched],
            "faults": sorted(self._panel_faults),
        }

    def _save_state(self) -> None:
        faults = {
            f"{name}.{end.server}": end.faults for name, ends in self._cables.items() for end in ends if end.faults
        }
        state = {"pulled": sorted(self._pulled), "faults": faults, "panel_faults": sorted(self._panel_faults)}
        state["wiring"] = WIRINGS[self._switched]
        write_whole(self._state_file, json.dumps(state))

    def _load_state(self) -> None:
        """A pulled cable stays pulled, and leads where it led, when this process is started again."""
        if not self._state_file.exists():
            return
        state = json.loads(self._state_file.read_text())
        self._pulled = {self._cable(name) for name in state["pulled"]}
        self._set_wiring(state.get("wiring", "direct"))
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
