"""The virtual bench is not a package: its folder goes on the path here. Parts of it that many modules of tests ask."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[2] / "lab" / "virtual")]

from bmc_bench import RunningBmc  # noqa: E402 - found by the path set above
from switch_bench import SwitchBench, switch_bench  # noqa: E402


@pytest.fixture(scope="module")
def running_bmc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBmc]:
    with RunningBmc(tmp_path_factory.mktemp("bmc")) as running:
        yield running


@pytest.fixture
def bmc(running_bmc: RunningBmc) -> RunningBmc:
    """A BMC as it is after the start of its server."""
    running_bmc.reset()
    return running_bmc


@pytest.fixture(scope="module")
def running_switch() -> Iterator[SwitchBench]:
    with switch_bench() as running:
        yield running
