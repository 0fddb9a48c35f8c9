"""Questions of several checks to the dut's ports."""

from __future__ import annotations

from collections.abc import Callable

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Driver
from niclab.core.parallel import side_by_side
from niclab.hosts.host import Host
from niclab.hosts.host_records import DriverInfo, PciDevice
from niclab.run.run import Run

Say = Callable[[str], None]
"""Takes one line for the log."""


def dut(run: Run) -> Host:
    """Return the dut's host."""
    return run.server(Role.DUT).host


def dut_system(run: Run) -> OperatingSystem:
    """Return the operating system of the dut."""
    return run.server(Role.DUT).description.os


def dut_driver(run: Run) -> Driver:
    """Return the sheet's driver for the dut's operating system.

    Raises:
        NotApplicable: The sheet names none.
    """
    return run.card.driver(dut_system(run))


def devices(run: Run) -> list[tuple[Port, PciDevice]]:
    """Return every port of the dut with its PCI function."""
    ports = run.ports(Role.DUT)
    return list(zip(ports, side_by_side(lambda port: dut(run).pci.device(port.pci), ports), strict=True))


def driver_infos(run: Run) -> list[tuple[Port, DriverInfo]]:
    """Return every port of the dut with what its driver reports: name, version, firmware."""
    ports = run.ports(Role.DUT)
    infos = side_by_side(lambda port: dut(run).drivers.driver_info(run.interface(port)), ports)
    return list(zip(ports, infos, strict=True))


def ports_of_other_drivers(run: Run, module: str, when: str = "") -> list[str]:
    """Name the ports of the dut that are bound to another driver than ``module``, or to none.

    Args:
        run: The run.
        module: Name of the driver module.
        when: Words for the message: after which event this was asked.

    Returns:
        One problem for each such port.
    """
    names = dut(run).drivers.names_of(module)
    return [
        f"{port.place} has driver {device.driver}{when}; expected {module} (sheet {run.card.name})"
        for port, device in devices(run)
        if device.driver not in names
    ]
