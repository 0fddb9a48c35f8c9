"""The switch's SNMP agent, asked by net-snmp's tools."""

from __future__ import annotations

import re

import pytest
from bench_fakes import wait_for
from switch_bench import AUTH, MAC, PRIV, READ, SwitchBench, needs_net_snmp

pytestmark = needs_net_snmp

UPTIME, NAME = "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.5.0"
ADMIN, OPER, ALIAS = "1.3.6.1.2.1.2.2.1.7", "1.3.6.1.2.1.2.2.1.8", "1.3.6.1.2.1.31.1.1.1.18"
VLAN, PVID = "1.3.6.1.2.1.17.7.1.4.3.1", "1.3.6.1.2.1.17.7.1.4.5.1.1"
V3 = ["-v3", "-l", "authPriv", "-a", "SHA-256", "-x", "AES"]


@pytest.fixture
def bench(running_switch: SwitchBench) -> SwitchBench:
    running_switch.reset()
    return running_switch


def login(user: str = "admin", auth: str = AUTH, priv: str = PRIV) -> list[str]:
    return [*V3, "-u", user, "-A", auth, "-X", priv]


def ticks(bench: SwitchBench, oid: str) -> int:
    """Hundredths of a second: ``Timeticks: (1234) 0:00:12.34``."""
    found = re.fullmatch(r"Timeticks: \((\d+)\) .*", bench.get(oid))
    assert found
    return int(found[1])


# --- who may do what


def test_the_community_that_reads_reads_and_does_not_write(bench: SwitchBench) -> None:
    reader = ["-v2c", "-c", READ]
    assert '"switch"' in bench.snmp("snmpget", NAME, login=reader).stdout
    assert "noAccess" in bench.set(f"{ADMIN}.101", "i", "2", login=reader)
    assert bench.get(f"{ADMIN}.101") == "INTEGER: 1"
    assert bench.port(1)["link"] == "up"


def test_an_unknown_community_is_not_answered(bench: SwitchBench) -> None:
    assert "Timeout: No Response" in bench.snmp("snmpget", NAME, login=["-v2c", "-c", "public"], within_s=1).stderr


def test_the_user_who_administers_writes_and_the_viewer_reads(bench: SwitchBench) -> None:
    assert bench.set(f"{ADMIN}.101", "i", "2", login=login()) == ""
    assert bench.get(f"{ADMIN}.101") == "INTEGER: 2"
    assert '"switch"' in bench.snmp("snmpget", NAME, login=login("viewer")).stdout
    assert "noAccess" in bench.set(f"{ADMIN}.101", "i", "1", login=login("viewer"))
    assert bench.get(f"{ADMIN}.101") == "INTEGER: 2"


@pytest.mark.parametrize(
    ("wrong", "report"),
    [
        (login(auth="wrong-password"), "Authentication failure"),
        (login(priv="wrong-password"), "Decryption error"),
        (login("nobody"), "Unknown user name"),
        (["-v3", "-u", "admin", "-l", "authNoPriv", "-a", "SHA-256", "-A", AUTH], "Unsupported security level"),
        (["-v3", "-u", "admin", "-l", "noAuthNoPriv"], "Unsupported security level"),
    ],
)
def test_a_wrong_v3_login_gets_its_own_report(bench: SwitchBench, wrong: list[str], report: str) -> None:
    done = bench.snmp("snmpget", NAME, login=wrong)
    assert report in done.stderr
    assert done.stdout == ""


# --- reading


def test_a_missing_row_and_a_missing_object_are_told_apart(bench: SwitchBench) -> None:
    assert bench.get(f"{ADMIN}.1") == "No Such Instance currently exists at this OID"
    assert bench.get("1.3.6.1.2.1.99.1.0") == "No Such Object available on this agent at this OID"


def test_the_end_of_all_is_told(bench: SwitchBench) -> None:
    done = bench.snmp("snmpgetnext", "1.3.6.1.4.1")
    assert "No more variables left in this MIB View" in done.stdout


