"""FreeBsdHost, driver packages: both generations of package tools."""

from __future__ import annotations

import pytest
from fake_shell import Answer, Script, failed
from freebsd_host_texts import host

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.hosts.settings.settings_records import Package

WHICH = "if pkg -N >/dev/null 2>&1; then..."
NEW, OLD = "pkg\n", "pkg_info\n"
QUERY = "pkg query '%n %v %q' oce"
LIST = "pkg_info -E 'oce-[0-9]*'"
FILES = "for f in $(pkg_info -qL oce-4.2.313.0); do..."
INSTALL = "env ASSUME_ALWAYS_YES=yes pkg install -f oce-4.2.313.0"
ADD = "pkg_add oce-4.2.313.0"
AMD64 = "ELF 64-bit LSB relocatable, x86-64, version 1 (FreeBSD), not stripped\n"
I386 = "ELF 32-bit LSB shared object, Intel 80386, version 1 (FreeBSD), dynamically linked\n"
NONE = Answer(exit_status=1)


def package(architecture: str = "amd64", version: str = "4.2.313.0") -> Package:
    return Package("oce", version, architecture, "installed")


@pytest.mark.parametrize(
    ("abi", "architecture"),
    [
        ("FreeBSD:13:amd64", "amd64"),
        ("freebsd:10:x86:64", "amd64"),
        ("freebsd:9:x86:32", "i386"),
        ("FreeBSD:14:*", "*"),
    ],
)
def test_a_package_of_pkg(abi: str, architecture: str) -> None:
    dut, _ = host({WHICH: NEW, QUERY: f"oce 4.2.313.0 {abi}\n"})
    found = dut.drivers.package("oce")
    assert found == package(architecture) and found.complete


@pytest.mark.parametrize(("file", "architecture"), [(AMD64, "amd64"), (I386, "i386"), ("", "unknown")])
def test_a_package_of_pkg_add_is_of_the_architecture_of_its_modules(file: str, architecture: str) -> None:
    dut, _ = host({WHICH: OLD, LIST: "oce-4.2.313.0\n", FILES: file})
    assert dut.drivers.package("oce") == package(architecture)


@pytest.mark.parametrize("said", [AMD64 + I386, "ASCII text\n"])
def test_modules_that_tell_no_architecture_are_an_error(said: str) -> None:
    dut, _ = host({WHICH: OLD, LIST: "oce-4.2.313.0\n", FILES: said})
    with pytest.raises(ReadError, match="cannot read file -b"):
        dut.drivers.package("oce")


MODULE = "/boot/modules/oce.ko"
OWNER, OLD_OWNER = f"pkg which -q {MODULE}", f"pkg_info -qW {MODULE}"


@pytest.mark.parametrize(
    ("tool", "command", "answer", "is_its"),
    [
        (NEW, OWNER, "oce-4.2.313.0\n", True),
        (NEW, OWNER, "oce-kmod-4.2.313.0_1\n", False),
        (NEW, OWNER, Answer(exit_status=70), False),
        (NEW, OWNER, NONE, False),
        (OLD, OLD_OWNER, "oce-4.2.313.0\n", True),
        (OLD, OLD_OWNER, "", False),
    ],
)
def test_the_package_that_brought_a_file(tool: str, command: str, answer: Script, is_its: bool) -> None:
    assert host({WHICH: tool, command: answer})[0].drivers.is_of_package("oce", MODULE) is is_its


@pytest.mark.parametrize(
    ("tool", "command", "answer"),
    [
        (NEW, OWNER, failed("pkg: Cannot get a read lock on a database, it is locked by another process\n", 75)),
        (NEW, OWNER, Answer(exit_status=None)),
        (NEW, OWNER, ""),
        (OLD, OLD_OWNER, NONE),
    ],
)
def test_an_owner_that_is_not_read_is_not_taken_for_none(tool: str, command: str, answer: Script) -> None:
    with pytest.raises(BenchFault, match=command):
        host({WHICH: tool, command: answer})[0].drivers.is_of_package("oce", MODULE)


@pytest.mark.parametrize(("tool", "command"), [(NEW, QUERY), (OLD, LIST)])
def test_no_package(tool: str, command: str) -> None:
    assert host({WHICH: tool, command: NONE})[0].drivers.package("oce") is None


