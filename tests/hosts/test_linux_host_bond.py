"""LinuxHost, bonds and VLANs, against scripted answers: every setting is read back, and another one is refused."""

from __future__ import annotations

import json
import shlex

import pytest
from examples import text_of
from fake_shell import FakeShell, Script, failed

from niclab.core.verdict import BenchFault
from niclab.hosts.bonds.bond_settings import (
    BondMode,
    BondSettings,
    FailOverMac,
    HashPolicy,
    LacpRate,
    PrimaryReselect,
    VlanTag,
)
from niclab.hosts.errors import ReadError
from niclab.hosts.linux_host import LinuxHost

PROC = "cat /proc/net/bonding/bond7"
SYSFS = "cd /sys/class/net/bond7/bonding && grep -s . *"
# the files of drivers/net/bonding/bond_sysfs.c in Linux 6.1, in its words
READ_BACK = """arp_interval:0
fail_over_mac:none 0
miimon:100
min_links:0
mode:active-backup 1
num_grat_arp:1
primary:v0
primary_reselect:always 0
slaves:v0 v1
updelay:200
"""
VLAN = [
    {
        "ifindex": 9,
        "link": "v0",
        "ifname": "v0.3",
        "flags": ["BROADCAST", "UP"],
        "mtu": 1500,
        "qdisc": "noqueue",
        "operstate": "UP",
        "group": "default",
        "link_type": "ether",
        "address": "00:1b:21:01:00:00",
        "broadcast": "ff:ff:ff:ff:ff:ff",
        "linkinfo": {"info_kind": "vlan", "info_data": {"protocol": "802.1Q", "id": 3, "flags": ["REORDER_HDR"]}},
    }
]
SETTINGS = BondSettings(
    BondMode.ACTIVE_BACKUP,
    miimon_ms=100,
    updelay_ms=200,
    primary="v0",
    primary_reselect=PrimaryReselect.ALWAYS,
    fail_over_mac=FailOverMac.NONE,
    num_grat_arp=1,
)


def host(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell(script)
    return LinuxHost(shell, "dut"), shell


def bonded(read_back: str = READ_BACK) -> tuple[LinuxHost, FakeShell]:
    said = text_of("bonding", "arch-6.5-primary")
    return host({"modprobe bonding...": f"{read_back}@ bond\n{said}", SYSFS: read_back, PROC: said})


def test_a_bond_is_made_of_members_that_are_down_and_have_no_address() -> None:
    dut, shell = bonded()
    assert dut.bonds.create("bond7", SETTINGS, ["v0", "v1"]).mode_name == "active-backup"
    modprobe, batch, *shows = shell.commands[0].split(" && ")
    assert modprobe == "modprobe bonding max_bonds=0" and len(shell.commands) == 1
    assert " && ".join(shows) == f"{SYSFS} && echo '@ bond' && {PROC}"
    assert shlex.split(batch) == [
        "printf",
        "%s\\n",
        "link add dev bond7 type bond mode active-backup miimon 100 updelay 200 primary_reselect always "
        "fail_over_mac none num_grat_arp 1",
        "link set dev v0 down",
        "address flush dev v0 to 0.0.0.0/0",
        "link set dev v0 master bond7",
        "link set dev v1 down",
        "address flush dev v1 to 0.0.0.0/0",
        "link set dev v1 master bond7",
        "link set dev bond7 type bond primary v0",
        "link set dev bond7 up",
        "|",
        "ip",
        "-batch",
        "-",
    ]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("mode:active-backup 1", "mode:balance-rr 0", "mode reads balance-rr; expected active-backup"),
        ("miimon:100", "miimon:0", "miimon reads 0; expected 100"),
        ("updelay:200", "updelay:20", "updelay reads 20; expected 200"),
        ("primary:v0", "primary:v1", "primary reads v1; expected v0"),
        ("primary:v0\n", "", "primary reads nothing; expected v0"),
        ("primary_reselect:always 0", "primary_reselect:better 1", "primary_reselect reads better; expected always"),
        ("fail_over_mac:none 0", "fail_over_mac:active 1", "fail_over_mac reads active; expected none"),
        ("num_grat_arp:1", "num_grat_arp:2", "num_grat_arp reads 2; expected 1"),
        ("slaves:v0 v1", "slaves:v0", "members read v0; expected v0 v1"),
        ("slaves:v0 v1\n", "", "members read nothing; expected v0 v1"),
    ],
)
def test_a_setting_that_reads_back_otherwise_is_refused(old: str, new: str, said: str) -> None:
    assert old in READ_BACK
    dut, _ = bonded(READ_BACK.replace(old, new))
    with pytest.raises(BenchFault) as caught:
        dut.bonds.create("bond7", SETTINGS, ["v0", "v1"])
    assert str(caught.value) == f"dut: bond bond7: {said}"


