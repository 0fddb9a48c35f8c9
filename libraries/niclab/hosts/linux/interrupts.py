"""Reader of ``/proc/interrupts``, from Linux 2.4 (``IO-APIC-level``) to 6.x (``IR-PCI-MSIX-0000:01:00.0  1-edge``)."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.interrupt_records import Interrupt, Interrupts
from niclab.hosts.reading import whole_number
from niclab.hosts.transcript import transcript

_KIND = "/proc/interrupts"

_HEADING = re.compile(r"(?:CPU[0-9]{1,5}\s*)+")
_ROW = re.compile(r"\s*([A-Za-z0-9_/]{1,10}):(?:\s(.*)|)")
_OF_THE_MACHINE = ("ERR", "MIS", "BAD")
_UNCOUNTED = "FIQ"
_COUNT = re.compile(r"[0-9]{1,20}")
_TYPES = "edge|level|fasteoi|fasteoi_irq|fasteoi_mask|simple|percpu|event|virq|ipi|msi|msi-x|demux|bad"
# Chip, number at the chip and type (kernel/irq/proc.c, show_interrupts): "IR-PCI-MSI 524288-edge", "GICv3  27 Level",
# "ITS-PCI-MSI-0000:01:00.0   1 Edge"; the words of a chip's name stand one blank apart: "MIPS GIC  10  ethernet".
# A kernel with Xenomai marks what is served out of band: "IR-PCI-MSI-0000:00:19.0      0 oob-edge      eno1".
_NEW_CHIP = re.compile(
    rf"(\S+(?: [A-Za-z]\S*){{0,4}})\s+([0-9]{{1,12}})(?:\s+oob(?![a-z]))?"
    rf"(?:\s*-\s*({_TYPES})|\s+(Edge|Level)(?:-\S+)?)?(?:\s+(\S.*))?\s*",
    re.IGNORECASE,
)
# Before 4.0: chip and type in one word, "PCI-MSI-edge", "xen-dyn-event"; or a chip without type, "PCI-MSI-X", "XT-PIC".
_OLD_CHIP = re.compile(rf"(\S+?)\s*-({_TYPES})(?:\s+(\S.*))?\s*")
# The same with any name of a handler, which stands behind blanks: "xen-pirq     -ioapic-level  acpi".
_NAMED_HANDLER = re.compile(r"(\S+)\s+-([a-z][a-z0-9_-]{1,20})(?:\s+(\S.*))?\s*")
# Chips without numbers where the kernel shows levels: "xen-dyn     Edge    -virq      hvc_console".
_LEVEL_CHIP = re.compile(r"(\S+)\s+(Edge|Level)(?:\s+-\S+)?(?:\s+(\S.*))?\s*")
# Type and number stand behind the chip: where they are taken for an action, something before them cannot be read.
_NO_ACTION = re.compile(rf"(?:\S+\s*)?-(?:{_TYPES})(?:\s|$)|(?:\S+\s+)?(?:Edge|Level)\s")
_BARE_CHIP = re.compile(r"(\S+)(?:\s+(\S.*))?\s*")


def read_interrupts(text: str) -> Interrupts:
    """Read ``/proc/interrupts``, whole or filtered with grep (then the heading may be missing).

    :raises ReadError: when a line has fewer counts than there are CPUs: it is cut.
    """
    cpus: tuple[int, ...] | None = None
    rows: list[Interrupt] = []
    for number, line in transcript(text, "cat", "grep", "egrep", "head", "more", "less", "awk", "watch").filled:
        if cpus is None and not rows and _HEADING.fullmatch(line.strip()):
            cpus = tuple(int(word.removeprefix("CPU")) for word in line.split())
            continue
        rows.append(_row(number, line, cpus))
    if not rows:
        raise unreadable(_KIND, "text", text, "a heading of CPUs and at least one interrupt")
    if cpus is None:
        _alike(rows, text)
    names: set[int | str] = set()
    for row in rows:
        if row.irq in names:
            raise unreadable(_KIND, f"interrupt {row.irq}", text, "each interrupt once")
        names.add(row.irq)
    return Interrupts(cpus, tuple(rows))


def _alike(rows: list[Interrupt], text: str) -> None:
    """Lines without heading must show by themselves that they are interrupts."""
    numbered_rows = [row for row in rows if isinstance(row.irq, int)]
    if len({len(row.counts) for row in numbered_rows}) > 1 or any(row.chip is None for row in numbered_rows):
        raise unreadable(_KIND, "text", text, "a heading of CPUs, or lines with equally many counts and a chip")
    if not numbered_rows and not all(row.description and str(row.irq)[0].isupper() for row in rows):
        raise unreadable(_KIND, "text", text, "at least one interrupt")


def _row(number: int, line: str, cpus: tuple[int, ...] | None) -> Interrupt:
    where = f"line {number}"
    match = _ROW.fullmatch(line)
    if match is None:
        raise unreadable(_KIND, where, line, "'IRQ: COUNTS CHIP ACTIONS'")
    name, rest = match[1], (match[2] or "").strip()
    wanted = len(cpus) if cpus is not None else None
    if name == _UNCOUNTED and rest and not rest[0].isdecimal():
        return Interrupt(name, (), None, None, None, None, _actions(rest), None)
    words = _leading_counts(rest, wanted)
    if not words:
        raise unreadable(_KIND, where, line, "a count for each CPU")
    if name.isdecimal() and wanted is not None and len(words) < wanted:
        raise unreadable(_KIND, where, line, f"{wanted} counts, found {len(words)}")
    if wanted is not None and len(words) < wanted and (len(words) > 1 or name.upper() not in _OF_THE_MACHINE):
        raise unreadable(_KIND, where, line, f"{wanted} counts, found {len(words)}")
    counts = tuple(whole_number(_KIND, where, word, "a count") for word in words)
    tail = rest.split(None, len(words))[len(words)] if len(rest.split(None, len(words))) > len(words) else ""
    if not name.isdecimal():
        return Interrupt(name, counts, sum(counts), None, None, None, (), tail.strip() or None)
    chip, hwirq, kind, actions = _chip(tail.strip())
    if actions and _NO_ACTION.match(actions[0]):
        raise unreadable(_KIND, where, tail.strip(), "chip, number at the chip and type, then actions")
    return Interrupt(int(name), counts, sum(counts), chip, hwirq, kind, actions, None)


def _leading_counts(text: str, wanted: int | None) -> list[str]:
    """The counts at the beginning: as many as there are CPUs; without a heading, as many as there are."""
    counts: list[str] = []
    for word in text.split(None, wanted if wanted is not None else -1):
        if not _COUNT.fullmatch(word) or (wanted is not None and len(counts) == wanted):
            break
        counts.append(word)
    return counts


def _chip(text: str) -> tuple[str | None, int | None, str | None, tuple[str, ...]]:
    """Chip, number at the chip, type and actions of what stands after the counts."""
    new, old, bare = _NEW_CHIP.fullmatch(text), _OLD_CHIP.fullmatch(text), _BARE_CHIP.fullmatch(text)
    level, handled = _LEVEL_CHIP.fullmatch(text), _NAMED_HANDLER.fullmatch(text)
    if level is not None:
        return _named(level[1]), None, level[2].lower(), _actions(level[3])
    if new is not None:
        kind = new[3] or new[4]
        return _named(new[1]), int(new[2]), kind.lower() if kind else None, _actions(new[5])
    if handled is not None:
        return _named(handled[1]), None, handled[2], _actions(handled[3])
    if old is not None:
        return _named(old[1]), None, old[2], _actions(old[3])
    if bare is not None:
        return _named(bare[1]), None, None, _actions(bare[2])
    return None, None, None, ()


def _named(chip: str) -> str | None:
    return None if chip in ("None", "none", "-") else chip


def _actions(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(", ") if name.strip())
