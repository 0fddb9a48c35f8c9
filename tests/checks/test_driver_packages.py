"""Driver packages: installed, upgraded, rolled back, removed, and everything that may be wrong afterwards."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FILE, KERNEL, MODULE
from fake_settings import FakeSettings, settings_of

from Driver import Driver
from DriverPackages import DriverPackages, Release
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.settings.settings_records import ChangedFile, Package
from niclab.links.returning.starts import Start
from niclab.run.run import Run
from Power import Power

PACKAGE = """in_kernel: true
    package:
      name: e1000e-modules
      required: ["3.8.7"]
      previous: "3.8.4"
      architecture: amd64
      source: test
"""
REQUIRED, PREVIOUS = Release.REQUIRED, Release.PREVIOUS


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    bench.edit(bench.sheet, ("in_kernel: true\n", PACKAGE))
    taken.card = bench.load()[1]
    return settings_of(bench)


def test_a_peer_with_another_card_gets_no_package(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    assert settings
    for nic in bench.peer.nics:
        nic.device = replace(nic.device, device_id="1521")
    with pytest.raises(NotApplicable, match=r"^peer has another card than intel-82574l$"):
        DriverPackages().remove_the_driver_package(Role.PEER)
    assert not [entry for entry in taken.journal.pending() if "driver package" in entry.subject]
    DriverPackages().install_the_driver_package(REQUIRED)


def runs(bench: FakeBench, version: str | None) -> None:
    """The dut runs a driver of that version everywhere; None: the kernel's."""
    bench.dut.file = replace(FILE, version=version, filename=f"/lib/modules/{KERNEL}/updates/e1000e.ko")
    if version is None:
        bench.dut.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/kernel/drivers/net/e1000e.ko")
    bench.dut.loaded = replace(MODULE, version=version)
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, version=version or KERNEL)


def test_installing_upgrading_and_rolling_back(bench: FakeBench, settings: FakeSettings) -> None:
    packages = DriverPackages()
    bench.ssh[Role.DUT].commands.clear()
    for release, version in ((PREVIOUS, "3.8.4"), (REQUIRED, "3.8.7"), (PREVIOUS, "3.8.4")):
        packages.install_the_driver_package(release)
        runs(bench, version)
        packages.driver_package_should_be_installed(release)
        packages.driver_should_be_of_the_package(release)
    packages.remove_the_driver_package()
    assert bench.ssh[Role.DUT].commands.count("sync") == 4  # power may be cut next
    runs(bench, None)
    packages.driver_package_should_be_gone()
    packages.driver_should_be_of_the_kernel()
    assert settings.packages == {}


def test_the_undo_of_the_first_change_is_kept_and_carried_out(settings: FakeSettings, taken: Run) -> None:
    packages = DriverPackages()
    before = taken.journal.pending()
    packages.install_the_driver_package(PREVIOUS)
    packages.install_the_driver_package(REQUIRED)
    (entry,) = [entry for entry in taken.journal.pending() if entry not in before]
    purge = (
        "{ export DEBIAN_FRONTEND=noninteractive; apt-get -q -o DPkg::Lock::Timeout=300 check; "
        "dpkg --configure -a; true; } && dpkg --force-remove-reinstreq --purge e1000e-modules && "
        "modprobe -r e1000e && modprobe e1000e && sync"
    )
    assert entry.action.command == purge
    packages.restore_the_driver_package()
    assert settings.told == [purge]
    assert taken.journal.pending() == before


def test_a_package_that_was_there_comes_back(settings: FakeSettings, taken: Run) -> None:
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.4", "amd64", "installed")
    DriverPackages().remove_the_driver_package()
    assert "--allow-downgrades install e1000e-modules=3.8.4 && " in taken.journal.pending()[0].action.command


def test_the_peer_is_another_server(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    peer = settings_of(bench, Role.PEER)
    DriverPackages().install_the_driver_package(REQUIRED, Role.PEER)
    assert list(peer.packages) == ["e1000e-modules"] and settings.packages == {}
    assert taken.journal.pending()[0].action.where == "peer"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("half-way", "dut: package e1000e-modules is half-configured; expected installed"),
        ("other version", "dut: package e1000e-modules is 9.9; expected 3.8.7 (sheet intel-82574l)"),
    ],
)
def test_an_installation_that_went_wrong_is_wrong(settings: FakeSettings, fault: str, words: str) -> None:
    settings.faults.add(fault)
    DriverPackages().install_the_driver_package(REQUIRED)
    with pytest.raises(CardFailure) as caught:
        DriverPackages().driver_package_should_be_installed(REQUIRED)
    assert str(caught.value) == words


