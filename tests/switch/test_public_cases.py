"""Public reports of switches that could not be read: ``cases``, each with its source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from dialects import MAC
from fake_switch import FakeSwitch

from niclab.core.verdict import BenchFault
from niclab.switch.model import load_model
from niclab.switch.switch import Switch
from niclab.switch.switch_records import Admin
from niclab.transports.snmp.snmp_agent import SnmpRefused

CASES = Path(__file__).parent / "cases"


def case(number: str) -> dict[str, Any]:
    """A file of ``cases``. All its values are texts: a MAC address would be a number to the base 60."""
    (file,) = CASES.glob(f"{number}-*")
    found: dict[str, Any] = yaml.load(file.read_text(), yaml.BaseLoader)
    return found


def put_all(fake: FakeSwitch, said: dict[str, Any]) -> None:
    """Let the fake switch have the variables of a case, and no others of their names."""
    for name, rows in said.items():
        fake.mib.drop(name)
        for index, value in rows.items() if isinstance(rows, dict) else ():
            start = [int(part) for part in index.split(".")]
            if isinstance(value, dict):
                for address, port in value.items():
                    fake.mib.put(name, [*start, *bytes.fromhex(address.replace(":", ""))], int(port))
            else:
                fake.mib.put(name, start, value.encode() if name == "ifName" else int(value))


def of_case(number: str) -> tuple[FakeSwitch, Switch]:
    """The fake switch of a case."""
    said, fake = case(number), FakeSwitch()
    put_all(fake, {name: rows for name, rows in said.items() if name not in ("model", "refuses")})
    fake.mib.refuses.update(said.get("refuses", {}))
    return fake, fake.switch(load_model(said["model"]))


def test_a_bridge_for_each_vlan() -> None:
    _, switch = of_case("10")
    with pytest.raises(BenchFault, match=r"the VLANs of the bench's ports in switch\.snmp\.bridge_vlans$"):
        switch.tables.ports_of_mac(MAC)


def test_a_bridge_port_without_an_interface() -> None:
    _, switch = of_case("11")
    with pytest.raises(BenchFault, match=f"{MAC} is at bridge port 49, which has no interface"):
        switch.tables.ports_of_mac(MAC)
    with pytest.raises(BenchFault, match=r"port Gi1/0/1 .* is no port of its bridge"):
        switch.vlans.of("Gi1/0/1")


def test_an_index_of_zero() -> None:
    fake, switch = of_case("12")
    for name, number in (("ifAdminStatus", 1), ("ifOperStatus", 1), ("ifHighSpeed", 1000)):
        fake.mib.put(name, [0], number)
    assert switch.tables.ports_of_mac(MAC) == {"Ethernet0"}
    assert switch.ports.state("Ethernet0").admin is Admin.UP


@pytest.mark.parametrize(("step", "index"), [("after", 20202), ("swapped", 10101)])
def test_indexes_that_change(step: str, index: int) -> None:
    said, fake = case("13"), FakeSwitch()
    switch = fake.switch()
    put_all(fake, said["before"])
    assert switch.ports.index("Gi1/0/2") == 10102
    put_all(fake, said[step])
    assert switch.ports.index("Gi1/0/2") == index


def test_a_database_that_is_not_the_vlans() -> None:
    assert of_case("14")[1].tables.ports_of_mac(MAC) == {"Gi1/0/1"}


def test_tables_that_are_read_only() -> None:
    _, switch = of_case("15")
    with pytest.raises(SnmpRefused, match="notWritable; expected a variable that can be written on this switch"):
        switch.vlans.create(77)
