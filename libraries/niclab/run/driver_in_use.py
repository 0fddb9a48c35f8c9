"""The origin of the driver that a server uses: its operating system, or a package of the card's vendor."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.card import Driver, PackageFacts
from niclab.core.verdict import NotApplicable
from niclab.run.run import Run


def package_in_use(run: Run, role: Role) -> PackageFacts | None:
    """Return the sheet's package of the driver, where it is installed and its module is the one that is loaded next.

    Args:
        run: The run.
        role: The server.

    Returns:
        The package; None where the module came with the kernel, or from somewhere else, or where the sheet names no
        driver for the system of the server.
    """
    server = run.server(role)
    driver, drivers = _driver(run, role), server.host.drivers
    package = driver.package if driver is not None else None
    if driver is None or package is None or drivers.package(package.name) is None:
        return None
    file = drivers.modinfo(driver.module).filename
    return None if file is None or drivers.is_own_module(file) else package


def package_in_words(run: Run, role: Role) -> str:
    """Return ``package be2net-modules 12.0.0.0`` where the driver of a server is from it; empty where it is not.

    Args:
        run: The run.
        role: The server.
    """
    package = package_in_use(run, role)
    found = run.server(role).host.drivers.package(package.name) if package is not None else None
    return "" if found is None else f"package {found.name} {found.full_version}"


def driver_in_words(run: Run, role: Role) -> str:
    """Say where the driver of a server is from: its operating system, the sheet's package, or somewhere else.

    Args:
        run: The run.
        role: The server.
    """
    if package := package_in_words(run, role):
        return package
    host, driver = run.server(role).host, _driver(run, role)
    if driver is None:
        return "none on the sheet"
    module = driver.module
    file = host.drivers.modinfo(module).filename
    if file is None or host.drivers.is_own_module(file):
        return f"inbox, {module} of {host.system.kernel()}"
    return f"{file}, of no package of the sheet"


def _driver(run: Run, role: Role) -> Driver | None:
    try:
        return run.card.driver(run.server(role).description.os)
    except NotApplicable:
        return None
