"""Round trips in two network namespaces: a frame that waits for the next one is seen, and at which server it was."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces

from niclab.bench.records import OperatingSystem, Role
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames.blame.frame_findings import Culprit
from niclab.frames.blame.loop import TriedPort
from niclab.frames.latency import ping_pong, stalls
from niclab.frames.latency.ping_pong import PingPong, Trips
from niclab.frames.latency.round_trip_times import LateAt, LateTrip, RoundTrips
from niclab.frames.server_agent import STEP_WITHIN_S


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_pong, "LATE_S", 0.15)
    monkeypatch.setattr(stalls, "SECONDS", dict.fromkeys(Profile, 1.0))


def test_every_datagram_is_answered(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_pong, "LATE_S", 2.0)
    for each in clean.run.part(PingPong).exchange(clean.run.bench.paths, 0.5):
        assert each.found.count > 10 and each.found.lost == 0 and not each.found.late
        middle, most = each.found.percentile(50), each.found.percentile(100)
        assert middle is not None and most is not None and 0 < middle <= most < 2_000_000


@pytest.mark.parametrize(("sender", "at"), [(0, LateAt.ANSWERER), (1, LateAt.ASKER)])
def test_a_frame_that_waits_for_the_next_one_is_late_and_not_lost(clean: Namespaces, sender: int, at: LateAt) -> None:
    """The relay holds one of every ten frames until the next one comes: as a card whose interrupt is lost."""
    clean.spoil(f"swap from-{sender}")
    (found,) = clean.run.part(PingPong).exchange(clean.run.bench.paths[1:], 2)
    assert found.found.lost == 0 and {each.at for each in found.found.late} == {at}
    assert all(each.seconds >= 0.15 for each in found.found.late)


def test_a_frame_that_never_comes_is_lost_and_no_stall(clean: Namespaces) -> None:
    clean.spoil("drop")
    (found,) = clean.run.part(PingPong).exchange(clean.run.bench.paths[1:], 2)
    assert found.found.lost > 0 and not found.found.late


def test_it_needs_linux(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clean.servers[Role.PEER].description, "os", OperatingSystem.FREEBSD)
    with pytest.raises(NotApplicable, match="peer runs freebsd: the ping-pong program"):
        PingPong(clean.run).exchange(clean.run.bench.paths, 0.1)


class Watch:
    """Both servers, which stand still as often as a test says."""

    def __init__(self, stood: Sequence[Sequence[str]]) -> None:
        self._stood = [*stood]

    def told(self) -> None: ...

    def between(self, _: None, __: None) -> Sequence[str]:
        return self._stood.pop(0) if self._stood else ()


GOOD = RoundTrips(tuple(map(float, range(1, 101))), (), 0)


LOSSY = RoundTrips(GOOD.trips_us, (), 1)


def _late(at: LateAt) -> RoundTrips:
    return RoundTrips(GOOD.trips_us, (LateTrip(0.7, at),), 0)


@pytest.fixture
def judged(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the verdict on idle exchanges, made one after the other, and where a server stood still.

    Frames with known content all arrive, unless a test says otherwise.
    """
    monkeypatch.setattr(stalls.delivery, "once_in_order", lambda *_: None)

    @contextmanager
    def steady(*_: object) -> Iterator[None]:
        yield

    def judge(
        idle: Sequence[RoundTrips],
        loaded: RoundTrips | None = GOOD,
        stood: Sequence[Sequence[str]] = (),
        culprit: Culprit = Culprit.CARD,
    ) -> list[str]:
        exchanges, said, path = [*idle, *([loaded] if loaded else [])], list[str](), clean.run.bench.paths[0]
        agents = SimpleNamespace(exchange=lambda *_: [Trips(path, exchanges.pop(0))])
        monkeypatch.setattr(stalls.tcp, "steady", steady)
        monkeypatch.setattr(stalls.standstill, "watch", lambda *_: Watch(stood))
        monkeypatch.setitem(clean.run.parts, PingPong, agents)  # type: ignore[attr-defined]
        tried = {clean.run.bench.end(path, Role.PEER): TriedPort(culprit, "the trial's words")}
        monkeypatch.setattr(stalls.late_trial, "tried", lambda *_: tried)
        stalls.require_none(clean.run, Profile.FULL if loaded else Profile.QUICK, said.append)
        assert not exchanges
        return said

    return judge


def test_times_alone_are_recorded_and_not_judged(judged: Any) -> None:
    said = judged([GOOD], RoundTrips((9e5,), (LateTrip(3.0, LateAt.ASKER),), 5))
    percentiles = "p50 50 us, p90 90 us, p99 99 us, p99.9 100 us, longest 100 us of 100"
    assert said[0] == f"path p0, idle: {percentiles}; 0 late, 0 without an answer"
    assert said[1].startswith("path p0, loaded: ")


def test_a_quick_test_asks_without_load_alone(judged: Any) -> None:
    (said,) = judged([GOOD], loaded=None)
    assert said.startswith("path p0, idle: ")


