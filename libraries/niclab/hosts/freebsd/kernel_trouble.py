"""Reader of the trouble in a FreeBSD kernel log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from niclab.hosts.records import KernelLine
from niclab.hosts.trouble import TRACE_LINES, KernelTrouble

# The kernel cuts its lines at 1 kB or less; looking no further keeps the search linear in the size of the log.
_SEARCHED_CHARACTERS = 1024


class _Kind(StrEnum):
    PANIC = "panic"
    TRAP = "trap"
    DEBUGGER = "debugger"
    TRANSMIT_TIMEOUT = "transmit timeout"
    FIRMWARE_LOAD_FAILED = "firmware load failed"
    ATTACH_FAILED = "attach failed"
    MACHINE_CHECK = "machine check"
    INTERRUPT_STORM = "interrupt storm"
    HANG = "hang"
    MODULE_LOAD_FAILED = "module load failed"
    OUT_OF_MEMORY = "out of memory"


_WORDS: tuple[tuple[_Kind, str], ...] = (
    (_Kind.TRAP, r"Fatal trap [0-9]+: |Fatal double fault|kernel trap [0-9]+ with interrupts disabled"),
    # A log of the next boot tells of the last panic; that is not one of this boot.
    (_Kind.PANIC, r"(?:^|[>#$%:] ?)panic: \S|^panic$"),
    (_Kind.DEBUGGER, r"KDB: enter: |^\[ thread pid |^Stopped at |^db> ?"),
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
    (_Kind.OUT_OF_MEMORY, r"was killed: (?:out of swap space|failed to reclaim memory|a thread waited too long)"),
    (_Kind.INTERRUPT_STORM, r"interrupt storm detected"),
    (_Kind.HANG, r"spin lock held too long|sleeping thread .* owns a non-sleepable lock|deadlkres: possible deadlock"),
)
_PATTERNS = tuple((kind, re.compile(words)) for kind, words in _WORDS)
_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9_.]{0,20}): ")
_ATTACH_NAME = re.compile(r"device_attach: ([a-z][a-z0-9_]*[0-9]+) attach returned")
_WITH_TRACE = frozenset({_Kind.PANIC, _Kind.TRAP, _Kind.HANG})
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
        In the order of the log. A device is named with its driver: ``oce0`` and ``oce``.
    """
    found = []
    for index, line in enumerate(lines):
        text = line.text[:_SEARCHED_CHARACTERS]
        kind = next((kind for kind, pattern in _PATTERNS if pattern.search(text)), None)
        if kind is None or kind is _Kind.DEBUGGER:
            continue
        name = _named(kind, text)
        names = {name} if name else set[str]()
        names |= {match[1] for name in names if (match := _DEVICE.fullmatch(name))}
        if kind in _WITH_TRACE:
            after = lines[index : index + TRACE_LINES]
            names |= {match[1] for each in after if (match := _FRAME.match(each.text.strip()))}
        found.append(KernelTrouble(kind.value, line.text.strip(), frozenset(names)))
    return tuple(found)


def _named(kind: _Kind, text: str) -> str | None:
    if kind is _Kind.ATTACH_FAILED:
        match = _ATTACH_NAME.search(text)
        return match[1] if match else None
    if kind not in (_Kind.TRANSMIT_TIMEOUT, _Kind.FIRMWARE_LOAD_FAILED):
        return None
    match = _NAMED.match(text)
    return match[1] if match else None
