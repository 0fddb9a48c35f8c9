"""Linux host, the system part: time, release, tools, kernel modules, kernel log, reboot."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from niclab.core.verdict import BenchFault
from niclab.hosts.commands import HostCommands
from niclab.hosts.errors import unreadable
from niclab.hosts.linux.dmesg import read_dmesg
from niclab.hosts.linux.load import read_proc_stat
from niclab.hosts.linux.modinfo import read_modinfo
from niclab.hosts.linux.modules import read_proc_modules
from niclab.hosts.linux.system import (
    read_available_bytes,
    read_boot_id,
    read_clock_s,
    read_kernel,
    read_os_release,
    read_tool_version,
)
from niclab.hosts.load_records import CpuTimes
from niclab.hosts.names import module_name, tool_name
from niclab.hosts.records import KernelLine, KernelLogMark, LoadedModule, ModuleFile, ModuleState, OsRelease

# How each tool is asked for its version; any other is asked with --version.
_VERSION_OPTIONS = {
    "ip": "-V",
    "bridge": "-V",
    "tc": "-V",
    "ping": "-V",
    "netperf": "-V",
    "fio": "-v",
    "busybox": "--help",
}
_BUILD_ID_NOTE = re.compile(r"04000000([0-9a-f]{2})00000003000000474e5500([0-9a-f]+)")
_NOT_FOUND = 127
_RELOAD_TIMEOUT_S = 180


class LinuxSystem(HostCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def boot_id(self) -> str:
        """The random id of this boot: another one after every reboot."""
        return self._read_file("/proc/sys/kernel/random/boot_id", read_boot_id)

    def clock_s(self) -> float:
        """The host's wall clock in seconds since 1970."""
        return self._read("date +%s.%N", read_clock_s)

    def cpu_times(self) -> CpuTimes:
        """What each CPU has done since boot."""
        return self._read_file("/proc/stat", read_proc_stat)

    def available_bytes(self) -> int:
        """Memory that programs and drivers may still have."""
        return self._read_file("/proc/meminfo", read_available_bytes)

    def kernel(self) -> str:
        return self._read("uname -r", read_kernel)

    def os_release(self) -> OsRelease:
        return self._read_file("/etc/os-release", read_os_release)

    def is_root(self) -> bool:
        """Whether commands run as root: lspci, modprobe and dmesg need it."""
        user = self._run("id -u").strip()
        if not user.isdecimal():
            raise BenchFault(f"{self.name}: `id -u` said {user!r}: a number is wanted")
        return int(user) == 0

    def tools(self, names: Sequence[str]) -> dict[str, str | None]:
        """Version of each tool; None when it is not installed, ``unknown`` when it is but does not say a version."""
        versions: dict[str, str | None] = {}
        for name in names:
            tool_name(self.name, name)
            found = self._try(f"command -v {name}")
            if found.exit_status in (1, _NOT_FOUND):
                versions[name] = None
                continue
            if found.exit_status != 0:
                raise self._failed(f"command -v {name}", found)
            said = self._try(f"{name} {_VERSION_OPTIONS.get(name, '--version')}", timeout_s=20)
            versions[name] = read_tool_version(said.stdout + said.stderr, refused=said.exit_status != 0)
        return versions

    def modinfo(self, module: str) -> ModuleFile:
        """The module on disk, which may differ from the one in memory."""
        return self._read(f"modinfo {module_name(self.name, module)}", read_modinfo)

    def loaded_module(self, module: str) -> LoadedModule | None:
        """The module in memory with its version and srcversion; None when it is not loaded (or is built in)."""
        wanted = module_name(self.name, module).replace("-", "_")
        attributes = f"/sys/module/{wanted}"
        command = (
            "for a in version srcversion; do v=;"
            f" if [ -e {attributes}/$a ]; then read -r v < {attributes}/$a || exit; fi;"
            ' echo "$a=$v"; done; cat /proc/modules'
        )
        return self._read(command, lambda text: _read_loaded_module(wanted, text))

    def is_build_on_disk(self, module: str) -> bool | None:
        """Is the module in memory of the very build that lies on disk? None when it carries no build id.

        Compares the GNU build id (a hash of the contents that the linker makes) in /sys with the file, packed or not.
        """
        name = module_name(self.name, module).replace("-", "_")
        note = f"/sys/module/{name}/notes/.note.gnu.build-id"
        command = f"if [ -e {note} ]; then od -An -v -tx1 {note}; fi"
        build_id = self._read(command, _read_build_id)
        if build_id is None:
            return None
        file = self.modinfo(module).filename
        if file is None:
            raise BenchFault(f"{self.name}: module {module} is loaded and has no file")
        unpack = {".xz": "xz -dc", ".gz": "gzip -dc", ".zst": "zstd -dcq"}.get(PurePosixPath(file).suffix, "cat")
        pattern = "".join(f"\\x{byte:02x}" for byte in build_id)
        search = f"{unpack} {shlex.quote(file)} | grep -caP {shlex.quote(pattern)}"
        command = f"bash -c {shlex.quote(f'{search}; echo ${{PIPESTATUS[*]}}')}"
        result = self._try(command)
        answer = result.stdout.split()  # lines found, status of unpacking, status of grep: 0 found, 1 not, 2 error
        if len(answer) != 3 or answer[1] != "0" or answer[2] not in ("0", "1"):
            raise self._failed(command, result)
        return answer[2] == "0"

    def reload_driver(self, module: str) -> None:
        """Unload and load a module, then see it live.

        One command does both, so that a connection lost with the driver does not leave the host without it.
        """
        module_name(self.name, module)
        self._run(f"modprobe -r {module} && modprobe {module}", timeout_s=_RELOAD_TIMEOUT_S)
        loaded = self.loaded_module(module)
        if loaded is None or loaded.state is not ModuleState.LIVE:
            state = "not loaded" if loaded is None else loaded.state
            raise BenchFault(f"{self.name}: module {module} is {state} after `modprobe {module}`, wanted Live")

    def loading_driver(self, module: str) -> str:
        """A command that loads a module, for the journal; no error when it is loaded."""
        return f"modprobe {module_name(self.name, module)}"

    def dmesg(self) -> tuple[KernelLine, ...]:
        """The whole kernel log that the ring buffer still holds."""
        return self._read("dmesg", read_dmesg)

    def dmesg_mark(self) -> KernelLogMark:
        """Write a marker line into the kernel log: the place from which :meth:`dmesg_since` reads.

        A marker, not a time stamp: it shows when the ring buffer has overwritten what came after it.
        """
        mark = KernelLogMark(self.boot_id(), f"niclab mark {secrets.token_hex(8)}")
        self._run(f'echo "{mark.token}" > /dev/kmsg')
        return mark

    def dmesg_since(self, mark: KernelLogMark) -> tuple[KernelLine, ...]:
        """The kernel lines after ``mark``.

        :raises BenchFault: when the host has booted since, or the mark is no longer in the log: lines are missing.
        """
        boot_id = self.boot_id()
        if boot_id != mark.boot_id:
            raise BenchFault(f"{self.name}: has booted since the mark in the kernel log was set; read dmesg() instead")
        lines = self.dmesg()
        for index, line in enumerate(lines):
            if line.text.strip() == mark.token:
                return lines[index + 1 :]
        raise BenchFault(
            f"{self.name}: {mark.token!r} is not in the kernel log: the ring buffer has overwritten it"
            " (log_buf_len=4M makes it larger), was cleared, or printk.devkmsg is off"
        )

    def reboot(self) -> None:
        """Ask for a reboot. Returns when asked; that it happened shows in another :meth:`boot_id`."""
        self._halt("reboot")


def _read_loaded_module(name: str, text: str) -> LoadedModule | None:
    """Two lines ``version=...`` and ``srcversion=...`` (empty: the module has none), then /proc/modules."""
    head, _, rest = text.partition("\nsrcversion=")
    srcversion, _, modules = rest.partition("\n")
    if not head.startswith("version=") or "\n" in head:
        raise unreadable("loaded module", "text", text, "'version=', 'srcversion=' and /proc/modules")
    version = head.removeprefix("version=")
    loaded = [entry for entry in read_proc_modules(modules) if entry.name == name]
    return replace(loaded[0], version=version or None, srcversion=srcversion or None) if loaded else None


def _read_build_id(text: str) -> bytes | None:
    """The build id in an ELF note as ``od -tx1`` prints it (elf(5): sizes, type 3, "GNU", id); None for no text."""
    digits = "".join(text.split())
    if not digits:
        return None
    match = _BUILD_ID_NOTE.fullmatch(digits)
    if match is None or len(match[2]) != 2 * int(match[1], 16):
        raise unreadable("note.gnu.build-id", "text", text, "a GNU build id note")
    return bytes.fromhex(match[2])
