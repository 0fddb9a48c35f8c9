"""Linux host: bonds and VLANs."""

from __future__ import annotations

import ipaddress
import re
import shlex
from collections.abc import Sequence

from niclab.core.verdict import BenchFault
from niclab.hosts.bonds.bond_records import Bond, Vlan
from niclab.hosts.bonds.bond_settings import BondSettings, VlanTag
from niclab.hosts.bonds.proc_bonding import read_bonding
from niclab.hosts.command_words import interface_name, ip_address
from niclab.hosts.errors import unreadable
from niclab.hosts.host import Shell
from niclab.hosts.links.ip_command import read_vlan
from niclab.hosts.linux_commands import LinuxCommands
from niclab.hosts.settings.linux import _UNCHANGED, LinuxSettings

_NET = "/sys/class/net"

_LINE = re.compile(r"([a-z_]{1,30}):(.*)")

_AFTER_MEMBERS = ("primary",)
"""Options that name a member are set once it is one."""

_VLAN_IDS = range(1, 4095)

_LISTS = ("slaves", "arp_ip_target")
"""Lists of words; a number in them is none that follows a word."""

_LRO = "large-receive-offload"

_BOND, _VLAN = "bonding", "8021q"

_BOND_SAYS = "@ bond"
"""Between a bond's settings and what the driver says of it."""


class LinuxBonds(LinuxCommands):
    """See :class:`niclab.hosts.host.HostBonds` for the meaning of each method."""

    def __init__(self, shell: Shell, name: str, *, settings: LinuxSettings) -> None:
        super().__init__(shell, name)
        self._settings = settings

    def create(self, name: str, settings: BondSettings, members: Sequence[str]) -> Bond:
        """Make a bond of ``members``, set it up, and see that every setting asked for is what the driver says.

        The members lose their IPv4 addresses and are taken down: they cannot join otherwise. The driver is loaded
        without the bond that it makes by itself.

        Raises:
            BenchFault: When a step fails, or a setting reads back otherwise.
        """
        bond = interface_name(self.name, name)
        if not members:
            raise BenchFault(f"{self.name}: bond {bond}: no members; expected at least one")
        for target in settings.arp_ip_target or ():
            ip_address(self.name, target)
        options = list(settings.options())
        first = " ".join(f"{key} {value}" for key, value in options if key not in _AFTER_MEMBERS)
        steps = [f"link add dev {bond} type bond {first}"]
        for member in (interface_name(self.name, member) for member in members):
            steps += [f"link set dev {member} down", f"address flush dev {member} to 0.0.0.0/0"]
            steps += [f"link set dev {member} master {bond}"]
        for key, value in options:
            if key in _AFTER_MEMBERS:
                steps.append(f"link set dev {bond} type bond {key} {interface_name(self.name, value)}")
        make = "modprobe bonding max_bonds=0 && " + _batch([*steps, f"link set dev {bond} up"])
        shows = (_settings_command(bond), _bond_command(bond))
        answer = self._run(f"{make} && {shows[0]} && echo '{_BOND_SAYS}' && {shows[1]}")
        read_back, _, said = answer.partition(f"{_BOND_SAYS}\n")
        found = self._understood(shows[0], _read_settings, read_back)
        self._refuse_other_settings(bond, dict(options), list(members), found)
        return self._understood(shows[1], read_bonding, said)

    def lost_below(self, iface: str) -> str | None:
        """A command that gives a port back what it loses below a bond or VLAN; None where it loses nothing.

        The kernel switches LRO off at each member of a bond (``bond_enslave()``, ``dev_disable_lro()``) and below a
        VLAN, which has none (``netdev_sync_upper_features()``), and leaves it so.
        """
        lro = self._settings.features(iface).features.get(_LRO)
        if lro is None or not lro.on:
            return None
        return f"{self._ethtool('-K', iface, {'lro': True})} || test $? -eq {_UNCHANGED}"

    def bond(self, name: str) -> Bond:
        """Return the driver's report of a bond."""
        return self._read(_bond_command(interface_name(self.name, name)), read_bonding)

    def settings(self, name: str) -> dict[str, str]:
        """Every setting of a bond as sysfs shows it, without the number that follows a word.

        Those that are empty are left out.
        """
        return self._read(_settings_command(interface_name(self.name, name)), _read_settings)

    def create_vlan(self, name: str, below: str, vlan_id: int, tag: VlanTag = VlanTag.CUSTOMER) -> Vlan:
        """Make a VLAN interface on ``below``, set it up, and see its id, its tag and what it lies on."""
        if vlan_id not in _VLAN_IDS:
            raise BenchFault(f"{self.name}: VLAN {vlan_id}; expected an id of 1 to 4094")
        vlan, lower = interface_name(self.name, name), interface_name(self.name, below)
        kind = "vlan" if tag is VlanTag.CUSTOMER else f"vlan proto {tag.value}"
        found = self._vlan(
            vlan,
            f"modprobe 8021q && ip link add link {lower} name {vlan} type {kind} id {vlan_id}"
            f" && ip link set dev {vlan} up && {_vlan_command(vlan)}",
        )
        if (found.id, found.link) != (vlan_id, lower):
            raise BenchFault(f"{self.name}: {vlan} is VLAN {found.id} on {found.link}; expected {vlan_id} on {lower}")
        if found.protocol != tag.value:
            raise BenchFault(f"{self.name}: {vlan} tags its frames by {found.protocol}; expected {tag.value}")
        return found

    def vlan(self, name: str) -> Vlan:
        """A VLAN interface."""
        return self._vlan(name, _vlan_command(interface_name(self.name, name)))

    def _vlan(self, name: str, command: str) -> Vlan:
        found = self._read(command, read_vlan)
        if found.name != name:
            raise BenchFault(f"{self.name}: `{command}` showed {found.name}; expected {name}")
        return found

    def _refuse_other_settings(
        self, bond: str, asked: dict[str, str], members: list[str], found: dict[str, str]
    ) -> None:
        wrong = [
            f"{key} reads {found.get(key, 'nothing')}; expected {value}"
            for key, value in asked.items()
            if not _same(found.get(key), value)
        ]
        if sorted(found.get("slaves", "").split()) != sorted(members):
            wrong.append(f"members read {found.get('slaves', 'nothing')}; expected {' '.join(members)}")
        if wrong:
            raise BenchFault(f"{self.name}: bond {bond}: {'; '.join(wrong)}")

    def modules(self) -> tuple[str, str]:
        """The modules that bonds and VLANs need."""
        return _BOND, _VLAN


