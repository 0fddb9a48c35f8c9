"""FreeBsdHost, the PCI part, against scripted answers and, for the walks through newbus, a real shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_shell import failed, lines
from freebsd_host_texts import PATH, host, pciconf

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NoInterface, ReadError
from niclab.hosts.pci.newbus import path_command, read_path

ALL = "pciconf -lc"
REGISTERS = "for p in pci0:0:2:0=0x70 pci0:2:1:0=0x70; do v=$(pciconf..."
TARGETS = "pci0:0:2:0=0x70 0003 \npci0:2:1:0=0x70 0041 \n"
WALK = "d=oce0; while :; do..."
IFACES = "for i in $(ifconfig -l); do..."
CARD, SECOND, CHELSIO = "0000:04:00.0", "0000:04:00.1", "0000:05:00.4"


def test_device() -> None:
    device = host({ALL: pciconf()})[0].pci.device(CARD)
    assert (device.vendor_id, device.device_id, device.driver) == ("19a2", "0710", "oce")
    assert (device.lnksta_width, device.lnkcap_width, device.lnksta_gts) == (4, 8, 5.0)


def test_devices_that_are_not_there_or_not_readable() -> None:
    bare = "\n".join(line for line in pciconf().split("\n") if "cap 10" not in line)
    dut, _ = host({ALL: [pciconf(), bare, failed("pciconf: /dev/pci: Permission denied\n")]})
    with pytest.raises(BenchFault, match=r"pciconf shows no device at 0000:09:00\.0"):
        dut.pci.device("0000:09:00.0")
    with pytest.raises(BenchFault, match=r"may not read the capabilities of 0000:04:00\.0; expected root"):
        dut.pci.device(CARD)
    with pytest.raises(BenchFault, match="Permission denied"):
        dut.pci.device(CARD)


def test_path_leaves_the_inside_of_a_switch_out() -> None:
    dut, _ = host({ALL: pciconf(), WALK: PATH, REGISTERS: TARGETS})
    links = dut.pci.path(CARD)
    assert [(link.upstream.slot, link.downstream.slot, link.width, link.gts) for link in links] == [
        ("0000:00:02.0", "0000:01:00.0", 8, 5.0),
        ("0000:02:01.0", "0000:04:00.0", 4, 5.0),
    ]
    assert [link.upstream.lnkctl2_gts for link in links] == [8.0, 2.5]


@pytest.mark.parametrize("said", ["", "pci0:0:2:0=0x70 0003 \n", TARGETS.replace("0041", "41"), f"{TARGETS}x 0001\n"])
def test_registers_that_cannot_be_read_are_an_error(said: str) -> None:
    dut, _ = host({ALL: pciconf(), WALK: PATH, REGISTERS: said})
    with pytest.raises(ReadError, match="cannot read pciconf -r"):
        dut.pci.path(CARD)


def test_a_port_of_the_first_version_is_set_to_no_speed() -> None:
    old = pciconf().replace("PCI-Express 2", "PCI-Express 1")
    links = host({ALL: old, WALK: PATH})[0].pci.path(CARD)
    assert [link.upstream.lnkctl2_gts for link in links] == [None, None]


def test_a_register_that_names_no_speed_is_none() -> None:
    dut, _ = host({ALL: pciconf(), WALK: PATH, REGISTERS: TARGETS.replace("0041", "0040")})
    assert [link.upstream.lnkctl2_gts for link in dut.pci.path(CARD)] == [8.0, None]


def test_the_registers_in_a_real_shell(tmp_path: Path) -> None:
    dut, shell = host({ALL: pciconf(), WALK: PATH, REGISTERS: TARGETS})
    dut.pci.path(CARD)
    program = tmp_path / "pciconf"
    program.write_text('#!/bin/sh\n[ "$*" = "-r -h pci0:0:2:0 0x70" ] || exit 1\nprintf "0043 \\n"\n')
    program.chmod(0o755)
    command = shell.commands[-1]
    for asked, status, said in (
        (command.replace(" pci0:2:1:0=0x70", ""), 0, "pci0:0:2:0=0x70 0043 \n"),
        (command, 1, "pci0:0:2:0=0x70 0043 \n"),
    ):
        done = subprocess.run(["sh", "-c", asked], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True,
                              text=True, check=False, timeout=20)  # fmt: skip
        assert (done.returncode, done.stdout) == (status, said)


def test_two_ends_that_disagree() -> None:
    dut, _ = host({ALL: pciconf(card_width="x8(x8)"), WALK: PATH, REGISTERS: TARGETS})
    with pytest.raises(ReadError, match=r"upper end reports 5\.0 GT/s x4, lower end 5\.0 GT/s x8"):
        dut.pci.path(CARD)


@pytest.mark.parametrize(("width", "speed"), [("x0(x8)", "5.0(5.0)"), ("x4(x8)", "0.0(5.0)")])
def test_a_link_that_is_not_trained(width: str, speed: str) -> None:
    dut, _ = host({ALL: pciconf(card_width=width, card_speed=speed), WALK: PATH, REGISTERS: TARGETS})
    with pytest.raises(BenchFault, match=r"not trained, 0000:04:00\.0 reports no speed or no width"):
        dut.pci.path(CARD)


def test_a_device_on_the_root_bus_has_no_link() -> None:
    dut, _ = host({ALL: pciconf(), "d=t5nex0...": "t5nex0 pci5\npci5 pcib0\npcib0 acpi0\n"})
    with pytest.raises(BenchFault, match=r"no PCIe link leads to 0000:05:00\.4"):
        dut.pci.path(CHELSIO)


def test_a_function_without_a_driver_has_no_path() -> None:
    with pytest.raises(BenchFault, match=r"no driver is bound to 0000:04:00\.1"):
        host({ALL: pciconf()})[0].pci.path(SECOND)


def test_a_bridge_that_pciconf_does_not_show() -> None:
    dut, _ = host({ALL: pciconf().replace("pcib4@", "none4@"), WALK: PATH})
    with pytest.raises(BenchFault, match=r"pciconf does not show pcib4, which leads to 0000:04:00\.0"):
        dut.pci.path(CARD)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "oce0\n",
        "oce0 pci4\n",
        "oce0 pci4\npci4 pcib5\n",
        "oce0 pci4\noce0 pci4\n",
        "oce0 usbus0\n",
        "oce1 pci4\n",
        "oce0 pci4\npci4 pcib5\npcib5 pci2\n",
        "oce0 pci4\npci4 acpi0\n",
    ],
)
def test_a_broken_way_up_is_no_way(text: str) -> None:
    with pytest.raises(ReadError, match="cannot read newbus path"):
        read_path(text, "oce0")


def test_a_way_in_a_circle_ends() -> None:
    with pytest.raises(ReadError, match="each device once"):
        read_path("oce0 pci1\npci1 pcib1\npcib1 pci1\npci1 pcib1\n", "oce0")


def test_the_walk_in_a_real_shell(tmp_path: Path) -> None:
    parents = dict(line.split() for line in PATH.splitlines())
    cases = "".join(
        f"dev.{child.rstrip('0123456789')}.{child[-1]}.%parent) echo {parent};;" for child, parent in parents.items()
    )
    sysctl = tmp_path / "sysctl"
    sysctl.write_text(f"#!/bin/sh\ncase $2 in {cases} *) exit 1;; esac\n")
    sysctl.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}

    def walk(device: str) -> subprocess.CompletedProcess[str]:
        command = ["sh", "-c", path_command(device)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=20)

    done = walk("oce0")
    assert (done.returncode, done.stdout) == (0, PATH)
    assert read_path(done.stdout, "oce0") == ("oce0", "pcib5", "pcib4", "pcib3")
    assert walk("ix7").returncode == 1


def test_interfaces() -> None:
    ports = lines("em0=pci9", "oce0=pci4", "cxl10=t5nex0", "cxl2=t5nex0")
    dut, _ = host({"pciconf -l": pciconf(), IFACES: ports})
    assert dut.pci.interface_at(CARD) == "oce0"
    assert (dut.pci.interface_at(CHELSIO, 0), dut.pci.interface_at(CHELSIO, 1)) == ("cxl2", "cxl10")
    for index in (None, 2):
        with pytest.raises(BenchFault, match=r"has the interfaces cxl2 \(port 0\), cxl10 \(port 1\); expected"):
            dut.pci.interface_at(CHELSIO, index)


def test_no_interface() -> None:
    dut, _ = host({"pciconf -l": pciconf(), IFACES: ["em0=pci9\n", "", "nonsense\n"]})
    for _ in range(2):
        with pytest.raises(NoInterface, match=r"driver oce is bound, and no interface is called oce0 or hangs on it"):
            dut.pci.interface_at(CARD)
    with pytest.raises(ReadError, match="'INTERFACE=DEVICE'"):
        dut.pci.interface_at(CARD)
    with pytest.raises(NoInterface, match="no driver is bound"):
        dut.pci.interface_at(SECOND)


def test_interfaces_in_a_real_shell(tmp_path: Path) -> None:
    dut, shell = host({"pciconf -l": pciconf(), IFACES: "oce0=pci4\n"})
    dut.pci.interface_at(CARD)
    for name, script in (
        ("ifconfig", "echo oce0 lo0 em0.100 lan cxl11"),
        ("sysctl", "case $2 in dev.oce.0.%parent) echo pci4;; dev.cxl.11.%parent) echo t5nex0;; *) exit 1;; esac"),
    ):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    command = ["sh", "-c", shell.commands[-1]]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert said == "oce0=pci4\ncxl11=t5nex0\n"


def test_errors_of_a_link_are_not_counted() -> None:
    with pytest.raises(NotApplicable, match="latched, not counted"):
        host({})[0].pci.aer(CARD)


def test_what_is_no_address_reaches_no_shell() -> None:
    dut, shell = host({})
    for ask in (dut.pci.device, dut.pci.interface_at, dut.pci.path):
        with pytest.raises(BenchFault, match="; expected "):
            ask("oce0; reboot")
    assert shell.commands == []
