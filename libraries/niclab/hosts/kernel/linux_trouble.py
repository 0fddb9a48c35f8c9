"""Reader of the trouble in a Linux kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set

from niclab.hosts.kernel import kernel_words as words
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.kernel_subject import Subject, read_subject
from niclab.hosts.kernel.trouble import TRACE_LINES, KernelTrouble, PcieLimit, TroubleKind

_PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")
_WATCHDOG_OLD = re.compile(r"NETDEV WATCHDOG: ([^\s:(]+)(?: \(([^\s:()]{1,30})\)|: transmit)")
_WATCHDOG_NEW = re.compile(r"([^\s:]+): NETDEV WATCHDOG: CPU: ")
_HANG = re.compile(r"([^\s:]+):? (?:Detected (?:Hardware|Tx) Unit Hang|[Tt]ransmit time(?:d out|out, )|TX timeout)")

_SOURCE_ID = re.compile(r"(?<![0-9a-f:])[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](?![0-9a-f])")  # "[03:00.0]", of segment 0
_DPC_SOURCE = re.compile(r"([0-9a-f]{4,8}):[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]: DPC: .*\bsource:0x([0-9a-f]{4})")
_RENAMED = re.compile(r"renamed from ([^\s(]{1,15})")  # dev_change_name() in net/core/dev.c
_LEADING_WORD = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,30})(?::| ?\[)")

# The kernel cuts its lines at 1 kB (CONSOLE_LOG_MAX in kernel/printk/internal.h); looking no further keeps the search
# linear in the size of the log, whatever is in it.
_SEARCHED_CHARACTERS = 1024
_ERR = 3

# First match wins. Only errors of AER: "AER: enabled with IRQ 24" is printed at every boot.
_PATTERNS = tuple((re.compile("|".join(said)), kind) for kind, said in words.WORDS)
_OF_DEVICES = tuple((re.compile("|".join(said)), kind) for kind, said in words.DEVICE_WORDS)
_ERRORS_OF_OTHERS = tuple((re.compile("|".join(said)), kind) for kind, said in words.ERRORS_OF_OTHERS)
_NEWS, _OF_FUNCTIONS = re.compile("|".join(words.NEWS)), re.compile(words.OF_FUNCTIONS)
_LIMITED = re.compile(words.LIMITED)
_RESET, _LINK_LOST, _LINK_BACK = re.compile(words.RESET), re.compile(words.LINK_LOST), re.compile(words.LINK_BACK)
_NO_FILE = re.compile(r"(?:Direct firmware load for|firmware: failed to load) \S+ (?:failed with error -2\b|\(-2\))")
_FILE_TAKEN = re.compile(r"firmware: direct-loading firmware|Link is (?:Up|up)")
_SAYS_NO_FILE = re.compile(r"\(-2\)|error -2\b|-ENOENT")
_MAY_COME_OF: Mapping[TroubleKind, Set[TroubleKind]] = {
    TroubleKind.FIRMWARE_FILE_MISSING: {
        TroubleKind.FIRMWARE_LOAD_FAILED,
        TroubleKind.PROBE_FAILED,
        TroubleKind.DEVICE_ERROR,
        TroubleKind.ERROR,
    },
    TroubleKind.PCI_RESOURCES: {TroubleKind.PROBE_FAILED},
    TroubleKind.PLUGGED_MODULE: {TroubleKind.PROBE_FAILED},
}
"""The lack of a device -> trouble that its driver may report a few lines later for that reason alone."""
_LAST_ADDRESS = frozenset(
    {
        TroubleKind.AER_CORRECTED,
        TroubleKind.AER_UNCORRECTED,
        TroubleKind.DEVICE_LOST,
        TroubleKind.PROBE_FAILED,
        TroubleKind.FIRMWARE_LOAD_FAILED,
    }
)
"""The device is the last address of the line: "pcieport 0000:00:01.0: AER: ... received from 0000:03:00.0"."""
_OF_A_DEVICE = frozenset(kind for _, kind in _OF_DEVICES) | {
    TroubleKind.IOMMU_FAULT,
    TroubleKind.CHECKSUM,
    TroubleKind.PCIE_LIMITED,
    TroubleKind.ERROR,
    *(kind for kind, _ in words.ERRORS_OF_OTHERS),
}
_WITH_TRACE = frozenset(
    {
        TroubleKind.PANIC,
        TroubleKind.OOPS,
        TroubleKind.BUG,
        TroubleKind.LOCKUP,
        TroubleKind.HUNG_TASK,
        TroubleKind.BLOCKED_TASK,
        TroubleKind.CORRUPTION,
        TroubleKind.INTERRUPT_UNHANDLED,
        TroubleKind.CHECKSUM,
        TroubleKind.WARNING,
        TroubleKind.TRANSMIT_TIMEOUT,
    }
)
_ONLY_WITH_A_NAME = frozenset({TroubleKind.WARNING, TroubleKind.BLOCKED_TASK, TroubleKind.ERROR})
# "RIP: 0010:be_xmit+0x1a/0x2f0 [be2net]", and "[<00000000c0ffee00>] be_intx [be2net]" of the handlers of an interrupt;
# the list "Modules linked in:" names every module and accuses none.
_FRAME = re.compile(r"(?:\+0x[0-9a-f]+/0x[0-9a-f]+|^\[<[0-9a-f]+>\] \S{1,60}) \[([A-Za-z0-9_]+)\]")
_NEXT_TASK = re.compile(words.TASK)
_END = re.compile(r"---\[ end (?:trace|Kernel panic)")


def read_trouble(lines: Sequence[KernelLine]) -> tuple[KernelTrouble, ...]:
    """Read the trouble in lines of a kernel log.

    An oops that ends in a panic, or a lockup that is reported with a call trace, is one piece of trouble for each of
    its lines that says so. A line that the kernel calls an error is trouble of whom it names, whatever its words. A
    firmware file that is missing is none by itself: the driver may take an older one.

    Args:
        lines: Of the kernel log, in their order.

    Returns:
        In the order of the log.
    """
    return tuple(_troubles(lines))


class _Heard:
    """Earlier lines' statements about devices, and their earlier names by later lines."""

    def __init__(self, lines: Sequence[KernelLine]) -> None:
        self._lacking: dict[str, tuple[int, TroubleKind]] = {}
        self._without_link = set[str]()
        self._addresses: dict[str, str] = {}
        self._renamed = [
            (index, match[1], address)
            for index, line in enumerate(lines)
            if (match := _RENAMED.search(line.text[:_SEARCHED_CHARACTERS]))
            and (address := read_subject(line.text.strip()).address)
        ]

    def hear(self, index: int, text: str, subject: Subject) -> None:
        names, device = _names(subject), _device(subject)
        if subject.address and subject.iface:
            self._addresses[subject.iface] = subject.address
        if renamed := _RENAMED.search(text):
            self._addresses.pop(renamed[1], None)
        if _FILE_TAKEN.search(text):
            for name in names:
                self._lacking.pop(name, None)
        if _LINK_LOST.search(text):
            self._without_link |= device
        elif _LINK_BACK.search(text):
            self._without_link -= device
        if _NO_FILE.search(text):
            self._lacking |= dict.fromkeys(names, (index, TroubleKind.FIRMWARE_FILE_MISSING))

    def addresses(self, index: int, devices: set[str]) -> set[str]:
        """Addresses of interfaces that a line names alone: by the last line before it that names both, or a rename."""
        if any(_PCI_ADDRESS.fullmatch(each) for each in devices):
            return set()
        later = {name: address for at, name, address in reversed(self._renamed) if at > index}
        known = later | self._addresses
        return {known[name] for name in devices & known.keys()}

    def hear_trouble(self, index: int, kind: TroubleKind, subject: Subject) -> None:
        if kind in _MAY_COME_OF:
            self._lacking |= dict.fromkeys(_device(subject), (index, kind))

    def cause(self, index: int, kind: TroubleKind, text: str, devices: set[str], drivers: set[str]) -> TroubleKind:
        """The lack that a device was said to have, where this line may come of that alone; or else its own kind."""
        has_address = any(_PCI_ADDRESS.fullmatch(each) for each in devices)
        names = devices if has_address else devices | drivers
        for name in names & self._lacking.keys():
            since, cause = self._lacking[name]
            is_of_functions = cause is TroubleKind.PCI_RESOURCES and kind is TroubleKind.ERROR
            may_come_of_it = kind in _MAY_COME_OF[cause] or (is_of_functions and _OF_FUNCTIONS.search(text))
            if index - since < TRACE_LINES and may_come_of_it:
                return cause
        return kind

    def excuses(self, text: str, subject: Subject) -> bool:
        """Is it a line that looks like trouble, and is none after what was said before?"""
        return bool(_NO_FILE.search(text) or (_RESET.search(text) and _device(subject) & self._without_link))


