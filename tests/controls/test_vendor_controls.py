"""A run that qualifies the vendor's package (`--driver vendor`) is stopped by a wrong one, and leaves none behind."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from control_bench import NAME, REPOSITORY, Bench, only

pytestmark = [pytest.mark.bench, pytest.mark.slow]

CARD, MODULE, PACKAGE = "emulex-oce11102", "be2net", "be2net-modules"
SHEET = REPOSITORY / "lab/cards" / f"{CARD}.yaml"
VENDOR = ("--variable", "DRIVER:vendor")
VERSION, OF_SHEET = "The Driver Version Is One The Sheet Wants", "The Package Of The Driver Is One The Sheet Wants"
RELOADED, AT_BOOT = "Reloading The Driver Brings Every Link Back", "The Driver Is Loaded After A Power Cycle"
IN_MEMORY, UP = "The Driver In Memory Is The Installed One", "Every Link Is Up"
REMOVED = "A Removed Driver Leaves The Kernel's Own"
ON_PEER = "The Required Driver Is Installed And Runs On The Peer"
ON_DUT = (
    "The Required Driver Is Installed And Runs On The Dut",
    "The Former Driver Is Upgraded To The Required One",
    "The Required Driver Is Rolled Back To The Former One",
    REMOVED,
    "An Installed Driver Is Loaded After A Power Cycle",
)
OVERRIDE = "/etc/depmod.d/control.conf"
PREFER_THE_KERNELS = (
    f"mkdir -p /etc/depmod.d && d=$(modinfo -n {MODULE}) && d=${{d#*/lib/modules/$(uname -r)/}} && "
    f"echo override {MODULE} \\* ${{d%/*}} > {OVERRIDE} && sync"
)
"""depmod.d(5): the kernel's module is loaded whatever a package brings, as where a package is of another kernel."""
OTHER_VERSION = f"/srv/vendor/defective/other-version/{PACKAGE}_*.deb"
RELOAD = f"modprobe -r {MODULE} && modprobe {MODULE}"
BY_TOOL = {
    way: f"The Vendor's Tool Installs Firmware That Runs After A {words}"
    for way, words in (("driver-reload", "Driver Reload"), ("reset", "Restart"), ("power-cycle", "Power Cycle"))
}
FOREIGN = "An Image Of Another Card Is Refused"
TOOL = "/usr/local/sbin/elxflash"
COMMAND = f"""tool: vendor
    command:
      line: "{TOOL} {{interface}} {{file}}"
      needs: [bash, {TOOL}]
      refused: Flashing failed
      source: the script of this control"""
WRITES, LIES = 'ethtool -f "$1" "$2"', "echo Done"
UNSUPPORTED = "echo Unsupported OS: Debian; exit 1"
NOT_REMOVED = f"/var/lib/dpkg/info/{PACKAGE}.prerm"


@pytest.fixture(scope="module", autouse=True)
def emulex(bench: Bench) -> Iterator[None]:
    """Servers with the card whose vendor has packages; the bench is as it was at the end."""
    bench.vbench("up", "--card", CARD)
    yield
    bench.vbench("up", "--card", "intel-82574l")


@contextmanager
def preferred_kernels_module(bench: Bench, *roles: str) -> Iterator[None]:
    for role in roles:
        bench.ssh(role, PREFER_THE_KERNELS)
    try:
        yield
    finally:
        for role in roles:
            bench.ssh(role, f"rm -f {OVERRIDE} && depmod -a && sync")


def installed(bench: Bench, role: str) -> str:
    """The versions of the vendor's package on a server: empty where it has none."""
    return bench.ssh(role, f"dpkg-query -W -f '${{Version}}' {PACKAGE} 2> /dev/null || :").strip()


def test_the_vendors_driver_is_the_one_of_the_whole_run(bench: Bench) -> None:
    tests = {VERSION, OF_SHEET, IN_MEMORY, RELOADED, AT_BOOT, REMOVED}
    run = bench.run(*VENDOR, *only(*tests), card=SHEET)
    run.should_show(red=set(), green=tests)
    assert [installed(bench, role) for role in ("dut", "peer")] == ["", ""]


def test_a_package_that_leaves_the_kernels_module_in_use_stops_the_run(bench: Bench) -> None:
    with preferred_kernels_module(bench, "dut"):
        run = bench.run(*VENDOR, *only(VERSION, UP), card=SHEET)
    run.should_show(red={VERSION, UP})
    assert "CardFailure: dut: module be2net is /" in run.setup_message
    assert f"/kernel/drivers/net/ethernet/emulex/benet/{MODULE}.ko" in run.setup_message
    assert f"the kernel's own; expected that of package {PACKAGE}" in run.setup_message
    assert [installed(bench, role) for role in ("dut", "peer")] == ["", ""]


