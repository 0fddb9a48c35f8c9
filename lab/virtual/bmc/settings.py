"""The settings that a BMC keeps across its own restart, next to the event log: boot device and power restore policy."""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, field_validator

from bmc.config import ConfigError, explain
from wholefile import write_whole


class BootDevice(IntEnum):
    """The device to boot from; values from IPMI table 28-14, boot device selector."""

    NONE = 0
    PXE = 1
    DISK = 2
    CDROM = 5
    BIOS_SETUP = 6


class BootLifetime(IntEnum):
    """The lifetime of a boot device."""

    DISABLED = 0
    ONCE = 1
    ALWAYS = 2


class RestorePolicy(IntEnum):
    """The action when mains power returns; values from IPMI table 28-3, chassis status."""

    ALWAYS_OFF = 0
    PREVIOUS = 1
    ALWAYS_ON = 2


_LIFETIME_BITS = {BootLifetime.DISABLED: 0, BootLifetime.ONCE: 0x80, BootLifetime.ALWAYS: 0xC0}


def _device_code(flags: bytes) -> int:
    return flags[1] >> 2 & 0x0F


class Settings(BaseModel):
    """The remembered values. The boot device is stored and reported; nothing boots by it.

    Attributes:
        boot_flags: Data 1 to 5 of the IPMI boot flags parameter, as 10 hex digits; the source of the other two.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    boot_flags: Annotated[str, StringConstraints(pattern="^[0-9a-f]{10}$")] = "0000000000"
    restore_policy: RestorePolicy = RestorePolicy.ALWAYS_OFF

    @field_validator("boot_flags")
    @classmethod
    def _known_device(cls, flags: str) -> str:
        BootDevice(_device_code(bytes.fromhex(flags)))  # raises ValueError
        return flags

    @property
    def boot_device(self) -> BootDevice:
        """The stored boot device."""
        return BootDevice(_device_code(bytes.fromhex(self.boot_flags)))

    @property
    def boot_lifetime(self) -> BootLifetime:
        """The lifetime of the boot device: flag bits "valid" and "persistent"."""
        first = bytes.fromhex(self.boot_flags)[0]
        if not first & 0x80:
            return BootLifetime.DISABLED
        return BootLifetime.ALWAYS if first & 0x40 else BootLifetime.ONCE


class SettingsFile:
    """The settings and their file; a change is in the file before it is answered.

    Raises:
        ConfigError: When the file is there and holds anything else.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self.now = Settings.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            self.now = Settings()
        except ValidationError as error:
            raise ConfigError(f"{path}: {explain(error)}") from error

    def set_boot_flags(self, flags: bytes) -> None:
        """Store the five bytes of the IPMI boot flags.

        Raises:
            ValueError: When they name a device that is not in :class:`BootDevice`.
        """
        BootDevice(_device_code(flags))
        self._store(self.now.model_copy(update={"boot_flags": flags.hex()}))

    def set_boot(self, device: BootDevice, lifetime: BootLifetime) -> None:
        """Store a boot device, keeping the other flags."""
        flags = bytearray.fromhex(self.now.boot_flags)
        flags[0] = flags[0] & 0x3F | _LIFETIME_BITS[lifetime]
        flags[1] = flags[1] & 0xC3 | device << 2
        self._store(self.now.model_copy(update={"boot_flags": flags.hex()}))

    def set_restore_policy(self, policy: RestorePolicy) -> None:
        """Store the policy."""
        self._store(self.now.model_copy(update={"restore_policy": policy}))

    def _store(self, settings: Settings) -> None:
        write_whole(self._path, settings.model_dump_json() + "\n")
        self.now = settings
