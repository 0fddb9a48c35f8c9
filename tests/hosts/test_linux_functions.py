"""Virtual functions of a Linux host: the commands given, what is read back, and what is no answer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_shell import Answer, FakeShell, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NotOffered, ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.functions import linux
from niclab.hosts.functions.function_records import FunctionCount, VirtualFunction, read_function_rules, read_functions
from niclab.hosts.linux_host import LinuxHost

PCI = "0000:01:00.0"
FOLDER = f"/sys/bus/pci/devices/{PCI}"
FILES = "sriov_totalvfs sriov_numvfs $(ls sriov_drivers_autoprobe 2> /dev/null)"
COUNT = f"cd {FOLDER} && if [ -e sriov_totalvfs ]; then cat {FILES}; else echo none; fi"
RULES = (
    '[{"ifindex":4,"ifname":"eth0","vfinfo_list":[{"vf":0,"link_type":"ether","address":"7e:7a:e9:36:e2:28",'
    '"broadcast":"ff:ff:ff:ff:ff:ff","vlan_list":[{"vlan":100}],"rate":{"max_tx":0,"min_tx":0},"spoofchk":true,'
    '"link_state":"auto","trust":false},{"vf":1,"link_type":"ether","spoofchk":false}]}]'
)
"""Form: iproute2 6.1, ip/ipaddress.c, print_vfinfo()."""


def test_counts_are_read() -> None:
    assert LinuxHost(FakeShell({COUNT: "7\n2\n"}), "dut").functions.count(PCI) == FunctionCount(7, 2)


@pytest.mark.parametrize(("autoprobe", "binds"), [(None, True), ("1\n", True), ("0\n", False)])
def test_a_system_says_whether_it_binds_drivers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, autoprobe: str | None, binds: bool
) -> None:
    """Kernels before Linux 4.12 have no such file, and bind them."""
    for name, text in {"totalvfs": "7\n", "numvfs": "2\n", "drivers_autoprobe": autoprobe}.items():
        if text is not None:
            (tmp_path / f"sriov_{name}").write_text(text)
    monkeypatch.setattr(linux.LinuxFunctions, "_folder", lambda *_: str(tmp_path))
    assert LinuxHost(_Here(), "dut").functions.count(PCI) == FunctionCount(7, 2, binds)


@pytest.mark.parametrize("said", ["none\n", "0\n0\n"])
def test_a_port_without_functions_offers_none(said: str) -> None:
    with pytest.raises(NotOffered, match=r"dut: 0000:01:00\.0: the system offers no virtual functions"):
        LinuxHost(FakeShell({COUNT: said}), "dut").functions.count(PCI)


@pytest.mark.parametrize("said", ["7\n", "seven\n2\n"])
def test_counts_that_are_none_are_named(said: str) -> None:
    with pytest.raises(
        ReadError, match=r"dut: `cd /sys.*`: cannot read virtual functions: counts .*; expected sriov_to"
    ):
        LinuxHost(FakeShell({COUNT: said}), "dut").functions.count(PCI)


def test_a_number_that_is_refused_is_an_answer_and_rights_are_not() -> None:
    change = f"/bin/echo 8 > {FOLDER}/sriov_numvfs"
    refused = failed("/bin/echo: write error: Input/output error\n")
    told = LinuxHost(FakeShell({change: refused, COUNT: "7\n0\n"}), "dut").functions.set_count(PCI, 8)
    assert (told.refused, told.now) == ("/bin/echo: write error: Input/output error", FunctionCount(7, 0))
    denied = failed(f"sh: 1: cannot create {FOLDER}/sriov_numvfs: Permission denied\n")
    with pytest.raises(BenchFault, match="Permission denied"):
        LinuxHost(FakeShell({change: denied}), "dut").functions.set_count(PCI, 8)


def test_functions_are_those_of_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command itself, on a tree as the kernel shows it."""
    port = tmp_path / PCI
    port.mkdir()
    for number, iface in ((0, "eth2"), (10, "eth12"), (2, None)):
        function = tmp_path / f"0000:01:1{number // 8}.{number % 8}"
        (function / "net" / iface if iface else function).mkdir(parents=True)
        (port / f"virtfn{number}").symlink_to(function)
    host = LinuxHost(_Here(), "dut").functions
    monkeypatch.setattr(linux.LinuxFunctions, "_folder", lambda *_: str(port))
    assert host.functions(PCI) == (
        VirtualFunction(0, "0000:01:10.0", "eth2"),
        VirtualFunction(2, "0000:01:10.2", None),
        VirtualFunction(10, "0000:01:11.2", "eth12"),
    )


