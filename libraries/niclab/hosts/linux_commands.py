"""Commands for several parts of a Linux host: of ethtool, firmware and packages, in the words that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name
from niclab.hosts.drivers.package_systems import PackageSystem, package_system
from niclab.hosts.host_commands import HostCommands
from niclab.hosts.system.linux_texts import read_os_release

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{1,127}")

_FIRMWARE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")


class LinuxCommands(HostCommands):
    """Commands of ethtool, firmware and packages, in the words that they take."""

    def _ethtool(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str:
        words = []
        for word, value in values.items():
            if not _WORD.fullmatch(word):
                raise BenchFault(f"{self.name}: setting {word!r}; expected a word of letters, digits and - _ .")
            shown = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(int(value))
            words += [word, shown]
        return f"ethtool {option} {interface_name(self.name, iface)} {' '.join(words)}"

    def _packages(self) -> PackageSystem:
        """The package system of the host's distribution."""
        release = self._read_file("/etc/os-release", read_os_release)
        found = package_system((release.id, *release.id_like))
        if found is None:
            names = " ".join((release.id, *release.id_like))
            raise BenchFault(f"{self.name}: /etc/os-release: {names}; expected a system of apt, dnf or zypper")
        return found

    def _named(self, name: str) -> str:
        if not _PACKAGE.fullmatch(name):
            raise BenchFault(f"{self.name}: package {name!r}; expected letters, digits and . _ + -")
        return name

    def _checked_file(self, file: str) -> str:
        if not _FIRMWARE_FILE.fullmatch(file):
            raise BenchFault(f"{self.name}: firmware file {file!r}; expected a file name of /lib/firmware")
        return file
