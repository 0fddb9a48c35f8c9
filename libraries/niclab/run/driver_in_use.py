"""The origin of the driver that a server uses: its operating system, or a package of the card's vendor."""

from __future__ import annotations

from dataclasses import dataclass

from niclab.bench.records import Role
from niclab.card import Driver, PackageFacts
from niclab.core.verdict import NotApplicable
from niclab.hosts.host import Host
from niclab.hosts.host_records import LoadedModule, ModuleFile
from niclab.hosts.settings.settings_records import Package
from niclab.run.run import Run
from niclab.run.server import Server


@dataclass(frozen=True)
class PackageInUse:
    """A package of the sheet, and what is installed of it."""

    facts: PackageFacts
    installed: Package


def is_missing(host: Host, module: str) -> bool:
    """Tell whether a server has a driver neither in memory as a module nor in its kernel.

    Args:
        host: The server.
        module: Name of its module.
    """
    return host.drivers.loaded_module(module) is None and not host.drivers.modinfo(module).built_in


def load_missing(run: Run, server: Server) -> str:
    """Load the driver on the sheet where a server does not have it, and note that.

    Args:
        run: The run.
        server: The server.

    Returns:
        The name of its module; empty where the server had it.

    Raises:
        BenchFault: It cannot be loaded.
    """
    module = run.card.driver(server.description.os).module
    if not is_missing(server.host, module):
        return ""
    server.run(server.host.undo.load_driver(module))
    run.note_loaded(server.role, module)
    return module


def difference_in_memory(loaded: LoadedModule | None, file: ModuleFile, is_same_build: bool | None) -> str:
    """Say how a driver in memory differs from the file that is loaded next; empty where it does not, or is in neither.

    Args:
        loaded: The driver in memory.
        file: Its file.
        is_same_build: Are they of the same build? None where they do not tell.
    """
    if loaded is None or file.built_in:
        return ""
    for field in ("srcversion", "version"):
        in_memory, on_disk = getattr(loaded, field), getattr(file, field)
        if in_memory != on_disk:
            return f"driver {loaded.name} in memory has {field} {in_memory}, {file.filename} has {on_disk}"
    if is_same_build is False:
        return f"driver {loaded.name} in memory is of another build than {file.filename}"
    return ""


def package_in_use(run: Run, role: Role) -> PackageInUse | None:
    """Return the sheet's package of the driver, where it is installed and its module is the one that is loaded next.

    Args:
        run: The run.
        role: The server.

    Returns:
        The package; None where the module came with the kernel, or from somewhere else, or where the sheet names no
        driver for the system of the server.
    """
    driver = _driver(run, role)
    if driver is None or driver.package is None:
        return None
    installed = run.server(role).host.drivers.package(driver.package.name)
    if installed is None or _file_of_others(run, role, driver) is None or not is_of_package(run, role):
        return None
    return PackageInUse(driver.package, installed)


def is_of_package(run: Run, role: Role) -> bool:
    """Tell whether the module that a server loads next is a file of the sheet's package, or was built from it.

    Args:
        run: The run.
        role: The server.
    """
    driver, drivers = _driver(run, role), run.server(role).host.drivers
    if driver is None or driver.package is None:
        return False
    file = drivers.modinfo(driver.module).filename
    return file is not None and drivers.is_of_package(driver.package.name, file)


def is_inbox(run: Run, role: Role) -> bool:
    """Tell whether the module that a server loads next came with its kernel, or the sheet names no driver for it.

    Args:
        run: The run.
        role: The server.
    """
    driver = _driver(run, role)
    return driver is None or _file_of_others(run, role, driver) is None


def package_in_words(run: Run, role: Role) -> str:
    """Return ``package be2net-modules 12.0.0.0`` where the driver of a server is from it; empty where it is not.

    Args:
        run: The run.
        role: The server.
    """
    found = package_in_use(run, role)
    return "" if found is None else f"package {found.installed.name} {found.installed.full_version}"


def driver_in_words(run: Run, role: Role) -> str:
    """Say where the driver of a server is from: its operating system, the sheet's package, or somewhere else.

    Args:
        run: The run.
        role: The server.
    """
    if package := package_in_words(run, role):
        return package
    driver = _driver(run, role)
    if driver is None:
        return "none on the sheet"
    if file := _file_of_others(run, role, driver):
        return f"{file}, of no package of the sheet"
    return f"inbox, {driver.module} of {run.server(role).host.system.kernel()}"


def _driver(run: Run, role: Role) -> Driver | None:
    try:
        return run.card.driver(run.server(role).description.os)
    except NotApplicable:
        return None


def _file_of_others(run: Run, role: Role, driver: Driver) -> str | None:
    """The file of the module that is loaded next; None where it came with the kernel, or is built into it."""
    drivers = run.server(role).host.drivers
    file = drivers.modinfo(driver.module)
    return None if drivers.is_own_module(file) else file.place
