"""The settings of the process when it starts: addresses, ports, logins, files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class PortSettings:
    """A port and its other end: the server, the port there, and where the cable takes frames."""

    number: int
    name: str
    mac: bytes
    server: str
    nic: str
    udp: int
    cable: tuple[str, int]


@dataclass(frozen=True)
class SnmpSettings:
    """Logins; ``user`` is SNMPv3 with SHA-256 and AES-128 and may write, ``viewer`` may not."""

    port: int
    read_community: str
    write_community: str
    user: str
    viewer: str
    auth_password: str
    priv_password: str


@dataclass(frozen=True)
class Settings:
    """All of it.

    Attributes:
        speed_mbps: Of every port; frames travel at this speed divided by ``scale``.
        outlets: Server -> the control socket of the cables that lead to it (see :mod:`outlets`).
    """

    address: str
    mac: bytes
    serial: str
    speed_mbps: int
    scale: float
    control_socket: Path
    config_file: Path
    defects_file: Path
    boots_file: Path
    outlets: dict[str, Path]
    ports: tuple[PortSettings, ...]
    snmp: SnmpSettings


def load(path: Path) -> Settings:
    """The settings in a JSON file written by ``vbench``."""
    record: dict[str, Any] = json.loads(path.read_text())
    for name in ("control_socket", "config_file", "defects_file", "boots_file"):
        record[name] = Path(record[name])
    record["mac"] = bytes.fromhex(record["mac"])
    record["outlets"] = {server: Path(socket) for server, socket in record["outlets"].items()}
    record["ports"] = tuple(
        PortSettings(**{**port, "mac": bytes.fromhex(port["mac"]), "cable": tuple(port["cable"])})
        for port in record["ports"]
    )
    record["snmp"] = SnmpSettings(**record["snmp"])
    return Settings(**record)
