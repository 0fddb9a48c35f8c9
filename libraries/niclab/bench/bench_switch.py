"""The section ``switch`` of a bench file: the managed switch between servers, and which of its ports lead where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from pydantic import Field, StringConstraints

from niclab.files.document import Problem
from niclab.files.types import Command, Host, Name, PortName, Record, SecretName, UdpPort, User, Wanted
from niclab.transports.snmp.snmp_login import Auth, Privacy

SwitchPortName = Annotated[
    str,
    StringConstraints(pattern=r"^[!-~]([ -~]*[!-~])?$"),
    Wanted("the name of a port as the switch has it, such as Gi1/0/1"),
]


VlanId = Annotated[int, Field(ge=1, le=4094), Wanted("a VLAN, 1..4094")]


class CommunityEntry(Record):
    """SNMP v2c: names of the secrets that hold the community that reads and the one that writes."""

    read_community_secret: SecretName
    write_community_secret: SecretName


class SnmpUser(Record):
    """SNMP v3 with authentication and privacy (authPriv)."""

    user: User
    auth: Annotated[Auth, Wanted("sha, sha256, sha384 or sha512")] = Auth.SHA256
    auth_password_secret: SecretName
    priv: Annotated[Privacy, Wanted("aes128, aes192 or aes256")] = Privacy.AES128
    priv_password_secret: SecretName


class SnmpEntry(Record):
    """The SNMP version and login of the switch: ``v3`` where it can, else by ``v2c``. Exactly one.

    ``bridge_vlans``: the VLANs of the bench's ports, on a switch that has a bridge for each VLAN.
    """

    port: UdpPort = 161
    v3: SnmpUser | None = None
    v2c: CommunityEntry | None = None
    bridge_vlans: tuple[VlanId, ...] = ()


class SwitchEntry(Record):
    """The switch. ``model`` names a file of ``lab/switches``; ``ports`` maps bench ports to ports of the switch.

    ``connect``: lays the cables of ``ports`` to the switch, where ``paths`` has them lie directly (a patch panel);
    ``disconnect`` lays them back. Without them the cables stay as ``paths`` says.
    """

    name: Name
    model: Name
    address: Host
    snmp: SnmpEntry
    ports: Annotated[Mapping[PortName, SwitchPortName], Field(min_length=1)]
    connect: Command | None = None
    disconnect: Command | None = None

    @property
    def secret_names(self) -> tuple[str, ...]:
        """The names of the secrets it needs."""
        if self.snmp.v3:
            return (self.snmp.v3.auth_password_secret, self.snmp.v3.priv_password_secret)
        if self.snmp.v2c:
            return (self.snmp.v2c.read_community_secret, self.snmp.v2c.write_community_secret)
        return ()


def switch_problems(switch: SwitchEntry, known: list[str]) -> Iterator[Problem]:
    """Yield problems that no field of the section shows alone. ``known``: the ports of the bench."""
    given = [way for way in (switch.snmp.v3, switch.snmp.v2c) if way is not None]
    if len(given) != 1:
        found = "both v3 and v2c" if given else "no login"
        yield Problem(("switch", "snmp"), found, "v3 (what a switch of this century can), or v2c")
    if (switch.connect is None) != (switch.disconnect is None):
        found = "connect" if switch.disconnect is None else "disconnect"
        yield Problem(("switch",), f"{found} alone", "both connect and disconnect, or neither")
    seen: dict[str, str] = {}
    for name, port in switch.ports.items():
        if name not in known:
            yield Problem(("switch", "ports", name), f"there is no port {name}", f"one of {', '.join(known)}")
        if seen.setdefault(port, name) != name:
            found = f"{port} leads to {seen[port]} already"
            yield Problem(("switch", "ports", name), found, "each port of the switch once")


def switched_path_problems(
    index: int, ends: tuple[str, str], switch: SwitchEntry | None, *, through_switch: bool
) -> Iterator[Problem]:
    """A path through the switch has both its ends on it, a direct one has none there.

    A direct one that can be connected to the switch has both ends there, or none.
    """
    field = ("paths", index, "through")
    if through_switch and switch is None:
        yield Problem(field, "the bench has no switch", "direct, or a section switch")
    elif switch is not None and switch.connect is not None and not through_switch:
        on_it = [end for end in ends if end in switch.ports]
        if len(on_it) == 1:
            found = f"{on_it[0]} alone is in switch.ports"
            yield Problem(field, found, "both ends there, so that connect takes the path to the switch, or none")
    elif switch is not None:
        for end in ends:
            if through_switch is not (end in switch.ports):
                there = "is" if end in switch.ports else "is not"
                wanted = "both ends on the switch" if through_switch else "switch, or no end on the switch"
                yield Problem(field, f"{end} {there} in switch.ports", wanted)
