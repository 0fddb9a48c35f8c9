"""Hardware clocks: each verdict, by what the program says of a clock that does one thing wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from namespaces import Namespaces

from HardwareClock import HardwareClock
from niclab.bench.records import DeclaredDeviation, Port, SiliconFact
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.frames.clocks import clock_checks
from niclab.frames.clocks.clock_agents import SENDING, ClockAgents
from niclab.frames.clocks.clock_records import PortClock, SetTime, StampedFrame, Switched, Watched
from niclab.run.run import Run

PLACE = r"dut\.p0 \(0000:01:00\.0\): "
MS, S = 10**6, 10**9
GRAIN = 1000
"""Nanoseconds between a reading and the server's own, on each side."""


@dataclass
class FakeClocks:
    """The programs, of ports whose clock goes right but for what a test says."""

    number: int = 2
    sends: int = 3
    passes: int = 1 << 12 | 3
    steers: tuple[str, ...] = ()
    most_ppb: int = 31_250_000
    scaled: int = 0
    back_ns: tuple[int, ...] = ()
    is_stuck: bool = False
    own_ppm: float = 0.0
    """By how much the clock is wrong."""
    peer_ppm: float = 0.0
    grain: int = GRAIN
    obeys: float = 1.0
    """The part of a rate that is done."""
    off_ns: int = 0
    """By how much a time that is set is wrong."""
    refuses: Switched = field(default_factory=Switched)
    grants: bool = True
    change: Callable[[int, dict[str, Any]], None] = lambda *_: None
    ppb: int = 0
    own_ns: int = 50 * S
    asked: list[object] = field(default_factory=list)

    def look(self, _port: Port) -> PortClock:
        return PortClock(
            number=self.number,
            sends=self.sends,
            passes=self.passes,
            stamping=(0, 0),
            most_ppb=self.most_ppb,
            steers=self.steers,
            scaled=self.scaled,
        )

    def watch(self, _port: Port, _clock: int, seconds: float) -> Watched:
        begin, self.own_ns = self.own_ns, self.own_ns + int(seconds * S)
        passed = 0 if self.is_stuck else (self.own_ns - begin) * (1 + self.own_ppm / 1e6 + self.obeys * self.ppb / 1e9)
        return Watched(
            first=(begin - self.grain, 7 * S, begin + self.grain),
            last=(self.own_ns - self.grain, 7 * S + int(passed), self.own_ns + self.grain),
            reads=1000,
            back_ns=self.back_ns,
            same=0,
        )

    def set_time(self, _port: Port, _clock: int, by_ns: int) -> SetTime:
        self.asked.append(by_ns)
        if self.refuses.refused:
            return SetTime(refused=self.refuses.refused, errno=self.refuses.errno)
        target = 9 * S + by_ns
        read = target + 20_000 + self.off_ns
        return SetTime(set=(S, target, S + 5000), read=(S + 20_000, read, S + 26_000))

    def tune(self, _port: Port, _clock: int, ppb: int) -> Switched:
        self.ppb = ppb
        self.asked.append(ppb)
        return self.refuses

    def stamp(self, _port: Port, sends: int, passes: int) -> Switched:
        self.asked.append((sends, passes))
        return Switched(
            granted=(sends, passes) if self.grants else (0, 0), **self.refuses.model_dump(exclude={"granted"})
        )

    def exchange(self, _port: Port, _clock: int, ways: int, count: int) -> tuple[StampedFrame, ...]:
        begin, self.own_ns = self.own_ns, self.own_ns + count * MS
        frames = []
        for number in range(count):
            at = begin + number * MS
            there = int((at + 100_000) * (1 + self.peer_ppm / 1e6))
            frame: dict[str, Any] = {
                "before": at,
                "after": at + 200_000,
                "begun": at,
                "ended": at + 200_000,
                "there": there,
                "received": 0 if ways == SENDING else at + 150_000,
                "sent": ((number, at + 50_000),) if ways == SENDING else (),
                "stood_ns": 0,
            }
            self.change(number, frame)
            frames.append(StampedFrame(**frame))
        return tuple(frames)


