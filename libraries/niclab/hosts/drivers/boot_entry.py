"""Entries in the settings of a server's boot that load a driver or set its parameters, and the file that holds them."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import module_name
from niclab.hosts.errors import unreadable
from niclab.hosts.host_commands import HostCommands
from niclab.hosts.parity import emulated

LOADER_CONF = "/boot/loader.conf"
LOADER_FILES = f"{LOADER_CONF} {LOADER_CONF}.d/*.conf {LOADER_CONF}.local"
"""In the order of FreeBSD's loader, which takes the last of several values of a variable (loader.conf(5))."""
_MODPROBES = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib")
"""The folders of modprobe.d(5): kmod, libkmod/libkmod.c, default_config_paths."""
_THERE, _ABSENT = "@ there\n", "@ absent\n"


@dataclass(frozen=True)
class BootFile:
    """A file of settings for the boot. ``text``: what it holds; None: there is no such file."""

    path: str
    text: str | None

    def writing(self) -> str:
        """Return the idempotent command that gives the file this text, or removes it.

        The file is there as a whole at any time: power may be cut while it is written.
        """
        path, draft = shlex.quote(self.path), shlex.quote(f"{self.path}.niclab")
        if self.text is None:
            return f"rm -f {path} && sync"
        keep_mode = f"{{ [ ! -e {path} ] || cp -p {path} {draft}; }}"
        return f"{keep_mode} && printf %s {shlex.quote(self.text)} > {draft} && sync && mv -f {draft} {path} && sync"


def showing(path: str) -> str:
    """Return the command that shows a file, for :func:`read_boot_file`.

    Args:
        path: The file.
    """
    word = shlex.quote(path)
    return f"if [ -e {word} ]; then echo '{_THERE.strip()}' && cat {word}; else echo '{_ABSENT.strip()}'; fi"


def read_boot_file(path: str, text: str) -> BootFile:
    """Read the answer to :func:`showing`.

    Args:
        path: The file.
        text: The answer.

    Raises:
        ReadError: It is none.
    """
    if text == _ABSENT:
        return BootFile(path, None)
    if not text.startswith(_THERE):
        raise unreadable("file of the boot", "text", text, f"{_THERE.strip()!r} and the file, or {_ABSENT.strip()!r}")
    return BootFile(path, text.removeprefix(_THERE))


def loader_conf_with(text: str | None, module: str) -> str:
    """Return the text of a file of the loader with one entry that loads a module, in place of every other one for it.

    Args:
        text: The text of the file; None where there is none.
        module: Name of the module.
    """
    lines = [line for line in (text or "").splitlines() if _loader_value(line, module) is None]
    return "".join(f"{line}\n" for line in [*lines, f'{module}_load="YES"'])


def _loader_value(line: str, module: str) -> str | None:
    match = re.fullmatch(rf'\s*{re.escape(module)}_load\s*=\s*"?([^"#]*?)"?\s*(?:#.*)?', line)
    return None if match is None else match[1]


_PARAMETER = re.compile(r"[A-Za-z0-9_.]{1,64}")


class _Boot(HostCommands):
    def _entries(self, pattern: str, files: str, name: str) -> tuple[str, ...]:
        """Lines of files that fit an extended regular expression, each behind the name of its file."""
        if not _PARAMETER.fullmatch(name):
            raise BenchFault(f"{self.name}: module parameter {name!r}; expected letters, digits, . and _")
        found = self._run(f"grep -sHoE {shlex.quote(pattern)} {files}; [ $? -le 2 ]").splitlines()
        return tuple(line.rstrip() for line in found)

    def _file(self, path: str) -> BootFile:
        return self._read(showing(path), lambda text: read_boot_file(path, text))


class LinuxBoot(_Boot):
    """See :class:`niclab.hosts.host.HostBoot` for the meaning of each method."""

    def parameter_entries(self, module: str, name: str) -> tuple[str, ...]:
        """The entries that give the parameter a value: in modprobe.d(5), or on the kernel's command line.

        One of type bool needs no value, and the kernel takes a hyphen for an underscore (kernel/params.c).
        """
        words, own = (re.sub("[-_]", "[-_]", each) for each in (module_name(self.name, module), name))
        folders = " ".join(f"{folder}/modprobe.d/*.conf" for folder in _MODPROBES)
        line = rf"^[[:space:]]*options[[:space:]]+{words}[[:space:]](.*[[:space:]])?{own}([=[:space:]].*)?$"
        pattern = rf"{line}|\b{words}\.{own}(=\S*|[[:space:]]|$)"
        return self._entries(pattern, f"{folders} /proc/cmdline", name)

    def is_set_to_load(self, module: str) -> bool:
        """Does an entry name the module? Most drivers need none: udev loads them for their devices."""
        name = re.sub("[-_]", "[-_]", module_name(self.name, module))
        files = "/etc/modules /etc/modules-load.d/*.conf /usr/lib/modules-load.d/*.conf"
        text = f'for file in {files}; do [ ! -e "$file" ] || cat "$file" || exit; done'
        counting = f"printf '%s\\n' \"$text\" | grep -cx {shlex.quote(name)}; [ $? -le 1 ]"  # 1: no such line
        return self._run(f"text=$({text}) && {{ {counting}; }}").strip() != "0"

    def set_to_load(self, module: str) -> None:
        """Have the module loaded at boot, from the next one on."""
        self._run(BootFile(self._path(module), f"{module}\n").writing())

    def restoring(self, module: str) -> str:
        """A command that brings the lab's entry back to what it is now."""
        return self._file(self._path(module)).writing()

    def _path(self, module: str) -> str:
        return f"/etc/modules-load.d/niclab-{module_name(self.name, module)}.conf"


class FreeBsdBoot(_Boot):
    """See :class:`niclab.hosts.host.HostBoot` for the meaning of each method."""

    @emulated("settings of the driver or of its devices, such as `hw.oce.NAME`, in loader.conf(5) and sysctl.conf(5)")
    def parameter_entries(self, module: str, name: str) -> tuple[str, ...]:
        """The entries that give a setting of the driver a value."""
        driver = re.escape(module_name(self.name, module).removeprefix("if_"))
        pattern = rf"^[[:space:]]*(hw\.{driver}|dev\.{driver}\.[0-9]+)\.{re.escape(name)}[[:space:]]*=.*"
        return self._entries(pattern, f"{LOADER_FILES} /etc/sysctl.conf /etc/sysctl.conf.local", name)

    @emulated("the last entry `NAME_load` in the files of loader.conf(5)")
    def is_set_to_load(self, module: str) -> bool:
        """Does the loader load the module at boot?"""
        return self._entry(module_name(self.name, module))[1].upper() == "YES"

    @emulated("one entry `NAME_load` in the file that has the last one")
    def set_to_load(self, module: str) -> None:
        """Have the module loaded at boot, from the next one on."""
        name = module_name(self.name, module)
        path, _ = self._entry(name)
        self._run(BootFile(path, loader_conf_with(self._file(path).text, name)).writing())

    @emulated("the file that has the last entry, as a whole")
    def restoring(self, module: str) -> str:
        """A command that brings the entries back to what they are now."""
        return self._file(self._entry(module_name(self.name, module))[0]).writing()

    def _entry(self, name: str) -> tuple[str, str]:
        """The file with the entry of a module that counts, and its value; where the lab's would go without one."""
        found = (LOADER_CONF, "")
        for entry in self._entries(rf"^[[:space:]]*{re.escape(name)}_load[[:space:]]*=.*", LOADER_FILES, name):
            path, _, line = entry.partition(":")
            if (value := _loader_value(line, name)) is not None:
                found = (path, value)
        return found
