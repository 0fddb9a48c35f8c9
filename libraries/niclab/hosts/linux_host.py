"""A Linux server."""

from __future__ import annotations

from niclab.hosts.bonds.linux import LinuxBonds
from niclab.hosts.counts.linux import LinuxCounts
from niclab.hosts.drivers.boot_entry import LinuxBoot
from niclab.hosts.drivers.builds import LinuxBuilds
from niclab.hosts.drivers.linux import LinuxDrivers
from niclab.hosts.drivers.linux_firmware import LinuxFirmware
from niclab.hosts.engine.linux import LinuxEngine
from niclab.hosts.functions.linux import LinuxFunctions
from niclab.hosts.host import (
    HostBonds,
    HostBoot,
    HostBuilds,
    HostCounts,
    HostDrivers,
    HostEngine,
    HostFirmware,
    HostFunctions,
    HostLinks,
    HostPci,
    HostQueues,
    HostSettings,
    HostSystem,
    HostUndo,
    Shell,
)
from niclab.hosts.links.linux import LinuxLinks
from niclab.hosts.pci.linux import LinuxPci
from niclab.hosts.settings.linux import LinuxSettings
from niclab.hosts.steering.linux_queues import LinuxQueues
from niclab.hosts.system.linux import LinuxSystem
from niclab.hosts.undo.linux import LinuxUndo

PARTS: dict[str, type] = {
    "system": LinuxSystem,
    "drivers": LinuxDrivers,
    "builds": LinuxBuilds,
    "loading": LinuxBoot,
    "pci": LinuxPci,
    "firmware": LinuxFirmware,
    "settings": LinuxSettings,
    "queues": LinuxQueues,
    "functions": LinuxFunctions,
    "engine": LinuxEngine,
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
        self.builds: HostBuilds = LinuxBuilds(shell, name)
        self.loading: HostBoot = LinuxBoot(shell, name)
        self.pci: HostPci = LinuxPci(shell, name)
        self.links: HostLinks = LinuxLinks(shell, name)
        settings = LinuxSettings(shell, name, links=self.links)
        self.settings: HostSettings = settings
        self.queues: HostQueues = LinuxQueues(shell, name)
        self.functions: HostFunctions = LinuxFunctions(shell, name)
        self.engine: HostEngine = LinuxEngine(name)
        self.counts: HostCounts = LinuxCounts(shell, name)
        self.bonds: HostBonds = LinuxBonds(shell, name, settings=settings)
        self.undo: HostUndo = LinuxUndo(shell, name, settings=settings, links=self.links)
        self.firmware: HostFirmware = LinuxFirmware(shell, name, undo=self.undo)
