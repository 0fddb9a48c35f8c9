"""What is notable in a kernel log: links that come and go, and everything that goes wrong."""

from __future__ import annotations

import re

from niclab.hosts.kernel_records import KernelEvent, KernelEventKind
from niclab.hosts.linux.kernel_links import link_event
from niclab.hosts.linux.kernel_subject import read_subject
from niclab.hosts.records import KernelLine

_PCI_ADDRESS = re.compile(r"\b[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")
_WATCHDOG_OLD = re.compile(r"NETDEV WATCHDOG: ([^\s:(]+)(?: \(([^\s:()]{1,30})\)|: transmit)")
_WATCHDOG_NEW = re.compile(r"([^\s:]+): NETDEV WATCHDOG: CPU: ")
_HANG = re.compile(r"([^\s:]+):? (?:Detected (?:Hardware|Tx) Unit Hang|[Tt]ransmit time(?:d out|out, )|TX timeout)")

# The kernel cuts its lines at 1 kB (CONSOLE_LOG_MAX in kernel/printk/internal.h); looking no further keeps the search
# linear in the size of the log, whatever is in it.
SEARCHED_CHARACTERS = 1024

_Kind = KernelEventKind
_WORDS: tuple[tuple[KernelEventKind, tuple[str, ...]], ...] = (
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
    (_Kind.PCIE_SLOT_DOWN, (r"pciehp.*Slot\([^)]*\): (?:Link Down|Card not present)",)),
    (_Kind.PCIE_SLOT_UP, (r"pciehp.*Slot\([^)]*\): (?:Link Up|Card present)",)),
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
    (_Kind.CALL_TRACE, ("^Call [Tt]race:",)),
)
# First match wins. Only errors of AER: "AER: enabled with IRQ 24" is printed at every boot.
_PATTERNS = tuple((re.compile("|".join(words)), kind) for kind, words in _WORDS)
_OF_A_DEVICE = (
    _Kind.AER_CORRECTED,
    _Kind.AER_UNCORRECTED,
    _Kind.FIRMWARE_LOAD_FAILED,
    _Kind.PROBE_FAILED,
    _Kind.DEVICE_LOST,
)


def kernel_event(line: KernelLine) -> KernelEvent | None:
    """What this line tells; None for a line of no note."""
    text = line.text[:SEARCHED_CHARACTERS].strip()
    for pattern, kind in _PATTERNS:
        if pattern.search(text):
            return _trouble(kind, line, text)
    return link_event(line, text)


def _trouble(kind: KernelEventKind, line: KernelLine, text: str) -> KernelEvent:
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
    elif kind in (_Kind.PCIE_SLOT_DOWN, _Kind.PCIE_SLOT_UP):
        iface = None
    else:
        driver = address = iface = None
    return KernelEvent(kind, line, iface=iface, address=address, driver=driver)
