"""The cases of property tests: ``make test`` always tries the same ones, ``make test-full`` new ones each time.

What a search finds is a defect whenever it is found; but whether a change may land must not hang on the dice.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from bench_fixtures import bench, bench_folder, patched, switch, taken
from file_fixtures import edited_bench, edited_card
from hypothesis import HealthCheck, settings
from real_bench import NAME, RealBench
from run_fixtures import good_run, verdict_run
from sshd_fixtures import make_sshd

import image
from niclab.core.wait import WAITS

__all__ = [
    "bench",
    "bench_folder",
    "edited_bench",
    "edited_card",
    "good_run",
    "make_sshd",
    "patched",
    "switch",
    "taken",
    "verdict_run",
]

NO_CLOCK = (HealthCheck.too_slow,)
"""Left out: how fast a test draws its examples says something of the machine, nothing of the code."""
settings.register_profile("same", deadline=None, derandomize=True, database=None, suppress_health_check=NO_CLOCK)
settings.register_profile("search", deadline=None, max_examples=1000, print_blob=True, suppress_health_check=NO_CLOCK)
settings.load_profile("same")


@pytest.fixture(scope="session")
def shared_bench() -> Iterator[RealBench]:
    """The virtual bench that the controls and the tests of the bench share: fresh at first, removed at the end."""
    if missing := image.missing_tools():
        pytest.skip(f"this host lacks {', '.join(missing)}")
    bench = RealBench(NAME)
    image.ensure()  # outside of any measured time
    try:
        bench.must("up", "--fresh")
        yield bench
    finally:
        bench.must("down", "--now", "--purge")
    assert not bench.layout.folder.exists()
    assert bench.pids() == {}


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    """A run that a test leaves open notes no waits of the tests after it."""
    yield
    WAITS.handlers.clear()
