"""The system event log as ipmitool prints it: ``sel list`` and ``sel elist``, with ``-c`` as well.

Shapes are those of ipmi_sel_print_std_entry() in lib/ipmi_sel.c of ipmitool 1.8.8 to 1.8.19. Words of events are those
of its tables of generic and sensor specific event types (include/ipmitool/ipmi_sel.h).
"""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.ipmitool_records import SelLine

_KIND = "ipmi"
_ID = re.compile(r"[0-9A-Fa-f]{1,4}")
# 06/03/2014, 06/03/14, 2014-06-03, 03.06.2014: the newer versions print the date of the locale.
_DATE = re.compile(r"[0-9]{1,4}[/.-][0-9]{1,2}[/.-][0-9]{2,4}")
_TIME = re.compile(r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?: [AP]M)?(?: [A-Z0-9+:-]{1,9})?")
_PRE_INIT = re.compile(r"Pre-Init(?: Time-stamp)?|Unspecified|S\+.*", re.IGNORECASE)
_UPTIME = re.compile(r"[0-9]{1,10}")
_CROSSED = re.compile(r"Reading -?[0-9.]{1,12} (?:[<>=]{1,2}) Threshold -?[0-9.]{1,12}(?: .{0,30})?")
_OF_A_BLOCK = re.compile(r"\s*(?:[A-Z][^:|]{0,60}:|\[.{0,80}\]|--$)")
_OEM = re.compile(r"OEM record [0-9a-f]{2}.*|Linux kernel panic: .*", re.IGNORECASE)

# States that are good: when they go, something is wrong.
_GOOD = re.compile(
    r"fully redundant|full redundancy|presence detected|device (?:present|enabled|inserted)|drive present|"
    r"transition to ok|connected",
    re.IGNORECASE,
)
# States that are bad: when they come, something is wrong.
_BAD = re.compile(
    r"fail|fault|lost|critical|non-recoverable|unrecoverable|uncorrectable|degrad|non-redundant|redundancy|"
    r"going (?:low|high)|ierr|thermal trip|error|parity|perr|serr|panic|bus timeout|timer|predictive|overload|"
    r"over-?(?:heat|temperature|current|voltage)|corrupt|intrusion|removed|absent|out.of.range|mismatch|invalid|nmi\b|"
    r"machine check|throttl|disconnect|ecc|log (?:almost )?full|limit exceeded|non-operational|offline|unresponsive|"
    r"no memory",
    re.IGNORECASE,
)


def is_entry(cells: list[str]) -> bool:
    """Whether the cells of a line are an entry of the event log."""
    if len(cells) < 2 or not _ID.fullmatch(cells[0]):
        return False
    return any(pattern.fullmatch(cells[1]) for pattern in (_DATE, _PRE_INIT, _OEM)) or (
        len(cells) > 3 and cells[1] == "" and _OEM.fullmatch(cells[3]) is not None
    )


def entry(number: int, cells: list[str]) -> SelLine:
    """The entry on this line."""
    if not is_entry(cells):
        raise unreadable(_KIND, f"line {number}", " | ".join(cells), "an entry 'id | date | time | sensor | event'")
    date, time, pre_init, uptime_s, rest = _moment(number, cells[1:])
    if not rest or not any(rest):
        raise unreadable(_KIND, f"line {number}", " | ".join(cells), "a sensor and an event after the time")
    if _OEM.fullmatch(rest[0]):
        event = " | ".join(cell for cell in rest[1:] if cell) or None
        panic = rest[0].lower().startswith("linux kernel panic")
        return SelLine(int(cells[0], 16), date, time, pre_init, uptime_s, rest[0], event, None, None, panic)
    if len(rest) < 2:
        raise unreadable(_KIND, f"line {number}", " | ".join(cells), "an event after the sensor")
    sensor, event_text, *more = rest
    asserted, reading = _direction(number, more)
    return SelLine(
        id=int(cells[0], 16),
        date=date,
        time=time,
        pre_init=pre_init,
        uptime_s=uptime_s,
        sensor=sensor or None,
        event=event_text or None,
        asserted=asserted,
        reading=reading,
        fault=is_fault(event_text, asserted),
    )


def refuse_cut(number: int, entries: list[SelLine]) -> None:
    """Refuse a list whose last event alone has no direction: one version prints that of every event or of none. Records
    of a maker have none in any version."""
    *others, last = entries
    told = others and all(entry.asserted is not None for entry in others)
    of_maker = last.sensor is not None and _OEM.fullmatch(last.sensor)
    if told and last.event and last.date is not None and last.asserted is None and not of_maker:
        raise unreadable(_KIND, f"line {number}", last.event, "Asserted or Deasserted behind it, as in the other lines")


