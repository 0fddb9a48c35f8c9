"""Reader of the trouble in a FreeBSD kernel log."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.freebsd.dmesg import BsdEventKind, bsd_event
from niclab.hosts.records import KernelLine
from niclab.hosts.trouble import TRACE_LINES, KernelTrouble

_Kind = BsdEventKind
_TROUBLE = frozenset(
    {
        _Kind.PANIC,
        _Kind.TRAP,
        _Kind.TRANSMIT_TIMEOUT,
        _Kind.FIRMWARE_LOAD_FAILED,
        _Kind.ATTACH_FAILED,
        _Kind.MACHINE_CHECK,
        _Kind.INTERRUPT_STORM,
        _Kind.HANG,
        _Kind.MODULE_LOAD_FAILED,
        _Kind.OUT_OF_MEMORY,
    }
)
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
        event = bsd_event(line)
        if event is None or event.kind not in _TROUBLE:
            continue
        names = {event.iface} if event.iface else set[str]()
        names |= {match[1] for name in names if (match := _DEVICE.fullmatch(name))}
        if event.kind in _WITH_TRACE:
            after = lines[index : index + TRACE_LINES]
            names |= {match[1] for each in after if (match := _FRAME.match(each.text.strip()))}
        found.append(KernelTrouble(event.kind.value, event.text.strip(), frozenset(names)))
    return tuple(found)
