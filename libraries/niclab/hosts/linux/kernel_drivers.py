"""What drivers of network cards say of themselves and their card when they load: versions, firmware, PCIe link."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.kernel_records import KernelEvent, KernelEventKind, PcieLinkReport
from niclab.hosts.linux.kernel_events import SEARCHED_CHARACTERS
from niclab.hosts.linux.kernel_subject import DRIVERS, Subject, read_subject
from niclab.hosts.pcie import WIDTHS, speed_gts
from niclab.hosts.records import KernelLine

_VERSION = r"v?([0-9][A-Za-z0-9._+~-]*)"

# Each with the groups driver and version; a driver that is not printed is next to the pattern.
_BANNERS: tuple[tuple[re.Pattern[str], str | None], ...] = tuple(
    (re.compile(pattern), driver)
    for pattern, driver in (
        (rf"(?P<d>[a-z0-9_]+): Intel\(R\) .*Driver(?:,| -)(?: version)? (?P<v>{_VERSION})", None),
        (r"(?P<d>[a-z0-9_]+): Intel\(R\) .*Network (?:Linux )?Driver$", None),
        (
            rf"Intel\(R\) (?:10 ?Gigabit|10GbE) PCI Express (?:Linux )?Network Driver - version (?P<v>{_VERSION})",
            "ixgbe",
        ),
        (rf"Intel\(R\) Gigabit Ethernet (?:Linux )?Network Driver - version (?P<v>{_VERSION})", "igb"),
        (rf"Intel\(R\) PRO/1000 Network Driver - version (?P<v>{_VERSION})", "e1000"),
        (rf"Intel\(R\) PRO/100 Network Driver,? (?P<v>{_VERSION})", "e100"),
        (
            rf".*\b(?:Broadcom|QLogic|Cavium|Marvell)\b.* [Dd]river (?P<d>bnx[a-z0-9_]+|cnic|tg3) (?P<v>{_VERSION})",
            None,
        ),
        (rf".*QLogic FastLinQ \S+ (?:Ethernet Driver|Core Module) (?P<d>qede?) (?P<v>{_VERSION})", None),
        (rf"(?P<d>[a-z0-9_]+) [0-9a-f:.]{{7,16}}: (?P=d) version is (?P<v>{_VERSION})", None),
        (rf"(?:cxgb3: )?Chelsio T3 Network Driver - version (?P<v>{_VERSION})", "cxgb3"),
        (rf"(?:cxgb4vf: )?Chelsio T4\S* Virtual Function \(VF\) Network Driver - version (?P<v>{_VERSION})", "cxgb4vf"),
        (rf"(?:cxgb4: )?Chelsio T[4-6]\S* Network Driver - version (?P<v>{_VERSION})", "cxgb4"),
        (rf"(?:sfc: )?Solarflare NET driver (?P<v>{_VERSION})", "sfc"),
        (r"(?:sfc: )?Solarflare NET driver$", "sfc"),
        (rf"(?:[a-z0-9_]+: )?(?P<d>[a-z0-9_]+)\.c: ?(?P<v>{_VERSION})", None),
        (rf"(?P<d>mlx[45]_[a-z]+): Mellanox .*[Dd]river (?P<v>{_VERSION})", None),
        (rf"(?P<d>mlx[45]_[a-z]+): .*[Dd]river v(?P<v>{_VERSION})", None),
        (
            rf"(?P<d>[a-z0-9_]+): (?! ).*(?:Ethernet|Network|NIC|ENA).*?(?:[Dd]river)?[, -]*"
            rf"(?:[Vv]ersion|ver\.?|v)[: ]*(?P<v>[0-9]{{1,4}}\.{_VERSION})",
            None,
        ),
        (rf"(?P<d>forcedeth): Reverse Engineered nForce ethernet driver\. Version (?P<v>{_VERSION})", None),
        (r"(?P<d>hns3|ionic): .*(?:Network Driver for .* - version|NIC Driver)$", None),
        (rf"(?P<d>sky2|skge|vxge): (?:[Dd]river )?version:? (?P<v>{_VERSION})", None),
        (rf"(?P<d>r8169|r8168|r8125|8139too|8139cp):? .*Ethernet (?:controller )?driver (?P<v>{_VERSION})", None),
        (rf"VMware vmxnet3 virtual NIC driver - version (?P<v>{_VERSION})", "vmxnet3"),
    )
)

_FIRMWARE = re.compile(
    r"\b(?:fw|firmware)(?: version)?(?: is|:)? (?P<v>v?[0-9][A-Za-z0-9_]*\.[A-Za-z0-9._-]+)", re.IGNORECASE
)
_NVM = re.compile(r"\bnvm ([0-9][0-9.]*(?: (?:build )?0x[0-9a-f]{1,8})?(?: [0-9]+\.[0-9]+\.[0-9]+)?)")
_MANAGEMENT_FIRMWARE = re.compile(
    r"(?P<d>qede?) (?P<b>[0-9a-f:.]{5,16}): Storm FW [0-9.]+, Management FW (?P<v>[0-9.]+)"
    r"(?: \[MBI [0-9.]+\])?(?: \[(?P<i>\S+)\])?"
)
_TIGON = re.compile(r"Tigon I{1,2} \(Rev\. [0-9]+\), Firmware: (?P<v>[0-9.]+[0-9])")
# Cards as drivers greet them that print no version of their own.
_CARD = re.compile(
    r"Emulex OneConnect|OneConnect 10Gb NIC|\bChelsio T[3-6][0-9A-Z]+-|Solarflare NIC detected|Tigon3 \[partno"
    r"|(?:Broadcom|QLogic) .{1,80} found at mem|(?:AceNIC|3C985|GA620T?) Gigabit Ethernet at "
    r"|Intel\(R\) .{1,60} (?:Network Connection|Ethernet Controller)$"
)
_RENAMED = re.compile(
    r"([A-Za-z0-9_.@-]{1,15}): renamed from \S{1,15}"
    r"|^udev: renamed network interface \S{1,15} to ([A-Za-z0-9_.@-]{1,15})$"
)

_GTS = r"([0-9]{1,2}(?:\.[0-9])?) ?(?:GT/s|G[Bb]/s|GHz)(?: PCIe)?"
_ADDRESS = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_TRAINED = rf"(?:{_GTS}|Unknown(?: speed)?) x([0-9]{{1,3}})"  # "Unknown x0": the link did not come up
_LIMITED = re.compile(
    rf"([0-9.]{{1,9}}) Gb/s available PCIe bandwidth, limited by {_TRAINED} link at ({_ADDRESS})"
    rf" \(capable of ([0-9.]{{1,9}}) Gb/s with {_TRAINED} link\)"
)
_UNLIMITED = re.compile(rf"([0-9.]{{1,9}}) Gb/s available PCIe bandwidth \({_GTS} x([0-9]{{1,2}}) link\)")
_OLD_BANDWIDTH = re.compile(r"PCI Express bandwidth of ([0-9]{1,4})GT/s available")
_INSUFFICIENT = re.compile(r"PCI-Express bandwidth available for this (?:card|device) (?:is not |may be in)sufficient")
_SPEED_AND_WIDTH = (
    re.compile(rf"\(Speed: ?{_GTS}, Width: ?x([0-9]{{1,2}}), Encoding Loss:"),
    re.compile(rf"\(PCI ?-?E(?:xpress)?: ?{_GTS}: ?Width x([0-9]{{1,2}})\)"),
    re.compile(rf"\(PCIe: ?{_GTS}: ?Width x([0-9]{{1,2}})\)"),
    re.compile(rf"PCI-?[Ee](?:xpress)?: Speed {_GTS},? Width x([0-9]{{1,2}})"),
)
_WIDTH_AND_SPEED = re.compile(rf"PCI-E x([0-9]{{1,2}}) {_GTS}")
_MLX4_SPEED = re.compile(rf"PCIe link speed is {_GTS}, device supports {_GTS}")
_MLX4_WIDTH = re.compile(r"PCIe link width is x([0-9]{1,2}), device supports x([0-9]{1,2})")

_Kind = KernelEventKind


def driver_event(line: KernelLine) -> KernelEvent | None:
    """What this line tells of a driver or its card; None when it is none of such lines."""
    text = line.text[:SEARCHED_CHARACTERS].strip()
    if "river" not in text and not _SIGNS.search(text):
        return None
    readers = (_banner, _pcie, _firmware, _renamed, _card)
    return next((event for event in (reader(line, text) for reader in readers) if event is not None), None)


# A quick look that spares most lines the patterns above.
_SIGNS = re.compile(
    r"\.c: ?v|ersion|[Ff]irmware|\b[Ff][Ww][ :]|PCI|v[0-9]|renamed|GT/s|FastLinQ|OneConnect|Chelsio|Solarflare"
    r"|Tigon3|found at|AceNIC|3C985|GA620|Intel\(R\)"
)


def _banner(line: KernelLine, text: str) -> KernelEvent | None:
    for pattern, known in _BANNERS:
        match = pattern.match(text)
        if match is None:
            continue
        groups = match.groupdict()
        driver, version = known or groups.get("d"), groups.get("v")
        if driver is None:
            continue
        return KernelEvent(
            _Kind.DRIVER_LOADED, line, address=read_subject(text).address, driver=driver, version=_bare(version)
        )
    return None


def _bare(version: str | None) -> str | None:
    """Without the letter that means "version", and without the dot of the sentence."""
    return None if version is None else version.removeprefix("v").rstrip(".")


def _firmware(line: KernelLine, text: str) -> KernelEvent | None:
    management = _MANAGEMENT_FIRMWARE.match(text)
    if management is not None:
        event = KernelEvent(_Kind.FIRMWARE_VERSION, line, iface=management["i"], driver=management["d"])
        # "02:00.00": these drivers leave the domain out and write the function in two digits.
        address = management["b"] if re.fullmatch(_ADDRESS, management["b"]) else None
        return replace(event, firmware=management["v"], address=address)
    tigon = _TIGON.search(text)
    if tigon is not None:
        return KernelEvent(_Kind.FIRMWARE_VERSION, line, driver="acenic", firmware=tigon["v"])
    subject = read_subject(text)
    match = _FIRMWARE.search(subject.rest)
    if match is None or (subject.address is None and subject.driver is None):
        return None
    nvm = _NVM.search(subject.rest)
    event = _about(subject, KernelEvent(_Kind.FIRMWARE_VERSION, line, firmware=match["v"].rstrip(".")))
    return replace(event, nvm=nvm[1] if nvm else None)


def _pcie(line: KernelLine, text: str) -> KernelEvent | None:
    report = _pcie_report(text)
    if report is None:
        return None
    return _about(read_subject(text), KernelEvent(_Kind.PCIE_LINK, line, pcie=report))


def _pcie_report(text: str) -> PcieLinkReport | None:
    limited = _LIMITED.search(text)
    if limited is not None:
        return PcieLinkReport(
            gts=speed_gts(limited[2] or ""),
            width=_lanes(limited[3]),
            available_gbps=float(limited[1]),
            limited=True,
            limited_by=limited[4],
            capable_gts=speed_gts(limited[6] or ""),
            capable_width=_lanes(limited[7]),
            capable_gbps=float(limited[5]),
        )
    free = _UNLIMITED.search(text)
    if free is not None:
        return PcieLinkReport(speed_gts(free[2]), int(free[3]), available_gbps=float(free[1]), limited=False)
    return _older_report(text)


def _lanes(text: str) -> int | None:
    return int(text) if int(text) in WIDTHS else None


def _older_report(text: str) -> PcieLinkReport | None:
    """Before pcie_print_link_status (Linux 4.17) each driver had its own words."""
    bandwidth = _OLD_BANDWIDTH.search(text)
    if bandwidth is not None:
        return PcieLinkReport(available_gbps=float(bandwidth[1]))
    if _INSUFFICIENT.search(text):
        return PcieLinkReport(limited=True)
    for pattern in _SPEED_AND_WIDTH:
        match = pattern.search(text)
        if match is not None:
            return PcieLinkReport(gts=speed_gts(match[1]), width=int(match[2]))
    reverse = _WIDTH_AND_SPEED.search(text)
    if reverse is not None:
        return PcieLinkReport(gts=speed_gts(reverse[2]), width=int(reverse[1]))
    speed, width = _MLX4_SPEED.search(text), _MLX4_WIDTH.search(text)
    if speed is not None:
        now, can = speed_gts(speed[1]), speed_gts(speed[2])
        return PcieLinkReport(gts=now, capable_gts=can)
    if width is not None:
        return PcieLinkReport(width=int(width[1]), capable_width=int(width[2]))
    return None


def _renamed(line: KernelLine, text: str) -> KernelEvent | None:
    match = _RENAMED.search(text)
    if match is None:
        return None
    subject = read_subject(text)
    return KernelEvent(_Kind.RENAMED, line, match[1] or match[2], subject.address, subject.driver)


def _card(line: KernelLine, text: str) -> KernelEvent | None:
    if not _CARD.search(text):
        return None
    return _about(read_subject(text), KernelEvent(_Kind.CARD_FOUND, line))


def _about(subject: Subject, event: KernelEvent) -> KernelEvent:
    driver = subject.driver if subject.driver in DRIVERS or subject.address else None
    return replace(event, driver=driver, address=subject.address, iface=subject.iface)
