"""The kernel's modules, the driver's package and the loader's settings, as on a server that was just set up."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cardsheet
from freebsd import facts
from vendor import medium

PACKAGES = "usr/ports/packages/All"
"""Folder to which PKG_PATH of root's shell points."""
_MACHINES = {"amd64": (2, 62), "i386": (1, 3)}
"""Class and machine of the ELF header."""
_MODULE_BYTES = 228_544
_PKG = "pkg-1.3.8_3"
"""The package tool itself from release 10 on, a package like others; that of the time of 10.1."""
IMAGE_AT = 4096
"""Offset of the image in a firmware module; ``guest/flashing.py`` knows it too."""


def module_file(architecture: str) -> bytes:
    """A module file: an ELF header of that architecture, and the size of such a module."""
    kind, machine = _MACHINES[architecture]
    head = b"\x7fELF" + bytes((kind, 1, 1, 9)) + bytes(8) + (1).to_bytes(2, "little") + machine.to_bytes(2, "little")
    return head.ljust(_MODULE_BYTES, b"\0")


def firmware_modules(card: str) -> dict[str, bytes]:
    """Module file -> content, of the card's firmware images, for a driver that takes them so.

    The names are those of bsd.kmod.mk, which puts ``_`` for ``-`` and ``.``.
    """
    if facts.driver_of(card).flashes is None:
        return {}
    images = medium.firmware_of(card).items()
    head = module_file("amd64")[:IMAGE_AT]
    return {f"{_symbol(file.rpartition('.')[0])}.ko": head + image for file, image in images}


def _symbol(name: str) -> str:
    return name.replace("-", "_").replace(".", "_")


def lay(tree: Path, card: str) -> None:
    """Lay modules, packages and /boot/loader.conf of a server with that card into ``tree/once``.

    A driver that comes as a package is installed and set to be loaded at boot, as the vendor's manual says; one that
    comes with the system has its file in /boot/kernel, and is set to be loaded where nothing else loads it. For the
    architecture that the vendor has published by mistake there is a package as well.
    """
    once, driver = tree / "once", facts.driver_of(card)
    for name in ("kernel", "if_lagg.ko", "if_vlan.ko", "if_tap.ko"):
        _write(once / "boot/kernel" / name, module_file("amd64"))
    if driver.release is not facts.RELEASE_9:
        _write_records(once, _PKG, "usr/local/sbin/pkg", "Package manager")
    toe = facts.of(card)["drivers"][driver.name]["toe"]
    for name in (toe["module"], *toe["needs"]) if toe else ():
        _write(once / f"boot/kernel/{name}.ko", module_file("amd64"))
    package = cardsheet.package(card, "freebsd")
    (once / "boot/modules").mkdir(parents=True, exist_ok=True)
    for file, content in firmware_modules(card).items():
        _write(once / "boot/modules" / file, content)
    if not package:
        if not driver.built_in:
            _write(once / "boot/kernel" / f"{driver.module}.ko", module_file("amd64"))
        by_loader = not (driver.built_in or driver.plug_and_play)
        _write(once / "boot/loader.conf", f'{driver.module}_load="YES"\n'.encode() if by_loader else b"")
        return
    name, version = str(package["name"]), str(package["required"][0])
    for architecture in _MACHINES:
        content = _package(name, version, driver.module, architecture)
        _write(once / PACKAGES / f"{name}-{version}-{architecture}.tbz", content)
        if architecture == package.get("architecture", "amd64"):
            _write(once / PACKAGES / f"{name}-{version}.tbz", content)
    _write_records(once, f"{name}-{version}", _module_path(driver.module), _comment(name))
    _write(once / "boot/modules" / f"{driver.module}.ko", module_file("amd64"))
    _write(once / "boot/loader.conf", f'{driver.module}_load="YES"\n'.encode())


def _module_path(module: str) -> str:
    return f"boot/modules/{module}.ko"


def _comment(name: str) -> str:
    return f"{name} driver for freebsd"


def _records(full_name: str, file: str, comment: str) -> Mapping[str, bytes]:
    """Return the records that the package tools keep of a package of one file."""
    contents = (
        "@comment PKG_FORMAT_REVISION:1.1\n"
        f"@name {full_name}\n@comment ORIGIN:net/{full_name.rpartition('-')[0]}\n@cwd /\n{file}\n"
    )
    return {
        "+CONTENTS": contents.encode(),
        "+COMMENT": f"{comment}\n".encode(),
        "+DESC": f"{comment}, version {full_name.rpartition('-')[2]}.\n".encode(),
    }


def _write_records(once: Path, full_name: str, file: str, comment: str) -> None:
    for name, text in _records(full_name, file, comment).items():
        _write(once / "var/db/pkg" / full_name / name, text)


def _package(name: str, version: str, module: str, architecture: str) -> bytes:
    path = _module_path(module)
    files: dict[str, Any] = {**_records(f"{name}-{version}", path, _comment(name)), path: module_file(architecture)}
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:bz2") as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(content), 0o644
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
