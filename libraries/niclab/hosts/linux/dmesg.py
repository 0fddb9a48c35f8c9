"""Reader of the kernel log (``dmesg``, with or without -x, -T and --time-format=iso), and what is notable in it."""

from __future__ import annotations

import re
from collections.abc import Iterable

from niclab.hosts.reading import numbered
from niclab.hosts.records import KernelEvent, KernelEventKind, KernelLine

_LEVEL = re.compile(r"(?:<[0-9]{1,3}>|[a-z]{3,8}\s*:[a-z]{3,6}\s*: )")
_UPTIME = re.compile(r"\[\s*([0-9]{1,10}\.[0-9]{1,9})\](?: ?\[\s*[TC][0-9]{1,10}\])? ?")
_WALL_CLOCK = re.compile(
    r"(?:\[[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}\]|[0-9-]{10}T[0-9:,.+-]{14,24}) "
)

_PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")
_LINK = re.compile(r"(?:^|[ :])(?:NIC )?[Ll]ink (?:is )?([Uu]p|[Dd]own)\b")
# Names that stand between the interface and the words "NIC Link is": function names of old Intel drivers.
_NOT_AN_INTERFACE = re.compile(r".*(?:_task|_watchdog)")
_WATCHDOG_OLD = re.compile(r"NETDEV WATCHDOG: ([^\s:(]+)(?: \(|: transmit)")
_WATCHDOG_NEW = re.compile(r"([^\s:]+): NETDEV WATCHDOG: CPU: ")
_HANG = re.compile(r"([^\s:]+):? Detected (?:Hardware|Tx) Unit Hang")

# The kernel cuts its lines at 1 kB (CONSOLE_LOG_MAX in kernel/printk/internal.h); looking no further keeps the search
# linear in the size of the log, whatever stands in it.
_SEARCHED_CHARACTERS = 1024

_Kind = KernelEventKind
_WORDS: tuple[tuple[KernelEventKind, tuple[str, ...]], ...] = (
    (_Kind.PANIC, ("Kernel panic - not syncing",)),
    (
        _Kind.OOPS,
        (
            r"\bOops\b",
            r"\bBUG: unable to handle",
            "kernel BUG at ",
            "general protection fault",
            "Unable to handle kernel ",
        ),
    ),
    (_Kind.LOCKUP, ("soft lockup", "hard LOCKUP", r"\brcu.*detected (?:expedited )?stall", r"\brcu.*kthread starved")),
    (_Kind.HUNG_TASK, ("blocked for more than [0-9]+ seconds",)),
    (_Kind.AER_UNCORRECTED, (r"AER: (?:Multiple )?Uncorrect(?:ed|able) \(", "severity=Uncorrect")),
    (_Kind.AER_CORRECTED, ("AER: (?:Multiple )?Correct(?:ed|able) error", "severity=Corrected")),
    (_Kind.TRANSMIT_TIMEOUT, ("NETDEV WATCHDOG: ", "Detected (?:Hardware|Tx) Unit Hang")),
    (
        _Kind.FIRMWARE_LOAD_FAILED,
        (r"[Ff]irmware load for \S+ failed", "[Ff]ailed to load firmware", "Can't load firmware file"),
    ),
    (_Kind.WARNING, ("^WARNING: (?:CPU: |at |.* at )",)),
    (_Kind.CALL_TRACE, ("^Call [Tt]race:",)),
)
# First match wins. Only errors of AER: "AER: enabled with IRQ 24" is printed at every boot.
_PATTERNS = tuple((re.compile("|".join(words)), kind) for kind, words in _WORDS)


def read_dmesg(text: str) -> tuple[KernelLine, ...]:
    """Every line of the kernel log, empty ones left out. A log may be empty; any text is a kernel log."""
    return tuple(_line(line) for _, line in numbered(text) if line.strip())


def kernel_events(lines: Iterable[KernelLine]) -> tuple[KernelEvent, ...]:
    """The notable lines, in their order."""
    return tuple(event for event in map(_event, lines) if event is not None)


def _line(line: str) -> KernelLine:
    level = _LEVEL.match(line)
    rest = line[level.end() :] if level else line
    stamp = _UPTIME.match(rest)
    if stamp is not None:
        return KernelLine(float(stamp[1]), rest[stamp.end() :])
    clock = _WALL_CLOCK.match(rest)
    return KernelLine(None, rest[clock.end() :] if clock else rest)


def _event(line: KernelLine) -> KernelEvent | None:
    text = line.text[:_SEARCHED_CHARACTERS]
    for pattern, kind in _PATTERNS:
        if pattern.search(text):
            return KernelEvent(kind, line, iface=_iface(kind, text), address=_address(kind, text))
    link = _LINK.search(text)
    if link is None:
        return None
    iface = _last_name(text[: link.start()])
    if iface is None:
        return None
    kind = _Kind.LINK_UP if link[1].lower() == "up" else _Kind.LINK_DOWN
    return KernelEvent(kind, line, iface=iface)


def _last_name(text: str) -> str | None:
    """The last word before "link is up": the interface, after driver and PCI address."""
    for word in reversed(re.split(r"[ :]+", text.strip(" :"))):
        if word and not _NOT_AN_INTERFACE.fullmatch(word):
            return word
    return None


def _iface(kind: KernelEventKind, text: str) -> str | None:
    if kind is not _Kind.TRANSMIT_TIMEOUT:
        return None
    for pattern in (_WATCHDOG_OLD, _WATCHDOG_NEW, _HANG):
        match = pattern.search(text)
        if match is not None:
            return match[1]
    return None


def _address(kind: KernelEventKind, text: str) -> str | None:
    """The device the error came from: the last address of the line ("... received from 0000:03:00.0")."""
    if kind not in (_Kind.AER_CORRECTED, _Kind.AER_UNCORRECTED, _Kind.FIRMWARE_LOAD_FAILED):
        return None
    addresses = _PCI_ADDRESS.findall(text)
    return addresses[-1] if addresses else None
