"""FreeBSD host, what a run needs around its questions: what to look for, what to keep, how changes are put back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.core.verdict import BenchFault
from niclab.hosts.freebsd.commands import FreeBsdCommands
from niclab.hosts.freebsd.kldstat import read_kldstat
from niclab.hosts.names import interface_name, ip_address, ip_cidr, module_name
from niclab.hosts.parity import emulated
from niclab.hosts.settings_records import Package

_ID = re.compile(r"[0-9a-f]{4}")
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
_LAGG, _VLAN = "if_lagg", "if_vlan"
_KERNEL_FOLDER = "/boot/kernel/"


class FreeBsdControl(FreeBsdCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def needed_tools(self) -> tuple[str, ...]:
        """Programs without which nothing can be asked here; timeout and python3 are packages on older releases."""
        return _TOOLS

    def evidence_commands(self) -> tuple[tuple[str, str], ...]:
        """Name and command of what is kept after a failed test."""
        return _EVIDENCE

    def pci_functions(self, vendor_id: str, device_id: str) -> tuple[str, ...]:
        """Addresses of every PCI function with these ids."""
        for text in (vendor_id, device_id):
            if not _ID.fullmatch(text):
                raise BenchFault(f"{self.name}: PCI id {text!r}: four hexadecimal digits are wanted")
        found = [one for one in self._pci_devices() if (one.vendor_id, one.device_id) == (vendor_id, device_id)]
        return tuple(one.slot for one in found)

    @emulated("what `kldstat -v` says that the module's file, or the kernel, contains")
    def drivers_of(self, module: str) -> frozenset[str]:
        """What a device that a module drives calls its driver: ``t5nex`` and ``cxl`` of ``if_cxgbe``.

        :raises BenchFault: when the module is neither loaded nor in the kernel.
        """
        name = module_name(self.name, module)
        files = self._read("kldstat -v", read_kldstat).modules
        own = [one for one in files if one.name == f"{name}.ko"]
        bare = name.removeprefix("if_")
        kernel = [one for one in files if one.name == "kernel" and f"pci/{bare}" in (one.contains or ())]
        if own:
            return frozenset(entry.rpartition("/")[2] for entry in own[0].contains or ())
        if kernel:
            return frozenset({bare})
        raise BenchFault(f"{self.name}: module {name} is not loaded, so nothing tells which devices it drives")

    @emulated("by its folder, /boot/kernel; those of packages stand in /boot/modules")
    def is_own_module(self, file: str) -> bool:
        """Did this module file come with the kernel?"""
        return file.startswith(_KERNEL_FOLDER)

    def stacking_modules(self) -> tuple[str, str]:
        """The modules that laggs and VLANs need; ifconfig loads them by itself."""
        return _LAGG, _VLAN

    def unloading_driver(self, module: str) -> str:
        """A command that unloads a module, for the journal; no error when it is not loaded."""
        name = module_name(self.name, module)
        return f"if kldstat -q -n {name}; then kldunload {name}; fi"

    def removing_link(self, name: str) -> str:
        """A command that removes a lagg or VLAN, for the journal; no error when it is gone."""
        link = interface_name(self.name, name)
        return f'case " $(ifconfig -l) " in *" {link} "*) ifconfig {link} destroy ;; esac'

    def releasing_port(self, iface: str, up: bool, addresses: Sequence[str]) -> str:
        """A command that takes a port out of whatever it belongs to, and gives it this state and these addresses."""
        name = interface_name(self.name, iface)
        words = [
            f"for l in $(ifconfig -l); do case $l in {name}) ;; *) s=$(ifconfig $l) || continue;"
            f' case $s in *"laggport: {name} "*) ifconfig $l -laggport {name} ;; esac ;; esac; done'
        ]
        for one in addresses:
            address = ip_cidr(self.name, one)
            words.append(f"ifconfig {name} {'inet' if address.version == 4 else 'inet6'} {address} alias")
        return "; ".join([words[0], " && ".join([*words[1:], f"ifconfig {name} {'up' if up else 'down'}"])])

    def restoring_package(self, name: str, before: Package | None, module: str) -> str:
        """A command that brings a package and its driver back to what they are now, for the journal."""
        driver = module_name(self.name, module)
        old = "! pkg -N >/dev/null 2>&1"
        removed = f"for p in $(pkg_info -E '{name}-[0-9]*'); do pkg_delete -f $p; done"
        gone = f"env ASSUME_ALWAYS_YES=yes pkg delete -f {name}"
        added = ":"
        if before is not None:
            added = f"pkg_add {name}-{before.version}"
            gone = f"env ASSUME_ALWAYS_YES=yes pkg install -f {name}-{before.version}"
        reload_it = f"if kldstat -q -n {driver}; then kldunload {driver}; fi && kldload -n {driver}"
        return f"if {old}; then {removed}; {added}; else {gone}; fi && {reload_it}"

    def tcp_listeners(self, port: int, address: str | None = None) -> tuple[str, ...]:
        """Who listens on a port, one line each.

        :param address: whoever listens there with TCP; without it whoever listens anywhere, with TCP or UDP.
        """
        lines = self._run(f"sockstat -46l -p {int(port)} | sed 1d").splitlines()
        if address is not None:
            place = f"{ip_address(self.name, address)}:{int(port)}"
            lines = [line for line in lines if place in line.split() and " tcp" in line]
        return tuple(line.strip() for line in lines if line.strip())

    def panicking(self) -> str:
        """A command that makes the kernel panic."""
        return "sysctl debug.kdb.panic=1"
