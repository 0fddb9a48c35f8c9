"""The fixtures of a toy bench."""

from bench_fixtures import bench, bench_folder, patched, switch, taken
from sshd_fixtures import make_sshd

__all__ = ["bench", "bench_folder", "make_sshd", "patched", "switch", "taken"]
