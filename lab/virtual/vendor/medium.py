"""The disk with what a card's vendor ships, made once per content.

======================= =====================================================================================
``apt/``                a signed repository: driver packages of several versions, and DKMS with what it needs
``defective/KIND/``     one package for each defect there is
``firmware/``           images for ``ethtool -f``; the server has them in ``/lib/firmware`` too
``SHA256SUMS``, ``.asc`` checksums of all of it, and their signature
``vendor.gpg``          the public key
======================= =====================================================================================
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cardmodel
import cardsheet
from cardmodel import field
from vendor import deb, firmware, packages, repository, versions
from vendor.firmware import Image
from vendor.packages import BuildModule, Defect, Driver
from vendor.signing import Signer

SIZE_MIB = 64  # sparse


class MediumError(Exception):
    """The disk cannot be made."""


def driver_of(name: str, kernel: str) -> Driver | None:
    """Return the Linux driver's packages on the sheet ``name``; None when it says nothing of them.

    Raises:
        ModelError: When it says half of it.
    """
    package = cardsheet.package(name, "linux")
    if not package:
        return None
    required = str(field(package, name, "required", list)[0])
    previous = field(package, name, "previous", str, versions.older(required))
    return Driver(cardsheet.driver(name), field(package, name, "name", str), required, previous, kernel)


def firmware_of(name: str) -> dict[str, bytes]:
    """The images of a card: file name -> content. None where its sheet names none.

    Next to those of the sheet: one older, one forbidden, one cut short, one with a wrong bit, and another vendor's.
    """
    sheet = cardsheet.read(name)
    update = cardsheet.update(name)
    listed: list[Mapping[str, Any]] = update.get("images", [])
    if not listed:
        return {}
    driver = cardsheet.driver(name)
    required, file = str(listed[0]["version"]), str(listed[0]["file"])
    files = {str(one["file"]): Image(driver, name, str(one["version"])).data() for one in listed}
    others = {versions.older(required), versions.forbidden(list(sheet["firmware"].get("forbidden", [])))}
    for version in sorted(other for other in others if other is not None):
        files.setdefault(_named(file, required, version), Image(driver, name, version).data())
    sound = files[file]
    files[_marked(file, "truncated")] = firmware.truncated(sound)
    files[_marked(file, "bit-flipped")] = firmware.bit_flipped(sound)
    if foreign := update.get("foreign_image"):
        files[str(foreign)] = _foreign(name, str(foreign)).data()
    return files


def _foreign(name: str, file: str) -> Image:
    """Another vendor's image: that of the sheet which has a file of this name, else of nobody we know."""
    for other in cardmodel.names():
        for one in cardsheet.update(other).get("images", []):
            if other != name and one["file"] == file:
                return Image(cardsheet.driver(other), other, str(one["version"]))
    return Image("another", "*", "1.0.0")


def write(
    folder: Path, name: str, driver: Driver | None, build: BuildModule, extra: list[Path], signer: Signer
) -> None:
    """Write everything of the card ``name`` into ``folder``.

    Args:
        extra: Debian packages of others that belong into the repository.
    """
    apt = folder / "apt"
    apt.mkdir(parents=True)
    signer.export(folder / "vendor.gpg")
    made = [] if driver is None else [*packages.sound(driver, build), packages.stand_in()]
    entries = [(one.control, deb.build(one, apt)) for one in made]
    for file in extra if driver else []:
        shutil.copy(file, apt / file.name)
        entries.append((repository.control_of(file), apt / file.name))
    repository.publish(apt, entries, signer)
    (folder / "firmware").mkdir()
    for file_name, content in firmware_of(name).items():
        (folder / "firmware" / file_name).write_bytes(content)
    harmed = _write_defective(folder / "defective", driver, build) if driver else None
    repository.write_checksums(folder, signer)
    if harmed is not None:
        harmed.write_bytes(packages.damaged(harmed.read_bytes()))  # after its checksum was taken


def _write_defective(folder: Path, driver: Driver, build: BuildModule) -> Path:
    """Write the defective packages; return the one that is yet to be damaged."""
    files = {}
    for defect, one in packages.defective(driver, build).items():
        target = folder / defect.value
        target.mkdir(parents=True)
        files[defect] = deb.build(one, target)
    return files[Defect.DAMAGED]


def pack(folder: Path, disk: Path) -> None:
    """Make a file system of the folder: the disk as QEMU takes it.

    Raises:
        MediumError: When ``mke2fs`` refuses.
    """
    with tempfile.TemporaryDirectory(dir=disk.parent) as work:
        draft = Path(work) / "disk"
        command = ["mke2fs", "-q", "-t", "ext4", "-O", "^has_journal", "-E", "root_owner=0:0", "-L", "vendor"]
        path = f"{_PATH}:/usr/sbin:/sbin"
        done = subprocess.run(
            [*command, "-d", str(folder), str(draft), f"{SIZE_MIB}M"],
            env={"PATH": path},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            raise MediumError(f"mke2fs failed with status {done.returncode}: {done.stderr.strip()}")
        draft.replace(disk)


_PATH = "/usr/local/bin:/usr/bin:/bin"


def _named(file: str, version: str, other: str) -> str:
    """The name of the image of another version."""
    return file.replace(version, other) if version in file else _marked(file, other)


def _marked(file: str, mark: str) -> str:
    stem, dot, suffix = file.rpartition(".")
    return f"{stem}-{mark}{dot}{suffix}" if dot else f"{file}-{mark}"
