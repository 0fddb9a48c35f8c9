"""The driver packages of a card for servers of the rpm family: which there are, and what is in each.

Each brings the module ready for one kernel into ``updates/``, where depmod(8) looks first on RHEL and on SLES.
"""

from __future__ import annotations

from enum import StrEnum

from vendor.packages import BuildModule, Driver
from vendor.rpm import Rpm

OTHER_KERNEL = "5.14.0-427.13.1.el9_4.x86_64"


class Defect(StrEnum):
    """The defect of a package; its repository is in a folder of this name."""

    UNSIGNED = "unsigned"
    FOREIGN = "foreign"
    OTHER_KERNEL = "other-kernel"
    OTHER_VERSION = "other-version"
    POST_FAILS = "post-fails"


SYSTEM = Rpm(
    "base-system",
    "1",
    relations=[("Provides", each) for each in ("/bin/sh", "kmod", "system-release = 1")],
)
"""In the database of each server: provides what a distribution's packages do, which that of a Debian root lacks."""


def sound(driver: Driver, build: BuildModule) -> list[Rpm]:
    """The packages of the repository: every version."""
    return [modules_package(driver, version, build(version, True)) for version in driver.versions]


def defective(driver: Driver, build: BuildModule) -> dict[Defect, Rpm]:
    """One package for each defect, of the version that the sheet requires.

    That of ``FOREIGN`` is sound: it is signed with the key of somebody else.
    """
    version = driver.required
    good, stale = build(version, True), build(driver.previous, True)
    fails = f"echo '{driver.package}: cannot update the boot files' >&2\nexit 1\n"
    return {
        Defect.UNSIGNED: modules_package(driver, version, good, signed=False),
        Defect.FOREIGN: modules_package(driver, version, good),
        Defect.OTHER_KERNEL: modules_package(driver, version, good, kernel=OTHER_KERNEL),
        Defect.OTHER_VERSION: modules_package(driver, version, stale),
        Defect.POST_FAILS: modules_package(driver, version, good, after_install=fails),
    }


def modules_package(
    driver: Driver, version: str, module: bytes, *, kernel: str = "", signed: bool = True, after_install: str = ""
) -> Rpm:
    """The module of one kernel: that of the servers where no other is named."""
    depmod = f"depmod -a {driver.kernel}\n"
    return Rpm(
        package=f"{driver.stem}-modules",
        version=version,
        files={f"lib/modules/{kernel or driver.kernel}/updates/{driver.module}.ko": module},
        scripts={"post": depmod + after_install, "postun": depmod},
        relations=(("Requires", "kmod"),),
        signed=signed,
    )
