"""Drivers that a host builds of their source: DKMS on Linux, none on FreeBSD."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NoReturn

from niclab.core.undo import SLOW_DEADLINE_S
from niclab.core.verdict import NotApplicable
from niclab.hosts.command_words import module_name
from niclab.hosts.drivers.build_records import TREE, Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.drivers.dkms import read_build, read_installed, read_kernels, read_source
from niclab.hosts.drivers.modinfo import read_modinfo
from niclab.hosts.drivers.package_systems import Dnf, Zypper
from niclab.hosts.host_commands import shortened
from niclab.hosts.host_records import ModuleFile
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.parity import emulated, not_available

BRINGS = r"sed -n 's,^/usr/src/\([^/]*\)/dkms[.]conf$,\1,p'"
"""Picks the sources of DKMS out of a list of files."""
_HEADERS = {Dnf: "kernel-devel-{release}", Zypper: "kernel-{flavour}-devel"}
_DEBIANS_HEADERS = "linux-headers-{release}"
_KERNELS = (
    "r=$(uname -r) || exit; for d in /lib/modules/*/kernel; do [ -d $d ] || continue; k=${d%/kernel}; k=${k##*/};"
    " w=other; [ $k != $r ] || w=running; h=none; f=/lib/modules/$k/build/include/generated/utsrelease.h;"
    ' ! grep -qsF "\\"$k\\"" $f || h=headers; echo $k $w $h; done'
)
"""A kernel that was removed leaves a folder with no more than ``updates``. Headers say which kernel they are of."""
_ANY_MODULE = (
    "d=$(mktemp -d) || exit; trap 'rm -rf $d' EXIT; echo 'obj-m := niclab.o' > $d/Makefile && printf '%s\\n'"
    " '#include <linux/module.h>' '#include <linux/netdevice.h>' '#include <linux/pci.h>' 'MODULE_LICENSE(\"GPL\");'"
    " > $d/niclab.c && make -C /lib/modules/{release}/build M=$d modules 2>&1"
)
"""Builds a module of the lab that does nothing: what fails here is no fault of a driver's source."""


