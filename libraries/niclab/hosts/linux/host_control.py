"""Linux host, what a run needs around its questions: what to look for, what to keep, how changes are put back."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from niclab.core.verdict import BenchFault
from niclab.hosts.commands import HostCommands
from niclab.hosts.names import interface_name, ip_address, ip_cidr, module_name, pci_address
from niclab.hosts.settings_records import Package

_ID = re.compile(r"[0-9a-f]{4}")
_TOOLS = ("ip", "ethtool", "lspci", "modprobe", "modinfo", "ping", "ss", "timeout", "python3")
_EVIDENCE = (
    ("kernel-log", "dmesg | tail -n 200"),
    ("links", "ip -s -d link show"),
    ("pci", "lspci -vv"),
    ("interrupts", "cat /proc/interrupts"),
)
_BOND, _VLAN = "bonding", "8021q"


class LinuxControl(HostCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def needed_tools(self) -> tuple[str, ...]:
        """Programs without which nothing can be asked here."""
        return _TOOLS

    def evidence_commands(self) -> tuple[tuple[str, str], ...]:
        """Name and command of what is kept after a failed test."""
        return _EVIDENCE

    def pci_functions(self, vendor_id: str, device_id: str) -> tuple[str, ...]:
        """Addresses of every PCI function with these ids."""
        ids = ":".join(_checked(self.name, one) for one in (vendor_id, device_id))
        lines = self._run(f"lspci -Dn -d {ids}").splitlines()
        return tuple(pci_address(self.name, line.split()[0]) for line in lines if line.strip())

    def drivers_of(self, module: str) -> frozenset[str]:
        """What a device that a module drives calls its driver: the module's name."""
        return frozenset({module_name(self.name, module)})

    def is_own_module(self, file: str) -> bool:
        """Did this module file come with the kernel?"""
        return file.startswith(f"/lib/modules/{self._run('uname -r').strip()}/kernel/")

    def stacking_modules(self) -> tuple[str, str]:
        """The modules that bonds and VLANs need."""
        return _BOND, _VLAN

    def unloading_driver(self, module: str) -> str:
        """A command that unloads a module, for the journal."""
        return f"modprobe -r {module_name(self.name, module)}"

    def removing_link(self, name: str) -> str:
        """A command that removes a bond or VLAN, for the journal; no error when it is gone."""
        link = interface_name(self.name, name)
        return f"[ ! -e /sys/class/net/{link} ] || ip link delete dev {link}"

    def releasing_port(self, iface: str, up: bool, addresses: Sequence[str]) -> str:
        """A command that takes a port out of whatever it belongs to, and gives it this state and these addresses."""
        name = interface_name(self.name, iface)
        words = [f"ip link set dev {name} nomaster", f"ip link set dev {name} {'up' if up else 'down'}"]
        words += [f"ip address replace {ip_cidr(self.name, one)} dev {name}" for one in addresses]
        return " && ".join(words)

    def restoring_package(self, name: str, before: Package | None, module: str) -> str:
        """A command that brings a package and its driver back to what they are now, for the journal."""
        words = ["dpkg", "--purge", name]  # no error when it is not installed, nor when nobody knows such a package
        if before is not None:
            words = ["apt-get", "-q", "--yes", "--allow-downgrades", "install", f"{name}={before.version}"]
        reload_it = f"modprobe -r {module_name(self.name, module)} && modprobe {module_name(self.name, module)}"
        return f"DEBIAN_FRONTEND=noninteractive {shlex.join(words)} && {reload_it}"

    def tcp_listeners(self, port: int, address: str | None = None) -> tuple[str, ...]:
        """Who listens on a port, one line each.

        :param address: whoever listens there with TCP; without it whoever listens anywhere, with TCP or UDP.
        """
        where = f"-Hlntup sport = :{int(port)}"
        if address is not None:
            where = f"-Hltn src {ip_address(self.name, address)} and sport = :{int(port)}"
        lines = self._run(f"ss {where}").splitlines()
        return tuple(line.strip() for line in lines if line.strip())

    def panicking(self) -> str:
        """A command that makes the kernel panic."""
        return "echo c > /proc/sysrq-trigger"


def _checked(host: str, text: str) -> str:
    if not _ID.fullmatch(text):
        raise BenchFault(f"{host}: PCI id {text!r}: four hexadecimal digits are wanted")
    return text
