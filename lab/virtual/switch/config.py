"""The configuration that is kept over a restart: VLANs, ports, names, ageing.

A change is made on a copy, which is then applied as a whole: a request that is refused changes nothing.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from wholefile import write_whole

PORTS = range(1, 5)
DEFAULT_VLAN = 1
AGEING_S = 300


@dataclass
class Vlan:
    """A row of dot1qVlanStaticTable; port numbers are bridge ports."""

    name: str
    egress: set[int] = field(default_factory=set)
    untagged: set[int] = field(default_factory=set)
    forbidden: set[int] = field(default_factory=set)
    active: bool = True


@dataclass
class PortConfig:
    """A port.

    Attributes:
        tagged_only: Frames without a tag are dropped (dot1qPortAcceptableFrameTypes).
        lacp_active: It sends LACPDUs without being asked; else it answers a partner that is active.
        lacp_short: It asks its partner for a LACPDU each second, else each 30 s.
    """

    admin: bool = True
    alias: str = ""
    pvid: int = DEFAULT_VLAN
    tagged_only: bool = False
    ingress_filtering: bool = True
    lacp_active: bool = False
    lacp_short: bool = True
    lacp_aggregatable: bool = True
    lacp_key: int = 1


@dataclass
class Config:
    ports: dict[int, PortConfig] = field(default_factory=lambda: {number: PortConfig() for number in PORTS})
    vlans: dict[int, Vlan] = field(
        default_factory=lambda: {DEFAULT_VLAN: Vlan("default", egress=set(PORTS), untagged=set(PORTS))}
    )
    ageing_s: int = AGEING_S
    contact: str = ""
    name: str = "switch"
    location: str = ""


def save(path: Path, config: Config) -> None:
    """Write it in one step."""
    write_whole(path, json.dumps(asdict(config), default=sorted, indent=1))


def load(path: Path) -> Config:
    """Load what :func:`save` wrote; the factory's configuration when there is no such file."""
    if not path.exists():
        return Config()
    record = json.loads(path.read_text())
    ports = {int(number): PortConfig(**port) for number, port in record.pop("ports").items()}
    vlans = {int(number): _vlan(vlan) for number, vlan in record.pop("vlans").items()}
    return Config(ports=ports, vlans=vlans, **record)


def _vlan(record: dict[str, object]) -> Vlan:
    sets = {name: set(record.pop(name)) for name in ("egress", "untagged", "forbidden")}  # type: ignore[call-overload]
    return Vlan(**record, **sets)  # type: ignore[arg-type]
