"""Packages of rpm on a dut of dnf and of zypper: sound ones pass, and each defect is charged where it belongs."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from control_bench import NAME, Bench, only
from test_vendor_controls import CARD, MODULE, OF_SHEET, ON_DUT, PACKAGE, REMOVED, SHEET, UP, VENDOR

pytestmark = [pytest.mark.bench, pytest.mark.slow]

INSTALLED, UPGRADED = ON_DUT[:2]
FILE = f"/lib/modules/$(uname -r)/updates/{MODULE}.ko"
SYSTEMS = ("rpm-dnf", "rpm-zypper")
DEFECTS = {
    "unsigned": "CardFailure",
    "foreign": "BenchFault",
    "other-kernel": "CardFailure",
    "other-version": "CardFailure",
}
"""Defects of a package, each in a repository of its own -> the verdict."""
WORDS = {
    "unsigned": f"package {PACKAGE} 12.0.0.0 is not installed: ",
    "foreign": "",
    "other-kernel": f"module {MODULE} is /",
    "other-version": f"the module on disk has version 4.4.161.0, package {PACKAGE} is 12.0.0.0",
}
REPOSITORIES = "/etc/yum.repos.d/vendor.repo /etc/zypp/repos.d/vendor.repo"


@pytest.fixture(scope="module", params=SYSTEMS)
def dut(request: pytest.FixtureRequest, bench: Bench) -> Iterator[tuple[str, ...]]:
    """The dut is of the rpm family; the options of robot that say so. The bench is as it was at the end."""
    bench.vbench("up", "--card", CARD, "--os", f"dut={request.param}")
    yield ("--variable", f"DUT_OS:{request.param}")
    bench.vbench("up", "--card", "intel-82574l", "--os", "dut=linux")


@contextmanager
def repository(bench: Bench, folder: str) -> Iterator[None]:
    """The dut has its packages from another repository of the vendor's disk."""
    at = "s,file:///srv/vendor/.*,file:///srv/vendor/{},"
    change = f"for f in {REPOSITORIES}; do [ ! -e $f ] || sed -i '{at}' $f; done; sync"
    bench.ssh("dut", change.format(folder))
    try:
        yield
    finally:
        bench.ssh("dut", change.format("rpm"))


def installed(bench: Bench) -> str:
    """The versions of the vendor's package on the dut: empty where it has none."""
    return bench.ssh("dut", f"rpm -q --qf '%{{VERSION}}' {PACKAGE} | grep -v 'not installed' || :").strip()


def test_sound_packages_are_installed_changed_and_removed(bench: Bench, dut: tuple[str, ...]) -> None:
    tests = {UPGRADED, REMOVED, OF_SHEET, UP}
    bench.run(*VENDOR, *dut, *only(*tests), card=SHEET).should_show(red=set(), green=tests)
    assert installed(bench) == ""


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defective_package_is_charged_where_it_belongs(bench: Bench, dut: tuple[str, ...], defect: str) -> None:
    with repository(bench, f"defective/{defect}"):
        run = bench.run(*dut, *only(INSTALLED, UP), card=SHEET)
    run.should_show(red={INSTALLED}, green={UP})
    assert run.red[INSTALLED].startswith(f"{DEFECTS[defect]}: dut: {WORDS[defect]}"), run.red
    assert installed(bench) == ""


def test_a_file_that_was_changed_after_the_installation_decides_nothing(bench: Bench, dut: tuple[str, ...]) -> None:
    inject = (OF_SHEET, shlex.join(["ssh", "--name", NAME, "dut", f"echo >> {FILE}"]), "")
    run = bench.run(*VENDOR, *dut, *only(OF_SHEET, UP), card=SHEET, inject=inject)
    run.should_show(red={OF_SHEET}, green={UP})
    assert run.red[OF_SHEET].startswith("Undecided: dut: package be2net-modules: /lib/modules/"), run.red
    assert installed(bench) == ""
