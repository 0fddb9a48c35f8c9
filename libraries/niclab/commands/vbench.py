"""The command ``vbench`` of an installed package: the virtual bench's own program, with this Python."""

from __future__ import annotations

import os
import sys

from niclab.files.repository import REPOSITORY


def main() -> None:
    """Become ``lab/virtual/vbench``, with the same arguments."""
    program = str(REPOSITORY / "lab" / "virtual" / "vbench")
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])
