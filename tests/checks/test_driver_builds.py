"""Drivers that DKMS builds: built for the running kernel and for others, removed whole, refused by the kernel."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_builds import OTHER, RUNNING, SOURCE, FakeBuilds
from fake_parts import MODULE
from fake_settings import FakeSettings, settings_of

from Driver import Driver
from DriverBuilds import DriverBuilds
from DriverPackages import DriverPackages, Release
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.drivers.build_records import Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.errors import ModuleRefused
from niclab.hosts.settings.settings_records import Package
from niclab.run.run import Run

SHEET = """in_kernel: true
    package:
      name: e1000e-dkms
      required: ["3.8.7"]
      source: test
"""
NONE = "dut: package e1000e-dkms: DKMS has no module of e1000e-3.8.7 for kernel 6.1.0-56-amd64"
ERROR = "e1000e.c:4:34: error: 'undeclared_thing' undeclared"
LEFT = "/lib/modules/6.1.0-56-amd64/updates/dkms/e1000e.ko"


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    bench.edit(bench.sheet, ("in_kernel: true\n", SHEET))
    taken.card = bench.load()[1]
    return settings_of(bench)


@pytest.fixture
def dkms(bench: FakeBench, settings: FakeSettings) -> FakeBuilds:
    assert settings.packages == {}
    bench.dut.builds.of_package = (SOURCE,)
    bench.ssh[Role.DUT].replies["dkms: "] = ""
    return bench.dut.builds


def install() -> None:
    DriverPackages().install_the_driver_package(Release.REQUIRED)


def rebuild() -> None:
    DriverBuilds().driver_should_be_built_for_every_kernel()


def test_a_driver_that_is_built_is_installed(dkms: FakeBuilds) -> None:
    dkms.installed = {RUNNING.release}
    install()
    assert dkms.calls == []


def test_a_package_that_brings_its_modules_built_is_not_asked(dkms: FakeBuilds) -> None:
    dkms.of_package = ()
    install()
    assert dkms.calls == []
    with pytest.raises(NotApplicable, match=r"^dut: package e1000e-dkms brings its modules built; DKMS builds none of"):
        rebuild()


@pytest.mark.parametrize(
    ("build", "verdict", "words"),
    [
        (Build(BuildEnd.OF_DRIVER, ERROR), CardFailure, f": {ERROR}; expected a driver that can be built and"),
        (Build(BuildEnd.NO_SOURCE, "Build halted"), CardFailure, ": Build halted; expected a driver that can be built"),
        (Build(BuildEnd.NOT_NEWER, "is not newer"), CardFailure, ": is not newer; expected a driver that can be built"),
        (Build(BuildEnd.NO_HEADERS), BenchFault, ": it has no headers; expected package linux-headers-6.1.0-56-amd64"),
        (Build(BuildEnd.OF_SERVER, "gcc-12: not found"), BenchFault, ": the server cannot build modules: gcc-12: not"),
        (
            Build(BuildEnd.EXCLUDED, "exclusive"),
            Undecided,
            ", which the package excludes: exclusive; expected a kernel",
        ),
        (Build(BuildEnd.UNCLEAR, "bc: not found"), Undecided, ": bc: not found"),
        (
            Build(BuildEnd.DONE),
            CardFailure,
            " after the installation, and can build one; expected the package to do it",
        ),
    ],
)
def test_a_driver_that_is_not_built_is_of_whoever_is_at_fault(
    dkms: FakeBuilds, taken: Run, build: Build, verdict: type[Exception], words: str
) -> None:
    """Debian's script ends well where the headers are missing, and other vendors' scripts whatever happens."""
    dkms.ends = {RUNNING.release: build}
    with pytest.raises(verdict) as caught:
        install()
    assert str(caught.value).startswith(f"{NONE}{words}")
    assert taken.journal.pending()[0].subject == "dut driver package"


def test_a_server_that_builds_nothing_at_an_installation_is_at_fault(dkms: FakeBuilds) -> None:
    dkms.at_installation = False
    with pytest.raises(BenchFault, match=r"/etc/dkms/no-autoinstall is there; expected a server that builds what it"):
        install()


def half_way(settings: FakeSettings) -> None:
    settings.faults.add("install fails")
    settings.packages["e1000e-dkms"] = Package("e1000e-dkms", "3.8.7", "all", "half-configured")


def test_a_package_that_is_refused_is_told_with_the_compilers_words(settings: FakeSettings, dkms: FakeBuilds) -> None:
    half_way(settings)
    dkms.ends = {RUNNING.release: Build(BuildEnd.OF_DRIVER, ERROR)}
    with pytest.raises(CardFailure, match=r"for kernel 6\.1\.0-56-amd64: e1000e\.c:4:34: error: 'undeclared_thing'"):
        install()


def test_a_package_that_is_refused_and_can_be_built_is_undecided(settings: FakeSettings, dkms: FakeBuilds) -> None:
    half_way(settings)
    assert dkms.installed == set()
    with pytest.raises(Undecided, match=r"post-installation script failed; it can be built now$"):
        install()


@pytest.mark.parametrize("end", [BuildEnd.OF_DRIVER, BuildEnd.EXCLUDED])
def test_a_package_that_is_refused_for_the_newest_kernel_is_told_so(
    settings: FakeSettings, dkms: FakeBuilds, end: BuildEnd
) -> None:
    half_way(settings)
    dkms.known, dkms.installed = (OTHER, RUNNING), {RUNNING.release}
    dkms.ends = {OTHER.release: Build(end, ERROR)}
    words = rf"for kernel {OTHER.release}: {ERROR}"
    if end is BuildEnd.EXCLUDED:
        words = r"^dut: package e1000e-dkms 3\.8\.7 is not installed: post-installation script failed$"
    with pytest.raises(CardFailure, match=words):
        install()


def test_a_doubt_about_the_running_kernel_hides_no_error_for_the_newest(
    settings: FakeSettings, dkms: FakeBuilds
) -> None:
    """The package's script ends at the first kernel that it cannot build for."""
    half_way(settings)
    dkms.known, dkms.ends = (OTHER, RUNNING), {OTHER.release: Build(BuildEnd.OF_DRIVER, ERROR)}
    with pytest.raises(CardFailure, match=rf"for kernel {OTHER.release}: {ERROR}"):
        install()


