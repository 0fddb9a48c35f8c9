"""FreeBSD host: driver modules and their packages."""

from __future__ import annotations

import re
import shlex

from niclab.core.verdict import BenchFault, NotApplicable, Undecided
from niclab.hosts.command_words import interface_name, module_name
from niclab.hosts.drivers.kldstat import KernelFile, read_kldstat
from niclab.hosts.drivers.package_words import PKG, Ending
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd_commands import FreeBsdCommands
from niclab.hosts.host_commands import refusal
from niclab.hosts.host_records import DriverInfo, LoadedModule, ModuleFile, ModuleState, SelfTest
from niclab.hosts.parity import emulated, not_available, partly
from niclab.hosts.settings.settings_records import Attempt, ChangedFile, Package

_KERNEL_FOLDER = "/boot/kernel/"
_RELOAD_TIMEOUT_S = 180
_PARAMETER = re.compile(r"[A-Za-z0-9_.]{1,64}")
_NO_BUILD_ID = "the kernel shows no build id of a module in memory"
_NO_SUMS = "pkg_info compares no files, and nothing of `pkg check` is read"
_NO_RESET = "no command asks a driver to reset its card"
_NO_SIGNER = "a repository is signed, a package is not"
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~_,]{0,127}")
_INSTALL_TIMEOUT_S = 300
_NOT_OF_PKG = (1, 70)

_NEW, _OLD = "pkg", "pkg_info"

# ABI as pkg prints it: FreeBSD:13:amd64, and freebsd:10:x86:64 before release 1.4 of pkg.
_ABI = re.compile(r"(?i:freebsd):[0-9]{1,2}:(\S+)")
_ARCHITECTURES = {"x86:64": "amd64", "x86:32": "i386"}

# Packages of pkg_add do not say their architecture; the module in them does, as file(1) words it.
_ELF = {"x86-64": "amd64", "Intel 80386": "i386"}

UNKNOWN = "unknown"