def _troubles(lines: Sequence[KernelLine]) -> Iterator[KernelTrouble]:
    heard = _Heard(lines)
    for index, line in enumerate(lines):
        text = line.text[:_SEARCHED_CHARACTERS].strip()
        subject = read_subject(text)
        named = _names(subject)
        heard.hear(index, text, subject)
        kind = _kind(line.level, text, named)
        if kind is None or heard.excuses(text, subject):
            continue
        devices, drivers = _named_by_line(kind, text, subject)
        devices |= heard.addresses(index, devices)
        if kind in _WITH_TRACE:
            drivers |= _named_by_trace(lines[index : index + TRACE_LINES])
        heard.hear_trouble(index, kind, subject)
        kind = TroubleKind.FIRMWARE_FILE_MISSING if _says_no_file(kind, text) else kind
        kind = heard.cause(index, kind, text, devices | _device(subject), drivers | named)
        if kind not in _ONLY_WITH_A_NAME or devices or drivers:
            yield KernelTrouble(kind, text, frozenset(devices), frozenset(drivers), _limit(text))


def _says_no_file(kind: TroubleKind, text: str) -> bool:
    return kind is TroubleKind.FIRMWARE_LOAD_FAILED and bool(_SAYS_NO_FILE.search(text))


def _kind(level: int | None, text: str, named: set[str]) -> TroubleKind | None:
    for patterns in (_PATTERNS, _OF_DEVICES if named else ()):
        for pattern, kind in patterns:
            if pattern.search(text):
                return kind
    if level is None or level > _ERR or _NEWS.search(text):
        return None
    return next((kind for pattern, kind in _ERRORS_OF_OTHERS if pattern.search(text)), TroubleKind.ERROR)