def test_a_line_that_is_no_function_is_named() -> None:
    with pytest.raises(ReadError, match="line 'virtfn0'; expected virtfnN, a PCI address"):
        read_functions("virtfn0\n")


def test_rules_are_read() -> None:
    first, second = read_function_rules(RULES)
    assert (first.number, first.vlan, first.spoof_check) == (0, 100, True)
    assert (second.number, second.vlan, second.spoof_check) == (1, 0, False)
    assert read_function_rules('[{"ifname":"eth0"}]') == ()
    with pytest.raises(ReadError, match="vfinfo_list 'no JSON'; expected that of ip -d -j link"):
        read_function_rules("no JSON")


@pytest.mark.parametrize("now", [0, 2])
@pytest.mark.parametrize("later", [0, 2, 7])
def test_the_number_is_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: int, later: int) -> None:
    (tmp_path / "sriov_totalvfs").write_text("7\n")
    file = tmp_path / "sriov_numvfs"
    file.write_text(f"{now}\n")
    monkeypatch.setattr(linux.LinuxFunctions, "_folder", lambda *_: str(tmp_path))
    back = LinuxHost(_Here(), "dut").functions.restoring(PCI)
    file.write_text(f"{later}\n")
    for _ in range(2):
        subprocess.run(["sh", "-ec", back], check=True)
        assert file.read_text() == f"{now}\n"


def test_a_driver_that_only_functions_have_needed_is_unloaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command itself, whose modprobe is another one: igbvf was not there, and overlay was.

    While the functions are there: a second try after a cut would find no driver of theirs.
    """
    port, tools = tmp_path / PCI, tmp_path / "tools"
    monkeypatch.setattr(linux, "MODULES", str(tmp_path / "modules"))
    (tmp_path / "modules").write_text("overlay 126976 0 - Live 0x0\nigb 294912 0 - Live 0x0\n")
    for number, module in ((0, "igbvf"), (1, "igbvf"), (2, "overlay")):
        (tmp_path / module).mkdir(exist_ok=True)
        (port / f"virtfn{number}" / "driver").mkdir(parents=True)
        (port / f"virtfn{number}" / "driver" / "module").symlink_to(tmp_path / module)
    (port / "sriov_totalvfs").write_text("7\n")
    (port / "sriov_numvfs").write_text("0\n")
    tools.mkdir()
    (tools / "modprobe").write_text(f'#!/bin/sh\necho "$@, $(cat {port}/sriov_numvfs)" >> {tmp_path}/said\n')
    (tools / "modprobe").chmod(0o755)
    monkeypatch.setattr(linux.LinuxFunctions, "_folder", lambda *_: str(port))
    back = LinuxHost(_Here(), "dut").functions.restoring(PCI)
    (port / "sriov_numvfs").write_text("3\n")
    subprocess.run(["sh", "-ec", back], check=True, env={"PATH": f"{tools}:/usr/bin:/bin"})
    assert (port / "sriov_numvfs").read_text() == "0\n"
    assert (tmp_path / "said").read_text() == "-r igbvf, 3\n"


def test_freebsd_says_why_there_are_none() -> None:
    host = FreeBsdHost(FakeShell({}), "dut").functions
    asked = (
        lambda: host.count(PCI),
        lambda: host.set_count(PCI, 1),
        lambda: host.functions(PCI),
        lambda: host.set_vlan("igb0", 0, 5),
        lambda: host.set_spoof_check("igb0", 0, True),
        lambda: host.restoring(PCI),
    )
    for question in asked:
        with pytest.raises(NotApplicable, match=r"iovctl\(8\) makes them from a file"):
            question()


class _Here:
    """A shell of this machine."""

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Answer:
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=timeout_s, check=check)
        return Answer(done.stdout, done.returncode, done.stderr)
