"""The names that a kernel may use for the card in a server, and whether it means the card."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.core.names import UPPER_DEVICES
from niclab.hosts.kernel.trouble import KernelTrouble

_ADDRESS = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:)([0-9a-f]{2}\.)[0-7]")
_UNIT = re.compile(r"([a-z][a-z0-9_]*?)[0-9]{1,5}")  # of FreeBSD: t5nex0


@dataclass(frozen=True)
class CardNames:
    """The names of the card, or of one port of it.

    Where a line names a device, the device decides: other cards of the server may have the same driver. A driver counts
    where no device is named, as in a call trace.

    Attributes:
        devices: PCI addresses and interfaces of its ports. Other functions of their slots are of the card as well.
        drivers: Its driver's module, and names of devices that the module drives.
        others: PCI addresses and interfaces that are not of it, in spite of their slot. None: every device that is not
            of the card is of another one; otherwise the driver decides of an interface that is in neither set.
    """

    devices: frozenset[str]
    drivers: frozenset[str]
    others: frozenset[str] | None = None

    def are_in(self, trouble: KernelTrouble) -> bool:
        """Is this trouble of the card?"""
        said = [self._is_of_card(device) for device in trouble.devices]
        if True in said or False in said:
            return True in said
        return bool((trouble.drivers | trouble.devices) & (self.drivers | self.devices))

    def _is_of_card(self, device: str) -> bool | None:
        """None where the name does not tell."""
        if device in self.devices:
            return True
        if self.others is not None and device in self.others:
            return False
        if _ADDRESS.fullmatch(device):
            return device.startswith(tuple(map(_slot, self.devices)))
        if device.partition(".")[0] in self.devices:  # a VLAN
            return True
        if device in self.drivers or device.startswith(UPPER_DEVICES) or self._is_above_ports(device):
            return None
        return False if self.others is None else None

    def _is_above_ports(self, device: str) -> bool:
        """Is it a unit of FreeBSD that has ports and is none, such as ``t5nex0`` above ``cxl0``?"""
        unit = _UNIT.fullmatch(device)
        ports = {match[1] for name in self.devices if (match := _UNIT.fullmatch(name))}
        return unit is not None and unit[1] in self.drivers - ports


def _slot(device: str) -> str:
    """The beginning that all functions of an address's slot have in common; an interface is its own.

    Of a card in slot 0 behind a bridge that is the bus: nothing else is on it, and its virtual functions have higher
    slot numbers (PCI Express, ARI).
    """
    address = _ADDRESS.fullmatch(device)
    if address is None:
        return f"{device} "
    is_alone = address[2] == "00." and not address[1].endswith(":00:")
    return address[1] if is_alone else address[1] + address[2]
