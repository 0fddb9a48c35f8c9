"""Linux host: driver modules and their packages."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import PurePosixPath

from niclab.core.undo import SLOW_DEADLINE_S
from niclab.core.verdict import BenchFault, NotApplicable, Undecided
from niclab.hosts.command_words import interface_name, module_name
from niclab.hosts.counts.ethtool_selftest import read_self_test
from niclab.hosts.drivers.modinfo import read_modinfo
from niclab.hosts.drivers.modules import read_proc_modules
from niclab.hosts.drivers.package_systems import PackageSystem, read_changed_files, read_signer
from niclab.hosts.drivers.package_words import Ending, has_all_lists
from niclab.hosts.errors import ModuleRefused, unreadable
from niclab.hosts.host import CommandResult
from niclab.hosts.host_records import DriverInfo, LoadedModule, ModuleFile, ModuleState, SelfTest
from niclab.hosts.links.ethtool import read_driver_info
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.settings_records import Attempt, ChangedFile, Package

_VERSION = re.compile(r"[0-9][A-Za-z0-9.+~:_^-]{0,127}")

_PARAMETER = re.compile(r"[A-Za-z0-9_]{1,64}")

_SELF_TEST_ENDS = (0, 2)
"""Passed, and failed: ETH_TEST_FL_FAILED, which ethtool ends with (ethtool.c, do_test)."""

_INSTALL_TIMEOUT_S = SLOW_DEADLINE_S
"""As long as its undo may take: a package that builds its module takes minutes, and cut off it is left half done."""

_SELF_TEST_S = 120

_RESET_TIMEOUT_S = 120

_BUILD_ID_NOTE = re.compile(r"04000000([0-9a-f]{2})00000003000000474e5500([0-9a-f]+)")

_RELOAD_TIMEOUT_S = 180

_UNFIT = ("Unknown symbol", "Exec format error", "Invalid module format")
_LACKS_KEY = ("Key was rejected by service", "Required key not available")
"""Words of modprobe(8): strerror() of what init_module(2) returns."""
_LOCKED_DOWN = "Operation not permitted"
"""Also of a server without rights. Linux, kernel/module/signing.c: module_sig_check() asks security_locked_down()."""

_BUILT_FROM = (
    'for b in /var/lib/dkms/*/*/"$(uname -r)"/*/module/"${f##*/}"; do'
    " t=${b#/var/lib/dkms/}; n=${t%%/*}; v=${t#*/};"
    ' if [ "$n-${v%%/*}" = "$s" ] && cmp -s "$b" "$f"; then echo built; fi; done'
)
"""Compares a module file ``f`` with those that DKMS has built from the source ``s``, NAME-VERSION."""


class LinuxDrivers(LinuxCommands):
    """See :class:`niclab.hosts.host.HostDrivers` for the meaning of each method."""

    def names_of(self, module: str) -> frozenset[str]:
        """Return the driver names of devices that a module drives: the module's name."""
        return frozenset({module_name(self.name, module)})

    def is_own_module(self, module: ModuleFile) -> bool:
        """Did this module come with the kernel? Vendors' makefiles may write theirs over a file of the kernel."""
        if module.filename is None:
            return True
        if module.in_tree is False:
            return False
        return module.filename.removeprefix("/usr").startswith(f"/lib/modules/{self._run('uname -r').strip()}/kernel/")

    def driver_info(self, iface: str) -> DriverInfo:
        return self._read(f"ethtool -i {interface_name(self.name, iface)}", read_driver_info)

    def reset_interface(self, iface: str) -> None:
        """Let the driver reset its own part of the card: ``dedicated``, nothing that another port uses as well.

        Raises:
            NotApplicable: The driver offers no such reset.
        """
        command = f"ethtool --reset {interface_name(self.name, iface)} dedicated"
        result = self._try(command, timeout_s=_RESET_TIMEOUT_S)
        if "not supported" in result.stderr:
            raise NotApplicable(f"{self.name}: {iface}: its driver offers no reset ({result.stderr.strip()})")
        if result.exit_status != 0:
            raise self._failed(command, result)

    def self_test(self, iface: str, offline: bool) -> SelfTest:
        """Let the card test itself; an offline test takes the link down meanwhile.

        Raises:
            NotApplicable: The driver has no self test.
        """
        kind = "offline" if offline else "online"
        command = f"ethtool -t {interface_name(self.name, iface)} {kind}"
        result = self._try(command, timeout_s=_SELF_TEST_S)
        if "not supported" in result.stderr or "no strings" in result.stderr.lower():
            raise NotApplicable(f"{self.name}: {iface}: its driver has no self test ({result.stderr.strip()})")
        if result.exit_status not in _SELF_TEST_ENDS:
            raise self._failed(command, result)
        return self._understood(command, read_self_test, result.stdout)

    def package(self, name: str) -> Package | None:
        """The package as the host's package system knows it; None when it is not installed.

        Configuration files of one that was removed may be left.
        """
        found = self._known(name, self._packages_of(name))
        return None if found is None or found.status in ("not-installed", "config-files") else found

    def install_package(self, name: str, version: str) -> Attempt[Package | None]:
        """Install this very version, from where the host gets its packages; it may be an older one.

        A version or a dependency that the package system does not know is looked for once more, when the lists were
        fetched again.

        Raises:
            BenchFault: When the tool could not try: no such version to be had, no lock, no rights. Or another package
                would be removed for it.
            Undecided: The tool's words do not name the cause, or nothing that the server knows provides what it needs.
        """
        if not _VERSION.fullmatch(version):
            raise BenchFault(f"{self.name}: package version {version!r}; expected letters, digits and . + ~ : _ ^ -")
        packages = self._packages_of(name)
        self._require_no_other_goes(name, version, packages)
        command = packages.installing(name, version)
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        if packages.ending(name, result) in (Ending.UNKNOWN, Ending.UNMET):
            lists = self._try(packages.refreshing(), timeout_s=_INSTALL_TIMEOUT_S)
            result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
            if packages.ending(name, result) is Ending.UNMET and not has_all_lists(lists):
                raise self._failed(packages.refreshing(), lists)
        return self._attempted(name, packages, command, result, packages.ending(name, result))

    def _require_no_other_goes(self, name: str, version: str, packages: PackageSystem) -> None:
        """Refuse an installation that removes another package: no undo brings that one back."""
        rehearsal = packages.rehearsing(name, version)
        gone = (
            None if rehearsal is None else packages.removed_others(self._try(rehearsal, timeout_s=_INSTALL_TIMEOUT_S))
        )
        if gone is not None:
            raise BenchFault(f"{self.name}: `{rehearsal}` shows '{gone}'; expected that no other package goes")

    def remove_package(self, name: str) -> Attempt[Package | None]:
        """Remove the package, and its configuration where that is its own. One that is not there is removed already.

        Raises:
            BenchFault: When the tool could not try, or another package needs it.
            Undecided: The tool's words do not name the cause.
        """
        packages = self._packages_of(name)
        if self._known(name, packages) is None:
            return Attempt(None, None)
        command = packages.removing(name)
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        return self._attempted(name, packages, command, result, packages.removal_ending(name, result))

    def changed_files(self, name: str) -> tuple[ChangedFile, ...]:
        """The files of an installed package that are missing, or have another content than it brought."""
        command = self._packages_of(name).verifying(name)
        result = self._try(command, timeout_s=_INSTALL_TIMEOUT_S)
        if result.exit_status not in (0, 1) or result.stderr.strip():  # 1: files differ
            raise self._failed(command, result)
        return self._understood(command, read_changed_files, result.stdout)

    def package_signer(self, name: str) -> str | None:
        """The id of the key that an installed package is signed with; None for one that is not signed.

        Raises:
            NotApplicable: Packages of this system are not signed, only their repository is.
        """
        command = self._packages_of(name).signer(name)
        if command is None:
            raise NotApplicable(f"{self.name}: package {name}: apt checks the signature of the repository, not its own")
        return self._read(command, read_signer)

    def is_of_package(self, name: str, file: str) -> bool:
        """Did an installed package bring this module file, or DKMS build it from the package's source (dkms(8))?"""
        packages, of_file = self._packages_of(name), f"f=$(readlink -f {shlex.quote(file)}) || exit; "
        asking = f"{of_file}{packages.asking_owners()}"
        result = self._try(asking)
        owners = packages.owners(result)
        if owners is None:
            raise self._failed(asking, result)
        if name in owners:
            return True
        sources = rf"$({packages.files(name)} | sed -n 's,^/usr/src/\([^/]*\)/dkms[.]conf$,\1,p')"
        return bool(self._run(f"{of_file}for s in {sources}; do {_BUILT_FROM}; done; true").strip())

    def _packages_of(self, name: str) -> PackageSystem:
        self._named(name)
        return self._packages()

    def _known(self, name: str, packages: PackageSystem) -> Package | None:
        command = packages.query(name)
        result = self._try(command)
        if packages.is_absent(result):
            return None
        if result.exit_status != 0:
            raise self._failed(command, result)
        found = self._understood(command, packages.read, result.stdout)
        if found.name != name:
            raise BenchFault(f"{self.name}: `{command}` answered for {found.name}")
        return found

    def _attempted(
        self, name: str, packages: PackageSystem, command: str, result: CommandResult, ending: Ending
    ) -> Attempt[Package | None]:
        cause = packages.cause(result)
        if ending in (Ending.UNCLEAR, Ending.UNMET):
            raise Undecided(str(self._failed_with(cause, command, result)))
        if ending in (Ending.UNKNOWN, Ending.NO_ANSWER):
            raise self._failed_with(cause, command, result)
        return Attempt(None if ending is Ending.DONE else cause, self.package(name))

    def parameter(self, module: str, name: str) -> str:
        """The value a parameter of a loaded module has, as the kernel writes it.

        Raises:
            BenchFault: When the module is not loaded, or does not show that parameter.
        """
        if not _PARAMETER.fullmatch(name):
            raise BenchFault(f"{self.name}: module parameter {name!r}; expected letters, digits and _")
        folder = f"/sys/module/{module_name(self.name, module).replace('-', '_')}/parameters"
        return self._run(f"cat {folder}/{name}").strip()

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

    def _is_locked_down(self, result: CommandResult) -> bool:
        """Does a kernel that takes signed modules alone refuse one with EPERM? man kernel_lockdown(7)."""
        look = "cat /sys/kernel/security/lockdown"
        return _LOCKED_DOWN in result.stderr and bool(re.search(r"\[(?!none)\w+\]", self._try(look).stdout))

    def is_build_on_disk(self, module: str) -> bool | None:
        """Is the module in memory of the very build that lies on disk? None when it carries no build id.

        Compares the GNU build id (a hash of the contents that the linker makes) in /sys with the file, packed or not.
        The bytes are sought as text: grep ends a line at a line feed, which one id of 20 bytes in 13 has.
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
        wanted = shlex.quote(build_id.hex(" "))
        search = f"{unpack} {shlex.quote(file)} | od -An -v -tx1 | tr -d '\\n' | grep -cF {wanted}"
        command = f"bash -c {shlex.quote(f'{search}; echo ${{PIPESTATUS[*]}}')}"
        result = self._try(command)
        answer = result.stdout.split()  # lines found, then the status of each program: 1 of grep is that it found none
        if len(answer) != 5 or answer[1:4] != ["0"] * 3 or answer[4] not in ("0", "1"):
            raise self._failed(command, result)
        return answer[4] == "0"

    def reload(self, module: str) -> None:
        """Unload and load a module, then see it live.

        One command does both, so that a connection lost with the driver does not leave the host without it.

        Raises:
            ModuleRefused: The kernel does not take it.
            BenchFault: It does not load for another reason.
        """
        module_name(self.name, module)
        command = f"modprobe -r {module} && modprobe {module}"
        result = self._try(command, timeout_s=_RELOAD_TIMEOUT_S)
        if result.exit_status != 0:
            lacks_key = any(words in result.stderr for words in _LACKS_KEY) or self._is_locked_down(result)
            if lacks_key or any(words in result.stderr for words in _UNFIT):
                raise ModuleRefused(str(self._failed(command, result)), lacks_key)
            raise self._failed(command, result)
        loaded = self.loaded_module(module)
        if loaded is None or loaded.state is not ModuleState.LIVE:
            state = "not loaded" if loaded is None else loaded.state
            raise BenchFault(f"{self.name}: module {module} is {state} after `modprobe {module}`; expected Live")


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
