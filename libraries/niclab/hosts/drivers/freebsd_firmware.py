"""FreeBSD host: firmware images; its drivers offer no look into a card."""

from __future__ import annotations

import shlex

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.drivers.driver_commands import FreeBsdDriverCommands
from niclab.hosts.drivers.firmware_tools import FirmwareTools
from niclab.hosts.host import HostDrivers, HostUndo, Shell
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.parity import emulated, not_available, partly
from niclab.hosts.settings.driver_settings import FLASHED_BY_MODULE, firmware_module
from niclab.hosts.settings.settings_records import Attempt

_FLASH_TIMEOUT_S = 600

_FIRMWARE, _MODULES = "/boot/firmware", "/boot/modules"

_NO_LOOK = "the lab knows no command for it that all drivers have"
_FLASHED = (
    "cxgbe, with `cxgbetool`; oce, by `fw_upgrade`, of images that were made modules; others have tools of their"
    " vendors, which run offline"
)


class FreeBsdFirmware(FreeBsdDriverCommands, FirmwareTools):
    """See :class:`niclab.hosts.host.HostFirmware` for the meaning of each method."""

    IMAGES = _FIRMWARE

    def __init__(self, shell: Shell, name: str, *, drivers: HostDrivers, undo: HostUndo) -> None:
        super().__init__(shell, name)
        self._drivers = drivers
        self._undo = undo

    @emulated("a file in /boot/firmware, or its firmware module in /boot/modules")
    def has_image(self, file: str) -> bool:
        module = f"{_MODULES}/{firmware_module(self._checked_file(file))}.ko"
        return self._is_file(f"{_FIRMWARE}/{file}") or self._is_file(module)

    @partly(_FLASHED)
    def flash(self, iface: str, file: str) -> Attempt[DriverInfo]:
        """Write a firmware image into the card: of /boot/firmware, or by its firmware module in /boot/modules.

        Raises:
            NotApplicable: When FreeBSD has no tool for the card.
            BenchFault: When there is no such file, or no such module: nobody has made one of the image.
        """
        device, command = self._newbus(iface), self._undo.firmware(iface, file)
        module = f"{_MODULES}/{firmware_module(self._checked_file(file))}.ko"
        if device.driver in FLASHED_BY_MODULE and not self._is_file(module):
            raise BenchFault(
                f"{self.name}: firmware module {module} is missing; expected one made of {file}, as oce(4) says"
            )
        if device.driver not in FLASHED_BY_MODULE and not self._is_file(f"{_FIRMWARE}/{file}"):
            raise BenchFault(
                f"{self.name}: firmware image {_FIRMWARE}/{file} is missing; expected the file, which cxgbetool reads"
            )
        refused = self._told(command, timeout_s=_FLASH_TIMEOUT_S)
        return Attempt(refused, self._drivers.driver_info(iface))

    @not_available(_NO_LOOK)
    def eeprom(self, iface: str, length: int) -> bytes:
        raise NotApplicable(f"{self.name}: {iface}: {length} bytes of its driver's EEPROM: FreeBSD: {_NO_LOOK}")

    @not_available(_NO_LOOK)
    def registers(self, iface: str) -> int:
        raise NotApplicable(f"{self.name}: {iface}: the registers of its driver: FreeBSD: {_NO_LOOK}")

    @not_available(_NO_LOOK)
    def identify(self, iface: str, seconds: int) -> None:
        raise NotApplicable(f"{self.name}: {iface}: {seconds} s of blinking by its driver: FreeBSD: {_NO_LOOK}")

    def _is_file(self, path: str) -> bool:
        result = self._try(f"test -f {shlex.quote(path)}")
        if result.exit_status not in (0, 1):
            raise self._failed(f"test -f {path}", result)
        return result.exit_status == 0
