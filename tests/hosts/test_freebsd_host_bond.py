"""A FreeBSD host's laggs and VLANs, its load, and what a run needs around its questions."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_shell import lines
from freebsd_host_texts import DOWN, KLDSTAT, NETSTAT, UNPLUGGED, UP, host, pciconf

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, HashPolicy, PrimaryReselect, VlanTag
from niclab.hosts.counts.load_records import load_between
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import ModuleFile
from niclab.hosts.settings.settings_records import Package
from niclab.hosts.system.freebsd_texts import read_cpu_times

SECOND = UP.replace("oce0", "oce1").replace("67:a8", "67:ac")
BARE = "\n".join(line for line in UP.split("\n") if "inet" not in line)
LAGG = """niclab0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500
\tether 00:00:c9:e6:67:a8
\tmedia: Ethernet autoselect
\tstatus: active
\tlaggproto failover
\tlaggport: oce0 flags=5<MASTER,ACTIVE>
\tlaggport: oce1 flags=0<>
"""
FAILED_OVER = LAGG.replace("5<MASTER,ACTIVE>", "1<MASTER>").replace("oce1 flags=0<>", "oce1 flags=4<ACTIVE>")
LOST = LAGG.replace("5<MASTER,ACTIVE>", "1<MASTER>").replace("status: active", "status: no carrier")
VLAN = BARE.replace("oce0:", "oce0.3:") + "\tvlan: 3 parent interface: oce0\n"
SETTINGS = BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100, primary="oce0", primary_reselect=PrimaryReselect.ALWAYS)
MAKING = (
    "ifconfig lagg create name niclab0 >/dev/null && ifconfig oce0 inet 10.1.1.1 -alias && ifconfig oce0 up"
    " && ifconfig oce1 inet 10.1.1.1 -alias && ifconfig oce1 up"
    " && ifconfig niclab0 laggproto failover laggport oce0 laggport oce1 up"
)
LOOK = "sysctl -n kern.cp_times && netstat -I oce0 -bdnW"
TIMES = "150 0 50 60 840 1 2 3 4 190"
MEMBERS = "true && ifconfig oce0 && ifconfig oce1"


def test_a_bond_is_a_lagg_with_its_first_port_as_primary() -> None:
    script = {"ifconfig oce0": UP, "ifconfig oce1": SECOND, MAKING: "", "ifconfig niclab0": LAGG}
    dut, shell = host({**script, MEMBERS: UP + SECOND})
    bond = dut.bonds.create("niclab0", SETTINGS, ["oce0", "oce1"])
    assert (bond.mode, bond.mode_name, bond.mode_id, bond.primary) == ("failover", "active-backup", 1, "oce0")
    assert (bond.active_slave, bond.mii_status, bond.slaves_up) == ("oce0", "up", 2)
    assert [one.name for one in bond.slaves] == ["oce0", "oce1"]
    assert any(command.endswith(MAKING) for command in shell.commands)
    assert dut.bonds.settings("niclab0") == {"mode": "failover", "slaves": "oce0 oce1", "primary": "oce0"}


@pytest.mark.parametrize(("shown", "wrong"), [("l3,l4", False), ("l2,l3,l4", True)])
def test_a_hash_is_asked_for_by_its_layers_and_read_back(shown: str, wrong: bool) -> None:
    making = MAKING.replace("failover", "loadbalance lagghash l3,l4")
    balanced = LAGG.replace("failover", f"loadbalance lagghash {shown}").replace("5<MASTER,ACTIVE>", "4<ACTIVE>")
    settings = BondSettings(BondMode.BALANCE_XOR, miimon_ms=100, xmit_hash_policy=HashPolicy.LAYER34)
    script = {"ifconfig oce0": UP, "ifconfig oce1": SECOND, making: "", "ifconfig niclab0": balanced}
    dut, _ = host({**script, MEMBERS: UP + SECOND})
    if wrong:
        with pytest.raises(BenchFault, match=r"bond niclab0 has lagghash \('l2', 'l3', 'l4'\); expected l3,l4"):
            dut.bonds.create("niclab0", settings, ["oce0", "oce1"])
        return
    bond = dut.bonds.create("niclab0", settings, ["oce0", "oce1"])
    assert (bond.mode_name, bond.active_slave, bond.slaves_up) == ("balance-xor", None, 2)


@pytest.mark.parametrize(
    ("shown", "first", "active", "status", "alive"),
    [
        (FAILED_OVER, UNPLUGGED, "oce1", "up", 1),
        (LOST, UNPLUGGED, None, "down", 1),
        (LAGG, DOWN, "oce0", "up", 1),
    ],
)
def test_a_bond_says_what_ifconfig_says(shown: str, first: str, active: str | None, status: str, alive: int) -> None:
    bond = host({"ifconfig niclab0": shown, MEMBERS: first + SECOND})[0].bonds.bond("niclab0")
    assert (bond.active_slave, bond.mii_status, bond.slaves_up) == (active, status, alive)
    assert bond.slaves[0].mii_status == "down"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (BondSettings(BondMode.BROADCAST), "has no mode broadcast"),
        (BondSettings(BondMode.ACTIVE_BACKUP, min_links=1), "has no min_links"),
        (BondSettings(BondMode.LACP, xmit_hash_policy=HashPolicy.ENCAP34), "has no xmit_hash_policy encap3"),
        (replace(SETTINGS, primary_reselect=PrimaryReselect.FAILURE), "as soon as it returns, never 'failure'"),
    ],
)
def test_what_lagg_has_not_is_not_applicable_and_changes_nothing(settings: BondSettings, why: str) -> None:
    dut, shell = host({})
    with pytest.raises(NotApplicable, match=f"^dut: bond niclab0: FreeBSD's lagg.*{why}"):
        dut.bonds.create("niclab0", settings, ["oce0", "oce1"])
    assert shell.commands == []


def test_a_lagg_that_reads_back_otherwise_is_a_fault() -> None:
    other = LAGG.replace("\tlaggport: oce1 flags=0<>\n", "")
    script = {"ifconfig oce0": UP, "ifconfig oce1": SECOND, MAKING: "", "ifconfig niclab0": other}
    with pytest.raises(BenchFault, match="bond niclab0 is failover of oce0; expected failover of oce0, oce1"):
        host(script)[0].bonds.create("niclab0", SETTINGS, ["oce0", "oce1"])
    with pytest.raises(BenchFault, match="primary oce1; expected the first port of a lagg"):
        host({})[0].bonds.create("niclab0", replace(SETTINGS, primary="oce1"), ["oce0", "oce1"])
    with pytest.raises(BenchFault, match="no members"):
        host({})[0].bonds.create("niclab0", SETTINGS, [])
    with pytest.raises(BenchFault, match="`ifconfig oce0` shows no lagg"):
        host({"ifconfig oce0": UP})[0].bonds.bond("oce0")


def test_a_port_that_is_not_shown_is_an_error() -> None:
    with pytest.raises(ReadError, match="each port of the lagg"):
        host({"ifconfig niclab0": LAGG, MEMBERS: UP})[0].bonds.bond("niclab0")


def test_a_vlan_is_made_by_its_name_and_read_back() -> None:
    dut, _ = host({"ifconfig oce0.3 create && ifconfig oce0.3 up": "", "ifconfig oce0.3": VLAN})
    assert (dut.bonds.create_vlan("oce0.3", "oce0", 3).id, dut.bonds.vlan("oce0.3").link) == (3, "oce0")
    with pytest.raises(BenchFault, match="1 to 4094"):
        dut.bonds.create_vlan("oce0.4095", "oce0", 4095)
    wrong, _ = host(
        {"ifconfig oce0.3 create && ifconfig oce0.3 up": "", "ifconfig oce0.3": VLAN.replace("vlan: 3", "vlan: 4")}
    )
    with pytest.raises(BenchFault, match=r"oce0\.3 is VLAN 4 on oce0; expected 3 on oce0"):
        wrong.bonds.create_vlan("oce0.3", "oce0", 3)
    with pytest.raises(BenchFault, match="shows no VLAN"):
        host({"ifconfig oce0": UP})[0].bonds.vlan("oce0")


def test_a_vlan_of_another_name_is_made_with_its_tag() -> None:
    made = "ifconfig vlan create vlan 3 vlandev oce0 name vlan9 >/dev/null && ifconfig vlan9 up"
    dut, _ = host({made: "", "ifconfig vlan9": VLAN.replace("oce0.3:", "vlan9:")})
    assert dut.bonds.create_vlan("vlan9", "oce0", 3).name == "vlan9"


class TestLoad:
    def test_the_times_of_each_cpu_are_told(self) -> None:
        before = host({"sysctl -n kern.cp_times": "100 0 50 10 840 1 2 3 4 90\n"})[0].counts.cpu_times()
        after = host({"sysctl -n kern.cp_times": "150 0 50 60 840 1 2 3 4 190\n"})[0].counts.cpu_times()
        load = load_between(before, after)
        assert (load.cpus[0].busy, load.cpus[0].softirq, load.cpus[1].busy) == (1.0, 0.5, 0.0)

    @pytest.mark.parametrize("text", ["", "1 2 3 4", "1 2 3 4 x", "-1 2 3 4 5"])
    def test_other_texts_are_errors(self, text: str) -> None:
        with pytest.raises((ReadError, BenchFault)):
            host({"sysctl -n kern.cp_times": text})[0].counts.cpu_times()

    def test_frames_are_those_of_the_interface_itself(self) -> None:
        load = host({LOOK: f"{TIMES}\n{NETSTAT}"})[0].counts.load("oce0")
        counters = load.frames
        assert load.cpu == read_cpu_times(TIMES)
        assert (counters.rx_packets, counters.rx_errors, counters.rx_dropped, counters.tx_dropped) == (
            92712345,
            17,
            3,
            5,
        )
        assert counters.rx_lost == 20

    def test_a_column_that_is_missing_is_a_fault(self) -> None:
        short = "\n".join(line.rpartition(" ")[0] for line in NETSTAT.splitlines()) + "\n"
        with pytest.raises(ReadError, match=r"cannot read netstat -bdnW: line 1"):
            host({LOOK: f"{TIMES}\n{short}"})[0].counts.load("oce0")


class TestAround:
    def test_functions_are_found_by_their_ids(self) -> None:
        dut, _ = host({"pciconf -l": pciconf()})
        assert dut.pci.functions("19a2", "0710") == ("0000:04:00.0", "0000:04:00.1", "0000:05:00.4")
        assert dut.pci.functions("8086", "ffff") == ()
        with pytest.raises(BenchFault, match="four hexadecimal digits"):
            dut.pci.functions("8086", "x; y")

    def test_a_modules_drivers_are_what_its_file_contains(self) -> None:
        dut, _ = host({"kldstat -v": KLDSTAT})
        assert dut.drivers.names_of("oce") == {"oce"}
        assert dut.drivers.names_of("if_em") == {"em"}
        with pytest.raises(BenchFault, match="module if_cxgb is not loaded"):
            dut.drivers.names_of("if_cxgb")

    def test_the_kernels_own_modules_stand_in_its_folder(self) -> None:
        dut, _ = host({})
        own = ModuleFile("/boot/kernel/if_cxgbe.ko", False, "if_cxgbe", None, None, None, None, ())
        assert dut.drivers.is_own_module(own)
        assert not dut.drivers.is_own_module(replace(own, filename="/boot/modules/oce.ko"))

    def test_listeners_are_told_by_place(self) -> None:
        shown = lines("root iperf3 501 3 tcp4 10.1.1.1:5201 *:*", "root iperf3 501 4 udp4 *:5201 *:*")
        dut, _ = host({"sockstat -46l -p 5201 | sed 1d": shown})
        assert len(dut.links.listeners(5201)) == 2

    @pytest.mark.parametrize(
        ("line", "listens"),
        [
            ("root iperf3 501 3 tcp4 10.1.1.1:5201 *:*", True),
            ("root iperf3 501 3 udp4 10.1.1.1:5201 *:*", False),
            ("root iperf3 501 3 tcp4 10.1.1.11:5201 *:*", False),
        ],
    )
    def test_a_listener_at_an_address_is_a_condition_of_the_shell(self, line: str, listens: bool) -> None:
        condition = host({})[0].links.listening_command(5201, "10.1.1.1")
        script = f"sockstat() {{ echo '{line}'; }}; {condition}"
        assert (subprocess.run(["sh", "-c", script]).returncode == 0) is listens

    def test_commands_for_the_journal_run_twice_without_error(self) -> None:
        dut, shell = host({})
        assert dut.undo.unload_driver("if_lagg") == "if kldstat -q -n if_lagg; then kldunload if_lagg; fi"
        assert '*" niclab0 "*) ifconfig niclab0 destroy' in dut.undo.upper("niclab0")
        assert dut.undo.port("oce0", False, ["10.1.1.1/24"]).endswith(
            "ifconfig oce0 inet 10.1.1.1/24 alias && ifconfig oce0 down"
        )
        before = dut.undo.package("oce", Package("oce", "4.2.313.0", "amd64", "installed"), "oce")
        assert "pkg_add oce-4.2.313.0" in before and before.endswith("|| kldload -n oce; } && sync")
        assert "; :; else if pkg query %n oce >/dev/null; then env" in dut.undo.package("oce", None, "oce")
        assert shell.commands == []


@pytest.mark.parametrize("present", [True, False])
def test_a_driver_is_loaded_again_where_a_file_of_it_is_left(tmp_path: Path, present: bool) -> None:
    dut, _ = host({})
    if present:
        (tmp_path / "oce.ko").touch()
    tools = (
        "pkg() { return 1; }; pkg_info() { echo oce-4.2; }; pkg_delete() { :; }; kldstat() { :; }; sync() { :; };"
        f" kldunload() {{ echo unloaded; }}; kldload() {{ echo loaded; }}; sysctl() {{ echo '/boot/x;{tmp_path}'; }};"
    )
    command = f"{tools} {dut.undo.package('oce', None, 'oce')}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (0, ["unloaded", *(["loaded"] if present else [])])


def test_a_package_that_is_not_removed_leaves_the_undo_undone() -> None:
    dut, _ = host({})
    tools = (
        "pkg() { return 1; }; pkg_info() { echo oce-4.2; }; pkg_delete() { return 1; }; sysctl() { :; }; sync() { :; };"
        " kldstat() { :; }; kldunload() { echo unloaded; };"
    )
    command = f"{tools} {dut.undo.package('oce', None, 'oce')}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")


def test_the_outer_one_of_two_tags_is_not_applicable() -> None:
    dut, shell = host({})
    with pytest.raises(NotApplicable, match=r"^dut: VLAN oce0\.3: FreeBSD's vlan\(4\) has no tag 802\.1ad before"):
        dut.bonds.create_vlan("oce0.3", "oce0", 3, VlanTag.SERVICE)
    assert shell.commands == []
