"""The bench that the tests of this folder share with the controls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from real_bench import RealBench


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.bench)


@pytest.fixture(scope="session")
def modules() -> list[str]:
    """The modules of this folder that have used the bench."""
    return []


@pytest.fixture(scope="module")
def bench(shared_bench: RealBench, modules: list[str], request: pytest.FixtureRequest) -> RealBench:
    """The bench, with the card and the disks that it has at first: another module of this folder changes both."""
    if modules:
        shared_bench.must("down", "--now", "--purge")
        shared_bench.must("up", "--fresh")
    modules.append(request.node.name)
    return shared_bench


@pytest.fixture
def at(bench: RealBench) -> Iterator[RealBench]:
    """The bench, up; what a failed test left broken is mended before the next one."""
    if bench.vbench("status", "--quiet").returncode != 0:
        bench.must("up")
    yield bench
    if "cables" in bench.pids():
        for cable in bench.layout.cables:
            bench.must("cable", "plug", cable)
