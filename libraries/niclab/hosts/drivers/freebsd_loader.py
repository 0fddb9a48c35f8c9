"""FreeBSD host, what the loader sets before the kernel starts: ``/boot/loader.conf``, changed in one step."""

from __future__ import annotations

import re

from niclab.core.verdict import BenchFault
from niclab.hosts.drivers.loader_conf import LoaderConf, read_loader_conf
from niclab.hosts.freebsd_commands import FreeBsdCommands
from niclab.hosts.settings.settings_records import Attempt

_FILE = "/boot/loader.conf"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,100}")
_VALUE = re.compile(r"[A-Za-z0-9_.,:/+ -]{0,200}")


class FreeBsdLoader(FreeBsdCommands):
    """Settings that need a reboot, beyond what :class:`niclab.hosts.host.Host` asks of every system."""

    def loader_conf(self) -> LoaderConf:
        """Return the settings of the file; a file that is missing or empty sets nothing."""
        text = self._run(f"if [ -e {_FILE} ]; then cat {_FILE}; fi")
        return self._understood(f"cat {_FILE}", read_loader_conf, text)

    def set_loader_conf(self, name: str, value: str) -> Attempt[LoaderConf]:
        """Set ``name``, such as ``oce_load`` to ``YES``, and read the file back."""
        return Attempt(self._told(self._replacing(name, value)), self.loader_conf())

    def restoring_loader_conf(self, name: str) -> str:
        """An idempotent command that gives ``name`` the value it has now, or takes it out where it has none."""
        self._checked("name", name, _NAME)
        return self._replacing(name, self.loader_conf().values.get(name))

    def _replacing(self, name: str, value: str | None) -> str:
        """A command that writes a new file next to the old one and moves it there: never is there half a file.

        Mode and owner are those of the old file. Every line of this name goes, also a repeated one.
        """
        dots = self._checked("name", name, _NAME).replace(".", "[.]")
        setting = "" if value is None else f" && echo '{name}=\"{self._checked('value', value, _VALUE)}\"'"
        new = f"{_FILE}.niclab"
        return (
            f"touch {_FILE} && cp -p {_FILE} {new} && {{ sed '/^[[:space:]]*{dots}[[:space:]]*=/d' {_FILE}{setting}; }}"
            f" > {new} && sync && mv -f {new} {_FILE}"
        )

    def _checked(self, what: str, text: str, pattern: re.Pattern[str]) -> str:
        if not pattern.fullmatch(text):
            raise BenchFault(f"{self.name}: loader.conf {what} {text!r}: letters, digits and simple signs are wanted")
        return text
