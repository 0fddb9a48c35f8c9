"""The switch as a whole: ports, bridge, aggregation, neighbours, and what is configured."""

from __future__ import annotations

import asyncio
import copy
import sys
import time

from linkcontrol import Machine
from qmp import QmpError
from switch import config, frames, lacp, lacpdu, lldp
from switch.bridge import Bridge
from switch.config import Config
from switch.defects import Defects
from switch.lacpdu import Lacpdu
from switch.port import Counters, Port
from switch.settings import PortSettings, Settings
from wiresocket import wire_socket

MODEL = "NICLAB-VS4"
ABOUT = "NIC lab virtual switch, 4 ports"
TICK_S = 0.1
FAST_LLDP_S, FAST_LLDP_FRAMES = 1.0, 4
"""After its link came a port says who it is a few times in quick succession (802.1AB-2016, 9.2.5.5)."""


class Switch:
    """The switch. Its parts are public for the agent, which shows them.

    Attributes:
        changes: Counts what adds or removes rows of the agent's tables.
    """

    def __init__(self, settings: Settings, stored: Config) -> None:
        self.settings = settings
        self.config = stored
        self.defects = Defects()
        self.started = time.monotonic()
        self.reboots = 0
        self.rebooting = False
        self.changes = 0
        self.ports = {port.number: self._open(port) for port in settings.ports}
        self.by_name = {port.name: port for port in self.ports.values()}
        self.bridge = Bridge(self.ports, stored)
        self.neighbours = lldp.Neighbours()
        self.lacp = {number: self._lacp(port) for number, port in self.ports.items()}
        self.stuck: dict[int, Counters] = {}
        self._machines = {server: Machine(path) for server, path in settings.outlets.items()}
        self._say_at: dict[int, float] = {}
        self._said: dict[int, int] = {}
        self._restart: asyncio.TimerHandle | None = None

    def _open(self, settings: PortSettings) -> Port:
        link = wire_socket()
        link.setblocking(False)
        link.bind((self.settings.address, settings.udp))
        far = (settings.server, settings.nic)

        def received(frame: bytes, at: float) -> None:
            self._received(self.ports[settings.number], frame, at)

        number, scale = settings.number, self.settings.scale
        port = Port(number, settings.name, settings.mac, far, link, settings.cable, scale, received)
        port.speed_mbps = self.settings.speed_mbps
        return port

    def _lacp(self, port: Port) -> lacp.Lacp:
        def send(pdu: Lacpdu) -> None:
            port.send(lacpdu.encode(port.mac, pdu))

        return lacp.Lacp(port.number, self.settings.mac, self.config.ports[port.number], send, self._regroup)

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self.started

    def since(self, moment: float) -> float:
        """A moment (monotonic, s) on the clock of sysUpTime; 0 for one before the start."""
        return max(0.0, moment - self.started)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            for port in self.ports.values():
                loop.add_reader(port.socket, port.read)
                port.carrier_changed.set()
                tasks.create_task(self._keep_carrier(port))
            for machine in self._machines.values():
                tasks.create_task(machine.watch(self.look_at_links))
            tasks.create_task(self._tick())

    # --- frames

    def _received(self, port: Port, frame: bytes, at: float) -> None:
        if frames.link_local(frame):
            self._for_us(port, frame)
        else:
            self.bridge.forward(port, frame, at)

    def _for_us(self, port: Port, frame: bytes) -> None:
        kind = frames.ether_type(frame)
        if kind == frames.LLDP:
            try:
                self.neighbours.heard(port.number, lldp.decode(frame), time.monotonic())
            except lldp.LldpError as error:
                port.counters.in_discards += 1
                print(f"{port.name}: LLDP: {error}", file=sys.stderr, flush=True)
        elif kind == frames.SLOW_PROTOCOLS:
            speaker = self.lacp[port.number]
            if pdu := lacpdu.decode(frame):
                speaker.received(pdu, time.monotonic())
            else:
                speaker.statistics.illegal += 1

    def _regroup(self) -> None:
        """Ports join or leave aggregations: what was learned behind one whose group has changed is forgotten."""
        leader, members = lacp.groups(self.lacp)
        moved = [number for number in leader if leader[number] != self.bridge.leader[number]]
        self.bridge.leader, self.bridge.members = leader, members
        self.changes += 1
        for number in moved:
            self.bridge.flush(number)

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            for port in self.ports.values():
                if port.up:
                    self.lacp[port.number].tick(now)
                    self._say_who(port, now)
            self.neighbours.age(now)
            self.bridge.age()

    def _say_who(self, port: Port, now: float) -> None:
        if now < self._say_at.get(port.number, 0.0):
            return
        said = self._said[port.number] = self._said.get(port.number, 0) + 1
        self._say_at[port.number] = now + (FAST_LLDP_S if said < FAST_LLDP_FRAMES else lldp.INTERVAL_S)
        alias = self.config.ports[port.number].alias or port.name
        port.send(lldp.encode(port.mac, self.settings.mac, port.name, alias, self.config.name, ABOUT))

    # --- links

    def wanted(self, port: Port) -> bool:
        """Must the server see carrier?"""
        shut = self.rebooting or self.defects.has("err_disabled", port.number)
        return self.config.ports[port.number].admin and not shut

    def carrier(self, port: Port) -> bool | None:
        """The carrier as taken by the server; ``None``: it has not been told, has not answered, or is off."""
        server, nic = port.far
        return self._machines[server].carrier.get(nic)

    def look_at_links(self) -> None:
        """Something that decides on links has changed: a port, or a server's power."""
        for port in self.ports.values():
            self._look_at_link(port)
            port.carrier_changed.set()

    def _look_at_link(self, port: Port) -> None:
        up = self.wanted(port) and self.carrier(port) is True
        if not port.set_up(up, time.monotonic()):
            return
        if up:
            self._said[port.number], self._say_at[port.number] = 0, 0.0
            return
        self.lacp[port.number].down()
        self.neighbours.forget(port.number)
        if not self.defects.has("fdb_not_flushed"):
            self.bridge.flush(port.number)

    async def _keep_carrier(self, port: Port) -> None:
        """Make the server's carrier what it must be, whenever something has changed. No port waits for another's."""
        server, nic = port.far
        machine = self._machines[server]
        while True:
            await port.carrier_changed.wait()
            port.carrier_changed.clear()
            if not machine.powered or self.carrier(port) == self.wanted(port):
                continue
            try:
                await machine.set_link(nic, self.wanted(port))
            except QmpError as error:
                print(f"{port.name}: {error}", file=sys.stderr, flush=True)
            self._look_at_link(port)
            if self.carrier(port) is not None and self.carrier(port) != self.wanted(port):
                port.carrier_changed.set()

    # --- what is configured

    def changed_copy(self) -> Config:
        """A copy to change, for :meth:`apply`."""
        return copy.deepcopy(self.config)

    def apply(self, new: Config) -> None:
        """Configure the switch so, and keep it over a restart."""
        self.config = self.bridge.config = new
        config.save(self.settings.config_file, new)
        for number in self.ports:
            self.lacp[number].settings = new.ports[number]
        self.bridge.forget_vlans()
        self._regroup()
        self.look_at_links()

    def counters(self, port: Port) -> Counters:
        """The counters as the agent tells them."""
        return self.stuck.get(port.number, port.counters)

    # --- defects

    def take_defects(self) -> None:
        """Let the defects of the moment have their effect."""
        has = self.defects.has
        other_system = bytes([self.settings.mac[0], *(byte ^ 0xFF for byte in self.settings.mac[1:])])
        for number, port in self.ports.items():
            port.silent = has("silent", number)
            self.lacp[number].not_in_sync = has("lacp_not_in_sync", number)
            self.lacp[number].other_system = other_system if has("lacp_other_system", number) else None
            if not has("counters_stuck", number):
                self.stuck.pop(number, None)
            else:
                self.stuck.setdefault(number, port.counters.copy())
        self.bridge.leaking = {number for number in self.ports if has("vlan_leak", number)}
        self._regroup()
        self.look_at_links()

    def reboot(self, for_s: float) -> None:
        """Lose links and answers for so many seconds, then start with counters and time from zero."""
        self.rebooting = True
        self.look_at_links()
        if self._restart:
            self._restart.cancel()
        self._restart = asyncio.get_running_loop().call_later(for_s, self.started_again)

    def started_again(self) -> None:
        """The reboot is over; nothing happens when there is none."""
        if not self.rebooting:
            return
        if self._restart:
            self._restart.cancel()
        self.rebooting, self.started = False, time.monotonic()
        self.reboots += 1
        self.bridge.fdb.clear()
        self.bridge.changes += 1
        for port in self.ports.values():
            port.counters = Counters()
            self.lacp[port.number].statistics = lacp.Statistics()
        self.look_at_links()