def _limit(text: str) -> PcieLimit | None:
    found = _LIMITED.search(text)
    return PcieLimit(float(found[1]), int(found[2])) if found else None


def _names(subject: Subject) -> set[str]:
    return {name for name in (subject.driver, subject.address, subject.iface) if name}


def _device(subject: Subject) -> set[str]:
    """Its names but for that of its driver, which may have others."""
    return {name for name in (subject.address, subject.iface) if name}


def _named_by_line(kind: TroubleKind, text: str, subject: Subject) -> tuple[set[str], set[str]]:
    """Devices and drivers."""
    driver, address, iface = subject.driver, subject.address, subject.iface
    others, leading = set[str](), None
    if kind is TroubleKind.TRANSMIT_TIMEOUT:
        old = _WATCHDOG_OLD.search(text)
        match = old or _WATCHDOG_NEW.search(text) or _HANG.search(text)
        iface = match[1] if match else iface
        driver = old[2] or driver if old else driver
    elif kind in _LAST_ADDRESS:
        addresses = [*_PCI_ADDRESS.findall(text), *_dpc_source(text)]
        address, iface = (addresses[-1], None) if addresses else (None, iface)
    elif kind is TroubleKind.IOMMU_FAULT:
        others = {*_PCI_ADDRESS.findall(text), *(f"0000:{found}" for found in _SOURCE_ID.findall(text))}
    elif kind is TroubleKind.ERROR:
        leading = _LEADING_WORD.match(text)
        others = set(_PCI_ADDRESS.findall(text))
    elif kind not in _OF_A_DEVICE:
        return set(), set()
    drivers = {name for name in (driver, leading[1] if leading else None) if name}
    return others | {name for name in (address, iface) if name}, drivers - {iface}


def _dpc_source(text: str) -> list[str]:
    """The device whose error made a port cut it off; none where the port has found the error by itself (0x0000)."""
    found = _DPC_SOURCE.search(text)
    number = int(found[2], 16) if found else 0
    return [f"{found[1]}:{number >> 8:02x}:{number >> 3 & 31:02x}.{number & 7}"] if found and number else []


def _named_by_trace(lines: Sequence[KernelLine]) -> set[str]:
    names = set[str]()
    for number, line in enumerate(lines):
        if number and _NEXT_TASK.match(line.text):
            break
        names.update(_FRAME.findall(line.text[:_SEARCHED_CHARACTERS]))
        if _END.search(line.text):
            break
    return names
