"""Builds the virtual cards' kernel modules for the kernel of the bench's image; everything is cached by content.

``modules()`` returns a folder with all modules as a distribution would ship them (no version of their own);
``driver()`` returns one vendor driver with a version of its own, for packages. See :mod:`kbuild` for what it needs.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import kbuild  # noqa: E402 - the lines above make them importable

import image  # noqa: E402
import models  # noqa: E402

MODELS = HERE.parent / "models"
SOURCES = ("Kbuild", "kernels.h", "mailbox.h", "vcard.h", "silicon", "net", "drivers", "models.py")
NAMES = ("vcard", "vnet", *models.DRIVERS)
SYMBOLS = "vnet.symvers"
"""Copy of the symbols that the silicon's modules export, next to a driver that is built alone."""


def key(base: Path) -> str:
    """Hash of everything the modules depend on (16 hex digits): sources, models, kernel."""
    recipe = b"".join(Path(module).read_bytes() for module in (__file__, kbuild.__file__))
    digest = hashlib.sha256(repr(kbuild.kernel_of(base)).encode() + recipe)
    files = [path for name in SOURCES for path in sorted([HERE / name, *(HERE / name).rglob("*")]) if path.is_file()]
    for file in [*files, *sorted(MODELS.glob("*.yaml"))]:
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def _copy(work: Path) -> None:
    for name in SOURCES:
        source = HERE / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, work / name)
    models.write(MODELS, work / "gen")


def modules(base: Path | None = None) -> Path:
    """All modules, stripped of debugging: ``<folder>/<name>.ko``, and ``Module.symvers`` next to them.

    Args:
        base: Folder of the image whose kernel they are for; the current one when not given.
    """
    base = base or image.ensure()
    target = image.CACHE / f"modules-{key(base)}"
    with image.locked("modules"):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="modules-build-") as folder:
                work = Path(folder) / "card"
                work.mkdir()
                _copy(work)
                kbuild.make(kbuild.kernel_of(base), work)
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
        raise kbuild.BuildError(f"no driver {name!r}; there are {', '.join(models.DRIVERS)}")
    if not re.fullmatch(r"[0-9A-Za-z.+~_-]+", version):
        raise kbuild.BuildError(f"driver version {version!r}; expected letters, digits and . + ~ _ -")
    base = base or image.ensure()
    symbols = modules(base) / "Module.symvers"
    digest = hashlib.sha256(f"{key(base)} {name} {version} {extra}".encode()).hexdigest()[:16]
    target = image.CACHE / f"driver-{name}-{digest}"
    with image.locked("modules"):
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=image.CACHE, prefix="driver-build-") as folder:
                work = Path(folder) / "card"
                work.mkdir()
                _copy(work)
                source = work / f"drivers/{name}.c"
                source.write_text(f'#define DRV_VERSION "{version}"\n{source.read_text()}{extra}')
                rules = f"ccflags-y := -Werror -I$(src)\nobj-m := {name}.o\n{name}-y := drivers/{name}.o\n"
                (work / "Kbuild").write_text(rules)
                shutil.copy(symbols, work / SYMBOLS)
                kbuild.make(kbuild.kernel_of(base), work, f"KBUILD_EXTRA_SYMBOLS=$(M)/{SYMBOLS}")
                _keep(work, target, (name,))
    return target / f"{name}.ko"


def _keep(work: Path, target: Path, names: tuple[str, ...]) -> None:
    kept = work / "kept"
    kept.mkdir()
    for name in names:
        kbuild.run(["strip", "--strip-debug", f"{name}.ko"], work)
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
            raise kbuild.BuildError(f"{name}: no alias; no model names it as its driver")
        if not any(field == "license" and value.strip() == "GPL" for field, value in fields):
            raise kbuild.BuildError(f"{name}: licence is not GPL")


if __name__ == "__main__":
    try:
        built = modules()
        if "--check" in sys.argv[1:]:
            check(built)
        print(built)
    except (kbuild.BuildError, image.ImageError, models.ModelError) as problem:
        sys.exit(f"build.py: {problem}")
