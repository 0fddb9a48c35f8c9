"""FreeBSD host, the drivers: module files, modules in memory, their settings, and firmware."""

from __future__ import annotations

import re
import shlex

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.commands import FreeBsdCommands
from niclab.hosts.freebsd.driver_settings import CHELSIO, FLASHED_BY_MODULE, firmware_module
from niclab.hosts.freebsd.kldstat import KernelFile, read_kldstat
from niclab.hosts.names import interface_name, module_name
from niclab.hosts.parity import emulated, not_available, partly
from niclab.hosts.records import DriverInfo, LoadedModule, ModuleFile, ModuleState
from niclab.hosts.settings_records import Attempt

_RELOAD_TIMEOUT_S = 180
_FLASH_TIMEOUT_S = 600
_PARAMETER = re.compile(r"[A-Za-z0-9_.]{1,64}")
_FIRMWARE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_FIRMWARE, _MODULES = "/boot/firmware", "/boot/modules"
_FLASHED = (
    "cxgbe, with `cxgbetool`; oce, by `fw_upgrade`, of images that were made modules; others have tools of their"
    " vendors, which run offline"
)
_NO_DETACH = (
    "`devctl detach`, which takes the driver from one function alone, came with FreeBSD 10.3; `kldunload` takes it from"
    " every port"
)
_NO_BUILD_ID = "the kernel shows no build id of a module in memory"


