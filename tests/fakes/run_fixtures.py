"""Real runs of small suites, shared by the tests."""

from __future__ import annotations

import pytest
from robot_runs import HERE, RobotRun, make_run, run_robot


@pytest.fixture(scope="session")
def verdict_run(tmp_path_factory: pytest.TempPathFactory) -> RobotRun:
    """The run of all suites in ``suites/``: every verdict, every kind of fixture failure. Do not change it."""
    return run_robot(tmp_path_factory.mktemp("verdicts"), HERE / "suites")


@pytest.fixture(scope="session")
def good_run(tmp_path_factory: pytest.TempPathFactory) -> RobotRun:
    """A run that deserves its certificate. Do not change it: copy it."""
    return make_run(tmp_path_factory.mktemp("results"))
