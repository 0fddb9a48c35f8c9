"""Models of switches: the ones of the repository, and everything that may be wrong with one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fake_switch import PORTS, FakeSwitch

from niclab.core.verdict import BenchFault
from niclab.switch.model import DIRECTORY, PortNames, SpeedUnit, VlanMib, load_model

GENERIC = (DIRECTORY / "generic.yaml").read_text(encoding="utf-8")
FIRST_LINE = "# yaml-language-server: $schema=../schema/switch.schema.json"


@pytest.mark.parametrize("file", sorted(DIRECTORY.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_model_of_the_repository_is_right(file: Path) -> None:
    assert load_model(file.stem).model == file.stem
    assert file.read_text(encoding="utf-8").startswith(FIRST_LINE)


def test_the_generic_model_is_what_is_the_case_when_nothing_is_said() -> None:
    said = load_model("generic")
    names, unit = PortNames.IF_NAME, SpeedUnit.MBPS
    assert (said.port_names, said.speed_unit) == (names, unit)
    assert (said.vlans.mib, said.oids, said.variables_per_pdu) == (VlanMib.Q_BRIDGE, {}, 20)


def written(folder: Path, *changes: tuple[str, str]) -> str:
    """The faults of the generic model with changes, without the folder."""
    text = GENERIC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "generic.yaml").write_text(text)
    try:
        load_model("generic", folder)
    except BenchFault as error:
        return str(error).replace(f"{folder}/", "")
    return ""


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("model: generic", "model: other", "model: other is not the name of the file; expected generic"),
        ("port_names: ifName", "port_names: name", "name is not wanted; expected ifName, ifDescr or ifAlias"),
        ("sets: [ports, vlans]", "sets: [fans]", "fans is not wanted; expected ports or vlans"),
        ("ports: own", "ports: mine", "mine is not wanted; expected own or ifIndex"),
        ("mib: q-bridge", "mib: q-bridge\n  id_oid: 1.3.6.1", "id_oid with q-bridge alone, and sets without vlans"),
        ("speed_unit: Mbit/s", "speed_unit: Gbit/s", "Gbit/s is not wanted; expected Mbit/s or bit/s"),
        ("mib: q-bridge", "mib: per-port", "expected access_vlan_oid with per-port, and only there"),
        ("mib: q-bridge", "mib: q-bridge\n  access_vlan_oid: 1.3.6.1", "access_vlan_oid with per-port, and only there"),
        ("variables_per_pdu: 20", "variables_per_pdu: 0", "0 is not wanted; expected a number of variables, 1..100"),
        ("# oids: {", "oids: {ifFoo: 1.2.3} # {", "oids.ifFoo: there is no variable ifFoo; expected one of dot1dBase"),
        ("# oids: {", "oids: {ifName: .1.3} # {", ".1.3 is not wanted; expected a number such as"),
        ("source: ", "sauce: ", "sauce: unknown key (did you mean source?); expected one of "),
    ],
)
def test_a_mistake_gets_one_clear_line(tmp_path: Path, old: str, new: str, wanted: str) -> None:
    assert wanted in written(tmp_path, (old, new))


def test_a_model_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(
        BenchFault, match=r"^lab/switches/acme\.yaml: no such switch model; expected .* cisco-ios, .* generic, "
    ):
        load_model("acme")


class TestQuirks:
    def test_speed_in_bits(self, fake: FakeSwitch) -> None:
        fake.mib.put("ifHighSpeed", [10101], 1_000_000_000)
        odd = fake.switch(load_model("generic").model_copy(update={"speed_unit": SpeedUnit.BPS}))
        assert odd.ports.state("Gi1/0/1").speed_mbps == 1000

    @pytest.mark.parametrize("names", [PortNames.IF_DESCR, PortNames.IF_ALIAS])
    def test_names_in_another_variable(self, fake: FakeSwitch, names: PortNames) -> None:
        for name, index in PORTS.items():
            fake.mib.put(names.value, [index], f"Port {name[-1]}".encode())
        odd = fake.switch(load_model("generic").model_copy(update={"port_names": names}))
        assert odd.ports.index("Port 3") == 10103

    def test_a_variable_at_another_number(self, fake: FakeSwitch) -> None:
        elsewhere = {"ifOperStatus": "1.3.6.1.2.1.2.2.1.7"}  # where the administrative state is
        odd = fake.switch(load_model("generic").model_copy(update={"oids": elsewhere}))
        fake.mib.put("ifAdminStatus", [10101], 2)
        assert odd.ports.state("Gi1/0/1").oper.name == "DOWN"
