"""Ports that are asked to pause: sound ones are green and left as they were, each wrong one is red by its own words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet
from verdicts import words_of

from niclab.bench.records import DeclaredDeviation, Role, SiliconFact, Wiring
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, SheetUnknown, Undecided
from niclab.frames.pauses import received_pause
from niclab.frames.pauses.pause_agents import PauseAgents, PausedEnd
from niclab.frames.pauses.pause_judging import Heard
from niclab.hosts.host_records import Counters
from niclab.links.diagnosis import Diagnosis, LinkEnd, Reason
from niclab.links.witness import Witnesses
from niclab.run.run import Run
from PauseFrames import PauseFrames

COUNTED = ("settable: true, source: test}\nchannels", "settable: true, received_counter: xoff, source: test}\nchannels")
ASKED = [n * 0.05 for n in range(15)]
BEFORE, DURING, AFTER = ([begin + n * 0.002 for n in range(n)] for begin, n in ((-0.3, 150), (0.0, 550), (1.1, 50)))

END = LinkEnd("dut.p0", has_driver=True, is_up=True, has_carrier=False)


@dataclass
class Cards:
    """The ports of the dut, and their peers. ``obeys``: pause frames heeded -> does a port stop?

    ``never_back``: it stays silent. ``good_from``: the exchange from which on nothing is wrong. ``unheard``: the
    exchanges before this one prove nothing. ``arrives``: pause frames reach the dut. ``blocks``: seconds for which the
    system of a port that is silent cannot send.
    """

    settings: FakeSettings
    obeys: dict[bool, bool] = field(default_factory=lambda: {True: True, False: False})
    never_back: bool = False
    good_from: int = 99
    unheard: int = 0
    arrives: bool = True
    blocks: float = 0.9
    counter: int = 7
    exchanges: list[tuple[str, ...]] = field(default_factory=list)
    silent: bool = False

    def hold(self, run: Run, ends: Sequence[PausedEnd]) -> list[Heard]:
        self.exchanges.append(tuple(end.port.name for end in ends))
        return [self._heard(self.settings.ports[run.interface(end.port)].pause["rx"]) for end in ends]

    def _heard(self, heeds: bool) -> Heard:
        good = len(self.exchanges) >= self.good_from
        self.silent = heeds if good else self.obeys[heeds]
        if heeds and self.arrives:
            self.counter += len(ASKED)
        back = [] if self.never_back and not good else AFTER
        before = [] if len(self.exchanges) <= self.unheard else BEFORE
        return Heard(ASKED, [*before, *([] if self.silent else DURING), *back], 0)


class Watch:
    """A watch of both servers: the dut pauses in the exchanges that a test names."""

    def __init__(self, stood: Sequence[bool]) -> None:
        self._stood = [*stood]

    def told(self) -> None: ...

    def between(self, _: None, __: None) -> Sequence[str]:
        return ["dut stood still for 200 ms"] if self._stood and self._stood.pop(0) else []


@dataclass
class Made:
    """All that a test bends."""

    cards: Cards
    run: Run
    stands: Callable[[Sequence[bool]], None]


@pytest.fixture
def made(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Made:
    with_sheet(bench, taken, COUNTED)
    cards = Cards(settings_of(bench))

    @contextmanager
    def streaming(*_: object) -> Iterator[None]:
        yield

    def stands(stood: Sequence[bool]) -> None:
        watch = Watch(stood)
        monkeypatch.setattr(received_pause.standstill, "watch", lambda *_: watch)

    stands(())
    monkeypatch.setattr(PauseAgents, "streaming", streaming)
    monkeypatch.setattr(PauseAgents, "hold", lambda agents, ends: cards.hold(agents._run, ends))
    monkeypatch.setattr(
        PauseAgents, "blocked_s", lambda _, ends: dict.fromkeys(ends, cards.blocks if cards.silent else 0.0)
    )
    monkeypatch.setattr(received_pause, "COUNTED_WITHIN_S", 0.01)
    monkeypatch.setattr(bench.dut, "counters", lambda _: Counters((("xoff", cards.counter),)), raising=False)
    return Made(cards, taken, stands)


def _check() -> None:
    PauseFrames().paused_port_should_stop_sending()


def test_a_sound_card_is_asked_once_each_way_and_left_as_it_was(made: Made) -> None:
    pending = made.run.journal.pending()
    _check()
    assert made.cards.exchanges == [("dut.p0", "dut.p1")] * 2
    assert all(port.pause == {"autoneg": True, "rx": True, "tx": True} for port in made.cards.settings.ports.values())
    assert made.run.journal.pending() == pending


def test_pause_frames_that_are_counted_and_ignored_are_the_cards(made: Made) -> None:
    made.cards.obeys[True] = False
    said = words_of(CardFailure, _check)
    assert said.startswith("dut.p0 (0000:01:00.0): sent on while 15 pause frames of 400 ms (39063 quanta) each came")
    assert "heeded (rx on)" in said and "its counter xoff grew by 30" in said and "dut.p1" in said
    assert len(made.cards.exchanges) == 3


def test_pause_frames_that_never_arrive_are_nobodys(made: Made) -> None:
    made.cards.obeys[True], made.cards.arrives = False, False
    assert "xoff grew by 0: the peer may not send what its system asks for" in words_of(Undecided, _check)


def test_without_a_counter_nobody_knows_whether_they_arrive(
    made: Made, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.cards.obeys[True] = False
    monkeypatch.setattr(bench.dut, "counters", lambda _: Counters(()))
    assert "whether they reached it is unknown: the sheet names no counter" in words_of(Undecided, _check)


def test_pause_frames_that_are_obeyed_although_off_are_the_cards(made: Made) -> None:
    made.cards.obeys[False] = True
    said = words_of(CardFailure, _check)
    assert "stopped, and went on afterwards while 15 pause frames" in said and "not heeded (rx off)" in said
    assert said.endswith("its system could not send for 0.90 s")


def test_frames_that_are_lost_behind_the_dut_are_nobodys(made: Made) -> None:
    made.cards.obeys[False], made.cards.blocks = True, 0.1
    assert "its system could not send for 0.10 s" in words_of(Undecided, _check)


def test_a_port_that_does_not_go_on_is_red(made: Made) -> None:
    made.cards.never_back = True
    assert "stopped, and did not go on in time" in words_of(CardFailure, _check)


@pytest.mark.parametrize("heeds", [True, False])
def test_what_happens_once_is_no_verdict(made: Made, heeds: bool) -> None:
    made.cards.obeys[heeds] = not heeds
    made.cards.good_from = 2 if heeds else 3
    _check()


@pytest.mark.parametrize(("unheard", "stood"), [(2, []), (0, [True, True]), (1, [False, True])])
def test_what_was_seen_once_is_undecided(made: Made, unheard: int, stood: list[bool]) -> None:
    made.cards.obeys[True], made.cards.unheard = False, unheard
    made.stands(stood)
    said = words_of(Undecided, _check)
    assert "sent on while 15 pause frames" in said and said.endswith("seen once; expected twice before it is charged")


def test_a_port_that_was_wrong_twice_is_charged_whatever_another_port_proves(made: Made) -> None:
    """The other port's first two exchanges prove nothing, and in the third the wrong one is right."""
    exchanges = list[int]()

    def hold(run: Run, ends: Sequence[PausedEnd]) -> list[Heard]:
        heeds = made.cards.settings.ports[run.interface(ends[0].port)].pause["rx"]
        exchanges.extend([1] * heeds)
        made.cards.counter += len(ASKED) * heeds
        wrong = {"dut.p0": len(exchanges) <= 2, "dut.p1": False}
        heard = []
        for end in ends:
            before = [] if heeds and end.port.name == "dut.p1" and len(exchanges) <= 2 else BEFORE
            during = [] if heeds and not wrong[end.port.name] else DURING
            heard.append(Heard(ASKED, [*before, *during, *AFTER], 0))
        return heard

    made.cards.hold = hold  # type: ignore[method-assign]
    said = words_of(CardFailure, _check)
    assert said.startswith("dut.p0 ") and "dut.p1" not in said and len(exchanges) == 3


