"""Reader of the trouble in a Linux kernel log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from niclab.hosts.kernel_records import KernelEvent, KernelEventKind
from niclab.hosts.linux.kernel_events import SEARCHED_CHARACTERS, kernel_event
from niclab.hosts.records import KernelLine
from niclab.hosts.trouble import TRACE_LINES, KernelTrouble

_Kind = KernelEventKind
_OF_A_DEVICE = frozenset(
    {
        _Kind.AER_CORRECTED,
        _Kind.AER_UNCORRECTED,
        _Kind.DEVICE_LOST,
        _Kind.PROBE_FAILED,
        _Kind.FIRMWARE_LOAD_FAILED,
        _Kind.TRANSMIT_TIMEOUT,
    }
)
_WITH_TRACE = frozenset(
    {_Kind.PANIC, _Kind.OOPS, _Kind.BUG, _Kind.LOCKUP, _Kind.HUNG_TASK, _Kind.WARNING, _Kind.TRANSMIT_TIMEOUT}
)
_OF_THE_SYSTEM = frozenset({_Kind.OUT_OF_MEMORY, _Kind.MACHINE_CHECK, _Kind.NMI})
# "RIP: 0010:be_xmit+0x1a/0x2f0 [be2net]"; the list "Modules linked in:" names every module and accuses none.
_FRAME = re.compile(r"\+0x[0-9a-f]+/0x[0-9a-f]+ \[([A-Za-z0-9_]+)\]")
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
        event = kernel_event(line)
        if event is None or event.kind not in _OF_A_DEVICE | _WITH_TRACE | _OF_THE_SYSTEM:
            continue
        names = {name for name in (event.driver, event.address, event.iface) if name}
        if event.kind in _WITH_TRACE:
            names |= _named_by_trace(lines[index : index + TRACE_LINES])
        if event.kind is not _Kind.WARNING or names:
            yield KernelTrouble(event.kind.value, _words(event), frozenset(names))


def _named_by_trace(lines: Sequence[KernelLine]) -> set[str]:
    names = set[str]()
    for line in lines:
        names.update(_FRAME.findall(line.text[:SEARCHED_CHARACTERS]))
        if _END.search(line.text):
            break
    return names


def _words(event: KernelEvent) -> str:
    return event.line.text.strip()[:SEARCHED_CHARACTERS]
