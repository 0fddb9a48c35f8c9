"""Reader of FreeBSD's kernel log, ``sysctl -n kern.msgbuf``: what the kernel's own lines tell of devices and links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from niclab.core.names import Duplex
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.kernel_lines import kernel_lines
from niclab.hosts.freebsd.kernel_values import (
    driver_version,
    firmware_version,
    link_duplex,
    link_flow_control,
    link_speed_mbps,
    nvm_version,
    pcie_link,
)
from niclab.hosts.kernel_records import PcieLinkReport
from niclab.hosts.records import KernelLine

_KIND = "dmesg"

# The kernel cuts its lines at 1 kB or less; looking no further keeps the search linear in the size of the log.
_SEARCHED_CHARACTERS = 1024

_DEVICE = r"([a-z][a-z0-9_]*?)([0-9]{1,5})"
_IFACE = r"([A-Za-z][A-Za-z0-9_.]{0,20})"
_PROBE = re.compile(
    rf"{_DEVICE}: <(.+)>(?: ((?!at |on |numa-domain ).*?))?(?: at ([^ ]+(?: [^ ]+)?))?(?: numa-domain [0-9]+)?"
    r" on ([a-z][a-z0-9_]*[0-9]+)"
)
_UNATTACHED = re.compile(r"([a-z][a-z0-9_]*[0-9]+): <(.+)>.* at (\S+ \S+) .*\(no driver attached\)")
_RESOURCES = re.compile(r"\b(port|mem|iomem) (\S+)")
_IRQ = re.compile(r"\birq ([0-9,]{1,40})")
_ETHERNET = re.compile(rf"{_DEVICE}: Ethernet address: ([0-9a-f]{{2}}(?::[0-9a-f]{{2}}){{5}})", re.IGNORECASE)
_NAMED = re.compile(rf"{_IFACE}: ")
_NAMED_DEVICE = re.compile(rf"{_DEVICE}: ")
# What tells a kernel log of FreeBSD from any other text.
_KERNEL_LINE = re.compile(
    rf"(?!irq[0-9]|iperf3: ){_DEVICE}: (?!flags=)\S|.*The FreeBSD Project"
    r"|FreeBSD [0-9]+\.[0-9][^ ]*(?: [^(]|$)|---<<BOOT>>---"
    r"|Trying to mount root|KDB: |db> "
)
_FOREIGN = re.compile(r"Linux version [0-9]")


class BsdEventKind(StrEnum):
    LINK_UP = "link up"
    LINK_DOWN = "link down"
    PANIC = "panic"
    TRAP = "trap"
    DEBUGGER = "debugger"
    CALL_TRACE = "call trace"
    TRANSMIT_TIMEOUT = "transmit timeout"
    FIRMWARE_LOAD_FAILED = "firmware load failed"
    FIRMWARE = "firmware"
    PCIE_LINK = "PCIe link"
    ATTACH_FAILED = "attach failed"
    DETACHED = "detached"
    MACHINE_CHECK = "machine check"
    INTERRUPT_STORM = "interrupt storm"
    HANG = "hang"
    LACP_FLAPPING = "LACP flapping"
    MODULE_LOAD_FAILED = "module load failed"
    OUT_OF_MEMORY = "out of memory"


_Kind = BsdEventKind
_WORDS: tuple[tuple[BsdEventKind, str], ...] = (
    (_Kind.TRAP, r"Fatal trap [0-9]+: |Fatal double fault|kernel trap [0-9]+ with interrupts disabled"),
    # A log of the next boot tells of the last panic; that is not one of this boot.
    (_Kind.PANIC, r"(?:^|[>#$%:] ?)panic: \S|^panic$"),
    (_Kind.DEBUGGER, r"KDB: enter: |^\[ thread pid |^Stopped at |^db> ?"),
    (_Kind.CALL_TRACE, r"KDB: stack backtrace"),
    (
        _Kind.TRANSMIT_TIMEOUT,
        r"(?i:watchdog timeout|watchdog event|tx(?:queue)? timeout(?! count)|appears to be hung|tx hang)",
    ),
    (
        _Kind.FIRMWARE_LOAD_FAILED,
        r"(?i:(?:could not|couldn't|can't|cannot|failed to|unable to)"
        r" (?:load|find|get|open|read|flash) (?:\S+ )?firmware"
        r"|firmware (?:load|install)\S* (?:failed|error)|firmware image \S+ (?:failed|not found))",
    ),
    (_Kind.ATTACH_FAILED, r"device_attach: \S+ attach returned [0-9]+"),
    (_Kind.MACHINE_CHECK, r"^MCA: |NMI ISA |^NMI (?! *\|)|Machine check(?! (?:exceptions|polls)$)"),
    (
        _Kind.MODULE_LOAD_FAILED,
        r"^KLD \S+: depends on |^KLD file \S+ is missing dependencies|^linker_load_file: "
        r"|^link_elf\S*: symbol \S+ undefined"
        r"|^module_register: module \S+ already exists|^module_register_init: MOD_LOAD ",
    ),
    (_Kind.LACP_FLAPPING, r"Interface stopped DISTRIBUTING"),
    (_Kind.OUT_OF_MEMORY, r"was killed: (?:out of swap space|failed to reclaim memory|a thread waited too long)"),
    (_Kind.INTERRUPT_STORM, r"interrupt storm detected"),
    (_Kind.HANG, r"spin lock held too long|sleeping thread .* owns a non-sleepable lock|deadlkres: possible deadlock"),
)
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _WORDS)
_LINK = re.compile(rf"{_IFACE}: (?:.{{0,60}}\b)?[Ll]ink (?:state changed to |is |)([Uu][Pp]|[Dd][Oo][Ww][Nn])\b")
_FIRMWARE = re.compile(
    rf"{_DEVICE}: (?:.{{0,60}}[ (])?(?i:firmware|fw|nvm|boot code|bootcode|b/c|phy fw|etrack)\b"
    r"(?: upgraded from|.{0,10}?)[ :=vV(][0-9]"
)
_RELEASE = re.compile(r"FreeBSD ([0-9]{1,2}\.[0-9]{1,2}-[A-Z][A-Za-z0-9.-]*)(?: |$)")
_DETACHED = re.compile(rf"{_DEVICE}: detached$")
_ATTACH_NAME = re.compile(r"device_attach: ([a-z][a-z0-9_]*[0-9]+) attach returned")


@dataclass(frozen=True)
class BsdEvent:
    """A notable line.

    ``iface`` is the device or interface it begins with, None when there is none. ``seconds`` since boot, when the log
    has such stamps. ``firmware`` and ``nvm``: of the card, where the line has a version. ``speed_mbps``, ``duplex``,
    ``flow_control``: of a link that came up.
    """

    kind: BsdEventKind
    iface: str | None
    seconds: float | None
    text: str
    firmware: str | None = None
    nvm: str | None = None
    speed_mbps: int | None = None
    duplex: Duplex | None = None
    flow_control: str | None = None
    pcie: PcieLinkReport | None = None


@dataclass(frozen=True)
class ProbedDevice:
    """A device the kernel found.

    ``location`` such as ``device 0.0``; ``irq`` None for devices without a line interrupt; ``ethernet_address`` when
    the log tells it later. ``version``: the driver's, where its description has one.
    """

    name: str
    driver: str
    unit: int
    description: str
    bus: str
    location: str | None
    irq: int | None
    memory: tuple[str, ...]
    ports: tuple[str, ...]
    ethernet_address: str | None = None
    version: str | None = None


@dataclass(frozen=True)
class UnattachedDevice:
    """A device that no driver took. ``description`` is its class, such as ``network, ethernet``."""

    bus: str
    location: str
    description: str


@dataclass(frozen=True)
class BsdLog:
    """``release`` of the kernel, such as ``13.2-RELEASE``, the last one named.

    None when the log does not begin with a boot. ``addresses``: Ethernet addresses by device, the last one named.
    ``lines``: how many lines the log has.
    """

    release: str | None
    events: tuple[BsdEvent, ...]
    devices: tuple[ProbedDevice, ...]
    unattached: tuple[UnattachedDevice, ...]
    addresses: dict[str, str]
    lines: int


def read_bsd_dmesg(text: str) -> BsdLog:
    """Read a kernel log.

    Raises:
        ReadError: for a text without any line of a FreeBSD kernel, and for the log of another kernel.
    """
    lines = kernel_lines(text)
    events = tuple(event for line in lines if (event := bsd_event(line)) is not None)
    known = events or any(_KERNEL_LINE.match(line.text) for line in lines)
    if not known or any(_FOREIGN.match(line.text) for line in lines):
        raise unreadable(_KIND, "text", text, "a line of a FreeBSD kernel, such as 'oce0: link state changed to UP'")
    texts = [line.text[:_SEARCHED_CHARACTERS] for line in lines]
    addresses = {f"{match[1]}{match[2]}": match[3].lower() for match in map(_ETHERNET.match, texts) if match}
    devices = tuple(device for line in texts if (device := _probe(line, addresses)) is not None)
    unattached = tuple(
        UnattachedDevice(bus=match[1], location=match[3], description=match[2])
        for match in map(_UNATTACHED.fullmatch, texts)
        if match
    )
    releases = [match[1] for match in map(_RELEASE.match, texts) if match]
    return BsdLog(releases[-1] if releases else None, events, devices, unattached, addresses, len(lines))


def bsd_event(kernel_line: KernelLine) -> BsdEvent | None:
    """What this line tells; None for a line of no note."""
    seconds, line = kernel_line.seconds, kernel_line.text
    text = line[:_SEARCHED_CHARACTERS]
    for kind, pattern in _PATTERNS:
        if pattern.search(text):
            return BsdEvent(kind, _named(kind, text), seconds, line)
    if (link := _LINK.match(text)) is not None:
        if link[2].lower() == "down":
            return BsdEvent(_Kind.LINK_DOWN, link[1], seconds, line)
        values = link_speed_mbps(text), link_duplex(text), link_flow_control(text)
        return BsdEvent(_Kind.LINK_UP, link[1], seconds, line, None, None, *values)
    if (match := _DETACHED.match(text)) is not None:
        return BsdEvent(_Kind.DETACHED, f"{match[1]}{match[2]}", seconds, line)
    firmware, nvm, pcie = firmware_version(text), nvm_version(text), pcie_link(text)
    if (match := _FIRMWARE.match(text)) is not None:
        return BsdEvent(_Kind.FIRMWARE, f"{match[1]}{match[2]}", seconds, line, firmware, nvm, pcie=pcie)
    if pcie is not None and (match := _NAMED_DEVICE.match(text)) is not None:
        return BsdEvent(_Kind.PCIE_LINK, f"{match[1]}{match[2]}", seconds, line, pcie=pcie)
    return None


def _named(kind: BsdEventKind, text: str) -> str | None:
    if kind is _Kind.ATTACH_FAILED:
        match = _ATTACH_NAME.search(text)
        return match[1] if match else None
    if kind not in (_Kind.TRANSMIT_TIMEOUT, _Kind.FIRMWARE_LOAD_FAILED, _Kind.LACP_FLAPPING):
        return None
    match = _NAMED.match(text)
    return match[1] if match else None


def _probe(line: str, addresses: dict[str, str]) -> ProbedDevice | None:
    match = _PROBE.fullmatch(line)
    if match is None:
        return None
    resources = match[4] or ""
    irq = _IRQ.search(resources)
    found = _RESOURCES.findall(resources)
    return ProbedDevice(
        name=f"{match[1]}{match[2]}",
        driver=match[1],
        unit=int(match[2]),
        description=match[3],
        bus=match[6],
        location=match[5],
        irq=int(irq[1].split(",")[0]) if irq else None,
        memory=tuple(part for name, text in found if name in ("mem", "iomem") for part in text.split(",")),
        ports=tuple(part for name, text in found if name == "port" for part in text.split(",")),
        ethernet_address=addresses.get(f"{match[1]}{match[2]}"),
        version=driver_version(match[3]),
    )
