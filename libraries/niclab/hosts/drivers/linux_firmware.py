"""Linux host: firmware images, and looks into a card."""

from __future__ import annotations

import re
import shlex

from niclab.core.verdict import NotApplicable
from niclab.hosts.command_words import interface_name
from niclab.hosts.drivers.firmware_tools import FirmwareTools
from niclab.hosts.errors import LookFailed, unreadable
from niclab.hosts.host import HostUndo, Shell
from niclab.hosts.host_commands import is_no_answer, refusal, words_of
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.links.ethtool import read_driver_info
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.settings_records import Attempt

_FLASH_TIMEOUT_S = 600
_COUNTS = re.compile(r"( *\d+ +[0-9a-f]{2}\n)*")
_BYTES = re.compile(r"(\s+[0-9a-f]{2})+\s*")


class LinuxFirmware(LinuxCommands, FirmwareTools):
    """See :class:`niclab.hosts.host.HostFirmware` for the meaning of each method."""

    IMAGES = "/lib/firmware"

    def __init__(self, shell: Shell, name: str, *, undo: HostUndo) -> None:
        super().__init__(shell, name)
        self._undo = undo

    def has_image(self, file: str) -> bool:
        """Is there such a file in ``/lib/firmware``?"""
        path = f"{self.IMAGES}/{self._checked_file(file)}"
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

    def eeprom(self, iface: str, length: int) -> bytes:
        """Return the first bytes of the EEPROM or flash of a port; fewer where it has fewer.

        Raises:
            NotApplicable: The driver shows none.
            LookFailed: It shows one, and could not read it.
        """
        command = f"ethtool -e {interface_name(self.name, iface)} raw on length {length}"
        text = self._looked(f"{command} | od -An -v -tx1", iface, "no EEPROM")
        return self._understood(command, _read_bytes, text)

    def registers(self, iface: str) -> int:
        """Read the registers of a port as its driver dumps them, and return how many bytes they are.

        Raises:
            NotApplicable: The driver shows none.
            LookFailed: It shows some, and could not read them, or every byte is 0xff: the card does not answer.
        """
        command = f"ethtool -d {interface_name(self.name, iface)} raw on"
        text = self._looked(f"{command} | od -An -v -tx1 -w1 | sort | uniq -c", iface, "no registers")
        counts = self._understood(command, _read_counts, text)
        if not counts:
            raise NotApplicable(f"{self.name}: {iface}: its driver shows no registers (none of them)")
        if set(counts) == {"ff"}:
            raise LookFailed(f"{self.name}: `{command}` shows 0xff as each of {counts['ff']} bytes")
        return sum(counts.values())

    def identify(self, iface: str, seconds: int) -> None:
        """Let the light of a port blink for a time.

        Raises:
            NotApplicable: The driver offers none.
            LookFailed: It offers one, and could not do it.
        """
        self._looked(f"ethtool -p {interface_name(self.name, iface)} {seconds}", iface, "no light that blinks")

    def _looked(self, command: str, iface: str, nothing: str) -> str:
        """The output of commands in a row, all of which succeed. Kernels say EOPNOTSUPP where a driver has none."""
        result = self._try(f"bash -c {shlex.quote(f'set -o pipefail; {command}')}")
        if result.exit_status == 0:
            return result.stdout
        if "not supported" in result.stderr:
            raise NotApplicable(f"{self.name}: {iface}: its driver shows {nothing} ({result.stderr.strip()})")
        if is_no_answer(result) or "temporarily unavailable" in result.stderr:  # bnx2x of a port that is down
            raise self._failed(command, result)
        raise LookFailed(f"{self.name}: `{command}` failed with {words_of(result)}")


def _read_bytes(text: str) -> bytes:
    if not _BYTES.fullmatch(text):
        raise unreadable("ethtool -e", "text", text, "bytes as od -tx1 prints them")
    return bytes.fromhex(text)


def _read_counts(text: str) -> dict[str, int]:
    """Read how often each byte comes."""
    if not _COUNTS.fullmatch(text):
        raise unreadable("uniq -c", "text", text, "counts of bytes as od -tx1 prints them")
    return {byte: int(count) for count, byte in map(str.split, text.splitlines())}
