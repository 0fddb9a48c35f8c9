"""A FreeBSD server."""

from __future__ import annotations

from niclab.hosts.bonds.freebsd import FreeBsdBonds
from niclab.hosts.counts.freebsd import FreeBsdCounts
from niclab.hosts.drivers.boot_entry import FreeBsdBoot
from niclab.hosts.drivers.builds import FreeBsdBuilds
from niclab.hosts.drivers.freebsd import FreeBsdDrivers
from niclab.hosts.drivers.freebsd_firmware import FreeBsdFirmware
from niclab.hosts.engine.freebsd import FreeBsdEngine
from niclab.hosts.functions.freebsd import FreeBsdFunctions
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
from niclab.hosts.links.freebsd import FreeBsdLinks
from niclab.hosts.pci.freebsd import FreeBsdPci
from niclab.hosts.settings.freebsd import FreeBsdSettings
from niclab.hosts.steering.freebsd import FreeBsdQueues
from niclab.hosts.system.freebsd import FreeBsdSystem
from niclab.hosts.undo.freebsd import FreeBsdUndo

PARTS: dict[str, type] = {
    "system": FreeBsdSystem,
    "drivers": FreeBsdDrivers,
    "builds": FreeBsdBuilds,
    "loading": FreeBsdBoot,
    "pci": FreeBsdPci,
    "firmware": FreeBsdFirmware,
    "settings": FreeBsdSettings,
    "queues": FreeBsdQueues,
    "functions": FreeBsdFunctions,
    "engine": FreeBsdEngine,
    "links": FreeBsdLinks,
    "counts": FreeBsdCounts,
    "bonds": FreeBsdBonds,
    "undo": FreeBsdUndo,
}
"""The class of each part."""


class FreeBsdHost:
    """A FreeBSD server, releases 9 to 14, over a shell. Connects to nothing by itself.

    Args:
        shell: Runs the commands in ``sh``; root is wanted for changes.
        name: Subject of every message, ``dut`` or ``peer``.
    """

    def __init__(self, shell: Shell, name: str) -> None:
        self.name = name
        self.system: HostSystem = FreeBsdSystem(shell, name)
        self.drivers: HostDrivers = FreeBsdDrivers(shell, name)
        self.builds: HostBuilds = FreeBsdBuilds(name)
        self.loading: HostBoot = FreeBsdBoot(shell, name)
        self.pci: HostPci = FreeBsdPci(shell, name)
        self.settings: HostSettings = FreeBsdSettings(shell, name)
        self.queues: HostQueues = FreeBsdQueues(name)
        self.functions: HostFunctions = FreeBsdFunctions(name)
        self.engine: HostEngine = FreeBsdEngine(shell, name)
        self.links: HostLinks = FreeBsdLinks(shell, name)
        self.counts: HostCounts = FreeBsdCounts(shell, name)
        self.bonds: HostBonds = FreeBsdBonds(shell, name)
        self.undo: HostUndo = FreeBsdUndo(shell, name, settings=self.settings)
        self.firmware: HostFirmware = FreeBsdFirmware(shell, name, drivers=self.drivers, undo=self.undo)
