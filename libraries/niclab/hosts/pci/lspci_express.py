"""The PCI Express part of ``lspci -vv``: kind of port, link and payload."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import PciDevice
from niclab.hosts.pci.pcie_speeds import SPEEDS_GTS, link_width, speed_gts

_KIND = "lspci"

_LINK_STATE = re.compile(
    r"Speed (unknown|[0-9.]{1,4}GT/s)(?: \([a-z]+\))?, Width x([0-9]{1,3})(?: \([a-z]+\))?(?:,.*)?"
)
_TARGET = re.compile(r"Target Link Speed: (Unknown|[0-9.]{1,4}GT/s)(?:,.*)?")
_LINK_CAPABILITY = re.compile(r"Port #[0-9]{1,3}, (Speed .*)")
_PORT = re.compile(r"Express \(v[0-9]+\) ([A-Z].*?)(?: \(Slot[+-]\))?(?:,.*| IRQ [0-9]{1,3})?")
_PORTS = (
    "Endpoint",
    "Legacy Endpoint",
    "Root Port",
    "Upstream Port",
    "Downstream Port",
    "Root Complex Event Collector",
    "Root Complex Integrated Endpoint",
    "PCI-Express to PCI/PCI-X Bridge",
    "PCI/PCI-X to PCI-Express Bridge",
)
_PAYLOAD = re.compile(r"\t\t\tMaxPayload ([0-9]{2,5}) bytes, MaxReadReq [0-9]{2,5} bytes")
_PAYLOADS = {"128", "256", "512", "1024", "2048", "4096"}


def port_type(number: int, text: str) -> str:
    """``Root Port`` of ``Express (v2) Root Port (Slot+), MSI 00``.

    Raises:
        ReadError: It is none of pciutils' kinds of port.
    """
    match = _PORT.fullmatch(text)
    if match is None or match[1] not in _PORTS:
        raise unreadable(_KIND, f"line {number}", text, f"a kind of port: one of {', '.join(_PORTS)}")
    return match[1]


def lnkcap(device: PciDevice, number: int, value: str) -> PciDevice:
    """The device with the link it could have."""
    match = _LINK_CAPABILITY.fullmatch(value)
    if match is None:
        raise unreadable(_KIND, f"line {number}", value, "LnkCap: 'Port #N, Speed 8GT/s, Width x8'")
    speed, width = _link_state(number, match[1])
    return replace(device, lnkcap_gts=speed, lnkcap_width=width)


def lnksta(device: PciDevice, number: int, value: str) -> PciDevice:
    """The device with the link it has."""
    speed, width = _link_state(number, value)
    return replace(device, lnksta_gts=speed, lnksta_width=width)


def lnkctl2(device: PciDevice, number: int, value: str) -> PciDevice:
    """The device with the speed that it may not exceed; one of 2.5 GT/s need not say it."""
    match = _TARGET.fullmatch(value)
    speed = speed_gts(match[1].removesuffix("GT/s")) if match else None
    if speed is None and not (match and match[1] == "Unknown"):
        raise unreadable(_KIND, f"line {number}", value, f"'Target Link Speed: 8GT/s', of {SPEEDS_GTS} GT/s")
    return replace(device, lnkctl2_gts=speed)


def payload(device: PciDevice, line: str) -> PciDevice:
    """The device with the payload that is set; DevCap, the largest it could have, has no MaxReadReq."""
    if "MaxReadReq" not in line:
        return device
    match = _PAYLOAD.fullmatch(line)
    if match is None or match[1] not in _PAYLOADS:
        wanted = f"'MaxPayload 256 bytes, MaxReadReq 512 bytes', of {', '.join(sorted(_PAYLOADS, key=int))} bytes"
        raise unreadable(_KIND, "line", line.strip(), wanted)
    return replace(device, max_payload_bytes=int(match[1]))


def _link_state(number: int, value: str) -> tuple[float | None, int | None]:
    match = _LINK_STATE.fullmatch(value)
    if match is None:
        raise unreadable(_KIND, f"line {number}", value, "'Speed 8GT/s, Width x8'")
    width = link_width(_KIND, f"line {number}", match[2])
    if match[1] == "unknown":
        return None, width
    speed = speed_gts(match[1].removesuffix("GT/s"))
    if speed is None:
        raise unreadable(_KIND, f"line {number}", value, f"a speed of {SPEEDS_GTS} GT/s")
    return speed, width
