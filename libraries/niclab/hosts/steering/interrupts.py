"""Reader of ``/proc/interrupts`` (Linux 4.18 to 6.x)."""

from __future__ import annotations

import itertools
import re

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import filled, whole_number
from niclab.hosts.steering.interrupt_records import Interrupt, Interrupts

_KIND = "/proc/interrupts"

_HEADING = re.compile(r"CPU[0-9]{1,5}(?: +CPU[0-9]{1,5})*")
_ROW = re.compile(r"\s*([A-Za-z0-9_/]{1,10}):(?:\s(.*)|)")
_OF_THE_MACHINE = ("ERR", "MIS", "BAD")
_UNCOUNTED = "FIQ"
_COUNT = re.compile(r"[0-9]{1,20}")
_TYPES = "edge|level|fasteoi|fasteoi_irq|fasteoi_mask|simple|percpu|event|virq|ipi|msi|msi-x|demux|bad"
# Chip, number at the chip and type (kernel/irq/proc.c, show_interrupts): "IR-PCI-MSI 524288-edge", "GICv3  27 Level",
# "ITS-PCI-MSI-0000:01:00.0   1 Edge"; the words of a chip's name are one blank apart: "MIPS GIC  10  ethernet".
_NEW_CHIP = re.compile(
    rf"(\S+(?: [A-Za-z]\S*){{0,4}})\s+([0-9]{{1,12}})(?:\s*-\s*({_TYPES})|\s+(Edge|Level)(?:-\S+)?)?(?:\s+(\S.*))?\s*",
    re.IGNORECASE,
)
# Chips without numbers: "xen-pirq     -ioapic-level  acpi".
_NAMED_HANDLER = re.compile(r"(\S+)\s+-([a-z][a-z0-9_-]{1,20})(?:\s+(\S.*))?\s*")
# The same where the kernel shows levels: "xen-dyn     Edge    -virq      hvc_console".
_LEVEL_CHIP = re.compile(r"(\S+)\s+(Edge|Level)(?:\s+-\S+)?(?:\s+(\S.*))?\s*")
# Type and number follow the chip: where they are taken for an action, something before them cannot be read.
_NO_ACTION = re.compile(rf"(?:\S+\s*)?-(?:{_TYPES})(?:\s|$)|(?:\S+\s+)?(?:Edge|Level)\s")
_BARE_CHIP = re.compile(r"(\S+)(?:\s+(\S.*))?\s*")


def read_interrupts(text: str) -> Interrupts:
    """Read ``/proc/interrupts``.

    Raises:
        ReadError: The heading of CPUs is missing, there is no interrupt, or a line has fewer counts than there are
            CPUs: it is cut.
    """
    lines = filled(text)
    if len(lines) < 2 or not _HEADING.fullmatch(lines[0][1].strip()):
        raise unreadable(_KIND, "text", text, "a heading of CPUs and at least one interrupt")
    cpus = tuple(int(word.removeprefix("CPU")) for word in lines[0][1].split())
    rows: dict[int | str, Interrupt] = {}
    for number, line in lines[1:]:
        row = _row(number, line, len(cpus))
        if row.irq in rows:
            raise unreadable(_KIND, f"line {number}", line, "each interrupt once")
        rows[row.irq] = row
    return Interrupts(cpus, tuple(rows.values()))


def _row(number: int, line: str, wanted: int) -> Interrupt:
    where = f"line {number}"
    match = _ROW.fullmatch(line)
    if match is None:
        raise unreadable(_KIND, where, line, "'IRQ: COUNTS CHIP ACTIONS'")
    name, rest = match[1], (match[2] or "").strip()
    if name == _UNCOUNTED and rest and not rest[0].isdecimal():
        return Interrupt(name, (), None, None, _actions(rest), None)
    words = _leading_counts(rest, wanted)
    if not words:
        raise unreadable(_KIND, where, line, "a count for each CPU")
    if len(words) < wanted and (len(words) > 1 or name.upper() not in _OF_THE_MACHINE):
        raise unreadable(_KIND, where, line, f"{wanted} counts, found {len(words)}")
    counts = tuple(whole_number(_KIND, where, word, "a count") for word in words)
    tail = rest.split(None, len(words))[len(words)] if len(rest.split(None, len(words))) > len(words) else ""
    if not name.isdecimal():
        return Interrupt(name, counts, None, None, (), tail.strip() or None)
    chip, hwirq, kind, actions = _chip(tail.strip())
    if hwirq is None and kind is None and actions and _NO_ACTION.match(actions[0]):
        raise unreadable(_KIND, where, tail.strip(), "chip, number at the chip and type, then actions")
    return Interrupt(int(name), counts, chip, kind, actions, None)


def _leading_counts(text: str, wanted: int) -> list[str]:
    """The counts at the beginning, at most as many as there are CPUs."""
    return list(itertools.takewhile(_COUNT.fullmatch, text.split(None, wanted)[:wanted]))


def _chip(text: str) -> tuple[str | None, int | None, str | None, tuple[str, ...]]:
    """Chip, number at the chip, type and actions of what follows the counts."""
    new, bare = _NEW_CHIP.fullmatch(text), _BARE_CHIP.fullmatch(text)
    level, handled = _LEVEL_CHIP.fullmatch(text), _NAMED_HANDLER.fullmatch(text)
    if level is not None:
        return _named(level[1]), None, level[2].lower(), _actions(level[3])
    if new is not None:
        kind = new[3] or new[4]
        return _named(new[1]), int(new[2]), kind.lower() if kind else None, _actions(new[5])
    if handled is not None:
        return _named(handled[1]), None, handled[2], _actions(handled[3])
    if bare is not None:
        return _named(bare[1]), None, None, _actions(bare[2])
    return None, None, None, ()


def _named(chip: str) -> str | None:
    return None if chip in ("None", "none", "-") else chip


def _actions(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(", ") if name.strip())