@pytest.fixture
def clocks(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> FakeClocks:
    made = FakeClocks()
    clean.run.parts[ClockAgents] = made  # type: ignore[assignment]
    monkeypatch.setattr(clean.run, "await_carrier", lambda *_, **__: [], raising=False)

    @contextmanager
    def put_back(_run: Run, _server: object, subject: str, _what: str, restoring: str, iface: str) -> Iterator[None]:
        assert restoring.startswith("python3 -c ") and iface == "p0" and subject == "dut.p0"
        yield
        made.asked.append("put back")

    monkeypatch.setattr(clock_checks, "put_back", put_back)
    monkeypatch.setattr(clean.run.bench, "paths", clean.run.bench.paths[:1])
    return made


def _runs(clean: Namespaces) -> list[str]:
    said = list[str]()
    clock_checks.runs(clean.run, Profile.QUICK, said.append)
    return said


def test_a_clock_that_is_right_is_green_and_its_rate_is_said(clean: Namespaces, clocks: FakeClocks) -> None:
    clocks.own_ppm = 150
    assert _runs(clean) == [
        "dut.p0: clock 2: 1000 readings, 0 as the one before, rate +148.0 to +152.0 ppm, set +0.0 ppm"
    ]


def test_a_rate_that_somebody_has_set_is_not_the_cards(clean: Namespaces, clocks: FakeClocks) -> None:
    clocks.scaled, clocks.own_ppm = -5000 * 65536, -5000
    assert _runs(clean)[0].endswith("set -5000.0 ppm")
    clocks.own_ppm = 0
    with pytest.raises(CardFailure, match=r"its clock goes \+4998"):
        _runs(clean)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"back_ns": (5, 1000)}, "its clock was read 5 ns, 1000 ns earlier than just before; expected never"),
        ({"is_stuck": True}, "its clock shows 7000000000 ns for 1 s; expected it to go on"),
        ({"own_ppm": 700.0}, r"its clock goes \+698.* against the server's own; expected within 100 ppm"),
        ({"own_ppm": -700.0}, r"its clock goes -702.*; the peer's own clock agrees with the dut's"),
    ],
)
def test_a_clock_that_runs_wrong_fails_the_card(
    clean: Namespaces, clocks: FakeClocks, wrong: dict[str, Any], said: str
) -> None:
    vars(clocks).update(wrong)
    with pytest.raises(CardFailure, match=PLACE + said):
        _runs(clean)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"own_ppm": 250.0}, "the server's may be further off, or the measurement too coarse"),
        ({"own_ppm": -550.0}, "the server's may be further off"),
        ({"grain": 300_000}, "or the measurement too coarse"),
        ({"own_ppm": 900.0, "peer_ppm": 900.0}, r"the peer's own clock goes \+.* against the dut's"),
    ],
)
def test_a_rate_that_either_clock_may_have_is_undecided(
    clean: Namespaces, clocks: FakeClocks, wrong: dict[str, Any], said: str
) -> None:
    vars(clocks).update(wrong)
    with pytest.raises(Undecided, match=said):
        _runs(clean)


def test_a_peer_that_does_not_answer_decides_no_rate(clean: Namespaces, clocks: FakeClocks) -> None:
    clocks.own_ppm, clocks.change = 900, lambda _, frame: frame.update(there=0)
    with pytest.raises(Undecided, match="the peer's own clock goes unknown against the dut's"):
        _runs(clean)


def test_times_are_taken_and_the_clock_is_put_back(clean: Namespaces, clocks: FakeClocks) -> None:
    said = list[str]()
    for off_ns in (0, -19_000, 15_000):
        clocks.off_ns = off_ns
        clock_checks.takes_times(clean.run, said.append)
    assert clocks.asked[:3] == [1000 * S, -1000 * S, "put back"]
    assert said[0] == "dut.p0: set by 1000 s: 20000 ns later; expected 0 to 36000"


@pytest.mark.parametrize("off_ns", [-21_000, 17_000])
def test_another_time_than_was_set_fails_the_card(clean: Namespaces, clocks: FakeClocks, off_ns: int) -> None:
    clocks.off_ns = off_ns
    with pytest.raises(CardFailure, match=f"was set by 1000 s, and shows {20_000 + off_ns} ns more than it was set to"):
        clock_checks.takes_times(clean.run, str)


@pytest.mark.parametrize(
    ("errno", "verdict", "said"),
    [
        (95, NotApplicable, "its driver {}: no"),
        (16, BenchFault, "its clock is in use by a virtual one: no"),
        (22, CardFailure, "its clock refuses what its driver offers: no"),
    ],
)
def test_a_refusal_is_judged_by_its_reason(
    clean: Namespaces, clocks: FakeClocks, errno: int, verdict: type[Exception], said: str
) -> None:
    clocks.refuses = Switched(refused="no", errno=errno)
    with pytest.raises(verdict, match=said.format("sets no times")):
        clock_checks.takes_times(clean.run, str)
    with pytest.raises(verdict, match=said.format("changes no rate of the clock")):
        clock_checks.takes_rates(clean.run, Profile.QUICK, str)


