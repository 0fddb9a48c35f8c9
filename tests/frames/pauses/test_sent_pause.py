"""Ports that are flooded: a sound card is green and left as it was, each wrong one is red by its own words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest
from fake_bench import FakeBench
from fake_settings import FakeSettings, settings_of, with_sheet
from verdicts import words_of

from niclab.bench.records import DeclaredDeviation, OperatingSystem, Port, Role, SiliconFact, Wiring
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, SheetUnknown, Undecided
from niclab.frames.pauses import sent_pause
from niclab.frames.pauses.flood_agents import FloodAgents, Flooded
from niclab.frames.pauses.sent_judging import Flood, FullPort
from niclab.hosts.host_records import Counters
from niclab.links.diagnosis import Diagnosis, LinkEnd, Reason
from niclab.links.witness import Witnesses
from niclab.run.run import Run
from PauseFrames import PauseFrames

FACTS = "settable: true, received_counter: xoff_in, sent_counter: xoff, full_ring: pauses, source: test}\nchannels"
PLAIN = "settable: true, source: test}\nchannels"

END = LinkEnd("dut.p0", has_driver=True, is_up=True, has_carrier=False)


@dataclass
class Cards:
    """The ports of the dut, and their peers. ``asks``: tx pause -> does a port that is full ask for silence?

    ``room``: it is never full. ``good_from``: the flood with pause frames on from which on nothing is wrong.
    ``storm``: pause frames that it sends between two looks at its counter. ``single``: single frames that come.
    ``held``: those that come later. ``deaf``: the peer counts none. ``late``: frames that come long after a flood.
    """

    settings: FakeSettings
    asks: dict[bool, bool] = field(default_factory=lambda: {True: True, False: False})
    room: bool = False
    good_from: int = 99
    storm: int = 0
    single: int = sent_pause.SINGLE
    held: int = 0
    deaf: bool = False
    late: int = 0
    sent: int = 4
    received: int = 9
    missed: int = 0
    slowed: list[tuple[int, int | None, bool | None]] = field(default_factory=list)
    floods: list[bool] = field(default_factory=list)
    over: list[bool] = field(default_factory=list)
    under_way: int = 0

    def flood(self, run: Run, ports: Sequence[Port]) -> dict[Port, Flooded]:
        own = self.settings.ports[run.interface(ports[0])]
        self.slowed.append((own.rings["rx"], own.coalescing["rx-usecs"], own.adaptive))
        on = own.pause["tx"]
        self.floods.append(on)
        asks = on if sum(self.floods) >= self.good_from else self.asks[on]
        self.sent += 3 * asks * (not self.room)
        self.received += 3 * asks * (not self.room and not self.deaf)
        lost = 0 if asks or self.room else 900
        self.missed += lost
        return {port: Flooded(1000, 0, 1000 - lost - 5) for port in ports}

    def send(self, ports: Sequence[Port], count: int) -> dict[Port, Flooded]:
        self.under_way = self.held
        return dict.fromkeys(ports, Flooded(count, 0, self.single))

    def later(self) -> int:
        came, self.under_way = self.under_way + self.late, 0
        return came

    def shown(self, iface: str) -> Counters:
        good = sum(self.floods) >= self.good_from
        self.sent += 0 if good else self.storm * self.settings.ports[iface].pause["tx"]
        return Counters((("xoff", self.sent),))


@dataclass
class Made:
    """All that a test bends."""

    cards: Cards
    run: Run
    bench: FakeBench


@pytest.fixture
def made(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Made:
    with_sheet(bench, taken, (PLAIN, FACTS))
    cards = Cards(settings_of(bench))
    settings_of(bench, Role.PEER)

    @contextmanager
    def listening(*_: object) -> Iterator[None]:
        yield

    def heard(_: FloodAgents, ports: Sequence[Port]) -> dict[Port, int]:
        first = len(cards.floods) != len(cards.over)
        if first:
            cards.over.append(True)
        return dict.fromkeys(ports, 5 if first else cards.later())

    def received(_: str) -> Counters:
        return Counters((("xoff_in", cards.received),))

    monkeypatch.setattr(FloodAgents, "listening", listening)
    monkeypatch.setattr(FloodAgents, "flood", lambda agents, ports, _: cards.flood(agents._run, ports))
    monkeypatch.setattr(FloodAgents, "heard", heard)
    monkeypatch.setattr(FloodAgents, "send", lambda _, ports, count: cards.send(ports, count))
    monkeypatch.setattr(sent_pause, "pause", lambda _: None)
    for host in (bench.dut, bench.peer):
        monkeypatch.setattr(host, "counters", cards.shown if host is bench.dut else received, raising=False)
        for nic in host.nics:
            monkeypatch.setattr(nic, "frames", _Missed(cards))
    return Made(cards, taken, bench)


class _Missed(dict[str, int]):
    def __init__(self, cards: Cards) -> None:
        self._cards = cards

    def get(self, name: str, default: int = 0) -> int:  # type: ignore[override]
        return self._cards.missed if name == "rx_missed_errors" else default


def _check() -> None:
    PauseFrames().full_port_should_ask_for_silence()


def test_a_sound_card_is_flooded_once_each_way_and_left_as_it_was(made: Made) -> None:
    pending = made.run.journal.pending()
    _check()
    assert made.cards.floods == [False, True]
    assert made.cards.slowed == [(64, 100, False)] * 2
    own = made.cards.settings.ports.values()
    assert all(port.pause == {"autoneg": True, "rx": True, "tx": True} for port in own)
    assert all(port.rings["rx"] == 256 and port.coalescing["rx-usecs"] == 18 and port.adaptive for port in own)
    assert made.run.journal.pending() == pending


def test_a_full_port_that_never_asks_is_the_cards(made: Made) -> None:
    made.cards.asks[True] = False
    said = words_of(CardFailure, _check)
    assert said.startswith("dut.p0 (0000:01:00.0): was full and asked for no silence")
    assert "on: 900 of 1000 frames lost, 900 counted as missed, 0 pause frames sent" in said and "dut.p1" in said
    assert made.cards.floods == [False, True] * 2


def test_pause_frames_that_are_sent_although_off_are_the_cards(made: Made) -> None:
    made.cards.asks[False] = True
    assert "asked for silence although it is not to: its driver counted 3 pause frames" in words_of(CardFailure, _check)


def test_pause_frames_without_an_end_are_the_cards(made: Made) -> None:
    made.cards.storm = 7
    assert "asks for silence although nothing comes: its driver counted 14, and 14 more" in words_of(
        CardFailure, _check
    )


@pytest.mark.parametrize("what", ["asks", "storm"])
def test_what_happens_once_is_no_verdict(made: Made, what: str) -> None:
    made.cards.good_from = 2
    if what == "asks":
        made.cards.asks[True] = False
    else:
        made.cards.storm = 7
    _check()
    assert made.cards.floods == [False, True] * 2


def test_what_was_seen_once_is_undecided(made: Made) -> None:
    """From the second attempt on the port asks, and the peer counts none."""
    made.cards.asks[True], made.cards.good_from, made.cards.deaf = False, 2, True
    assert "the dut's driver counted pause frames, and the peer none" in words_of(Undecided, _check)
    assert made.cards.floods == [False, True] * 3


def test_pause_frames_while_frames_still_come_are_not_without_an_end(made: Made) -> None:
    made.cards.storm, made.cards.late = 7, 5
    _check()


def test_single_frames_that_a_long_coalescing_holds_are_waited_for(made: Made) -> None:
    made.cards.single, made.cards.held = 1, sent_pause.SINGLE - 1
    _check()
    assert made.cards.floods == [False, True]


def test_single_frames_that_do_not_come_are_undecided(made: Made) -> None:
    made.cards.single = 17
    assert "6 single frames after a flood did not come" in words_of(Undecided, _check)


def test_a_port_that_is_never_full_is_not_applicable(made: Made) -> None:
    made.cards.room, made.cards.asks[True] = True, False
    with pytest.raises(NotApplicable, match=r"dut.p0 \(0000:01:00.0\): was not filled"):
        _check()
    assert made.cards.floods == [False, True]


@pytest.mark.parametrize(
    ("ring", "verdict", "says"),
    [
        ("drops", NotApplicable, "the card drops what finds no room in a ring"),
        ("{unknown: nobody says}", SheetUnknown, "does not know pause.full_ring: nobody says"),
    ],
)
def test_a_card_that_need_not_ask_is_not_charged(
    made: Made, monkeypatch: pytest.MonkeyPatch, ring: str, verdict: type[Exception], says: str
) -> None:
    made.bench.sheet.write_text(made.bench.sheet.read_text().replace("full_ring: pauses", f"full_ring: {ring}"))
    monkeypatch.setattr(made.run, "card", made.bench.load()[1])
    _check()
    made.cards.asks[True] = False
    with pytest.raises(verdict, match=says):
        _check()
    made.cards.asks = {True: True, False: True}
    assert "although it is not to" in words_of(CardFailure, _check)


@pytest.mark.parametrize(
    ("gone", "says"),
    [("sent_counter: xoff, ", "pause.sent_counter"), ("settable: true, received", "pause frames cannot be set")],
)
def test_a_card_without_the_setting_or_the_counter_is_not_asked(
    made: Made, monkeypatch: pytest.MonkeyPatch, gone: str, says: str
) -> None:
    other = "" if "sent" in gone else "settable: false, received"
    made.bench.sheet.write_text(made.bench.sheet.read_text().replace(gone, other))
    monkeypatch.setattr(made.run, "card", made.bench.load()[1])
    with pytest.raises(NotApplicable, match=says):
        _check()
    assert not made.cards.floods and not made.cards.settings.told


def test_a_counter_that_begins_again_is_undecided(made: Made) -> None:
    made.cards.storm, made.cards.asks[True] = -9, False
    assert "no counter of the name on the sheet that only grows" in words_of(Undecided, _check)


def test_pause_frames_that_cannot_be_set_are_red(made: Made) -> None:
    made.cards.settings.faults.add("pause refused")
    assert "pause tx off was set, it shows True (not supported)" in words_of(CardFailure, _check)


def test_a_port_without_a_link_is_red(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    late = [made.run.ports(Role.DUT)[0]]
    monkeypatch.setattr(made.run, "await_carrier", lambda *_, **__: late)
    assert "has no carrier" in words_of(CardFailure, _check)
    late[0] = made.run.ports(Role.PEER)[0]
    with pytest.raises(BenchFault, match=r"peer\.p0 .* has no carrier"):
        _check()


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


def test_a_port_that_was_wrong_is_charged_whatever_ends_the_check(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """One port sends pause frames although it is not to, twice; the other one proves nothing, and the program fails."""
    flood, judge = made.cards.flood, sent_pause.judge
    judged = list[FullPort]()

    def flooded(run: Run, ports: Sequence[Port]) -> dict[Port, Flooded]:
        if len(made.cards.floods) == 4:
            raise BenchFault("peer: flood program: gone")
        return flood(run, ports)

    def of_first(off: Flood, on: Flood) -> tuple[FullPort, str]:
        judged.append(judge(off, on)[0])
        return (FullPort.UNASKED if len(judged) % 2 else FullPort.UNPROVEN), ""

    made.cards.flood = flooded  # type: ignore[method-assign]
    monkeypatch.setattr(sent_pause, "judge", of_first)
    with pytest.raises(CardFailure, match=r"^dut\.p0 .*asked for silence although it is not to") as caught:
        _check()
    assert str(caught.value).endswith("\nundecided: peer: flood program: gone")


def test_a_bench_may_declare_that_its_emulated_card_sends_none(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = DeclaredDeviation(
        card=made.run.card.name, fact=SiliconFact.SENT_PAUSE, how="a full port sends none", source="read"
    )
    monkeypatch.setattr(made.run, "bench", made.run.bench.model_copy(update={"deviations": (declared,)}))
    with pytest.raises(Deviation, match=r"a full port sends none \(read\)"):
        _check()
    assert not made.cards.floods


def test_a_switch_keeps_pause_frames(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = tuple(path.model_copy(update={"through": Wiring.SWITCH}) for path in made.run.bench.paths)
    monkeypatch.setattr(made.run, "bench", made.run.bench.model_copy(update={"paths": paths}))
    with pytest.raises(NotApplicable, match="every path leads through a switch"):
        _check()
    assert not made.cards.floods


def test_it_needs_linux(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    peer = made.run.server(Role.PEER)
    other = peer.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    monkeypatch.setattr(peer, "description", other)
    with pytest.raises(NotApplicable, match="the flood program needs packet sockets of Linux"):
        _check()
