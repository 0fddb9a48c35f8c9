"""The virtual bench is not a package: its folder goes on the path here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "lab" / "virtual")]