def test_a_refused_installation_is_wrong_and_put_back(settings: FakeSettings, taken: Run) -> None:
    settings.faults.add("install fails")
    with pytest.raises(CardFailure, match=r"e1000e-modules 3\.8\.7 is not installed: post-installation script failed"):
        DriverPackages().install_the_driver_package(REQUIRED)
    assert taken.journal.pending()[0].subject == "dut driver package"


def test_a_wrong_architecture_is_wrong(settings: FakeSettings) -> None:
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.7", "i386", "installed")
    with pytest.raises(CardFailure, match="is of i386; expected amd64"):
        DriverPackages().driver_package_should_be_installed(REQUIRED)


def whole(settings: FakeSettings) -> None:
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.7", "amd64", "installed")


def test_a_package_that_lacks_a_file_is_wrong(settings: FakeSettings) -> None:
    whole(settings)
    settings.changed = (ChangedFile("/lib/modules/x/e1000e.ko", True), ChangedFile("/usr/share/x", False))
    with pytest.raises(CardFailure, match=r"^dut: /lib/modules/x/e1000e\.ko of package e1000e-modules is missing$"):
        DriverPackages().driver_package_should_be_installed(REQUIRED)


@pytest.mark.parametrize("folder", ["doc/e1000e-modules", "man/man4", "info", "locale/de/LC_MESSAGES", "lintian/x"])
def test_documentation_that_a_server_leaves_out_is_not_missing(settings: FakeSettings, folder: str) -> None:
    """Debian's and Ubuntu's images have dpkg leave it out: path-exclude of dpkg.cfg(5)."""
    whole(settings)
    left_out = ChangedFile(f"/usr/share/{folder}/x.gz", True)
    settings.changed = (left_out,)
    DriverPackages().driver_package_should_be_installed(REQUIRED)
    settings.changed = (left_out, ChangedFile("/lib/firmware/x.bin", True))
    with pytest.raises(CardFailure, match=r"^dut: /lib/firmware/x\.bin of package e1000e-modules is missing$"):
        DriverPackages().driver_package_should_be_installed(REQUIRED)
    settings.changed = (left_out, ChangedFile("/lib/modules/x/e1000e.ko", False))
    with pytest.raises(Undecided, match=r"^dut: package e1000e-modules: /lib/modules/x/e1000e\.ko: not as it was"):
        DriverPackages().driver_package_should_be_installed(REQUIRED)


def test_a_file_that_somebody_changed_leaves_the_package_undecided(settings: FakeSettings) -> None:
    whole(settings)
    settings.changed = (ChangedFile("/usr/share/x", False),)
    with pytest.raises(Undecided, match=r"^dut: package e1000e-modules: /usr/share/x: not as it was packed$"):
        DriverPackages().driver_package_should_be_installed(REQUIRED)


@pytest.mark.parametrize("lists", ["required", "as on the sheet"])
def test_a_wrong_version_counts_more_than_a_file_that_somebody_changed(
    bench: FakeBench, settings: FakeSettings, taken: Run, lists: str
) -> None:
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.1"]}\n'))
    taken.card = bench.load()[1]
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "9.9", "amd64", "installed")
    settings.changed = (ChangedFile("/usr/share/x", False),)
    with pytest.raises(CardFailure, match=r"^dut: package e1000e-modules is 9\.9; expected (3\.8\.7|another) \(sheet"):
        if lists == "required":
            DriverPackages().driver_package_should_be_installed(REQUIRED)
        else:
            Driver().package_should_be_as_on_the_sheet()


KEY = "a3e07a792e450a70"


@pytest.mark.parametrize(
    ("signer", "words"),
    [
        (KEY, ""),
        (f"2131fceb3407b8eccd1b0cb5{KEY}", ""),
        (None, f"is not signed; expected key {KEY} (sheet intel-82574l)"),
        ("11e07a792e450a70", f"is signed by 11e07a792e450a70; expected key {KEY} (sheet intel-82574l)"),
        ("2e450a70", f"is signed by 2e450a70; expected key {KEY} (sheet intel-82574l)"),
    ],
)
def test_the_signature_is_that_on_the_sheet(
    bench: FakeBench, settings: FakeSettings, taken: Run, signer: str | None, words: str
) -> None:
    whole(settings)
    settings.signer = signer
    DriverPackages().driver_package_should_be_installed(REQUIRED)
    bench.edit(bench.sheet, ("architecture: amd64\n", f'architecture: amd64\n      signed_by: "{KEY}"\n'))
    taken.card = bench.load()[1]
    if not words:
        DriverPackages().driver_package_should_be_installed(REQUIRED)
        return
    with pytest.raises(CardFailure) as caught:
        DriverPackages().driver_package_should_be_installed(REQUIRED)
    assert str(caught.value) == f"dut: package e1000e-modules {words}"


