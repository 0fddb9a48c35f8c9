"""An apt repository in a folder, and signed checksums: what makes a download trustworthy.

The repository is a flat one (``deb [signed-by=...] file:/srv/vendor/apt ./``): Packages, Release, InRelease. The format
is that of the Debian wiki, DebianRepository/Format.
"""

from __future__ import annotations

import gzip
import hashlib
import subprocess
from pathlib import Path

from vendor.deb import DebError
from vendor.signing import Signer

RELEASE_DATE = "Tue, 14 Nov 2023 22:13:20 UTC"  # vendor.deb.SOURCE_DATE_EPOCH
CHECKSUMS = "SHA256SUMS"


def publish(folder: Path, packages: list[tuple[str, Path]], signer: Signer) -> None:
    """Write the index of ``packages`` (text of the control file, file in ``folder``), and sign it."""
    index = "\n".join(_entry(control, file) for control, file in packages)
    (folder / "Packages").write_text(index)
    (folder / "Packages.gz").write_bytes(gzip.compress(index.encode(), mtime=0))
    listed = [folder / name for name in ("Packages", "Packages.gz")]
    sums = "".join(f" {_sha256(path)} {path.stat().st_size} {path.name}\n" for path in listed)
    release = (
        f"Origin: Virtual bench\nLabel: Vendor drivers\nSuite: stable\nDate: {RELEASE_DATE}\nArchitectures: amd64\n"
        f"SHA256:\n{sums}"
    )
    (folder / "Release").write_text(release)
    signer.clear_sign(folder / "Release", folder / "InRelease")


def write_checksums(folder: Path, signer: Signer) -> None:
    """``SHA256SUMS`` of every file below ``folder``, as sha256sum(1) writes and checks it, and its signature."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(CHECKSUMS))
    sums = folder / CHECKSUMS
    sums.write_text("".join(f"{_sha256(path)}  {path.relative_to(folder)}\n" for path in files))
    signer.detach_sign(sums, folder / f"{CHECKSUMS}.asc")


def control_of(file: Path) -> str:
    """The text of a package's control file.

    Raises:
        DebError: When ``dpkg-deb`` cannot read it.
    """
    done = subprocess.run(["dpkg-deb", "--field", str(file)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise DebError(f"{file}: dpkg-deb failed with status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _entry(control: str, file: Path) -> str:
    fields = {"Filename": f"./{file.name}", "Size": str(file.stat().st_size), "SHA256": _sha256(file)}
    return control + "".join(f"{name}: {value}\n" for name, value in fields.items())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