class LinuxBuilds(LinuxCommands):
    """See :class:`niclab.hosts.host.HostBuilds` for the meaning of each method."""

    def sources(self, package: str) -> tuple[Source, ...]:
        files = self._packages().files(self._named(package))
        names = self._run(f'f=$({files}) || exit; echo "$f" | {BRINGS}').split()
        return tuple(self._understood(files, read_source, name) for name in names)

    def kernels(self) -> tuple[InstalledKernel, ...]:
        packages = self._packages()
        pattern = next((words for kind, words in _HEADERS.items() if isinstance(packages, kind)), _DEBIANS_HEADERS)
        return self._read(_KERNELS, lambda text: read_kernels(text, pattern))

    def is_installed(self, source: Source, release: str) -> bool:
        return (str(source), release) in self._read("dkms status", read_installed)

    def is_at_installation(self) -> bool:
        """Are drivers built when their package is installed? The file is one of the scripts of Debian's packages."""
        return not self._run("[ ! -e /etc/dkms/no-autoinstall ] || echo disabled").strip()

    def build(self, source: Source, release: str) -> Build:
        log = f"cat {source.place}/build/make.log"
        head = f"for kernel {release} "
        installing = f"dkms install -m {source.name} -v {source.version} -k {shlex.quote(release)}"
        result = self._try(installing, timeout_s=SLOW_DEADLINE_S)
        made = self._try(log).stdout
        said = f"{result.stdout}\n{result.stderr}"
        found = read_build(source, result.exit_status, said, made if head in made.partition("\n")[0] else "")
        if found.end is BuildEnd.DONE and not self.is_installed(source, release):
            return Build(BuildEnd.UNCLEAR, shortened(said))
        if found.end in (BuildEnd.OF_DRIVER, BuildEnd.UNCLEAR):
            any_module = self._try(_ANY_MODULE.replace("{release}", shlex.quote(release)), timeout_s=SLOW_DEADLINE_S)
            if any_module.exit_status != 0:
                return Build(BuildEnd.OF_SERVER, shortened(any_module.stdout or any_module.stderr))
        return found

    def build_again(self, source: Source, release: str) -> None:
        kernel = shlex.quote(release)
        if self.is_installed(source, release):
            self._run(f"dkms remove -m {source.name} -v {source.version} -k {kernel}", timeout_s=SLOW_DEADLINE_S)
        self._try(f"dkms autoinstall -k {kernel}", timeout_s=SLOW_DEADLINE_S)

    def restoring(self, source: Source, release: str) -> str:
        words = f"-m {source.name} -v {source.version} -k {shlex.quote(release)}"
        has = f"dkms status {words} 2> /dev/null | grep -q ': installed'"
        if self.is_installed(source, release):  # one that is gone with its package cannot be built
            return f"[ ! -e /usr/src/{source}/dkms.conf ] || {has} || dkms install {words}"
        return f"! {has} || dkms remove {words}"

    def module_for(self, module: str, release: str) -> ModuleFile:
        return self._read(f"modinfo -k {shlex.quote(release)} {module_name(self.name, module)}", read_modinfo)

    def files(self, sources: Sequence[Source]) -> tuple[str, ...]:
        found = list[str]()
        for source in sources:
            names = f"for m in {source.place}/*/*/module/*; do [ ! -e $m ] || echo ${{m##*/}}; done | sort -u"
            places = "/lib/modules/*/updates /lib/modules/*/extra /lib/modules/*/weak-updates"
            find = f"for n in $({names}); do find {places} -name $n 2> /dev/null; done"
            found += self._run(f"{find}; [ ! -e {source.place} ] || echo {source.place}").split()
        return tuple(found)

    def remaining(self, files: Sequence[str]) -> tuple[str, ...]:
        if not files:
            return ()
        names = " ".join(shlex.quote(file) for file in files)
        return tuple(self._run(f"for f in {names}; do [ ! -e $f -a ! -L $f ] || echo $f; done").split())

    def remove_remaining(self, files: Sequence[str]) -> None:
        inside = [file for file in files if file.startswith((f"{TREE}/", "/lib/modules/"))]
        names = " ".join(shlex.quote(file) for file in inside)
        tables = "for d in /lib/modules/*/kernel; do d=${d%/kernel}; depmod ${d##*/} || exit; done"
        links = f"find {TREE} -name 'kernel-*' -xtype l -delete; find {TREE} -mindepth 1 -type d -empty -delete"
        self._run(f"rm -rf {names} && {links} && {tables}", timeout_s=SLOW_DEADLINE_S)


_BUILT = "FreeBSD's packages bring their modules built"


class FreeBsdBuilds:
    """See :class:`niclab.hosts.host.HostBuilds` for the meaning of each method."""

    def __init__(self, name: str) -> None:
        self._name = name

    @emulated(f"none: {_BUILT}")
    def sources(self, package: str) -> tuple[Source, ...]:
        del package
        return ()

    @not_available(_BUILT)
    def kernels(self) -> tuple[InstalledKernel, ...]:
        self._none("kernels")

    @not_available(_BUILT)
    def is_installed(self, source: Source, release: str) -> bool:
        self._none(f"{source}, {release}")

    @not_available(_BUILT)
    def is_at_installation(self) -> bool:
        self._none("installation")

    @not_available(_BUILT)
    def build(self, source: Source, release: str) -> Build:
        self._none(f"{source}, {release}")

    @not_available(_BUILT)
    def build_again(self, source: Source, release: str) -> None:
        self._none(f"{source}, {release}")

    @not_available(_BUILT)
    def restoring(self, source: Source, release: str) -> str:
        self._none(f"{source}, {release}")

    @not_available(_BUILT)
    def module_for(self, module: str, release: str) -> ModuleFile:
        self._none(f"{module}, {release}")

    @emulated(f"none: {_BUILT}")
    def files(self, sources: Sequence[Source]) -> tuple[str, ...]:
        del sources
        return ()

    @emulated(f"none: {_BUILT}")
    def remaining(self, files: Sequence[str]) -> tuple[str, ...]:
        del files
        return ()

    @not_available(_BUILT)
    def remove_remaining(self, files: Sequence[str]) -> None:
        self._none(", ".join(files))

    def _none(self, what: str) -> NoReturn:
        raise NotApplicable(f"{self._name}: {what}: nothing is built of its source: {_BUILT}")
