"""What lines of FreeBSD's kernel log say of cards: firmware, PCI Express link, and what a link came up with."""

from __future__ import annotations

import re

from niclab.core.names import Duplex
from niclab.hosts.kernel_records import PcieLinkReport
from niclab.hosts.pcie import speed_gts

# The words of each driver: ix, ixl, em and igc (iflib), bce, bxe, cxgbe, mlx5, oce.
_FIRMWARE = (
    re.compile(r"\bfirmware on card \((?P<v>[0-9][0-9A-Za-z.]*)\)"),
    re.compile(r"\bfirmware upgraded from \S+ to (?P<v>[0-9][0-9A-Za-z.]*[0-9A-Za-z])"),
    re.compile(r"\bEEPROM V(?P<v>[0-9]+\.[0-9]+(?:-[0-9]+)?)"),
    re.compile(r"\bB/C \((?P<v>[0-9][0-9.]*)\)"),
    re.compile(
        r"(?i:\b(?:fw|firmware|bc|boot ?code)(?: version| ver)?)"
        r"[ :=(]{1,3}[vV]?(?P<v>[0-9][0-9A-Za-z_]*(?:\.[0-9A-Za-z_-]+)+)"
    ),
)
_NVM = re.compile(r"\bnvm (?P<v>[0-9]+\.[0-9]+)")
_VERSION = (
    re.compile(r"\b[Vv]ersion(?: -)? (?P<v>[0-9][A-Za-z0-9.+_-]*)"),
    re.compile(r"\b(?:v|V|v:)(?P<v>[0-9]+\.[0-9]+\.[A-Za-z0-9.+_-]+)"),
    re.compile(r"(?:\bNetwork (?:Connection|Driver)| -) (?P<v>[0-9]+\.[0-9]+[A-Za-z0-9.+_-]*)$"),
)
_GTS = r"([0-9]{1,2}(?:\.[0-9])?) ?(?:GT/s|G[Bb]/s|Gbps)"
_SPEED_AND_WIDTH = re.compile(rf"PCI Express Bus: Speed (?:{_GTS}|Unknown) (?:Width x([0-9]{{1,2}})|Unknown)")
_WIDTH_AND_SPEED = re.compile(rf"\bBus \(PCIe x([0-9]{{1,2}}), {_GTS}\)")
_GENERATION = re.compile(r": PCIe (?:gen([1-6]) )?x([0-9]{1,2}), [0-9]{1,2} ports?,")
_GENERATIONS = {"1": 2.5, "2": 5.0, "3": 8.0, "4": 16.0, "5": 32.0, "6": 64.0}
_INSUFFICIENT = re.compile(r"PCI-Express bandwidth available for this (?:card|device)")
_LINK_SPEED = re.compile(r"\b([0-9]{1,6}(?:\.[0-9])?) ?([MG])bps", re.IGNORECASE)
_DUPLEX = re.compile(r"\b(full|half)[ -]duplex|[MG]bps/(full|half)\b", re.IGNORECASE)
# axgbe: "- 10Gbps/Full - flow control off"; bnxt: "full duplex, FC - none - 10000 Mbps".
_FLOW_CONTROL = re.compile(r"(?:flow control:?|\bFC -) ([A-Za-z/& ]{1,20})", re.IGNORECASE)


def driver_version(description: str) -> str | None:
    """The driver's version in what it says of its device: "... Network Driver, Version - 2.5.15"."""
    return _first(_VERSION, description)


def firmware_version(text: str) -> str | None:
    return _first(_FIRMWARE, text)


def nvm_version(text: str) -> str | None:
    return _first((_NVM,), text)


def pcie_link(text: str) -> PcieLinkReport | None:
    """What the line says of the link of the card; None for a line of another matter."""
    if (match := _SPEED_AND_WIDTH.search(text)) is not None and (match[1] or match[2]):
        return PcieLinkReport(gts=speed_gts(match[1] or ""), width=int(match[2]) if match[2] else None)
    if (match := _WIDTH_AND_SPEED.search(text)) is not None:
        return PcieLinkReport(gts=speed_gts(match[2]), width=int(match[1]))
    if (match := _GENERATION.search(text)) is not None:
        return PcieLinkReport(gts=_GENERATIONS.get(match[1]), width=int(match[2]))
    return PcieLinkReport(limited=True) if _INSUFFICIENT.search(text) else None


def link_speed_mbps(text: str) -> int | None:
    match = _LINK_SPEED.search(text)
    return round(float(match[1]) * (1000 if match[2].upper() == "G" else 1)) if match else None


def link_duplex(text: str) -> Duplex | None:
    match = _DUPLEX.search(text)
    return Duplex((match[1] or match[2]).lower()) if match else None


def link_flow_control(text: str) -> str | None:
    match = _FLOW_CONTROL.search(text)
    return match[1].strip() if match else None


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> str | None:
    return next((match["v"] for pattern in patterns if (match := pattern.search(text)) is not None), None)
