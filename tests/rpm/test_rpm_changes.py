"""The driver's package is installed, changed, removed and brought back by the real rpm, dnf and zypper."""

from __future__ import annotations

from pathlib import Path

import pytest
from rpm_servers import MODULE, NAME, NEW, OLD, Server, web
from rpm_servers import server as server_of

from niclab.core.verdict import BenchFault
from niclab.hosts.settings.settings_records import ChangedFile, Package

pytestmark = pytest.mark.slow
FILE = f"/{MODULE}"


def package(version: str) -> Package:
    return Package(NAME, version, "amd64", "installed", "1")


def undo(server: Server, before: Package | None) -> int | None:
    """Run the part of the undo that is of packages: the root has no kernel whose driver could be loaded."""
    script = server.host.undo.package(NAME, before, "be2net")
    return server.machine.run(script.replace("modprobe", ": modprobe").replace("modinfo", ": modinfo")).exit_status


def test_installing_upgrading_going_back_and_removing(rpm_server: Server) -> None:
    drivers = rpm_server.host.drivers
    assert drivers.package(NAME) is None
    for version in (OLD, NEW, NEW, OLD):
        attempt = drivers.install_package(NAME, version)
        assert (attempt.refused, attempt.now) == (None, package(version))
        assert rpm_server.machine.must(f"cat {FILE}") == f"driver {version}\n"
    gone = drivers.remove_package(NAME)
    assert (gone.refused, gone.now) == (None, None)
    assert rpm_server.machine.run(f"ls {FILE}").exit_status != 0
    assert drivers.remove_package(NAME).refused is None


def test_a_key_that_came_with_the_package_goes_with_it(vendor: tuple[Path, str]) -> None:
    """With -y dnf trusts the key that a repository names; zypper asks, and takes none."""
    with server_of("dnf", vendor[0]) as made:
        machine = made.machine
        own = machine.must("rpm -qa gpg-pubkey").split()
        assert undo(made, None) == 0 and machine.must("rpm -qa gpg-pubkey").split() == own != []
        machine.must("rpm -e gpg-pubkey")
        script = made.host.undo.package(NAME, None, "be2net")
        made.has(NAME, NEW)
        assert machine.must("rpm -qa gpg-pubkey").split() == own
        for _ in range(2):
            machine.must(script)
            assert machine.must("rpm -qa gpg-pubkey") == "" and made.installed() == []


def test_a_mirror_serves_the_package(vendor: tuple[Path, str]) -> None:
    with web(vendor[0] / "srv/vendor/rpm") as url:
        for tool in ("dnf", "zypper"):
            with server_of(tool, vendor[0], url) as made:
                assert made.host.drivers.install_package(NAME, NEW).now == package(NEW)


def test_files_are_compared_owned_and_signed(rpm_server: Server, vendor: tuple[Path, str]) -> None:
    drivers = rpm_server.host.drivers
    rpm_server.has(NAME, NEW)
    assert drivers.changed_files(NAME) == ()
    assert drivers.is_of_package(NAME, FILE)
    assert not drivers.is_of_package(NAME, "/etc/os-release")
    assert drivers.package_signer(NAME) == vendor[1]
    rpm_server.machine.must(f"echo own build > {FILE}; rm /etc/depmod.d/be2net.conf; chmod 600 {FILE}")
    assert set(drivers.changed_files(NAME)) == {
        ChangedFile(FILE, False),
        ChangedFile("/etc/depmod.d/be2net.conf", True),
    }


@pytest.mark.parametrize(("defect", "signer"), [("unsigned", None), ("foreign", "another")])
def test_the_signer_of_a_package_that_the_vendor_did_not_sign(
    defect: str, signer: str | None, rpm_server: Server, vendor: tuple[Path, str]
) -> None:
    """rpm itself installs both."""
    rpm_server.machine.must(f"rpm -i --nosignature /srv/vendor/{defect}/*.rpm")
    found = rpm_server.host.drivers.package_signer(NAME)
    assert (found is None) == (signer is None) and found != vendor[1]


