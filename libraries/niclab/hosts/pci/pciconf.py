"""Reader of FreeBSD's ``pciconf -l`` and ``pciconf -lc``, releases 9 to 14 (``usr.sbin/pciconf``: pciconf.c, cap.c)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import PciDevice
from niclab.hosts.pci.pcie_speeds import SPEEDS_GTS, link_width, speed_gts
from niclab.hosts.reading import filled

_KIND = "pciconf"
_SELECTOR = re.compile(
    r"([a-z][A-Za-z0-9_]*?)([0-9]{1,4})@pci([0-9]{1,5}):([0-9]{1,3}):([0-9]{1,3}):([0-9]{1,3}):\s+(\S.*)"
)
_WORD = re.compile(r"(class|card|chip|rev|hdr|vendor|device|subvendor|subdevice)=0x([0-9a-f]{1,8})")
# Extended ones are not set in before release 10. Words that do not fit follow below, set in by 17 blanks.
_CAPABILITY = re.compile(
    r"(?: {4}cap (?P<kind>[0-9a-f]{2})\[(?P<at>[0-9a-f]{2})\]"
    r"|(?: {4})?ecap (?P<extended>[0-9a-f]{4})\[[0-9a-f]{3}\]) = (?P<said>.*)"
)
_REST = re.compile(r" {17,}\S.*")
_LENGTHS = {"class": 6, "card": 8, "chip": 8, "rev": 2, "hdr": 2}
_OLD_WORDS = ("class", "card", "chip", "rev", "hdr")
_NEW_WORDS = ("class", "rev", "hdr", "vendor", "device", "subvendor", "subdevice")
_EXPRESS, _SERIAL_NUMBER = "10", "0003"
_PORT = re.compile(
    r"PCI-Express ([0-9]) (endpoint|legacy endpoint|root port|upstream port|downstream port|PCI bridge"
    r"|PCI to PCIe bridge|root endpoint|event collector|type [0-9]{1,2})"
    r"(?: slot)?(?: MSI [0-9]{1,2})?(?: IRQ [0-9]{1,2})?(?: max data .*)?"
)
_LNKCTL2, _WITH_LNKCTL2 = 0x30, 2
"""Its place in the capability, and the first version of the capability that has it (PCI Express Base, 7.5.3.19)."""
_PAYLOAD = re.compile(r"max data ([0-9]{2,5})\([0-9]{2,5}\)(?: |$)")
_LINK = re.compile(r" link x([0-9]{1,3})\(x([0-9]{1,3})\)(?: |$)")
_SPEED = re.compile(r" speed ([0-9.]{3,5}|undef)\(([0-9.]{3,5}|undef)\)(?: |$)")
_SERIAL = re.compile(r"Serial [0-9]{1,2} ([0-9a-f]{16})")
_UNKNOWN_SPEEDS = ("undef", "0.0")
_EXAMPLE = "a device such as 'oce0@pci0:4:0:0: class=0x020000 ...'"


@dataclass(frozen=True)
class PciconfDevice(PciDevice):
    """A function. ``unit``: number of the attached driver's device; of ``none0`` ``driver`` is None.

    ``lnkctl2_register``: where its Link Control 2 is, in its configuration space; None where it has none.
    """

    unit: int | None = None
    lnkctl2_register: int | None = None


@dataclass(frozen=True)
class _Capability:
    """A capability. ``at``: its place in the configuration space; 0 for an extended one."""

    where: str
    kind: str
    at: int
    said: str


@dataclass(frozen=True)
class PciconfDevices:
    devices: tuple[PciconfDevice, ...]


def read_pciconf(text: str) -> PciconfDevices:
    """Read the functions, with their capabilities where ``-c`` was given.

    Raises:
        ReadError: for any other line, and when there is no function.
    """
    devices: list[PciconfDevice] = []
    capabilities: list[list[_Capability]] = []
    for number, line in filled(text):
        where = f"line {number}"
        if (selector := _SELECTOR.fullmatch(line.rstrip())) is not None:
            devices.append(_device(where, line, selector))
            capabilities.append([])
        elif capabilities and (found := _CAPABILITY.fullmatch(line.rstrip())) is not None:
            at = int(found["at"] or "0", 16)
            capabilities[-1].append(_Capability(where, found["kind"] or found["extended"], at, found["said"]))
        elif capabilities and capabilities[-1] and _REST.fullmatch(line):
            begun = capabilities[-1].pop()
            capabilities[-1].append(replace(begun, said=f"{begun.said} {line.strip()}"))
        else:
            raise unreadable(_KIND, where, line, "a capability, 'cap 01[40] = ...'" if devices else _EXAMPLE)
    if not devices:
        raise unreadable(_KIND, "text", text, _EXAMPLE)
    slots = [device.slot for device in devices]
    repeated = [slot for slot in slots if slots.count(slot) > 1]
    if repeated:
        raise unreadable(_KIND, "text", repeated[0], "each function once")
    return PciconfDevices(tuple(_with(*pair) for pair in zip(devices, capabilities, strict=True)))


def _device(where: str, line: str, selector: re.Match[str]) -> PciconfDevice:
    words = _words(where, line, selector[7])
    if "chip" in words:
        vendor, device = words["chip"][4:], words["chip"][:4]
        subvendor, subdevice = words["card"][4:], words["card"][:4]
    else:
        vendor, device = words["vendor"], words["device"]
        subvendor, subdevice = words["subvendor"], words["subdevice"]
    return PciconfDevice(
        slot=_slot(where, line, *(int(part) for part in selector.group(3, 4, 5, 6))),
        driver=None if selector[1] == "none" else selector[1],
        unit=int(selector[2]),
        vendor_id=vendor,
        device_id=device,
        subvendor=subvendor,
        subdevice=subdevice,
        class_code=words["class"][:4],
        dead=(vendor, device) == ("ffff", "ffff"),
    )


def _words(where: str, line: str, text: str) -> dict[str, str]:
    """The words after the selector, each once and complete, in one of the two layouts; without 0x."""
    words: dict[str, str] = {}
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None or match[1] in words or len(match[2]) != _LENGTHS.get(match[1], 4):
            raise unreadable(_KIND, where, line, "words such as class=0x020000 vendor=0x19a2, each once")
        words[match[1]] = match[2]
    if set(words) not in (set(_OLD_WORDS), set(_NEW_WORDS)):
        raise unreadable(_KIND, where, line, f"the words {', '.join(_OLD_WORDS)}, or {', '.join(_NEW_WORDS)}")
    return words


def _slot(where: str, line: str, domain: int, bus: int, device: int, function: int) -> str:
    """``pci0:4:0:0`` -> ``0000:04:00.0``."""
    if bus > 255 or device > 31 or function > (7 if device else 255):
        raise unreadable(_KIND, where, line, "bus up to 255, device up to 31, function up to 7")
    # Virtual functions of device 0 count on (alternative routing-ID): function 41 is what others call 05.1.
    return f"{domain:04x}:{bus:02x}:{device + function // 8:02x}.{function % 8}"


def _with(device: PciconfDevice, capabilities: list[_Capability]) -> PciconfDevice:
    """The device with what its capabilities say of link, payload and serial number."""
    device = replace(device, capabilities_readable=True if capabilities else None)
    for each in capabilities:
        if each.kind == _EXPRESS:
            device = _express(device, each)
        elif each.kind == _SERIAL_NUMBER:
            match = _SERIAL.fullmatch(each.said)
            if match is None:
                raise unreadable(_KIND, each.where, each.said, "'Serial 1 ' and 16 hexadecimal digits")
            device = replace(device, serial_number="-".join(re.findall("..", match[1])))
    return device


def _express(device: PciconfDevice, capability: _Capability) -> PciconfDevice:
    """``PCI-Express 2 endpoint max data 256(512) link x8(x8) speed 5.0(8.0)``: the state, and what it is capable of."""
    where, text = capability.where, capability.said
    port = _PORT.fullmatch(text)
    if port is None or device.port_type is not None:
        raise unreadable(_KIND, where, text, "one 'PCI-Express 2 endpoint max data 256(512) link x8(x8)'")
    payload, link, speed = _PAYLOAD.search(text), _LINK.search(text), _SPEED.search(text)
    for word, match in (("max data ", payload), (" link ", link), (" speed ", speed)):
        if text.count(word) != (match is not None):
            raise unreadable(_KIND, where, text, "'max data 256(512)', 'link x4(x8)' and 'speed 5.0(8.0)' at most once")
    return replace(
        device,
        port_type=port[2],
        lnkctl2_register=capability.at + _LNKCTL2 if int(port[1]) >= _WITH_LNKCTL2 else None,
        max_payload_bytes=int(payload[1]) if payload else None,
        lnksta_width=link_width(_KIND, where, link[1]) if link else None,
        lnkcap_width=link_width(_KIND, where, link[2]) if link else None,
        lnksta_gts=_speed(where, speed[1]) if speed else None,
        lnkcap_gts=_speed(where, speed[2]) if speed else None,
    )


def _speed(where: str, text: str) -> float | None:
    if text in _UNKNOWN_SPEEDS:
        return None
    speed = speed_gts(text)
    if speed is None:
        raise unreadable(_KIND, where, text, f"a speed of {SPEEDS_GTS} GT/s")
    return speed
