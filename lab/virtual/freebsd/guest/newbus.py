"""The tree of devices as newbus has it, made of what the kernel below sees on PCI."""

from __future__ import annotations

import os
from dataclasses import dataclass

from below import MANAGEMENT, ROOT, drivers, functions, netdevs, read, split_unit, units

_BRIDGE = 1
_BY_CLASS = {"0600": "hostb", "0601": "isab", "0c05": "ichsmb", "0101": "atapci", "0106": "ahci", "0300": "vgapci"}
_VIRTIO = {"1041": "virtio_pci", "1000": "virtio_pci", "1042": "virtio_pci", "1001": "virtio_pci", "1044": "virtio_pci"}


@dataclass(frozen=True)
class Device:
    """``address``: of a PCI function. ``location`` and ``pnpinfo`` as the bus writes them."""

    name: str
    parent: str
    description: str
    address: str | None = None
    location: str = ""
    pnpinfo: str = ""

    @property
    def tree(self) -> str:
        driver, unit = split_unit(self.name)
        return f"dev.{driver}.{unit}"


def selector(address: str) -> str:
    """``0000:81:00.1`` -> ``pci0:129:0:1``."""
    domain, bus, rest = address.split(":")
    slot, function = rest.split(".")
    return f"pci{int(domain, 16)}:{int(bus, 16)}:{int(slot, 16)}:{int(function, 16)}"


def word(address: str, register: int, size: int) -> int:
    """A register of a function's configuration space, little-endian; all ones where it cannot be read."""
    return int.from_bytes(config(address)[register : register + size].ljust(size, b"\xff"), "little")


_CONFIG: dict[str, bytes] = {}


def config(address: str) -> bytes:
    """Configuration space of a function, as far as it can be read."""
    if address not in _CONFIG:
        try:
            with open(f"{ROOT}/sys/bus/pci/devices/{address}/config", "rb") as file:
                _CONFIG[address] = file.read()
        except OSError:
            _CONFIG[address] = b""
    return _CONFIG[address]


def is_bridge(address: str) -> bool:
    return word(address, 0x0E, 1) & 0x7F == _BRIDGE


_PATHS: dict[str, list[str]] = {}


def path(address: str) -> list[str]:
    """Return the path to a function: the root of its bus (``pci0000:80``), the bridges, the function itself."""
    if address not in _PATHS:
        _PATHS[address] = _path(address)
    return _PATHS[address]


def _path(address: str) -> list[str]:
    parts = os.path.realpath(f"{ROOT}/sys/bus/pci/devices/{address}").split("/")
    start = next((index for index, part in enumerate(parts) if part.startswith("pci") and ":" in part), len(parts) - 1)
    known = functions()
    return [parts[start], *(part for part in parts[start + 1 :] if part in known)]


def pci_names() -> dict[str, str]:
    """PCI address -> name on this system of every function: ``oce0``, ``pcib2``, ``none0``.

    Bridges are numbered in the order in which they are found, host bridges among them; what has no driver is a
    ``none``.
    """
    named, counts = units(), {"pcib": 0}
    found: dict[str, str] = {}
    roots: set[str] = set()
    for address in sorted(functions(), key=lambda one: (path(one)[0], path(one))):
        root = path(address)[0]
        if root not in roots:
            roots.add(root)
            counts["pcib"] += 1  # the host bridge: no PCI function of its own
        if address in named:
            found[address] = named[address]
            continue
        driver = _driver(address)
        found[address] = f"{driver}{counts.get(driver, 0)}"
        counts[driver] = counts.get(driver, 0) + 1
    return found


def host_bridges() -> dict[str, str]:
    """Root of a bus (``pci0000:80``) -> its host bridge (``pcib3``), numbered as in :func:`pci_names`."""
    names, found, last = pci_names(), dict[str, str](), -1
    for address in sorted(names, key=lambda one: (path(one)[0], path(one))):
        root = path(address)[0]
        if root not in found:
            last += 1
            found[root] = f"pcib{last}"
        if names[address].startswith("pcib"):
            last = int(names[address][4:])
    return found


def _driver(address: str) -> str:
    if is_bridge(address):
        return "pcib"
    function = functions()[address]
    if function["vendor"] == "1af4" and function["device"] in _VIRTIO:
        return _VIRTIO[function["device"]]
    return _BY_CLASS.get(f"{word(address, 0x0A, 2):04x}", "none")


def devices() -> list[Device]:
    """Every device that newbus would list."""
    found = [Device("nexus0", "", ""), Device("acpi0", "nexus0", "BOCHS BXPCRSDT")]
    names, hosts = pci_names(), host_bridges()
    for root, bridge in hosts.items():
        bus = int(root.partition(":")[2], 16)
        found.append(Device(bridge, "acpi0", "ACPI Host-PCI bridge", None, f"handle=\\_SB_.PCI{len(found) - 2}"))
        found.append(Device(f"pci{bus}", bridge, "ACPI PCI bus"))
    for address, name in names.items():
        if not name.startswith("none"):
            found += _function(address, name)
    return found


def _function(address: str, name: str) -> list[Device]:
    _, bus, rest = address.split(":")
    slot, function = rest.split(".")
    location = f"slot={int(slot, 16)} function={int(function, 16)}"
    ids = f"vendor=0x{word(address, 0, 2):04x} device=0x{word(address, 2, 2):04x}"
    sub = "subvendor=0x0000 subdevice=0x0000"
    if not is_bridge(address):
        sub = f"subvendor=0x{word(address, 0x2C, 2):04x} subdevice=0x{word(address, 0x2E, 2):04x}"
    pnpinfo = f"{ids} {sub} class=0x{word(address, 0x09, 3):06x}"
    driver = split_unit(name)[0]
    fact = drivers().get(driver)
    description = fact["description"] if fact else _DESCRIPTIONS.get(driver, "")
    found = [Device(name, f"pci{int(bus, 16)}", description, address, location, pnpinfo)]
    if is_bridge(address):
        found.append(Device(f"pci{word(address, 0x19, 1)}", name, "ACPI PCI bus"))
    if fact and fact["port"] != driver:
        found += [Device(port, name, f"port {index}") for index, port in enumerate(netdevs(address))]
    if MANAGEMENT in _virtio_interfaces(address):
        found.append(Device(MANAGEMENT, name, "VirtIO Networking Adapter"))
    return found


_DESCRIPTIONS = {
    "pcib": "ACPI PCI-PCI bridge",
    "hostb": "Host to PCI bridge",
    "isab": "PCI-ISA bridge",
    "virtio_pci": "VirtIO PCI adapter",
}


def _virtio_interfaces(address: str) -> list[str]:
    """Interfaces of virtio devices, which stand one step below their function."""
    base, names = f"{ROOT}/sys/bus/pci/devices/{address}", list[str]()
    if os.path.isdir(base):
        for entry in os.listdir(base):
            folder = f"{base}/{entry}/net"
            if entry.startswith("virtio") and os.path.isdir(folder):
                names += os.listdir(folder)
    return names


def resources(address: str) -> list[tuple[int, int, int]]:
    """Start, end and flags of each region of a function, in the order of its registers."""
    rows = []
    for line in (read(f"/sys/bus/pci/devices/{address}/resource") or "").splitlines():
        words = line.split()
        if len(words) == 3:
            rows.append((int(words[0], 16), int(words[1], 16), int(words[2], 16)))
    return rows