def test_the_driver_is_set_to_load_at_boot_where_the_sheet_asks_for_that(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    packages, before = DriverPackages(), taken.journal.pending()
    with pytest.raises(NotApplicable, match=r"^sheet intel-82574l asks for no entry that loads e1000e at boot$"):
        Power().make_the_driver_load_at_boot()
    bench.edit(bench.sheet, ("in_kernel: true\n", "in_kernel: true\n    load_at_boot: true\n"))
    taken.card = bench.load()[1]
    for _ in range(2):
        Power().make_the_driver_load_at_boot()
    assert settings.at_boot == {"e1000e"} and len(taken.journal.pending()) == len(before) + 1
    packages.restore_the_driver_package()
    assert settings.at_boot == set() and taken.journal.pending() == before
    settings.faults.add("boot stays")
    with pytest.raises(
        BenchFault, match=r"^dut: driver e1000e is not set to load at boot; expected the lab's entry for"
    ):
        Power().make_the_driver_load_at_boot()


def test_a_start_before_the_boot_was_set_proves_nothing(bench: FakeBench, settings: FakeSettings, taken: Run) -> None:
    bench.edit(bench.sheet, ("in_kernel: true\n", "in_kernel: true\n    load_at_boot: true\n"))
    taken.card, power = bench.load()[1], Power()
    power.start_the_dut_once(Start.WARM)
    power.make_the_driver_load_at_boot()
    assert settings.at_boot == {"e1000e"}
    power.start_the_dut_once(Start.WARM)
    assert bench.dut.boots == 3
    power.start_the_dut_once(Start.WARM)
    assert bench.dut.boots == 3


def test_nothing_installed_is_wrong(settings: FakeSettings) -> None:
    assert settings.packages == {}
    with pytest.raises(CardFailure, match=r"package e1000e-modules is not installed; expected 3\.8\.4"):
        DriverPackages().driver_package_should_be_installed(PREVIOUS)


def test_a_package_that_sticks_is_wrong(settings: FakeSettings) -> None:
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.7", "amd64", "installed")
    settings.faults.add("sticks")
    with pytest.raises(CardFailure, match=r"package e1000e-modules is not removed: Package"):
        DriverPackages().remove_the_driver_package()
    with pytest.raises(CardFailure, match=r"package e1000e-modules 3\.8\.7 is installed; expected it gone"):
        DriverPackages().driver_package_should_be_gone()


@pytest.mark.parametrize("where", ["disk", "memory", "port", "not loaded"])
def test_one_place_that_runs_another_driver_is_wrong(bench: FakeBench, settings: FakeSettings, where: str) -> None:
    assert settings.packages == {}
    runs(bench, "3.8.7")
    words = "the module in memory has version None"
    if where == "disk":
        bench.dut.file, words = replace(bench.dut.file, version="3.8.4"), "the module on disk has version 3.8.4"
    elif where == "memory":
        bench.dut.loaded, words = replace(MODULE, version="3.8.4"), "the module in memory has version 3.8.4"
    elif where == "port":
        nic = bench.dut.nics[1]
        nic.info, words = replace(nic.info, version="3.8.4"), "dut.p1 (0000:02:00.0) has version 3.8.4"
    else:
        bench.dut.loaded = None
    with pytest.raises(CardFailure) as caught:
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
    assert str(caught.value) == f"dut: {words}, package e1000e-modules is 3.8.7"


def versions_differ(bench: FakeBench, run: Run) -> None:
    """The sheet says that the module has another version than its package."""
    bench.edit(bench.sheet, ("architecture: amd64", "module_version_differs: true"))
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.7"]}\n'))
    run.card = bench.load()[1]


@pytest.mark.parametrize("built_in", [False, True])
@pytest.mark.parametrize("differs", [False, True])
def test_a_package_that_leaves_the_kernels_module_in_use_is_wrong(
    bench: FakeBench, settings: FakeSettings, taken: Run, built_in: bool, differs: bool
) -> None:
    """Every version agrees: vmxnet3 has one of its own in the kernel, oce on FreeBSD another than its package."""
    assert settings.packages == {}
    if differs:
        versions_differ(bench, taken)
    runs(bench, "3.8.7")
    file = None if built_in else f"/lib/modules/{KERNEL}/kernel/drivers/net/e1000e.ko"
    bench.dut.file = replace(bench.dut.file, filename=file, built_in=built_in)
    with pytest.raises(CardFailure) as caught:
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
    where = "part of the kernel" if built_in else f"{file}, the kernel's own"
    assert str(caught.value) == f"dut: module e1000e is {where}; expected that of package e1000e-modules"


@pytest.mark.parametrize("differs", [False, True])
@pytest.mark.parametrize("where", ["build", "srcversion"])
def test_a_package_whose_module_is_not_the_one_in_memory_is_wrong(
    bench: FakeBench, settings: FakeSettings, taken: Run, where: str, differs: bool
) -> None:
    """Every version agrees: the kernel's own may be in memory still, or come out of an old initramfs."""
    assert settings.packages == {}
    if differs:
        versions_differ(bench, taken)
    runs(bench, "3.8.7")
    words = "is of another build than /lib"
    if where == "build":
        bench.dut.same_build = False
    else:
        assert bench.dut.loaded is not None
        bench.dut.loaded, words = replace(bench.dut.loaded, srcversion="SRC2"), "has srcversion SRC2, /lib"
    with pytest.raises(CardFailure, match=rf"^dut: driver e1000e in memory {words}"):
        DriverPackages().driver_should_be_of_the_package(REQUIRED)


def test_a_package_is_judged_by_its_versions_where_the_system_knows_no_build(
    bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FreeBSD's kernel names no build of a module."""
    assert settings.packages == {}
    runs(bench, "3.8.7")

    def not_known(module: str) -> bool | None:
        raise NotApplicable(f"is {module} in memory the file on disk?")

    monkeypatch.setattr(bench.dut, "is_build_on_disk", not_known)
    DriverPackages().driver_should_be_of_the_package(REQUIRED)


@pytest.mark.parametrize("where", ["file", "build", "port"])
def test_a_driver_that_is_not_the_kernels_is_wrong(bench: FakeBench, settings: FakeSettings, where: str) -> None:
    assert settings.packages == {}
    runs(bench, None)
    words = r"is /lib/modules/updates/e1000e\.ko; expected the kernel's own"
    if where == "file":
        bench.dut.file = replace(bench.dut.file, filename="/lib/modules/updates/e1000e.ko")
    elif where == "build":
        bench.dut.same_build, words = False, "in memory is of another build"
    else:
        nic = bench.dut.nics[0]
        nic.info, words = replace(nic.info, version="3.8.7"), "reports driver version 3.8.7, the kernel is 6"
    with pytest.raises(CardFailure, match=words):
        DriverPackages().driver_should_be_of_the_kernel()


def test_a_driver_that_is_not_the_kernels_is_wrong_where_the_system_knows_no_build(
    bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FreeBSD's kernel names no build of a module."""
    assert settings.packages == {}
    runs(bench, None)

    def not_known(module: str) -> bool | None:
        raise NotApplicable(f"is {module} in memory the file on disk?")

    monkeypatch.setattr(bench.dut, "is_build_on_disk", not_known)
    with pytest.raises(NotApplicable, match="is e1000e in memory the file on disk"):
        DriverPackages().driver_should_be_of_the_kernel()
    bench.dut.file = replace(bench.dut.file, filename="/boot/modules/e1000e.ko")
    with pytest.raises(CardFailure, match=r"module e1000e is /boot/modules/e1000e\.ko; expected the kernel's own"):
        DriverPackages().driver_should_be_of_the_kernel()


@pytest.mark.usefixtures("taken")
def test_a_sheet_without_package_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match="e1000e comes with linux, and no package of it is named"):
        DriverPackages().install_the_driver_package(REQUIRED)


def test_a_package_without_previous_version_cannot_be_rolled_back(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    bench.edit(bench.sheet, ('      previous: "3.8.4"\n', ""))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match="says nothing about the previous version of package e1000e-modules"):
        DriverPackages().install_the_driver_package(PREVIOUS)
    assert settings.packages == {}


def test_a_package_as_it_was_found_is_judged_where_the_driver_needs_one(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    ask = Driver().package_should_be_as_on_the_sheet
    with pytest.raises(NotApplicable, match="e1000e comes with the kernel and needs no package"):
        ask()
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.1"]}\n'))
    taken.card = bench.load()[1]
    with pytest.raises(
        CardFailure, match=r"^dut: package e1000e-modules is not installed; expected it \(sheet intel-82574l"
    ):
        ask()
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.7", "amd64", "installed")
    ask()
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.4", "i386", "half-configured")
    with pytest.raises(CardFailure) as caught:
        ask()
    assert str(caught.value).splitlines() == [
        "dut: package e1000e-modules is half-configured; expected installed",
        "dut: package e1000e-modules is of i386; expected amd64 (sheet intel-82574l)",
        "dut: package e1000e-modules is 3.8.4; expected another (sheet intel-82574l)",
    ]
    assert settings.told == []


def test_a_package_in_place_of_the_kernels_driver_is_judged_by_its_own_versions(
    bench: FakeBench, settings: FakeSettings
) -> None:
    """A server on which the vendor's driver was installed: its version is that of the package, not of the kernel."""
    whole = Package("e1000e-modules", "3.8.7", "amd64", "installed")
    settings.packages["e1000e-modules"] = whole
    runs(bench, "3.8.7")
    Driver().driver_version_should_be_as_on_the_sheet()
    Driver().package_should_be_as_on_the_sheet()
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, version="3.8.4")
    with pytest.raises(CardFailure, match=r"^dut\.p1 .* runs driver 3\.8\.4, sheet intel-82574l "):
        Driver().driver_version_should_be_as_on_the_sheet()
    settings.packages["e1000e-modules"] = replace(whole, architecture="i386")
    with pytest.raises(CardFailure, match="is of i386; expected amd64"):
        Driver().package_should_be_as_on_the_sheet()


def test_a_package_that_is_there_and_does_not_drive_the_card_leaves_the_kernels_version(
    bench: FakeBench, settings: FakeSettings
) -> None:
    settings.packages["e1000e-modules"] = Package("e1000e-modules", "3.8.7", "amd64", "installed")
    runs(bench, None)
    Driver().driver_version_should_be_as_on_the_sheet()
    with pytest.raises(NotApplicable, match="e1000e comes with the kernel"):
        Driver().package_should_be_as_on_the_sheet()


def test_a_driver_that_no_kernel_brings_is_not_removed_to_be_replaced_by_it(
    bench: FakeBench, settings: FakeSettings, taken: Run
) -> None:
    packages = DriverPackages()
    packages.kernel_should_bring_the_driver()
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.1"]}\n'))
    taken.card = bench.load()[1]
    for ask in (packages.kernel_should_bring_the_driver, packages.driver_should_be_of_the_kernel):
        with pytest.raises(NotApplicable, match="names no driver e1000e that comes with the kernel"):
            ask()
    assert settings.told == []


def test_a_package_of_another_architecture_is_told_before_its_module_is_loaded(settings: FakeSettings) -> None:
    settings.faults.add("other architecture")
    with pytest.raises(
        CardFailure, match=r"^dut: package e1000e-modules 3\.8\.7 is of i386; expected amd64 \(sheet \S+\)$"
    ):
        DriverPackages().install_the_driver_package(REQUIRED)


@pytest.mark.usefixtures("settings")
def test_a_module_of_another_version_than_its_package_is_judged_by_the_drivers_own(
    bench: FakeBench, taken: Run
) -> None:
    bench.edit(bench.sheet, ("architecture: amd64", "module_version_differs: true"))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match="versions of driver e1000e"):
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.1"]}\n'))
    taken.card = bench.load()[1]
    runs(bench, "3.8.1")
    DriverPackages().driver_should_be_of_the_package(REQUIRED)
    bench.dut.loaded = replace(MODULE, version="3.8.7")
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, version="3.8.2")
    with pytest.raises(CardFailure) as caught:
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
    assert str(caught.value).splitlines() == [
        "dut: the module in memory has version 3.8.7; expected another of driver e1000e (sheet intel-82574l)",
        "dut.p1 (0000:02:00.0) has version 3.8.2; expected another of driver e1000e (sheet intel-82574l)",
    ]


@pytest.mark.usefixtures("settings")
def test_a_version_that_cannot_be_compared_hides_no_wrong_one(bench: FakeBench, taken: Run) -> None:
    bench.edit(bench.sheet, ("architecture: amd64", "module_version_differs: true"))
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: [">=3.8.1, <4"]}\n'))
    taken.card = bench.load()[1]
    runs(bench, "3.8.1")
    bench.dut.nics[0].info = replace(bench.dut.nics[0].info, version="3.8.1-NAPI")
    with pytest.raises(Undecided, match=r"^dut\.p0 \(0000:01:00\.0\): version '3\.8\.1-NAPI' cannot be judged"):
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, version="4.1")
    with pytest.raises(CardFailure, match=r"^dut\.p1 \(0000:02:00\.0\) has version 4\.1; expected another of driver"):
        DriverPackages().driver_should_be_of_the_package(REQUIRED)
