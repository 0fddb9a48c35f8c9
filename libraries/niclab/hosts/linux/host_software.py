"""Linux host, the part that runs the card: driver packages, firmware, and the errors of its PCI Express link."""

from __future__ import annotations

import re
import shlex

from niclab.core.verdict import BenchFault
from niclab.hosts.commands import HostCommands, is_no_answer, refusal
from niclab.hosts.errors import unreadable
from niclab.hosts.host import CommandResult
from niclab.hosts.linux.aer import read_aer_classes
from niclab.hosts.linux.ethtool import read_driver_info
from niclab.hosts.names import interface_name, module_name, pci_address
from niclab.hosts.records import DriverInfo
from niclab.hosts.settings_records import AerCounters, Attempt, Package

_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]{1,127}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~:-]{0,127}")
_PARAMETER = re.compile(r"[A-Za-z0-9_]{1,64}")
_FIRMWARE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_PACKAGE_FIELDS = r"${Package} ${db:Status-Status} ${Architecture} ${Version}\n"
_INSTALL_TIMEOUT_S = 300
_UNKNOWN = ("was not found", "Unable to locate package")
_FLASH_TIMEOUT_S = 600


class LinuxSoftware(HostCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def package(self, name: str) -> Package | None:
        """The package as ``dpkg`` knows it; None when it is not installed (its configuration files may be left)."""
        command = f"dpkg-query -W -f '{_PACKAGE_FIELDS}' {self._named(name)}"
        result = self._try(command)
        if result.exit_status == 1 and "no packages found matching" in result.stderr:
            return None
        if result.exit_status != 0:
            raise self._failed(command, result)
        found = self._understood(command, _read_package, result.stdout)
        if found.name != name:
            raise BenchFault(f"{self.name}: `{command}` answered for {found.name}")
        return None if found.status in ("not-installed", "config-files") else found

    def install_package(self, name: str, version: str) -> Attempt[Package | None]:
        """Install this very version with ``apt-get``, from where the host gets its packages; it may be an older one.

        A version that apt does not know is looked for once more, when apt has fetched its lists anew.

        :raises BenchFault: when the tool could not try: no such version to be had, no lock, no rights.
        """
        if not _VERSION.fullmatch(version):
            raise BenchFault(f"{self.name}: package version {version!r}: letters, digits and . + ~ : - are wanted")
        words = f"install --yes --allow-downgrades --no-install-recommends {self._named(name)}={version}"
        return self._apt(words, name, _UNKNOWN)

    def remove_package(self, name: str) -> Attempt[Package | None]:
        """Remove the package and its configuration. One that is not there is removed already."""
        return self._apt(f"purge --yes {self._named(name)}", name, ())

    def module_parameter(self, module: str, name: str) -> str:
        """The value a parameter of a loaded module has, as the kernel writes it.

        :raises BenchFault: when the module is not loaded, or does not show that parameter.
        """
        if not _PARAMETER.fullmatch(name):
            raise BenchFault(f"{self.name}: module parameter {name!r}: letters, digits and _ are wanted")
        folder = f"/sys/module/{module_name(self.name, module).replace('-', '_')}/parameters"
        return self._run(f"cat {folder}/{name}").strip()

    def firmware_file(self, file: str) -> bool:
        """Is there such a file in ``/lib/firmware``?"""
        path = f"/lib/firmware/{self._checked_file(file)}"
        result = self._try(f"test -f {shlex.quote(path)}")
        if result.exit_status not in (0, 1):
            raise self._failed(f"test -f {path}", result)
        return result.exit_status == 0

    def flash(self, iface: str, file: str) -> Attempt[DriverInfo]:
        """Write a firmware image of ``/lib/firmware`` into the card with ``ethtool -f``."""
        command = self.flashing(iface, file)
        result = self._try(command, timeout_s=_FLASH_TIMEOUT_S)
        if result.exit_status != 0 and is_no_answer(result):
            raise self._failed(command, result)
        return Attempt(refusal(result), self._read(f"ethtool -i {iface}", read_driver_info))

    def flashing(self, iface: str, file: str) -> str:
        """The command of :meth:`flash`, for the journal."""
        return f"ethtool -f {interface_name(self.name, iface)} {self._checked_file(file)}"

    def aer(self, address: str) -> AerCounters | None:
        """Errors of a PCI Express device since boot; None when device or kernel keeps no count of them."""
        pci_address(self.name, address)
        command = (
            f"cd /sys/bus/pci/devices/{address} && for k in correctable nonfatal fatal;"
            " do if [ -e aer_dev_$k ]; then echo class=$k; cat aer_dev_$k || exit; fi; done"
        )
        return self._read(command, read_aer_classes)

    def _apt(self, words: str, name: str, missing: tuple[str, ...]) -> Attempt[Package | None]:
        command = f"DEBIAN_FRONTEND=noninteractive apt-get -q {words}"
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        if _says(result, missing):
            self._try("apt-get -q update", timeout_s=_INSTALL_TIMEOUT_S)  # whether that helped, apt says next
            result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        if result.exit_status != 0 and (is_no_answer(result) or _says(result, missing)):
            raise self._failed(command, result)
        return Attempt(refusal(result), self.package(name))

    def _named(self, name: str) -> str:
        if not _PACKAGE.fullmatch(name):
            raise BenchFault(f"{self.name}: package {name!r}: lower-case letters, digits and . + - are wanted")
        return name

    def _checked_file(self, file: str) -> str:
        if not _FIRMWARE_FILE.fullmatch(file):
            raise BenchFault(f"{self.name}: firmware file {file!r}: a file name of /lib/firmware is wanted")
        return file


def _says(result: CommandResult, words: tuple[str, ...]) -> bool:
    return result.exit_status != 0 and any(one in result.stderr + result.stdout for one in words)


def _read_package(text: str) -> Package:
    words = text.split()
    if len(words) != 4 or text.count("\n") > 1:
        raise unreadable("dpkg-query -W", "text", text, "one line: package, status, architecture, version")
    name, status, architecture, version = words
    return Package(name, version, architecture, status)
