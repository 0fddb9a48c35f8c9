"""FreeBSD host, stacked interfaces: lagg(4) and vlan(4) are not made or read back yet."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.hosts.bond_settings import BondSettings
from niclab.hosts.freebsd.commands import FreeBsdCommands
from niclab.hosts.link_records import Bond, Vlan
from niclab.hosts.parity import not_available
from niclab.verdict import NotApplicable

_LAGG = "bonds are lagg(4) there, which this release does not make or read back"
_VLAN = "vlan(4) interfaces are not made or read back by this release"


class FreeBsdBonds(FreeBsdCommands):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    @not_available(_LAGG)
    def create_bond(self, name: str, settings: BondSettings, members: Sequence[str]) -> Bond:
        raise NotApplicable(f"{self.name}: cannot make bond {name} of {', '.join(members)} ({settings}): {_LAGG}")

    @not_available(_LAGG)
    def bond(self, name: str) -> Bond:
        raise NotApplicable(f"{self.name}: cannot read bond {name}: {_LAGG}")

    @not_available(_LAGG)
    def bond_settings(self, name: str) -> dict[str, str]:
        raise NotApplicable(f"{self.name}: cannot read the settings of bond {name}: {_LAGG}")

    @not_available(_VLAN)
    def create_vlan(self, name: str, below: str, vlan_id: int) -> Vlan:
        raise NotApplicable(f"{self.name}: cannot make VLAN {vlan_id} {name} on {below}: {_VLAN}")

    @not_available(_VLAN)
    def vlan(self, name: str) -> Vlan:
        raise NotApplicable(f"{self.name}: cannot read VLAN {name}: {_VLAN}")

    @not_available(_VLAN)
    def remove_link(self, name: str) -> None:
        raise NotApplicable(f"{self.name}: cannot remove {name}: {_VLAN}")
