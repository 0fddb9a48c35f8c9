"""FreeBSD host: PCI functions, their links and error counters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import pci_address
from niclab.hosts.errors import NoDevice, NoInterface, unreadable
from niclab.hosts.freebsd_commands import FreeBsdCommands
from niclab.hosts.host_records import PciDevice, PcieLink
from niclab.hosts.parity import emulated, not_available
from niclab.hosts.pci.common import chosen_interface, links_of, pci_id
from niclab.hosts.pci.newbus import path_command, read_path
from niclab.hosts.pci.pciconf import PciconfDevice
from niclab.hosts.pci.pciconf_registers import read_targets, selector
from niclab.hosts.reading import numbered
from niclab.hosts.settings.settings_records import AerCounters

_NO_DETACH = (
    "`devctl detach`, which takes the driver from one function alone, came with FreeBSD 10.3; `kldunload` takes it from"
    " every port"
)

_DETAILS = "-lc"

# Ports that look down: the upper end of a link.
_DOWNSTREAM_FACING = ("root port", "downstream port", "PCI to PCIe bridge")

_PORT = re.compile(r"([A-Za-z][A-Za-z0-9_.]{0,14})=([a-z][A-Za-z0-9_]*[0-9]{1,4})")

_TRAILING_NUMBER = re.compile(r"([0-9]+)$")

_LATCHED = "error kinds are latched, not counted, so that a second error of a kind does not show"


class FreeBsdPci(FreeBsdCommands):
    """See :class:`niclab.hosts.host.HostPci` for the meaning of each method."""

    def functions(self, vendor_id: str, device_id: str) -> tuple[str, ...]:
        """Addresses of every PCI function with these ids."""
        ids = tuple(pci_id(self.name, one) for one in (vendor_id, device_id))
        found = [one for one in self._pci_devices() if (one.vendor_id, one.device_id) == ids]
        return tuple(one.slot for one in found)

    @not_available(_NO_DETACH)
    def detach_driver(self, address: str) -> None:
        raise NotApplicable(f"{self.name}: the driver of {address} stays: FreeBSD: {_NO_DETACH}")

    @not_available(_NO_DETACH)
    def remove_function(self, address: str) -> None:
        raise NotApplicable(f"{self.name}: {address} stays on the bus: FreeBSD: {_NO_DETACH}")

    @not_available(_NO_DETACH)
    def can_reset_function(self, address: str) -> bool:
        raise NotApplicable(f"{self.name}: {address} is not reset: FreeBSD: {_NO_DETACH}")

    @not_available(_NO_DETACH)
    def reset_function(self, address: str) -> str | None:
        raise NotApplicable(f"{self.name}: {address} is not reset: FreeBSD: {_NO_DETACH}")

    def driver(self, address: str) -> str | None:
        """Name of the driver that is attached to a function; None when none is."""
        return self._at(self._pci_devices(), pci_address(self.name, address), capabilities=False).driver

    def device(self, address: str) -> PciDevice:
        """The device as pciconf describes it.

        Raises:
            BenchFault: When there is no such device, or pciconf may not read its capabilities.
        """
        pci_address(self.name, address)
        return self._at(self._pci_devices(_DETAILS), address)

    @emulated("newbus tells the bridges (`dev.*.%parent`), pciconf their links")
    def path(self, address: str) -> tuple[PcieLink, ...]:
        return links_of(self.name, address, self._with_targets(self._chain(address)), _DOWNSTREAM_FACING)

    def interface_at(self, address: str, port_index: int | None = None) -> str:
        """Name of the network interface of a PCI function: the one of its own name, else those that hang on it.

        Args:
            address: PCI address of the function.
            port_index: Which one, for a function with several ports (Chelsio T5): counted by unit number from 0.

        Raises:
            NoDevice: When there is no such function.
            NoInterface: When it has none, or it was renamed.
        """
        pci_address(self.name, address)
        function = self._at(self._pci_devices(), address, capabilities=False)
        if function.driver is None:
            raise NoInterface(f"{self.name}: {address} has no network interface: no driver is bound; dmesg may say why")
        device = f"{function.driver}{function.unit}"
        parents = self._read(
            'for i in $(ifconfig -l); do u=${i##*[!0-9]}; n=${i%"$u"}; if [ -n "$u" ] &&'
            ' p=$(sysctl -n "dev.$n.$u.%parent" 2>/dev/null); then echo "$i=$p"; fi; done',
            _read_parents,
        )
        own = [name for name in parents if name == device]
        found = own or sorted((name for name, parent in parents.items() if parent == device), key=_unit)
        if not found:
            raise NoInterface(
                f"{self.name}: {address} has no network interface: driver {function.driver} is bound,"
                f" and no interface is called {device} or hangs on it (was it renamed?)"
            )
        return chosen_interface(self.name, address, {name: index for index, name in enumerate(found)}, port_index)

    @not_available(_LATCHED)
    def aer(self, address: str) -> AerCounters | None:
        raise NotApplicable(f"{self.name}: PCI Express errors of {address} since boot: on FreeBSD {_LATCHED}")

    def _with_targets(self, chain: Sequence[PciconfDevice]) -> list[PciconfDevice]:
        """The devices, each upper end of a link with the speed that it is set to; ``pciconf -c`` does not show it."""
        asked = [one for one in chain if one.port_type in _DOWNSTREAM_FACING and one.lnkctl2_register is not None]
        if not asked:
            return list(chain)
        places = " ".join(f"{selector(one.slot)}={one.lnkctl2_register:#x}" for one in asked)
        command = f'for p in {places}; do v=$(pciconf -r -h ${{p%=*}} ${{p#*=}}) || exit; echo "$p $v"; done'
        targets = self._read(command, lambda text: read_targets(text, places.split()))
        by_slot = {one.slot: gts for one, gts in zip(asked, targets, strict=True)}
        return [replace(one, lnkctl2_gts=by_slot.get(one.slot)) for one in chain]

    def _at(self, devices: tuple[PciconfDevice, ...], address: str, *, capabilities: bool = True) -> PciconfDevice:
        found = [device for device in devices if device.slot == address]
        if len(found) != 1:
            raise NoDevice(f"{self.name}: pciconf shows no device at {address}, but {len(devices)} others")
        if capabilities and not found[0].dead and found[0].capabilities_readable is not True:
            raise BenchFault(f"{self.name}: pciconf may not read the capabilities of {address}; expected root")
        return found[0]

    def _chain(self, address: str) -> tuple[PciconfDevice, ...]:
        """Devices from the port on the root bus down to ``address``."""
        pci_address(self.name, address)
        devices = self._pci_devices(_DETAILS)
        function = self._at(devices, address)
        if function.driver is None:
            raise BenchFault(f"{self.name}: no driver is bound to {address}, so nothing tells which bridges lead to it")
        name = f"{function.driver}{function.unit}"
        path = self._read(path_command(name), lambda text: read_path(text, name))
        named = {f"{device.driver}{device.unit}": device for device in devices if device.driver is not None}
        missing = [bridge for bridge in path if bridge not in named]
        if missing:
            raise BenchFault(f"{self.name}: pciconf does not show {', '.join(missing)}, which leads to {address}")
        return tuple(named[bridge] for bridge in reversed(path))


def _read_parents(text: str) -> dict[str, str]:
    """Interface -> the device it hangs on, from lines ``cxl0=t5nex0``."""
    parents: dict[str, str] = {}
    for number, line in numbered(text):
        if not line.strip():
            continue
        match = _PORT.fullmatch(line.strip())
        if match is None:
            raise unreadable("interfaces and their devices", f"line {number}", line, "'INTERFACE=DEVICE'")
        parents[match[1]] = match[2]
    return parents


def _unit(name: str) -> int:
    match = _TRAILING_NUMBER.search(name)
    return int(match[1]) if match else 0
