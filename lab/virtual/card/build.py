"""Builds the virtual cards' kernel modules for the kernel of the bench's image; everything is cached by content.

``modules()`` returns a folder with all modules as a distribution would ship them (no version of their own);
``driver()`` returns one vendor driver with a version of its own, for packages. Needs gcc, make and, the first time,
Debian's package archive for the kernel's headers; no root.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import debian  # noqa: E402
import image  # noqa: E402 - the lines above make them importable
import models  # noqa: E402

MODELS = HERE.parent / "models"
SOURCES = ("Kbuild", "mailbox.h", "vcard.h", "silicon", "net", "drivers", "models.py")
NAMES = ("vcard", "vnet", *models.DRIVERS)


class BuildError(Exception):
    """The modules cannot be built; the message says what is missing or shows the compiler's words."""


def release(base: Path) -> str:
    """Kernel release of an image folder, e.g. ``6.1.0-56-amd64``."""
    kernel: str = json.loads((base / "manifest.json").read_text())["kernel"]
    return kernel


def _package_version(base: Path) -> str:
    packages: dict[str, str] = json.loads((base / "manifest.json").read_text())["packages"]
    return packages[f"linux-image-{release(base)}"]


@contextmanager
def _locked() -> Iterator[None]:
    image.CACHE.mkdir(parents=True, exist_ok=True)
    with (image.CACHE / "modules.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], folder: Path, **extra: str) -> None:
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, env={**os.environ, **extra})
    if result.returncode:
        words = (result.stdout[-4000:] + result.stderr[-8000:]).strip()
        raise BuildError(f"{' '.join(command[:4])} ... failed with status {result.returncode}:\n{words}")


def headers(base: Path) -> Path:
    """The kernel's build folder, from Debian's header packages of exactly the image's kernel.

    Raises:
        BuildError: When the archive does not have that version.
    """
    kernel, version = release(base), _package_version(base)
    target = image.CACHE / f"headers-{kernel}-{version}"
    build = target / f"usr/src/linux-headers-{kernel}"
    if build.exists():
        return build
    arch = kernel.rsplit("-", 1)[1]
    common = kernel.removesuffix(f"-{arch}") + "-common"
    kbuild = "linux-kbuild-" + ".".join(kernel.split(".")[:2])
    with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="headers-") as folder:
        work = Path(folder)
        names = [f"{name}={version}" for name in (f"linux-headers-{kernel}", f"linux-headers-{common}", kbuild)]
        try:
            debian.download(names, work)
        except debian.PackageError as error:
            raise BuildError(str(error)) from error
        root = work / "root"
        for package in work.glob("*.deb"):
            _run(["dpkg-deb", "-x", str(package), str(root)], work)
        makefile = root / f"usr/src/linux-headers-{kernel}/Makefile"
        makefile.write_text(f"include {target}/usr/src/linux-headers-{common}/Makefile\n")
        root.rename(target)
    return build


def key(base: Path) -> str:
    """Hash of everything the modules depend on (16 hex digits): sources, models, kernel."""
    digest = hashlib.sha256(f"{release(base)} {_package_version(base)}".encode() + Path(__file__).read_bytes())
    files = [path for name in SOURCES for path in sorted([HERE / name, *(HERE / name).rglob("*")]) if path.is_file()]
    for file in [*files, *sorted(MODELS.glob("*.yaml"))]:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _copy(work: Path) -> None:
    for name in SOURCES:
        source = HERE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, work / name)
    models.write(MODELS, work / "gen")


def _make(build: Path, work: Path, *options: str) -> None:
    _run(["make", "-s", "-j2", "-C", str(build), f"M={work}", *options, "modules"], work, LC_ALL="C")


def modules(base: Path | None = None) -> Path:
    """All modules, stripped of debugging: ``<folder>/<name>.ko``, and ``Module.symvers`` next to them.

    Args:
        base: Folder of the image whose kernel they are for; the current one when not given.
    """
    base = base or image.ensure()
    target = image.CACHE / f"modules-{key(base)}"
    with _locked():
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="modules-build-") as folder:
                work = Path(folder) / "card"
                work.mkdir()
                _copy(work)
                _make(headers(base), work)
                _keep(work, target, NAMES)
    return target


def driver(name: str, version: str, base: Path | None = None, extra: str = "") -> Path:
    """One vendor driver that calls itself ``version``.

    Args:
        extra: C that is appended to the driver's source, for drivers with a defect.

    Returns:
        Path of ``<name>.ko``.
    """
    if name not in models.DRIVERS:
        raise BuildError(f"no driver {name!r}; there are {', '.join(models.DRIVERS)}")
    if not re.fullmatch(r"[0-9A-Za-z.+~_-]+", version):
        raise BuildError(f"driver version {version!r}: wanted letters, digits and . + ~ _ -")
    base = base or image.ensure()
    symbols = modules(base) / "Module.symvers"
    digest = hashlib.sha256(f"{key(base)} {name} {version} {extra}".encode()).hexdigest()[:16]
    target = image.CACHE / f"driver-{name}-{digest}"
    with _locked():
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="driver-build-") as folder:
                work = Path(folder) / "card"
                work.mkdir()
                _copy(work)
                source = work / f"drivers/{name}.c"
                source.write_text(f'#define DRV_VERSION "{version}"\n{source.read_text()}{extra}')
                rules = f"ccflags-y := -Werror -I$(src)\nobj-m := {name}.o\n{name}-y := drivers/{name}.o\n"
                (work / "Kbuild").write_text(rules)
                _make(headers(base), work, f"KBUILD_EXTRA_SYMBOLS={symbols}")
                _keep(work, target, (name,))
    return target / f"{name}.ko"


def _keep(work: Path, target: Path, names: tuple[str, ...]) -> None:
    kept = work / "kept"
    kept.mkdir()
    for name in names:
        _run(["strip", "--strip-debug", f"{name}.ko"], work)
        shutil.copy(work / f"{name}.ko", kept)
    shutil.copy(work / "Module.symvers", kept)
    kept.rename(target)


def check(folder: Path) -> None:
    """Do the modules say what the kernel needs to know of them?

    Raises:
        BuildError: For the first that does not.
    """
    for name in NAMES:
        text = subprocess.run(
            ["modinfo", str(folder / f"{name}.ko")], check=True, capture_output=True, text=True
        ).stdout
        fields = [line.partition(":")[::2] for line in text.splitlines()]
        if name in models.DRIVERS and not any(field == "alias" for field, _ in fields):
            raise BuildError(f"{name}: no alias; no model names it as its driver")
        if not any(field == "license" and value.strip() == "GPL" for field, value in fields):
            raise BuildError(f"{name}: licence is not GPL")


if __name__ == "__main__":
    try:
        built = modules()
        if "--check" in sys.argv[1:]:
            check(built)
        print(built)
    except (BuildError, image.ImageError, models.ModelError) as problem:
        sys.exit(f"build.py: {problem}")
