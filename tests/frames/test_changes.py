"""Changes under traffic in network namespaces: a change takes the port down, and it comes back by itself later."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces

from niclab.bench.records import Role
from niclab.card import At, OffloadName, Setting, SettingKind
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Trouble, Undecided
from niclab.core.wait import until
from niclab.frames import changes, draw
from niclab.frames.blame.frame_findings import Culprit, FrameFinding
from niclab.frames.draw import ChangeKind, Draw
from niclab.frames.frame_agents import FrameAgents
from niclab.report.certificate.remarks import remarks
from niclab.run.run_notes import RunNotes
from niclab.run.watching.standstill import Stood

AWAY_S, LIMIT_MS = 1.5, 20_000


def setting(name: str, to: int | bool, kind: SettingKind = SettingKind.RING) -> Setting:
    return Setting(kind=kind, name=name, to=to, at=At.SENDER)


RX, TX = setting("rx", 64), setting("tx", 64)
TWO = Draw({ChangeKind.RX_RING: [RX], ChangeKind.TX_RING: [TX]}, ("coalescing tx-usecs: dut.p0 shows none",))


def restarting(made: Namespaces, away_s: float) -> Callable[[], object]:
    dut = made.servers[Role.DUT]

    def restart() -> None:
        dut.run("ip link set p0 down")
        dut.run(f"(sleep {away_s}; ip link set p0 up) >/dev/null 2>&1 &")

    return restart


@pytest.fixture
def changing(clean: Namespaces, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[str]]:
    """Make the changes of a draw; ``when_set`` and ``when_put_back`` are what the card does."""

    def made(
        found: Draw = TWO,
        *,
        limit_ms: int = LIMIT_MS,
        when_set: Callable[[], object] = lambda: None,
        when_put_back: Callable[[], object] = lambda: None,
    ) -> list[str]:
        @contextmanager
        def applied(*_: object) -> Iterator[None]:
            when_set()
            yield
            when_put_back()

        known: Any = SimpleNamespace(name="veth", limits=SimpleNamespace(carrier_return_within_ms=limit_ms))
        known.known = lambda fact, _: fact
        monkeypatch.setattr(clean.run, "card", known)
        monkeypatch.setattr(changes, "applied", applied)
        monkeypatch.setattr(draw, "of_port", lambda *_: found)
        said = list[str]()
        monkeypatch.setattr(clean.run, "notes", RunNotes(tmp_path / "evidence"))
        changes.under_traffic(clean.run, Profile.QUICK, said.append, seed=1)
        return said

    return made


def test_a_port_has_the_time_of_the_sheet_to_return_from_each_change(
    clean: Namespaces, changing: Callable[..., list[str]]
) -> None:
    """Two settings, each set and put back: together the port is away for longer than the sheet allows for one."""
    restart = restarting(clean, AWAY_S)
    said = changing(when_set=restart, when_put_back=restart)
    assert [line for line in said if "frames after seed 1: 199 sent, 199 at the port" in line], said
    (figure,) = clean.run.notes.take_figures()
    assert figure.outcome == "met" and figure.value is not None and 1000 * AWAY_S <= figure.value < LIMIT_MS
    assert "seed 1" in figure.subject and figure.found.startswith("4 changes, no frame for ")


@pytest.mark.parametrize("when", ["when_set", "when_put_back"])
@pytest.mark.parametrize("of_card", [True, False])
def test_a_port_that_returns_too_late_is_named_with_the_change(
    clean: Namespaces, changing: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, when: str, of_card: bool
) -> None:
    """It is the card's unless peer or switch keep the link down."""
    monkeypatch.setattr(
        changes, "explained", lambda _, port, text: Trouble(f"{port.name} {text}", of_card=of_card and port.key == "p0")
    )
    how = when.removeprefix("when_").replace("_", " ")
    verdict = CardFailure if of_card else BenchFault
    with pytest.raises(verdict, match=rf"dut\.p0 .*no carrier 500 ms after ring [rt]x 64.* was {how} \(seed 1\)"):
        changing(limit_ms=500, **{when: restarting(clean, 3 * AWAY_S)})
    until(lambda: clean.servers[Role.DUT].carrier("p0"), within=10, what="the link to return")


@pytest.mark.parametrize(
    ("shown", "verdict"), [(Culprit.CARD, CardFailure), (Culprit.PEER, BenchFault), (Culprit.TOOL, Undecided)]
)
def test_frames_that_are_lost_otherwise_than_in_outages_are_charged_as_the_trial_of_the_peer_shows(
    clean: Namespaces,
    changing: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    shown: Culprit,
    verdict: type[Exception],
) -> None:
    def tried(_: object, suspected: list[FrameFinding], __: object) -> list[FrameFinding]:
        assert all(each.suspicion and each.suspicion.port.name == "peer.p1" for each in suspected)
        return [replace(each, culprit=shown, suspicion=None) for each in suspected]

    monkeypatch.setattr(changes.peer_trial, "tried", tried)
    monkeypatch.setattr(clean.run.bench, "paths", clean.run.bench.paths[::-1])
    clean.spoil("drop")
    with pytest.raises(
        verdict, match=r"frames lost in \d+ places, \d+ outside of outages \(seed 1\); expected at most"
    ):
        changing(when_set=lambda: time.sleep(1.5))


QUEUES = setting("combined", 2, SettingKind.QUEUES)