def test_targets_of_the_arp_monitor_are_compared_as_addresses() -> None:
    settings = BondSettings(BondMode.ACTIVE_BACKUP, arp_interval_ms=100, arp_ip_target=("198.18.10.1", "198.18.10.2"))
    read_back = "mode:active-backup 1\narp_interval:100\narp_ip_target:198.18.10.1 198.18.10.2\nslaves:v0 v1\n"
    dut, shell = bonded(read_back)
    dut.bonds.create("bond7", settings, ["v0", "v1"])
    assert "arp_interval 100 arp_ip_target 198.18.10.1,198.18.10.2' " in shell.commands[0]
    dut, _ = bonded(read_back.replace("10.2", "10.3"))
    with pytest.raises(BenchFault, match=r"arp_ip_target reads 198\.18\.10\.1 198\.18\.10\.3; expected"):
        dut.bonds.create("bond7", settings, ["v0", "v1"])


def test_settings_of_link_aggregation() -> None:
    settings = BondSettings(
        BondMode.LACP, miimon_ms=100, lacp_rate=LacpRate.FAST, xmit_hash_policy=HashPolicy.LAYER34, min_links=1
    )
    assert dict(settings.options()) == {
        "mode": "802.3ad",
        "miimon": "100",
        "lacp_rate": "fast",
        "xmit_hash_policy": "layer3+4",
        "min_links": "1",
    }


def test_what_cannot_be_a_bond_is_refused_before_anything_is_run() -> None:
    dut, shell = bonded()
    with pytest.raises(BenchFault, match="no members"):
        dut.bonds.create("bond7", SETTINGS, [])
    with pytest.raises(BenchFault, match="interface 'a b'"):
        dut.bonds.create("bond7", SETTINGS, ["a b"])
    with pytest.raises(BenchFault, match="address 'x; reboot'"):
        dut.bonds.create("bond7", BondSettings(BondMode.ACTIVE_BACKUP, arp_ip_target=("x; reboot",)), ["v0"])
    assert shell.commands == []


def test_a_bond_that_is_refused_says_ips_words() -> None:
    dut, _ = host({"modprobe bonding...": failed("RTNETLINK answers: Operation not permitted\n", 2)})
    with pytest.raises(BenchFault, match="RTNETLINK answers: Operation not permitted"):
        dut.bonds.create("bond7", SETTINGS, ["v0"])


@pytest.mark.parametrize("text", ["", "miimon:100\n", "mode:x\nmode:y\n", "Permission denied\n"])
def test_settings_that_cannot_be_read_are_refused(text: str) -> None:
    dut, _ = host({SYSFS: text})
    with pytest.raises(ReadError, match="bond's sysfs"):
        dut.bonds.settings("bond7")


def test_a_vlan_is_made_and_read_back() -> None:
    script: dict[str, Script] = {"modprobe 8021q...": json.dumps(VLAN)}
    dut, shell = host(script)
    assert dut.bonds.create_vlan("v0.3", "v0", 3).id == 3
    assert shell.commands == [
        "modprobe 8021q && ip link add link v0 name v0.3 type vlan id 3 && ip link set dev v0.3 up"
        " && ip -j -d link show dev v0.3"
    ]
    for below, vlan_id in (("v0", 4), ("v1", 3)):
        with pytest.raises(BenchFault, match=f"v0.3 is VLAN 3 on v0; expected {vlan_id} on {below}"):
            dut.bonds.create_vlan("v0.3", below, vlan_id)


def test_the_outer_one_of_two_tags_is_read_back() -> None:
    outer = json.dumps([{**VLAN[0], "linkinfo": {"info_kind": "vlan", "info_data": {"protocol": "802.1ad", "id": 3}}}])
    dut, shell = host({"modprobe 8021q...": outer})
    assert dut.bonds.create_vlan("v0.3", "v0", 3, VlanTag.SERVICE).protocol == "802.1ad"
    assert "ip link add link v0 name v0.3 type vlan proto 802.1ad id 3 &&" in shell.commands[0]
    with pytest.raises(BenchFault, match=r"^dut: v0\.3 tags its frames by 802\.1ad; expected 802\.1Q$"):
        dut.bonds.create_vlan("v0.3", "v0", 3)


@pytest.mark.parametrize("vlan_id", [0, 4095, -1])
def test_ids_that_no_vlan_has(vlan_id: int) -> None:
    with pytest.raises(BenchFault, match="an id of 1 to 4094"):
        host({})[0].bonds.create_vlan("v0.3", "v0", vlan_id)