def refuse_twice(entries: list[SelLine]) -> None:
    """Refuse two logs in one text: an id is that of one entry."""
    seen: set[int] = set()
    for entry in entries:
        if entry.id in seen:
            raise unreadable(_KIND, "id of an entry", f"{entry.id:x}", "each id once, of one log")
        seen.add(entry.id)


def verbose_entries(lines: tuple[tuple[int, str], ...]) -> tuple[SelLine, ...]:
    """The entries of ``sel list -v`` and ``sel get``: blocks that begin with ``SEL Record ID``.

    ``sel get`` prints the sensor below its entry, as it is now: that is no part of the entry.
    """
    blocks: list[tuple[int, dict[str, str]]] = []
    of_sensor = False
    for number, line in lines:
        name, colon, value = (part.strip() for part in line.partition(":"))
        if name == "SEL Record ID":
            blocks.append((number, {}))
            of_sensor = False
        of_sensor = of_sensor or name == "Sensor ID"
        if not _OF_A_BLOCK.match(line):
            raise unreadable(_KIND, f"line {number}", line, "a line 'Name : value' of an entry or its sensor")
        if of_sensor or name == "--":  # grep's line between what it found
            continue
        if not colon or not name:
            raise unreadable(_KIND, f"line {number}", line, "a line 'Name : value' of an entry")
        blocks[-1][1].setdefault(name, value)
    entries = [_verbose_entry(number, fields) for number, fields in blocks]
    refuse_twice(entries)
    return tuple(entries)


def _verbose_entry(number: int, fields: dict[str, str]) -> SelLine:
    identity = fields["SEL Record ID"]
    if not _ID.fullmatch(identity):
        raise unreadable(_KIND, f"line {number}", identity, "the id of an entry in hex")
    if "Timestamp" not in fields and "OEM Defined" not in fields and "Panic string" not in fields:
        raise unreadable(_KIND, f"line {number}", sorted(fields), "the timestamp of an entry")
    direction = {"Assertion Event": True, "Deassertion Event": False}.get(fields.get("Event Direction", ""))
    date, _, time = fields.get("Timestamp", "").partition(" ")
    dated = _DATE.fullmatch(date) is not None
    sensor, place = fields.get("Sensor Type"), fields.get("Sensor Number")
    event = fields.get("Description") or fields.get("OEM Defined") or fields.get("Panic string") or None
    return SelLine(
        id=int(identity, 16),
        date=date if dated else None,
        time=time if dated and _TIME.fullmatch(time) else None,  # 1.8.19 prints the date there, too
        pre_init=_PRE_INIT.match(fields.get("Timestamp", "")) is not None,
        uptime_s=None,
        sensor=f"{sensor} #0x{place.lower()}" if sensor and place else sensor or fields.get("Record Type"),
        event=event,
        asserted=direction,
        reading=fields.get("Trigger Reading"),
        fault=is_fault(event or "", direction) or "Panic string" in fields,
    )


def is_fault(event: str, asserted: bool | None) -> bool:
    """Whether the event tells of something wrong. Without a direction an event is one that came."""
    if _GOOD.match(event):
        return asserted is False
    return bool(_BAD.search(event)) and asserted is not False


def _moment(number: int, cells: list[str]) -> tuple[str | None, str | None, bool, int | None, list[str]]:
    """Date, time, whether the clock was not set yet, the BMC's uptime, and the cells after them."""
    if _OEM.fullmatch(cells[0]):
        return None, None, False, None, cells
    if not cells[0]:
        return None, None, False, None, cells[2:]
    if _PRE_INIT.fullmatch(cells[0]):
        if len(cells) > 1 and _UPTIME.fullmatch(cells[1]):
            return None, None, True, int(cells[1]), cells[2:]
        timed = len(cells) > 1 and (_TIME.fullmatch(cells[1]) or _PRE_INIT.fullmatch(cells[1]))
        return None, None, True, None, cells[2:] if timed else cells[1:]
    if len(cells) < 2 or not _TIME.fullmatch(cells[1]):
        raise unreadable(_KIND, f"line {number}", cells[1] if len(cells) > 1 else "", "a time such as 17:38:05")
    return cells[0], cells[1], False, None, cells[2:]


def _direction(number: int, cells: list[str]) -> tuple[bool | None, str | None]:
    asserted: bool | None = None
    reading: str | None = None
    for cell in cells:
        if cell in ("Asserted", "Deasserted"):
            asserted = cell == "Asserted"
        elif _CROSSED.fullmatch(cell) or re.fullmatch(r"CPU [0-9]{1,2} DIMM [0-9]{1,2}", cell):
            reading = cell.removeprefix("Reading ")
        elif cell:
            raise unreadable(_KIND, f"line {number}", cell, "Asserted, Deasserted or 'Reading ...'")
    return asserted, reading