def test_a_package_that_another_needs_stays(rpm_server: Server) -> None:
    """``dnf remove`` and ``zypper remove`` would take the other along, and no undo brings that one back."""
    rpm_server.has(NAME, NEW)
    rpm_server.has("manager")
    with pytest.raises(BenchFault, match=r"is needed by \(installed\) manager-1\.0-1"):
        rpm_server.host.drivers.remove_package(NAME)
    assert undo(rpm_server, None) != 0
    assert rpm_server.installed() == [f"{NAME} {NEW}", "manager 1.0"]


def test_a_version_that_another_needs_stays(rpm_server: Server) -> None:
    rpm_server.has(NAME, NEW)
    rpm_server.has("manager-new")
    with pytest.raises(BenchFault, match=r"manager-new-1\.0-1\.x86_64 requires"):
        rpm_server.host.drivers.install_package(NAME, OLD)
    assert rpm_server.installed() == [f"{NAME} {NEW}", "manager-new 1.0"]


def test_a_package_that_replaces_another_is_not_installed(rpm_server: Server) -> None:
    """No undo brings the other back."""
    version = rpm_server.knows("replaces")
    rpm_server.has("mlx-modules")
    with pytest.raises(BenchFault, match=r"shows '.*mlx-modules.*'; expected that no other package goes$"):
        rpm_server.host.drivers.install_package(NAME, version)
    assert rpm_server.installed() == ["mlx-modules 1.0"]


def test_what_a_repository_offers(rpm_server: Server) -> None:
    """A version that is installed and in no repository could not be brought back."""
    assert rpm_server.host.undo.package(NAME, package(NEW), "be2net")
    rpm_server.machine.must("rpm -i /srv/vendor/large/*.rpm")
    found = rpm_server.host.drivers.package(NAME)
    assert found is not None
    for gone, name in ((found, NAME), (package(NEW), "nobody-modules")):
        with pytest.raises(BenchFault, match=rf"package {name} \S+-1 is installed, and no repository has it"):
            rpm_server.host.undo.package(name, gone, "be2net")


@pytest.mark.parametrize("before", [None, OLD, NEW])
@pytest.mark.parametrize("now", [None, OLD, NEW])
def test_the_undo_brings_back_what_was_there(before: str | None, now: str | None, rpm_server: Server) -> None:
    if now is not None:
        rpm_server.has(NAME, now)
    assert undo(rpm_server, None if before is None else package(before)) == 0
    assert rpm_server.installed() == ([] if before is None else [f"{NAME} {before}"])
    assert before is None or rpm_server.machine.must(f"cat {FILE}") == f"driver {before}\n"


@pytest.mark.parametrize("before", [None, OLD])
def test_the_undo_of_an_upgrade_that_was_killed(before: str | None, rpm_server: Server) -> None:
    """The database has both versions then, and the files are the new one's; the tools call that installed."""
    rpm_server.has(NAME, OLD)
    rpm_server.has("manager")
    with pytest.raises(Exception, match=rf"install.*{NAME}"):
        rpm_server.host.drivers.install_package(NAME, rpm_server.knows("killed"))
    assert len(rpm_server.installed()) == 3
    if before is None:
        rpm_server.machine.must("rpm -e manager")
    assert undo(rpm_server, None if before is None else package(before)) == 0
    assert rpm_server.installed() == ([] if before is None else [f"{NAME} {OLD}", "manager 1.0"])
    assert before is None or rpm_server.machine.must(f"rpm -V {NAME}; cat {FILE}") == f"driver {OLD}\n"


def test_the_undo_of_an_upgrade_that_was_killed_before_it_was_in_the_database(rpm_server: Server) -> None:
    rpm_server.has(NAME, OLD)
    rpm_server.machine.must(f"echo driver {NEW} > {FILE}")
    assert undo(rpm_server, package(OLD)) == 0
    assert rpm_server.machine.must(f"cat {FILE}") == f"driver {OLD}\n"
