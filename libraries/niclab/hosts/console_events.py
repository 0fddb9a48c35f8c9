"""What happened on a console, from its log: firmware, boot loader, kernel, init, login, deaths, reboots.

Deaths are recognised by the same signs that every wait on a console watches for
(:mod:`niclab.transports.kernel_death`). The text may be raw: escape sequences, carriage returns, NUL bytes, wrong
bytes, the time stamps of our own logs and of the kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.freebsd.dmesg import read_bsd_dmesg
from niclab.hosts.linux.dmesg import read_kernel_log
from niclab.transports.console_shell import ESCAPE_SEQUENCE
from niclab.transports.kernel_death import Sign, sign_of


class ConsoleEventKind(StrEnum):
    """``kernel``: a kernel started. ``panic`` and after: a kernel died or suffers. ``login``: somebody may log in."""

    BIOS = "bios"
    UEFI = "uefi"
    PXE = "pxe"
    GRUB = "grub"
    LOADER = "loader"
    KERNEL = "kernel"
    COMMAND_LINE = "command_line"
    INITRD = "initrd"
    INIT = "init"
    EMERGENCY = "emergency"
    LOGIN = "login"
    LOGIN_FAILED = "login_failed"
    SHUTDOWN = "shutdown"
    REBOOT = "reboot"
    POWEROFF = "poweroff"
    PANIC = "panic"
    OOPS = "oops"
    LOCKUP = "lockup"
    RCU_STALL = "rcu_stall"
    DEBUGGER = "debugger"
    HUNG_TASK = "hung_task"
    OUT_OF_MEMORY = "out_of_memory"
    HARDWARE_ERROR = "hardware_error"


_Kind = ConsoleEventKind

_DEATHS = {
    Sign.PANIC: _Kind.PANIC,
    Sign.FREEBSD_PANIC: _Kind.PANIC,
    Sign.FREEBSD_TRAP: _Kind.PANIC,
    Sign.OOPS: _Kind.OOPS,
    Sign.BUG: _Kind.OOPS,
    Sign.BUG_AT: _Kind.OOPS,
    Sign.BAD_ADDRESS: _Kind.OOPS,
    Sign.PROTECTION_FAULT: _Kind.OOPS,
    Sign.SOFT_LOCKUP: _Kind.LOCKUP,
    Sign.HARD_LOCKUP: _Kind.LOCKUP,
    Sign.RCU_STALL: _Kind.RCU_STALL,
    Sign.FREEBSD_DEBUGGER: _Kind.DEBUGGER,
    Sign.FREEBSD_DEBUGGER_ENTERED: _Kind.DEBUGGER,
}

# First match wins. Sources: SeaBIOS src/, edk2 BdsDxe, iPXE src/usr/autoboot.c, grub-core/normal/, stand/ of FreeBSD,
# Linux init/main.c and kernel/reboot.c, systemd src/core, dracut, initramfs-tools; BIOS vendors' own screens.
_WORDS: tuple[tuple[ConsoleEventKind, tuple[str, ...]], ...] = (
    (_Kind.HUNG_TASK, (r"blocked for more than \d{1,6} seconds",)),
    (_Kind.OUT_OF_MEMORY, ("Out of memory: Kill", "Memory cgroup out of memory", "was killed: out of swap space")),
    (_Kind.HARDWARE_ERROR, (r"\[Hardware Error\]", "Machine check events logged", r"^MCA: ")),
    (
        _Kind.REBOOT,
        (
            "reboot: Restarting system",
            r"^Restarting system\.",
            r"^Rebooting\.",
            "systemd-shutdown.{0,40}Rebooting",
            r"(?:Rebooting|Automatic reboot) in \d{1,6} ?seconds",
            r"cpu_reset: ",
            r"^Please stand by while rebooting the system",
        ),
    ),
    (
        _Kind.POWEROFF,
        (
            "reboot: Power down",
            "reboot: System halted",
            r"^Power down\.",
            "systemd-shutdown.{0,40}Power(?:ing)? off",
            r"^Powering off\.",
            "The operating system has halted",
            "Powering system off",
            r"^System halted",
        ),
    ),
    (
        _Kind.SHUTDOWN,
        (
            r"The system is going down",
            r"Reached target .{0,20}(?:Shutdown|System Reboot|System Power Off|Reboot|Power-Off)",
            r"Waiting \(max \d{1,4} seconds\) for system process",
            r"^Stopping cron|^Shutdown NOW|^INIT: Switching to runlevel: [06]",
        ),
    ),
    (
        _Kind.EMERGENCY,
        (
            r"\b(?:emergency|rescue|maintenance) mode\b",
            "Give root password for maintenance",
            "Press Enter for maintenance",
            r"^Enter full pathname of shell or RETURN",
            r"^\(initramfs\)",
            r"^dracut:/#",
            r"^mountroot>",
            "Entering emergency",
            "ALERT! .{1,100} does not exist",
        ),
    ),
    (
        _Kind.KERNEL,
        (r"^Linux version \d", r"Copyright \(c\) 1992-\d{4} The FreeBSD Project", r"^---<<BOOT>>---"),
    ),
    (_Kind.COMMAND_LINE, (r"^(?:Kernel c|C)ommand line: ",)),
    (
        _Kind.INITRD,
        (
            r"Run /\S{0,40}init as init process",
            r"^Begin: (?:Running /scripts|Loading essential drivers|Mounting root)",
            r"^Loading, please wait",
            r"^dracut: ",
            r"^Starting dracut",
            "running in initrd",
            r"in initrd mode|running in system mode .{0,400}\binitrd\b",
        ),
    ),
    (
        _Kind.INIT,
        (
            r"systemd(?:\[1\])?: ?systemd \d{1,4}.{0,60} running in system mode",
            r"^INIT: version",
            r"^Welcome to (?!GRUB|FreeBSD\s*$).{1,80}!$",
            r"^Trying to mount root from ",
            r"^Setting hostuuid: ",
            r"^start_init: trying ",
        ),
    ),
    (
        _Kind.GRUB,
        (
            r"GNU GRUB|Welcome to GRUB",
            r"^GRUB ?[Ll]oading|^GRUB$",
            r"^grub(?: rescue)?>",
            r"^Press any key to enter the menu",
            r"^Booting [`'\"]",
            r"^Loading (?:Linux|initial ramdisk)\b",
        ),
    ),
    (
        _Kind.LOADER,
        (
            r"(?:BTX|FreeBSD\S*) (?:bootstrap )?loader",
            r"FreeBSD/\w{1,12} (?:[\w-]{1,20} ){0,3}(?:loader|boot|block)\b",
            r"^\W{0,30}Welcome to FreeBSD\b",
            r"Hit \[Enter\] to boot immediately",
            r"^Booting \[/boot/",
            r"/boot/kernel/kernel (?:text|data)=",
            r"^Loading kernel\.\.\.",
            r"^(?:SYSLINUX|ISOLINUX|EXTLINUX|PXELINUX) ",
            r"^Loading (?:vmlinuz|initrd)\b",
            r"^(?:Dec|Unc)ompressing Linux",
            r"^Starting kernel \.\.\.",
            r"^Booting the kernel",
            r"^EFI stub: ",
            r"^systemd-boot ",
            r"^U-Boot (?:[ST]PL )?\d",
        ),
    ),
    (
        _Kind.PXE,
        (
            r"\biPXE\b",
            r"^PXE-[A-Z]\d\d",
            "Intel(?:\\(R\\))? Boot Agent",
            r"^CLIENT MAC ADDR",
            r">>\s?(?:Start|Checking) (?:PXE|HTTP)",
            r"\bPXE (?:over IPv[46]|boot)\b|Booting from (?:PXE|Network)",
        ),
    ),
    (
        _Kind.UEFI,
        (r"^BdsDxe: ", r"UEFI Interactive Shell", r"^Shell>", r"UEFI firmware \(version", r"^UEFI v?\d", r"^FSOpen: "),
    ),
    (
        _Kind.BIOS,
        (
            r"SeaBIOS \(version",
            # A kernel names them behind a colon: "Hardware name: HP ProLiant DL380 Gen9, BIOS P89".
            r"^[^:]{0,120}(?:AMIBIOS|American Megatrends)",
            r"^(?:\[\w{2,8} {0,2}\] {1,2})?coreboot-\S{1,60} .*(?:bootblock|romstage|ramstage|postcar) starting",
            r"[Pp]ress\s?<?(?:DEL|Del|F2|F10|F1|F9|ESC|Esc)>? ?(?:key )?(?:now )?(?:to|or|for|,)",
            r"Phoenix(?:BIOS| BIOS| SecureCore| TrustedCore| Technologies)",
            r"Award (?:Modular |Medallion )?BIOS",
            "Reboot and Select proper Boot device|^Operating System not found",
            r"Booting from (?:Hard ?[Dd]is[ck]|Hard Drive|DVD|CD|Floppy|ROM|USB|[0-9A-Fa-f]{4}:[0-9A-Fa-f]{4})",
            r"No bootable device",
            r"^[^:]{0,120}(?:ProLiant System BIOS|HPE? ProLiant|Dell Inc\. .{0,20}BIOS)",
            r"BIOS (?:Date|Version|Revision)\b",
            r"^F2 += |F12 += |^F2 - ",
            r"Lifecycle Controller|Initializing (?:firmware interfaces|iDRAC)",
            r"Power-?[Oo]n [Ss]elf",
            r"^Boot[A-Za-z ]{0,20} ?Menu",
        ),
    ),
    (_Kind.LOGIN_FAILED, (r"^Login incorrect", r"^Authentication failure")),
    (_Kind.LOGIN, (r"^(?:\S{1,64} )?login: ?$",)),
)
_PATTERNS = tuple((kind, re.compile("|".join(f"(?:{word})" for word in words))) for kind, words in _WORDS)

# A screen moves the cursor instead of ending lines: what is at another place is another line.
_BREAK = re.compile(r"\n|\r|\x1b\[[0-9;]{0,10}[HfJ]")
_STAMPS = re.compile(
    r"(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?(?:Z|[+-]\d\d:?\d\d)?\]? |\[\d\d:\d\d:\d\d\] )?"
    r"(?:<\d{1,3}>)?(?:\[ {0,10}(?P<uptime>\d{1,10}(?:\.\d{1,9})?)\](?:\[\s{0,5}[TC]\d{1,7}\])? ?)?"
)
# Somebody has logged in, or init tells what it starts.
_SESSION = re.compile(
    r"^(?:\S{1,64} )?login: [a-z_][a-z0-9_.-]{0,31}$|^FreeBSD/\w{1,12} \(\S{1,64}\) \(tty|^Last login: "
    r"|^\[ {1,2}(?:OK|FAILED) {1,2}\] [A-Z]",
    re.MULTILINE,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]")
_SEARCHED = 4096  # characters of one line; kernel lines end at 1 kB


@dataclass(frozen=True)
class ConsoleEvent:
    """``line``: number from 1, a line ends with a line feed.

    ``offset``: of its first character in the text. ``uptime_s``: the kernel's stamp. ``text``: the line without
    stamps and escape sequences.
    """

    kind: ConsoleEventKind
    line: int
    offset: int
    uptime_s: float | None
    text: str


@dataclass(frozen=True)
class ConsoleLogText:
    """What happened, in order; ``lines``: how many lines the log has."""

    lines: int
    events: tuple[ConsoleEvent, ...]


def read_console(text: str) -> ConsoleLogText:
    """Read the log of a console.

    Raises:
        ReadError: When nothing happened in it and nothing shows that this is a console at all: an excerpt with lines of
            a kernel alone is a quiet console, any other text is none.
    """
    events = tuple(_events(text))
    if not events and not _is_console("\n".join(said for _, _, said in _segments(text))):
        raise unreadable("console", "text", text, "the log of a console: a known event, or lines of a kernel")
    return ConsoleLogText(text.rstrip("\n").count("\n") + 1, events)


def _is_console(said: str) -> bool:
    if _SESSION.search(said):
        return True
    for read_log in (read_kernel_log, read_bsd_dmesg):
        with suppress(ReadError):
            read_log(said)
            return True
    return False


def _events(text: str) -> Iterator[ConsoleEvent]:
    for line, offset, segment in _segments(text):
        stamp = _STAMPS.match(segment)
        uptime = stamp["uptime"] if stamp else None
        said = segment[stamp.end() :] if stamp else segment
        kind = _kind(said)
        if kind is not None:
            yield ConsoleEvent(kind, line, offset, float(uptime) if uptime else None, said.strip())


def _kind(said: str) -> ConsoleEventKind | None:
    sign = sign_of(f"{said} ")  # the blank behind the debugger's prompt may be lost
    if sign is not None:
        return _DEATHS[sign]
    trimmed = said.strip()
    return next((kind for kind, pattern in _PATTERNS if pattern.search(trimmed)), None)


def _segments(text: str) -> Iterator[tuple[int, int, str]]:
    """Line number, offset and clean text of each piece that is on a line of its own."""
    line, begin = 1, 0
    for cut in _BREAK.finditer(text):
        yield from _segment(text, line, begin, cut.start())
        line += cut[0] == "\n"
        begin = cut.end()
    yield from _segment(text, line, begin, len(text))


def _segment(text: str, line: int, begin: int, end: int) -> Iterator[tuple[int, int, str]]:
    raw = text[begin : min(end, begin + _SEARCHED)]
    plain = _CONTROL.sub("", ESCAPE_SEQUENCE.sub("", raw))
    if plain.strip():
        yield line, begin, plain
