"""The fixtures of a toy bench: ``niclab.settings`` is tested without Robot Framework."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "lab"), str(TESTS / "keywords")]

from bench_fixtures import bench, bench_folder, patched, switch, taken  # noqa: E402 - found by the path set above

__all__ = ["bench", "bench_folder", "patched", "switch", "taken"]
