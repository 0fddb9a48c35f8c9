"""FreeBSD host: commands that put things back as they are now, for the journal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name, ip_cidr, module_name
from niclab.hosts.drivers.driver_commands import FreeBsdDriverCommands
from niclab.hosts.drivers.freebsd_firmware import _FIRMWARE, _FLASHED
from niclab.hosts.host import HostSettings, Shell
from niclab.hosts.links.freebsd import _removal
from niclab.hosts.parity import not_available, partly
from niclab.hosts.pci.freebsd import _NO_DETACH
from niclab.hosts.settings.driver_settings import CHELSIO, FLASHED_BY_MODULE, FLOW_CONTROL, firmware_module, pause_word
from niclab.hosts.settings.features import CAPABILITIES
from niclab.hosts.settings.freebsd import _HELD, _HOLDOFF, _LOADER_ONLY, _PAUSED, _SIZES
from niclab.hosts.settings.settings_records import Package


class FreeBsdUndo(FreeBsdDriverCommands):
    """See :class:`niclab.hosts.host.HostUndo` for the meaning of each method."""

    def __init__(self, shell: Shell, name: str, *, settings: HostSettings) -> None:
        super().__init__(shell, name)
        self._settings = settings

    def unload_driver(self, module: str) -> str:
        """A command that unloads a module, for the journal; no error when it is not loaded."""
        name = module_name(self.name, module)
        return f"if kldstat -q -n {name}; then kldunload {name}; fi"

    def upper(self, name: str) -> str:
        """A command that removes a lagg or VLAN, for the journal; no error when it is gone."""
        link = interface_name(self.name, name)
        return f'case " $(ifconfig -l) " in *" {link} "*) ifconfig {link} destroy ;; esac'

    def port(self, iface: str, up: bool, addresses: Sequence[str]) -> str:
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

    def package(self, name: str, before: Package | None, module: str) -> str:
        """A command that brings a package and its driver back to what they are now, for the journal.

        Where there is no file of the module then, none is loaded.
        """
        driver = module_name(self.name, module)
        old = "! pkg -N >/dev/null 2>&1"
        removed = f"for p in $(pkg_info -E '{name}-[0-9]*'); do pkg_delete -f $p || exit; done"
        gone = f"if pkg query %n {name} >/dev/null; then env ASSUME_ALWAYS_YES=yes pkg delete -f {name}; fi"
        added = ":"
        if before is not None:
            added = f"pkg_add {name}-{before.version}"
            gone = f"env ASSUME_ALWAYS_YES=yes pkg install -f {name}-{before.version}"
        files = f'IFS=";"; for d in $(sysctl -n kern.module_path); do [ ! -e "$d/{driver}.ko" ] || echo "$d"; done'
        reload_it = f'{self.unload_driver(driver)} && {{ [ -z "$({files})" ] || {self.load_driver(driver)}; }}'
        return f"if {old}; then {removed}; {added}; else {gone}; fi && {reload_it} && sync"

    @not_available(_NO_DETACH)
    def driver(self, address: str, iface: str) -> str:
        raise NotApplicable(f"{self.name}: the driver of {iface} ({address}) stays: FreeBSD: {_NO_DETACH}")

    def load_driver(self, module: str) -> str:
        """A command that loads a module, for the journal; no error when it is loaded."""
        return f"kldload -n {module_name(self.name, module)}"

    @partly(_FLASHED)
    def firmware(self, iface: str, file: str) -> str:
        """The command of :meth:`flash`, for the journal."""
        device = self._newbus(iface)
        if device.driver in FLASHED_BY_MODULE:
            return f"sysctl {device.tree}.fw_upgrade={firmware_module(self._checked_file(file))}"
        if device.driver not in CHELSIO:
            raise NotApplicable(f"{self.name}: FreeBSD has no tool that writes firmware of {device.driver} cards")
        return f"cxgbetool {self._parent(device).name} loadfw {_FIRMWARE}/{self._checked_file(file)}"

    def link(self, iface: str, up: bool) -> str:
        """A command that sets the interface up or down, for the journal."""
        return f"ifconfig {interface_name(self.name, iface)} {'up' if up else 'down'}"

    def arp(self, iface: str, answers: bool) -> str:
        """A command that makes it do so, or not; the system knows the second alone, and has it so."""
        if answers:
            raise NotApplicable(f"{self.name}: FreeBSD answers ARP on {iface} for no other interface")
        return "true"

    def address(self, iface: str, cidr: str) -> str:
        """A command that removes an address, for the journal; no error when it is gone."""
        address = ip_cidr(self.name, cidr)
        removal = _removal(address, interface_name(self.name, iface))
        present = removal.removesuffix("-alias")
        return f's=$(ifconfig {iface}) && case $s in *"{present}"*) ifconfig {iface} {removal} ;; esac'

    def features(self, iface: str, words: Mapping[str, str]) -> str:
        """Features.

        In the order of the bits: segmentation needs transmit checksums, which come before it.

        Args:
            iface: Name of the interface.
            words: The word to set with, by the label the feature is shown under; fixed features are left out.
        """
        shown = self._settings.features(iface)
        switchable = [one.label for one in CAPABILITIES if one.label in words and not shown[one.label].fixed]
        unknown = [label for label in words if label not in shown.features]
        if unknown or not switchable:
            raise BenchFault(
                f"{self.name}: {iface}: features {list(words)} cannot be put back: {unknown or 'all fixed'}"
            )
        wanted = [f"{'' if shown[label].on else '-'}{self._word(words[label])}" for label in switchable]
        return f"ifconfig {iface} {' '.join(wanted)}"

    @partly(_SIZES)
    def rings(self, iface: str) -> str:
        now, tree = self._settings.rings(iface).current, self._newbus(iface).tree
        return _where_different({f"{tree}.qsize_rxq": now.rx, f"{tree}.qsize_txq": now.tx})

    @partly(_HELD)
    def coalescing(self, iface: str, names: tuple[str, ...]) -> str:
        device = self._chelsio(iface, "has no coalescing that the lab reads")
        leaves = [self._leaf(_HOLDOFF, name)[0] for name in names]
        if not leaves:
            raise BenchFault(f"{self.name}: {iface}: coalescing has nothing to put back")
        return _where_different({f"{device.tree}.{leaf}": self._index(f"{device.tree}.{leaf}") for leaf in leaves})

    @partly(_PAUSED)
    def pause(self, iface: str) -> str:
        now, device = self._settings.pause(iface), self._newbus(iface)
        leaf = "fc" if device.driver in FLOW_CONTROL else "pause_settings"
        return f"sysctl {device.tree}.{leaf}={pause_word(bool(now.rx), bool(now.tx), bool(now.autoneg))}"

    @not_available(_LOADER_ONLY)
    def channels(self, iface: str) -> str:
        raise NotApplicable(f"{self.name}: {iface}: queues cannot be put back: {_LOADER_ONLY}")

    def mtu(self, iface: str) -> str:
        return f"ifconfig {interface_name(self.name, iface)} mtu {self._settings.mtu(iface)}"


def _where_different(values: Mapping[str, int | None]) -> str:
    """Cxgbe is busy for every value once a port was up, also for the one it has: only another one is set."""
    steps = [f"{{ test $(sysctl -n {name}) = {value} || sysctl {name}={value}; }}" for name, value in values.items()]
    return " && ".join(steps)