def test_another_kernel_without_a_module_does_not_matter_to_an_installation(dkms: FakeBuilds) -> None:
    dkms.known, dkms.installed = (RUNNING, OTHER), {RUNNING.release}
    install()
    assert dkms.calls == []


def test_a_driver_is_built_for_a_kernel_that_does_not_run(dkms: FakeBuilds) -> None:
    dkms.known, dkms.by_itself = (RUNNING, OTHER), {OTHER.release}
    rebuild()
    assert dkms.calls == [f"again e1000e-3.8.7 {OTHER.release}"]


@pytest.mark.parametrize("is_built", [True, False])
@pytest.mark.parametrize("fails", [True, False])
def test_what_was_built_for_a_kernel_is_in_the_journal_before_it_goes(
    bench: FakeBench, taken: Run, dkms: FakeBuilds, monkeypatch: pytest.MonkeyPatch, is_built: bool, fails: bool
) -> None:
    """The package's own undo builds nothing where the same version was installed before the run."""
    dkms.known, dkms.by_itself = (RUNNING, OTHER), {OTHER.release}
    dkms.installed = {OTHER.release} if is_built else set()
    before, during = taken.journal.pending(), list[str]()
    again = dkms.build_again

    def interrupted(source: Source, release: str) -> None:
        during.extend(each.action.command for each in taken.journal.pending() if each not in before)
        again(source, release)
        if fails:
            raise BenchFault("dut: no answer")

    monkeypatch.setattr(dkms, "build_again", interrupted)
    bench.ssh[Role.DUT].commands.clear()
    if fails:
        with pytest.raises(BenchFault, match="no answer"):
            rebuild()
    else:
        rebuild()
    restoring = f"dkms: e1000e-3.8.7 for {OTHER.release} {'is' if is_built else 'is not'} installed"
    assert during == [restoring] and restoring in bench.ssh[Role.DUT].commands
    assert taken.journal.pending() == before


