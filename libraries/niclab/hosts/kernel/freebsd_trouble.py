"""Reader of the trouble in a FreeBSD kernel log."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.trouble import TRACE_LINES, KernelTrouble, TroubleKind

# The kernel cuts its lines at 1 kB or less; looking no further keeps the search linear in the size of the log.
_SEARCHED_CHARACTERS = 1024
_ERR = 3

_WORDS: tuple[tuple[TroubleKind, str], ...] = (
    (TroubleKind.TRAP, r"Fatal trap [0-9]+: |Fatal double fault|kernel trap [0-9]+ with interrupts disabled"),
    # A log of the next boot tells of the last panic; that is not one of this boot.
    (TroubleKind.PANIC, r"(?:^|[>#$%:] ?)panic: \S|^panic$"),
    (TroubleKind.DEBUGGER, r"KDB: enter: |^\[ thread pid |^Stopped at |^db> ?"),
    (
        TroubleKind.TRANSMIT_TIMEOUT,
        r"(?i:watchdog timeout|watchdog event|tx(?:queue)? timeout(?! count)|appears to be hung|tx hang)",
    ),
    (
        TroubleKind.FIRMWARE_LOAD_FAILED,
        r"(?i:(?:could not|couldn't|can't|cannot|failed to|unable to)"
        r" (?:load|find|get|open|read|flash) (?:\S+ )?firmware"
        r"|firmware (?:load|install)\S* (?:failed|error)|firmware image \S+ (?:failed|not found))",
    ),
    (TroubleKind.ATTACH_FAILED, r"device_attach: \S+ attach returned [0-9]+"),
    (TroubleKind.MACHINE_CHECK, r"^MCA: |NMI ISA |^NMI (?! *\|)|Machine check(?! (?:exceptions|polls)$)"),
    (
        TroubleKind.MODULE_LOAD_FAILED,
        r"^KLD \S+: depends on |^KLD file \S+ is missing dependencies|^linker_load_file: "
        r"|^link_elf\S*: symbol \S+ undefined"
        r"|^module_register: module \S+ already exists|^module_register_init: MOD_LOAD ",
    ),
    (TroubleKind.OUT_OF_MEMORY, r"was killed: (?:out of swap space|failed to reclaim memory|a thread waited too long)"),
    (TroubleKind.INTERRUPT_STORM, r"interrupt storm detected"),
    (
        TroubleKind.HANG,
        r"spin lock held too long|sleeping thread .* owns a non-sleepable lock|deadlkres: possible deadlock",
    ),
    (TroubleKind.IOMMU_FAULT, r"^DMAR[0-9]+: .*\bfault\b|pci[0-9:]+ sid [0-9a-f]+ fault acc "),  # intel_fault.c
)
# device_printf() has no level: words of sys/dev/oce, bxe, cxgbe, ix, e1000, sfxge, mlx5, bnxt, behind a device's name.
_OF_DEVICES: tuple[tuple[TroubleKind, str], ...] = (
    (
        TroubleKind.FIRMWARE_CRASH,
        r"(?i:\bUE (?:detected|: )|unrecoverable error|firmware (?:reports adapter|fatal) error|fw assert|mcp? assert!"
        r"|encountered fatal error, adapter|adapter (?:has )?stopped|mc reboot|mailbox \d+ timed out"
        r"|health (?:issue|compromised)|internal error detected|fw not responding|firmware hang)",
    ),
    (
        TroubleKind.DEVICE_ERROR,
        r"(?i:ecc error|parity error|over ?temp(?:erature)?|over ?heated|fan failure"
        r"|(?:nvm|eeprom) checksum is not valid|hardware (?:error|initialization failed)|malicious driver detect)",
    ),
    (TroubleKind.DEVICE_LOST, r"(?i:pci(?:e)? (?:link|device) (?:lost|gone)|adapter (?:removed|lost))"),
)
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _WORDS)
_DEVICE_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _OF_DEVICES)
_BY_A_DEVICE = frozenset(kind for kind, _ in _OF_DEVICES) | {
    TroubleKind.TRANSMIT_TIMEOUT,
    TroubleKind.FIRMWARE_LOAD_FAILED,
    TroubleKind.ERROR,
}
_PROBED = re.compile(r"pci([0-9]{1,3}):([0-9]{1,2}):([0-9]) sid ")
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_.]{0,20}): ")
_ATTACH_NAME = re.compile(r"device_attach: ([a-z][a-z0-9_]*[0-9]+) attach returned")
_WITH_TRACE = frozenset({TroubleKind.PANIC, TroubleKind.TRAP, TroubleKind.HANG})
# "#5 0xffffffff82a1 at oce_isr+0x1b" of a backtrace; a function of a driver begins with the driver's name.
_FRAME = re.compile(
    r"(?:#[0-9]+ 0x[0-9a-f]+ at )?([a-z][a-z0-9]*)_[A-Za-z0-9_]*(?:\(\) at [A-Za-z0-9_]*)?\+0x[0-9a-f]+"
)
_DEVICE = re.compile(r"([a-z][a-z0-9_]*?)[0-9]{1,5}")


def read_trouble(lines: Sequence[KernelLine]) -> tuple[KernelTrouble, ...]:
    """Read the trouble in lines of a kernel log.

    Args:
        lines: Of the kernel log, in their order.

    Returns:
        In the order of the log. A device is named with its driver: ``oce0`` and ``oce``. Only ``log(9)`` gives a line
        a level; one of an error is trouble of whom it names.
    """
    found = []
    for index, line in enumerate(lines):
        text = line.text[:_SEARCHED_CHARACTERS]
        kind = _kind(line.level, text)
        if kind is None or kind is TroubleKind.DEBUGGER:
            continue
        name = _named(kind, text)
        devices, drivers = _names(name)
        if kind in _WITH_TRACE:
            after = lines[index : index + TRACE_LINES]
            drivers |= {match[1] for each in after if (match := _FRAME.match(each.text.strip()))}
        found.append(KernelTrouble(kind, line.text.strip(), frozenset(devices), frozenset(drivers)))
    return tuple(found)


def _kind(level: int | None, text: str) -> TroubleKind | None:
    of_device = _DEVICE_PATTERNS if _NAMED.match(text) else ()
    is_error = level is not None and level <= _ERR and bool(of_device)
    last = TroubleKind.ERROR if is_error else None
    return next((kind for kind, pattern in (*_PATTERNS, *of_device) if pattern.search(text)), last)


def _names(name: str | None) -> tuple[set[str], set[str]]:
    """The device and the driver that a name tells of."""
    if name is None:
        return set(), set()
    unit = _DEVICE.fullmatch(name)
    if unit is not None:
        return {name}, {unit[1]}
    return ({name}, set()) if ":" in name else (set(), {name})


def _named(kind: TroubleKind, text: str) -> str | None:
    if kind is TroubleKind.ATTACH_FAILED:
        match = _ATTACH_NAME.search(text)
        return match[1] if match else None
    if kind is TroubleKind.IOMMU_FAULT and (probed := _PROBED.search(text)):
        bus, slot, function = (int(part) for part in probed.groups())
        return f"0000:{bus:02x}:{slot:02x}.{function:x}"
    if kind not in _BY_A_DEVICE:
        return None
    match = _NAMED.match(text)
    return match[1] if match else None
