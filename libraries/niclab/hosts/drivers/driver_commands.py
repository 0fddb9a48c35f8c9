"""Commands for several parts of a FreeBSD host: settings of drivers and of the loader, in the words that they take."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NoReturn, TypeVar

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd_commands import FreeBsdCommands, Newbus
from niclab.hosts.settings.driver_settings import CHELSIO

_FIRMWARE_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")

_FIRMWARE, _MODULES = "/boot/firmware", "/boot/modules"

T = TypeVar("T")

_WORD = re.compile(r"[a-z][a-z0-9_]{0,31}")


class FreeBsdDriverCommands(FreeBsdCommands):
    """Settings of drivers and of the loader, in the words that they take."""

    def _checked_file(self, file: str) -> str:
        if not _FIRMWARE_FILE.fullmatch(file):
            raise BenchFault(f"{self.name}: firmware file {file!r}; expected a file name of {_FIRMWARE}")
        return file

    def _number(self, name: str) -> int:
        value = self._text(name)
        if not value.isdecimal():
            raise unreadable("sysctl -n", name, value, "a whole number")
        return int(value)

    def _chelsio(self, iface: str, otherwise: str) -> Newbus:
        device = self._newbus(iface)
        if device.driver not in CHELSIO:
            self._cannot(device, otherwise)
        return device

    def _cannot(self, device: Newbus, why: str) -> NoReturn:
        raise NotApplicable(f"{self.name}: {device.name}: FreeBSD's driver {device.driver} {why}")

    def _index(self, name: str) -> int:
        """An index into a list; -1 points to none."""
        return -1 if self._text(name) == "-1" else self._number(name)

    def _word(self, word: str) -> str:
        if not _WORD.fullmatch(word):
            raise BenchFault(f"{self.name}: setting {word!r}; expected a word of ifconfig, such as tso4")
        return word

    def _leaf(self, known: Mapping[str, T], word: str) -> T:
        if word not in known:
            raise BenchFault(f"{self.name}: setting {word!r}; expected one of {', '.join(known)}")
        return known[word]
