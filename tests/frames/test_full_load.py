"""Full load: what a link that flapped excuses, and what it does not."""

from __future__ import annotations

import pytest

from niclab.core.verdict import Blamed, CardFailure, Charge, Trouble, Undecided
from niclab.frames.load import full_load

LOST = Trouble("dut.p0 lost 9 frames", of_card=True)
FLAPS = Charge("dut.p0 counted 2 changes of carrier", None, "the cable or either port")


def test_frames_that_a_flap_may_have_cost_are_undecided() -> None:
    with pytest.raises(
        Undecided, match=r"^dut\.p0 counted 2 .* either port\npeer\.p1 lost some\ndut\.p0 lost 9 frames$"
    ):
        full_load._blame([], [FLAPS], [LOST], ["peer.p1 lost some"])


@pytest.mark.parametrize(
    ("troubles", "flaps", "losses"),
    [
        ([Trouble("dut.p1 counts backwards", of_card=True)], [FLAPS], [LOST]),
        ([], [FLAPS, Charge("dut.p1 counted 2 changes of carrier", Blamed.CARD)], [LOST]),
        ([], [], [LOST]),
    ],
    ids=["counters", "flaps-alone", "no-flap"],
)
def test_the_card_is_charged_with_what_no_flap_explains(
    troubles: list[Trouble], flaps: list[Charge], losses: list[Trouble]
) -> None:
    with pytest.raises(CardFailure):
        full_load._blame(troubles, flaps, losses, [])


def test_nothing_ends_a_load_without_troubles() -> None:
    full_load._blame([], [], [], ["nobody knows where a frame was lost"])