def test_a_walk_with_getbulk_and_one_with_getnext_see_the_same(bench: SwitchBench) -> None:
    def names(tool: str) -> list[str]:
        return [line.partition(" = ")[0] for line in bench.snmp(tool, "1.3.6.1.2.1.2").stdout.splitlines()]

    assert names("snmpbulkwalk") == names("snmpwalk")
    assert len(names("snmpwalk")) == 1 + 8 * 18


def test_a_walk_of_everything_is_in_order_and_of_the_types_of_the_mibs(bench: SwitchBench) -> None:
    walked = bench.walk(".1")
    oids = [tuple(map(int, name.split("."))) for name in walked]
    assert oids == sorted(oids)
    kinds = {
        "1.3.6.1.2.1.1.3.0": "Timeticks",
        "1.3.6.1.2.1.1.2.0": "OID",
        "1.3.6.1.2.1.2.2.1.5.101": "Gauge32",
        "1.3.6.1.2.1.2.2.1.10.101": "Counter32",
        "1.3.6.1.2.1.31.1.1.1.6.101": "Counter64",
        "1.3.6.1.2.1.31.1.1.1.15.101": "Gauge32",
        "1.3.6.1.2.1.17.7.1.4.5.1.1.1": "Gauge32",
        "1.3.6.1.2.1.17.7.1.4.3.1.2.1": "Hex-STRING",
        "1.3.6.1.2.1.10.7.2.1.19.101": "INTEGER",
        "1.2.840.10006.300.43.1.2.1.1.9.101": "Hex-STRING",
    }
    assert {name: walked[name].partition(":")[0] for name in kinds} == kinds


def test_the_identity_is_in_the_entity_mib(bench: SwitchBench) -> None:
    assert bench.get("1.3.6.1.2.1.47.1.1.1.1.13.1") == 'STRING: "NICLAB-VS4"'
    assert bench.get("1.3.6.1.2.1.47.1.1.1.1.11.1") == 'STRING: "VS-TEST"'
    assert bench.get("1.3.6.1.2.1.47.1.1.1.1.5.2") == "INTEGER: 10"


def test_a_bridge_port_and_its_interface_have_different_numbers(bench: SwitchBench) -> None:
    assert list(bench.walk("1.3.6.1.2.1.17.1.4.1.2").values()) == [f"INTEGER: {100 + n}" for n in (1, 2, 3, 4)]
    assert bench.get("1.3.6.1.2.1.31.1.1.1.1.103") == 'STRING: "port3"'
    assert bench.get("1.3.6.1.2.1.17.1.1.0") == f"Hex-STRING: {MAC.hex(' ').upper()}"


def test_speed_is_told_in_both_units(bench: SwitchBench) -> None:
    assert bench.get("1.3.6.1.2.1.2.2.1.5.101") == "Gauge32: 1000000000"
    assert bench.get("1.3.6.1.2.1.31.1.1.1.15.101") == "Gauge32: 1000"


def test_state_and_time_of_a_port_follow_its_link(bench: SwitchBench) -> None:
    before = ticks(bench, UPTIME)
    assert bench.set(f"{ADMIN}.101", "i", "2") == ""
    assert bench.get(f"{OPER}.101") == "INTEGER: 2"
    wait_for(lambda: bench.qemu["dut"].links()["p0"] is False, "the server learns of it")
    assert before <= ticks(bench, "1.3.6.1.2.1.2.2.1.9.101") <= ticks(bench, UPTIME)
    assert bench.set(f"{ADMIN}.101", "i", "1") == ""
    wait_for(lambda: bench.get(f"{OPER}.101") == "INTEGER: 1", "the link is back")
    assert bench.qemu["dut"].links()["p0"] is True


# --- writing


