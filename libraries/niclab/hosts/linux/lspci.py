"""Reader of ``lspci`` as people see it: plain, -v, -vv, -vvv, -n, -nn, -D, -k, -x.

Shapes: pciutils 2.1 (``Link: Supported Speed 2.5Gb/s``) to 3.14 (``(downgraded)`` without ``(ok)``), as in ``lspci.c``,
``ls-caps.c`` and ``ls-ecaps.c`` of pciutils. The bus tree (-t) and paths without buses (-P) are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from niclab.hosts.errors import unreadable
from niclab.hosts.linux import lspci_express as express
from niclab.hosts.linux.lspci_names import SLOT, SLOT_OF_A_DOMAIN, Heading, Names, read_heading, read_names
from niclab.hosts.linux.lspci_vpd import is_vpd_line, read_vpd
from niclab.hosts.linux.pci import with_domain
from niclab.hosts.pcie import is_degraded
from niclab.hosts.reading import dedented, unbroken
from niclab.hosts.records import PciDevice
from niclab.hosts.transcript import Transcript, command_words, transcript

KIND = "lspci"

_HEADER = re.compile(rf"({SLOT}) (\S.*)")
_FIELD = re.compile(r"\s+([A-Z][A-Za-z ]{1,30}):(?:\s+(.*)|)")
_CAPABILITY = re.compile(
    r"\s+Capabilities: (?:\[[0-9a-f]{2,3}(?: v[0-9]{1,2})?\]|(<access denied>|<available only to root>)) ?(.*)"
)
# pciutils before 3.3 forgot the line end after the label of a device.
_LABEL_AND_SUBSYSTEM = re.compile(r"(\s+DeviceName: .*?)\s+(Subsystem: .*)")
_HEX_DUMP = re.compile(r"[0-9a-f]{2,3}: [0-9a-f]{2}(?: [0-9a-f]{2})*\s*")
# Standard error may run into the line of the next device.
_NOISE = re.compile(rf"(?:lspci|pcilib): .*?({SLOT} [A-Z][^:]{{2,80}}: .*)?")
# How lines of a device begin where a forum or a terminal has lost their indentation.
_BARE = re.compile(
    r"(?:Subsystem|DeviceName|Control|Status|Flags|Latency|Interrupt|NUMA node|IOMMU group|Physical Slot|Bus|BridgeCtl"
    r"|Capabilities|Kernel driver in use|Kernel modules|Address|Masking|Vector table|PBA|Product Name"
    r"|I/O behind bridge|Memory behind bridge|Prefetchable memory behind bridge|Secondary status"
    r"|(?:Dev|Lnk|Slt|Root|AER|ACS|ARI|ATS|IOV)(?:Cap|Ctl|Sta)[23]?|UESta|UEMsk|UESvrt|CESta|CEMsk|HeaderLog"
    r"|Region [0-5]|\[[A-Z][A-Z0-9]\] [A-Z][a-z ]+):.*"
    r"|!!! Unknown header type 7f|(?:Memory|I/O ports|Expansion ROM) at .*|Read-only fields:|Read/write fields:|End"
)
# Deeper lines of a text that has lost all its indentation, where any line with flags is one too.
_BARE_DETAIL = re.compile(
    r"MaxPayload [0-9]{2,5} bytes, MaxReadReq [0-9]{2,5} bytes|(?:[A-Z][A-Za-z0-9_.]{1,40}=[0-9]{1,12}[mun]s ?){1,3}"
    r"|(?:AtomicOps(?:Cap|Ctl)|Transmit Margin|Compliance (?:Preset/)?De-emphasis|Max (?:no )?snoop latency|LaneErrStat"
    r"|(?:L1Sub|PTM|PASID|Dpc|ARI|PRI)(?:Cap|Ctl)[12]?|PTM(?:Control|EffectiveGranularity)|BAR [0-9]|Initial VFs"
    r"|VF offset|VF Migration|Supported Page Size|Caps|Arb|Ctrl|VC[0-9]|Root(?:Cap|Ctl|Sta|Cmd)|ErrorSrc|Changed)[: ].*"
)
_SLOT = re.compile(SLOT)
# With -PP the bridges above a device stand before it: "0001:00:1c.0/02:00.0"; all are of the domain of the first.
_PATH = re.compile(rf"^([0-9a-f]{{4,8}}:)?(?:{SLOT_OF_A_DOMAIN}/){{1,16}}(?={SLOT_OF_A_DOMAIN} )")
# Lines of names, in which no flags stand that a mail could break away.
_WHOLE = re.compile(r"\s*(?:Subsystem|DeviceName|Physical Slot|Kernel driver in use|Kernel modules):")
_SEPARATOR = "--"  # grep -A writes it between groups of lines
_MSIX = re.compile(r"MSI-X: Enable([+-]) (?:Count=([0-9]{1,4}) Masked[+-]|Mask[+-] TabSize=([0-9]{1,4}))")
_MSI = re.compile(r"(?:MSI|Message Signalled Interrupts): .*")
_MSI_ENABLED = re.compile(r"Enable([+-])")
_MSI_COUNT = re.compile(r"(?:Count|Queue)=[0-9]{1,2}/([0-9]{1,2})")
_SERIAL = re.compile(r"Device Serial Number ([0-9a-f]{2}(?:-[0-9a-f]{2}){7})")
_BUS = re.compile(r"primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2}), .*")
# An interrupt that nobody has routed is printed with the kernel's mark in its highest bit, as a number below zero.
_NOT_ROUTED = "-2147483648"
_IRQ = re.compile(rf"(?:.*, |pin [A-D?] routed to )?IRQ ([0-9]{{1,10}}|{_NOT_ROUTED})(?:,.*)?")
_SAYS_IRQ = re.compile(r"(?:.*, )?IRQ\b.*")
_CAPABILITIES = ("Express ", "MSI: ", "MSI-X: ", "Message Signalled Interrupts: ", "Vital Product Data ")


@dataclass
class _Block:
    """The lines of one device. ``bare``: they have lost their indentation."""

    number: int
    slot: str
    heading: Heading
    body: list[tuple[int, str]] = field(default_factory=list)
    bare: bool = False


def read_lspci(text: str) -> tuple[PciDevice, ...]:
    """Read ``lspci`` of one or many devices.

    No device at all is an error: lspci prints nothing and exits with 0 when the slot asked for is empty. So is a device
    that stands twice (two outputs in one text): nobody can tell which of the two was meant.
    """
    seen = transcript(text, "lspci")
    blocks: dict[str, _Block] = {}
    block = _block_of_command(seen)
    if block is not None:
        blocks[block.slot] = block
    lines = [(number, _PATH.sub(r"\1", line, count=1)) for number, line in dedented(seen.filled)]
    for number, line in unbroken(lines, _begins):
        noise = _NOISE.fullmatch(line)
        if noise is not None and noise[1] is None:
            continue
        match = _HEADER.fullmatch(noise[1] if noise else line)
        if match is not None:
            block = _started(blocks, number, match)
        elif line.strip() == _SEPARATOR and block is not None:
            block = None
        elif block is not None and (line[0] in " \t" or _HEX_DUMP.fullmatch(line)):
            block.body.append((number, line))
        elif block is not None and _BARE.fullmatch(line):
            block.bare = block.bare or not block.body
            block.body.append((number, f"\t{line}"))
        elif block is not None and block.bare and (express.has_flags(line) or _BARE_DETAIL.fullmatch(line)):
            block.body.append((number, f"\t\t\t{line}"))
        elif block is not None and block.body and express.is_wrapped(line) and not _WHOLE.match(block.body[-1][1]):
            first, start = block.body[-1]
            block.body[-1] = (first, f"{start} {line.strip()}")
        else:
            raise unreadable(KIND, f"line {number}", line, "a device such as '01:00.0 ...', or an indented line")
    if not blocks:
        raise unreadable(KIND, "text", text, "at least one device")
    return tuple(map(_device, blocks.values()))


def _block_of_command(seen: Transcript) -> _Block | None:
    """The device of ``lspci -s SLOT | grep Lnk``, whose own line the pipe has taken away."""
    words = command_words(seen.command)
    first = seen.filled[0][1] if seen.filled else ""
    if "|" not in (seen.command or "") or "-s" not in words[:-1] or not _FIELD.fullmatch(f"\t{first.strip()}"):
        return None
    slot = words[words.index("-s") + 1]
    nothing = Heading(None, None, Names(None, None, None), None)
    return _Block(seen.filled[0][0], with_domain(slot), nothing) if _SLOT.fullmatch(slot) else None


def _begins(line: str) -> bool:
    patterns = (_HEADER, _BARE, _BARE_DETAIL, _HEX_DUMP, _NOISE)
    return express.is_wrapped(line) or any(each.fullmatch(line) for each in patterns)


def _started(blocks: dict[str, _Block], number: int, match: re.Match[str]) -> _Block:
    slot, heading = with_domain(match[1]), read_heading(match[2])
    if heading is None:
        raise unreadable(KIND, f"line {number}", match[0], "'SLOT CLASS: NAME'")
    if slot in blocks:
        raise unreadable(
            KIND, f"line {number}", match[0], f"each device once, {match[1]} began at line {blocks[slot].number}"
        )
    return blocks.setdefault(slot, _Block(number, slot, heading))


def _device(block: _Block) -> PciDevice:
    heading = block.heading
    device = PciDevice(
        slot=block.slot,
        vendor_id=heading.names.vendor,
        device_id=heading.names.device,
        class_code=heading.class_code,
        revision=heading.revision,
        driver=heading.driver,
        dead=heading.revision == "ff",
        class_name=heading.class_name,
        name=heading.names.name,
    )
    device = _Reading(device).read(block.body)
    return replace(device, degraded=is_degraded(device))


class _Reading:
    """One pass over the lines of a device, with what one line must know of the lines before it."""

    def __init__(self, device: PciDevice) -> None:
        self._device = device
        self._seen: set[str] = set()
        self._flags: str | None = None  # the field whose flags may go on in the next line
        self._vpd: list[str] | None = None  # the lines of the Vital Product Data, while they last

    def read(self, body: list[tuple[int, str]]) -> PciDevice:
        for number, line in body:
            both = _LABEL_AND_SUBSYSTEM.fullmatch(line)
            for part in (both[1], f"\t{both[2]}") if both else (line,):
                self._line(number, part)
        self._end_vpd()
        return self._device

    def _line(self, number: int, line: str) -> None:
        if self._vpd is not None and is_vpd_line(line):
            self._vpd.append(line)
            return
        capability = _CAPABILITY.fullmatch(line)
        if capability is not None:
            self._end_vpd()
            self._flags = None
            self._capability(number, readable=capability[1] is None, text=capability[2].strip())
            return
        if "!!! Unknown header type 7f" in line:
            self._device = replace(self._device, dead=True)
            return
        match = _FIELD.fullmatch(line)
        if match is not None:
            self._field(number, line, match[1], (match[2] or "").strip())
        elif self._flags is not None and express.is_more(self._flags, line):
            self._device = express.more_flags(self._device, self._flags, line)
        else:
            self._flags = None
        self._device = express.payload(self._device, line)

    def _field(self, number: int, line: str, name: str, value: str) -> None:
        self._flags = None
        if name == "Status" and "Cap-" in value.split() and not self._device.dead:
            self._device = replace(self._device, capabilities_readable=True)
        if name in express.FLAG_FIELDS:
            if name not in self._seen:  # pciutils 3.0 prints the mask of corrected errors under the same name
                self._flags = name
                self._device = express.flags(self._device, number, name, value)
            self._seen.add(name)
            return
        if name == "Capabilities":
            raise unreadable(KIND, f"line {number}", line, "'Capabilities: [40] NAME' or <access denied>")
        reader = _FIELD_READERS.get(name)
        if reader is None:
            return
        if name in self._seen and name not in _REPEATED:
            raise unreadable(KIND, f"line {number}", line, f"{name} once per device")
        if not value and name not in _OFTEN_EMPTY:
            raise unreadable(KIND, f"line {number}", line, f"a value of {name}")
        self._seen.add(name)
        self._device = reader(self._device, number, value)

    def _capability(self, number: int, *, readable: bool, text: str) -> None:
        if not readable:
            self._device = replace(self._device, capabilities_readable=False)
            return
        if self._device.capabilities_readable is None and not self._device.dead:
            self._device = replace(self._device, capabilities_readable=True)
        if text.startswith("Vital Product Data"):
            self._vpd = []
        elif text.startswith("Subsystem: ") and self._device.subsystem_name is None and self._device.subvendor is None:
            self._device = _subsystem(self._device, number, text.removeprefix("Subsystem: "))
        elif any(name.startswith(text) for name in _CAPABILITIES if text):
            raise unreadable(KIND, f"line {number}", text, "the whole line of this capability")
        elif text.startswith("Express "):
            kind = express.port_type(text)
            if not express.is_port_type(kind):
                raise unreadable(KIND, f"line {number}", text, "a kind of port such as Endpoint")
            self._device = replace(self._device, port_type=kind)
        else:
            self._device = _interrupts(self._device, number, text)
            serial = _SERIAL.match(text)
            if serial is not None:
                self._device = replace(self._device, serial_number=serial[1])

    def _end_vpd(self) -> None:
        """Plain -v names the capability and shows nothing of it."""
        if self._vpd:
            self._device = replace(self._device, vpd=read_vpd(self._vpd))
        self._vpd = None


def _interrupts(device: PciDevice, number: int, text: str) -> PciDevice:
    """``MSI-X: Enable+ Count=64 Masked-`` and ``MSI: Enable- Count=1/4 Maskable+ 64bit+``, new and old shapes."""
    msix = _MSIX.match(text)
    if msix is not None:
        return replace(device, msix_enabled=msix[1] == "+", msix_count=int(msix[2] or msix[3]))
    if text.startswith("MSI-X: ") or ("=" in text and _MSI.fullmatch(text) and not _MSI_COUNT.search(text)):
        raise unreadable(KIND, f"line {number}", text, "'MSI-X: Enable+ Count=64 Masked-' or 'MSI: ... Count=1/4 ...'")
    if not _MSI.fullmatch(text):
        return device
    enabled, count = _MSI_ENABLED.search(text), _MSI_COUNT.search(text)
    old = text.startswith("Message ")  # pciutils 2 prints the two-to-the-power instead of the number
    messages = None if count is None else 2 ** int(count[1]) if old else int(count[1])
    return replace(device, msi_enabled=enabled[1] == "+" if enabled else None, msi_count=messages)


def _subsystem(device: PciDevice, number: int, value: str) -> PciDevice:
    names = read_names(value)
    if names is None:
        raise unreadable(KIND, f"line {number}", value, "a subsystem: its name, its ids, or both")
    return replace(device, subvendor=names.vendor, subdevice=names.device, subsystem_name=names.name)


def _driver(device: PciDevice, number: int, value: str) -> PciDevice:
    if not re.fullmatch(r"\S+", value):
        raise unreadable(KIND, f"line {number}", value, "the name of a driver")
    return replace(device, driver=value)


def _modules(device: PciDevice, _number: int, value: str) -> PciDevice:
    return replace(device, modules=tuple(value.replace(",", " ").split()))


def _physical_slot(device: PciDevice, _number: int, value: str) -> PciDevice:
    return replace(device, physical_slot=value or None)


def _label(device: PciDevice, _number: int, value: str) -> PciDevice:
    return replace(device, label=value or None)


def _bus(device: PciDevice, number: int, value: str) -> PciDevice:
    match = _BUS.fullmatch(value)
    if match is None:
        raise unreadable(KIND, f"line {number}", value, "Bus: 'primary=00, secondary=01, subordinate=01, ...'")
    return replace(device, secondary_bus=match[1], subordinate_bus=match[2])


def _interrupt(device: PciDevice, number: int, value: str) -> PciDevice:
    match = _IRQ.fullmatch(value)
    if match is None:
        raise unreadable(KIND, f"line {number}", value, "Interrupt: 'pin A routed to IRQ 16'")
    return device if match[1] == _NOT_ROUTED else replace(device, irq=int(match[1]))


def _flags(device: PciDevice, number: int, value: str) -> PciDevice:
    """Plain -v tells here what -vv tells on lines of their own; the capability of power management has flags too."""
    for part in value.split(", "):
        for name, reader in (("NUMA node", _numa_node), ("IOMMU group", _iommu_group)):
            if part.startswith(f"{name} "):
                device = reader(device, number, part.removeprefix(f"{name} "))
    return _interrupt(device, number, value) if _SAYS_IRQ.fullmatch(value) else device


def _numa_node(device: PciDevice, number: int, value: str) -> PciDevice:
    return replace(device, numa_node=_small(number, "NUMA node", value))


def _iommu_group(device: PciDevice, number: int, value: str) -> PciDevice:
    return replace(device, iommu_group=_small(number, "IOMMU group", value))


def _small(number: int, name: str, value: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,6}", value):
        raise unreadable(KIND, f"line {number}", value, f"{name}: a whole number")
    return int(value)


# LnkCap2, LnkSta2 and LnkCtl2 also hold speeds; the pattern of a field name has no digits, so they are never taken.
_FIELD_READERS: dict[str, Callable[[PciDevice, int, str], PciDevice]] = {
    "Subsystem": _subsystem,
    "DeviceName": _label,
    "Flags": _flags,
    "Interrupt": _interrupt,
    "Bus": _bus,
    "NUMA node": _numa_node,
    "IOMMU group": _iommu_group,
    "Link": express.link,
    "LnkCap": express.lnkcap,
    "LnkSta": express.lnksta,
    "Physical Slot": _physical_slot,
    "Kernel driver in use": _driver,
    "Kernel modules": _modules,
}
# Flags stand below other capabilities too; Link is the only name pciutils 2 has for all link lines.
_REPEATED = ("Flags", "Link")
_OFTEN_EMPTY = ("DeviceName", "Flags")
