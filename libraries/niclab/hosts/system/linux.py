"""Linux host: the system itself: time, release, tools, kernel log, restart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from niclab.hosts.command_words import interface_name, module_name
from niclab.hosts.host_records import OsRelease
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.kernel.linux_trouble import read_trouble
from niclab.hosts.kernel.trouble import KernelTrouble
from niclab.hosts.system.common import CommonSystem
from niclab.hosts.system.linux_texts import read_available_bytes, read_boot_id, read_clock_s, read_os_release

_TOOLS = ("ip", "ethtool", "lspci", "modprobe", "modinfo", "ping", "ss", "timeout", "python3")

CAPTURED_S, CAPTURED_FRAMES = 2, 100
"""A capture of frames ends after either: so much shows who speaks, and a server under load is not held up."""

_EVIDENCE = (
    ("kernel-log", "dmesg | tail -n 200"),
    ("links", "ip -s -d link show"),
    ("pci", "lspci -vv"),
    ("interrupts", "cat /proc/interrupts"),
    ("system-load", "vmstat 1 2"),
    # mpstat is of sysstat, netstat of net-tools: where they are not installed, what they read
    ("processor-load", "if command -v mpstat > /dev/null; then mpstat -P ALL 1 1; else cat /proc/stat; fi"),
    ("protocols", "if command -v netstat > /dev/null; then netstat -s; else nstat -asz; fi"),
    ("sysctls", r"sysctl -a --pattern '^net\.(core|ipv4\.(tcp|udp))' 2> /dev/null"),
)

_OF_PORTS = (("drivers", "-i"), ("coalescing", "-c"), ("rings", "-g"), ("offloads", "-k"), ("counters", "-S"))
"""Reports of ethtool on each port under test: name and option."""

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class LinuxSystem(CommonSystem):
    """See :class:`niclab.hosts.host.HostSystem` for the meaning of each method."""

    RELEASE = "cat /etc/os-release"
    VERSION_OPTIONS: ClassVar = {
        "ip": "-V",
        "bridge": "-V",
        "tc": "-V",
        "ping": "-V",
        "netperf": "-V",
        "fio": "-v",
        "ssh": "-V",
        "busybox": "--help",
    }

    def needed_tools(self) -> tuple[str, ...]:
        """Programs without which nothing can be asked here."""
        return _TOOLS

    def evidence_commands(self, ifaces: Sequence[str], module: str) -> tuple[tuple[str, str], ...]:
        """Name and command of what is kept after a failed test.

        Args:
            ifaces: Names of the interfaces under test.
            module: Name of their driver module.
        """
        names = [interface_name(self.name, iface) for iface in ifaces]
        of_ports = [(name, _of_each(names, f"ethtool {option} $i")) for name, option in _OF_PORTS]
        frames = (
            f"for i in {' '.join(names)}; do timeout {CAPTURED_S} tcpdump -p -n -e -c {CAPTURED_FRAMES} -s 96 -i $i"
            ' 2>&1 | sed "s/^/$i: /" & done; wait'
        )
        return (
            *_EVIDENCE,
            *(of_ports if names else ()),
            ("driver-module", f"modinfo {module_name(self.name, module)}"),
            *((("frames", frames),) if names else ()),
        )

    def panic_command(self) -> str:
        """A command that makes the kernel panic."""
        return "echo c > /proc/sysrq-trigger"

    def boot_id(self) -> str:
        """The random id of this boot: another one after every reboot."""
        return self._read_file(_BOOT_ID, read_boot_id)

    def clock_s(self) -> float:
        """The host's wall clock in seconds since 1970."""
        return self._read("date +%s.%N", read_clock_s)

    def available_bytes(self) -> int:
        """Memory that programs and drivers may still have."""
        return self._read_file("/proc/meminfo", read_available_bytes)

    def dmesg(self) -> tuple[KernelLine, ...]:
        """The whole kernel log that the ring buffer still holds."""
        return self._read("dmesg -rS", read_dmesg)

    def _read_release(self, text: str) -> OsRelease:
        return read_os_release(text)

    def _boot_command(self) -> str:
        # the shell reads the file by itself: another program costs a server a twentieth of a second
        return f'read -r boot_id < {_BOOT_ID} && echo "$boot_id"'

    def _mark_command(self, token: str) -> str:
        return f'echo "{token}" > /dev/kmsg'

    def _log_command(self) -> str:
        return "dmesg -rS"

    def _read_boot_id(self, text: str) -> str:
        return read_boot_id(text)

    def _after(self, log: str, token: str) -> tuple[KernelLine, ...] | None:
        lines = read_dmesg(log)
        return next((lines[index + 1 :] for index, line in enumerate(lines) if line.text.strip() == token), None)

    def _of_boot(self, log: str) -> tuple[KernelLine, ...]:
        return read_dmesg(log)

    def _why_cut(self) -> str:
        return (
            "the ring buffer has overwritten it (log_buf_len=4M makes it larger), was cleared, or printk.devkmsg is off"
        )

    def trouble(self, lines: Sequence[KernelLine]) -> tuple[KernelTrouble, ...]:
        """The trouble that these lines of the kernel log report."""
        return read_trouble(lines)

    def reboot(self) -> None:
        """Ask for a reboot. Returns when asked; that it happened shows in another :meth:`boot_id`."""
        self._halt("reboot")


def _of_each(names: Sequence[str], command: str) -> str:
    """The command for each interface, ``$i`` being its name; what one refuses does not keep the others from it."""
    return f'for i in {" ".join(names)}; do echo "== $i"; {command} 2>&1; done; true'
