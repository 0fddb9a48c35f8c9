"""FreeBSD host: the system itself: time, release, tools, kernel log, restart."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import ClassVar

from niclab.core.verdict import BenchFault
from niclab.hosts.freebsd_commands import BOOT_ID
from niclab.hosts.host_records import OsRelease
from niclab.hosts.kernel.freebsd_lines import kernel_lines, lines_after, lines_of_boot
from niclab.hosts.kernel.freebsd_trouble import read_trouble
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.trouble import KernelTrouble
from niclab.hosts.parity import emulated
from niclab.hosts.system.common import CommonSystem
from niclab.hosts.system.freebsd_texts import read_boot_id, read_clock_s, read_release

_TOOLS = (
    *("ifconfig", "sysctl", "pciconf", "kldload", "kldstat", "kenv", "netstat", "ping", "sockstat", "timeout"),
    "python3",
)

_EVIDENCE = (
    ("kernel-log", "sysctl -n kern.msgbuf | tail -n 200"),
    ("links", "ifconfig -a -m && netstat -i -bdnW"),
    ("pci", "pciconf -lvbc"),
    ("interrupts", "vmstat -i"),
    ("modules", "kldstat -v && cat /boot/loader.conf"),
)

_MESSAGES = "sysctl -n kern.msgbuf"


class FreeBsdSystem(CommonSystem):
    """See :class:`niclab.hosts.host.HostSystem` for the meaning of each method."""

    RELEASE = "uname -sr"
    VERSION_OPTIONS: ClassVar = {"netperf": "-V", "fio": "-v", "ssh": "-V"}

    def needed_tools(self) -> tuple[str, ...]:
        """Programs without which nothing can be asked here; timeout and python3 are packages on older releases."""
        return _TOOLS

    def evidence_commands(self, ifaces: Sequence[str], module: str) -> tuple[tuple[str, str], ...]:  # noqa: ARG002
        """Name and command of what is kept after a failed test: of the whole system, that of its ports among it."""
        return _EVIDENCE

    def panic_command(self) -> str:
        """A command that makes the kernel panic."""
        return "sysctl debug.kdb.panic=1"

    @emulated("a random name in the kernel environment, which every boot begins without")
    def boot_id(self) -> str:
        """A name for this boot, given by the first who asks.

        ``kern.boottime`` does not do: it moves with every step of the clock, which would pass for a reboot.
        ``kern.boot_id`` came with release 13. The kernel environment (kenv(1)) is memory of the running kernel.
        """
        return self._read(self._boot_command(), read_boot_id)

    @emulated("whole seconds: its `date` knows no parts of a second before release 14")
    def clock_s(self) -> float:
        return self._read("date +%s", read_clock_s)

    @emulated("`hw.usermem`: what the kernel has not wired")
    def available_bytes(self) -> int:
        command = "sysctl -n hw.usermem"
        value = self._run(command).strip()
        if not value.isdecimal():
            raise BenchFault(f"{self.name}: `{command}` said {value!r}; expected bytes")
        return int(value)

    @emulated("`uname -sr`: releases before 13 have no /etc/os-release")
    def os_release(self) -> OsRelease:
        return super().os_release()

    def dmesg(self) -> tuple[KernelLine, ...]:
        """The kernel's own lines that the message buffer still holds, also those of boots before a warm reboot."""
        return self._read(_MESSAGES, kernel_lines)

    def _read_release(self, text: str) -> OsRelease:
        return read_release(text)

    def _boot_command(self) -> str:
        name = secrets.token_hex(16)
        return f"kenv -q {BOOT_ID} >/dev/null || kenv {BOOT_ID}={name} >/dev/null && kenv -q {BOOT_ID}"

    def _mark_command(self, token: str) -> str:
        """The kernel copies what is written to the console into its buffer (``kern.log_console_output``, the default).

        ``logger`` would reach it only by way of syslogd and its configuration.
        """
        return f'echo "{token}" > /dev/console'

    def _log_command(self) -> str:
        return _MESSAGES

    def _read_boot_id(self, text: str) -> str:
        return read_boot_id(text)

    def _after(self, log: str, token: str) -> tuple[KernelLine, ...] | None:
        return lines_after(log, token)

    def _of_boot(self, log: str) -> tuple[KernelLine, ...]:
        return lines_of_boot(log)

    def _why_cut(self) -> str:
        return (
            "the message buffer has overwritten it (kern.msgbufsize in loader.conf makes it larger), was cleared, or "
            "kern.log_console_output is 0"
        )

    def trouble(self, lines: Sequence[KernelLine]) -> tuple[KernelTrouble, ...]:
        """The trouble that these lines of the kernel log report."""
        return read_trouble(lines)

    def reboot(self) -> None:
        """Ask for a reboot. Returns when asked; that it happened shows in another :meth:`boot_id`."""
        self._halt("shutdown -r now")
