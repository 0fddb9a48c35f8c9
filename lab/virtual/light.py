"""The light of QEMU's cards of Intel, whose models have none: a port sends light while its driver runs it.

A real 82574L powers its PHY down when its interface is taken down or its driver unloaded, and the partner at the other
end of the cable loses its link. Here the card's register says it: the driver enables the receiver when the interface
comes up, and resets the card when it goes down. Virtual cards keep their light themselves.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from typing import Any

from linkcontrol import Machine
from qmp import QmpError

RECEIVE_CONTROL = 0x100
RECEIVER_ENABLED = 0x2
"""RCTL and its bit EN (Intel 82574 GbE Controller Family Datasheet, 10.2.5.1)."""
LOOK_EVERY_S = 0.1
DARK_AFTER = 3
"""Looks: a driver that resets its card, as for other rings, has the receiver off for a moment."""
_WORD = re.compile(r"[0-9a-f]+: (0x[0-9a-f]{8})\s*")


class Lamp:
    """The light of one port of a machine.

    Args:
        port: The id of its device.
    """

    def __init__(self, machine: Machine, port: str) -> None:
        self._machine, self._port = machine, port
        self._registers: int | None = None
        self._off = 0

    async def keep(self, is_asked: Callable[[], bool], set_lit: Callable[[bool], None]) -> None:
        """Say again and again whether the port sends light; it does while nobody asks."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if is_asked() and self._machine.powered:
                try:
                    self._off = 0 if await self._is_on() else self._off + 1
                except QmpError as error:
                    print(f"{self._port}: {error}", file=sys.stderr, flush=True)
                    continue  # what was seen last holds
            else:
                self._off, self._registers = 0, None
            set_lit(self._off < DARK_AFTER)

    async def _is_on(self) -> bool:
        if self._registers is None or self._off:  # the system may have moved them
            self._registers = registers_of(self._port, await self._machine.execute("query-pci"))
        if self._registers is None:
            return False
        look = f"xp /1wx {self._registers + RECEIVE_CONTROL:#x}"
        said = await self._machine.execute("human-monitor-command", **{"command-line": look})
        found = _WORD.fullmatch(said)  # no word: nobody runs the card, its memory is not even mapped
        return found is not None and bool(int(found[1], 16) & RECEIVER_ENABLED)


def registers_of(device: str, buses: list[dict[str, Any]]) -> int | None:
    """Return the address of a device's registers (BAR 0), by the answer of ``query-pci``; None: they have none yet."""
    for each in (device for bus in buses for device in bus["devices"]):
        if each["qdev_id"] == device:
            found = [region["address"] for region in each["regions"] if region["bar"] == 0]
            return next((address for address in found if address > 0), None)
        if (bridge := each.get("pci_bridge")) and "devices" in bridge:
            address = registers_of(device, [bridge])
            if address is not None:
                return address
    return None
