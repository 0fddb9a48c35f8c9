"""Reader of the kernel log: ``dmesg`` with or without -x, -T, -d, -H and --time-format=iso, and syslog files."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.kernel_records import KernelEventKind, KernelLog
from niclab.hosts.linux.kernel_drivers import driver_event
from niclab.hosts.linux.kernel_events import kernel_event
from niclab.hosts.linux.kernel_subject import DRIVERS
from niclab.hosts.reading import numbered, ungrepped
from niclab.hosts.records import KernelLine
from niclab.hosts.transcript import transcript

_KIND = "dmesg"

_LEVEL = re.compile(r"(?:<[0-9]{1,3}>|[a-z]{3,8}\s*:[a-z]{3,6}\s*: )")
_CALLER = r"(?: ?\[\s*[TC][0-9]{1,10}\])?"
_UPTIME = re.compile(rf"\[\s*([0-9]{{1,10}}\.[0-9]{{1,9}})(?:\s*<\s*[0-9.]{{1,20}}>)?\]{_CALLER} ?")
_WALL_CLOCK = re.compile(
    # Days and months are named in the user's language.
    r"(?:\[([^\s\[\]]{1,12} {1,3}[^\s\[\]]{1,12} {1,4}[0-9]{1,2} [0-9:]{8} [0-9]{4})\]|([0-9-]{10}T[0-9:,.+-]{14,24})"
    rf"|\[([A-Z][a-z]{{2}} ?[ 0-9][0-9] [0-9:]{{5}}|\s*\+[0-9]{{1,8}}\.[0-9]{{1,9}})\]){_CALLER} ?"
)
# A day of one digit has one blank before it where a page shows two blanks as one.
# OpenWrt's logread writes the day of the week, the year, and facility and level where others have the host; busybox has
# them behind the host. The last two forms of the time are -o short-full and -o short-unix of journalctl.
_SYSLOG = re.compile(
    r"(?:<[0-9]{1,3}>)?"
    r"([A-Z][a-z]{2} [ 0-9]?[0-9] [0-9:]{8}(?:\.[0-9]{1,9})?|[0-9-]{10}T[0-9:.]{8,18}(?:Z|[+-][0-9:]{4,5})"
    r"|[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]?[0-9] [0-9:]{8} [0-9]{4}(?= [a-z0-9]{3,10}\.[a-z]{3,6} )"
    r"|[A-Z][a-z]{2} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}(?:\.[0-9]{1,9})? [A-Z0-9+-]{2,6}"
    r"|[0-9]{9,11}\.[0-9]{6})"
    r"(?: [A-Za-z0-9][A-Za-z0-9._-]{0,80})?(?: [a-z0-9]{3,10}\.[a-z]{3,6})? "
    r"([A-Za-z0-9_./()-]{1,60})(?:\[[0-9]{1,10}\])?: ?(.*)"
)
# RFC 5424: priority, version, time, host, program, process, message id, structured data.
_SYSLOG_5424 = re.compile(
    r"(?:<[0-9]{1,3}>)?1 ([0-9-]{10}T[0-9:.]{8,18}(?:Z|[+-][0-9:]{4,5})) \S{1,255} (\S{1,48}) \S{1,128} \S{1,32} "
    r"(?:-|(?:\[[^\]]{0,400}\]){1,4}) ?(.*)"
)
# journalctl -o short-monotonic has the kernel's clock before host and program.
_SINCE_BOOT = re.compile(r"(\[ {0,8}[0-9]{1,10}\.[0-9]{6}\]) [A-Za-z0-9][A-Za-z0-9._-]{0,80} kernel: ?(?=\S)")
_JOURNAL = re.compile(r"-- (?:(?:Logs|Journal) begins? at|Boot [0-9a-f]{32}|Reboot|No entries) ?.{0,200}--")
# How lines of a log without any stamp begin (printk.time is off on RHEL 5 and older).
_BARE_KERNEL = re.compile(
    r"Linux version |(?:Kernel c|C)ommand line: |BIOS-|ACPI: |PCI: |pci[a-z]* [0-9a-f:.]{7,12}|usb [0-9-]+"
    r"|NET: Registered|Memory: |CPU ?[0-9]{0,4}: [A-Z(]|scsi[0-9 ]|sd[a-z ][ :]|ata[0-9.]+: |EXT[234]-fs"
    r"|device \S+ (?:entered|left)|[a-z0-9_]+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7][ :]|Call Trace|Copyright "
    # ifconfig and iwconfig print a name of an interface and a colon, too: "eth0: flags=4163<UP,..>", "eth0: error ..".
    r"|(?:eth|em|bond|team|br|vlan|en[opsx]|p[0-9]+p)[0-9][a-z0-9.]{0,12}: (?!flags=|error )[A-Za-z]"
    rf"|(?:{'|'.join(sorted(DRIVERS))}|bonding|pcieport|8021q): [A-Za-z]"
)


def read_dmesg(text: str) -> tuple[KernelLine, ...]:
    """Every line of the kernel log, empty ones left out. A log may be empty; any text is a kernel log."""
    lines = (_line(line.strip("\x00")) for _, line in numbered(text) if line.strip("\x00 \t"))
    return tuple(line for line in lines if line is not None)


def read_kernel_log(text: str) -> KernelLog:
    """The notable lines of a text that must be a kernel log, with what drivers say of themselves when they load.

    :raises ReadError: when dmesg complains, or nothing shows that this is the log of a kernel.
    """
    seen = transcript(text, "dmesg", "journalctl", "cat", "grep", "tail", "zgrep", "egrep", whole=False).filled
    for number, line in seen:
        if line.startswith(("dmesg: ", "klogctl: ")):
            raise unreadable(_KIND, f"line {number}", line, "the kernel log; the tool complains")
    lines = read_dmesg("\n".join(ungrepped(line) for _, line in seen))
    events = tuple(event for line in lines for event in (kernel_event(line), driver_event(line)) if event is not None)
    stamped = any(line.seconds is not None or line.time is not None for line in lines)
    telling = any(event.kind is not KernelEventKind.CARD_FOUND for event in events)  # names of cards stand in any text
    if not stamped and not telling and not any(_BARE_KERNEL.match(line.text.lstrip()) for line in lines):
        raise unreadable(_KIND, "text", text, "lines of a kernel log")
    return KernelLog(lines=len(lines), events=events)


def _line(line: str) -> KernelLine | None:
    """None for a line of a syslog file that another program wrote. People cut the time and the host away as well."""
    begin = line.lstrip(" \t")
    if begin.startswith("-- ") and _JOURNAL.fullmatch(begin.rstrip()):
        return None
    since_boot = _SINCE_BOOT.match(begin)
    if since_boot is not None:
        return _stamped(f"{since_boot[1]} {begin[since_boot.end() :]}")
    syslog = _SYSLOG.match(begin) or _SYSLOG_5424.match(begin)
    if syslog is not None:
        if syslog[2] != "kernel":
            return None
        inner = _stamped(syslog[3])
        return KernelLine(inner.seconds, inner.text, syslog[1])
    return _stamped(begin.removeprefix("kernel: ") if begin.startswith("kernel: ") else line)


def _stamped(line: str) -> KernelLine:
    begin = line.lstrip(" \t")
    level = _LEVEL.match(begin)
    rest = begin[level.end() :] if level else begin
    stamp = _UPTIME.match(rest)
    if stamp is not None:
        return KernelLine(float(stamp[1]), rest[stamp.end() :])
    clock = _WALL_CLOCK.match(rest)
    if clock is None:
        return KernelLine(None, rest if level else line)
    return KernelLine(None, rest[clock.end() :], clock[1] or clock[2] or clock[3].strip())