def test_an_answer_that_lay_in_the_dut_is_the_cards(judged: Any) -> None:
    with pytest.raises(CardFailure, match=r"dut.* had answers that its program got late: 1 of 101 .* up to 0\.70 s"):
        judged([_late(LateAt.ASKER)])


@pytest.mark.parametrize(
    ("culprit", "verdict", "says"),
    [
        (Culprit.PEER, BenchFault, r"^peer.* sends late without the card: the trial's words\ndut.* program got late"),
        (Culprit.TOOL, Undecided, r"^dut.* got late.*\nnobody knows whether peer.* sent them late: the trial's words"),
    ],
)
def test_it_is_not_while_the_peer_may_have_sent_it_late(
    judged: Any, clean: Namespaces, culprit: Culprit, verdict: type[Exception], says: str
) -> None:
    with pytest.raises(verdict, match=says):
        judged([_late(LateAt.ASKER)], loaded=None, culprit=culprit)
    assert clean.run.notes.take_figures()[-1].outcome is Decision.UNDECIDED


@pytest.mark.parametrize("at", [LateAt.ANSWERER, LateAt.UNKNOWN])
def test_where_nobody_knows_in_which_server_it_lay_it_is_undecided(judged: Any, clean: Namespaces, at: LateAt) -> None:
    with pytest.raises(Undecided, match=f"path p0: late at {at.value}: 1 of 101"):
        judged([_late(at)], loaded=None)
    assert clean.run.notes.take_figures()[-1].outcome is Decision.UNDECIDED


@pytest.mark.parametrize(("stood", "outcome"), [((), Decision.MISSED), (("peer stood",), Decision.UNDECIDED)])
def test_the_figure_says_what_the_verdict_says(
    judged: Any, clean: Namespaces, stood: tuple[str, ...], outcome: Decision
) -> None:
    with pytest.raises(Undecided if stood else CardFailure):
        judged([_late(LateAt.ASKER)] * (2 if stood else 1), loaded=None, stood=[stood, stood])
    assert clean.run.notes.take_figures()[-1].outcome is outcome


@pytest.mark.parametrize("lost", [1, 7])
def test_frames_that_are_lost_where_nobody_knows_are_undecided(judged: Any, clean: Namespaces, lost: int) -> None:
    trips = GOOD.trips_us if lost == 1 else ()
    expected = f"^path p0: {lost} of {len(trips) + lost} without an answer; expected every one answered, none that"
    with pytest.raises(Undecided, match=expected):
        judged([RoundTrips(trips, (), lost)], loaded=None)
    *_, figure = clean.run.notes.take_figures()
    assert figure.outcome is Decision.UNDECIDED


def test_the_card_that_loses_frames_is_to_blame(judged: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def lossy(*_: object) -> None:
        raise CardFailure("dut.p0 lost 3 frames")

    monkeypatch.setattr(stalls.delivery, "once_in_order", lossy)
    judged([GOOD])
    with pytest.raises(CardFailure, match=r"dut\.p0 lost 3 frames"):
        judged([LOSSY])
    with pytest.raises(CardFailure, match="program got late"):
        judged([RoundTrips(GOOD.trips_us, _late(LateAt.ASKER).late, 1)])
    with pytest.raises(Undecided, match=r"1 of 101 without an answer.*\ndut stood"):
        judged([LOSSY] * 2, stood=[("dut stood",), ("dut stood",)])


@pytest.mark.parametrize(
    ("loses", "verdict", "says"),
    [
        (CardFailure("dut.p0 lost 3 frames"), CardFailure, "dut.p0 lost 3 frames"),
        (Undecided("nobody knows"), BenchFault, "sends late without the card"),
        (None, BenchFault, "sends late without the card"),
    ],
)
def test_a_late_peer_hides_no_card_that_loses_frames(
    judged: Any, monkeypatch: pytest.MonkeyPatch, loses: Exception | None, verdict: type[Exception], says: str
) -> None:
    def lossy(*_: object) -> None:
        if loses is not None:
            raise loses

    monkeypatch.setattr(stalls.delivery, "once_in_order", lossy)
    with pytest.raises(verdict, match=says):
        judged([RoundTrips(GOOD.trips_us, _late(LateAt.ASKER).late, 1)], culprit=Culprit.PEER)


@pytest.mark.parametrize("found", [_late(LateAt.ASKER), LOSSY])
def test_a_server_that_stood_still_is_asked_again(judged: Any, found: RoundTrips) -> None:
    assert "again, as dut stood" in judged([found, GOOD], stood=[("dut stood",)])[0]


@pytest.mark.parametrize("found", [_late(LateAt.ASKER), LOSSY])
def test_a_server_that_stands_still_again_is_undecided(judged: Any, found: RoundTrips) -> None:
    with pytest.raises(Undecided, match="dut stood"):
        judged([found] * 2, stood=[("dut stood",), ("dut stood",)])


def test_a_step_ends_before_it_is_given_up() -> None:
    assert max(stalls.SECONDS.values()) < STEP_WITHIN_S - 10