@pytest.mark.parametrize("known", [(RUNNING,), (RUNNING, replace(OTHER, has_headers=False))])
def test_without_a_kernel_to_build_for_it_is_not_applicable(dkms: FakeBuilds, known: tuple[object, ...]) -> None:
    dkms.known = known  # type: ignore[assignment]
    found = "none" if len(known) == 1 else r"6\.1\.0-57-amd64 \(headers: linux-headers-6\.1\.0-57-amd64\)"
    with pytest.raises(NotApplicable, match=rf"^dut: kernels that do not run: {found}; expected one with headers"):
        rebuild()
    assert dkms.calls == []


def test_a_kernel_that_the_package_excludes_is_not_judged(dkms: FakeBuilds) -> None:
    dkms.known, dkms.ends = (RUNNING, OTHER), {OTHER.release: Build(BuildEnd.EXCLUDED, "exclusive")}
    with pytest.raises(NotApplicable, match=r"expected one with headers, that package e1000e-dkms is for$"):
        rebuild()


@pytest.mark.parametrize(
    ("build", "verdict", "words"),
    [
        (Build(BuildEnd.OF_DRIVER, ERROR), CardFailure, f"leaves e1000e-3.8.7 without a module: {ERROR}; expected"),
        (Build(BuildEnd.OF_SERVER, "no gcc"), BenchFault, "the server cannot build modules: no gcc"),
        (Build(BuildEnd.UNCLEAR, "bc: not found"), Undecided, "without a module: bc: not found"),
        (Build(BuildEnd.DONE), CardFailure, "and `dkms install` does not; expected AUTOINSTALL=yes in its dkms.conf"),
    ],
)
def test_a_driver_that_is_not_built_for_another_kernel_is_of_whoever_is_at_fault(
    dkms: FakeBuilds, build: Build, verdict: type[Exception], words: str
) -> None:
    dkms.known, dkms.ends = (RUNNING, OTHER), {OTHER.release: build}
    with pytest.raises(verdict) as caught:
        rebuild()
    assert words in str(caught.value)
    assert str(caught.value).startswith("dut: package e1000e-dkms: `dkms autoinstall -k 6.1.0-57-amd64` leaves")


@pytest.mark.parametrize("first", [BuildEnd.UNCLEAR, BuildEnd.OF_DRIVER])
def test_no_kernel_hides_a_failure_of_another(dkms: FakeBuilds, first: BuildEnd) -> None:
    second = BuildEnd.OF_DRIVER if first is BuildEnd.UNCLEAR else BuildEnd.OF_SERVER
    last = replace(OTHER, release="6.1.0-58-amd64")
    dkms.known = (RUNNING, OTHER, last)
    dkms.ends = {OTHER.release: Build(first, "first"), last.release: Build(second, "second")}
    with pytest.raises(CardFailure) as caught:
        rebuild()
    proven, other = ("second", "first") if first is BuildEnd.UNCLEAR else ("first", "second")
    failure, doubt = str(caught.value).splitlines()
    assert f"{proven}; expected a driver that can be built and installed" in failure
    assert doubt.startswith("undecided: ") and other in doubt


OWN = "kernel/drivers/net/e1000e.ko"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        ({"vermagic": "6.1.0-58-amd64 SMP"}, CardFailure),
        ({"vermagic": None}, CardFailure),
        ({"filename": OWN, "in_tree": True}, CardFailure),
        ({"filename": f"/usr{OWN}", "in_tree": None}, CardFailure),
        ({"filename": OWN}, None),
        ({"in_tree": True}, None),
    ],
)
@pytest.mark.parametrize("kernel", [RUNNING, OTHER])
def test_a_module_that_is_not_dkmss_or_not_for_the_kernel_is_wrong(
    dkms: FakeBuilds, kernel: InstalledKernel, change: dict[str, object], verdict: type[Exception] | None
) -> None:
    """A file below kernel/ that was built out of tree is a vendor's as well; a vendor may mark its module in-tree."""
    dkms.known, dkms.by_itself, dkms.installed = (RUNNING, OTHER), {OTHER.release}, {RUNNING.release}
    folder = f"/lib/modules/{kernel.release}/"
    wanted = {
        name: str(value).replace("kernel/", f"{folder}kernel/") if name == "filename" else value
        for name, value in change.items()
    }
    file = replace(dkms.file if kernel is OTHER else dkms.running_file, **wanted)
    dkms.file, dkms.running_file = (file, dkms.running_file) if kernel is OTHER else (dkms.file, file)
    ask = rebuild if kernel is OTHER else install
    if verdict is None:
        ask()
        return
    words = rf"^dut: module e1000e of kernel {kernel.release} is /\S+/e1000e\.ko.*; expected DKMS's, built for 6"
    with pytest.raises(verdict, match=words):
        ask()


