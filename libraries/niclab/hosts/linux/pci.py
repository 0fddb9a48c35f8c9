"""Readers of ``lspci -vv`` (with or without -n, -nn, -D, -k), ``lspci -vmm``, and the link attributes of sysfs.

Shapes: pciutils 3.0 (``Width x4, TrErr- ...`` on the LnkSta line) to 3.14 (``(downgraded)`` without ``(ok)``), as in
``ls-caps.c`` of pciutils. Shapes before 3.0 have no LnkCap line; their link fields are None.
"""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered
from niclab.hosts.records import PciDevice

_VERBOSE = "lspci -vv"
_MACHINE = "lspci -vmm"
_SYSFS = "sysfs link attribute"

# PCIe link speeds in GT/s and link widths in lanes: PCI Express Base Specification 6.0, sections 7.5.3.6 and 7.5.3.8.
SPEEDS_GTS = (2.5, 5.0, 8.0, 16.0, 32.0, 64.0)
WIDTHS = (1, 2, 4, 8, 12, 16, 32)
# No link trained (0), all ones in the 6-bit field (63), and all ones as the kernel prints them (255).
_UNKNOWN_WIDTHS = (0, 63, 255)

_SLOT = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_HEADER = re.compile(rf"({_SLOT}) (\S.*)")
_NUMERIC_HEADER = re.compile(r"(?:Class )?([0-9a-f]{4}): (?:Device )?([0-9a-f]{4}):([0-9a-f]{4})")
_CLASS_CODE = re.compile(r"\[([0-9a-f]{4})\]: ")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\](?: \(|$)")
_REVISION = re.compile(r" \(rev ([0-9a-f]{2})\)")
_SUBSYSTEM_IDS = re.compile(r"(?:^|.* )\[?([0-9a-f]{4}):([0-9a-f]{4})\]?")
_LINK_STATE = re.compile(
    r"Speed (unknown|Unknown|[0-9.]{1,4}GT/s)(?: \([a-z]+\))?, Width x([0-9]{1,3})(?: \([a-z]+\))?(?:,.*)?"
)
_PORT = re.compile(r"\s+Capabilities: \[[0-9a-f]+\] Express (?:\(v[0-9]+\) )?([A-Z].*?)(?: \(Slot[+-]\))?(?:,.*)?")
_FIELD = re.compile(r"\s+([A-Z][A-Za-z ]{1,30}):\s+(.*)")
_HEX_DUMP = re.compile(r"[0-9a-f]{2,3}: [0-9a-f]{2} .*")
_NOISE = ("lspci: ", "pcilib: ")

_MACHINE_LINE = re.compile(r"([A-Za-z]{1,20}):\s*(.*)")
_NAMED_ID = re.compile(r"(?:.*\[)?([0-9a-f]{4})\]?")


def read_lspci(text: str) -> tuple[PciDevice, ...]:
    """Read ``lspci -vv`` of one or many devices.

    No device at all is an error: lspci prints nothing and exits with 0 when the slot asked for is empty.
    """
    devices: list[PciDevice] = []
    header: re.Match[str] | None = None
    body: list[tuple[int, str]] = []
    for number, line in numbered(text):
        if line.startswith(_NOISE) or not line.strip():
            continue
        match = _HEADER.fullmatch(line)
        if match is not None:
            if header is not None:
                devices.append(_device(header, body))
            header, body = match, []
        elif header is not None and (line[0] in " \t" or _HEX_DUMP.fullmatch(line)):
            body.append((number, line))
        else:
            raise unreadable(_VERBOSE, f"line {number}", line, "a device such as '01:00.0 ...', or an indented line")
    if header is None:
        raise unreadable(_VERBOSE, "text", text, "at least one device")
    devices.append(_device(header, body))
    return tuple(devices)


def read_lspci_machine(text: str) -> tuple[PciDevice, ...]:
    """Read ``lspci -vmm`` (best with ``-D -n`` or ``-nn``, and ``-k`` for the driver): no link fields in this form."""
    devices: list[PciDevice] = []
    fields: dict[str, str] = {}
    modules: list[str] = []
    for number, line in [*numbered(text), (0, "")]:
        if line.startswith(_NOISE):
            continue
        if not line.strip():
            if fields:
                devices.append(_machine_device(fields, tuple(modules)))
                fields, modules = {}, []
            continue
        match = _MACHINE_LINE.fullmatch(line)
        if match is None:
            raise unreadable(_MACHINE, f"line {number}", line, "'Name:' and a value")
        if match[1] == "Module":
            modules.append(match[2].strip())
        elif match[1] in fields:
            raise unreadable(_MACHINE, f"line {number}", line, f"{match[1]} once per device")
        else:
            fields[match[1]] = match[2].strip()
    if not devices:
        raise unreadable(_MACHINE, "text", text, "at least one device")
    return tuple(devices)


def read_sysfs_speed_gts(text: str) -> float | None:
    """Read ``current_link_speed`` or ``max_link_speed``: ``8.0 GT/s PCIe``, ``5 GT/s``; None when unknown or empty."""
    value = text.strip()
    if value in ("", "Unknown", "Unknown speed"):
        return None
    match = re.fullmatch(r"([0-9.]{1,4}) GT/s(?: PCIe)?", value)
    speed = _speed(match[1]) if match else None
    if speed is None:
        raise unreadable(_SYSFS, "speed", value, f"one of {SPEEDS_GTS} GT/s, or Unknown")
    return speed


def read_sysfs_width(text: str) -> int | None:
    """Read ``current_link_width`` or ``max_link_width``; None when 0, 63, 255 (no link, all ones) or empty."""
    value = text.strip()
    if not value:
        return None
    if not re.fullmatch(r"[0-9]{1,3}", value):
        raise unreadable(_SYSFS, "width", value, "a number of lanes")
    return _width(_SYSFS, "width", value)


def is_degraded(device: PciDevice) -> bool | None:
    """Whether the link runs slower or narrower than the device can.

    True as soon as speed or width shows it; False only when both are known and full; None when they cannot tell.
    """
    pairs = ((device.lnksta_gts, device.lnkcap_gts), (device.lnksta_width, device.lnkcap_width))
    if any(now is not None and can is not None and now < can for now, can in pairs):
        return True
    return None if any(now is None or can is None for now, can in pairs) else False


def with_domain(slot: str) -> str:
    """``01:00.0`` -> ``0000:01:00.0``: lspci leaves domain 0 out when there is no other."""
    return slot if slot.count(":") == 2 else f"0000:{slot}"


def _device(header: re.Match[str], body: list[tuple[int, str]]) -> PciDevice:
    device = _named_device(header[1], header[2])
    found: set[str] = set()
    for number, line in body:
        if "!!! Unknown header type" in line:
            device = replace(device, dead=True)
            continue
        if line.strip() == "Capabilities: <access denied>":
            device = replace(device, capabilities_readable=False)
            continue
        port = _PORT.fullmatch(line)
        if port is not None:
            device = replace(device, port_type=port[1])
            continue
        match = _FIELD.fullmatch(line)
        if match is None or match[1] not in _FIELD_READERS:
            continue
        if match[1] in found:
            raise unreadable(_VERBOSE, f"line {number}", line, f"{match[1]} once per device")
        found.add(match[1])
        device = _FIELD_READERS[match[1]](device, number, match[2].strip())
    if device.capabilities_readable is None and not device.dead and body:
        device = replace(device, capabilities_readable=True)
    return replace(device, degraded=is_degraded(device))


def _named_device(slot: str, rest: str) -> PciDevice:
    """What the device line says after the slot: class, names or ids, revision."""
    revision = _REVISION.search(rest)
    numeric = _NUMERIC_HEADER.match(rest)
    class_code = _CLASS_CODE.search(rest)
    ids = _IDS.search(rest)
    if numeric is not None:
        code, vendor, device = numeric[1], numeric[2], numeric[3]
    else:
        code = class_code[1] if class_code else None
        vendor, device = (ids[1], ids[2]) if ids else (None, None)
    return PciDevice(
        slot=with_domain(slot),
        vendor_id=vendor,
        device_id=device,
        class_code=code,
        revision=revision[1] if revision else None,
        dead=revision is not None and revision[1] == "ff",
    )


def _subsystem(device: PciDevice, _number: int, value: str) -> PciDevice:
    match = _SUBSYSTEM_IDS.fullmatch(value)
    return replace(device, subvendor=match[1], subdevice=match[2]) if match else device


def _lnkcap(device: PciDevice, number: int, value: str) -> PciDevice:
    match = re.fullmatch(r"Port #[0-9]{1,3}, (.*)", value)
    if match is None:
        raise unreadable(_VERBOSE, f"line {number}", value, "LnkCap: 'Port #N, Speed SGT/s, Width xW'")
    speed, width = _link_state(number, match[1])
    return replace(device, lnkcap_gts=speed, lnkcap_width=width)


def _lnksta(device: PciDevice, number: int, value: str) -> PciDevice:
    speed, width = _link_state(number, value)
    return replace(device, lnksta_gts=speed, lnksta_width=width)


def _driver(device: PciDevice, number: int, value: str) -> PciDevice:
    if not re.fullmatch(r"\S+", value):
        raise unreadable(_VERBOSE, f"line {number}", value, "the name of a driver")
    return replace(device, driver=value)


def _modules(device: PciDevice, _number: int, value: str) -> PciDevice:
    return replace(device, modules=tuple(value.replace(",", " ").split()))


def _physical_slot(device: PciDevice, _number: int, value: str) -> PciDevice:
    return replace(device, physical_slot=value or None)


# LnkCap2, LnkSta2 and LnkCtl2 also hold speeds; the pattern of a field name has no digits, so they are never taken.
_FIELD_READERS = {
    "Subsystem": _subsystem,
    "LnkCap": _lnkcap,
    "LnkSta": _lnksta,
    "Physical Slot": _physical_slot,
    "Kernel driver in use": _driver,
    "Kernel modules": _modules,
}


def _link_state(number: int, value: str) -> tuple[float | None, int | None]:
    match = _LINK_STATE.fullmatch(value)
    if match is None:
        raise unreadable(_VERBOSE, f"line {number}", value, "'Speed 8GT/s, Width x8'")
    width = _width(_VERBOSE, f"line {number}", match[2])
    if match[1].lower() == "unknown":
        return None, width
    speed = _speed(match[1].removesuffix("GT/s"))
    if speed is None:
        raise unreadable(_VERBOSE, f"line {number}", value, f"a speed of {SPEEDS_GTS} GT/s")
    return speed, width


def _speed(text: str) -> float | None:
    """One of SPEEDS_GTS, None for anything else."""
    return next((speed for speed in SPEEDS_GTS if text in (f"{speed:g}", f"{speed:.1f}")), None)


def _width(kind: str, where: str, text: str) -> int | None:
    width = int(text)
    if width in _UNKNOWN_WIDTHS:
        return None
    if width not in WIDTHS:
        raise unreadable(kind, where, text, f"a width of {WIDTHS} lanes")
    return width


def _machine_device(fields: dict[str, str], modules: tuple[str, ...]) -> PciDevice:
    slot = fields.get("Slot", "")
    if not re.fullmatch(_SLOT, slot):
        raise unreadable(_MACHINE, "Slot", slot, "an address such as 0000:01:00.0")
    revision = fields.get("Rev")
    return PciDevice(
        slot=with_domain(slot),
        vendor_id=_named_id(fields, "Vendor"),
        device_id=_named_id(fields, "Device"),
        subvendor=_named_id(fields, "SVendor"),
        subdevice=_named_id(fields, "SDevice"),
        class_code=_named_id(fields, "Class"),
        revision=revision,
        driver=fields.get("Driver"),
        modules=modules,
        physical_slot=fields.get("PhySlot"),
        dead=revision == "ff",
    )


def _named_id(fields: dict[str, str], key: str) -> str | None:
    """``82574L Gigabit Network Connection [10d3]`` or ``10d3``; None when only a name is printed."""
    match = _NAMED_ID.fullmatch(fields.get(key, ""))
    return match[1] if match else None
