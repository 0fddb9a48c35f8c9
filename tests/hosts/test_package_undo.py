"""The undo of a driver package, run by sh: with tools of a test's own, and with the real dpkg in a root of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from fake_shell import FakeShell

from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.settings.settings_records import Package

NAME = "be2net-modules"
OLD = Package(NAME, "4.4.161.0", "amd64", "installed")
OFFERED = f"  | {NAME} | package | {OLD.version} | x86_64 | vendor"
MODPROBE = (
    f'if [ "$1" = -r ]; then rm -f module; elif [ -e {NAME} ]; then echo vendor > module; else echo inbox > module; fi'
)
DPKG = """case "$*" in
*--configure*) exit 1 ;;
*--force-remove-reinstreq*--purge*) rm -f be2net-modules ;;
*) exit 2 ;;
esac"""


def undo_on(release: str, before: Package | None = None) -> str:
    script = {"cat /etc/os-release": release, "modinfo -n be2net": "/lib/modules/6.1.0/kernel/be2net.ko\n"}
    script |= {"apt-cache madison ...": f"{NAME} | {OLD.version} | http://mirror.lab/apt ./ Packages\n"}
    script |= {
        "zypper --non-interactive --quiet search ...": f"S | Name | Type | Version | Arch | Repository\n{OFFERED}\n"
    }
    script |= {"rpm -qa gpg-pubkey": "gpg-pubkey-1a-2b\n"}
    return LinuxHost(FakeShell({**script}), "dut").undo.package(NAME, before, "be2net")


def run(undo: str, folder: Path, **tools: str) -> int:
    """Run the undo where the package is installed, and its module in memory; every call of a tool is written down."""
    tools |= {"modprobe": MODPROBE, "sync": ":"}
    (folder / NAME).touch()
    (folder / "module").write_text("vendor\n")
    for name, text in tools.items():
        tool = folder / "bin" / name
        tool.parent.mkdir(exist_ok=True)
        tool.write_text(f'#!/bin/sh\necho {name} "$@" >> calls\n{text}\n')
        tool.chmod(0o755)
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "-c", undo], cwd=folder, env={"PATH": path}, capture_output=True, check=False
    ).returncode


RPM = f"""case "$*" in
-qa*) printf "gpg-pubkey-%s\\n" 1a-2b 3c-4d ;;
"-e gpg-pubkey-3c-4d" | -V*) ;;
-e*) rm -f {NAME} ;;
*) [ -e {NAME} ] ;;
esac"""


@pytest.mark.parametrize("tool", ["ID=rocky\nID_LIKE=rhel\n", "ID=sles\nID_LIKE=suse\n"])
def test_rpm_removes_what_was_not_there(tmp_path: Path, tool: str) -> None:
    """dnf and zypper would take along what needs it."""
    assert run(undo_on(tool), tmp_path, rpm=RPM) == 0
    assert (tmp_path / "module").read_text() == "inbox\n"
    forgotten = [line for line in (tmp_path / "calls").read_text().splitlines() if "-e gpg-pubkey" in line]
    assert forgotten == ["rpm -e gpg-pubkey-3c-4d"]
    needed = RPM.replace(f"rm -f {NAME}", "exit 1")
    assert run(undo_on(tool), tmp_path, rpm=needed) == 1


@pytest.mark.parametrize("status", [0, 102, 103, 106])
def test_zypper_that_wants_a_restart_has_done_its_work(tmp_path: Path, status: int) -> None:
    assert run(undo_on("ID=sles\nID_LIKE=suse\n", OLD), tmp_path, rpm=RPM, zypper=f"exit {status}") == 0
    assert (tmp_path / "module").read_text() == "vendor\n"
    assert "modprobe -r be2net\nmodprobe be2net\nsync" in (tmp_path / "calls").read_text()


@pytest.mark.parametrize("status", [4, 7, 8, 104, 107])
def test_zypper_that_has_failed_leaves_the_undo_undone(tmp_path: Path, status: int) -> None:
    assert run(undo_on("ID=sles\nID_LIKE=suse\n", OLD), tmp_path, rpm=RPM, zypper=f"exit {status}") != 0
    assert "modprobe" not in (tmp_path / "calls").read_text()


def test_apt_ends_what_a_kill_has_left_before_it_brings_back_the_package(tmp_path: Path) -> None:
    assert run(undo_on("ID=debian\n"), tmp_path, dpkg=DPKG, **{"apt-get": "exit 100"}) == 0
    assert (tmp_path / "module").read_text() == "inbox\n"
    first, second, *_ = (tmp_path / "calls").read_text().splitlines()
    assert (first, second) == ("apt-get -q -o DPkg::Lock::Timeout=300 check", "dpkg --configure -a")


def test_apt_waits_for_the_lock_and_brings_back_the_former_version(tmp_path: Path) -> None:
    apt = f"[ $4 = check ] || echo {OLD.version} > {NAME}"
    assert run(undo_on("ID=debian\n", OLD), tmp_path, dpkg=DPKG, **{"apt-get": apt}) == 0
    assert (tmp_path / NAME).read_text() == "4.4.161.0\n"
    third = (tmp_path / "calls").read_text().splitlines()[2]
    assert third == f"apt-get -q -o DPkg::Lock::Timeout=300 --yes --allow-downgrades install {NAME}=4.4.161.0"


def test_an_undo_of_apt_that_fails_loads_no_driver(tmp_path: Path) -> None:
    assert run(undo_on("ID=debian\n", OLD), tmp_path, dpkg=DPKG, **{"apt-get": "exit 100"}) == 100
    assert "modprobe" not in (tmp_path / "calls").read_text()


@pytest.mark.skipif(shutil.which("dpkg") is None, reason="the machine has no dpkg")
def test_dpkg_purges_a_package_that_it_was_unpacking_when_it_was_killed(tmp_path: Path) -> None:
    for folder in ("info", "updates", "triggers"):
        (tmp_path / "var/lib/dpkg" / folder).mkdir(parents=True)
    (tmp_path / "var/lib/dpkg/available").touch()
    status = tmp_path / "var/lib/dpkg/status"
    status.write_text(
        f"Package: {NAME}\nStatus: install reinstreq half-installed\nMaintainer: x <x@x>\nArchitecture: all\n"
        "Version: 12.0.0.0\nDescription: x\n\n"
    )
    options = f"--root={tmp_path} --force-not-root --force-bad-path --no-triggers --log={tmp_path}/log"
    dpkg = f'exec {shutil.which("dpkg")} {options} "$@"'
    assert run(undo_on("ID=debian\n"), tmp_path, dpkg=dpkg, **{"apt-get": "exit 100"}) == 0
    assert NAME not in status.read_text()
