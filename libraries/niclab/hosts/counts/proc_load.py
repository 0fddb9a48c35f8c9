"""Readers of a Linux host's load: ``/proc/stat`` and the statistics of a port in sysfs."""

from __future__ import annotations

import re
from dataclasses import fields

from niclab.hosts.counts.load_records import CpuTime, CpuTimes, FrameCounters, Load
from niclab.hosts.errors import unreadable
from niclab.hosts.reading import numbered, whole_number

_PROC_STAT = "/proc/stat"
_STATISTICS = "statistics of an interface"
_CPU = re.compile(r"cpu([0-9]{1,5})((?:\s+[0-9]{1,20}){7,10})\s*")
FRAME_COUNTERS = tuple(each.name for each in fields(FrameCounters))


def read_proc_stat(text: str) -> CpuTimes:
    """Read ``/proc/stat`` (proc(5)): the lines of the single CPUs; user, nice, system, idle, iowait, irq.

    Softirq and, from 2.6.11 on, steal. What follows (guest times) is contained in user and nice.

    Raises:
        ReadError: Without CPUs, for a CPU that occurs twice, or a line of other fields.
    """
    found: dict[int, CpuTime] = {}
    for number, line in numbered(text):
        if not re.match(r"cpu[0-9]", line):
            continue
        match = _CPU.fullmatch(line)
        if match is None or int(match[1]) in found:
            raise unreadable(_PROC_STAT, f"line {number}", line, "'cpuN' once, with 7 to 10 whole numbers")
        user, nice, system, idle, iowait, irq, softirq, *rest = map(int, match[2].split())
        found[int(match[1])] = CpuTime(user, nice, system, idle, iowait, irq, softirq, rest[0] if rest else None)
    if not found:
        raise unreadable(_PROC_STAT, "text", text, "a line 'cpu0 ...'")
    return CpuTimes(found)


def read_frame_counters(text: str) -> FrameCounters:
    """Read ``NAME:VALUE`` lines, as ``grep . FILE FILE ...`` prints the files of ``/sys/class/net/IFACE/statistics``.

    Raises:
        ReadError: When one of the counters is missing, occurs twice, or is no whole number.
    """
    found: dict[str, int] = {}
    for number, line in numbered(text):
        if not line.strip():
            continue
        name, _, value = line.partition(":")
        if name not in FRAME_COUNTERS or name in found:
            raise unreadable(_STATISTICS, f"line {number}", line, f"one of {', '.join(FRAME_COUNTERS)}, once")
        found[name] = whole_number(_STATISTICS, f"line {number}", value, name)
    missing = [name for name in FRAME_COUNTERS if name not in found]
    if missing:
        raise unreadable(_STATISTICS, "text", text, f"also {', '.join(missing)}")
    return FrameCounters(**found)


def read_load(text: str) -> Load:
    """Read lines of ``/proc/stat`` that begin with ``cpu``, and after them the counters of a port.

    Raises:
        ReadError: As :func:`read_proc_stat` and :func:`read_frame_counters`.
    """
    lines = text.splitlines(keepends=True)
    cpus = [line for line in lines if line.startswith("cpu")]
    return Load(read_proc_stat("".join(cpus)), read_frame_counters("".join(lines[len(cpus) :])))
