"""The virtual cards' kernel modules as the bench uses them, and what Debian packages go with vendors' packages."""

from __future__ import annotations

import lzma
import shutil
import subprocess
import tempfile
from pathlib import Path

import debian
import image
from card import build  # it puts its own folder on the path

from kbuild import BuildError, kernel_of  # isort: skip
from models import ModelError  # isort: skip

SILICON = ("vcard", "vnet")
"""Loaded before anything looks for devices, in this order; the rest are drivers of vendors."""
NOBODYS_SYMBOL = "vendor_licence_check"
DKMS = ("dkms",)


class ModuleError(Exception):
    """A module or a package cannot be made or fetched."""


def ensure(base: Path) -> Path:
    """The folder with every module, for the kernel of the image ``base``: built when it is not there.

    Raises:
        ModuleError: With the compiler's words.
    """
    try:
        return build.modules(base)
    except (BuildError, ModelError) as error:
        raise ModuleError(str(error)) from error


def driver(base: Path, name: str, version: str, loadable: bool) -> bytes:
    """A vendor's driver that calls itself ``version``; not loadable: it needs a symbol that nobody has.

    Raises:
        ModuleError: With the compiler's words.
    """
    try:
        module = build.driver(name, version, base)
    except (BuildError, ModelError) as error:
        raise ModuleError(str(error)) from error
    return module.read_bytes() if loadable else without_symbol(module)


def without_symbol(module: Path) -> bytes:
    """The module with one of the symbols it takes from other modules renamed to one that there is not.

    Raises:
        ModuleError: When it takes none, or binutils fail.
    """
    names = _run(["nm", "--undefined-only", "--format=just-symbols", str(module)]).split()
    taken = sorted(name for name in names if name.startswith("vnet_"))
    if not taken:
        raise ModuleError(f"{module}: takes no symbol of vnet that could be missing")
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / module.name
        _run(["objcopy", "--redefine-sym", f"{taken[0]}={NOBODYS_SYMBOL}", str(module), str(target)])
        return target.read_bytes()


def packed(module: Path, place: Path) -> bytes:
    """The module as the system has its own of that name: compressed where that one is (``.ko.xz``).

    As Debian's are: the kernel unpacks them itself, and knows no other check than CRC32 (Linux, lib/xz).
    """
    content = module.read_bytes()
    if place.suffix != ".xz":
        return content
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    return lzma.compress(content, check=lzma.CHECK_CRC32, filters=filters)


def dkms_packages(base: Path) -> list[Path]:
    """Debian's own packages that vendors' DKMS packages need in the image ``base``, fetched once.

    Raises:
        ModuleError: When the archive does not have them.
    """
    suite = kernel_of(base).suite
    folder = image.CACHE / f"dkms-{suite}"
    if not folder.exists():
        with image.made_whole(folder) as made:
            try:
                debian.download(DKMS, made, suite)
            except debian.PackageError as error:
                raise ModuleError(str(error)) from error
    return sorted(folder.glob("*.deb"))


def _run(command: list[str], folder: Path | None = None) -> str:
    if not shutil.which(command[0]):
        raise ModuleError(f"this machine lacks {command[0]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise ModuleError(f"{' '.join(command[:2])} failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout
