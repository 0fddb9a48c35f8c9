"""A server whose programs are scripts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from programs import program


class ScriptedDut:
    """Runs commands by a real shell, which finds the scripts in ``bin`` first. ``said``: their calls, a line each."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.said = folder, folder / "said"
        (folder / "bin").mkdir()

    def program(self, name: str, does: str) -> None:
        """Make a script that notes its call and does something."""
        program(self.folder / "bin" / name, f'#!/bin/sh\necho "{name} $*" >> {self.said}\n{does}\n')

    def run(self, command: str) -> int:
        """Run a command, and return its exit status."""
        path = f"{self.folder}/bin:{os.environ['PATH']}"
        return subprocess.run(["sh", "-c", command], env={"PATH": path}).returncode