def test_the_first_exchange_may_prove_nothing(made: Made) -> None:
    made.cards.obeys[True], made.cards.unheard = False, 1
    assert "its counter xoff grew by" in words_of(CardFailure, _check)
    assert len(made.cards.exchanges) == 4


def test_a_server_that_stands_still_each_time_is_undecided(made: Made) -> None:
    made.cards.obeys[True] = False
    made.stands([True] * 3)
    assert "meanwhile dut stood still for 200 ms" in words_of(Undecided, _check)
    assert len(made.cards.exchanges) == 4


def test_a_server_that_stands_still_once_is_asked_again(made: Made) -> None:
    made.cards.obeys[True] = False
    made.stands([False, True, False])
    assert "its counter xoff grew by" in words_of(CardFailure, _check)


def test_a_port_that_was_wrong_is_charged_whatever_ends_the_check(made: Made) -> None:
    """Heeded ones are ignored; the program fails when they are not to be heeded."""
    made.cards.obeys[True] = False
    hold = made.cards.hold

    def failing(run: Run, ends: Sequence[PausedEnd]) -> list[Heard]:
        if len(made.cards.exchanges) == 2:
            raise BenchFault("peer: pause program: gone")
        return hold(run, ends)

    made.cards.hold = failing  # type: ignore[method-assign]
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*sent on while 15 pause frames") as caught:
        _check()
    assert str(caught.value).endswith("\nundecided: peer: pause program: gone")


