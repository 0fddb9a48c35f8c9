"""The requests of ``vbench`` to the switch: its state, shutting and opening of ports, defects."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from switch.config import Config
from switch.defects import WHOLE, Defects
from switch.device import Switch
from switch.port import Port
from wholefile import write_whole

TOLD_S = 3.0
"""Within this time the server has taken a change of carrier, or the caller gets an error."""


class Requests:
    """Answers requests on the control socket. Defects outlive a restart of the process, except a reboot.

    ``busy`` of the status: frames are on the wires.
    """

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._file = switch.settings.defects_file
        if self._file.exists():
            stored = json.loads(self._file.read_text())
            switch.defects.of = {int(number): defects for number, defects in stored.items()}
            switch.take_defects()

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """``{"shut": port}``, ``{"open": port}``, ``{"status": true}``, ``{"fault": ...}``, ``{"clear": {}}``,
        ``{"reset": {}}`` (the configuration as from the factory)."""
        match request:
            case {"status": True}:
                pass
            case {"shut": str(name)}:
                await self._set_admin(self._port(name), False)
            case {"open": str(name)}:
                await self._set_admin(self._port(name), True)
            case {"fault": {"target": str(target), "name": str(name), "value": int() | float() as value}}:
                self._put(target, name, float(value))
            case {"clear": {}}:
                self._switch.defects.clear()
                self._switch.started_again()
                self._defects_changed()
            case {"reset": {}}:
                self._switch.apply(Config())
            case _:
                raise ValueError(f"not understood: {request!r}")
        return self.status()

    async def _set_admin(self, port: Port, admin: bool) -> None:
        """Shut or open the port; a server that has power has taken it when this returns."""
        new = self._switch.changed_copy()
        new.ports[port.number].admin = admin
        self._switch.apply(new)
        deadline = time.monotonic() + TOLD_S
        while (carrier := self._switch.carrier(port)) is not None and carrier != self._switch.wanted(port):
            if time.monotonic() > deadline:
                raise ValueError(f"{port.name}: {port.far[0]} has not taken the change of carrier within {TOLD_S:g} s")
            await asyncio.sleep(0.01)

    def _port(self, name: str) -> Port:
        if name not in self._switch.by_name:
            raise ValueError(f"no port {name!r}; there are {', '.join(self._switch.by_name)}")
        return self._switch.by_name[name]

    def _put(self, target: str, name: str, value: float) -> None:
        ports = [self._port(target).number] if target else list(self._switch.ports)
        self._switch.defects.put(name, value, ports, whole=not target)
        if name == "reboot_s":
            del self._switch.defects.of[WHOLE]["reboot_s"]
            self._switch.reboot(value)
        self._defects_changed()

    def _defects_changed(self) -> None:
        write_whole(self._file, json.dumps(self._switch.defects.of))
        self._switch.take_defects()

    def status(self) -> dict[str, Any]:
        switch = self._switch
        return {
            "rebooting": switch.rebooting,
            "uptime_s": switch.uptime_s,
            "busy": any(port.busy for port in switch.ports.values()),
            "faults": sorted(switch.defects.of.get(WHOLE, {})),
            "ports": {port.name: self._port_status(port) for port in switch.ports.values()},
            "vlans": {
                number: {"name": vlan.name, "egress": sorted(vlan.egress), "untagged": sorted(vlan.untagged)}
                for number, vlan in sorted(switch.config.vlans.items())
            },
        }

    def _port_status(self, port: Port) -> dict[str, Any]:
        switch, settings = self._switch, self._switch.config.ports[port.number]
        known = switch.neighbours.known.get(port.number)
        members = switch.bridge.members[switch.bridge.leader[port.number]]
        return {
            "to": ".".join(port.far),
            "admin": "open" if settings.admin else "shut",
            "link": "up" if port.up else "down",
            "pvid": settings.pvid,
            "with": [switch.ports[number].name for number in members] if len(members) > 1 else [],
            "neighbour": known.neighbour.system_name.decode(errors="replace") if known else None,
            "faults": sorted(_names(switch.defects, port.number)),
        }


def _names(defects: Defects, port: int) -> list[str]:
    return list(defects.of.get(port, {}))
