"""Silence while pause frames come: only times count in which it is certain, and no stream proves nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from niclab.frames.pauses.pause_judging import Heard, Heeding, silence
from niclab.hosts.errors import ReadError

PAUSE_S, LEAD_S = 0.4, 0.25
ASKED = [n * 0.05 for n in range(15)]
"""Until 0.7 s: silence is certain from 0.25 s to 0.967 s, and the pause ends at 1.1 s."""


def _every(begin: float, end: float, step: float = 0.002) -> list[float]:
    return [begin + n * step for n in range(round((end - begin) / step))]


def _heard(*came: list[float], asked: list[float] = ASKED, dropped: int = 0) -> Heard:
    return Heard(asked, [each for part in came for each in part], dropped)


BEFORE = _every(-0.3, 0.0)


@pytest.mark.parametrize(
    ("heard", "heeding"),
    [
        (_heard(BEFORE, _every(1.1, 1.3)), Heeding.STOPPED),
        (_heard(BEFORE, _every(0.0, 0.2), _every(1.15, 1.3)), Heeding.STOPPED),
        (_heard(BEFORE, [0.97], [1.2]), Heeding.STOPPED),
        (_heard(BEFORE), Heeding.GONE),
        (_heard(BEFORE, _every(0.0, 1.3)), Heeding.SENT_ON),
        (_heard(BEFORE, _every(0.5, 0.7), _every(1.1, 1.3)), Heeding.SENT_ON),
        (_heard(BEFORE, [0.5], _every(1.1, 1.3)), Heeding.UNCLEAR),
        (_heard([-0.1], _every(1.1, 1.3)), Heeding.UNPROVEN),
        (_heard(BEFORE, _every(1.1, 1.3), dropped=1), Heeding.UNPROVEN),
        (_heard(BEFORE, _every(1.1, 1.3), asked=[0.0]), Heeding.UNPROVEN),
        (_heard(BEFORE, asked=[]), Heeding.UNPROVEN),
    ],
)
def test_what_a_port_did(heard: Heard, heeding: Heeding) -> None:
    found = silence(heard, PAUSE_S, LEAD_S)
    assert found.heeding is heeding, found


def test_a_pause_that_the_peer_lets_end_begins_anew() -> None:
    """Between 0.5 s and 1 s nothing was asked: frames may come until 1.25 s."""
    asked = [*_every(0.0, 0.55, 0.05), *_every(1.0, 1.75, 0.05)]
    late = silence(_heard(BEFORE, _every(0.9, 1.25), [2.2], asked=asked), PAUSE_S, LEAD_S)
    assert late.heeding is Heeding.STOPPED and late.seconds == pytest.approx(0.5 + 0.267 - 0.25 + 0.717, abs=0.01)


def test_a_pause_of_which_nothing_is_certain_proves_nothing() -> None:
    found = silence(_heard(BEFORE, _every(1.1, 1.3), asked=_every(0.0, 0.7, 0.003)), 0.003, LEAD_S)
    assert found.heeding is Heeding.UNPROVEN and "0.00 s of silence without a gap" in str(found)


def test_frames_are_compared_with_the_rate_before() -> None:
    found = silence(_heard(BEFORE, _every(0.0, 1.3)), PAUSE_S, LEAD_S)
    assert found.expected == pytest.approx(358, abs=3) and found.came == pytest.approx(358, abs=3)
    assert str(found).startswith("359 frames in 0.72 s, 358 at its rate before, the next 0.00 s after the pause")


@pytest.mark.parametrize(
    "said", [{}, {"asked_us": ["x"], "came_us": [], "dropped": 0}, {"asked_us": [1], "came_us": 3, "dropped": 0}]
)
def test_other_words_are_refused(said: Mapping[str, Any]) -> None:
    with pytest.raises(ReadError, match="expected asked_us, came_us, dropped"):
        Heard.read(said, "peer: pause program: p0")
