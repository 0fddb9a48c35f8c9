"""The command ``vbench`` of an installed package: the virtual bench's own program, with this Python."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Become ``lab/virtual/vbench``, with the same arguments."""
    program = str(Path(__file__).resolve().parent / "virtual" / "vbench")
    os.execv(sys.executable, [sys.executable, program, *sys.argv[1:]])
