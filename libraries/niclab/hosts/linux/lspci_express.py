"""The PCI Express part of ``lspci -vv``: link, payload, and the flags of device status and error reporting."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from niclab.hosts.errors import unreadable
from niclab.hosts.pcie import SPEEDS_GTS, link_width, speed_gts
from niclab.hosts.records import PciDevice

_KIND = "lspci"

_LINK_STATE = re.compile(
    r"Speed (unknown|Unknown|[0-9.]{1,4}G[Tb]/s)(?: \([a-z]+\))?, Width x([0-9]{1,3})(?: \([a-z]+\))?(?:,.*)?"
)
_LINK_CAPABILITY = re.compile(r"(?:Port #[0-9]{1,3}, )?(Speed .*)")
_PORT = re.compile(r"Express (?:\(v[0-9]+\) )?([A-Z].*?)(?: \(Slot[+-]\))?(?:,.*| IRQ [0-9]{1,3})?")
_PORTS = (
    "Endpoint",
    "Legacy Endpoint",
    "Root Port",
    "Upstream Port",
    "Downstream Port",
    "Root Complex Event Collector",
    "Root Complex Integrated Endpoint",
    "PCI/PCI-X Bridge",
    "PCI-Express to PCI/PCI-X Bridge",
    "PCI/PCI-X to PCI-Express Bridge",
)
_UNKNOWN_PORT = re.compile(r"Unknown type [0-9]{1,2}")
_PAYLOAD = re.compile(r"MaxPayload ([0-9]{2,5}) bytes, MaxReadReq ([0-9]{2,5}) bytes")
_PAYLOADS = {"128", "256", "512", "1024", "2048", "4096"}
_FLAG = re.compile(r"[<>]?[A-Za-z0-9/_]{1,24}[+-]")
# What a mail program leaves at the beginning of a line when it breaks the long lines of lspci.
_WRAPPED = re.compile(
    r"PME\([D0-9a-z,+-]+\)|(?:Queue|Count)=[0-9]{1,2}/[0-9]{1,2}|DEVSEL=[a-z]+|\[size=[0-9]+[KMGT]?\]"
    r"|-?[0-9.]{1,4}dB|de-emphasis|preshoot"
)

_DEVICE_FLAGS = {"CorrErr", "UncorrErr", "NonFatalErr", "FatalErr", "UnsuppReq", "UnsupReq", "AuxPwr", "TransPend"}
FLAG_FIELDS = {"DevSta": "devsta", "UESta": "uesta", "CESta": "cesta"}


def port_type(text: str) -> str | None:
    """``Endpoint``, ``Root Port`` ... of ``Express (v2) Root Port (Slot+), MSI 00``."""
    match = _PORT.fullmatch(text)
    return match[1] if match else None


def is_port_type(kind: str | None) -> bool:
    """Whether this is a kind of port in pciutils' words."""
    return kind in _PORTS or (kind is not None and _UNKNOWN_PORT.fullmatch(kind) is not None)


def lnkcap(device: PciDevice, number: int, value: str) -> PciDevice:
    match = _LINK_CAPABILITY.fullmatch(value)
    if match is None:
        raise unreadable(_KIND, f"line {number}", value, "LnkCap: 'Port #N, Speed 8GT/s, Width x8'")
    speed, width = _link_state(number, match[1])
    return replace(device, lnkcap_gts=speed, lnkcap_width=width)


def lnksta(device: PciDevice, number: int, value: str) -> PciDevice:
    speed, width = _link_state(number, value)
    return replace(device, lnksta_gts=speed, lnksta_width=width)


def link(device: PciDevice, number: int, value: str) -> PciDevice:
    """pciutils 2: ``Link: Supported Speed 2.5Gb/s, Width x4, ...`` and ``Link: Speed 2.5Gb/s, Width x4``."""
    if value.startswith("Supported "):
        speed, width = _link_state(number, value.removeprefix("Supported "))
        return replace(device, lnkcap_gts=speed, lnkcap_width=width)
    return lnksta(device, number, value) if value.startswith("Speed ") else device


def payload(device: PciDevice, line: str) -> PciDevice:
    """The sizes that are set; DevCap, which tells what the device could, has no MaxReadReq."""
    match = _PAYLOAD.search(line)
    if match is None:
        if "MaxReadReq" in line:
            raise unreadable(_KIND, "line", line.strip(), "'MaxPayload 256 bytes, MaxReadReq 512 bytes'")
        return device
    if not {match[1], match[2]} <= _PAYLOADS:
        raise unreadable(_KIND, "line", line.strip(), f"sizes of {', '.join(sorted(_PAYLOADS, key=int))} bytes")
    return replace(device, max_payload_bytes=int(match[1]), max_read_request_bytes=int(match[2]))


def flags(device: PciDevice, number: int, name: str, value: str) -> PciDevice:
    """``DevSta``, ``UESta``, ``CESta``: the names of the flags that are set."""
    if not is_flags(value):
        raise unreadable(_KIND, f"line {number}", value, f"{name}: flags such as 'CorrErr+ FatalErr-'")
    return _with_flags(device, name, _set_flags(value))


def more_flags(device: PciDevice, name: str, line: str) -> PciDevice:
    """The flags of the next line (pciutils 3.11 and later break the line of UESta)."""
    known: tuple[str, ...] = getattr(device, FLAG_FIELDS[name])
    return _with_flags(device, name, (*known, *_set_flags(line)))


def is_flags(text: str) -> bool:
    """Nothing but flags, each with its sign."""
    words = text.replace(",", " ").split()
    return bool(words) and all(_FLAG.fullmatch(word) for word in words)


def has_flags(text: str) -> bool:
    """At least one flag with its sign; other words may stand beside it."""
    return any(_FLAG.fullmatch(word) for word in text.replace(",", " ").split())


def is_more(name: str, line: str) -> bool:
    """Whether these flags go on with those of field ``name``; those of the device's status are few and known."""
    words = {word.lstrip("<>")[:-1] for word in line.replace(",", " ").split()}
    return is_flags(line) and (name != "DevSta" or words <= _DEVICE_FLAGS)


def is_wrapped(line: str) -> bool:
    """Is this the rest of a line that was broken in two? Only flags and a few other words can be told for sure."""
    words = line.replace(", ", " ").split()
    return all(_FLAG.fullmatch(word) or _WRAPPED.fullmatch(word) for word in words)


def _with_flags(device: PciDevice, name: str, names: tuple[str, ...]) -> PciDevice:
    changes: dict[str, Any] = {FLAG_FIELDS[name]: names}
    return replace(device, **changes)


def _set_flags(text: str) -> tuple[str, ...]:
    return tuple(word[:-1] for word in text.replace(",", " ").split() if word.endswith("+"))


def _link_state(number: int, value: str) -> tuple[float | None, int | None]:
    match = _LINK_STATE.fullmatch(value)
    if match is None:
        raise unreadable(_KIND, f"line {number}", value, "'Speed 8GT/s, Width x8'")
    width = link_width(_KIND, f"line {number}", match[2])
    if match[1].lower() == "unknown":
        return None, width
    speed = speed_gts(match[1][: -len("GT/s")])
    if speed is None:
        raise unreadable(_KIND, f"line {number}", value, f"a speed of {SPEEDS_GTS} GT/s")
    return speed, width
