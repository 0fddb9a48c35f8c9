"""Reader of FreeBSD's ``sysctl NAME ...``: settings of devices and drivers, ``name: value``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled

_KIND = "sysctl"
_LINE = re.compile(r"((?:dev|hw)(?:\.[A-Za-z0-9_%:@/+-]+)+):(?: (.*))?")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_DEVICE = re.compile(r"dev\.([a-z][a-z0-9_]*)\.([0-9]{1,4})\.(.+)")
# Firmware and driver versions under the names that drivers give them.
_FIRMWARE = ("firmware_version", "fw_version", "fw_ver", "ver.fw_ver", "hw.fw_version", "nvm_version", "tp_version")
# bxe's fw_version is what it brings along for the chip's own processors, the same on every card; what the card has in
# its flash is the boot code (sys/dev/bxe/bxe.c, bxe_add_sysctls(): BCM_5710_FW_*_VERSION and bc_ver_str).
_BOOT_CODE = "bc_version"
_VERSION = ("driver_version", "component_revision", "iflib.driver_version", "version", "ver.driver_ver")
# In what a driver says of its device: "... Network Driver, Version - 2.5.15".
_DRIVER_VERSION = (
    re.compile(r"\b[Vv]ersion(?: -)? (?P<v>[0-9][A-Za-z0-9.+_-]*)"),
    re.compile(r"\b(?:v|V|v:)(?P<v>[0-9]+\.[0-9]+\.[A-Za-z0-9.+_-]+)"),
    re.compile(r"(?:\bNetwork (?:Connection|Driver)| -) (?P<v>[0-9]+\.[0-9]+[A-Za-z0-9.+_-]*)$"),
)
_EXAMPLE = "'name: value' such as 'dev.oce.0.%driver: oce'"


@dataclass(frozen=True)
class BsdDevice:
    """A newbus device: what ``dev.DRIVER.UNIT`` says of its firmware and of its driver's version."""

    name: str
    firmware: str | None
    version: str | None


@dataclass(frozen=True)
class Sysctls:
    """``values``: whole numbers as int, everything else as text; lines of a value are joined by line feeds."""

    values: dict[str, int | str]

    def devices(self) -> tuple[BsdDevice, ...]:
        """The devices of the tree ``dev``, in order."""
        found: dict[str, dict[str, str]] = {}
        for name, value in self.values.items():
            match = _DEVICE.fullmatch(name)
            if match is not None:
                found.setdefault(f"{match[1]}{match[2]}", {})[match[3]] = str(value)
        return tuple(_device(name, leaves) for name, leaves in found.items())

    def as_json(self) -> dict[str, object]:
        """The values, and what they say of devices."""
        return {"values": self.values, "devices": self.devices()}


def read_sysctl(text: str) -> Sysctls:
    """Read settings below ``dev`` and ``hw``. A line without a name belongs to the text above it.

    Raises:
        ReadError: for a name that is there twice, a line below a number or a text of newbus, which have one line, and
            when there is no setting.
    """
    texts: dict[str, list[str]] = {}
    name = ""
    for number, line in filled(text):
        match = _LINE.fullmatch(line)
        if match is not None and match[1] not in texts:
            name = match[1]
            texts[name] = [match[2] or ""]
        elif match is not None or not name or "%" in name or _WHOLE.fullmatch(texts[name][0]):
            raise unreadable(_KIND, f"line {number}", line, f"{_EXAMPLE}, each name once")
        else:
            texts[name].append(line)
    if not texts:
        raise unreadable(_KIND, "text", text, _EXAMPLE)
    return Sysctls({name: _value("\n".join(parts)) for name, parts in texts.items()})


def _value(text: str) -> int | str:
    """A number only when printing it gives the same text again: "00123" stays text."""
    text = text.strip()
    return int(text) if _WHOLE.fullmatch(text) else text


def _device(name: str, leaves: dict[str, str]) -> BsdDevice:
    named = next((leaves[leaf] for leaf in _FIRMWARE if leaves.get(leaf)), None)
    return BsdDevice(
        name=name,
        firmware=f"bc {leaves[_BOOT_CODE]}" if leaves.get(_BOOT_CODE) else named,
        version=next((leaves[leaf] for leaf in _VERSION if leaves.get(leaf)), None)
        or _driver_version(leaves.get("%desc", "")),
    )


def _driver_version(description: str) -> str | None:
    return next((match["v"] for pattern in _DRIVER_VERSION if (match := pattern.search(description))), None)
