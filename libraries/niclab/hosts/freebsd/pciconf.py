"""Reader of FreeBSD's ``pciconf -l`` with -v, -b, -c, -e and -V, releases 6 to 14."""

from __future__ import annotations

import re
from dataclasses import replace

from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.fields import with_fields
from niclab.hosts.freebsd.pcicaps import with_capabilities
from niclab.hosts.freebsd.pciconf_records import Bar, Capability, PciconfDevice, PciconfDevices
from niclab.hosts.pci_records import Vpd
from niclab.hosts.pcie import is_degraded
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "pciconf"
_TOOLS = ("pciconf",)

# "pci0:4:0:0" has a domain since release 7; before it was "pci4:0:0". The numbers are decimal.
_SELECTOR = re.compile(r"([a-z][A-Za-z0-9_]*?)([0-9]{1,4})@(pci[0-9]{1,5}(?::[0-9]{1,3}){2,3}):\s*(\S.*)")
_WORD = re.compile(r"(class|card|chip|rev|hdr|vendor|device|subvendor|subdevice)=0x([0-9a-f]{1,8})")
_NAME = re.compile(r"(vendor|device|class|subclass)\s*= ?(.*)")
_CAPABILITY = re.compile(r"(?:(cap) ([0-9a-f]{2})\[([0-9a-f]{2})\]|(ecap) ([0-9a-f]{4})\[([0-9a-f]{3})\]) = (.*)")
# The beginning of something that cannot be read, which is not the rest of the capability above it.
_NO_REST = re.compile(r"e?cap\b.*|bar\b.*|e|ec|eca|c|ca|[a-z][A-Za-z0-9_]*@.*|.*@pci[0-9].*")
_REST_WORD = re.compile(
    r"x?[0-9.]{1,5}\(x?[0-9.]{1,5}\)|[0-9]{1,5}|(?:L0s|L1|disabled)\S{0,12}|D[0-3],?"
    r"|0x[0-9a-f]{1,4}(?:\[0x[0-9a-f]{1,6}\])?,?|link|speed|max|data|read|ASPM|ClockPM|NS|RO|FLR|NFEC|slot|power|limit|mW|ARI|enabled|with|messages?,?|in|maps?"
    r"|Table|PBA|64|bit,?|vector|masks?|supports|current|fatal|non-fatal|corrected|unavailable,?"
)
# By the first byte of the class code (usr.sbin/pciconf/pciconf.c).
_CLASSES = (
    *("old", "mass storage", "network", "display", "multimedia", "memory", "bridge", "simple comms"),
    *("base peripheral", "input device", "docking station", "processor", "serial bus", "wireless"),
    *("intelligent I/O", "satellite comms", "encrypt/decrypt", "dasp", "accelerator", "instrumentation"),
)
_BAR = re.compile(
    r"(?:iov )?bar\s+\[([0-9a-f]{2,3})\] = type ([A-Za-z/ ]+), range\s+(-?[0-9]{1,2}), base (?:0x)?([0-9a-f]{1,16}),"
    r" size\s*([0-9]{1,20}), (enabled|disabled)"
)
_ERRORS = re.compile(r"(PCI errors|PCI-e errors|Corrected|Fatal|Non-fatal) = (.*)")
# Which register the words of -e are of; "PCI errors" are of the old status register.
_ERRORS_OF = {"PCI-e errors": "devsta", "Corrected": "cesta", "Fatal": "uesta", "Non-fatal": "uesta"}
_VPD = re.compile(r"VPD (?:ident|r[ow] ([!-~]{2}))\s*= (.*)")
# Windows of bridges (-B): not looked into.
_MORE = re.compile(r"window\[[0-9a-f]{2}\] = .*|bus range\s*= .*")
_QUOTED = re.compile(r"'(.*)'|\"(.*)\"")
_OLD_WORDS = ("class", "card", "chip", "rev", "hdr")
_NEW_WORDS = ("class", "rev", "hdr", "vendor", "device", "subvendor", "subdevice")

_Line = tuple[int, str]


