"""The bench that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_bench import RealBench

import image


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.bench)


@pytest.fixture(scope="module")
def bench() -> Iterator[RealBench]:
    """The bench ``vt``, fresh; removed afterwards."""
    if missing := image.missing_tools():
        pytest.skip(f"this host lacks {', '.join(missing)}")
    bench = RealBench("vt")
    image.ensure()  # outside of any measured time
    try:
        bench.must("up", "--fresh")
        yield bench
    finally:
        bench.must("down", "--now", "--purge")
    assert not bench.layout.folder.exists()
    assert bench.pids() == {}


@pytest.fixture
def at(bench: RealBench) -> Iterator[RealBench]:
    """The bench, up; what a failed test left broken is mended before the next one."""
    if bench.vbench("status", "--quiet").returncode != 0:
        bench.must("up")
    yield bench
    if "cables" in bench.pids():
        for cable in bench.layout.cables:
            bench.must("cable", "plug", cable)
