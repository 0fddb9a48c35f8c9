"""Capabilities of PCI functions as pciconf -c prints them (usr.sbin/pciconf/cap.c of release 9 and 10)."""

from __future__ import annotations

from collections.abc import Iterator

from newbus import config, word

_STATUS, _CAPABILITY_LIST, _POINTER = 0x06, 0x10, 0x34
_EXPRESS, _EXTENDED_START = 0x10, 0x100
_SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0"}
_MOST = 48
_PORT_TYPES = {
    0: "endpoint",
    1: "legacy endpoint",
    4: "root port",
    5: "upstream port",
    6: "downstream port",
    7: "PCIe to PCI bridge",
    8: "PCI to PCIe bridge",
    9: "root endpoint",
    10: "event collector",
}
_ADVANCED_ERRORS, _SERIAL_NUMBER = 0x0001, 0x0003


def places(address: str) -> dict[int, int]:
    """Id of each capability -> its first place."""
    found: dict[int, int] = {}
    for identity, place in _walk(address):
        found.setdefault(identity, place)
    return found


def _walk(address: str) -> Iterator[tuple[int, int]]:
    if not word(address, _STATUS, 2) & _CAPABILITY_LIST:
        return
    place, steps = word(address, _POINTER, 1) & ~3, 0
    while place and place != 0xFC and steps < _MOST:
        yield word(address, place, 1), place
        place, steps = word(address, place + 1, 1) & ~3, steps + 1


def lines(address: str) -> Iterator[str]:
    """Every capability, the extended ones behind."""
    for identity, place in _walk(address):
        yield f"    cap {identity:02x}[{place:02x}] = {_told(address, identity, place)}"
    if len(config(address)) > _EXTENDED_START:
        yield from _extended(address)


def _told(address: str, identity: int, place: int) -> str:
    if identity == 0x01:
        return _power(address, place)
    if identity == 0x03:
        return "VPD"
    if identity == 0x05:
        control = word(address, place + 2, 2)
        messages = 1 << (control >> 1 & 7)
        wide = ", 64 bit" if control & 0x80 else ""
        enabled = f" enabled with {1 << (control >> 4 & 7)} message" if control & 1 else ""
        return f"MSI supports {messages} message{'s' if messages > 1 else ''}{wide}{enabled} "
    if identity == 0x09:
        return f"vendor (length {word(address, place + 2, 1)})"
    if identity == 0x0D:
        return f"PCI Bridge card=0x{word(address, place + 4, 4):08x}"
    if identity == _EXPRESS:
        return _express(address, place)
    if identity == 0x11:
        return _msix(address, place)
    return "unknown"


def _power(address: str, place: int) -> str:
    able, status = word(address, place + 2, 2), word(address, place + 4, 2)
    d1, d2 = " D1" if able & 0x200 else "", " D2" if able & 0x400 else ""
    return f"powerspec {able & 7}  supports D0{d1}{d2} D3  current D{status & 3}"


def _msix(address: str, place: int) -> str:
    control = word(address, place + 2, 2)
    messages = (control & 0x7FF) + 1
    table, pending = word(address, place + 4, 4), word(address, place + 8, 4)
    enabled = ", enabled" if control & 0x8000 else ""
    where = f"Table in map 0x{0x10 + 4 * (table & 7):x}[0x{table & ~7:x}]"
    also = f", PBA in map 0x{0x10 + 4 * (pending & 7):x}[0x{pending & ~7:x}]"
    return f"MSI-X supports {messages} message{'s' if messages > 1 else ''}{enabled}\n{'':17}{where}{also}"


def _express(address: str, place: int) -> str:
    flags, able = word(address, place + 2, 2), word(address, place + 4, 4)
    control, link_able = word(address, place + 8, 2), word(address, place + 12, 4)
    link = word(address, place + 18, 2)
    port = _PORT_TYPES.get(flags >> 4 & 0xF, "type " + str(flags >> 4 & 0xF))
    slot = " slot" if flags & 0x100 else ""
    reset = " FLR" if able & 0x10000000 else ""
    payload = f"max data {128 << (control >> 5 & 7)}({128 << (able & 7)}){reset}"
    width, most = link >> 4 & 0x3F, link_able >> 4 & 0x3F
    told = f"PCI-Express {flags & 0xF} {port}{slot} {payload} link x{width}(x{most})"
    if not most:
        return told
    speed = _SPEEDS.get(link & 0xF, "0.0") if width else "0.0"
    return f"{told}\n{'':17}speed {speed}({_SPEEDS.get(link_able & 0xF, '???')})"


def _extended(address: str) -> Iterator[str]:
    place, steps = _EXTENDED_START, 0
    while place and steps < _MOST:
        head = word(address, place, 4)
        identity, version = head & 0xFFFF, head >> 16 & 0xF
        if identity in (0, 0xFFFF):
            return
        yield f"    ecap {identity:04x}[{place:x}] = {_extended_told(address, identity, version, place)}"
        place, steps = head >> 20 & 0xFFC, steps + 1


def _extended_told(address: str, identity: int, version: int, place: int) -> str:
    if identity == _ADVANCED_ERRORS:
        status, severity = word(address, place + 4, 4), word(address, place + 12, 4)
        corrected = word(address, place + 16, 4)
        fatal, other = (status & severity).bit_count(), (status & ~severity).bit_count()
        return f"AER {version} {fatal} fatal {other} non-fatal {corrected.bit_count()} corrected"
    if identity == _SERIAL_NUMBER:
        return f"Serial {version} {word(address, place + 8, 4):08x}{word(address, place + 4, 4):08x}"
    return f"unknown {version}"