def read_pciconf(text: str) -> PciconfDevices:
    """Read ``pciconf -l``. No device at all is an error."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    blocks: list[list[_Line]] = []
    for number, line in found.filled:
        if _SELECTOR.fullmatch(line.strip()):
            blocks.append([(number, line)])
        elif line.strip() == "--" and blocks:
            continue
        elif blocks and not line.startswith("pciconf: "):
            blocks[-1].append((number, line))
        else:
            raise refuse_error(_KIND, found.filled, _TOOLS, "a device such as 'oce0@pci0:4:0:0: class=0x020000 ...'")
    if not blocks:
        raise refuse_error(_KIND, found.filled, _TOOLS, "a device such as 'oce0@pci0:4:0:0: class=0x020000 ...'")
    devices = tuple(_device(block) for block in blocks)
    slots: set[str] = set()
    for device, block in zip(devices, blocks, strict=True):
        if device.slot in slots:
            raise unreadable(_KIND, f"line {block[0][0]}", block[0][1], f"{device.slot} once")
        slots.add(device.slot)
    return PciconfDevices(devices)


def _device(block: list[_Line]) -> PciconfDevice:
    device = _header(block[0][0], block[0][1].strip())
    capabilities: list[Capability] = []
    kind, outer, register = "header", _outer(block), ""
    for number, line in ((number, line.strip()) for number, line in block[1:]):
        where = f"line {number}"
        if _is_of_another(line, kind):
            raise unreadable(_KIND, where, line, "the line of its device, 'oce0@pci0:4:0:0: ...', before it")
        if (match := _NAME.fullmatch(line)) is not None:
            device, kind = _with_name(device, where, line, match), "name"
        elif (match := _CAPABILITY.fullmatch(line)) is not None:
            _add_capability(capabilities, where, line, match)
            kind = "capability"
        elif line.startswith(("bar ", "iov bar ")):
            device, kind = _with_bar(device, where, line), "bar"
        elif (match := _ERRORS.fullmatch(line)) is not None:
            kind, register = "errors", match[1]
            device = _with_error(device, register, match[2].strip())
        elif (match := _VPD.fullmatch(line)) is not None:
            device, kind = _with_vpd(device, where, line, match), "more"
        elif _MORE.fullmatch(line):
            kind = "more"
        elif kind in ("capability", "errors") and number in outer and not _is_rest(line):
            raise unreadable(_KIND, where, line, "a line of pciconf, set in like the others of its device")
        elif kind == "capability" and not _NO_REST.fullmatch(line):
            capabilities[-1] = replace(capabilities[-1], text=f"{capabilities[-1].text} {line}")
        elif kind == "errors":
            device = _with_error(device, register, line)
        else:
            raise unreadable(_KIND, where, line, "a line of pciconf -l, -v, -b, -c or -e")
    device = with_capabilities(_KIND, device, tuple(capabilities))
    return replace(device, degraded=is_degraded(device))


def _outer(block: list[_Line]) -> frozenset[int]:
    """The numbers of lines that are not set in further than capabilities, in a device whose lines are set in at all."""
    margins = {number: len(line.expandtabs()) - len(line.expandtabs().lstrip()) for number, line in block}
    own = margins.pop(block[0][0])
    inner = any(margin > own for margin in margins.values())
    capabilities = [margins[number] for number, line in block[1:] if _CAPABILITY.fullmatch(line.strip())]
    edge = min((margin for margin in capabilities if margin > own), default=own)
    return frozenset(number for number, margin in margins.items() if inner and margin <= edge)


def _is_rest(line: str) -> bool:
    """Whether a mail or a page has put these words of a capability on a line of their own."""
    return all(_REST_WORD.fullmatch(word) for word in line.split())


def _is_of_another(line: str, kind: str) -> bool:
    """Whether the line stands below what comes after it in each device: names, addresses, capabilities, errors."""
    if _NAME.fullmatch(line):
        return kind not in ("header", "name")
    return line.startswith("bar ") and kind in ("capability", "errors")


def _add_capability(known: list[Capability], where: str, line: str, match: re.Match[str]) -> None:
    extended = match[4] is not None
    found = Capability(match[5] or match[2], match[6] or match[3], extended, match[7].strip())
    if any((other.offset, other.extended) == (found.offset, extended) for other in known):
        raise unreadable(_KIND, where, line, f"one capability at {found.offset}")
    known.append(found)


def _with_bar(device: PciconfDevice, where: str, line: str) -> PciconfDevice:
    bar = _bar(where, line)
    if not line.startswith("iov ") and any(bar.register == other.register for other in device.bars):
        raise unreadable(_KIND, where, line, f"one address at {bar.register}")
    return replace(device, bars=(*device.bars, bar))


def _with_error(device: PciconfDevice, register: str, words: str) -> PciconfDevice:
    device = replace(device, errors=(*device.errors, words))
    name = _ERRORS_OF.get(register)
    return device if name is None else with_fields(device, {name: (*(getattr(device, name) or ()), words)})


def _with_vpd(device: PciconfDevice, where: str, line: str, match: re.Match[str]) -> PciconfDevice:
    """With one item of ``-V``. The kernel gives the data only when it has read them to their end."""
    known, quoted = device.vpd or Vpd(complete=True), _QUOTED.fullmatch(match[2].strip())
    text = ((quoted[1] or quoted[2] or "") if quoted else match[2]).strip() or None
    if match[1] is None:
        return replace(device, vpd=replace(known, product_name=text))
    if match[1] in known.items:
        raise unreadable(_KIND, where, line, f"{match[1]} once")
    names = {"PN": "part_number", "SN": "serial_number", "EC": "engineering_changes"}
    vpd = replace(known, items={**known.items, match[1]: text})
    return replace(device, vpd=with_fields(vpd, {names[match[1]]: text}) if match[1] in names else vpd)


def _header(number: int, line: str) -> PciconfDevice:
    where = f"line {number}"
    selector = _SELECTOR.fullmatch(line)
    assert selector is not None
    words = _words(where, line, selector[4])
    if "chip" in words:
        vendor, device = words["chip"][4:], words["chip"][:4]
        subvendor, subdevice = words["card"][4:], words["card"][:4]
    else:
        vendor, device = words["vendor"], words["device"]
        subvendor, subdevice = words["subvendor"], words["subdevice"]
    return PciconfDevice(
        slot=slot_of(_KIND, where, selector[3]),
        selector=f"{selector[1]}{selector[2]}@{selector[3]}",
        driver=None if selector[1] == "none" else selector[1],
        unit=int(selector[2]),
        vendor_id=vendor,
        device_id=device,
        subvendor=subvendor,
        subdevice=subdevice,
        class_code=words["class"][:4],
        programming_interface=words["class"][4:],
        revision=words["rev"],
        header_type=words["hdr"],
        dead=(vendor, device) == ("ffff", "ffff"),
    )


def _words(where: str, line: str, text: str) -> dict[str, str]:
    """The words after the selector, each once and complete, in one of the two layouts; without 0x, at full length."""
    lengths = {"class": 6, "card": 8, "chip": 8, "rev": 2, "hdr": 2}
    words: dict[str, str] = {}
    for word in text.split():
        match = _WORD.fullmatch(word)
        if match is None or match[1] in words or len(match[2]) != lengths.get(match[1], 4):
            raise unreadable(_KIND, where, line, "words such as class=0x020000 vendor=0x19a2, each once")
        words[match[1]] = match[2]
    for layout in (_OLD_WORDS, _NEW_WORDS):
        if set(words) == set(layout):
            return words
    raise unreadable(_KIND, where, line, f"the words {', '.join(_OLD_WORDS)}, or {', '.join(_NEW_WORDS)}")


def slot_of(kind: str, where: str, selector: str) -> str:
    """``pci0:4:0:0`` -> ``0000:04:00.0``."""
    numbers = [int(part) for part in selector.removeprefix("pci").split(":")]
    domain, bus, device, function = numbers if len(numbers) == 4 else [0, *numbers]
    if bus > 255 or device > 31 or function > (7 if device else 255):
        raise unreadable(kind, where, selector, "bus up to 255, device up to 31, function up to 7")
    # Virtual functions of device 0 count on (alternative routing-ID): function 41 is what others call 05.1.
    return f"{domain:04x}:{bus:02x}:{device + function // 8:02x}.{function % 8}"


def _with_name(device: PciconfDevice, where: str, line: str, match: re.Match[str]) -> PciconfDevice:
    attribute = {"class": "class_name", "subclass": "subclass_name"}.get(match[1], match[1])
    if getattr(device, attribute) is not None:
        raise unreadable(_KIND, where, line, f"{match[1]} once per device")
    text = match[2].strip()
    quoted = _QUOTED.fullmatch(text)
    if quoted is None and (attribute in ("vendor", "device") or not text):
        raise unreadable(_KIND, where, line, f"{match[1]} = 'NAME'")
    code = int((device.class_code or "ff")[:2], 16)
    if match[1] == "class" and code < len(_CLASSES) and text != _CLASSES[code]:
        raise unreadable(_KIND, where, line, f"{_CLASSES[code]}, the class of {device.selector}")
    return with_fields(device, {attribute: (quoted[1] or quoted[2] or "").strip() if quoted else text})


def _bar(where: str, line: str) -> Bar:
    match = _BAR.fullmatch(line)
    if match is None:
        raise unreadable(_KIND, where, line, "'bar [10] = type Memory, range 64, base 0xfb000000, size 4096, enabled'")
    return Bar(
        register=match[1],
        type=match[2],
        range_bits=int(match[3]),
        base=f"0x{match[4]}",
        size_bytes=int(match[5]),
        enabled=match[6] == "enabled",
    )
