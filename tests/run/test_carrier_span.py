"""Changes of a carrier that a touch explains, those that it does not, and the time that a port is watched."""

from __future__ import annotations

import pytest

from niclab.hosts.kernel.link_lines import LinkNews
from niclab.run.watching.carrier_span import Rest, Span
from niclab.run.watching.link_touches import Touch

REST = Rest(kept_s=3, back_s=5, lost_s=10)
DOWN, UP = False, True


def span(
    *news: tuple[float, bool], touches: tuple[tuple[float, float], ...] = ((10, 11),), was_up: bool = True
) -> Span:
    made = [LinkNews(at_s, up) for at_s, up in news]
    return Span(0, 100, was_up, [Touch(*each) for each in touches], made)


EXPLAINED = {
    "at once": [(10.5, DOWN), (13, UP)],
    "at the end of what a loss may take": [(14, DOWN), (15.9, UP)],
    "a loss of which the driver says nothing": [(13.5, UP)],
    "and such a return later than that": [(20, UP)],
    "a link that trains again": [(11, DOWN), (13, UP), (15.5, DOWN), (18.4, UP)],
    "after a return that nobody saw going": [(15.5, UP), (17, DOWN), (19, UP)],
}
UNEXPECTED = {
    "before it": [(9, DOWN), (9.5, UP)],
    "when the loss comes too late": [(14.5, DOWN), (14.8, UP)],
    "when the link was at rest again": [(11, DOWN), (13, UP), (17, DOWN), (17.2, UP)],
    "long after it": [(60, DOWN), (60.2, UP)],
    "long after it, where the driver says nothing of a loss": [(60, UP)],
}


@pytest.mark.parametrize("news", EXPLAINED.values(), ids=EXPLAINED)
def test_a_touch_explains_changes(news: list[tuple[float, bool]]) -> None:
    assert span(*news).unexpected(REST) == []


@pytest.mark.parametrize("news", UNEXPECTED.values(), ids=UNEXPECTED)
def test_nothing_explains_changes(news: list[tuple[float, bool]]) -> None:
    assert [(each.at_s, each.up) for each in span(*news).unexpected(REST)] == news[-2:]


def test_a_link_that_comes_late_is_no_flap() -> None:
    assert span((60, UP), was_up=False).unexpected(REST) == []


def test_a_link_that_flaps_without_end_after_a_touch_is_seen_when_it_should_be_at_rest() -> None:
    news = [(11 + count / 2, bool(count % 2)) for count in range(60)]
    assert {each.at_s for each in span(*news).unexpected(REST)} == {each for each, _ in news if each > 21.5}


@pytest.mark.parametrize(
    ("news", "touches", "watched_s"),
    [
        ((), (), 100),
        ((), ((10, 11),), 96),
        ((), ((10, 11), (12, 30), (11, 13)), 77),
        ((), ((-20, -4), (99, 140)), 99),
        (((-3, DOWN),), ((-5, -4),), 99),
        (((10.5, DOWN), (11.5, UP)), ((10, 11),), 94),
        (((10.5, DOWN), (15.5, UP)), ((10, 11),), 91.5),
        ((), ((-50, 200),), 0),
    ],
)
def test_the_rest_of_the_time_is_watched(
    news: tuple[tuple[float, bool], ...], touches: tuple[tuple[float, float], ...], watched_s: float
) -> None:
    assert span(*news, touches=touches).watched_s(REST) == pytest.approx(watched_s)