@pytest.mark.parametrize(("changed", "away_s", "is_red"), [(QUEUES, 1.5, False), (QUEUES, 0.0, True), (RX, 1.5, True)])
def test_frames_that_waited_in_the_former_queue_may_come_behind_others(
    clean: Namespaces,
    changing: Callable[..., list[str]],
    monkeypatch: pytest.MonkeyPatch,
    changed: Setting,
    away_s: float,
    is_red: bool,
) -> None:
    """At most as many as are sent while frames stay away; nothing else lets them."""
    monkeypatch.setattr(clean.run.bench, "paths", clean.run.bench.paths[::-1])
    monkeypatch.setattr(
        changes.peer_trial, "tried", lambda _, found, __: [replace(each, suspicion=None) for each in found]
    )
    whole, exchanged = changes.exchange, list[str]()

    def exchange(run: Any, streams: Any, say: Any, **options: Any) -> Any:
        clean.spoil("" if exchanged else "swap")
        exchanged.append(streams[0].name)
        return whole(run, streams, say, **options)

    monkeypatch.setattr(changes, "exchange", exchange)
    only = Draw({ChangeKind.QUEUES if changed is QUEUES else ChangeKind.RX_RING: [changed]}, ())
    stay = stopping(clean, Role.PEER, away_s) if away_s else lambda: time.sleep(1.0)
    if is_red:
        with pytest.raises(CardFailure, match=r"\d+ frames arrived behind later ones at peer\.p1 .*; expected (at|in)"):
            changing(only, when_set=stay)
    else:
        said = changing(only, when_set=stay)
        assert [line for line in said if "frames while settings change" in line and " late at the port" in line], said


def stopping(made: Namespaces, role: Role, seconds: float) -> Callable[[], object]:
    """The frame program of a server is stopped: frames stay away, and the link is there."""

    def stop() -> None:
        pid = made.run.part(FrameAgents)._running[role].pid
        made.servers[role].run(f"kill -STOP {pid}; (sleep {seconds}; kill -CONT {pid}) >/dev/null 2>&1 &")
        time.sleep(seconds)

    return stop


def test_frames_that_stay_away_while_the_link_is_there_are_seen(
    clean: Namespaces, changing: Callable[..., list[str]]
) -> None:
    with pytest.raises(CardFailure) as caught:
        changing(limit_ms=700, when_set=stopping(clean, Role.PEER, 1.5))
    assert "peer.p0 to dut.p0: no frame for 1" in str(caught.value)
    (figure,) = clean.run.notes.take_figures()
    assert figure.outcome == "missed"


def test_a_server_that_stood_still_for_as_long_excuses_it(
    clean: Namespaces, changing: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = SimpleNamespace(told=lambda: (), between=lambda *_: [Stood("peer", 100), Stood("peer", 1400)])
    monkeypatch.setattr(changes.standstill, "watch", lambda _: told)
    with pytest.raises(
        changes.Undecided, match=r"no frame for .*\n(.*\n)?meanwhile peer stood still for 1400 ms"
    ) as caught:
        changing(limit_ms=700, when_set=stopping(clean, Role.PEER, 1.5))
    assert "100 ms" not in str(caught.value).replace("1400 ms", "")
    assert [figure.outcome for figure in clean.run.notes.take_figures()] == ["undecided"]


def test_what_is_drawn_and_what_is_left_out_is_on_the_certificate(
    changing: Callable[..., list[str]], tmp_path: Path
) -> None:
    said = changing()
    (remark,) = [each for each in remarks(tmp_path, {}, [])[0] if each.about == "Drawn"]
    kinds = "receive ring, send ring"
    assert remark.details[0] == f"dut.p0 (0000:01:00.0): seed 1, 2 of 2 settings, of every kind: {kinds}"
    assert remark.details[1] == "left out: coalescing tx-usecs: dut.p0 shows none"
    assert {line.split(" at")[0] for line in remark.details[2:]} == {"ring rx 64", "ring tx 64"}
    assert set(remark.details) <= set(said)


def test_a_port_without_a_setting_is_not_applicable_and_says_why(changing: Callable[..., list[str]]) -> None:
    with pytest.raises(NotApplicable, match=r"sheet veth names no ring.*\ndut: the driver shows no rings"):
        changing(Draw({}, ("dut: the driver shows no rings",)))


def test_the_quick_draw_covers_every_kind_and_the_full_one_every_setting() -> None:
    many = {
        kind: [setting(f"{kind.name}-{number}".lower().replace("_", "-"), number) for number in range(1, 5)]
        for kind in ChangeKind
    }
    found = Draw(many, ())
    orders = [found.order(Profile.QUICK, seed) for seed in range(20)]
    for order in orders:
        kinds = [kind for each in order for kind, settings in many.items() if each in settings]
        assert len(kinds) == len(many) and set(kinds) == set(many)
    assert len({tuple(map(str, order)) for order in orders}) == 20, "the seed decides"
    assert found.order(Profile.QUICK, 7) == found.order(Profile.QUICK, 7)
    every = [each for settings in many.values() for each in settings]
    assert sorted(map(str, found.order(Profile.FULL, 3))) == sorted(map(str, every))


def test_every_offload_of_frames_has_a_kind() -> None:
    assert set(draw.OFFLOAD_KINDS) == set(OffloadName) - {OffloadName.TOE}
