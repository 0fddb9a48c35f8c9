"""The needs of a run around its questions to a Linux host: words for the journal, ids, listeners."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from fake_shell import FakeShell, failed

from niclab.core.verdict import BenchFault
from niclab.hosts.host_records import ModuleFile
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.settings.settings_records import Package

FUNCTIONS = "0000:81:00.0 0200: 19a2:0710 (rev 03)\n0000:81:00.1 0200: 19a2:0710 (rev 03)\n"
LISTENING = 'LISTEN 0 128 10.1.1.1:5201 0.0.0.0:* users:(("iperf3",pid=1,fd=3))\n'


def host(**script: str) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell({**script})
    return LinuxHost(shell, "dut"), shell


def test_functions_are_found_by_their_ids() -> None:
    dut, _ = host(**{"lspci -Dn -d 19a2:0710": FUNCTIONS, "lspci -Dn -d 19a2:0711": ""})
    assert dut.pci.functions("19a2", "0710") == ("0000:81:00.0", "0000:81:00.1")
    assert dut.pci.functions("19a2", "0711") == ()
    with pytest.raises(BenchFault, match="four hexadecimal digits"):
        dut.pci.functions("19a2", "0710; reboot")


def test_listeners_are_told() -> None:
    dut, _ = host(**{"ss -Hlntup sport = :5201": LISTENING})
    assert dut.links.listeners(5201) == (LISTENING.strip(),)
    assert dut.links.listening_command(5201, "10.1.1.2") == '[ -n "$(ss -Hltn src 10.1.1.2 and sport = :5201)" ]'


def test_a_listener_at_an_ipv6_address() -> None:
    """Without brackets ss takes what follows the last colon for a port."""
    dut, _ = host()
    assert "ss -Hltn src '[fd6e::1]' and sport = :5201" in dut.links.listening_command(5201, "fd6e::1")


@pytest.mark.parametrize(
    ("place", "in_tree", "is_own"),
    [
        ("kernel/drivers/net/be2net.ko", True, True),
        ("kernel/drivers/net/be2net.ko", None, True),
        ("updates/dkms/be2net.ko", False, False),
        ("kernel/drivers/net/be2net.ko", False, False),
    ],
)
def test_the_kernels_own_modules_stand_in_its_folder_and_are_built_with_it(
    place: str, in_tree: bool | None, is_own: bool
) -> None:
    """A vendor's makefile may write over the kernel's file."""
    dut, _ = host(**{"uname -r": "6.1.0-1-amd64\n"})
    file = f"/lib/modules/6.1.0-1-amd64/{place}"
    module = ModuleFile(file, False, "be2net", None, None, None, None, (), in_tree=in_tree)
    assert dut.drivers.is_own_module(module) is is_own
    assert dut.drivers.is_own_module(replace(module, filename=None, in_tree=None))


@pytest.mark.parametrize(
    ("lro", "undo"),
    [("on", "ethtool -K eth0 lro on || test $? -eq 80"), ("off", None), ("off [fixed]", None)],
)
def test_a_member_of_a_bond_gets_its_lro_back(lro: str, undo: str | None) -> None:
    shown = json.dumps(
        [
            {
                "ifname": "eth0",
                "large-receive-offload": {"active": lro == "on", "fixed": "fixed" in lro, "requested": None},
            }
        ]
    )
    dut, _ = host(**{"ethtool --json -k eth0": shown})
    assert dut.bonds.lost_below("eth0") == undo


def test_commands_for_the_journal() -> None:
    dut, shell = host()
    assert dut.drivers.names_of("be2net") == {"be2net"} and dut.bonds.modules() == ("bonding", "8021q")
    assert dut.undo.unload_driver("bonding") == "modprobe -r bonding"
    assert dut.undo.upper("niclab0") == "[ ! -e /sys/class/net/niclab0 ] || ip link delete dev niclab0"
    assert dut.undo.port("eth0", True, ["10.1.1.1/24"]) == (
        "ip link set dev eth0 nomaster && ip link set dev eth0 up && ip address replace 10.1.1.1/24 dev eth0"
    )
    assert shell.commands == []
    dut, shell = host(**{"cat /etc/os-release": "ID=debian\n", "modinfo -n be2net": "/lib/modules/6.1.0/be2net.ko\n"})
    shell.script["apt-cache madison be2net-modules"] = "be2net-modules | 1.2 | http://mirror.lab/apt ./ Packages\n"
    back = "modprobe -r be2net && modprobe be2net && sync"
    assert dut.undo.package("be2net-modules", None, "be2net").endswith(f" --purge be2net-modules && {back}")
    before = Package("be2net-modules", "1.2", "amd64", "installed")
    assert dut.undo.package("be2net-modules", before, "be2net").endswith(f"install be2net-modules=1.2 && {back}")


def test_a_driver_that_only_the_package_brings_is_not_loaded_again_without_it() -> None:
    dut, _ = host(**{"cat /etc/os-release": "ID=debian\n", "modinfo -n sfc": failed("modinfo: ERROR: Module sfc")})
    undo = dut.undo.package("sfc-modules", None, "sfc")
    assert undo.startswith("{ [ ! -d /sys/module/sfc ] || modprobe -r sfc; } && ")
    assert undo.endswith(" --purge sfc-modules && sync")