class FreeBsdDrivers(FreeBsdCommands):
    """See :class:`niclab.hosts.host.HostDrivers` for the meaning of each method."""

    @emulated("what `kldstat -v` says that the module's file, or the kernel, contains")
    def names_of(self, module: str) -> frozenset[str]:
        """Return the driver names of devices that a module drives: ``t5nex`` and ``cxl`` of ``if_cxgbe``.

        Raises:
            BenchFault: When the module is neither loaded nor in the kernel.
        """
        name = module_name(self.name, module)
        files = self._read("kldstat -v", read_kldstat).modules
        own = [one for one in files if one.name == f"{name}.ko"]
        bare = name.removeprefix("if_")
        kernel = [one for one in files if one.name == "kernel" and f"pci/{bare}" in (one.contains or ())]
        if own:
            return frozenset(entry.rpartition("/")[2] for entry in own[0].contains or ())
        if kernel:
            return frozenset({bare})
        raise BenchFault(f"{self.name}: module {name} is not loaded, so nothing tells which devices it drives")

    @emulated("by its folder, /boot/kernel; those of packages are in /boot/modules")
    def is_own_module(self, module: ModuleFile) -> bool:
        """Did this module come with the kernel?"""
        return module.filename is None or module.filename.startswith(_KERNEL_FOLDER)

    @emulated("the file in `kern.module_path`; module files tell no version, dependencies or firmware")
    def modinfo(self, module: str) -> ModuleFile:
        """The module in the kernel, whatever file of it lies next to it (GENERIC has both), or else on disk."""
        name = module_name(self.name, module)
        command = (
            f'IFS=";"; for d in $(sysctl -n kern.module_path); do if [ -e "$d/{name}.ko" ]; then'
            f' echo "$d/{name}.ko"; break; fi; done'
        )
        path = self._run(command).strip()
        if path and not (path.startswith("/") and path.endswith(f"/{name}.ko") and "\n" not in path):
            raise BenchFault(f"{self.name}: looked for {name}.ko in kern.module_path, heard {path!r}")
        built_in = self._is_in_kernel(name)
        if not path and not built_in:
            raise BenchFault(f"{self.name}: no {name}.ko in kern.module_path, and the kernel has no such module")
        return ModuleFile(None if built_in else path, built_in, name, None, None, None, None, ())

    @emulated("`kldstat -v`; the version is what the driver's first device says")
    def loaded_module(self, module: str) -> LoadedModule | None:
        """The module in memory; None when it is not loaded (or is built in)."""
        name = module_name(self.name, module)
        found = [one for one in self._kernel_files() if one.name == f"{name}.ko"]
        if not found:
            return None
        version = self._version_of(found[0].contains or ())
        return LoadedModule(name, ModuleState.LIVE, version)

    @not_available(_NO_BUILD_ID)
    def is_build_on_disk(self, module: str) -> bool | None:
        raise NotApplicable(f"{self.name}: is {module} in memory the file on disk? FreeBSD: {_NO_BUILD_ID}")

    @partly("those that are modules; a driver in the kernel cannot be unloaded")
    def reload(self, module: str) -> None:
        """Unload and load a module, then see it loaded.

        One command does both, so that a connection lost with the driver does not leave the host without it.

        Raises:
            NotApplicable: When the driver is in the kernel.
        """
        name = module_name(self.name, module)
        if self.loaded_module(name) is None and self._is_in_kernel(name):
            raise NotApplicable(f"{self.name}: driver {name} is in FreeBSD's kernel and cannot be unloaded")
        self._run(f"kldunload {name} && kldload {name}", timeout_s=_RELOAD_TIMEOUT_S)
        if self.loaded_module(name) is None:
            raise BenchFault(f"{self.name}: module {name} is not loaded after `kldload {name}`")

    @emulated("a setting of the driver's devices (`dev.oce.0.NAME`), else of the driver (`hw.oce.NAME`)")
    def parameter(self, module: str, name: str) -> str:
        """The value a setting of a driver has, the same on each of its devices.

        Raises:
            BenchFault: When there is no such setting, or the devices differ.
        """
        if not _PARAMETER.fullmatch(name):
            raise BenchFault(f"{self.name}: module parameter {name!r}; expected letters, digits, . and _")
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

    @emulated("`sysctl` of the device; the driver is the name that newbus gives it")
    def driver_info(self, iface: str) -> DriverInfo:
        """Driver, its version and the firmware, of the port's device or of the one it hangs on.

        Raises:
            BenchFault: When neither device is a PCI function.
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
        return DriverInfo(device.driver, version, found[0].firmware)

    @not_available("its drivers have no self test that a command begins")
    def self_test(self, iface: str, offline: bool) -> SelfTest:
        del offline
        raise NotApplicable(f"{self.name}: {iface}: FreeBSD has no command for the self test of a card")

    @not_available(_NO_RESET)
    def reset_interface(self, iface: str) -> None:
        raise NotApplicable(f"{self.name}: {iface} is not reset: FreeBSD: {_NO_RESET}")

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

    @emulated("`pkg query`, or `pkg_info` where pkg is not set up; then the architecture is that of its module files")
    def package(self, name: str) -> Package | None:
        """The package as the host's package tool knows it; None when it is not installed.

        A package is complete as soon as the tool lists it: it registers a package when all of it is there.
        """
        if self._tool() == _NEW:
            command = f"pkg query '%n %v %q' {self._named(name)}"
        else:
            command = f"pkg_info -E '{self._named(name)}-[0-9]*'"
        result = self._try(command)
        nothing = not result.stdout.strip() and not result.stderr.strip()
        if nothing and result.exit_status is not None and result.exit_status > 0:
            return None
        if result.exit_status != 0:
            raise self._failed(command, result)
        read = _read_query if command.startswith(_NEW + " ") else _read_old
        found = self._understood(command, read, result.stdout)
        if found.name != name:
            raise BenchFault(f"{self.name}: `{command}` answered for {found.name}")
        if found.architecture != UNKNOWN:
            return found
        return Package(found.name, found.version, self._architecture(found), found.status)

    @emulated("`pkg install`, or `pkg_delete` and `pkg_add`")
    def install_package(self, name: str, version: str) -> Attempt[Package | None]:
        """Install this very version, from where the host gets its packages (``PKG_PATH`` for ``pkg_add``).

        Raises:
            BenchFault: When the tool could not try: no such version to be had, no rights.
            Undecided: The tool's words do not name the cause.
        """
        if not _VERSION.fullmatch(version):
            raise BenchFault(f"{self.name}: package version {version!r}; expected letters, digits and . + ~ _ ,")
        wanted = f"{self._named(name)}-{version}"
        if self._tool() == _NEW:
            return self._change(f"env ASSUME_ALWAYS_YES=yes pkg install -f {wanted}", name)
        before = self.package(name)
        removal = f"pkg_delete -f {name}-{before.version} && " if before is not None else ""
        return self._change(f"{removal}pkg_add {wanted}", name)

    @emulated("`pkg delete` or `pkg_delete`")
    def remove_package(self, name: str) -> Attempt[Package | None]:
        """Remove the package, also when others need it. One that is not there is removed already."""
        before = self.package(name)
        if before is None:
            return Attempt(None, None)
        new = self._tool() == _NEW
        command = f"env ASSUME_ALWAYS_YES=yes pkg delete -f {name}" if new else f"pkg_delete -f {name}-{before.version}"
        return self._change(command, name)

    @not_available(_NO_SUMS)
    def changed_files(self, name: str) -> tuple[ChangedFile, ...]:
        raise NotApplicable(f"{self.name}: package {name}: FreeBSD: {_NO_SUMS}")

    @not_available(_NO_SIGNER)
    def package_signer(self, name: str) -> str | None:
        raise NotApplicable(f"{self.name}: package {name}: FreeBSD: {_NO_SIGNER}")

    @emulated("`pkg which`, or `pkg_info -W`")
    def is_of_package(self, name: str, file: str) -> bool:
        """Did an installed package bring this module file?

        Nobody brought it: pkg(8) ends with EX_SOFTWARE or 1 then (src/which.c), pkg_info with 0 (info/perform.c).
        """
        self._named(name)
        new = self._tool() == _NEW
        command = f"{'pkg which -q' if new else 'pkg_info -qW'} {shlex.quote(file)}"
        result = self._try(command)
        nobody = not result.stdout.strip() and result.exit_status in (_NOT_OF_PKG if new else (0,))
        if result.stderr.strip() or not (nobody or (result.stdout.strip() and result.exit_status == 0)):
            raise self._failed(command, result)
        return name in {line.rpartition("-")[0] for line in result.stdout.split()}

    def _change(self, command: str, name: str) -> Attempt[Package | None]:
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        ending = Ending.DONE if result.exit_status == 0 else PKG.ending(name, result)
        if ending in (Ending.UNCLEAR, Ending.UNMET):
            raise Undecided(str(self._failed(command, result)))
        if ending in (Ending.UNKNOWN, Ending.NO_ANSWER):
            raise self._failed(command, result)
        return Attempt(refusal(result), self.package(name))

    def _tool(self) -> str:
        """``pkg`` where it is set up (``pkg -N``), else the tools it has replaced."""
        look = f"if pkg -N >/dev/null 2>&1; then echo {_NEW}; elif command -v {_OLD} >/dev/null; then echo {_OLD}; fi"
        said = self._run(look).strip()
        if said not in (_NEW, _OLD):
            raise BenchFault(f"{self.name}: neither pkg is set up nor is there pkg_info: `pkg bootstrap` sets it up")
        return said

    def _architecture(self, package: Package) -> str:
        """That of the kernel modules in the package; ``unknown`` when it has none.

        Raises:
            BenchFault: When they differ, or file(1) names an architecture that is not known here.
        """
        files = f"pkg_info -qL {package.name}-{package.version}"
        said = self._run(f"for f in $({files}); do case $f in *.ko) file -b $f || exit 1 ;; esac; done")
        found = {word for line in said.splitlines() if line.strip() for word in [_elf(line)]}
        if len(found) > 1 or None in found:
            raise unreadable("file -b", "modules", said.strip(), f"one of {', '.join(_ELF)} for all of them")
        return next(iter(found)) or UNKNOWN if found else UNKNOWN

    def _named(self, name: str) -> str:
        if not _PACKAGE.fullmatch(name):
            raise BenchFault(f"{self.name}: package {name!r}; expected letters, digits and . + _ -")
        return name


def _bare(version: str | None) -> str | None:
    """Oce writes its version between slashes: ``///4.2.116.0///``."""
    if version is None:
        return None
    bare = version.strip("/ ")
    if not bare:
        raise unreadable("sysctl", "driver version", version, "a version such as ///4.2.116.0///")
    return bare


def _elf(line: str) -> str | None:
    return next((architecture for word, architecture in _ELF.items() if word in line), None)


def _read_query(text: str) -> Package:
    words = text.split()
    abi = _ABI.fullmatch(words[2]) if len(words) == 3 else None
    if abi is None:
        raise unreadable("pkg query '%n %v %q'", "text", text, "one line: package, version, ABI")
    return Package(words[0], words[1], _ARCHITECTURES.get(abi[1], abi[1]), "installed")


def _read_old(text: str) -> Package:
    name, _, version = text.strip().rpartition("-")
    if not _PACKAGE.fullmatch(name) or not _VERSION.fullmatch(version):
        raise unreadable("pkg_info -E", "text", text, "one package such as oce-4.2.313.0")
    return Package(name, version, UNKNOWN, "installed")
