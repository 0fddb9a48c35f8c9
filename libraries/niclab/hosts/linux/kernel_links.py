"""Links of network cards that come and go, in the words of each driver."""

from __future__ import annotations

import re

from niclab.core.names import Duplex
from niclab.hosts.kernel_records import KernelEvent, KernelEventKind
from niclab.hosts.linux.kernel_subject import DRIVERS, is_interface, read_subject
from niclab.hosts.records import KernelLine

_LINK = re.compile(
    r"(?:^|[ :\]])(?:NIC )?link (?:is )?(up|down)\b(?! events)|(?<=: )Media Link (On|Off)\b"  # Media: sis900
    r"|(?<=: )carrier (on|off)$|\bLink status is: ([01])$",  # r8152, ax88179
    re.IGNORECASE,
)
_UP = ("up", "on", "1")
# Without a name: "libphy: 0:02 - Link is Up - 1000/Full", "st_gmac a5014000.ethernet: Link is Down".
_NAMELESS = re.compile(
    r"(?:lib)?phy: \S{1,60} - link is "
    r"|([A-Za-z][A-Za-z0-9_-]{0,30}) [0-9a-f]{4,16}\.g?(?:eth|mac)[a-z0-9_@-]{0,40}: link "
    r"|Link is (?:Down$|Up - [0-9]{2,6}/(?:Full|Half))",
    re.IGNORECASE,
)
_LINK_CHANGE = re.compile(r"link change old ([0-9]{1,6}) new ([0-9]{1,6})$")  # atlantic: Mbit/s before and after
_SPEED = re.compile(r"\b([0-9]{1,6}(?:\.[0-9])?) ?([MG])b(?:ps|/s|it/s)", re.IGNORECASE)
_MEGABITS = re.compile(r"(?:- |\()([0-9]{2,6})/(?:full|half)\b", re.IGNORECASE)  # phylib before 4.8, macb
_DUPLEX = re.compile(r"[ /(](full|half)(?:[ -]duplex\b|$|[ ,)-])", re.IGNORECASE)
_FLOW_CONTROL = re.compile(r"flow control:? ([^,()]{1,40})", re.IGNORECASE)
_PAUSE = re.compile(r"([TR]x(?:/[TR]x)?|no) PAUSE")  # cxgb4
_IN_PARENTHESES = re.compile(r"\([^()]{0,80}\)")
# Links of other buses, and messages of layers above the card.
_OTHER_LINKS = re.compile(
    r"ata[0-9]|SATA|lpfc|qla[0-9]|pciehp|pcieport|scsi|\[drm|usb|tipc|can[0-9]|SLIP|rport", re.IGNORECASE
)
_PCIE_LINK = re.compile(r"\bPCIe(?: Gen\.?[ ]?[0-9])?(?: x[0-9]{1,2})? link|\bpcie? [0-9a-f]+\.pcie?: ", re.IGNORECASE)
# Words between the interface and "Link is": media, ports, and function names of old Intel drivers.
_NOT_AN_INTERFACE = re.compile(
    r"NIC|Copper|SerDes|Fiber|Fibre|Remote|Optical|Logical|GbE|port|PHY|MAC|Ethernet|[0-9/]+BaseT|[a-z0-9]+(?:_[a-z]+)*"
    r"_(?:task|watchdog)",
    re.IGNORECASE,
)


def link_event(line: KernelLine, text: str) -> KernelEvent | None:
    """``text``: the line's own text, of bounded length."""
    change = _LINK_CHANGE.search(text)
    link = _LINK.search(text)
    if (link is None and change is None) or _OTHER_LINKS.match(text) or _PCIE_LINK.search(text):
        return None
    subject = read_subject(text)
    if link is None:
        assert change is not None
        mbps = int(change[2])
        kind = KernelEventKind.LINK_UP if mbps else KernelEventKind.LINK_DOWN
        return (
            KernelEvent(kind, line, subject.iface, subject.address, subject.driver, speed_mbps=mbps or None)
            if subject.iface
            else None
        )
    up = next(word for word in link.groups() if word).lower() in _UP
    after = text[link.end() :]
    nameless = _NAMELESS.match(text)
    iface = subject.iface
    if iface is None and nameless is None:
        iface = _last_name(_IN_PARENTHESES.sub(" ", text[: link.start() + 1]), subject.driver)
    if iface is None and subject.driver not in DRIVERS and nameless is None:
        return None
    flow = _FLOW_CONTROL.search(after) or _PAUSE.search(after)
    return KernelEvent(
        kind=KernelEventKind.LINK_UP if up else KernelEventKind.LINK_DOWN,
        line=line,
        iface=iface,
        address=subject.address,
        driver=subject.driver or (nameless[1] if nameless else None),
        speed_mbps=_speed_mbps(after) if up else None,
        duplex=_duplex(after) if up else None,
        flow_control=flow[1].strip() if flow and up else None,
    )


def _last_name(text: str, driver: str | None) -> str | None:
    """The last word before "link is up": the interface, after driver and PCI address."""
    for word in reversed(re.split(r"[ :]+", text.strip(" :]"))):
        if word != driver and is_interface(word) and not _NOT_AN_INTERFACE.fullmatch(word):
            return word
    return None


def _speed_mbps(text: str) -> int | None:
    match = _SPEED.search(text)
    if match is None:
        megabits = _MEGABITS.search(text)
        return int(megabits[1]) if megabits else None
    return round(float(match[1]) * (1000 if match[2].upper() == "G" else 1))


def _duplex(text: str) -> Duplex | None:
    match = _DUPLEX.search(text)
    return Duplex(match[1].lower()) if match else None