def test_rates_are_taken_against_that_of_the_clock_itself(clean: Namespaces, clocks: FakeClocks) -> None:
    clocks.own_ppm, clocks.obeys = 5000, 0.97
    clock_checks.takes_rates(clean.run, Profile.QUICK, str)
    assert clocks.asked == [0, 10_000_000, -10_000_000, "put back"]
    clocks.most_ppb = 1_000_000
    clock_checks.takes_rates(clean.run, Profile.QUICK, str)
    assert clocks.asked[4:] == [0, 500_000, -500_000, "put back"]


@pytest.mark.parametrize(
    ("wrong", "verdict", "said"),
    [
        (
            {"obeys": 0.0},
            CardFailure,
            r"was set to \+10000 ppm, and changed by -8\.0 to \+8\.0 ppm; expected within 500",
        ),
        ({"obeys": -1.0}, CardFailure, r"was set to \+10000 ppm, and changed by -10008"),
        ({"obeys": 1.06}, CardFailure, "expected within 500 ppm of it"),
        ({"grain": 300_000}, Undecided, "too coarse to tell whether within 500 ppm of it"),
        ({"most_ppb": 1}, NotApplicable, r"its driver changes no rate of the clock \(max_adj 1\)"),
    ],
)
def test_a_rate_that_is_not_taken(
    clean: Namespaces, clocks: FakeClocks, wrong: dict[str, Any], verdict: type[Exception], said: str
) -> None:
    vars(clocks).update(wrong)
    with pytest.raises(verdict, match=said):
        clock_checks.takes_rates(clean.run, Profile.QUICK, str)


def _received(clean: Namespaces, say: Callable[[str], object] = str) -> None:
    clock_checks.stamps_received(clean.run, Profile.QUICK, say)


def _sent(clean: Namespaces, say: Callable[[str], object] = str) -> None:
    clock_checks.stamps_sent(clean.run, Profile.QUICK, say)


def test_stamps_that_are_right_are_green(clean: Namespaces, clocks: FakeClocks) -> None:
    said = list[str]()
    _received(clean, said.append)
    _sent(clean, said.append)
    assert clocks.asked == [(0, 1), "put back", (1, 0), "put back"]
    assert said == [
        f"dut.p0: 20 frames {way}: 0 with a wrong stamp or none, 0 in doubt" for way in ("received", "sent")
    ]


def _of_frame(wrong: int, **fields: object) -> Callable[[int, dict[str, Any]], None]:
    return lambda number, frame: frame.update(fields) if number == wrong else None


def _shifted(by_ns: int) -> Callable[[int, dict[str, Any]], None]:
    def change(number: int, frame: dict[str, Any]) -> None:
        if frame["sent"]:
            frame["sent"] = ((number, frame["sent"][0][1] + by_ns),)
        else:
            frame["received"] += by_ns

    return change


@pytest.mark.parametrize(
    ("check", "change", "said"),
    [
        (_received, _of_frame(3, received=0), "frame 3: none of 20 frames received"),
        (_received, _shifted(MS), "frame 0: 950000 ns after it had come; frame 1: .* and 17 more of 20"),
        (_received, _shifted(-MS), "frame 0: 850000 ns before it was asked for"),
        (_sent, _of_frame(3, sent=()), "frame 3: none of 20 frames sent"),
        (_sent, _of_frame(3, sent=((3, 0),)), "frame 3: none of 20 frames sent"),
        (_sent, _of_frame(3, sent=((4, 1),)), "frame 3: stamps of frames 4 of 20"),
        (_sent, _of_frame(3, sent=((3, 1), (3, 2))), "frame 3: stamps of frames 3, 3 of 20"),
        (_sent, _shifted(MS), "frame 0: 850000 ns after it had come"),
        (_sent, _shifted(-MS), "frame 0: 950000 ns before it was asked for"),
    ],
    ids=["none in", "next in", "last in", "none out", "software", "other", "twice", "next out", "last out"],
)
def test_a_stamp_that_is_wrong_fails_the_card(
    clean: Namespaces,
    clocks: FakeClocks,
    check: Callable[[Namespaces], None],
    change: Callable[[int, dict[str, Any]], None],
    said: str,
) -> None:
    clocks.change = change
    with pytest.raises(CardFailure, match=f"{PLACE}time stamps: {said}"):
        check(clean)


