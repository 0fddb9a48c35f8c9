"""Builds of modules for a kernel of Debian: by this machine's compiler, or by that of the kernel's own release.

A kernel's headers bring tools along (modpost, objtool) that are programs of its release, and flags that its compiler
knows. Where this machine runs that release, the headers are unpacked in ``~/.cache/niclab``; elsewhere a whole root of
the release is, with its compiler, and ``make`` runs in it. Neither needs root.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import debian
import image

IN_ROOT = """\
set -e
mount --bind "$2" "$1/mnt"
mount --rbind /dev "$1/dev"
root=$1
shift 2
exec chroot "$root" "$@"
"""
"""``sh -c IN_ROOT sh ROOT FOLDER COMMAND...`` runs a command in a root that has the folder as ``/mnt``."""


class BuildError(Exception):
    """The modules cannot be built; the message says what is missing or shows the compiler's words."""


@dataclass(frozen=True)
class Kernel:
    """The kernel of an image.

    Attributes:
        suite: The release of Debian it is of.
        release: As ``uname -r`` prints it, e.g. ``6.1.0-56-amd64``.
        version: That of its package.
    """

    suite: str
    release: str
    version: str

    @property
    def headers(self) -> str:
        """Place of its headers in the system they are for."""
        return f"usr/src/linux-headers-{self.release}"


def kernel_of(base: Path) -> Kernel:
    """The kernel of an image's folder."""
    manifest = json.loads((base / "manifest.json").read_text())
    release: str = manifest["kernel"]
    return Kernel(manifest["suite"], release, manifest["packages"][f"linux-image-{release}"])


def make(kernel: Kernel, work: Path, *options: str) -> None:
    """Build the modules in ``work``.

    Raises:
        BuildError: When the archive does not have the kernel's headers, or the compiler complains.
    """
    if debian.is_release(kernel.suite):
        root = _ensure(kernel, "headers", _unpack)
        command = ["make", "-C", str(root / kernel.headers), f"M={work}"]
    else:
        root = _ensure(kernel, "buildroot", _bootstrap)
        own = ["unshare", "--map-root-user", "--mount", "sh", "-c", IN_ROOT, "sh", str(root), str(work)]
        command = [*own, "make", "-C", f"/{kernel.headers}", "M=/mnt"]
    run([*command, "-s", "-j2", *options, "modules"], work, LC_ALL="C")


def _ensure(kernel: Kernel, name: str, fill: Callable[[Kernel, Path, Path], None]) -> Path:
    """A folder of the cache, made when it is not there.

    Args:
        fill: Fills ``root`` in a folder to work in; it gets the kernel, that folder, and the place ``root`` will have.
    """
    target = image.CACHE / f"{name}-{kernel.release}-{kernel.version}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=image.CACHE, prefix=f"{name}-build-") as folder:
            (Path(folder) / "root").mkdir()
            fill(kernel, Path(folder), target)
            (Path(folder) / "root").rename(target)
    return target


def _unpack(kernel: Kernel, work: Path, target: Path) -> None:
    """The packages of exactly this kernel's headers; their Makefile names the place they will have."""
    arch = kernel.release.rsplit("-", 1)[1]
    common = kernel.release.removesuffix(f"-{arch}") + "-common"
    headers = f"linux-headers-{kernel.release}"
    try:
        debian.download([f"{name}={kernel.version}" for name in (headers, f"linux-headers-{common}")], work)
        debian.download(_tools(next(work.glob(f"{headers}_*.deb")), work), work)
    except debian.PackageError as error:
        raise BuildError(str(error)) from error
    for package in work.glob("*.deb"):
        run(["dpkg-deb", "-x", str(package), str(work / "root")], work)
    makefile = work / "root" / kernel.headers / "Makefile"
    makefile.write_text(f"include {target}/usr/src/linux-headers-{common}/Makefile\n")


def _tools(headers: Path, work: Path) -> list[str]:
    """Names of the packages with the tools of a kernel's headers: of their version or a later one.

    An archive may have them from a later build than the signed kernel, which follows a day or more behind.
    """
    needed = run(["dpkg-deb", "-f", str(headers), "Depends"], work)
    return re.findall(r"\blinux-kbuild-[^\s,]+", needed)


def _bootstrap(kernel: Kernel, work: Path, _: Path) -> None:
    """A root of the kernel's release with exactly its headers, which bring their compiler along."""
    excluded = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "info", "locale", "man")]
    command = ["mmdebstrap", "--variant=apt", f"--include=make,linux-headers-{kernel.release}={kernel.version}"]
    settings = ['--aptopt=Apt::Install-Recommends "false"', '--aptopt=Acquire::Languages "none"']
    run([*command, *settings, *excluded, kernel.suite, "root.tar"], work)
    run(["tar", "-x", "-f", "root.tar", "-C", "root", "--exclude=./dev"], work)  # only root can make devices
    (work / "root/dev").mkdir()


def run(command: list[str], folder: Path, **extra: str) -> str:
    """Run a program in ``folder`` with ``extra`` in its environment; return its output.

    Raises:
        BuildError: When it fails, with the end of its words.
    """
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin", **extra}
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment)
    if result.returncode:
        words = (result.stdout[-4000:] + result.stderr[-8000:]).strip()
        raise BuildError(f"{' '.join(command[:4])} ... failed with status {result.returncode}:\n{words}")
    return result.stdout
