"""The QEMU that is a server: this machine's own, or that of Debian's backports for a card that needs a newer one.

The latter is unpacked into ``~/.cache/niclab/qemu-<key>/``, without root and once; later it needs no network:

- ``root``           the packages' files
- ``manifest.json``  the packages' versions and the SHA-256 of their files
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import debian
import image
from cardmodel import Card

PROGRAM = "qemu-system-x86_64"
PACKAGE = "qemu-system-x86"
BRANCH = "backports"
DATA = ("usr/share/qemu", "usr/share/seabios")
LIBRARIES = ("usr/lib/x86_64-linux-gnu", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/pulseaudio")
_VERSION = re.compile(r"QEMU emulator version (\d+)\.(\d+)")


class QemuError(Exception):
    """There is no QEMU that the bench can use."""


@dataclass(frozen=True)
class Qemu:
    """A QEMU: the words that start it, and its version."""

    command: tuple[str, ...]
    version: tuple[int, int]


def ensure(card: Card) -> Qemu:
    """The QEMU of a server with that card; unpacked first when this machine's own is too old for the card.

    ``VBENCH_QEMU`` names another program. Virtual cards do with any, and nothing is fetched for them.

    Raises:
        QemuError: When there is none, and none can be fetched.
    """
    if chosen := os.environ.get("VBENCH_QEMU"):
        return _asked((chosen,))
    oldest = card.qemu.oldest if card.qemu else ()
    if shutil.which(PROGRAM) and (own := _asked((PROGRAM,))).version >= oldest:
        return own
    lack = f"this machine has no {PROGRAM}"
    if not oldest:
        raise QemuError(lack)
    lack += f" of at least {'.'.join(map(str, oldest))} for {card.name}"
    target = folder()
    with image.locked("qemu"):
        if not (target / "manifest.json").exists():
            _unpack(target, lack)
    return _asked(_command(target / "root"))


def folder() -> Path:
    """Return the folder of the unpacked one: a changed recipe makes a new one."""
    return image.CACHE / f"qemu-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]}"


def _asked(command: tuple[str, ...]) -> Qemu:
    """A QEMU that says its version.

    Raises:
        QemuError: When it does not.
    """
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise QemuError(f"{command[0]} cannot be started: {error.strerror}") from error
    found = _VERSION.match(done.stdout)
    if done.returncode or not found:
        said = (done.stderr or done.stdout).strip()
        raise QemuError(f"{' '.join(command)} --version: {said[:300]!r}; expected the version of a QEMU")
    return Qemu(command, (int(found[1]), int(found[2])))


def _command(root: Path) -> tuple[str, ...]:
    """The words that start an unpacked one: its libraries go before the machine's, its data before those."""
    libraries = [str(root / place) for place in LIBRARIES if (root / place).is_dir()]
    data = [word for place in DATA for word in ("-L", str(root / place))]
    return ("env", f"LD_LIBRARY_PATH={':'.join(libraries)}", str(root / "usr/bin" / PROGRAM), *data)


def _unpack(target: Path, lack: str) -> None:
    if not shutil.which("dpkg-deb"):
        raise QemuError(f"{lack}, and no dpkg-deb to unpack one")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="qemu-build-") as work:
        made, files = Path(work) / "made", Path(work) / "files"
        (made / "root").mkdir(parents=True)
        files.mkdir()
        try:
            versions = debian.download_whole(PACKAGE, BRANCH, files)
        except debian.PackageError as error:
            raise QemuError(f"{lack}: {error}") from error
        packages = sorted(files.glob("*.deb"))
        for package in packages:
            subprocess.run(["dpkg-deb", "-x", str(package), str(made / "root")], check=True)
        _write_manifest(made / "manifest.json", versions, packages)
        shutil.rmtree(target, ignore_errors=True)
        made.rename(target)


def _write_manifest(file: Path, versions: Mapping[str, str], packages: list[Path]) -> None:
    sums = {package.name: hashlib.sha256(package.read_bytes()).hexdigest() for package in packages}
    file.write_text(json.dumps({"packages": dict(versions), "sha256": sums}, indent=1))
