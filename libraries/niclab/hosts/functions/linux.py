"""Linux host: virtual functions, by sysfs and ip."""

from __future__ import annotations

from niclab.hosts.command_words import interface_name, pci_address
from niclab.hosts.errors import NotOffered
from niclab.hosts.functions.function_records import (
    NONE,
    FunctionCount,
    FunctionRules,
    VirtualFunction,
    read_function_count,
    read_function_rules,
    read_functions,
)
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.settings_records import Attempt

MODULES = "/proc/modules"
"""Not there where the kernel has everything in itself."""
COUNTS = "sriov_totalvfs sriov_numvfs $(ls sriov_drivers_autoprobe 2> /dev/null)"
"""Kernels before Linux 4.12 have no third one, and bind drivers."""
MADE_WITHIN_S = 120
"""Assumption: a driver looks at one function after the other, some for seconds."""


class LinuxFunctions(LinuxCommands):
    """See :class:`niclab.hosts.host.HostFunctions` for the meaning of each method."""

    def count(self, address: str) -> FunctionCount:
        """Return how many there can be, and how many there are.

        Raises:
            NotOffered: The port has none, or its driver, the kernel or the server's firmware offers none.
        """
        show = f"cd {self._folder(address)} && if [ -e sriov_totalvfs ]; then cat {COUNTS}"
        found = self._read(f"{show}; else echo {NONE}; fi", read_function_count)
        if found is None:
            raise NotOffered(f"{self.name}: {address}: the system offers no virtual functions (sriov_totalvfs)")
        return found

    def set_count(self, address: str, count: int) -> Attempt[FunctionCount]:
        """Let a port have so many: 0, or any number where it has none. The echo of dash says no reason of a refusal."""
        change = f"/bin/echo {int(count)} > {self._folder(address)}/sriov_numvfs"
        return Attempt(self._told(change, timeout_s=MADE_WITHIN_S), self.count(address))

    def functions(self, address: str) -> tuple[VirtualFunction, ...]:
        """Return those that there are, each with its interface."""
        each = 'echo "$link $(basename "$(readlink -f $link)") $(ls $link/net 2> /dev/null | tr "\\n" " ")"'
        show = f'cd {self._folder(address)} && for link in virtfn*; do [ ! -e "$link" ] || {each}; done'
        return self._read(show, read_functions)

    def set_vlan(self, iface: str, number: int, vlan_id: int) -> Attempt[tuple[FunctionRules, ...]]:
        """Put a function into a VLAN of whose tags it sees nothing; 0: into none."""
        return self._set(iface, f"vf {int(number)} vlan {int(vlan_id)}")

    def set_spoof_check(self, iface: str, number: int, on: bool) -> Attempt[tuple[FunctionRules, ...]]:
        """Let a port refuse what a function sends from other addresses than its own."""
        return self._set(iface, f"vf {int(number)} spoofchk {'on' if on else 'off'}")

    def restoring(self, address: str) -> str:
        """A command that brings their number back to what it is now, and unloads a driver that is not there now.

        The driver goes first: nothing names it any more once its functions are gone, should the command be cut there.
        """
        folder, now = self._folder(address), self.count(address).now
        loaded = " ".join(self._run(f"[ ! -e {MODULES} ] || cut -d' ' -f1 {MODULES}").split())
        each = '[ ! -e "$module" ] || basename "$(readlink -f "$module")"'
        drivers = f"drivers=$(for module in {folder}/virtfn*/driver/module; do {each}; done | sort -u)"
        file = f"{folder}/sriov_numvfs"
        back = f"echo 0 > {file} && {{ [ {now} = 0 ] || echo {now} > {file}; }}"
        unload = f'case " {loaded} " in *" $driver "*) ;; *) modprobe -r "$driver" || exit;; esac'
        return f'{drivers}; for driver in $drivers; do {unload}; done; [ "$(cat {file})" = {now} ] || {{ {back}; }}'

    def _set(self, iface: str, words: str) -> Attempt[tuple[FunctionRules, ...]]:
        name = interface_name(self.name, iface)
        change, show = f"ip link set dev {name} {words}", f"ip -d -j link show dev {name}"
        refused, shown = self._told_and_shown(change, show)
        return Attempt(refused, self._understood(show, read_function_rules, shown))

    def _folder(self, address: str) -> str:
        return f"/sys/bus/pci/devices/{pci_address(self.name, address)}"