@pytest.mark.parametrize("role", ["dut", "peer"])
def test_a_driver_of_another_version_than_its_package_stops_the_run(bench: Bench, role: str) -> None:
    bench.ssh(role, f"dpkg -i {OTHER_VERSION} && {RELOAD}")
    try:
        run = bench.run(*VENDOR, *only(VERSION), card=SHEET)
    finally:
        bench.ssh(role, f"dpkg --purge {PACKAGE} && {RELOAD} && sync")
    run.should_show(red={VERSION})
    words = f"CardFailure: {role}: the module on disk has version 4.4.161.0, package {PACKAGE} is 12.0.0.0"
    assert words in run.setup_message


def test_a_package_that_the_end_of_the_run_cannot_remove_is_a_fault(bench: Bench) -> None:
    refuse = f"printf '#!/bin/sh\\nexit 1\\n' > {NOT_REMOVED} && chmod +x {NOT_REMOVED}"
    inject = (UP, shlex.join(["ssh", "--name", NAME, "dut", refuse]), "")
    run = bench.run(*VENDOR, *only(UP), card=SHEET, inject=inject)
    try:
        assert "BenchFault: " in run.red[UP] and "driver of the run" in run.red[UP], run.red
        assert installed(bench, "dut") == "12.0.0.0" and installed(bench, "peer") == ""
    finally:
        bench.ssh("dut", f"rm -f {NOT_REMOVED}")
    bench.run(*only(UP), card=SHEET).should_show(red=set(), green={UP})
    assert installed(bench, "dut") == ""


def test_packages_without_effect_turn_their_tests_red(bench: Bench) -> None:
    with preferred_kernels_module(bench, "dut", "peer"):
        run = bench.run(*only(*ON_DUT, ON_PEER, UP), card=SHEET)
    run.should_show(red={*ON_DUT, ON_PEER}, green={UP})
    for test, message in run.red.items():
        role = "peer" if test == ON_PEER else "dut"
        assert message.startswith(f"CardFailure: {role}: module {MODULE} is /"), run.red
        assert f"the kernel's own; expected that of package {PACKAGE}" in message


def asked_of_the_tool(folder: Path, activation: str = "reset") -> Path:
    """The card's sheet with the tool in the place of ethtool."""
    text = SHEET.read_text()
    for old, new in (("tool: ethtool", COMMAND), ("activation: reset", f"activation: {activation}")):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path = folder / SHEET.name
    path.write_text(text)
    return path


@contextmanager
def tool(bench: Bench, script: str) -> Iterator[None]:
    """The vendor's tool is on the dut."""
    text = shlex.quote(f"#!/bin/bash\n{script}\n")
    bench.ssh("dut", f"printf %s {text} > {TOOL} && chmod +x {TOOL} && sync")
    try:
        yield
    finally:
        bench.ssh("dut", f"rm -f {TOOL} && sync")


def test_a_tool_that_writes_installs_firmware_and_puts_it_back(bench: Bench, tmp_path: Path) -> None:
    tests = {BY_TOOL["reset"], FOREIGN}
    with tool(bench, WRITES):
        run = bench.run(*only(*tests), card=asked_of_the_tool(tmp_path))
    run.should_show(red=set(), green=tests)


@pytest.mark.parametrize("activation", BY_TOOL)
def test_a_tool_that_lies_about_its_success_is_seen(bench: Bench, tmp_path: Path, activation: str) -> None:
    test = BY_TOOL[activation]
    with tool(bench, LIES):
        run = bench.run(*only(test), card=asked_of_the_tool(tmp_path, activation))
    run.should_show(red={test})
    assert "CardFailure: dut.p0 " in run.red[test] and "runs firmware 4.4.249.3; expected 10.6.144.21" in run.red[test]


def test_a_tool_that_does_not_support_the_system_decides_nothing(bench: Bench, tmp_path: Path) -> None:
    test = BY_TOOL["reset"]
    with tool(bench, UNSUPPORTED):
        run = bench.run(*only(test, UP), card=asked_of_the_tool(tmp_path))
    run.should_show(red={test}, green={UP})
    assert run.red[test].startswith("Undecided: dut.p0 ") and "Unsupported OS: Debian" in run.red[test]


def test_a_tool_that_is_missing_is_the_benchs(bench: Bench, tmp_path: Path) -> None:
    test = BY_TOOL["reset"]
    run = bench.run(*only(test, UP), card=asked_of_the_tool(tmp_path))
    run.should_show(red={test}, green={UP})
    assert run.red[test].startswith(f"BenchFault: dut: {TOOL} not found; expected it for the tool that writes firmware")
