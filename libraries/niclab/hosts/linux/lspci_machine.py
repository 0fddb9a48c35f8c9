"""Readers of ``lspci`` as programs see it: -vmm, -vm and -mm; and the choice between all forms."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.linux.lspci import read_lspci
from niclab.hosts.linux.lspci_names import SLOT, read_class
from niclab.hosts.linux.pci import with_domain
from niclab.hosts.reading import dedented
from niclab.hosts.records import PciDevice, PciDevices
from niclab.hosts.transcript import transcript

_BLOCKS = "lspci -vmm"
_LINES = "lspci -mm"

_NOISE = ("lspci: ", "pcilib: ")
_BLOCK_LINE = re.compile(r"([A-Z][A-Za-z]{1,19}):\s*(.*)")
_SLOT_LINE = re.compile(rf"(?:Slot|Device):\s*{SLOT}\s*")
_QUOTED_LINE = re.compile(rf'({SLOT})((?: "[^"]*"| -[a-z][0-9a-f]{{2}}){{3,8}})\s*')
_QUOTED_WORD = re.compile(r' (?:"([^"]*)"|-([a-z])([0-9a-f]{2}))')
_NAMED_ID = re.compile(r"(?:(.*\S) )?\[?([0-9a-f]{4})\]?")
_UNNAMED_ID = re.compile(r"(?:(?:Unknown d|D)evice|(?:Unknown v|V)endor) \[?([0-9a-f]{4})\]?")
# The keys in the order in which -mm prints the same values without keys; busybox's -mk adds the driver.
_KEYS = ("Class", "Vendor", "Device", "SVendor", "SDevice")


def read_lspci_any(text: str) -> PciDevices:
    """Read any form of ``lspci`` but the bus tree; the first line that says something tells which form it is."""
    lines = [line for _, line in dedented(transcript(text, "lspci").filled) if not line.startswith(_NOISE)]
    first = lines[0].strip() if lines else ""
    if _SLOT_LINE.fullmatch(first):
        return PciDevices(read_lspci_machine(text))
    if _QUOTED_LINE.fullmatch(first):
        return PciDevices(read_lspci_quoted(text))
    return PciDevices(read_lspci(text))


def read_lspci_machine(text: str) -> tuple[PciDevice, ...]:
    """Read ``lspci -vmm`` (best with ``-D -n`` or ``-nn``, and ``-k`` for the driver): no link fields in this form.

    The old form -vm is read too; it calls the slot ``Device``, as it calls the device.
    """
    devices: list[PciDevice] = []
    fields: dict[str, str] = {}
    modules: list[str] = []
    for number, line in [*dedented(transcript(text, "lspci").lines), (0, "")]:
        if line.startswith(_NOISE):
            continue
        if not line.strip():
            if fields:
                devices.append(_block_device(fields, modules))
                fields, modules = {}, []
            continue
        match = _BLOCK_LINE.fullmatch(line)
        if match is None:
            raise unreadable(_BLOCKS, f"line {number}", line, "'Name:' and a value")
        key = "Slot" if not fields and _SLOT_LINE.fullmatch(line) else match[1]
        if key == "Module":
            modules.append(match[2].strip())
        elif key in fields:
            raise unreadable(_BLOCKS, f"line {number}", line, f"{key} once per device")
        else:
            fields[key] = match[2].strip()
    return _each_once(_BLOCKS, text, devices)


def read_lspci_quoted(text: str) -> tuple[PciDevice, ...]:
    """Read ``lspci -mm``: ``01:00.0 "Class" "Vendor" "Device" -r01 "SVendor" "SDevice"``."""
    devices = []
    for number, line in dedented(transcript(text, "lspci").filled):
        if line.startswith(_NOISE):
            continue
        match = _QUOTED_LINE.fullmatch(line)
        if match is None:
            raise unreadable(_LINES, f"line {number}", line, '\'SLOT "Class" "Vendor" "Device" ...\'')
        words = _QUOTED_WORD.findall(match[2])
        values = [value for value, option, _ in words if not option]
        fields = {"Slot": match[1], **dict(zip((*_KEYS, "Driver"), values, strict=False))}
        fields["Rev"] = next((digits for _, option, digits in words if option == "r"), "")
        devices.append(_block_device({key: value for key, value in fields.items() if value}, []))
    return _each_once(_LINES, text, devices)


def _each_once(kind: str, text: str, devices: list[PciDevice]) -> tuple[PciDevice, ...]:
    if not devices:
        raise unreadable(kind, "text", text, "at least one device")
    slots = [device.slot for device in devices]
    twice = next((slot for slot in slots if slots.count(slot) > 1), None) if len(set(slots)) < len(slots) else None
    if twice is not None:
        raise unreadable(kind, "Slot", twice, "each device once")
    return tuple(devices)


def _block_device(fields: dict[str, str], modules: list[str]) -> PciDevice:
    fields = {key: value for key, value in fields.items() if value}
    slot = fields.get("Slot", "")
    if not re.fullmatch(SLOT, slot):
        raise unreadable(_BLOCKS, "Slot", slot, "an address such as 0000:01:00.0")
    missing = [key for key in ("Class", "Vendor", "Device") if not fields.get(key)]
    if missing:
        raise unreadable(_BLOCKS, f"device {slot}", ", ".join(fields), f"also {' and '.join(missing)}")
    class_name, class_code = read_class(fields["Class"])
    vendor, device, subvendor, subdevice = (_named_id(fields, key) for key in _KEYS[1:])
    if vendor == (None, fields["Vendor"]) and None in (device[1], subdevice[1] or not fields.get("SDevice")):
        raise unreadable(_BLOCKS, f"device {slot}", ", ".join(fields.values()), "ids of four digits beside an id")
    revision = fields.get("Rev")
    return PciDevice(
        slot=with_domain(slot),
        vendor_id=vendor[1],
        device_id=device[1],
        subvendor=subvendor[1],
        subdevice=subdevice[1],
        class_code=class_code,
        revision=revision,
        driver=fields.get("Driver"),
        modules=tuple(module for module in modules if module) or None,
        physical_slot=fields.get("PhySlot"),
        dead=revision == "ff",
        class_name=class_name,
        vendor_name=vendor[0],
        device_name=device[0],
        subvendor_name=subvendor[0],
        subdevice_name=subdevice[0],
        label=fields.get("DeviceName"),
        numa_node=_small(fields, "NUMANode"),
        iommu_group=_small(fields, "IOMMUGroup"),
    )


def _named_id(fields: dict[str, str], key: str) -> tuple[str | None, str | None]:
    """Name and id: ``82574L Gigabit Network Connection [10d3]``, ``10d3``, ``Device 10d3``, ``Vendor 8086``, or a name
    alone."""
    value = fields.get(key, "")
    unnamed = _UNNAMED_ID.fullmatch(value)
    if unnamed is not None:
        return None, unnamed[1]
    match = _NAMED_ID.fullmatch(value)
    if match is None or (match[1] is not None and not value.endswith("]")):
        return value or None, None
    return match[1], match[2]


def _small(fields: dict[str, str], key: str) -> int | None:
    value = fields.get(key)
    if value is None:
        return None
    if not re.fullmatch(r"-?[0-9]{1,6}", value):
        raise unreadable(_BLOCKS, key, value, "a whole number")
    return int(value)