def _settings_command(bond: str) -> str:
    return f"cd {_NET}/{bond}/bonding && grep -s . *"


def _bond_command(bond: str) -> str:
    return f"cat /proc/net/bonding/{bond}"


def _vlan_command(vlan: str) -> str:
    return f"ip -j -d link show dev {vlan}"


def _same(found: str | None, asked: str) -> bool:
    """Addresses are compared as such; the driver shows a list with blanks."""
    if found is None:
        return False
    return found.replace(" ", ",") == asked or _addresses(found.split()) == _addresses(asked.split(","))


def _addresses(words: list[str]) -> list[object]:
    try:
        return [ipaddress.ip_address(word) for word in words]
    except ValueError:
        return [*words]


def _read_settings(text: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if match is None or match[1] in settings:
            raise unreadable("bond's sysfs", f"line {number}", line, "'SETTING:VALUE' of one bond, each once")
        settings[match[1]] = re.sub(r"(?<=\S) \d+$", "", match[2]) if match[1] not in _LISTS else match[2]
    if "mode" not in settings:
        raise unreadable("bond's sysfs", "text", text, "the settings of a bond, mode among them")
    return settings


def _batch(steps: Sequence[str]) -> str:
    """One ``ip`` for all steps, which ends with the first that is refused: a program costs a server a tenth second."""
    return f"printf '%s\\n' {' '.join(shlex.quote(step) for step in steps)} | ip -batch -"
