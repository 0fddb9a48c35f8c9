"""The search for a zero-loss rate, with cards that lose frames above a rate, now and then, or always."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from niclab.frames.zero_loss import zero_loss_search
from niclab.frames.zero_loss.zero_loss_search import (
    LONG_S,
    LOWEST_MOST_PER_S,
    PARTS,
    PROOFS,
    SHORT_S,
    STEP,
    LossTrial,
    search,
)

LINE = 80_000.0
SENDER = 10_000.0
LOWEST = min(SENDER / PARTS, LOWEST_MOST_PER_S)


class Card:
    """Loses of ``frames`` at a rate what ``loses`` says; the sender cannot send more than ``most``."""

    def __init__(self, loses: Callable[[float, int], int], most: float = SENDER) -> None:
        self.loses, self.most, self.made = loses, most, list[tuple[float, float]]()

    def trial(self, per_s: float, seconds: float) -> LossTrial:
        self.made.append((per_s, seconds))
        per_s = min(per_s, self.most)
        frames = round(per_s * seconds)
        return LossTrial(per_s, frames, self.loses(per_s, frames))


def test_what_the_sender_sends_without_loss_is_proven_several_times() -> None:
    card = Card(lambda *_: 0)
    found = search(card.trial, LINE)
    assert card.made == [(LINE, SHORT_S)] + PROOFS * [(SENDER, LONG_S)]
    assert (found.per_s, found.frames, found.lossy) == (SENDER, PROOFS * 100_000, None)
    assert str(found) == (
        "10000 frames/s, none of 300000 lost in 3 trials, so that fewer than 1 in 100000 are lost (95 %, 3/N); "
        "the sender sends no more"
    )


def test_the_highest_rate_without_loss_is_found() -> None:
    card = Card(lambda per_s, _: 5 * (per_s > 4321))
    found = search(card.trial, LINE)
    assert 4321 / STEP < found.per_s <= 4321 and found.lossy is not None
    assert 4321 < found.lossy.per_s <= STEP * found.per_s
    assert f"{found.lossy.per_s:.0f} frames/s lose 5 of {found.lossy.sent}" in str(found)
    assert len(card.made) < 12


def test_a_rate_whose_proof_fails_is_given_up_for_a_lower_one() -> None:
    """A frame in twenty seconds at more than 3000 a second: short trials see none."""
    card = Card(lambda per_s, frames: int(per_s > 3000 and frames > 40_000))
    found = search(card.trial, LINE)
    assert 3000 / zero_loss_search.LOWER <= found.per_s <= 3000
    assert found.lossy is not None and found.lossy.per_s > 3000
    assert len(found.trials) == PROOFS and not any(each.lost for each in found.trials)


def test_one_lost_frame_in_the_last_proof_is_enough() -> None:
    lost = iter([0, 0, 0, 1] + 100 * [0])
    found = search(Card(lambda *_: next(lost)).trial, LINE)
    assert found.per_s == SENDER / zero_loss_search.LOWER and found.frames == PROOFS * 50_000


def test_a_card_that_loses_frames_at_each_rate_has_none() -> None:
    card = Card(lambda _, frames: math.ceil(frames / 1000))
    found = search(card.trial, LINE)
    assert found.trials == () and found.lowest_per_s == LOWEST
    assert found.lossy is not None and found.lossy.per_s < STEP * LOWEST
    assert len(card.made) < 10


@pytest.mark.parametrize("seconds", [SHORT_S, LONG_S])
def test_nothing_is_tried_below_the_lowest_rate(seconds: float) -> None:
    card = Card(lambda per_s, frames: int(frames >= per_s * seconds))
    search(card.trial, LINE)
    assert min(per_s for per_s, _ in card.made) >= LOWEST


def test_a_standstill_that_nobody_sees_overfills_no_ring_at_the_lowest_rate() -> None:
    """256 descriptors, the least of all defaults, last for a standstill of 0.15 s."""
    found = search(Card(lambda *_: 1, most=1e6).trial, 1e6)
    assert found.trials == () and 0.15 * found.lowest_per_s < 256
