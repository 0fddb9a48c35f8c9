"""What the capabilities of ``pciconf -c`` mean (``usr.sbin/pciconf/cap.c``, releases 7 to 14).

A capability that is not looked into stays as text. The words of one may be broken over lines in any release's way.
"""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.pciconf_records import AerCounts, Capability, Messages, PciconfDevice
from niclab.hosts.pcie import SPEEDS_GTS, link_width, speed_gts

_PORT = re.compile(
    r"PCI-Express [0-9] (endpoint|legacy endpoint|root port|upstream port|downstream port|PCI bridge|PCI to PCIe bridge"
    r"|root endpoint|event collector|type [0-9]{1,2})(?: slot)?"
    r"(?: MSI [0-9]{1,2})?(?: IRQ [0-9]{1,2})?(?: max data .*)?"
)
_PAYLOAD = re.compile(r"max data ([0-9]{2,5})\(([0-9]{2,5})\)")
_READ = re.compile(r"max read ([0-9]{2,5})(?: |$)")
_LINK = re.compile(r"link x([0-9]{1,3})\(x([0-9]{1,3})\)(?: |$)")
_SPEED = re.compile(r"speed ([0-9.]{3,5}|undef)\(([0-9.]{3,5}|undef)\)(?: |$)")
_ASPM = re.compile(r"ASPM (\S+)\(")
_MSIX = re.compile(r"MSI-X supports ([0-9]{1,5}) messages?(,? in maps? .*|, enabled.*| .*)?")
_MSI = re.compile(
    r"MSI supports ([0-9]{1,3}) messages?(?:, 64 bit)?(?:, vector masks?)?( enabled with [0-9]{1,3} messages?)?"
)
_AER = re.compile(r"AER [0-9]{1,2} ([0-9]{1,3}) fatal ([0-9]{1,3}) non-fatal ([0-9]{1,3}) corrected")
_SERIAL = re.compile(r"Serial [0-9]{1,2} ([0-9a-f]{16})")
_POWER = re.compile(r"powerspec [0-9]{1,2} +supports .* current (D[0-3]|unknown)")
# Words of the PCI-Express capability, each of which stands there once.
_EXPRESS_WORDS = (
    re.compile(r"\bmax data "),
    re.compile(r"\bmax read "),
    re.compile(r" link x"),
    re.compile(r" speed "),
)
_LINK_ALONE = re.compile(r"\blink x[0-9]{1,2}\(x[0-9]{1,2}\)|\bspeed [0-9.]{3,5}\([0-9.]{3,5}\)")
_UNKNOWN_SPEEDS = ("undef", "0.0")
_EXPRESS = 0x10


def with_capabilities(kind: str, device: PciconfDevice, capabilities: tuple[Capability, ...]) -> PciconfDevice:
    """The device with its capabilities and what they say of link, payload, interrupts, power and errors."""
    device = replace(device, capabilities=capabilities, capabilities_readable=True if capabilities else None)
    for capability in capabilities:
        where = f"{device.selector} {'ecap' if capability.extended else 'cap'} {capability.id}[{capability.offset}]"
        device = _with_capability(kind, where, device, capability)
    return device


def _with_capability(kind: str, where: str, device: PciconfDevice, capability: Capability) -> PciconfDevice:
    text = " ".join(capability.text.split())
    if int(capability.id, 16) != _EXPRESS and _LINK_ALONE.search(text):
        raise unreadable(kind, where, text, "the link below its own capability, 'cap 10[..] = PCI-Express ...'")
    match (capability.extended, int(capability.id, 16)):
        case (False, 0x10):
            return _express(kind, where, device, text)
        case (False, 0x05):
            match = _wanted(kind, where, text, _MSI, "'MSI supports N messages'")
            msi = Messages(int(match[1]), match[2] is not None)
            return replace(device, msi=msi, msi_count=msi.supported, msi_enabled=msi.enabled)
        case (False, 0x11):
            match = _wanted(kind, where, text, _MSIX, "'MSI-X supports N messages'")
            msix = Messages(int(match[1]), "enabled" in (match[2] or ""))
            return replace(device, msix=msix, msix_count=msix.supported, msix_enabled=msix.enabled)
        case (False, 0x01):
            power = _wanted(kind, where, text, _POWER, "'powerspec 3 supports D0 D3 current D0'")
            return replace(device, power_state=power[1] if power[1] != "unknown" else None)
        case (True, 0x0001) if text not in ("AER 0",):
            match = _wanted(kind, where, text, _AER, "'AER 1 0 fatal 0 non-fatal 0 corrected'")
            return replace(device, aer=AerCounts(int(match[1]), int(match[2]), int(match[3])))
        case (True, 0x0003) if text not in ("Serial 0",):
            match = _wanted(kind, where, text, _SERIAL, "'Serial 1 ' and 16 hexadecimal digits")
            return replace(device, serial=match[1], serial_number="-".join(re.findall("..", match[1])))
    return device


def _express(kind: str, where: str, device: PciconfDevice, text: str) -> PciconfDevice:
    port = _wanted(kind, where, text, _PORT, "'PCI-Express 2 endpoint max data 256(512) link x8(x8)'")
    if device.port_type is not None:
        raise unreadable(kind, where, text, "one PCI-Express capability per device")
    payload, read, aspm = _PAYLOAD.search(text), _READ.search(text), _ASPM.search(text)
    link, speed = _LINK.search(text), _SPEED.search(text)
    if any(len(word.findall(text)) > 1 for word in _EXPRESS_WORDS):
        raise unreadable(kind, where, text, "max data, max read, link and speed once")
    for word, match in (("max data", payload), ("max read", read), (" link ", link), (" speed ", speed)):
        if word in text and match is None:
            raise unreadable(kind, where, text, "'link x4(x8) speed 5.0(8.0)'")
    return replace(
        device,
        port_type=port[1],
        max_payload_bytes=int(payload[1]) if payload else None,
        max_payload_supported_bytes=int(payload[2]) if payload else None,
        max_read_bytes=int(read[1]) if read else None,
        max_read_request_bytes=int(read[1]) if read else None,
        aspm=aspm[1] if aspm else None,
        lnksta_width=link_width(kind, where, link[1]) if link else None,
        lnkcap_width=link_width(kind, where, link[2]) if link else None,
        lnksta_gts=_speed(kind, where, speed[1]) if speed else None,
        lnkcap_gts=_speed(kind, where, speed[2]) if speed else None,
    )


def _wanted(kind: str, where: str, text: str, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
    match = pattern.fullmatch(text)
    if match is None:
        raise unreadable(kind, where, text, expected)
    return match


def _speed(kind: str, where: str, text: str) -> float | None:
    if text in _UNKNOWN_SPEEDS:
        return None
    speed = speed_gts(text)
    if speed is None:
        raise unreadable(kind, where, text, f"a speed of {SPEEDS_GTS} GT/s")
    return speed
