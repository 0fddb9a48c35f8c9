"""Commands for several parts of a Linux host: of ethtool and firmware, in the words that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name
from niclab.hosts.host_commands import HostCommands

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")

_FIRMWARE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")


class LinuxCommands(HostCommands):
    """Commands of ethtool and firmware, in the words that they take."""

    def _ethtool(self, option: str, iface: str, values: Mapping[str, int | bool]) -> str:
        words = []
        for word, value in values.items():
            if not _WORD.fullmatch(word):
                raise BenchFault(f"{self.name}: setting {word!r}; expected a word of letters, digits and - _ .")
            shown = {True: "on", False: "off"}[value] if isinstance(value, bool) else str(int(value))
            words += [word, shown]
        return f"ethtool {option} {interface_name(self.name, iface)} {' '.join(words)}"

    def _checked_file(self, file: str) -> str:
        if not _FIRMWARE_FILE.fullmatch(file):
            raise BenchFault(f"{self.name}: firmware file {file!r}; expected a file name of /lib/firmware")
        return file
