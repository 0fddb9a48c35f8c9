"""Checksum offload while fragmented datagrams are sent: on at each end whose system can switch it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from verdicts import words_of

from niclab.bench.records import OperatingSystem, Role
from niclab.card import At, Setting
from niclab.card.card_file import load_card
from niclab.core.verdict import BenchFault, CardFailure
from niclab.traffic.fragments import whole_fragments
from niclab.traffic.fragments.datagrams import Delivery

WHOLE = Delivery(sent=60, whole=60, twice=0, damaged=0, wrong_sums=0)
LINUX, FREEBSD = OperatingSystem.LINUX, OperatingSystem.FREEBSD


@pytest.mark.parametrize(
    ("card", "dut", "peer", "from_dut", "from_peer"),
    [
        ("alteon-acenic", LINUX, LINUX, set(), set()),
        ("alteon-acenic", FREEBSD, LINUX, {At.SENDER}, {At.RECEIVER}),
        ("alteon-acenic", LINUX, FREEBSD, {At.RECEIVER}, {At.SENDER}),
        ("chelsio-t580-cr", FREEBSD, LINUX, {At.SENDER, At.RECEIVER}, {At.SENDER, At.RECEIVER}),
    ],
)
def test_each_end_is_switched_as_its_own_system_can(
    monkeypatch: pytest.MonkeyPatch,
    card: str,
    dut: OperatingSystem,
    peer: OperatingSystem,
    from_dut: set[At],
    from_peer: set[At],
) -> None:
    made = dict[Role, tuple[Setting, ...]]()

    @contextmanager
    def applied(_: object, way: Any, settings: tuple[Setting, ...]) -> Iterator[None]:
        made[way.sender] = settings
        yield

    systems = {Role.DUT: dut, Role.PEER: peer}
    run: Any = SimpleNamespace(
        card=load_card(card), server=lambda role: SimpleNamespace(description=SimpleNamespace(os=systems[role]))
    )
    monkeypatch.setattr(whole_fragments, "applied", applied)
    monkeypatch.setattr(whole_fragments.standstill, "watch", lambda _: SimpleNamespace(told=dict))
    monkeypatch.setattr(whole_fragments.endpoints, "ends", lambda *_: SimpleNamespace(name="ends"))
    monkeypatch.setattr(whole_fragments.datagrams, "deliver", lambda *_: WHOLE)
    path: Any = None
    whole_fragments.judge(run, path, print)
    for sender, wanted in ((Role.DUT, from_dut), (Role.PEER, from_peer)):
        assert {each.at for each in made[sender] if each.name == "tx-checksum"} == wanted
        assert all(each.to is True for each in made[sender])


def test_what_one_direction_has_proven_stands_though_the_other_cannot_be_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def deliver(_: object, ends: SimpleNamespace) -> Delivery:
        if ends.name == "from peer":
            raise BenchFault("dut: the receiver has ended")
        return Delivery(sent=60, whole=59, twice=0, damaged=1, wrong_sums=0)

    run: Any = None
    path: Any = None
    monkeypatch.setattr(whole_fragments, "applied", lambda *_: nullcontext())
    monkeypatch.setattr(whole_fragments, "_checksums_on", lambda *_: ())
    monkeypatch.setattr(whole_fragments.standstill, "watch", lambda _: SimpleNamespace(told=dict))
    monkeypatch.setattr(whole_fragments.endpoints, "ends", lambda *of: SimpleNamespace(name=f"from {of[-1].value}"))
    monkeypatch.setattr(whole_fragments.datagrams, "deliver", deliver)
    failed, undecided = words_of(CardFailure, lambda: whole_fragments.judge(run, path, print)).splitlines()
    assert failed.startswith("from dut: ")
    assert undecided == "undecided: dut: the receiver has ended"
