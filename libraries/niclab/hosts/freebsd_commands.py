"""Commands for every part of a FreeBSD host: its interfaces, devices and kernel settings."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name
from niclab.hosts.host_commands import HostCommands
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.links.ifconfig_records import BsdInterface
from niclab.hosts.pci.pciconf import PciconfDevice, read_pciconf
from niclab.hosts.settings.sysctl import Sysctls, read_sysctl

_UNIT = re.compile(r"([a-z][A-Za-z0-9_]*?)([0-9]{1,4})")
BOOT_ID = "niclab_boot_id"
"""The variable of the kernel environment that keeps the name of this boot."""

_UNKNOWN_OID = "unknown oid"


@dataclass(frozen=True)
class Newbus:
    """A device as newbus names it: ``oce0`` is unit 0 of driver ``oce``, and its settings are ``dev.oce.0``."""

    driver: str
    unit: int

    @property
    def name(self) -> str:
        return f"{self.driver}{self.unit}"

    @property
    def tree(self) -> str:
        return f"dev.{self.driver}.{self.unit}"


class FreeBsdCommands(HostCommands):
    """Tools of FreeBSD, read."""

    def _newbus(self, iface: str) -> Newbus:
        """The device behind an interface. Drivers give both one name; a renamed interface hides its device."""
        match = _UNIT.fullmatch(interface_name(self.name, iface))
        if match is None:
            raise BenchFault(f"{self.name}: interface {iface!r}; expected a driver's name and a number, such as oce0")
        return Newbus(match[1], int(match[2]))

    def _sysctls(self, *names: str) -> Sysctls:
        """Settings by name or by tree. One that is not there is an error."""
        command = f"sysctl {' '.join(names)}"
        return self._read(command, read_sysctl)

    def _sysctls_if_any(self, *names: str) -> Sysctls | None:
        """As :meth:`_sysctls`; None when the kernel has none of these names."""
        command = f"sysctl {' '.join(names)}"
        result = self._try(command)
        if result.exit_status != 0:
            if result.stdout.strip() or _UNKNOWN_OID not in result.stderr:
                raise self._failed(command, result)
            return None
        return self._understood(command, read_sysctl, result.stdout)

    def _text(self, name: str) -> str:
        """The value of one kernel setting as it is written."""
        command = f"sysctl -n {name}"
        value = self._run(command).strip()
        if not value:
            raise BenchFault(f"{self.name}: `{command}` said nothing")
        return value

    def _ifconfig(self, command: str, iface: str) -> BsdInterface:
        """Ifconfig.

        Args:
            command: One that ends with ``ifconfig`` of ``iface``.
            iface: Name of the interface.
        """
        shown = self._read(command, read_ifconfig)
        return self._the_one(command, iface, shown.interfaces)

    def _the_one(self, command: str, iface: str, found: tuple[BsdInterface, ...]) -> BsdInterface:
        if len(found) != 1 or found[0].name != iface:
            raise BenchFault(f"{self.name}: `{command}` showed {[one.name for one in found]}; expected {iface}")
        return found[0]

    def _pci_devices(self, options: str = "-l") -> tuple[PciconfDevice, ...]:
        return self._read(f"pciconf {options}", read_pciconf).devices

    def _pci_of(self, device: Newbus) -> PciconfDevice | None:
        """The PCI function of a device; None when it is no PCI function itself."""
        found = [one for one in self._pci_devices() if one.driver == device.driver and one.unit == device.unit]
        return found[0] if found else None

    def _parent(self, device: Newbus) -> Newbus:
        """The device that ``device`` hangs on."""
        parent = self._text(f"{device.tree}.%parent")
        match = _UNIT.fullmatch(parent)
        if match is None:
            raise BenchFault(f"{self.name}: {device.name} hangs on {parent!r}; expected a device such as t5nex0")
        return Newbus(match[1], int(match[2]))