@pytest.mark.parametrize(
    ("check", "change", "said"),
    [
        (_received, _of_frame(3, there=0, received=0), "frame 3: no answer"),
        (_received, _of_frame(3, received=0, stood_ns=S), "frame 3: none, while the dut stood still for 1000 ms"),
        (_sent, _of_frame(3, sent=(), stood_ns=S), "frame 3: none, while the dut stood still for 1000 ms"),
        (_sent, _of_frame(3, there=0), "frame 3: no answer"),
    ],
)
def test_a_frame_that_proves_nothing_is_undecided(
    clean: Namespaces,
    clocks: FakeClocks,
    check: Callable[[Namespaces], None],
    change: Callable[[int, dict[str, Any]], None],
    said: str,
) -> None:
    clocks.change = change
    with pytest.raises(Undecided, match=f"{PLACE}time stamps: {said}"):
        check(clean)


@pytest.mark.parametrize("check", [_received, _sent])
def test_stamps_that_are_offered_and_not_made_fail_the_card(
    clean: Namespaces, clocks: FakeClocks, check: Callable[[Namespaces], None]
) -> None:
    clocks.grants = False
    with pytest.raises(CardFailure, match=r"its driver offers time stamps \(.*\), and when asked: sets 0, 0"):
        check(clean)
    clocks.refuses = Switched(refused="out of range", errno=34)
    with pytest.raises(CardFailure, match="and when asked: out of range"):
        check(clean)


EVERY = [
    lambda clean: clock_checks.runs(clean.run, Profile.QUICK, str),
    lambda clean: clock_checks.takes_times(clean.run, str),
    lambda clean: clock_checks.takes_rates(clean.run, Profile.QUICK, str),
    _received,
    _sent,
]


@pytest.mark.parametrize("check", EVERY)
def test_what_nothing_offers_is_not_applicable(
    clean: Namespaces, clocks: FakeClocks, check: Callable[[Namespaces], None]
) -> None:
    clocks.passes = clocks.sends = 1
    if check in (_received, _sent):
        with pytest.raises(
            NotApplicable, match=r"its driver offers no (filter for frames of PTP|time stamps of frames)"
        ):
            check(clean)
    clocks.number = -1
    with pytest.raises(NotApplicable, match=r"its driver offers no hardware clock \(ETHTOOL_GET_TS_INFO\)"):
        check(clean)
    assert clocks.asked == []


@pytest.mark.parametrize("check", EVERY)
def test_a_clock_that_somebody_sets_is_the_benchs(
    clean: Namespaces, clocks: FakeClocks, check: Callable[[Namespaces], None]
) -> None:
    clocks.steers = ("phc2sys", "ptp4l")
    with pytest.raises(BenchFault, match="dut: phc2sys, ptp4l may set clock 2; end it while cards are tested"):
        check(clean)
    assert clocks.asked == []


@pytest.mark.usefixtures("clocks")
@pytest.mark.parametrize(
    ("fact", "checks"),
    [
        (SiliconFact.CLOCK_TIME, EVERY[:3]),
        (SiliconFact.RECEIVED_STAMPS, [_received]),
        (SiliconFact.SENT_STAMPS, [_sent]),
    ],
)
def test_an_emulated_card_may_be_declared_to_have_none(
    clean: Namespaces,
    monkeypatch: pytest.MonkeyPatch,
    fact: SiliconFact,
    checks: list[Callable[[Namespaces], None]],
) -> None:
    declared = DeclaredDeviation(card="veth", fact=fact, how="reads 0", source="measured")
    monkeypatch.setattr(clean.run.bench, "deviations", (declared,))
    for check in EVERY:
        if check in checks:
            with pytest.raises(Deviation, match=r"reads 0 \(measured\)"):
                check(clean)
        else:
            check(clean)


@pytest.mark.parametrize(
    ("keyword", "check"),
    [
        (HardwareClock.every_clock_should_run, "runs"),
        (HardwareClock.every_clock_should_take_times, "takes_times"),
        (HardwareClock.every_clock_should_take_rates, "takes_rates"),
        (HardwareClock.received_frames_should_be_stamped, "stamps_received"),
        (HardwareClock.sent_frames_should_be_stamped, "stamps_sent"),
    ],
)
def test_each_keyword_makes_its_check(
    monkeypatch: pytest.MonkeyPatch, keyword: Callable[..., None], check: str
) -> None:
    made = list[object]()
    monkeypatch.setattr(HardwareClock, "run", property(lambda _: "run"))
    monkeypatch.setattr(clock_checks, check, lambda *words: made.append(words))
    keyword(HardwareClock(), *([] if check == "takes_times" else [Profile.FULL]))
    assert made[0][0] == "run" and (check == "takes_times" or made[0][1] is Profile.FULL)  # type: ignore[index]
