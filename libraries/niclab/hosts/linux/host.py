"""A Linux server."""

from __future__ import annotations

from niclab.hosts.host import (
    HostBonds,
    HostCounts,
    HostDrivers,
    HostFirmware,
    HostLinks,
    HostPci,
    HostSettings,
    HostSystem,
    HostUndo,
    Shell,
)
from niclab.hosts.linux.host_bonds import LinuxBonds
from niclab.hosts.linux.host_counts import LinuxCounts
from niclab.hosts.linux.host_drivers import LinuxDrivers
from niclab.hosts.linux.host_firmware import LinuxFirmware
from niclab.hosts.linux.host_links import LinuxLinks
from niclab.hosts.linux.host_pci import LinuxPci
from niclab.hosts.linux.host_settings import LinuxSettings
from niclab.hosts.linux.host_system import LinuxSystem
from niclab.hosts.linux.host_undo import LinuxUndo

PARTS: dict[str, type] = {
    "system": LinuxSystem,
    "drivers": LinuxDrivers,
    "pci": LinuxPci,
    "firmware": LinuxFirmware,
    "settings": LinuxSettings,
    "links": LinuxLinks,
    "counts": LinuxCounts,
    "bonds": LinuxBonds,
    "undo": LinuxUndo,
}
"""The class of each part."""


class LinuxHost:
    """A Linux server over a shell. Connects to nothing by itself.

    Args:
        shell: Runs the commands in ``sh``; root is wanted for lspci, modprobe, dmesg and changes.
        name: Subject of every message, ``dut`` or ``peer``.
    """

    def __init__(self, shell: Shell, name: str) -> None:
        self.name = name
        self.system: HostSystem = LinuxSystem(shell, name)
        self.drivers: HostDrivers = LinuxDrivers(shell, name)
        self.pci: HostPci = LinuxPci(shell, name)
        self.links: HostLinks = LinuxLinks(shell, name)
        settings = LinuxSettings(shell, name, links=self.links)
        self.settings: HostSettings = settings
        self.counts: HostCounts = LinuxCounts(shell, name)
        self.bonds: HostBonds = LinuxBonds(shell, name, settings=settings)
        self.undo: HostUndo = LinuxUndo(shell, name, settings=settings, links=self.links)
        self.firmware: HostFirmware = LinuxFirmware(shell, name, undo=self.undo)
