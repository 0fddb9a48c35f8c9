"""Debian packages, made with ``dpkg-deb``. The same content makes the same bytes."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

SOURCE_DATE_EPOCH = "1700000000"
MAINTAINER = "Virtual bench <bench@localhost>"


class DebError(Exception):
    """A package cannot be made."""


@dataclass(frozen=True)
class Deb:
    """One binary package.

    Attributes:
        files: Path from the root, without the leading slash -> content.
        scripts: Maintainer script (``postinst``, ``prerm``...) -> its text.
    """

    package: str
    version: str
    architecture: str
    description: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """As Debian names it; the epoch of a version is not part of it."""
        return f"{self.package}_{self.version.rpartition(':')[2]}_{self.architecture}.deb"

    @property
    def control(self) -> str:
        """The text of its control file."""
        size_kib = -(-sum(len(content) for content in self.files.values()) // 1024)
        fields = {
            "Package": self.package,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": MAINTAINER,
            "Installed-Size": str(size_kib),
            "Section": "kernel",
            "Priority": "optional",
            **self.relations,
            "Description": self.description,
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items())


def build(deb: Deb, folder: Path) -> Path:
    """Write the package into ``folder``; return its file.

    Raises:
        DebError: When ``dpkg-deb`` refuses.
    """
    with tempfile.TemporaryDirectory() as work:
        tree = Path(work) / "tree"
        for name, content in deb.files.items():
            path = tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        control = tree / "DEBIAN"
        control.mkdir(parents=True)
        (control / "control").write_text(deb.control)
        for name, text in deb.scripts.items():
            (control / name).write_text(text)
            (control / name).chmod(0o755)
        for path in tree.rglob("*"):
            if path.is_dir():
                path.chmod(0o755)
        target = folder / deb.file_name
        command = ["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", str(tree), str(target)]
        environment = {**os.environ, "SOURCE_DATE_EPOCH": SOURCE_DATE_EPOCH}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise DebError(f"{deb.file_name}: dpkg-deb failed with status {done.returncode}: {done.stderr.strip()}")
    return target