@pytest.mark.parametrize("reason", [Reason.NO_LOSS, Reason.PARTNER_LINK])
def test_a_link_that_the_peer_keeps_down_is_the_benchs(
    made: Made, monkeypatch: pytest.MonkeyPatch, reason: Reason
) -> None:
    late = [made.run.ports(Role.DUT)[0]]
    monkeypatch.setattr(made.run, "await_carrier", lambda *_, **__: late)
    monkeypatch.setattr(Witnesses, "ask", lambda *_: Diagnosis((reason,), (END, END)))
    verdict = CardFailure if reason is Reason.NO_LOSS else BenchFault
    with pytest.raises(verdict, match=r"dut\.p0 .* has no carrier \d+ ms after pause frames of the dut were switched"):
        _check()


def test_pause_frames_that_cannot_be_set_are_red(made: Made) -> None:
    made.cards.settings.faults.add("pause refused")
    assert "pause rx is True (not supported); expected off" in words_of(CardFailure, _check)


@pytest.mark.usefixtures("made")
def test_pause_frames_that_do_not_come_back_are_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received_pause, "not_back", lambda dut, _: [f"{dut.place}: pause frames did not come back"])
    assert "dut.p1 (0000:02:00.0): pause frames did not come back" in words_of(CardFailure, _check)


def test_a_port_of_a_card_without_the_setting_is_asked_as_it_is(
    bench: FakeBench, made: Made, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed = taken.card.pause.model_copy(update={"settable": False}) if taken.card.pause else None
    monkeypatch.setattr(taken, "card", taken.card.model_copy(update={"pause": fixed}))
    _check()
    assert len(made.cards.exchanges) == 1
    unknown = bench.sheet.read_text().replace(
        "rx: true, tx: true, settable: true", "rx: {unknown: x}, tx: true, settable: false"
    )
    bench.sheet.write_text(unknown)
    monkeypatch.setattr(taken, "card", bench.load()[1])
    with pytest.raises(SheetUnknown, match="knows nothing of pause"):
        _check()


def test_a_bench_may_declare_that_its_emulated_card_heeds_none(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = DeclaredDeviation(
        card=made.run.card.name,
        fact=SiliconFact.RECEIVED_PAUSE,
        how="pause frames that come stop nothing",
        source="read",
    )
    monkeypatch.setattr(made.run, "bench", made.run.bench.model_copy(update={"deviations": (declared,)}))
    with pytest.raises(Deviation, match=r"pause frames that come stop nothing \(read\)"):
        _check()
    assert not made.cards.exchanges


@pytest.mark.parametrize("through", [1, 2])
def test_a_switch_keeps_pause_frames(made: Made, monkeypatch: pytest.MonkeyPatch, through: int) -> None:
    paths = [
        path.model_copy(update={"through": Wiring.SWITCH}) if number < through else path
        for number, path in enumerate(made.run.bench.paths)
    ]
    monkeypatch.setattr(made.run, "bench", made.run.bench.model_copy(update={"paths": tuple(paths)}))
    if through == 2:
        with pytest.raises(NotApplicable, match="every path leads through a switch"):
            _check()
    else:
        _check()
    assert made.cards.exchanges == [("dut.p1",)] * (0 if through == 2 else 2)
