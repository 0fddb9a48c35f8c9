"""A driver taken from one PCI function: the command that gives it back is run by a shell in a tree of files."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from fake_shell import FakeShell, Script, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import ReadError
from niclab.hosts.linux_host import LinuxHost

CARD, DEVICE = "0000:01:00.0", "/sys/bus/pci/devices/0000:01:00.0"
UNBIND = f"echo {CARD} > {DEVICE}/driver/unbind && if [ -e {DEVICE}/driver ]; then echo bound; else echo free; fi"
NAMES = f'cd {DEVICE} && d=$(readlink driver); m=$(readlink driver/module); echo "driver=${{d##*/}} module=${{m##*/}}"'
SHOWN = {
    "ifindex": 3,
    "ifname": "enp1s0",
    "flags": ["BROADCAST", "MULTICAST", "SLAVE", "UP", "LOWER_UP"],
    "mtu": 9000,
    "operstate": "UP",
    "link_type": "ether",
    "address": "52:54:00:00:00:01",
    "master": "niclab0",
    "addr_info": [],
}
ALONE = {
    **{key: value for key, value in SHOWN.items() if key != "master"},
    "flags": ["BROADCAST", "MULTICAST"],
    "operstate": "DOWN",
    "addr_info": [{"family": "inet", "local": "198.18.10.1", "prefixlen": 24, "scope": "global"}],
}


def host(shown: object = SHOWN, **script: Script) -> tuple[LinuxHost, FakeShell]:
    answers: dict[str, Script] = {
        NAMES: "driver=e1000e module=e1000e\n",
        "ip -j -s -d addr show dev enp1s0": json.dumps([shown]),
        "cat /proc/sys/net/ipv4/conf/all/arp_ignore /proc/sys/net/ipv4/conf/enp1s0/arp_ignore": "0\n1\n",
        "if [ -d /sys/class/net/niclab0/bonding ]; then echo bond; else echo other; fi": "bond\n",
        UNBIND: "free\n",
        **script,
    }
    shell = FakeShell(answers)
    return LinuxHost(shell, "dut"), shell


def test_a_driver_that_is_gone_was_taken() -> None:
    dut, shell = host()
    dut.pci.detach_driver(CARD)
    assert shell.commands == [UNBIND]


@pytest.mark.parametrize(
    ("answer", "said"),
    [("bound\n", "is 'bound' after its driver was unbound; expected free"), ("", "is '' after its driver")],
)
def test_a_driver_that_stays_is_a_fault(answer: str, said: str) -> None:
    dut, _ = host(**{UNBIND: answer})
    with pytest.raises(BenchFault, match=f"^dut: {CARD} {said}"):
        dut.pci.detach_driver(CARD)


def test_a_refused_unbinding_says_the_shells_words() -> None:
    dut, _ = host(**{UNBIND: failed("sh: echo: write error: No such device")})
    with pytest.raises(BenchFault, match="No such device"):
        dut.pci.detach_driver(CARD)


REMOVE = f"echo 1 > {DEVICE}/remove && if [ -e {DEVICE} ]; then echo there; else echo gone; fi"
RESET = f"echo 1 > {DEVICE}/reset"


def test_a_function_that_is_gone_was_removed() -> None:
    dut, shell = host(**{REMOVE: "gone\n"})
    dut.pci.remove_function(CARD)
    assert shell.commands == [REMOVE]
    dut, _ = host(**{REMOVE: "there\n"})
    with pytest.raises(BenchFault, match=f"^dut: {CARD} is 'there' after it was removed from the bus; expected gone"):
        dut.pci.remove_function(CARD)


@pytest.mark.parametrize(("answer", "can"), [("yes\n", True), ("no\n", False)])
def test_the_kernel_says_whether_it_can_reset_a_function(answer: str, can: bool) -> None:
    dut, _ = host(**{f"if [ -e {DEVICE}/reset ]; then echo yes; else echo no; fi": answer})
    assert dut.pci.can_reset_function(CARD) is can


def test_a_refused_reset_says_the_shells_words() -> None:
    assert host(**{RESET: ""})[0].pci.reset_function(CARD) is None
    dut, _ = host(**{RESET: failed("sh: echo: write error: Connection timed out")})
    assert dut.pci.reset_function(CARD) == "sh: echo: write error: Connection timed out"
    dut, _ = host(**{RESET: failed("sh: echo: write error: Inappropriate ioctl for device")})
    with pytest.raises(NotApplicable, match="Inappropriate ioctl"):
        dut.pci.reset_function(CARD)


def test_a_driver_resets_its_port_where_it_offers_that() -> None:
    command = "ethtool --reset enp1s0 dedicated"
    dut, shell = host(**{command: "ETHTOOL_RESET 0xffff\nComponents reset:     0xffff\n"})
    dut.drivers.reset_interface("enp1s0")
    assert shell.commands == [command]
    dut, _ = host(**{command: failed("Cannot issue ETHTOOL_RESET: Operation not supported", exit_status=83)})
    with pytest.raises(NotApplicable, match=r"^dut: enp1s0: its driver offers no reset"):
        dut.drivers.reset_interface("enp1s0")
    dut, _ = host(**{command: failed("Cannot issue ETHTOOL_RESET: Input/output error", exit_status=83)})
    with pytest.raises(BenchFault, match="Input/output error"):
        dut.drivers.reset_interface("enp1s0")


def test_a_function_without_driver_has_nothing_to_give_back() -> None:
    dut, _ = host(**{NAMES: "driver= module=\n"})
    with pytest.raises(BenchFault, match=f"^dut: {CARD} has no driver; expected one"):
        dut.undo.driver(CARD, "enp1s0")
    dut, _ = host(**{NAMES: "sh: cd: no such file\n"})
    with pytest.raises(ReadError, match="driver of a PCI device"):
        dut.undo.driver(CARD, "enp1s0")


def test_a_member_of_something_else_is_refused() -> None:
    bond = "if [ -d /sys/class/net/niclab0/bonding ]; then echo bond; else echo other; fi"
    dut, _ = host(**{bond: "other\n"})
    with pytest.raises(BenchFault, match=r"^dut: enp1s0 belongs to niclab0, which is no bond; expected a bond"):
        dut.undo.driver(CARD, "enp1s0")


class Tree:
    """A server's files below a folder, and tools that write down how they were called.

    ``bind`` gives the interface back as a kernel does; ``name`` is what it is called then.
    """

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder, folder / "log"
        self.device, self.net = folder / DEVICE[1:], folder / "sys/class/net"
        self.arp = folder / "proc/sys/net/ipv4/conf/enp1s0/arp_ignore"
        for made in (self.device, self.net, self.arp.parent, folder / "bin"):
            made.mkdir(parents=True)
        self.log.touch()
        for tool in ("ip", "udevadm", "modprobe"):
            self.tool(tool, "")
        self.tool("sleep", "")
        self.name = "enp1s0"

    def tool(self, name: str, does: str) -> None:
        file = self.root / "bin" / name
        file.write_text(f'#!/bin/sh\necho "{name} $*" >> {self.log}\n{does}\n')
        file.chmod(0o755)

    def loaded(self) -> None:
        """The driver is in memory; it gets the function when its number is written."""
        (self.root / "sys/bus/pci/drivers/e1000e").mkdir(parents=True)

    def bound(self) -> None:
        (self.device / "driver").symlink_to(self.root / "sys/bus/pci/drivers/e1000e")
        (self.device / "net" / self.name).mkdir(parents=True)
        (self.device / "net" / self.name / "device").symlink_to(self.device)
        (self.net / self.name).symlink_to(self.device / "net" / self.name)

    def bond(self, *, member: bool) -> None:
        (self.net / "niclab0/bonding").mkdir(parents=True)
        if member:
            (self.net / self.name / "master").symlink_to(self.net / "niclab0")

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run the command as the server's shell would, in this tree."""
        command = re.sub(r"(?<!\w)/(sys|proc)/", rf"{self.root}/\1/", command)
        path = {"PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        return subprocess.run(["sh", "-c", command], env=path, capture_output=True, text=True, timeout=20)

    @property
    def said(self) -> list[str]:
        return self.log.read_text().splitlines()


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


JOIN = ["ip link set dev enp1s0 down", "ip link set dev enp1s0 master niclab0"]
ENDS = ["ip link set dev enp1s0 mtu 9000", "ip link set dev enp1s0 up"]


class TestGivingBack:
    command = host()[0].undo.driver(CARD, "enp1s0")

    def test_the_driver_is_bound_and_the_bond_joined(self, tree: Tree) -> None:
        tree.loaded()
        tree.bond(member=False)
        tree.tool("udevadm", f"[ -s {tree.root}/sys/bus/pci/drivers/e1000e/bind ] || exit 1")
        tree.tool("sleep", f"mkdir -p {tree.net}/enp1s0; ln -s {tree.device} {tree.net}/enp1s0/device")
        done = tree.run(self.command)
        assert done.returncode == 0, done.stderr
        assert (tree.root / "sys/bus/pci/drivers/e1000e/bind").read_text() == f"{CARD}\n"
        assert tree.said == ["udevadm settle --timeout=30", "sleep 0.1", ENDS[0], *JOIN, ENDS[1]]
        assert tree.arp.read_text() == "1\n"

    def test_what_was_not_taken_is_left_alone(self, tree: Tree) -> None:
        """Killed between the note and the change; or done twice."""
        tree.loaded()
        tree.bound()
        tree.bond(member=True)
        assert tree.run(self.command).returncode == 0
        assert tree.said == ["udevadm settle --timeout=30", *ENDS]
        assert not (tree.root / "sys/bus/pci/drivers/e1000e/bind").exists()
        assert not (tree.root / "sys/bus/pci/rescan").exists()

    def test_a_function_that_is_gone_is_looked_for(self, tree: Tree) -> None:
        """The driver takes it by itself when the bus finds it."""
        tree.loaded()
        tree.device.rmdir()
        found = f"mkdir -p {tree.device} {tree.net}/enp1s0; ln -s x {tree.device}/driver; ln -s {tree.device}"
        tree.tool("udevadm", f"[ -s {tree.root}/sys/bus/pci/rescan ] && {found} {tree.net}/enp1s0/device")
        done = tree.run(self.command)
        assert done.returncode == 0, done.stderr
        assert (tree.root / "sys/bus/pci/rescan").read_text() == "1\n" and tree.said[-1] == ENDS[1]

    def test_a_server_started_since_has_no_bond(self, tree: Tree) -> None:
        tree.loaded()
        tree.bound()
        assert tree.run(self.command).returncode == 0
        assert tree.said == ["udevadm settle --timeout=30", *ENDS]

    def test_a_module_that_is_gone_is_loaded(self, tree: Tree) -> None:
        tree.tool("modprobe", f"mkdir -p {tree.root}/sys/bus/pci/drivers/e1000e {tree.net}/enp1s0")
        (tree.net / "enp1s0").mkdir()
        (tree.net / "enp1s0/device").symlink_to(tree.device)
        assert tree.run(self.command).returncode == 0
        assert tree.said[0] == "modprobe e1000e"

    def test_an_interface_of_another_name_is_an_error(self, tree: Tree) -> None:
        tree.loaded()
        tree.name = "eth0"
        tree.bound()
        tree.bond(member=False)
        done = tree.run(self.command)
        assert done.returncode == 1 and "0000:01:00.0 has no interface enp1s0 although its driver" in done.stderr
        assert not [line for line in tree.said if line.startswith("ip ")]

    def test_a_step_that_fails_ends_it(self, tree: Tree) -> None:
        tree.loaded()
        tree.bound()
        tree.bond(member=False)
        tree.tool("ip", 'case "$*" in *master*) exit 2 ;; esac')
        assert tree.run(self.command).returncode == 2
        assert tree.said[-1] == JOIN[-1]


def test_a_port_of_no_bond_gets_its_addresses_and_stays_down(tree: Tree) -> None:
    command = host(ALONE)[0].undo.driver(CARD, "enp1s0")
    tree.loaded()
    tree.bound()
    assert tree.run(command).returncode == 0
    assert tree.said[1:] == [
        ENDS[0],
        "ip address replace 198.18.10.1/24 dev enp1s0",
        "ip link set dev enp1s0 down",
    ]
