"""The address of an SNMP agent, and the login there."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum


class Auth(Enum):
    """The algorithm that signs v3 messages (RFC 7860; ``sha``: RFC 3414)."""

    SHA = "sha"
    SHA256 = "sha256"
    SHA384 = "sha384"
    SHA512 = "sha512"


class Privacy(Enum):
    """The cipher of v3 messages (``aes128``: RFC 3826; the longer ones as most vendors do them)."""

    AES128 = "aes128"
    AES192 = "aes192"
    AES256 = "aes256"


@dataclass(frozen=True)
class Communities:
    """v2c: the community that reads and the one that writes (may be the same)."""

    read: str = field(repr=False)
    write: str = field(repr=False)


@dataclass(frozen=True)
class User:
    """v3 with authentication and privacy."""

    name: str
    auth_password: str = field(repr=False)
    priv_password: str = field(repr=False)
    auth: Auth = Auth.SHA256
    priv: Privacy = Privacy.AES128


@dataclass(frozen=True)
class SnmpEndpoint:
    """The place of an agent, and the login there. ``name``: for messages; ``address``: IPv4 or a name.

    ``bridge_vlan``: asks for the bridge of that VLAN, on a switch that has one for each.
    """

    name: str
    address: str
    port: int
    login: Communities | User
    variables_per_pdu: int = 20
    bridge_vlan: int | None = None
