"""Logins of the bench file: how a server, its BMC and its console are reached. Names of secrets, never secrets."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

from niclab.files.types import (
    Baud,
    CipherSuite,
    ConsoleUrl,
    FilePath,
    Host,
    Record,
    RedfishUrl,
    SecretName,
    TcpPort,
    Text,
    UdpPort,
    User,
    Wanted,
)


class BmcProtocol(Enum):
    IPMI = "ipmi"
    REDFISH = "redfish"


class Jump(Record):
    """An SSH login of a machine to go through; it may have a ``jump`` of its own."""

    address: Host
    port: TcpPort = 22
    user: User
    key_file: FilePath
    known_hosts: FilePath
    jump: Jump | None = None


class Ssh(Jump):
    """An SSH login of a server. ``sudo``: ``user`` becomes root by sudo, which asks for no password."""

    sudo: bool = False


class IpmiEntry(Record):
    """IPMI 2.0 over LAN.

    ``cipher_suite``: 17 is AES-128 with HMAC-SHA256, 3 is AES-128 with HMAC-SHA1 (IPMI 2.0, table 22-20).
    """

    address: Host
    port: UdpPort = 623
    user: User
    password_secret: SecretName
    cipher_suite: CipherSuite = 17


class RedfishEntry(Record):
    """A Redfish service. ``ca_file``: what its certificate is checked against; absent: the system's authorities.

    ``system``: member of ``/redfish/v1/Systems``; needed only where a service has several.
    """

    url: RedfishUrl
    user: User
    password_secret: SecretName
    ca_file: FilePath | None = None
    system: Text | None = None


class BmcEntry(Record):
    """The ways to a BMC; ``use`` says which one switches the power where there are two."""

    ipmi: IpmiEntry | None = None
    redfish: RedfishEntry | None = None
    use: Annotated[BmcProtocol, Wanted("ipmi or redfish")] | None = None

    @property
    def power(self) -> BmcProtocol:
        """The protocol that switches the power: ``use`` if given, else IPMI where there is one, else Redfish."""
        if self.use is not None:
            return self.use
        return BmcProtocol.IPMI if self.ipmi is not None else BmcProtocol.REDFISH


class Console(Record):
    """The serial console, and the login on it. ``baud``: speed of a local line, or one behind RFC 2217."""

    url: ConsoleUrl
    user: User
    password_secret: SecretName
    baud: Baud = 115200
