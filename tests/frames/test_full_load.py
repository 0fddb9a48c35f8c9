"""Full load: what a link that flapped excuses, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from loads import looks

from niclab.bench.records import Port, Role
from niclab.core.verdict import Blamed, CardFailure, Charge, Trouble, Undecided
from niclab.frames.load import full_load
from niclab.frames.load.full_load import CarriedLoad
from niclab.frames.load.load_rates import WantedLoad
from niclab.run.run_notes import RunNotes
from niclab.stats.run_plan import SamplingPlan

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


DUT, PEER = (Port(role, "p0", "0000:01:00.0", "52:54:00:00:00:01", None) for role in (Role.DUT, Role.PEER))
PLAN = SamplingPlan(first_look=6, met_from=6, most=12, step=3, warm_up_runs=0)
WANTED = WantedLoad(mbps=6000.0, line_mbps=10000.0, source="sheet", plan=PLAN)
HALF = [4700.0, 4600.0, 4800.0, 4700.0, 4650.0, 4750.0, 4700.0, 4600.0, 4800.0, 4700.0, 4650.0]
FULL = [9000.0, 9100.0, 8900.0, 9050.0, 8950.0, 9000.0, 9000.0, 9100.0, 8900.0, 9050.0, 8950.0]
STOOD = ["dut stood still for 900 ms"]


def judge(tmp_path: Path, mbps: list[float], stood: list[str], ended: Exception | None = None, **gained: int) -> None:
    carried = CarriedLoad({DUT: looks(mbps, **gained), PEER: looks(mbps)}, [], [], stood, ended)
    full_load.judge(RunNotes(tmp_path), carried, WANTED, ())


def test_a_stall_that_is_nobodys_hides_no_missed_rate(tmp_path: Path) -> None:
    with pytest.raises(CardFailure, match=r"dut\.p0 receives under full load: .*missed"):
        judge(tmp_path, [*HALF, 3.0], STOOD)


@pytest.mark.parametrize("stalled", [[3.0], [3.0] * 5])
def test_a_standstill_explains_its_stalls_and_no_rate_that_the_others_miss(
    tmp_path: Path, stalled: list[float]
) -> None:
    with pytest.raises(Undecided, match="dut stood still for 900 ms"):
        judge(tmp_path, [*FULL[: 12 - len(stalled)], *stalled], STOOD)


def test_a_failure_that_a_waiver_may_cover_hides_no_missed_rate(tmp_path: Path) -> None:
    with pytest.raises(CardFailure, match=r"tx_errors(.*\n)*dut\.p0 receives under full load: .*missed"):
        judge(tmp_path, HALF, [], tx_errors=1)
    with pytest.raises(CardFailure, match=r"doubled(.*\n)*dut\.p0 receives under full load: .*missed"):
        judge(tmp_path, HALF, [], CardFailure("dut.p0 doubled a frame"))