def test_a_module_that_was_built_with_headers_of_another_kernel_is_the_servers(dkms: FakeBuilds) -> None:
    dkms.installed, dkms.known = {RUNNING.release}, (replace(RUNNING, has_headers=False),)
    dkms.running_file = replace(dkms.running_file, vermagic=f"{OTHER.release} SMP")
    with pytest.raises(BenchFault, match=rf"built for {OTHER.release}; expected package {RUNNING.headers}, to build"):
        install()


def test_a_removal_leaves_nothing_of_what_was_built(settings: FakeSettings, dkms: FakeBuilds) -> None:
    dkms.installed, dkms.made = {RUNNING.release}, (LEFT, SOURCE.place)
    install()
    DriverPackages().remove_the_driver_package()
    assert settings.packages == {} and dkms.calls == []
    install()
    dkms.left = (LEFT,)
    with pytest.raises(CardFailure) as caught:
        DriverPackages().remove_the_driver_package()
    assert str(caught.value) == f"dut: package e1000e-dkms has left {LEFT}; expected nothing of what DKMS built"
    assert dkms.calls == [f"remove {LEFT}"]


def test_a_package_that_leaves_something_when_it_is_put_back_is_told_and_cleaned(
    bench: FakeBench, settings: FakeSettings, dkms: FakeBuilds, taken: Run
) -> None:
    dkms.installed, dkms.made = {RUNNING.release}, (LEFT, SOURCE.place)
    for left in ((), (SOURCE.place,)):
        install()
        undo, dkms.left = taken.undo, left

        def purge(entry: object, undo: object = undo) -> None:
            settings.packages.clear()
            undo(entry)  # type: ignore[operator]

        taken.undo = purge  # type: ignore[method-assign]
        bench.dut.calls.clear()
        if left:
            with pytest.raises(CardFailure, match=rf"^dut: package e1000e-dkms has left {SOURCE.place}; expected noth"):
                DriverPackages().restore_the_driver_package()
            assert dkms.calls == [f"remove {SOURCE.place}"] and "reload e1000e" in bench.dut.calls
        else:
            DriverPackages().restore_the_driver_package()
            assert dkms.calls == []
        taken.undo = undo  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("said", "signer", "verdict", "words"),
    [
        ("Key was rejected by service", None, BenchFault, "DKMS has built it, not signed; expected DKMS's key known"),
        ("Key was rejected by service", "DKMS module signing key", BenchFault, "signed by 'DKMS module signing key'"),
        ("Unknown symbol in module", None, Undecided, "DKMS has built it; expected a driver that fits, or headers of"),
    ],
)
def test_a_module_of_dkms_that_the_kernel_refuses_is_not_the_packages(
    bench: FakeBench, dkms: FakeBuilds, said: str, signer: str | None, verdict: type[Exception], words: str
) -> None:
    """The server signs what it builds; a package that brings the module unsigned is at fault itself."""
    bench.dut.file = replace(bench.dut.file, signer=signer)
    bench.dut.reload_fault = ModuleRefused(f"dut: modprobe failed, said: {said}", "Key" in said)
    with pytest.raises(verdict) as caught:
        Driver().reload_driver(Role.DUT)
    assert said in str(caught.value) and words in str(caught.value)
    dkms.of_package = ()
    with pytest.raises(BenchFault if signer else CardFailure):
        Driver().reload_driver(Role.DUT)
    bench.dut.reload_fault, bench.dut.loaded = None, MODULE
