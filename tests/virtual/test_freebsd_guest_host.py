"""The lab's FreeBSD host over the tools of a FreeBSD server: every question is answered, every change undone.

Commands run in a shell of this machine, with the tools of the server alone in its PATH and a root of files below them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from guest_root import Root
from guest_shell import GuestShell

from freebsd import ports
from niclab.core.verdict import BenchFault
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.hosts.freebsd_host import FreeBsdHost
from vendor import medium

BANNER = "14,1,1,-;bsd: Copyright (c) 1992-2012 The FreeBSD Project.\n"
SETTINGS = BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100, primary="oce0", primary_reselect=PrimaryReselect.ALWAYS)


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[GuestShell]:
    root = Root(tmp_path)
    root.write("dev/kmsg", BANNER + "6,2,2,-;be2net 0000:81:00.0 oce0: Link is Up - 10000 Mbps full duplex\n")
    with GuestShell(root).served() as served:
        yield served


@pytest.fixture
def dut(shell: GuestShell) -> FreeBsdHost:
    return FreeBsdHost(shell, "dut")


def test_the_server_and_its_card_are_described(dut: FreeBsdHost) -> None:
    assert dut.system.os_release().version_id == "9.1" and dut.system.kernel() == "9.1-RELEASE"
    assert dut.system.boot_id() == dut.system.boot_id()
    assert dut.pci.functions("19a2", "0710") == ("0000:81:00.0", "0000:81:00.1")
    assert [dut.pci.interface_at(address) for address in dut.pci.functions("19a2", "0710")] == ["oce0", "oce1"]
    (link,) = dut.pci.path("0000:81:00.1")
    assert (link.upstream.slot, link.width, link.gts) == ("0000:80:02.0", 4, 5.0)
    info = dut.drivers.driver_info("oce0")
    assert (info.driver, info.version, info.firmware) == ("oce", "4.2.116.0", "4.4.249.3")
    assert dut.drivers.names_of("oce") == {"oce"} and dut.drivers.loaded_module("oce") is not None
    assert dut.drivers.parameter("oce", "max_rsp_handled") == "64"
    assert dut.counts.carrier_changes("oce0").changes == 1
    assert dut.links.link_settings("oce0").speed_mbps == 10000 and dut.counts.load("oce0").frames.rx_dropped == 16


def test_firmware_is_written_by_the_driver_of_a_module(dut: FreeBsdHost, shell: GuestShell) -> None:
    image = "oc11-10.6.144.21.ufi"
    assert dut.firmware.has_image(image) and not dut.firmware.has_image("oc11-9.ufi")
    assert dut.firmware.flash("oce1", image).refused is None
    assert (shell.root.path / "below/flashed-oce1").read_bytes() == medium.firmware_of(shell.root.card)[image]
    assert not list((shell.root.path / "usr/lib/firmware").glob("*.image"))
    module = shell.root.path / "boot/modules/oc11_4_4_249_3.ko"
    module.write_bytes(module.read_bytes()[: ports.IMAGE_AT])
    refused = dut.firmware.flash("oce0", "oc11-4.4.249.3.ufi")
    assert refused.refused == "sysctl: dev.oce.0.fw_upgrade: Invalid argument"
    assert not (shell.root.path / "below/flashed-oce0").exists()
    with pytest.raises(BenchFault, match=r"firmware module /boot/modules/nobodys\.ko is missing"):
        dut.firmware.flash("oce0", "nobodys.ufi")
    said = shell.run("sysctl dev.oce.0.fw_upgrade=nobodys")
    assert (said.exit_status, said.stderr) == (1, "sysctl: dev.oce.0.fw_upgrade: No such file or directory\n")
    told = (shell.root.path / "dev/kmsg").read_text()
    assert "oce1: Firmware Flashed successfully" in told and "oce0: Firmware Upgrade failed" in told
    assert "Make sure nobodys is copied to /boot/modules" in told


def test_options_are_switched_and_put_back(dut: FreeBsdHost, shell: GuestShell) -> None:
    before = dut.settings.features("oce0")
    words = {"TXCSUM": "txcsum", "TSO4": "tso4", "TSO6": "tso6", "LRO": "lro", "VLAN_HWFILTER": "vlanhwfilter"}
    restoring = dut.undo.features("oce0", words)
    off = dut.settings.set_feature("oce0", "txcsum", False)
    assert off.refused is None and not off.now["TSO4"].on and not off.now["TSO6"].on
    refused = dut.settings.set_feature("oce0", "lso", True)
    assert refused.refused == "ifconfig: lso: bad value" and refused.now == off.now
    shell.run(restoring, check=True)
    assert dut.settings.features("oce0") == before


def test_the_mtu_is_set_within_its_range(dut: FreeBsdHost) -> None:
    assert dut.settings.set_mtu("oce0", 9000).now == 9000
    beyond = dut.settings.set_mtu("oce0", 9001)
    assert (beyond.refused, beyond.now) == ("ifconfig: ioctl (set mtu): Invalid argument", 9000)


def test_a_bond_is_made_used_and_taken_away(dut: FreeBsdHost, shell: GuestShell) -> None:
    before = dut.links.interface("oce0")
    addresses = [f"{one.address}/{one.prefix_length}" for one in before.addresses if "." in one.address]
    releasing = dut.undo.port("oce0", True, addresses)
    bond = dut.bonds.create("niclab0", SETTINGS, ["oce0", "oce1"])
    assert (bond.mode_name, bond.active_slave, bond.slaves_up, bond.mii_status) == ("active-backup", "oce0", 2, "up")
    dut.links.add_address("niclab0", "198.18.10.1/24")
    assert dut.bonds.create_vlan("niclab0.3", "niclab0", 3).link == "niclab0"
    assert dut.drivers.loaded_module("if_lagg") is not None
    shell.root.write("sys/class/net/oce0/carrier", "0\n")
    shell.root.write("sys/class/net/niclab0/bonding/active_slave", "oce1\n")
    seen = dut.bonds.bond("niclab0")
    assert (seen.active_slave, seen.slaves_up, seen.slaves[0].mii_status) == ("oce1", 1, "down")
    for _ in range(2):  # each may have been done already
        shell.run(dut.undo.upper("niclab0.3"), check=True)
        shell.run(dut.undo.upper("niclab0"), check=True)
        shell.run(releasing, check=True)
        shell.run(dut.undo.unload_driver("if_lagg"), check=True)
    shell.root.write("sys/class/net/oce0/carrier", "1\n")
    after = dut.links.interface("oce0")
    assert (after.mac, after.mtu, after.admin_up) == (before.mac, before.mtu, True)
    assert after.addresses == before.addresses
    assert dut.drivers.loaded_module("if_lagg") is None


def test_packages_are_changed_and_put_back(dut: FreeBsdHost) -> None:
    before = dut.drivers.package("oce")
    assert before is not None and (before.version, before.architecture) == ("4.2.313.0", "amd64")
    assert dut.drivers.remove_package("oce").now is None
    assert dut.drivers.install_package("oce", "4.2.313.0").now == before
