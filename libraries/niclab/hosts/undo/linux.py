"""Linux host: commands that put things back as they are now, for the journal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from niclab.core.undo import SLOW_DEADLINE_S
from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name, ip_cidr, module_name, pci_address
from niclab.hosts.drivers.package_systems import PackageSystem, forgetting
from niclab.hosts.errors import unreadable
from niclab.hosts.host import HostLinks, Shell
from niclab.hosts.links.linux import _ARP
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.pci.linux import _PCI
from niclab.hosts.settings.ethtool_coalesce import read_coalescing
from niclab.hosts.settings.ethtool_features import read_features
from niclab.hosts.settings.ethtool_pause import read_pause
from niclab.hosts.settings.ethtool_sizes import read_channels, read_rings
from niclab.hosts.settings.linux import _UNCHANGED, LinuxSettings, sum_command
from niclab.hosts.settings.settings_records import Package

_NET = "/sys/class/net"

_APPEARS_LOOKS = 200
"""Looks for the interface of a driver that was given back, one each tenth of a second."""


class LinuxUndo(LinuxCommands):
    """See :class:`niclab.hosts.host.HostUndo` for the meaning of each method."""

    def __init__(self, shell: Shell, name: str, *, settings: LinuxSettings, links: HostLinks) -> None:
        super().__init__(shell, name)
        self._settings = settings
        self._links = links

    def driver(self, address: str, iface: str) -> str:
        """A command that gives a PCI function the driver, and its interface the state, that they have now.

        A function that is gone from the bus is looked for. The state is: MTU, IPv4 addresses, whether ARP is answered
        for others, up or down, and its bond, if that is still there. No error when nothing was taken, or the server was
        started since.

        Raises:
            BenchFault: When the function has no driver now, or ``iface`` belongs to something that is no bond.
        """
        pci_address(self.name, address)
        driver, module = self._bound_names(address)
        was = self._links.interface(iface)
        bound = f"[ -e {_PCI}/devices/{address}/driver ]"
        steps = [
            f"{{ [ -d {_PCI}/drivers/{driver} ] || modprobe {module}; }}",
            f"{{ [ -e {_PCI}/devices/{address} ] || echo 1 > {_PCI}/rescan; }}",
            f"{{ {bound} || echo {address} > {_PCI}/drivers/{driver}/bind || {bound}; }}",
            "udevadm settle --timeout=30",
            _waiting(address, interface_name(self.name, iface)),
            f"ip link set dev {iface} mtu {was.mtu}",
            *(f"ip address replace {one} dev {iface}" for one in was.ipv4),
            self.arp(iface, self._links.answers_arp_for_others(iface)),
        ]
        if was.master is not None:
            steps.append(self._joining(iface, was.master))
        return " && ".join([*steps, self.link(iface, bool(was.admin_up))])

    def _joining(self, iface: str, master: str) -> str:
        """An interface becomes a member of a bond that is there, unless it is one already."""
        bond = f"{_NET}/{interface_name(self.name, master)}/bonding"
        if self._run(f"if [ -d {bond} ]; then echo bond; else echo other; fi").strip() != "bond":
            raise BenchFault(f"{self.name}: {iface} belongs to {master}, which is no bond; expected a bond, or nothing")
        join = f"ip link set dev {iface} down && ip link set dev {iface} master {master}"
        return f"{{ [ ! -d {bond} ] || [ -e {_NET}/{iface}/master ] || {{ {join}; }}; }}"

    def _bound_names(self, address: str) -> tuple[str, str]:
        """The driver that is bound to a function, and its module."""
        command = (
            f"cd {_PCI}/devices/{address} && d=$(readlink driver); m=$(readlink driver/module);"
            ' echo "driver=${d##*/} module=${m##*/}"'
        )
        answer = self._run(command).strip()
        words = dict(word.partition("=")[::2] for word in answer.split())
        if list(words) != ["driver", "module"]:
            raise unreadable("driver of a PCI device", "text", answer, "'driver=NAME module=NAME'")
        if not words["driver"]:
            raise BenchFault(f"{self.name}: {address} has no driver; expected one, that can be taken and given back")
        driver = module_name(self.name, words["driver"])
        return driver, module_name(self.name, words["module"] or driver)

    def unload_driver(self, module: str) -> str:
        """A command that unloads a module, for the journal."""
        return f"modprobe -r {module_name(self.name, module)}"

    def upper(self, name: str) -> str:
        """A command that removes a bond or VLAN, for the journal; no error when it is gone."""
        link = interface_name(self.name, name)
        return f"[ ! -e /sys/class/net/{link} ] || ip link delete dev {link}"

    def port(self, iface: str, up: bool, addresses: Sequence[str]) -> str:
        """A command that takes a port out of whatever it belongs to, and gives it this state and these addresses."""
        name = interface_name(self.name, iface)
        words = [f"ip link set dev {name} nomaster", f"ip link set dev {name} {'up' if up else 'down'}"]
        words += [f"ip address replace {ip_cidr(self.name, one)} dev {name}" for one in addresses]
        return " && ".join(words)

    def package(self, name: str, before: Package | None, module: str) -> str:
        """A command that brings a package and its driver back to what they are now, for the journal.

        Where the host knows no such module now, none is loaded afterwards.

        Raises:
            BenchFault: No repository of the host has the version that is there now, so that no command could.
        """
        packages = self._packages()
        if before is not None and not self._is_offered(packages, self._named(name), before.full_version):
            said = f"{self.name}: package {name} {before.full_version} is installed, and no repository has it"
            raise BenchFault(f"{said}; expected a version that can be brought back")
        back, keys = packages.restoring(self._named(name), before), packages.keys()
        if keys is not None:
            back += f" && {forgetting(self._run(keys))}"
        driver = module_name(self.name, module)
        unload = self.unload_driver(driver)
        if self._try(f"modinfo -n {driver}").exit_status != 0:
            return f"{{ [ ! -d /sys/module/{driver.replace('-', '_')} ] || {unload}; }} && {back} && sync"
        return f"{back} && {unload} && {self.load_driver(driver)} && sync"

    def _is_offered(self, packages: PackageSystem, name: str, version: str) -> bool:
        """Does a repository have this full version? Lists that do not have it are fetched again once."""
        command = packages.listing(name)
        for is_last in (False, True):
            result = self._try(command, timeout_s=SLOW_DEADLINE_S)
            versions = packages.offered(result)
            if versions is None:
                raise self._failed(command, result)
            if version in versions:
                return True
            if not is_last:
                self._try(packages.refreshing(), timeout_s=SLOW_DEADLINE_S)
        return False

    def link(self, iface: str, up: bool) -> str:
        """A command that sets the interface up or down, for the journal."""
        return f"ip link set dev {interface_name(self.name, iface)} {'up' if up else 'down'}"

    def arp(self, iface: str, answers: bool) -> str:
        """A command that makes it do so, or not."""
        return f"echo {int(not answers)} > {_ARP}/{interface_name(self.name, iface)}/arp_ignore"

    def address(self, iface: str, cidr: str) -> str:
        """A command that removes an address, for the journal; no error when it is gone.

        Others of its subnet stay: ``to`` takes a prefix, of which one address is the longest.
        """
        return f"ip address flush dev {interface_name(self.name, iface)} to {ip_cidr(self.name, cidr).ip}"

    def features(self, iface: str, words: Mapping[str, str]) -> str:
        """Features.

        Args:
            iface: Name of the interface.
            words: The word to set with, by the name the feature is shown under; fixed features are left out.
        """
        shown, checksum = self._settings.shown_with_sum("--json -k", iface, read_features)
        wanted = {}
        for name, word in words.items():
            feature = shown[name]
            if not feature.fixed:
                wanted[word] = feature.on if feature.requested is None else feature.requested
        return self._restoring("-K", iface, wanted, checksum)

    def rings(self, iface: str) -> str:
        shown, checksum = self._settings.shown_with_sum("-g", iface, read_rings)
        now = shown.current
        sizes = {"rx": now.rx, "rx-mini": now.rx_mini, "rx-jumbo": now.rx_jumbo, "tx": now.tx}
        return self._restoring("-G", iface, {word: size for word, size in sizes.items() if size}, checksum)

    def coalescing(self, iface: str, names: tuple[str, ...]) -> str:
        """Coalescing.

        Where it is adaptive, a driver may take no time together with that (Linux: i40e_ethtool.c,
        __i40e_set_coalesce()): what it refuses at once is put back with the switches off, which are put on then.

        Args:
            iface: Name of the interface.
            names: The parameters to put back; the adaptive switches come first, with those that are shown.
        """
        now, checksum = self._settings.shown_with_sum("-c", iface, read_coalescing)
        switches: dict[str, int | bool] = {}
        for word, switch in (("adaptive-rx", now.adaptive_rx), ("adaptive-tx", now.adaptive_tx)):
            if switch is not None:
                switches[word] = switch
        values = {name: value for name in names if (value := now.parameters.get(name)) is not None}
        at_once = self._restoring("-C", iface, switches | values, checksum)
        if not values or not any(switches.values()):
            return at_once
        steps = (dict.fromkeys(switches, False) | values, switches)
        each = (f"{{ {self._ethtool('-C', iface, step)} || test $? -eq {_UNCHANGED}; }}" for step in steps)
        return f"{at_once} || {{ {' && '.join(each)}; }}"

    def pause(self, iface: str) -> str:
        now, checksum = self._settings.shown_with_sum("-a", iface, read_pause)
        values = {"autoneg": now.autoneg, "rx": now.rx, "tx": now.tx}
        known = {word: value for word, value in values.items() if value is not None}
        return self._restoring("-A", iface, known, checksum)

    def channels(self, iface: str) -> str:
        shown, checksum = self._settings.shown_with_sum("-l", iface, read_channels)
        now = shown.current
        counts = {"rx": now.rx, "tx": now.tx, "combined": now.combined}
        return self._restoring("-L", iface, {word: count for word, count in counts.items() if count}, checksum)

    def mtu(self, iface: str) -> str:
        return f"ip link set dev {shlex.quote(iface)} mtu {self._settings.mtu(iface)}"

    def _restoring(self, option: str, iface: str, values: Mapping[str, int | bool], checksum: str) -> str:
        if not values:
            raise BenchFault(f"{self.name}: {iface}: `ethtool {option}` has nothing to put back")
        # A driver that refuses every value refuses those of before as well: all is well where nothing has changed.
        look = sum_command(option.lower(), interface_name(self.name, iface))
        same = f'test "$(LC_ALL=C {look})" = {shlex.quote(checksum)}'
        return f"{self._ethtool(option, iface, values)} || test $? -eq {_UNCHANGED} || {same}"

    def firmware(self, iface: str, file: str) -> str:
        """The command of :meth:`flash`, for the journal."""
        return f"ethtool -f {interface_name(self.name, iface)} {self._checked_file(file)}"

    def load_driver(self, module: str) -> str:
        """A command that loads a module, for the journal; no error when it is loaded."""
        return f"modprobe {module_name(self.name, module)}"


def _waiting(address: str, iface: str) -> str:
    """Wait until the interface of that name is the function's; by another name it is not the one that was there."""
    mine = f"case $(readlink -f {_NET}/{iface}/device) in */{address}|*/{address}/*) true ;; *) false ;; esac"
    late = f"echo '{address} has no interface {iface} although its driver was given back' >&2; exit 1"
    return f"{{ n=0; until {mine}; do n=$((n+1)); [ $n -le {_APPEARS_LOOKS} ] || {{ {late}; }}; sleep 0.1; done; }}"
