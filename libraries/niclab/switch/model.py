"""The differences between models of switches, as data: a file of ``lab/switches`` for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints

from niclab.core.verdict import BenchFault
from niclab.files.repository import REPOSITORY
from niclab.files.types import Name, Record, Seconds, Text, Wanted
from niclab.files.yaml import Problem, Sheet, load, shown_file
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


class VlanModel(Record):
    """``access_vlan_oid``: with ``per-port``, the column by ifIndex that holds the VLAN of an access port."""

    mib: Annotated[VlanMib, Wanted("q-bridge, per-port or none")]
    access_vlan_oid: Oid | None = None


class SwitchModel(Sheet):
    """A model. ``oids``: variables that it keeps at other numbers than the MIBs do, of the same kind."""

    model: Name
    description: Text
    source: Text
    port_names: Annotated[PortNames, Wanted("ifName, ifDescr or ifAlias")] = PortNames.IF_NAME
    speed_unit: Annotated[SpeedUnit, Wanted("Mbit/s or bit/s")] = SpeedUnit.MBPS
    vlans: VlanModel = VlanModel(mib=VlanMib.Q_BRIDGE)
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

    def problems(self) -> Iterator[Problem]:
        """Yield what no field shows alone."""
        if self.model != self.file.stem:
            yield Problem(("model",), f"{self.model} is not the name of the file", self.file.stem)
        if (self.vlans.mib is VlanMib.PER_PORT) != (self.vlans.access_vlan_oid is not None):
            yield Problem(("vlans",), f"mib: {self.vlans.mib.value}", "access_vlan_oid with per-port, and only there")
        for name in self.oids:
            if name not in VARIABLES:
                yield Problem(("oids", name), f"there is no variable {name}", f"one of {', '.join(sorted(VARIABLES))}")


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
