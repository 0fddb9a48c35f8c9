"""Reader of ``lspci -vvnn -D`` (pciutils 3.5 to 3.14): what no file of sysfs says of a PCI function.

Shapes as in ``lspci.c``, ``ls-caps.c`` and ``ls-vpd.c`` of pciutils.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import PciDevice
from niclab.hosts.pci import lspci_express as express
from niclab.hosts.pci.lspci_vpd import is_vpd_line, read_vpd
from niclab.hosts.reading import Line, filled

KIND = "lspci"

_ID = "[0-9a-f]{4}"
_HEADER = re.compile(
    rf"([0-9a-f]{{4,8}}:[0-9a-f]{{2}}:[01][0-9a-f]\.[0-7]) [^:]* \[({_ID})\]: .*\[({_ID}):({_ID})\]"
    r"(?: \(rev ([0-9a-f]{2})\))?(?: \(prog-if [0-9a-f]{2}.*\))?"
)
_FIELD = re.compile(r"\t+([A-Z][A-Za-z ]{1,30}2?):(?:\s+(.*)|)")
_CAPABILITY = re.compile(r"\tCapabilities: (?:\[[0-9a-f]{2,3}(?: v[0-9]{1,2})?\]|(<access denied>)) ?(.*)")
_SUBSYSTEM = re.compile(rf".*\[({_ID}):({_ID})\]")
_SERIAL = re.compile(r"Device Serial Number ([0-9a-f]{2}(?:-[0-9a-f]{2}){7})")


@dataclass
class _Block:
    """The lines of one device."""

    device: PciDevice
    body: list[Line] = field(default_factory=list)


def read_lspci(text: str) -> tuple[PciDevice, ...]:
    """Read one or many devices.

    Raises:
        ReadError: The text is no such output; it has no device, for lspci prints nothing and exits with 0 when the slot
            asked for is empty; or it has a device twice.
    """
    blocks: dict[str, _Block] = {}
    block: _Block | None = None
    for number, line in filled(text):
        match = _HEADER.fullmatch(line)
        if match is not None and match[1] not in blocks:
            device = PciDevice(
                slot=match[1], vendor_id=match[3], device_id=match[4], class_code=match[2], dead=match[5] == "ff"
            )
            block = blocks[match[1]] = _Block(device)
        elif block is not None and line.startswith("\t"):
            block.body.append((number, line))
        else:
            raise unreadable(KIND, f"line {number}", line, "a device such as '0000:01:00.0 ...', once, or its lines")
    if not blocks:
        raise unreadable(KIND, "text", text, "at least one device")
    return tuple(map(_device, blocks.values()))


def _device(block: _Block) -> PciDevice:
    return _Reading(block.device).read(block.body)


class _Reading:
    """One pass over the lines of a device, with what one line must know of the lines before it."""

    def __init__(self, device: PciDevice) -> None:
        self._device = device
        self._seen: set[str] = set()
        self._vpd: list[str] | None = None  # the lines of the Vital Product Data, while they last

    def read(self, body: list[Line]) -> PciDevice:
        for number, line in body:
            self._line(number, line)
        self._end_vpd()
        return self._device

    def _line(self, number: int, line: str) -> None:
        if self._vpd is not None and is_vpd_line(line):
            self._vpd.append(line)
            return
        capability, match = _CAPABILITY.fullmatch(line), _FIELD.fullmatch(line)
        if capability is not None:
            self._end_vpd()
            self._capability(number, readable=capability[1] is None, text=capability[2].strip())
        elif "!!! Unknown header type 7f" in line:
            self._device = replace(self._device, dead=True)
        elif match is not None:
            self._field(number, line, match[1], (match[2] or "").strip())
        self._device = express.payload(self._device, line)

    def _field(self, number: int, line: str, name: str, value: str) -> None:
        if name == "Status" and "Cap-" in value.split() and not self._device.dead:
            self._device = replace(self._device, capabilities_readable=True)
        if name == "Capabilities":
            raise unreadable(KIND, f"line {number}", line, "'Capabilities: [40] NAME' or <access denied>")
        reader = _FIELD_READERS.get(name)
        if reader is None:
            return
        if name in self._seen:
            raise unreadable(KIND, f"line {number}", line, f"{name} once per device")
        self._seen.add(name)
        self._device = reader(self._device, number, value)

    def _capability(self, number: int, *, readable: bool, text: str) -> None:
        if not self._device.dead:
            self._device = replace(self._device, capabilities_readable=readable)
        if not readable:
            return
        if text.startswith("Vital Product Data"):
            self._vpd = []
        elif text.startswith("Subsystem: "):
            self._device = _subsystem(self._device, number, text.removeprefix("Subsystem: "))
        elif text.startswith("Express "):
            self._device = replace(self._device, port_type=express.port_type(number, text))
        elif (serial := _SERIAL.match(text)) is not None:
            self._device = replace(self._device, serial_number=serial[1])

    def _end_vpd(self) -> None:
        """A capability that could not be read has no lines."""
        if self._vpd:
            self._device = replace(self._device, vpd=read_vpd(self._vpd))
        self._vpd = None


def _subsystem(device: PciDevice, number: int, value: str) -> PciDevice:
    match = _SUBSYSTEM.fullmatch(value)
    if match is None:
        raise unreadable(KIND, f"line {number}", value, "a subsystem with its ids, such as [8086:a01f]")
    return replace(device, subvendor=match[1], subdevice=match[2])


def _driver(device: PciDevice, number: int, value: str) -> PciDevice:
    if not re.fullmatch(r"\S+", value):
        raise unreadable(KIND, f"line {number}", value, "the name of a driver")
    return replace(device, driver=value)


# LnkCap2 and LnkSta2 also hold speeds, of no interest here.
_FIELD_READERS: dict[str, Callable[[PciDevice, int, str], PciDevice]] = {
    "Subsystem": _subsystem,
    "LnkCap": express.lnkcap,
    "LnkSta": express.lnksta,
    "LnkCtl2": express.lnkctl2,
    "Kernel driver in use": _driver,
}
