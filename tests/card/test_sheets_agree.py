"""The demands of a sheet in one place do not contradict those in another."""

from __future__ import annotations

import pytest

from niclab.card import Figure, Setting, SettingKind, load_card
from niclab.card.sheet import Card
from niclab.files.repository import REPOSITORY

MOST = {1500: 1448 / 1538, 9000: 8948 / 9038}
"""Payload of TCP as a part of line rate, by MTU (IEEE 802.3-2018, 4A.4.2, with headers of 52 bytes)."""
JUMBO = Setting(kind=SettingKind.MTU, to=9000)
SHEETS = [load_card(file) for file in sorted((REPOSITORY / "lab/cards").glob("*.yaml"))]


def gains_of_jumbo_frames(card: Card) -> tuple[float, float]:
    """The least and the most that jumbo frames may gain where both limits are met."""
    plain, jumbo = card.limits.tcp_fraction_of_line_rate, card.limits.jumbo_tcp_fraction_of_line_rate
    assert isinstance(plain, float) and isinstance(jumbo, float)
    return jumbo / MOST[1500], MOST[9000] / plain


@pytest.mark.parametrize("card", SHEETS, ids=lambda card: card.name)
def test_a_card_that_meets_both_limits_has_the_effect_of_jumbo_frames(card: Card) -> None:
    for effect in card.effects:
        if effect.change == (JUMBO,) and not effect.against and effect.figure is Figure.MBPS:
            assert all(effect.wanted.allows(gain) for gain in gains_of_jumbo_frames(card)), effect.wanted


@pytest.mark.parametrize("card", SHEETS, ids=lambda card: card.name)
def test_what_may_gain_little_may_not_lose_everything(card: Card) -> None:
    steps = card.sequence.steps if card.sequence is not None else ()
    for wanted in (each.wanted for each in (*card.effects, *steps)):
        assert wanted.gains_at_most_percent is None or wanted.loses_at_most_percent is not None, wanted


@pytest.mark.parametrize("card", SHEETS, ids=lambda card: card.name)
def test_traffic_that_may_lose_without_an_offload_may_not_gain_without_it(card: Card) -> None:
    for effect in card.effects:
        if SettingKind.OFFLOAD in {each.kind for each in effect.change} and effect.figure is Figure.MBPS:
            bounds = (effect.wanted.loses_at_most_percent, effect.wanted.gains_at_most_percent)
            assert bounds.count(None) != 1, effect.name


@pytest.mark.parametrize("card", SHEETS, ids=lambda card: card.name)
def test_a_card_that_meets_both_limits_takes_the_step_from_jumbo_frames(card: Card) -> None:
    steps = card.sequence.steps if card.sequence is not None else ()
    for step in steps:
        if step.name == "default":
            assert all(step.wanted.allows(1 / gain) for gain in gains_of_jumbo_frames(card)), step.wanted
