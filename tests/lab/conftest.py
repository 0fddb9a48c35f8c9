"""The fixtures of a toy bench."""

from bench_fixtures import bench, bench_folder, taken

__all__ = ["bench", "bench_folder", "taken"]
