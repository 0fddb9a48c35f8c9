"""The driver that a run qualifies: the one that is there, that of the system, or the vendor's on both servers."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import FILE, KERNEL, MODULE, FakeHost
from fake_settings import FakeSettings

from Driver import Driver
from DriverPackages import DriverPackages
from niclab.bench.records import OperatingSystem, Role
from niclab.card.driver_choice import DriverChoice
from niclab.checks.chosen_driver import ChosenDriver
from niclab.checks.packages import DriverPackage, Release
from niclab.checks.releasing import release_bench
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.errors import ModuleRefused
from niclab.hosts.settings.settings_records import Attempt, Package
from niclab.report.evidence.runfolder import QUALIFIED_DRIVER, new_run, read_run
from niclab.run import run as runs
from niclab.run.driver_in_use import driver_in_words, package_in_use, package_in_words
from niclab.run.run import Run
from niclab.run.watching.facts import CardFacts

PACKAGE = """in_kernel: true
    package:
      name: e1000e-modules
      required: ["3.8.7"]
      allowed: [">=3.8.0, <3.8.7"]
      forbidden: ["<3.8.0"]
      previous: "3.8.4"
      architecture: amd64
      source: test
"""
APT = (
    "{ export DEBIAN_FRONTEND=noninteractive; apt-get -q -o DPkg::Lock::Timeout=300 check; dpkg --configure -a; true; }"
)
PURGE = (
    f"{APT} && dpkg --force-remove-reinstreq --purge e1000e-modules && modprobe -r e1000e && modprobe e1000e && sync"
)
OURS = "e1000e-modules"
BACK = f"{APT} && apt-get -q -o DPkg::Lock::Timeout=300 --yes --allow-downgrades install {OURS}=3.8.7 && "


class Server(FakeSettings):
    """A server on which a package takes effect when the driver is loaded again."""

    def load(self) -> None:
        found, host = self.packages.get(OURS), self.host
        where = "kernel/drivers/net" if found is None else "updates"
        version = KERNEL if found is None else found.version
        version = "3.8.1" if found is not None and "other driver" in self.faults else version
        shown = None if found is None or "without effect" in self.faults else version
        where = "kernel/drivers/net" if "without effect" in self.faults else where
        host.file = replace(FILE, version=shown, filename=f"/lib/modules/{KERNEL}/{where}/e1000e.ko")
        host.loaded = replace(MODULE, version=shown)
        for nic in host.nics:
            nic.info = replace(nic.info, version=KERNEL if shown is None else version)

    def _command(self, command: str) -> str:
        if command == PURGE and "cannot be removed" in self.faults:
            raise BenchFault(f"{self.host.name}: dpkg: error processing package {OURS} (--purge)")
        if command == PURGE:
            self.packages.pop(OURS, None)
            self.load()
        if command.startswith(BACK) and "not back" not in self.faults:
            self.install_package(OURS, "3.8.7")
            self.load()
        return "" if command.startswith("true") else super()._command(command)


def server(bench: FakeBench, role: Role) -> Server:
    made = Server(bench.hosts[role], bench.ssh[role])
    host: FakeHost = made.host
    reload = host.reload_driver
    host.reload_driver = lambda module: (reload(module), made.load())[0]  # type: ignore[method-assign]
    host.restoring_driver = lambda address, iface: f"true {address} {iface}"  # type: ignore[attr-defined]
    made.load()
    return made


@pytest.fixture
def servers(bench: FakeBench) -> dict[Role, Server]:
    bench.edit(bench.sheet, ("in_kernel: true\n", PACKAGE))
    return {role: server(bench, role) for role in Role}


def acquired(bench: FakeBench, word: str) -> Run:
    folder = new_run(bench.folder / "results", "intel-82574l", "virtual")
    made = runs.acquire(bench.file, bench.load()[1], folder, lambda: None, driver=DriverChoice(word))
    for host in bench.hosts.values():
        host.journal = made.journal
    return made


def provided(bench: FakeBench, word: str) -> tuple[Run, list[str]]:
    """A run whose driver has been provided, and what was said of it."""
    run, said = acquired(bench, word), list[str]()
    run.part(ChosenDriver).provide(said.append)
    run.part(ChosenDriver).require_in_use(said.append)
    return run, said


def runs_version(bench: FakeBench, role: Role) -> set[str | None]:
    return {nic.info.version for nic in bench.hosts[role].nics}


@pytest.mark.parametrize(("word", "version"), [("vendor", "3.8.7"), ("3.8.4", "3.8.4")])
def test_the_package_is_on_both_servers_and_named(
    bench: FakeBench, servers: dict[Role, Server], word: str, version: str
) -> None:
    run, said = provided(bench, word)
    assert [runs_version(bench, role) for role in Role] == [{version}, {version}]
    assert said[:2] == [f"{role}: package {OURS} {version} is installed" for role in ("dut", "peer")]
    Driver().driver_version_should_be_as_on_the_sheet()
    Driver().package_should_be_as_on_the_sheet()
    assert run.part(CardFacts).record()[QUALIFIED_DRIVER] == f"package {OURS} {version}"
    assert read_run(run.run_dir)["software"]["peer"]["driver"] == f"package {OURS} {version}"
    assert {server.packages[OURS].version for server in servers.values()} == {version}
    runs.release()


def test_the_former_state_comes_back_driver_first_and_links_last(bench: FakeBench, servers: dict[Role, Server]) -> None:
    provided(bench, "vendor")
    pending = runs.current().journal.pending()  # the newest first, as they are undone
    of_dut = [entry.action.command for entry in pending if entry.action.where == "dut"]
    assert of_dut == [PURGE, "true 0000:02:00.0 enp2s0", "true 0000:01:00.0 enp1s0"]
    runs.release()
    assert all(server.packages == {} for server in servers.values())
    assert [runs_version(bench, role) for role in Role] == [{KERNEL}, {KERNEL}]


def test_a_killed_run_leaves_it_to_the_next_one(bench: FakeBench, servers: dict[Role, Server]) -> None:
    provided(bench, "vendor")
    run = runs._CURRENT.pop()
    run._stack.close()  # the lock and the connections go with the process
    later = acquired(bench, "")
    assert later.journal.pending() == [] and servers[Role.PEER].packages == {}
    assert runs_version(bench, Role.DUT) == {KERNEL}
    runs.release()


def test_tests_of_packages_leave_what_the_run_wants(bench: FakeBench, servers: dict[Role, Server]) -> None:
    run, _ = provided(bench, "vendor")
    for is_removed in (False, True):
        package = DriverPackage(run, Role.DUT)
        package.remove() if is_removed else package.install(Release.PREVIOUS)
        servers[Role.DUT].load()
        assert runs_version(bench, Role.DUT) != {"3.8.7"}
        for role in Role:
            DriverPackages().restore_the_driver_package(role)
        assert servers[Role.DUT].told[-1].startswith(BACK) and runs_version(bench, Role.DUT) == {"3.8.7"}
    assert PURGE in [entry.action.command for entry in run.journal.pending()]
    runs.release()


@pytest.mark.parametrize("role", list(Role))
def test_a_driver_that_a_test_of_packages_does_not_bring_back_is_a_fault(
    bench: FakeBench, servers: dict[Role, Server], role: Role
) -> None:
    run, _ = provided(bench, "vendor")
    servers[role].faults.add("not back")
    DriverPackage(run, role).remove()
    servers[role].load()
    now = rf"inbox, e1000e of {KERNEL}, SRC1 in memory"
    words = rf"^{role.value}: driver is {now}; expected package {OURS} 3\.8\.7, 3\.8\.7"
    with pytest.raises(BenchFault, match=words):
        DriverPackages().restore_the_driver_package(role)
    DriverPackages().restore_the_driver_package(Role.PEER if role is Role.DUT else Role.DUT)
    with pytest.raises(BenchFault, match=words):
        run.part(ChosenDriver).look_before_it_goes(run.part(CardFacts).require_unchanged)
    runs.release()


def test_a_package_that_cannot_be_removed_at_the_end_is_a_fault_and_stays_in_the_journal(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    run, _ = provided(bench, "vendor")
    servers[Role.PEER].faults.add("cannot be removed")
    with pytest.raises(BenchFault, match=rf"peer.*driver of the run.*dpkg: error processing package {OURS}"):
        release_bench(run, lambda _: None)
    assert servers[Role.DUT].packages == {} and list(servers[Role.PEER].packages) == [OURS]
    assert [entry.action.command for entry in run.journal.pending()].count(PURGE) == 1
    servers[Role.PEER].faults.clear()
    later = acquired(bench, "")
    assert later.journal.pending() == [] and servers[Role.PEER].packages == {}
    runs.release()


def test_the_driver_is_looked_at_before_it_goes(bench: FakeBench, servers: dict[Role, Server]) -> None:
    run, _ = provided(bench, "vendor")
    run.part(CardFacts).record()
    run.journal.register("dut", "a change of a test", Action(ActionKind.SHELL, "dut", "true"))
    run.part(ChosenDriver).look_before_it_goes(run.part(CardFacts).require_unchanged)
    assert "a change of a test" not in [entry.what for entry in run.journal.pending()]
    assert servers[Role.DUT].packages[OURS].version == "3.8.7"
    servers[Role.DUT].packages.clear()
    servers[Role.DUT].load()
    with pytest.raises(BenchFault, match=rf"qualified_driver is inbox, e1000e of {KERNEL}; expected package {OURS} 3"):
        run.part(ChosenDriver).look_before_it_goes(run.part(CardFacts).require_unchanged)
    runs.release()


def test_nothing_happens_where_no_driver_was_chosen(bench: FakeBench, servers: dict[Role, Server]) -> None:
    run, said = provided(bench, "")
    seen = list[str]()
    run.part(ChosenDriver).look_before_it_goes(lambda: seen.append("looked"))
    assert said == seen == run.journal.pending() == [] and not run.part(ChosenDriver).is_installed
    assert run.part(CardFacts).record()[QUALIFIED_DRIVER] == f"inbox, e1000e of {KERNEL}"
    assert all(server.told == [] for server in servers.values())
    runs.release()


def test_a_package_that_is_there_is_named_where_nobody_chose(bench: FakeBench, servers: dict[Role, Server]) -> None:
    servers[Role.DUT].packages[OURS] = Package(OURS, "3.8.7", "amd64", "installed")
    servers[Role.DUT].load()
    run, _ = provided(bench, "")
    Driver().driver_version_should_be_as_on_the_sheet()
    assert run.part(CardFacts).record()[QUALIFIED_DRIVER] == f"package {OURS} 3.8.7"
    runs.release()


def test_where_a_driver_is_from_is_said_of_any_server(bench: FakeBench, servers: dict[Role, Server]) -> None:
    run, _ = provided(bench, "")
    assert driver_in_words(run, Role.PEER) == f"inbox, e1000e of {KERNEL}"
    assert package_in_use(run, Role.PEER) is None
    servers[Role.PEER].host.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/updates/e1000e.ko")
    assert driver_in_words(run, Role.PEER) == f"/lib/modules/{KERNEL}/updates/e1000e.ko, of no package of the sheet"
    servers[Role.PEER].packages[OURS] = Package(OURS, "3.8.7", "amd64", "installed")
    assert driver_in_words(run, Role.PEER) == f"package {OURS} 3.8.7"
    drivers = run.card.drivers.model_copy(update={"linux": None})
    run.card = run.card.model_copy(update={"drivers": drivers})
    assert driver_in_words(run, Role.PEER) == "none on the sheet"
    assert package_in_words(run, Role.PEER) == ""


@pytest.mark.parametrize("role", list(Role))
def test_a_package_in_place_of_the_systems_driver_is_a_fault_where_that_was_chosen(
    bench: FakeBench, servers: dict[Role, Server], role: Role
) -> None:
    servers[role].packages[OURS] = Package(OURS, "3.8.7", "amd64", "installed")
    servers[role].load()
    words = rf"^{role.value}: package {OURS} 3\.8\.7, is in place of the system's own driver; expected it removed, or"
    with pytest.raises(BenchFault, match=words):
        provided(bench, "inbox")
    assert runs.current().journal.pending() == []
    runs.release()


def test_a_module_of_nobody_in_place_of_the_systems_driver_is_a_fault_as_well(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    assert servers[Role.DUT].packages == {}
    bench.dut.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/updates/e1000e.ko")
    with pytest.raises(
        BenchFault, match=r"^dut: /lib/modules/\S+/updates/e1000e\.ko, of no package of the sheet, is in p"
    ):
        provided(bench, "inbox")
    runs.release()


@pytest.mark.parametrize("role", list(Role))
def test_a_vendors_module_that_is_still_in_memory_is_a_fault(
    bench: FakeBench, servers: dict[Role, Server], role: Role
) -> None:
    """Somebody removed the package, and nobody loaded the system's own driver."""
    servers[role].host.loaded = replace(MODULE, srcversion="VENDOR")
    says = rf"^{role.value}: driver e1000e in memory has srcversion VENDOR, .* has SRC1; expected the same: load the dr"
    with pytest.raises(BenchFault, match=says):
        provided(bench, "inbox")
    runs.release()


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(
    ("said", "signer", "verdict"),
    [
        ("Unknown symbol in module, or unknown parameter (see dmesg)", None, CardFailure),
        ("Exec format error", "Vendor", CardFailure),
        ("Key was rejected by service", None, CardFailure),
        ("Key was rejected by service", "Vendor", BenchFault),
        ("Cannot allocate memory", None, BenchFault),
    ],
)
def test_a_module_that_the_kernel_does_not_take_is_the_packages(
    bench: FakeBench, servers: dict[Role, Server], role: Role, said: str, signer: str | None, verdict: type[Exception]
) -> None:
    host = servers[role].host
    reload, loaded = host.reload_driver, host.loaded

    def refuse(_: str) -> None:
        host.file = replace(host.file, signer=signer)
        if "memory" in said:
            raise BenchFault(f"{role.value}: modprobe failed, said: {said}")
        raise ModuleRefused(f"{role.value}: modprobe failed, said: {said}", "Key" in said)

    host.reload_driver = refuse  # type: ignore[method-assign]
    with pytest.raises(verdict, match=re.escape(said)):
        provided(bench, "vendor")
    host.reload_driver, host.loaded = reload, loaded  # type: ignore[method-assign]
    runs.release()