@pytest.mark.parametrize(
    ("triple", "refusal"),
    [
        ((f"{ADMIN}.101", "i", "3"), "wrongValue"),
        ((f"{ADMIN}.101", "s", "down"), "wrongType"),
        ((f"{ADMIN}.101", "u", "2"), "wrongType"),
        ((f"{ADMIN}.109", "i", "2"), "noCreation"),
        ((f"{ADMIN}.201", "i", "2"), "notWritable"),
        ((f"{OPER}.101", "i", "2"), "notWritable"),
        (("1.3.6.1.2.1.99.1.0", "i", "2"), "notWritable"),
        ((f"{ALIAS}.101", "s", "x" * 65), "wrongLength"),
        ((f"{PVID}.1", "u", "0"), "wrongValue"),
        ((f"{PVID}.1", "u", "7"), "inconsistentValue"),
        ((f"{VLAN}.2.7", "x", "80"), "inconsistentName"),
        ((f"{VLAN}.2.1", "x", "08"), "wrongValue"),
        ((f"{VLAN}.5.4095", "i", "4"), "noCreation"),
        ((f"{VLAN}.5.1", "i", "6"), "inconsistentValue"),
        ((f"{VLAN}.5.1", "i", "4"), "inconsistentValue"),
        ((f"{VLAN}.5.7", "i", "9"), "wrongValue"),
    ],
)
def test_a_set_that_cannot_be_is_refused_and_changes_nothing(
    bench: SwitchBench, triple: tuple[str, str, str], refusal: str
) -> None:
    before = bench.ask(status=True)
    said = bench.set(*triple)
    assert refusal in said
    assert f"Failed object: .{triple[0]}" in said
    after = bench.ask(status=True)
    assert (after["ports"], after["vlans"]) == (before["ports"], before["vlans"])


def test_of_a_request_with_one_wrong_object_nothing_is_done_and_that_one_is_named(bench: SwitchBench) -> None:
    said = bench.set(f"{ADMIN}.101", "i", "2", f"{ADMIN}.102", "i", "2", f"{ADMIN}.103", "i", "9")
    assert "wrongValue" in said
    assert f"Failed object: .{ADMIN}.103" in said
    assert [bench.port(n)["admin"] for n in (1, 2, 3)] == ["open"] * 3


def test_a_vlan_is_made_filled_and_destroyed(bench: SwitchBench) -> None:
    assert bench.set(f"{VLAN}.2.7", "x", "a0", f"{VLAN}.5.7", "i", "4", f"{VLAN}.1.7", "s", "storage") == ""
    assert bench.ask(status=True)["vlans"]["7"] == {"name": "storage", "egress": [1, 3], "untagged": []}
    assert bench.get("1.3.6.1.2.1.17.7.1.4.2.1.4.0.7") == "Hex-STRING: A0"
    assert bench.set(f"{PVID}.1", "u", "7") == ""
    assert "inconsistentValue" in bench.set(f"{VLAN}.5.7", "i", "6")
    assert bench.set(f"{PVID}.1", "u", "1") == ""
    assert bench.set(f"{VLAN}.5.7", "i", "6") == ""
    assert list(bench.ask(status=True)["vlans"]) == ["1"]
    assert bench.get(f"{VLAN}.1.7") == "No Such Instance currently exists at this OID"


def test_names_are_kept(bench: SwitchBench) -> None:
    assert bench.set(NAME, "s", "rack-7", "1.3.6.1.2.1.1.6.0", "s", "lab") == ""
    assert (bench.get(NAME), bench.get("1.3.6.1.2.1.1.6.0")) == ('STRING: "rack-7"', 'STRING: "lab"')


def test_a_restarted_switch_has_started_once_more_and_v3_goes_on(bench: SwitchBench) -> None:
    boots = int((bench.folder / "switch-boots").read_text())
    bench.restart()
    assert int((bench.folder / "switch-boots").read_text()) == boots + 1
    assert bench.snmp("snmpget", NAME, login=login()).returncode == 0