class FreeBsdDrivers(FreeBsdCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    @emulated("the file in `kern.module_path`; module files tell no version, dependencies or firmware")
    def modinfo(self, module: str) -> ModuleFile:
        """The module on disk, or in the kernel when only the kernel has it."""
        name = module_name(self.name, module)
        command = (
            f'IFS=";"; for d in $(sysctl -n kern.module_path); do if [ -e "$d/{name}.ko" ]; then'
            f' echo "$d/{name}.ko"; break; fi; done'
        )
        path = self._run(command).strip()
        if path and not (path.startswith("/") and path.endswith(f"/{name}.ko") and "\n" not in path):
            raise BenchFault(f"{self.name}: looked for {name}.ko in kern.module_path, heard {path!r}")
        built_in = not path and self._is_in_kernel(name)
        if not path and not built_in:
            raise BenchFault(f"{self.name}: no {name}.ko in kern.module_path, and the kernel has no such module")
        return ModuleFile(path or None, built_in, name, None, None, None, None, ())

    @emulated("`kldstat -v`; the version is what the driver's first device says")
    def loaded_module(self, module: str) -> LoadedModule | None:
        """The module in memory; None when it is not loaded (or is built in)."""
        name = module_name(self.name, module)
        found = [one for one in self._kernel_files() if one.name == f"{name}.ko"]
        if not found:
            return None
        version = self._version_of(found[0].contains or ())
        return LoadedModule(name, found[0].size, found[0].refs, (), ModuleState.LIVE, None, version)

    @not_available(_NO_BUILD_ID)
    def is_build_on_disk(self, module: str) -> bool | None:
        raise NotApplicable(f"{self.name}: is {module} in memory the file on disk? FreeBSD: {_NO_BUILD_ID}")

    @partly("those that are modules; a driver in the kernel cannot be unloaded")
    def reload_driver(self, module: str) -> None:
        """Unload and load a module, then see it loaded.

        One command does both, so that a connection lost with the driver does not leave the host without it.

        :raises NotApplicable: when the driver is in the kernel.
        """
        name = module_name(self.name, module)
        if self.loaded_module(name) is None and self._is_in_kernel(name):
            raise NotApplicable(f"{self.name}: driver {name} is in FreeBSD's kernel and cannot be unloaded")
        self._run(f"kldunload {name} && kldload {name}", timeout_s=_RELOAD_TIMEOUT_S)
        if self.loaded_module(name) is None:
            raise BenchFault(f"{self.name}: module {name} is not loaded after `kldload {name}`")

    @not_available(_NO_DETACH)
    def detach_driver(self, address: str) -> None:
        raise NotApplicable(f"{self.name}: the driver of {address} stays: FreeBSD: {_NO_DETACH}")

    @not_available(_NO_DETACH)
    def restoring_driver(self, address: str, iface: str) -> str:
        raise NotApplicable(f"{self.name}: the driver of {iface} ({address}) stays: FreeBSD: {_NO_DETACH}")

    def loading_driver(self, module: str) -> str:
        """A command that loads a module, for the journal; no error when it is loaded."""
        return f"kldload -n {module_name(self.name, module)}"

    @emulated("a setting of the driver's devices (`dev.oce.0.NAME`), else of the driver (`hw.oce.NAME`)")
    def module_parameter(self, module: str, name: str) -> str:
        """The value a setting of a driver has, the same on each of its devices.

        :raises BenchFault: when there is no such setting, or the devices differ.
        """
        if not _PARAMETER.fullmatch(name):
            raise BenchFault(f"{self.name}: module parameter {name!r}: letters, digits, . and _ are wanted")
        driver = module_name(self.name, module).removeprefix("if_")
        devices = self._sysctls_if_any(f"dev.{driver}")
        pattern = re.compile(rf"dev\.{re.escape(driver)}\.[0-9]+\.{re.escape(name)}")
        shown = {
            key: str(value) for key, value in (devices.values if devices else {}).items() if pattern.fullmatch(key)
        }
        if not shown:
            whole = self._sysctls_if_any(f"hw.{driver}.{name}")
            if whole is None:
                raise BenchFault(f"{self.name}: driver {driver} has no setting {name} in dev.{driver} or hw.{driver}")
            shown = {key: str(value) for key, value in whole.values.items()}
        if len(set(shown.values())) != 1:
            raise BenchFault(f"{self.name}: the devices of {driver} differ in {name}: {shown}")
        return next(iter(shown.values()))

    @emulated("a file in /boot/firmware, or its firmware module in /boot/modules")
    def firmware_file(self, file: str) -> bool:
        module = f"{_MODULES}/{firmware_module(self._checked_file(file))}.ko"
        return self._is_file(f"{_FIRMWARE}/{file}") or self._is_file(module)

    @partly(_FLASHED)
    def flash(self, iface: str, file: str) -> Attempt[DriverInfo]:
        """Write a firmware image into the card: of /boot/firmware, or by its firmware module in /boot/modules.

        :raises NotApplicable: when FreeBSD has no tool for the card.
        :raises BenchFault: when there is no such module: nobody has made one of the image.
        """
        device = self._newbus(iface)
        module = f"{_MODULES}/{firmware_module(self._checked_file(file))}.ko"
        if device.driver in FLASHED_BY_MODULE and not self._is_file(module):
            raise BenchFault(
                f"{self.name}: firmware module {module} is missing; wanted: one made of {file}, as oce(4) says"
            )
        refused = self._told(self.flashing(iface, file), timeout_s=_FLASH_TIMEOUT_S)
        return Attempt(refused, self.driver_info(iface))

    @partly(_FLASHED)
    def flashing(self, iface: str, file: str) -> str:
        """The command of :meth:`flash`, for the journal."""
        device = self._newbus(iface)
        if device.driver in FLASHED_BY_MODULE:
            return f"sysctl {device.tree}.fw_upgrade={firmware_module(self._checked_file(file))}"
        if device.driver not in CHELSIO:
            raise NotApplicable(f"{self.name}: FreeBSD has no tool that writes firmware of {device.driver} cards")
        return f"cxgbetool {self._parent(device).name} loadfw {_FIRMWARE}/{self._checked_file(file)}"

    @emulated("`sysctl` of the device; the driver is the name that newbus gives it")
    def driver_info(self, iface: str) -> DriverInfo:
        """Driver, its version and the firmware, of the port's device or of the one it hangs on.

        :raises BenchFault: when neither device is a PCI function.
        """
        device = self._newbus(interface_name(self.name, iface))
        function = self._pci_of(device)
        if function is None:
            device = self._parent(device)
            function = self._pci_of(device)
        if function is None:
            raise BenchFault(f"{self.name}: {iface} hangs on {device.name}, which pciconf does not show")
        found = [one for one in self._sysctls(device.tree).devices() if one.name == device.name]
        if len(found) != 1:
            raise BenchFault(f"{self.name}: `sysctl {device.tree}` does not describe {device.name}")
        version = _bare(found[0].version)
        return DriverInfo(device.driver, version, found[0].firmware, function.slot, None)

    def _kernel_files(self) -> tuple[KernelFile, ...]:
        return self._read("kldstat -v", read_kldstat).modules

    def _is_in_kernel(self, module: str) -> bool:
        kernel = [one for one in self._kernel_files() if one.name == "kernel"]
        if len(kernel) != 1 or not kernel[0].contains:
            raise BenchFault(f"{self.name}: `kldstat -v` does not say what is in the kernel")
        names = {one.rpartition("/")[2] for one in kernel[0].contains}
        return bool({module, module.removeprefix("if_")} & names)

    def _version_of(self, contains: tuple[str, ...]) -> str | None:
        """The version that the first device of one of these modules (``pci/oce``) says."""
        for driver in [one.removeprefix("pci/") for one in contains if one.startswith("pci/")]:
            shown = self._sysctls_if_any(f"dev.{module_name(self.name, driver)}")
            for device in shown.devices() if shown else ():
                if device.version is not None:
                    return _bare(device.version)
        return None

    def _is_file(self, path: str) -> bool:
        result = self._try(f"test -f {shlex.quote(path)}")
        if result.exit_status not in (0, 1):
            raise self._failed(f"test -f {path}", result)
        return result.exit_status == 0

    def _checked_file(self, file: str) -> str:
        if not _FIRMWARE_FILE.fullmatch(file):
            raise BenchFault(f"{self.name}: firmware file {file!r}: a file name of {_FIRMWARE} is wanted")
        return file


def _bare(version: str | None) -> str | None:
    """oce writes its version between slashes: ``///4.2.116.0///``."""
    if version is None:
        return None
    bare = version.strip("/ ")
    if not bare:
        raise unreadable("sysctl", "driver version", version, "a version such as ///4.2.116.0///")
    return bare
