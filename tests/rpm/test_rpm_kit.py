"""Servers of the virtual bench that are of the rpm family, without booting one: database, keys and packages."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rpm_servers import Server

import image
import modules
import rpmkit
import rpmroot
from niclab.core.verdict import BenchFault
from niclab.hosts.settings.settings_records import Package
from rpmroot import Machine
from vendor.packages import Driver
from vendor.rpm_packages import Defect

pytestmark = pytest.mark.slow
KERNEL = "6.1.0-56-amd64"
DRIVER = Driver("be2net", "be2net-modules", "12.0.0.0", "4.4.161.0", KERNEL)
NAME, FILE = "be2net-modules", f"/lib/modules/{KERNEL}/updates/be2net.ko"


@pytest.fixture(scope="module")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vendor's files on every server, whose modules are texts."""
    if missing := image.missing_tools(rpmroot.TOOLS):
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("vendor")
    with pytest.MonkeyPatch.context() as patch, Machine() as machine:
        patch.setattr(modules, "driver", lambda *asked: "{1} {2}\n".format(*asked).encode())
        rpmkit._take_key(machine)
        rpmkit._write_packages(machine, folder, DRIVER)
        machine.copy_out(["/srv/vendor"], folder)
    return folder


@contextmanager
def laid(tool: str, vendor: Path, folder: Path) -> Iterator[Server]:
    """A server as the first program lays it; it has no kernel whose modules depmod could list."""
    subprocess.run(["cpio", "--quiet", "-id"], cwd=folder, input=rpmkit.archive(tool).read_bytes(), check=True)
    with Machine(folder / "os/once", vendor) as machine:
        machine.must("ln -sf /bin/true /sbin/depmod")
        yield Server(machine, tool)


@pytest.fixture(params=["dnf", "zypper"])
def made(request: pytest.FixtureRequest, vendor: Path, tmp_path: Path) -> Iterator[Server]:
    with laid(request.param, vendor, tmp_path) as server:
        yield server


def package(version: str) -> Package:
    return Package(NAME, version, "amd64", "installed", "1")


def test_the_packages_are_installed_changed_and_removed(made: Server) -> None:
    drivers = made.host.drivers
    for version in ("4.4.161.0", "12.0.0.0", "12.0.0.1", "4.4.161.0"):
        attempt = drivers.install_package(NAME, version)
        assert (attempt.refused, attempt.now) == (None, package(version))
        assert made.machine.must(f"cat {FILE}") == f"be2net {version}\n"
        assert drivers.changed_files(NAME) == () and drivers.is_of_package(NAME, FILE)
    assert drivers.remove_package(NAME).now is None
    assert made.machine.run(f"ls {FILE}").exit_status != 0


def test_the_system_says_what_it_is(made: Server) -> None:
    said = made.machine.must("cat /etc/os-release")
    assert "ID=niclab-rpm\n" in said and f"({made.tool} on Debian 12)" in said
    assert made.machine.must("rpm -qa --qf '%{NAME}\n' | sort").split() == ["base-system", "gpg-pubkey"]


@pytest.mark.parametrize(
    ("defect", "words"),
    [
        (Defect.UNSIGNED, "is not signed"),
        (Defect.FOREIGN, BenchFault),
        (Defect.POST_FAILS, "scriptlet"),
        (Defect.OTHER_KERNEL, None),
        (Defect.OTHER_VERSION, None),
    ],
)
def test_a_defect_is_charged_where_it_belongs(defect: Defect, words: object, made: Server) -> None:
    """Words: the card is; none: the package is installed, and what it brings is compared later."""
    place = f"/srv/vendor/defective/{defect.value}"
    made.machine.must(f"sed -i 's,file://.*/rpm$,file://{place},' /{rpmkit.FOLDERS[made.tool]}/vendor.repo")
    if words is BenchFault:
        with pytest.raises(BenchFault):
            made.host.drivers.install_package(NAME, DRIVER.required)
        return
    refused = made.host.drivers.install_package(NAME, DRIVER.required).refused
    assert refused is None if words is None else str(words) in str(refused)


def test_the_module_of_another_kernel_is_not_where_this_one_looks(made: Server) -> None:
    place = "/srv/vendor/defective/other-kernel"
    files = made.machine.must(f"rpm -qlp {place}/*.rpm")
    assert KERNEL not in files and files.endswith("/updates/be2net.ko\n")


def test_the_key_is_the_same_for_every_disk_and_every_server(made: Server) -> None:
    made.machine.must("rm /srv/vendor/RPM-GPG-KEY-vendor")
    assert made.host.drivers.install_package(NAME, DRIVER.required).now == package(DRIVER.required)
    with Machine() as other:
        rpmkit._take_key(other)
        key = other.must("gpg --list-keys --with-colons").split("pub:")[1].split(":")[3].lower()
    assert made.host.drivers.package_signer(NAME) == key
