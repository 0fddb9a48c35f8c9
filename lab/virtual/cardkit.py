"""The kit with which a server carries a virtual card: modules at boot, and the disk of the card's vendor.

Cached by content.

``ensure()`` returns files in ``~/.cache/niclab``:

- ``initrd.cpio`` is appended to a server's initial RAM disk: the silicon, loaded before anything looks for devices,
  and the drivers that stand where the system's own of the same names stand. An image is not rebuilt for it.
- ``vendor.ext4`` is a disk: driver packages, firmware images (:mod:`vendor.medium`).
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import cardmodel
import cardsheet
import image
import modules
from vendor import medium
from vendor.signing import signer

HERE = Path(__file__).resolve().parent
VENDOR = "srv/vendor"
TOOLS = {
    "apt-get": "apt",
    "debugfs": "e2fsprogs",
    "depmod": "kmod",
    "dpkg-deb": "dpkg",
    "gcc": "gcc",
    "gpg": "gpg",
    "gpg-agent": "gpg-agent",
    "make": "make",
    "objcopy": "binutils",
    "unshare": "util-linux",
}
"""Programs of the host that a virtual card needs -> Debian package."""


class KitError(Exception):
    """The kit of a card cannot be made."""


@dataclass(frozen=True)
class Kit:
    """The files; see above."""

    initrd: Path
    disk: Path


def ensure(base: Path, card: str) -> Kit:
    """The files for servers of the image ``base`` with the card ``card``; made first when they are not there.

    Raises:
        KitError: When a step fails.
    """
    if missing := image.missing_tools(TOOLS):
        names = " ".join(sorted(set(missing.values())))
        raise KitError(
            f"this machine lacks {', '.join(missing)}: run 'make setup', or as root: apt-get install {names}"
        )
    kernel = str(json.loads((base / "manifest.json").read_text())["kernel"])
    cache = image.CACHE
    with image.locked("card"):
        built = modules.ensure(base)
        tables = f"{kernel} of {base.name}"  # of depmod: they are of the image's own modules too
        initrd = cache / f"card-{_digest(tables, [built, *_recipe()])}" / "initrd.cpio"
        if not initrd.exists():
            with image.made_whole(initrd.parent) as folder:
                _make_initrd(folder, base, kernel, built)
        disk = cache / f"vendor-{card}-{_digest(kernel, [built, *_recipe(), cardsheet.SHEETS])}" / "vendor.ext4"
        if not disk.exists():
            with image.made_whole(disk.parent) as folder:
                _make_disk(folder, base, kernel, card)
    return Kit(initrd, disk)


def _recipe() -> list[Path]:
    return [HERE / "vendor", HERE / "modules.py", Path(__file__)]


def _digest(name: str, paths: list[Path]) -> str:
    """Hash of a name and of what is in the paths (16 hex digits)."""
    digest = hashlib.sha256(name.encode())
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                digest.update(f"\n{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _make_initrd(folder: Path, base: Path, kernel: str, built: Path) -> None:
    """The archive: ``/card/silicon``, ``/card/root`` for the server's disk, ``/card/key`` that names its content."""
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work) / "card"
        silicon = tree / "silicon"
        silicon.mkdir(parents=True)
        for name in modules.SILICON:
            shutil.copy(built / f"{name}.ko", silicon)
        (silicon / "order").write_text("".join(f"{name}.ko\n" for name in modules.SILICON))
        _put_drivers(tree / "root/usr/lib/modules" / kernel, base, kernel, built)
        (tree / "key").write_text(_digest(kernel, [built]) + "\n")
        _put_links(tree / "always")
        for path in tree.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        script = "find card | sort | cpio --quiet -o -H newc -R 0:0"
        (folder / "initrd.cpio").write_bytes(_run(["sh", "-c", script], Path(work)))


def _put_drivers(target: Path, base: Path, kernel: str, built: Path) -> None:
    """The drivers where the system's own of the same names stand, and the tables of ``depmod`` that go with them."""
    with tempfile.TemporaryDirectory() as work:
        whole = Path(work) / "lib/modules" / kernel
        whole.parent.mkdir(parents=True)
        _run(["debugfs", "-R", f"rdump /usr/lib/modules/{kernel} {whole.parent}", str(base / "root.ext4")])
        if not (whole / "modules.dep").exists():
            raise KitError(f"{base / 'root.ext4'}: cannot read /usr/lib/modules/{kernel}")
        places = {image.module_name(file.name): file.relative_to(whole) for file in whole.rglob("*.ko*")}
        for file in sorted(built.glob("*.ko")):
            if file.stem in modules.SILICON:
                continue
            place = places.get(file.stem, Path("kernel/drivers/net") / file.name)
            for tree in (whole, target):
                (tree / place).parent.mkdir(parents=True, exist_ok=True)
                (tree / place).write_bytes(modules.packed(file, place))
        _run(["depmod", "-b", work, kernel])
        for table in whole.glob("modules.*"):
            shutil.copy(table, target)


def _put_links(tree: Path) -> None:
    """Link the server's disk to that of the vendor: firmware where the kernel looks for it, apt's source."""
    sources, firmware = tree / "etc/apt/sources.list.d", tree / "usr/lib/firmware"
    sources.mkdir(parents=True)
    (sources / "vendor.list").write_text(f"deb [signed-by=/{VENDOR}/vendor.gpg] file:/{VENDOR}/apt ./\n")
    firmware.mkdir(parents=True)
    for name in {name for card in cardmodel.names() for name in medium.firmware_of(card)}:
        (firmware / name).symlink_to(f"/{VENDOR}/firmware/{name}")


def _run(command: list[str], folder: Path | None = None) -> bytes:
    """Run the program and return its output.

    Raises:
        KitError: When it fails.
    """
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise KitError(f"{command[0]} failed with status {done.returncode}: {done.stderr.decode().strip()}")
    return done.stdout


def _make_disk(folder: Path, base: Path, kernel: str, card: str) -> None:
    """The vendor's disk."""
    driver = medium.driver_of(card, kernel)

    def build(version: str, loadable: bool) -> bytes:
        assert driver is not None
        return modules.driver(base, driver.module, version, loadable)

    with tempfile.TemporaryDirectory() as work, signer(image.CACHE / "vendor.key") as key:
        content = Path(work) / "content"
        content.mkdir(mode=0o755)
        extra = modules.dkms_packages(base) if driver else []
        medium.write(content, card, driver, build, extra, key)
        medium.pack(content, folder / "vendor.ext4")
