"""FreeBSD host: bonds and VLANs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.bonds.bond_records import Bond, BondMember, Vlan
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, HashPolicy, PrimaryReselect, VlanTag
from niclab.hosts.command_words import interface_name
from niclab.hosts.errors import unreadable
from niclab.hosts.freebsd_commands import FreeBsdCommands
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.links.ifconfig_records import BsdInterface, Lagg
from niclab.hosts.parity import emulated, partly

_MODES = {
    BondMode.ACTIVE_BACKUP: ("failover", 1),
    BondMode.LACP: ("lacp", 4),
    BondMode.BALANCE_XOR: ("loadbalance", 2),
    BondMode.BALANCE_RR: ("roundrobin", 0),
}

_NAMES = {protocol: (mode.value, number) for mode, (protocol, number) in _MODES.items()}

_HASHES = {
    HashPolicy.LAYER2: ("l2",),
    HashPolicy.LAYER23: ("l2", "l3"),
    HashPolicy.LAYER34: ("l3", "l4"),
}

_TAKEN = ("mode", "miimon_ms", "primary", "primary_reselect", "xmit_hash_policy")

_BONDS = (
    "lagg(4) in the modes failover, lacp, loadbalance and roundrobin; the first port is the primary, always used again;"
    " hashes by `lagghash`"
)

_LOOKED = "`ifconfig` of the lagg and of its ports; links are not looked at every so often, drivers tell"

_VLAN_IDS = range(1, 4095)

_LAGG, _VLAN = "if_lagg", "if_vlan"


class FreeBsdBonds(FreeBsdCommands):
    """See :class:`niclab.hosts.host.HostBonds` for the meaning of each method."""

    @partly(_BONDS)
    def create(self, name: str, settings: BondSettings, members: Sequence[str]) -> Bond:
        """Make a lagg of ``members``, set it up, and see that it is as asked. The members lose their IPv4 addresses.

        ``miimon_ms`` asks for nothing here: a driver tells a change of its link at once.

        Raises:
            NotApplicable: For a mode or a setting that lagg(4) does not have.
            BenchFault: When a step fails, or it reads back otherwise.
        """
        bond = interface_name(self.name, name)
        ports = [interface_name(self.name, member) for member in members]
        if not ports:
            raise BenchFault(f"{self.name}: bond {bond}: no members; expected at least one")
        self._refuse_what_lagg_has_not(bond, settings, ports)
        protocol = _MODES[settings.mode][0]
        layers = _HASHES[settings.xmit_hash_policy] if settings.xmit_hash_policy else None
        chosen = f" lagghash {','.join(layers)}" if layers else ""
        steps = [f"ifconfig lagg create name {bond} >/dev/null"]
        for port in ports:
            taken = self._ifconfig(f"ifconfig {port}", port).inet
            steps += [f"ifconfig {port} inet {address.address} -alias" for address in taken]
            steps.append(f"ifconfig {port} up")
        joined = " ".join(f"laggport {port}" for port in ports)
        self._run(" && ".join([*steps, f"ifconfig {bond} laggproto {protocol}{chosen} {joined} up"]))
        found = self._lagg(bond)[1]
        if found.protocol != protocol or [port.name for port in found.ports] != ports:
            shown = f"{found.protocol} of {', '.join(port.name for port in found.ports)}"
            raise BenchFault(f"{self.name}: bond {bond} is {shown}; expected {protocol} of {', '.join(ports)}")
        if layers is not None and found.hash != layers:
            raise BenchFault(f"{self.name}: bond {bond} has lagghash {found.hash}; expected {','.join(layers)}")
        return self.bond(bond)

    @emulated(_LOOKED)
    def lost_below(self, iface: str) -> str | None:
        """None: ports of one kind keep their capabilities in a lagg (``lagg_capabilities()``) and below a VLAN."""
        interface_name(self.name, iface)
        return None

    def bond(self, name: str) -> Bond:
        """Return ifconfig's report of a lagg, with the link of each port."""
        bond = interface_name(self.name, name)
        shown, lagg = self._lagg(bond)
        command = " && ".join(["true", *(f"ifconfig {port.name}" for port in lagg.ports)])
        found = {one.name: one for one in self._shown(command)} if lagg.ports else {}
        slaves = tuple(_member(found, port.name, command) for port in lagg.ports)
        active = [port.name for port in lagg.ports if port.flags.has("ACTIVE", 2)]
        mode = _NAMES.get(lagg.protocol)
        known = {
            "mode": lagg.protocol,
            "mode_name": mode[0] if mode else None,
            "mode_id": mode[1] if mode else None,
            "active_slave": active[0] if active and lagg.protocol == "failover" else None,
            "primary": lagg.ports[0].name if lagg.ports and lagg.protocol == "failover" else None,
            "mii_status": "up" if shown.link else "down",
            "slaves": slaves,
            "slaves_up": sum(one.mii_status == "up" for one in slaves),
        }
        return Bond(**{field.name: known.get(field.name) for field in fields(Bond)})  # type: ignore[arg-type]

    @emulated("the lines of `ifconfig`")
    def settings(self, name: str) -> dict[str, str]:
        """Mode and members of a lagg; ``primary`` where there is such."""
        lagg = self._lagg(interface_name(self.name, name))[1]
        ports = [port.name for port in lagg.ports]
        settings = {"mode": lagg.protocol, "slaves": " ".join(ports)}
        return {**settings, "primary": ports[0]} if ports and lagg.protocol == "failover" else settings

    @partly("those of 802.1Q; tags of 802.1ad came with FreeBSD 13")
    def create_vlan(self, name: str, below: str, vlan_id: int, tag: VlanTag = VlanTag.CUSTOMER) -> Vlan:
        """Make a VLAN interface (802.1Q) on ``below``, set it up, and see its id and what it lies on.

        Raises:
            NotApplicable: For another tag.
        """
        if tag is not VlanTag.CUSTOMER:
            raise NotApplicable(f"{self.name}: VLAN {name}: FreeBSD's vlan(4) has no tag {tag.value} before release 13")
        if vlan_id not in _VLAN_IDS:
            raise BenchFault(f"{self.name}: VLAN {vlan_id}; expected an id of 1 to 4094")
        vlan, lower = interface_name(self.name, name), interface_name(self.name, below)
        made = f"ifconfig {vlan} create"
        if vlan != f"{lower}.{vlan_id}":
            made = f"ifconfig vlan create vlan {vlan_id} vlandev {lower} name {vlan} >/dev/null"
        self._run(f"{made} && ifconfig {vlan} up")
        found = self.vlan(vlan)
        if (found.id, found.link) != (vlan_id, lower):
            raise BenchFault(f"{self.name}: {vlan} is VLAN {found.id} on {found.link}; expected {vlan_id} on {lower}")
        return found

    def vlan(self, name: str) -> Vlan:
        """A VLAN interface."""
        vlan = interface_name(self.name, name)
        shown = self._ifconfig(f"ifconfig {vlan}", vlan).vlan
        if shown is None:
            raise BenchFault(f"{self.name}: `ifconfig {vlan}` shows no VLAN")
        return Vlan(vlan, shown.id, shown.parent, shown.protocol)

    def _refuse_what_lagg_has_not(self, bond: str, settings: BondSettings, ports: list[str]) -> None:
        asked = [field.name for field in fields(settings) if getattr(settings, field.name) is not None]
        others = [name for name in asked if name not in _TAKEN]
        if settings.xmit_hash_policy is not None and settings.xmit_hash_policy not in _HASHES:
            others.append(f"xmit_hash_policy {settings.xmit_hash_policy.value}")
        if settings.mode not in _MODES or others:
            what = ", ".join(others) or f"mode {settings.mode.value}"
            raise NotApplicable(f"{self.name}: bond {bond}: FreeBSD's lagg(4) has no {what}")
        if settings.primary_reselect not in (None, PrimaryReselect.ALWAYS):
            raise NotApplicable(
                f"{self.name}: bond {bond}: FreeBSD's lagg(4) uses its primary again as soon as it returns, never"
                f" {settings.primary_reselect.value!r}"
            )
        if settings.primary not in (None, ports[0]):
            raise BenchFault(f"{self.name}: bond {bond}: primary {settings.primary}; expected the first port of a lagg")

    def _lagg(self, bond: str) -> tuple[BsdInterface, Lagg]:
        shown = self._ifconfig(f"ifconfig {bond}", bond)
        if shown.lagg is None:
            raise BenchFault(f"{self.name}: `ifconfig {bond}` shows no lagg")
        return shown, shown.lagg

    def _shown(self, command: str) -> tuple[BsdInterface, ...]:
        return self._read(command, read_ifconfig).interfaces

    def modules(self) -> tuple[str, str]:
        """The modules that laggs and VLANs need; ifconfig loads them by itself."""
        return _LAGG, _VLAN


def _member(found: dict[str, BsdInterface], name: str, command: str) -> BondMember:
    if name not in found:
        raise unreadable(command, name, ", ".join(found), "each port of the lagg")
    shown = found[name]
    known = {
        "name": name,
        "mii_status": "up" if shown.up and shown.link else "down",
        "speed_mbps": shown.speed_mbps,
        "duplex": shown.duplex,
    }
    return BondMember(**{field.name: known.get(field.name) for field in fields(BondMember)})  # type: ignore[arg-type]
