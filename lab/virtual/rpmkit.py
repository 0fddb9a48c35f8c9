"""The kit that makes a server one of the rpm family, as RHEL (dnf) and SLES (zypper) are: cached by content.

The image has the tools (:data:`image.BOOKWORM_RPM`). Two files make the rest, in ``~/.cache/niclab``:

- ``archive()``: part of the initial RAM disk; ``/os/lay`` is run by the server's first program and lays ``/os/once``:
  the system's name, rpm's database with the vendor's key in it, and the repository;
- ``disk()``: the disk of the card's vendor: ``rpm/``, a signed repository with driver packages of several versions;
  ``defective/KIND/``, a repository for each defect there is; ``firmware/``.

Kernel and system below stay Debian's, and ``/etc/os-release`` says so.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import cardmodel
import cardsheet
import image
import modules
import rpmroot
from rpmroot import Machine
from vendor import medium, rpm, rpm_packages
from vendor.packages import Driver
from vendor.rpm_packages import SYSTEM, Defect
from wholefile import write_private

HERE = Path(__file__).resolve().parent
FAMILIES = {"dnf": "fedora", "zypper": "suse opensuse"}
"""``ID_LIKE`` of systems that have the tool: /etc/os-release of RHEL 9 and of openSUSE Leap 15."""
FOLDERS = {"dnf": "etc/yum.repos.d", "zypper": "etc/zypp/repos.d"}
OS_RELEASE = """\
ID=niclab-rpm
ID_LIKE="{family}"
NAME="niclab rpm"
VERSION_ID=1
PRETTY_NAME="niclab rpm 1 ({tool} on Debian 12)"
"""
REPOSITORY = f"""\
[vendor]
name=Vendor drivers
baseurl=file:///srv/vendor/rpm
enabled=1
autorefresh=1
metadata_expire=1
gpgcheck=1
pkg_gpgcheck=1
gpgkey=file://{rpm.PUBLIC_KEY}
"""
"""``pkg_gpgcheck``: without it zypper takes any package that is on a signed list (zypp.conf); dnf does not know it."""
SOUND = "/srv/vendor/rpm"
LAY = """\
# Run by the first program of a server, with its disk at /root: lays what makes it one of the rpm family.
if ! /bin/busybox cmp -s /os/key /root/etc/rpm-family; then
    /bin/busybox cp -af /os/once/. /root/
    /bin/busybox sync # what is laid must be on the disk before its mark
    /bin/busybox cp /os/key /root/etc/rpm-family
    /bin/busybox sync
fi
"""


def archive(tool: str) -> Path:
    """The archive for a server whose packages are changed with dnf or zypper; made first when it is not there.

    Raises:
        RpmRootError: When a program is missing or fails.
    """
    with image.locked("rpm"):
        key = _key(tool)
        return _ensure(f"rpm-{tool}-{key}", "initrd.cpio", lambda folder: _make_archive(folder, tool, key))


def disk(base: Path, card: str) -> Path:
    """The disk of the vendor of a card, for servers of the image ``base``; made first when it is not there.

    Raises:
        RpmRootError: When a program is missing or fails.
        MediumError: When the disk cannot be made.
    """
    kernel = str(json.loads((base / "manifest.json").read_text())["kernel"])
    built = modules.ensure(base)
    with image.locked("rpm"):
        sheet = repr(cardsheet.read(card)) + (cardmodel.MODELS / f"{card}.yaml").read_text()
        name = f"vendor-{card}-rpm-{_key(kernel, str(built), sheet)}"
        return _ensure(name, "vendor.ext4", lambda folder: _make_disk(folder, base, kernel, card))


def _ensure(name: str, file: str, make: Callable[[Path], None]) -> Path:
    target = image.CACHE / name
    if not (target / file).exists():
        with image.made_whole(target) as folder:
            make(folder)
    return target / file


def _key(*words: str) -> str:
    """Hash of the words and of the recipe (16 hex digits); with the vendor's key, which is this controller's own."""
    if not _secret().exists():
        with Machine() as machine:
            _take_key(machine)
    digest = hashlib.sha256("\n".join((*words, rpmroot.key())).encode() + _secret().read_bytes())
    for file in (*sorted((HERE / "vendor").glob("*.py")), Path(__file__)):
        digest.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _secret() -> Path:
    return image.CACHE / "rpm-vendor.key"


def _take_key(machine: Machine) -> None:
    """Give the machine the vendor's key, which is made once per controller."""
    if _secret().exists():
        rpm.take_key(machine, _secret().read_bytes())
        return
    rpm.make_key(machine)
    write_private(_secret(), rpm.secret_key(machine))


def _make_archive(folder: Path, tool: str, key: str) -> None:
    with tempfile.TemporaryDirectory() as work:
        once = Path(work) / "os/once"
        with Machine() as machine:
            _take_key(machine)
            file = rpm.build(SYSTEM, machine, "/var/tmp")
            machine.must(f"rpm --import {rpm.PUBLIC_KEY} && rpm -i {file}")
            machine.copy_out(["/var/lib/rpm"], once)
        for name, text in {
            "usr/lib/os-release": OS_RELEASE.format(tool=tool, family=FAMILIES[tool]),
            "etc/rpm/macros": rpmroot.MACROS,
            f"{FOLDERS[tool]}/vendor.repo": REPOSITORY,
        }.items():
            (once / name).parent.mkdir(parents=True, exist_ok=True)
            (once / name).write_text(text)
        (once.parent / "lay").write_text(LAY)
        (once.parent / "key").write_text(f"{key}\n")
        for path in once.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        script = "find os | sort | cpio --quiet -o -H newc -R 0:0"
        done = subprocess.run(["sh", "-c", script], cwd=work, check=True, capture_output=True, env={**os.environ})
        (folder / "initrd.cpio").write_bytes(done.stdout)


def _make_disk(folder: Path, base: Path, kernel: str, card: str) -> None:
    driver = medium.driver_of(card, kernel)
    with tempfile.TemporaryDirectory() as work, Machine() as machine:
        content = Path(work) / "srv/vendor"
        _take_key(machine)
        if driver is not None:
            _write_packages(machine, base, driver)
        machine.copy_out(["/srv/vendor"], Path(work))
        (content / "firmware").mkdir()
        for name, data in medium.firmware_of(card).items():
            (content / "firmware" / name).write_bytes(data)
        medium.pack(content, folder / "vendor.ext4")


def _write_packages(machine: Machine, base: Path, driver: Driver) -> None:
    def build(version: str, loadable: bool) -> bytes:
        return modules.driver(base, driver.module, version, loadable)

    for each in rpm_packages.sound(driver, build):
        rpm.build(each, machine, SOUND)
    rpm.publish(machine, SOUND)
    other = "Somebody else <else@localhost>"
    rpm.make_key(machine, other, "/root/else")
    for defect, each in rpm_packages.defective(driver, build).items():
        place = f"/srv/vendor/defective/{defect.value}"
        rpm.build(each, machine, place, other if defect is Defect.FOREIGN else rpm.SIGNER)
        rpm.publish(machine, place)
