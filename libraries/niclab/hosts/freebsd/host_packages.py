"""FreeBSD host, driver packages: ``pkg`` (release 10 and later, and 9 where it is set up), else ``pkg_add``."""

from __future__ import annotations

import re

from niclab.core.verdict import BenchFault
from niclab.hosts.commands import is_no_answer, refusal
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd.commands import FreeBsdCommands
from niclab.hosts.parity import emulated
from niclab.hosts.settings_records import Attempt, Package

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,127}")
_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~_,]{0,127}")
_INSTALL_TIMEOUT_S = 300
_MISSING = ("No packages available to install matching", "unable to fetch", "can't stat package file")
_NEW, _OLD = "pkg", "pkg_info"
# ABI as pkg prints it: FreeBSD:13:amd64, and freebsd:10:x86:64 before release 1.4 of pkg.
_ABI = re.compile(r"(?i:freebsd):[0-9]{1,2}:(\S+)")
_ARCHITECTURES = {"x86:64": "amd64", "x86:32": "i386"}
# Packages of pkg_add do not say their architecture; the module in them does, as file(1) words it.
_ELF = {"x86-64": "amd64", "Intel 80386": "i386"}
UNKNOWN = "unknown"


class FreeBsdPackages(FreeBsdCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    @emulated("`pkg query`, or `pkg_info` where pkg is not set up; then the architecture is that of its module files")
    def package(self, name: str) -> Package | None:
        """The package as the host's package tool knows it; None when it is not installed.

        A package is complete as soon as the tool lists it: it registers a package when all of it is there.
        """
        if self._tool() == _NEW:
            command = f"pkg query '%n %v %q' {self._named(name)}"
        else:
            command = f"pkg_info -E '{self._named(name)}-[0-9]*'"
        result = self._try(command)
        nothing = not result.stdout.strip() and not result.stderr.strip()
        if nothing and result.exit_status is not None and result.exit_status > 0:
            return None
        if result.exit_status != 0:
            raise self._failed(command, result)
        read = _read_query if command.startswith(_NEW + " ") else _read_old
        found = self._understood(command, read, result.stdout)
        if found.name != name:
            raise BenchFault(f"{self.name}: `{command}` answered for {found.name}")
        if found.architecture != UNKNOWN:
            return found
        return Package(found.name, found.version, self._architecture(found), found.status)

    @emulated("`pkg install`, or `pkg_delete` and `pkg_add`")
    def install_package(self, name: str, version: str) -> Attempt[Package | None]:
        """Install this very version, from where the host gets its packages (``PKG_PATH`` for ``pkg_add``).

        :raises BenchFault: when the tool could not try: no such version to be had, no rights.
        """
        if not _VERSION.fullmatch(version):
            raise BenchFault(f"{self.name}: package version {version!r}: letters, digits and . + ~ _ , are wanted")
        wanted = f"{self._named(name)}-{version}"
        if self._tool() == _NEW:
            return self._change(f"env ASSUME_ALWAYS_YES=yes pkg install -f {wanted}", name)
        before = self.package(name)
        removal = f"pkg_delete -f {name}-{before.version} && " if before is not None else ""
        return self._change(f"{removal}pkg_add {wanted}", name)

    @emulated("`pkg delete` or `pkg_delete`")
    def remove_package(self, name: str) -> Attempt[Package | None]:
        """Remove the package, also when others need it. One that is not there is removed already."""
        before = self.package(name)
        if before is None:
            return Attempt(None, None)
        new = self._tool() == _NEW
        command = f"env ASSUME_ALWAYS_YES=yes pkg delete -f {name}" if new else f"pkg_delete -f {name}-{before.version}"
        return self._change(command, name)

    def _change(self, command: str, name: str) -> Attempt[Package | None]:
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        said = result.stderr + result.stdout
        if result.exit_status != 0 and (is_no_answer(result) or any(words in said for words in _MISSING)):
            raise self._failed(command, result)
        return Attempt(refusal(result), self.package(name))

    def _tool(self) -> str:
        """``pkg`` where it is set up (``pkg -N``), else the tools it has replaced."""
        look = f"if pkg -N >/dev/null 2>&1; then echo {_NEW}; elif command -v {_OLD} >/dev/null; then echo {_OLD}; fi"
        said = self._run(look).strip()
        if said not in (_NEW, _OLD):
            raise BenchFault(f"{self.name}: neither pkg is set up nor is there pkg_info: `pkg bootstrap` sets it up")
        return said

    def _architecture(self, package: Package) -> str:
        """That of the kernel modules in the package; ``unknown`` when it has none.

        :raises BenchFault: when they differ, or file(1) names an architecture that is not known here.
        """
        files = f"pkg_info -qL {package.name}-{package.version}"
        said = self._run(f"for f in $({files}); do case $f in *.ko) file -b $f || exit 1 ;; esac; done")
        found = {word for line in said.splitlines() if line.strip() for word in [_elf(line)]}
        if len(found) > 1 or None in found:
            raise unreadable("file -b", "modules", said.strip(), f"one of {', '.join(_ELF)} for all of them")
        return next(iter(found)) or UNKNOWN if found else UNKNOWN

    def _named(self, name: str) -> str:
        if not _PACKAGE.fullmatch(name):
            raise BenchFault(f"{self.name}: package {name!r}: letters, digits and . + _ - are wanted")
        return name


def _elf(line: str) -> str | None:
    return next((architecture for word, architecture in _ELF.items() if word in line), None)


def _read_query(text: str) -> Package:
    words = text.split()
    abi = _ABI.fullmatch(words[2]) if len(words) == 3 else None
    if abi is None:
        raise unreadable("pkg query '%n %v %q'", "text", text, "one line: package, version, ABI")
    return Package(words[0], words[1], _ARCHITECTURES.get(abi[1], abi[1]), "installed")


def _read_old(text: str) -> Package:
    name, _, version = text.strip().rpartition("-")
    if not _PACKAGE.fullmatch(name) or not _VERSION.fullmatch(version):
        raise unreadable("pkg_info -E", "text", text, "one package such as oce-4.2.313.0")
    return Package(name, version, UNKNOWN, "installed")
