"""The kernel's messages when a driver finds its devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from below import kernel_says, netdevs, read
from newbus import resources


def announce(address: str, device: str, fact: Mapping[str, Any]) -> None:
    """The lines of one function: where it is, and its ports with their addresses."""
    _, bus, rest = address.split(":")
    slot, function = rest.split(".")
    regions = [f"{start:#x}-{end:#x}" for start, end, flags in resources(address)[:6] if end > start and flags & 0x200]
    memory = f"mem {','.join(regions)} " if regions else ""
    irq = (read(f"/sys/bus/pci/devices/{address}/irq") or "0").strip()
    place = f"irq {irq} at device {int(slot, 16)}.{int(function, 16)} on pci{int(bus, 16)}"
    kernel_says(f"{device}: <{fact['description']}> {memory}{place}")
    names = netdevs(address)
    for index, name in enumerate(names):
        if name != device:
            kernel_says(f"{name}: <port {index}> on {device}")
        mac = (read(f"/sys/class/net/{name}/address") or "").strip()
        kernel_says(f"{name}: Ethernet address: {mac}")
    if fact["port"] == "cxl":
        kernel_says(f"{device}: PCIe gen3 x8, {len(names)} ports, {2 * len(names) + 2} MSI-X interrupts")