@pytest.mark.parametrize(("tool", "command"), [(NEW, QUERY), (OLD, LIST)])
@pytest.mark.parametrize(
    "answer",
    [
        failed("pkg: sqlite: database is locked\n", 75),
        Answer(exit_status=None),
        "",
        "nonsense\n",
        "a-1 b-2\n",
        "ixl-1.2\n",
        "ixl 1.2 FreeBSD:13:amd64\n",
    ],
)
def test_what_is_no_package_is_no_absence(tool: str, command: str, answer: Script) -> None:
    dut, _ = host({WHICH: tool, command: answer})
    with pytest.raises(BenchFault, match=r"^dut: "):
        dut.drivers.package("oce")


def test_no_tool_is_a_fault() -> None:
    with pytest.raises(BenchFault, match="neither pkg is set up nor is there pkg_info"):
        host({WHICH: ""})[0].drivers.package("oce")


INSTALLED = "oce 4.2.313.0 FreeBSD:13:amd64\n"


def test_installing_with_pkg() -> None:
    dut, shell = host({WHICH: NEW, INSTALL: "", QUERY: INSTALLED})
    attempt = dut.drivers.install_package("oce", "4.2.313.0")
    assert (attempt.refused, attempt.now) == (None, package())
    assert shell.timeouts_s[INSTALL] == 300


def test_installing_with_pkg_add_takes_the_old_one_out_first() -> None:
    dut, shell = host(
        {
            WHICH: OLD,
            LIST: [NONE, "oce-4.2.313.0\n", "oce-4.1\n", "oce-4.2.313.0\n"],
            **{ADD: "", f"pkg_delete -f oce-4.1 && {ADD}": ""},
            FILES: AMD64,
            "for f in $(pkg_info -qL oce-4.1); do...": AMD64,
        }
    )
    for _ in range(2):
        assert dut.drivers.install_package("oce", "4.2.313.0").now == package()
    assert ADD in shell.commands and f"pkg_delete -f oce-4.1 && {ADD}" in shell.commands


def test_an_installation_that_is_refused() -> None:
    """EMX-04: an installer that does not know the release is reported."""
    words = "wrong architecture: FreeBSD:9:i386 instead of FreeBSD:13:amd64"
    dut, _ = host({WHICH: NEW, INSTALL: failed(f"pkg: {words}\n", 70), QUERY: NONE})
    attempt = dut.drivers.install_package("oce", "4.2.313.0")
    assert (attempt.refused, attempt.now) == (f"pkg: {words}", None)


@pytest.mark.parametrize(
    "said",
    [
        "pkg: No packages available to install matching 'oce-4.2.313.0'",
        "pkg: Insufficient privileges: Permission denied",
    ],
)
def test_an_installation_that_could_not_be_tried(said: str) -> None:
    dut, _ = host({WHICH: NEW, INSTALL: failed(said, 70)})
    with pytest.raises(BenchFault, match="pkg install -f oce"):
        dut.drivers.install_package("oce", "4.2.313.0")


def test_removing() -> None:
    delete = "env ASSUME_ALWAYS_YES=yes pkg delete -f oce"
    dut, _ = host(
        {
            WHICH: NEW,
            delete: ["", failed("pkg: DEINSTALL script failed\n")],
            QUERY: [INSTALLED, NONE, NONE, INSTALLED, INSTALLED],
        }
    )
    assert dut.drivers.remove_package("oce").now is None
    assert dut.drivers.remove_package("oce").refused is None
    attempt = dut.drivers.remove_package("oce")
    assert (attempt.refused, attempt.now) == ("pkg: DEINSTALL script failed", package())
    old, shell = host({WHICH: OLD, "pkg_delete -f oce-4.2.313.0": "", LIST: ["oce-4.2.313.0\n", NONE], FILES: AMD64})
    assert old.drivers.remove_package("oce").now is None and "pkg_delete -f oce-4.2.313.0" in shell.commands


@pytest.mark.parametrize("name", ["", "oce;reboot", "-f", "$(id)", "oce x"])
def test_what_is_no_name_goes_nowhere(name: str) -> None:
    dut, shell = host({WHICH: NEW})
    for ask in (
        lambda: dut.drivers.package(name),
        lambda: dut.drivers.remove_package(name),
        lambda: dut.drivers.install_package(name, "1"),
    ):
        with pytest.raises(BenchFault, match="; expected "):
            ask()
    with pytest.raises(BenchFault, match="package version"):
        dut.drivers.install_package("oce", "1;2")
    assert all(command.startswith("if pkg -N") for command in shell.commands)
