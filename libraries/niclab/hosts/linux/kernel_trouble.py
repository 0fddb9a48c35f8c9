"""Reader of the trouble in a Linux kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from niclab.hosts.linux.kernel_subject import read_subject
from niclab.hosts.records import KernelLine
from niclab.hosts.trouble import TRACE_LINES, KernelTrouble


class _Kind(StrEnum):
    PANIC = "panic"
    OOPS = "oops"
    BUG = "bug"
    LOCKUP = "lockup"
    HUNG_TASK = "hung task"
    BLOCKED_TASK = "blocked task"
    WARNING = "warning"
    OUT_OF_MEMORY = "out of memory"
    MACHINE_CHECK = "machine check"
    NMI = "unknown NMI"
    AER_CORRECTED = "PCIe error, corrected"
    AER_UNCORRECTED = "PCIe error, uncorrected"
    DEVICE_LOST = "device lost"
    PROBE_FAILED = "driver probe failed"
    TRANSMIT_TIMEOUT = "transmit timeout"
    FIRMWARE_LOAD_FAILED = "firmware load failed"


_PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")
_WATCHDOG_OLD = re.compile(r"NETDEV WATCHDOG: ([^\s:(]+)(?: \(([^\s:()]{1,30})\)|: transmit)")
_WATCHDOG_NEW = re.compile(r"([^\s:]+): NETDEV WATCHDOG: CPU: ")
_HANG = re.compile(r"([^\s:]+):? (?:Detected (?:Hardware|Tx) Unit Hang|[Tt]ransmit time(?:d out|out, )|TX timeout)")

# The kernel cuts its lines at 1 kB (CONSOLE_LOG_MAX in kernel/printk/internal.h); looking no further keeps the search
# linear in the size of the log, whatever is in it.
_SEARCHED_CHARACTERS = 1024

_TASK = r"^task:\S.* state:D "  # of SysRq w (sched_show_task() in kernel/sched/core.c)
_WORDS: tuple[tuple[_Kind, tuple[str, ...]], ...] = (
    (_Kind.PANIC, ("Kernel panic - not syncing", "^Kernel panic: ")),
    (
        _Kind.OOPS,
        (
            r"\bOops\b",
            r"\bBUG: unable to handle",
            r"\bBUG: kernel NULL pointer",
            "[Kk]ernel BUG at ",
            "general protection fault(?! ip:)",  # "traps: NAME[PID] general protection fault ip:" is one of a program
            "Unable to handle kernel ",
            r"^Internal error: .{0,120}\[#[0-9]",
            "^PANIC: double fault",
            r"^(?:invalid opcode|divide error|double fault|stack segment|int3|bad frame): [0-9a-f]{4} \[#?[0-9]",
        ),
    ),
    (
        _Kind.LOCKUP,
        (
            "soft lockup",
            "hard LOCKUP",
            "detected LOCKUP on CPU",
            r"\brcu.*detected (?:expedited )?stall",
            r"\brcu.*kthread starved",
        ),
    ),
    (_Kind.HUNG_TASK, ("blocked for more than [0-9]+ seconds",)),
    (_Kind.BLOCKED_TASK, (_TASK,)),
    (_Kind.BUG, (r"\bBUG: ",)),
    (_Kind.OUT_OF_MEMORY, ("^Out of memory: ", "invoked oom-killer")),
    (
        _Kind.MACHINE_CHECK,
        (r"\[Hardware Error\]: (?:Machine check|CPU |event severity)", "^Machine check events logged"),
    ),
    (_Kind.NMI, ("Uhhuh. NMI received", "NMI: (?:PCI system|IOCK|Not continuing)", "PCI system error \\(SERR\\)")),
    (
        _Kind.AER_UNCORRECTED,
        (
            r"AER: (?:Multiple )?Uncorrect(?:ed|able) \(",
            "severity=Uncorrect",
            r"^Error Severity\s*: Uncorrect",
        ),
    ),
    (
        _Kind.AER_CORRECTED,
        (
            "AER: (?:Multiple )?Correct(?:ed|able) error",
            "severity=Correct",
            r"^Error Severity\s*: Correct",
        ),
    ),
    (
        _Kind.DEVICE_LOST,
        (
            "device inaccessible",
            "config space inaccessible",
            "(?:Adapter|adapter|PCIe link|PCI device) (?:removed|lost|is gone)",
            "Refused to change power",
        ),
    ),
    (
        _Kind.FIRMWARE_LOAD_FAILED,
        (
            r"[Ff]irmware load (?:for \S+ )?failed",
            "[Ff]ailed to load firmware",
            r"firmware: failed to load \S",  # Debian
            "unable to load firmware (?:patch|image) ",
            "Can't load firmware file",
        ),
    ),
    (
        _Kind.PROBE_FAILED,
        (
            r"[Pp]robe of \S+ failed with error",
            r"probe with driver \S+ failed with error",
            "failed to (?:load|initialize) because an unsupported SFP",
        ),
    ),
    (
        _Kind.TRANSMIT_TIMEOUT,
        (
            "NETDEV WATCHDOG: ",
            "Detected (?:Hardware|Tx) Unit Hang",
            "[Tt]ransmit timed out",
            "Transmit timeout, status ",
            "TX timeout",
            r"\btx_timeout: VSI",  # i40e, iavf, ice
        ),
    ),
    (
        _Kind.WARNING,
        (
            "^WARNING: (?:CPU: |at |.* at )",
            # Of the checks of locks (kernel/locking/lockdep.c).
            "^WARNING: (?:possible |suspicious |inconsistent |bad unlock|(?:nested )?(?:held )?lock )",
            "^INFO: (?:possible |suspicious |inconsistent lock|trying to register non-static key)",
            "^UBSAN: ",
        ),
    ),
)
# First match wins. Only errors of AER: "AER: enabled with IRQ 24" is printed at every boot.
_PATTERNS = tuple((re.compile("|".join(words)), kind) for kind, words in _WORDS)
_OF_A_DEVICE = frozenset(
    {
        _Kind.AER_CORRECTED,
        _Kind.AER_UNCORRECTED,
        _Kind.DEVICE_LOST,
        _Kind.PROBE_FAILED,
        _Kind.FIRMWARE_LOAD_FAILED,
    }
)
_WITH_TRACE = frozenset({_Kind.PANIC, _Kind.OOPS, _Kind.BUG, _Kind.LOCKUP, _Kind.HUNG_TASK, _Kind.BLOCKED_TASK}) | {
    _Kind.WARNING,
    _Kind.TRANSMIT_TIMEOUT,
}
_ONLY_WITH_A_NAME = frozenset({_Kind.WARNING, _Kind.BLOCKED_TASK})
# "RIP: 0010:be_xmit+0x1a/0x2f0 [be2net]"; the list "Modules linked in:" names every module and accuses none.
_FRAME = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[([A-Za-z0-9_]+)\]")
_NEXT_TASK = re.compile(_TASK)
_END = re.compile(r"---\[ end (?:trace|Kernel panic)")


def read_trouble(lines: Sequence[KernelLine]) -> tuple[KernelTrouble, ...]:
    """Read the trouble in lines of a kernel log.

    An oops that ends in a panic, or a lockup that is reported with a call trace, is one piece of trouble for each of
    its lines that says so.

    Args:
        lines: Of the kernel log, in their order.

    Returns:
        In the order of the log.
    """
    return tuple(_troubles(lines))


def _troubles(lines: Sequence[KernelLine]) -> Iterator[KernelTrouble]:
    for index, line in enumerate(lines):
        text = line.text[:_SEARCHED_CHARACTERS].strip()
        kind = next((kind for pattern, kind in _PATTERNS if pattern.search(text)), None)
        if kind is None:
            continue
        names = _named_by_line(kind, text)
        if kind in _WITH_TRACE:
            names |= _named_by_trace(lines[index : index + TRACE_LINES])
        if kind not in _ONLY_WITH_A_NAME or names:
            yield KernelTrouble(kind.value, text, frozenset(names))


def _named_by_line(kind: _Kind, text: str) -> set[str]:
    subject = read_subject(text)
    driver, address, iface = subject.driver, subject.address, subject.iface
    if kind is _Kind.TRANSMIT_TIMEOUT:
        old = _WATCHDOG_OLD.search(text)
        match = old or _WATCHDOG_NEW.search(text) or _HANG.search(text)
        iface = match[1] if match else iface
        driver = old[2] or driver if old else driver
    elif kind in _OF_A_DEVICE:
        # The device the error came from: the last address of the line ("... received from 0000:03:00.0").
        addresses = _PCI_ADDRESS.findall(text)
        address, iface = addresses[-1] if addresses else None, None
    else:
        return set()
    return {name for name in (driver, address, iface) if name}


def _named_by_trace(lines: Sequence[KernelLine]) -> set[str]:
    names = set[str]()
    for number, line in enumerate(lines):
        if number and _NEXT_TASK.match(line.text):
            break
        names.update(_FRAME.findall(line.text[:_SEARCHED_CHARACTERS]))
        if _END.search(line.text):
            break
    return names
