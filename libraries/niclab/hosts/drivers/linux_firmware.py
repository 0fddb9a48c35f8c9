"""Linux host: firmware images."""

from __future__ import annotations

import shlex

from niclab.hosts.host import HostUndo, Shell
from niclab.hosts.host_commands import is_no_answer, refusal
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.links.ethtool import read_driver_info
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.settings_records import Attempt

_FLASH_TIMEOUT_S = 600


class LinuxFirmware(LinuxCommands):
    """See :class:`niclab.hosts.host.HostFirmware` for the meaning of each method."""

    def __init__(self, shell: Shell, name: str, *, undo: HostUndo) -> None:
        super().__init__(shell, name)
        self._undo = undo

    def has_image(self, file: str) -> bool:
        """Is there such a file in ``/lib/firmware``?"""
        path = f"/lib/firmware/{self._checked_file(file)}"
        result = self._try(f"test -f {shlex.quote(path)}")
        if result.exit_status not in (0, 1):
            raise self._failed(f"test -f {path}", result)
        return result.exit_status == 0

    def flash(self, iface: str, file: str) -> Attempt[DriverInfo]:
        """Write a firmware image of ``/lib/firmware`` into the card with ``ethtool -f``."""
        command = self._undo.firmware(iface, file)
        result = self._try(command, timeout_s=_FLASH_TIMEOUT_S)
        if result.exit_status != 0 and is_no_answer(result):
            raise self._failed(command, result)
        return Attempt(refusal(result), self._read(f"ethtool -i {iface}", read_driver_info))
