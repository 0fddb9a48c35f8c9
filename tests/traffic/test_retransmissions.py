"""Retransmissions against the limit: what a look may close, and what runs made after it say."""

from __future__ import annotations

import pytest

from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.stats.questions import at_most
from niclab.traffic.limits.limit import BUDGETS
from niclab.traffic.runs import retransmissions

SEGMENTS = 8_000.0
"""A run has so many: eight have too few for one in 5000, twelve have enough."""
LIMIT = at_most(0.02, "sheet")
PLAN = BUDGETS[Profile.QUICK].plan(1e-6)


@pytest.mark.parametrize("burst", [1, 40, 400])
def test_runs_that_a_look_needed_are_in_its_answer(burst: int) -> None:
    """At eight runs nothing is decided: what the next ones send again counts before it may be met."""
    quiet = [(0, SEGMENTS)] * 8
    assert retransmissions.judge(quiet, LIMIT, PLAN).decision is Decision.UNDECIDED
    found = retransmissions.judge([*quiet, *[(burst, SEGMENTS)] * 6], LIMIT, PLAN)
    assert found.n > 8 and found.decision is not Decision.MET


def test_quiet_runs_are_met_as_soon_as_they_are_enough() -> None:
    found = [retransmissions.judge([(0, SEGMENTS)] * count, LIMIT, PLAN) for count in range(8, 21)]
    assert found[0].decision is Decision.UNDECIDED
    assert found[-1].decision is Decision.MET
    first = next(each for each in found if each.decision is Decision.MET)
    assert {each.n for each in found if each.decision is Decision.MET} == {first.n}
