"""Reading a bench file."""

from __future__ import annotations

from pathlib import Path

from niclab.bench.bench_checks import bench_problems
from niclab.bench.records import Bench
from niclab.files.yaml import load


def load_bench(path: Path | str) -> Bench:
    """Read a bench file.

    Args:
        path: The file.

    Raises:
        BenchFault: With every problem of the file, one a line.
    """
    return load(Path(path), Bench, bench_problems)
