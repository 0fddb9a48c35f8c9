"""The differences between models of switches, as data: a file of ``lab/switches`` for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.files.document import Problem, shown_file
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Record, Seconds, Text, Wanted
from niclab.files.yaml import Sheet, load
from niclab.transports.snmp.snmp_records import VARIABLES, ValueKind, Variable

DIRECTORY = REPOSITORY / "lab" / "switches"

Oid = Annotated[
    str, StringConstraints(pattern=r"^[012](\.(0|[1-9][0-9]*)){2,}$"), Wanted('a number such as "1.3.6.1.2.1.2.2.1.7"')
]
VariablesPerPdu = Annotated[int, Field(ge=1, le=100), Wanted("a number of variables, 1..100")]


class PortNames(Enum):
    """The variable that holds the names of ports by which the bench file calls them."""

    IF_NAME = "ifName"
    IF_DESCR = "ifDescr"
    IF_ALIAS = "ifAlias"


class SpeedUnit(Enum):
    """The unit of ``ifHighSpeed``: Mbit/s as RFC 2863 has it, or bit/s as some agents do."""

    MBPS = "Mbit/s"
    BPS = "bit/s"


class VlanMib(Enum):
    """The place where VLANs are set: the Q-BRIDGE-MIB, one number for each port, or nowhere over SNMP."""

    Q_BRIDGE = "q-bridge"
    PER_PORT = "per-port"
    NONE = "none"


class Settable(Enum):
    """A kind of setting that a switch takes over SNMP."""

    PORTS = "ports"
    VLANS = "vlans"


class BridgePorts(Enum):
    """The numbers by which the bridge MIBs call ports: of their own (``dot1dBasePortIfIndex``), or ``ifIndex``."""

    OWN = "own"
    IF_INDEX = "ifIndex"


class VlanModel(Record):
    """``access_vlan_oid``: with ``per-port``, the column by ifIndex that holds the VLAN of an access port.

    ``id_oid``: with ``q-bridge``, the column that holds the id of each VLAN, where its tables have other numbers.
    """

    mib: Annotated[VlanMib, Wanted("q-bridge, per-port or none")]
    access_vlan_oid: Oid | None = None
    id_oid: Oid | None = None


class BridgeModel(Record):
    """The bridge. ``unit``: what its interfaces have behind the name of their port (``.0`` of ``ge-0/0/1.0``).

    ``per_vlan``: there is one for each VLAN, and the agent shows that of VLAN 1.
    """

    ports: Annotated[BridgePorts, Wanted("own or ifIndex")] = BridgePorts.OWN
    unit: Text | None = None
    per_vlan: bool = False


class SwitchModel(Sheet):
    """A model. ``oids``: variables that it keeps at other numbers than the MIBs do, of the same kind.

    ``known_by``: words of ``sysDescr``, one of which every switch of the model has. ``sets``: what SNMP may change.
    """

    model: Name
    description: Text
    source: Text
    known_by: tuple[Text, ...] = ()
    sets: tuple[Annotated[Settable, Wanted("ports or vlans")], ...] = (Settable.PORTS, Settable.VLANS)
    port_names: Annotated[PortNames, Wanted("ifName, ifDescr or ifAlias")] = PortNames.IF_NAME
    speed_unit: Annotated[SpeedUnit, Wanted("Mbit/s or bit/s")] = SpeedUnit.MBPS
    vlans: VlanModel = VlanModel(mib=VlanMib.Q_BRIDGE)
    bridge: BridgeModel = BridgeModel()
    set_seen_within_s: Seconds = 10
    variables_per_pdu: VariablesPerPdu = 20
    oids: Mapping[Text, Oid] = {}

    def variable(self, name: str) -> Variable:
        """The variable called ``name``, at the number where this model keeps it."""
        standard = VARIABLES[name]
        return replace(standard, oid=self.oids.get(name, standard.oid))

    @property
    def access_vlan(self) -> Variable:
        """The column that holds the VLAN of an access port, where the model has one of its own.

        Raises:
            BenchFault: When it has none.
        """
        if self.vlans.access_vlan_oid is None:
            raise BenchFault(f"switch model {self.model}: no access_vlan_oid; expected one, with mib: per-port")
        return Variable("accessVlan", self.vlans.access_vlan_oid, ValueKind.INTEGER)

    @property
    def vlan_id(self) -> Variable | None:
        """The column that holds the id of each VLAN; None where the tables of VLANs have it as their index."""
        oid = self.vlans.id_oid
        return None if oid is None else Variable("vlanId", oid, ValueKind.INTEGER)

    def require_settable(self, what: Settable, switch: str) -> None:
        """See that a switch of this model takes a kind of setting.

        Args:
            what: The kind.
            switch: Subject of the message.

        Raises:
            NotApplicable: It does not.
        """
        if what not in self.sets:
            raise NotApplicable(f"{switch}: {what.value} cannot be set over SNMP (switch model {self.model})")

    def problems(self) -> Iterator[Problem]:
        """Yield what no field shows alone."""
        if self.model != self.file.stem:
            yield Problem(("model",), f"{self.model} is not the name of the file", self.file.stem)
        if (self.vlans.mib is VlanMib.PER_PORT) != (self.vlans.access_vlan_oid is not None):
            yield Problem(("vlans",), f"mib: {self.vlans.mib.value}", "access_vlan_oid with per-port, and only there")
        if self.vlans.id_oid is not None and (self.vlans.mib is not VlanMib.Q_BRIDGE or Settable.VLANS in self.sets):
            yield Problem(("vlans", "id_oid"), self.vlans.id_oid, "id_oid with q-bridge alone, and sets without vlans")
        for name in self.oids:
            if name not in VARIABLES:
                yield Problem(("oids", name), f"there is no variable {name}", f"one of {', '.join(sorted(VARIABLES))}")


def models_like(description: str, directory: Path = DIRECTORY) -> list[str]:
    """Name the models whose words a switch has in its ``sysDescr``.

    Args:
        description: Its ``sysDescr``.
        directory: The folder of the models.
    """
    models = [load_model(file.stem, directory) for file in sorted(directory.glob("*.yaml"))]
    return [each.model for each in models if any(words in description for words in each.known_by)]


def load_model(name: str, directory: Path = DIRECTORY) -> SwitchModel:
    """The model called ``name``.

    Raises:
        BenchFault: When there is no such file (naming those there are), or with everything wrong with it.
    """
    file = directory / f"{name}.yaml"
    if not file.is_file():
        known = ", ".join(sorted(each.stem for each in directory.glob("*.yaml"))) or "none yet"
        raise BenchFault(f"{shown_file(file)}: no such switch model; expected this file, or one of {known}")
    return load(file, SwitchModel, SwitchModel.problems)
