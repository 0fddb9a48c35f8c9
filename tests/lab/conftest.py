"""The fixtures of a toy bench."""

from bench_fixtures import bench, bench_folder, patched, switch, taken

__all__ = ["bench", "bench_folder", "patched", "switch", "taken"]