def test_a_system_that_cannot_tell_what_is_in_memory_is_believed(bench: FakeBench, servers: dict[Role, Server]) -> None:
    """FreeBSD has a version in memory, and none in the file."""

    def not_known(module: str) -> bool | None:
        raise NotApplicable(f"is {module} in memory the file on disk?")

    for each in servers.values():
        each.host.loaded = replace(MODULE, version="11.0")
        each.host.is_build_on_disk = not_known  # type: ignore[method-assign]
    provided(bench, "inbox")
    runs.release()


def test_a_module_of_nobody_next_to_the_package_is_a_fault(bench: FakeBench, servers: dict[Role, Server]) -> None:
    """A build by hand of the same version wins over the package's module."""
    servers[Role.DUT].faults.add("module of others")
    says = (
        rf"^dut: module e1000e is /lib/modules/\S+/updates/e1000e\.ko, which package {OURS} did not bring; expected no"
    )
    with pytest.raises(BenchFault, match=says):
        provided(bench, "vendor")
    assert driver_in_words(runs.current(), Role.DUT).endswith("updates/e1000e.ko, of no package of the sheet")
    runs.release()


def test_a_package_that_is_installed_and_not_used_leaves_the_systems_driver(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    servers[Role.DUT].packages[OURS] = Package(OURS, "3.8.7", "amd64", "installed")
    run, _ = provided(bench, "inbox")
    assert run.part(CardFacts).record()[QUALIFIED_DRIVER] == f"inbox, e1000e of {KERNEL}"
    runs.release()


def test_a_peer_with_another_card_keeps_its_driver(bench: FakeBench, servers: dict[Role, Server]) -> None:
    for nic in bench.peer.nics:
        nic.device = replace(nic.device, device_id="1521")
    _, said = provided(bench, "vendor")
    assert "peer has another card; its driver stays as it is" in said and servers[Role.PEER].packages == {}
    assert runs_version(bench, Role.DUT) == {"3.8.7"}
    runs.release()


def test_a_package_without_effect_is_a_card_failure(bench: FakeBench, servers: dict[Role, Server]) -> None:
    servers[Role.DUT].faults.add("without effect")
    with pytest.raises(CardFailure) as caught:
        provided(bench, "vendor")
    own, *versions = str(caught.value).splitlines()
    file = f"/lib/modules/{KERNEL}/kernel/drivers/net/e1000e.ko"
    assert own == f"dut: module e1000e is {file}, the kernel's own; expected that of package {OURS}"
    assert f"dut: the module in memory has version None, package {OURS} is 3.8.7" in versions
    with pytest.raises(BenchFault, match=r"^dut: e1000e is the kernel's own; expected that of the package"):
        Driver().driver_version_should_be_as_on_the_sheet()
    runs.release()
    assert servers[Role.PEER].packages == {}


@pytest.mark.parametrize("role", list(Role))
def test_a_driver_of_another_version_than_its_package_is_a_card_failure(
    bench: FakeBench, servers: dict[Role, Server], role: Role
) -> None:
    servers[role].faults.add("other driver")
    with pytest.raises(CardFailure) as caught:
        provided(bench, "vendor")
    places = [f"{role.value}: the module on disk", f"{role.value}: the module in memory"]
    places += [f"{role.value}: {port.place}" for port in runs.current().ports(role)]
    assert str(caught.value).splitlines() == [f"{place} has version 3.8.1, package {OURS} is 3.8.7" for place in places]
    runs.release()
    assert servers[role].packages == {} and runs_version(bench, role) == {KERNEL}


def test_another_version_of_the_package_than_was_asked_for_is_a_card_failure(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    servers[Role.DUT].faults.add("other version")
    with pytest.raises(CardFailure, match=rf"^dut: package {OURS} is 9\.9; expected 3\.8\.7 \(sheet intel-82574l\)$"):
        provided(bench, "vendor")
    runs.release()


def test_the_package_is_loaded_at_boot_where_the_sheet_asks_for_that_and_nothing_does_it(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    bench.edit(bench.sheet, ("in_kernel: true\n", "in_kernel: true\n    load_at_boot: true\n"))
    servers[Role.PEER].at_boot.add("e1000e")
    run, said = provided(bench, "vendor")
    assert "dut: driver e1000e is set to load at boot" in said
    assert not [each for each in said if each.startswith("peer: driver e1000e is set")]
    assert [server.at_boot for server in servers.values()] == [{"e1000e"}, {"e1000e"}]
    looked = list[bool]()
    run.part(ChosenDriver).look_before_it_goes(lambda: looked.append("e1000e" in servers[Role.DUT].at_boot))
    assert looked == [True]
    runs.release()
    assert [server.at_boot for server in servers.values()] == [set(), {"e1000e"}]


def test_a_driver_in_the_kernel_is_not_replaced(bench: FakeBench, servers: dict[Role, Server]) -> None:
    bench.dut.file = replace(FILE, filename=None, built_in=True)
    with pytest.raises(
        BenchFault, match=r"^dut: driver e1000e is part of the kernel; expected a module, in place of wh"
    ):
        provided(bench, "vendor")
    assert runs.current().journal.pending() == [] and servers[Role.DUT].packages == {}
    runs.release()


def test_a_package_that_is_refused_is_a_card_failure_and_the_bench_comes_back(
    bench: FakeBench, servers: dict[Role, Server]
) -> None:
    servers[Role.PEER].install_package = bench.peer.install_package = (  # type: ignore[attr-defined, method-assign]
        lambda *_: Attempt("post-installation script failed", None)
    )
    with pytest.raises(CardFailure, match=rf"^peer: package {OURS} 3\.8\.7 is not installed: post-inst"):
        provided(bench, "vendor")
    run = runs.current()
    run.part(ChosenDriver).look_before_it_goes(run.part(CardFacts).require_unchanged)
    runs.release()
    assert servers[Role.DUT].packages == {} and runs_version(bench, Role.DUT) == {KERNEL}


@pytest.mark.parametrize(
    ("word", "words"),
    [
        ("3.7.0", "driver 3.7.0: sheet intel-82574l: package e1000e-modules: forbids it; expected vendor, inbox or"),
        ("9.9", "package e1000e-modules: neither requires nor allows it; expected vendor, inbox or another"),
        ("3.8.x", "package e1000e-modules: version '3.8.x' cannot be judged: "),
    ],
)
@pytest.mark.usefixtures("servers")
def test_a_version_that_the_sheet_does_not_want_is_refused_before_anything_is_touched(
    bench: FakeBench, word: str, words: str
) -> None:
    with pytest.raises(BenchFault) as caught:
        acquired(bench, word)
    assert words in str(caught.value) and runs.acquired() is None


def test_a_sheet_without_such_a_driver_is_refused(bench: FakeBench) -> None:
    with pytest.raises(BenchFault, match="names no package of e1000e for linux; expected inbox"):
        acquired(bench, "vendor")
    unknown = PACKAGE.replace('["3.8.7"]', "{unknown: nobody has asked}")
    bench.edit(bench.sheet, ("in_kernel: true\n", unknown))
    words = (
        "driver vendor: sheet intel-82574l does not know the required version of package .*: nobody has asked; expected"
    )
    with pytest.raises(BenchFault, match=words):
        acquired(bench, "vendor")
    bench.edit(bench.sheet, (unknown, "in_kernel: true\n"))
    bench.edit(bench.sheet, ("in_kernel: true\n", 'version: {required: ["3.8.1"]}\n'))
    with pytest.raises(BenchFault, match="names no driver e1000e that comes with linux; expected vendor"):
        DriverChoice("inbox").version(bench.load()[1], OperatingSystem.LINUX)
