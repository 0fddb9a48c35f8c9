"""The driver packages of a card: which there are, and what is in each.

Two styles, as vendors have them: *modules* brings the module ready for the running kernel into ``updates/``; *dkms*
hands it to DKMS, as a module that DKMS has built elsewhere (``dkms mktarball --binaries-only``), which puts it into
``updates/dkms``: servers of the bench have no compiler.
"""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from vendor import versions
from vendor.deb import Deb

BuildModule = Callable[[str, bool], bytes]
"""``build(version, loadable)``: the driver's module of that version; not loadable: it needs a symbol nobody has."""


class Defect(StrEnum):
    """The defect of a package; its file is in a folder of this name."""

    WRONG_ARCHITECTURE = "wrong-architecture"
    UNLOADABLE = "unloadable"
    POSTINST_FAILS = "postinst-fails"
    OTHER_VERSION = "other-version"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Driver:
    """The Linux driver of a card, by its sheet.

    Attributes:
        package: Name of its package; ``-dkms`` at its end makes it one of DKMS.
        required: The version the sheet wants; ``previous``: the one a rollback goes to.
    """

    module: str
    package: str
    required: str
    previous: str
    kernel: str

    @property
    def stem(self) -> str:
        return self.package.removesuffix("-dkms").removesuffix("-modules")

    @property
    def versions(self) -> tuple[str, str, str]:
        """The versions there are packages of, old to new."""
        return self.previous, self.required, versions.newer(self.required)


def sound(driver: Driver, build: BuildModule) -> list[Deb]:
    """The packages of the repository: every version in both styles."""
    styles: tuple[Callable[[Driver, str, bytes], Deb], ...] = (modules_package, dkms_package)
    return [style(driver, version, build(version, True)) for version in driver.versions for style in styles]


def defective(driver: Driver, build: BuildModule) -> dict[Defect, Deb]:
    """One package for each defect; only what is in it shows what is wrong, not its name."""
    version = driver.required
    good, stale = build(version, True), build(driver.previous, True)
    half_way = f"\necho '{driver.package}: cannot update the boot files' >&2\nexit 1\n"
    return {
        Defect.WRONG_ARCHITECTURE: modules_package(driver, version, good, architecture="arm64"),
        Defect.UNLOADABLE: modules_package(driver, version, build(version, False)),
        Defect.POSTINST_FAILS: modules_package(driver, version, good, after_install=half_way),
        Defect.OTHER_VERSION: modules_package(driver, version, stale),
        Defect.DAMAGED: modules_package(driver, version, good),
    }


def modules_package(
    driver: Driver, version: str, module: bytes, *, architecture: str = "amd64", after_install: str = ""
) -> Deb:
    """The module of one kernel, in ``updates/``."""
    depmod = f"#!/bin/sh\nset -e\ndepmod -a {driver.kernel}\n"
    return Deb(
        package=f"{driver.stem}-modules",
        version=version,
        architecture=architecture,
        description=f"{driver.module} driver {version} for Linux {driver.kernel}",
        files={f"lib/modules/{driver.kernel}/updates/{driver.module}.ko": module},
        scripts={"postinst": depmod + after_install, "postrm": depmod},
        relations={"Depends": "kmod", "Conflicts": f"{driver.stem}-dkms"},
    )


def dkms_package(driver: Driver, version: str, module: bytes) -> Deb:
    """The module as DKMS knows it, built elsewhere."""
    name = f"{driver.stem}-dkms"
    archive = f"usr/share/{name}/{driver.module}-{version}.dkms.tar.gz"
    install = (
        "#!/bin/sh\nset -e\n"
        f'if [ "$1" = configure ]; then\n'
        f"    dkms ldtarball --archive=/{archive} --force\n"
        f"    dkms install -m {driver.module} -v {version} -k {driver.kernel} --force\n"
        "fi\n"
    )
    remove = f"#!/bin/sh\nset -e\ndkms remove -m {driver.module} -v {version} --all\n"
    return Deb(
        package=name,
        version=version,
        architecture="amd64",
        description=f"{driver.module} driver {version} for DKMS",
        files={
            archive: dkms_archive(driver, version, module),
            f"usr/src/{driver.module}-{version}/dkms.conf": _dkms_conf(driver, version),
        },
        scripts={"postinst": install, "prerm": remove},
        relations={"Depends": "dkms (>= 3.0)", "Conflicts": f"{driver.stem}-modules"},
    )


def dkms_archive(driver: Driver, version: str, module: bytes) -> bytes:
    """An archive as ``dkms mktarball --binaries-only`` writes it and ``dkms ldtarball`` reads it (dkms(8))."""
    members = {
        "dkms_binaries_only/dkms.conf": _dkms_conf(driver, version),
        f"dkms_main_tree/{driver.kernel}/x86_64/module/{driver.module}.ko": module,
        f"dkms_main_tree/{driver.kernel}/x86_64/log/make.log": b"built elsewhere\n",
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _dkms_conf(driver: Driver, version: str) -> bytes:
    return (
        f'PACKAGE_NAME="{driver.module}"\nPACKAGE_VERSION="{version}"\nBUILT_MODULE_NAME[0]="{driver.module}"\n'
        'DEST_MODULE_LOCATION[0]="/updates/dkms"\nAUTOINSTALL="no"\nSTRIP[0]="no"\n'
    ).encode()


def damaged(package: bytes) -> bytes:
    """The package with one bit wrong in its middle: its checksum, which is of the sound one, tells."""
    broken = bytearray(package)
    broken[len(broken) // 2] ^= 1
    return bytes(broken)


def stand_in() -> Deb:
    """Return a stand-in for what DKMS depends on and does not use for built modules: a compiler, headers, tools."""
    return Deb(
        package="no-compiler",
        version="1",
        architecture="all",
        description="replaces the compiler that servers of the bench do not have",
        relations={"Provides": "gcc, c-compiler, make, build-essential, dpkg-dev, patch, lsb-release"},
    )
