"""Checks of delivery and filters in network namespaces. A veth pair is a card without filters: those checks are red."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces
from relay import PLACES

from niclab.bench.records import DeclaredDeviation, Role, SiliconFact
from niclab.card import Card, ExactFilter, FilterFacts, MulticastFilter, Unknown
from niclab.core import exposure
from niclab.core.verdict import CardFailure, Deviation, NotApplicable, Undecided
from niclab.frames import delivery, exchange, filters
from niclab.frames.exchange import near_addresses, strange_addresses
from niclab.frames.load.lost_frames import lost_frames
from niclab.frames.spec import Arrives, FrameStream, MadeBy
from niclab.run.run import Run
from niclab.run.run_notes import RunNotes

Check = Callable[[Run, Callable[[str], object]], None]


def knows(
    bench: Namespaces,
    monkeypatch: pytest.MonkeyPatch,
    groups: MulticastFilter = MulticastFilter.EXACT,
    single: ExactFilter | Unknown = ExactFilter.EXACT,
) -> None:
    """Give the card a sheet that knows its filters."""
    facts = FilterFacts(multicast=groups, unicast=single, vlan=single, source="test")
    known: Any = SimpleNamespace(name="veth", filters=facts, section=lambda found, _: found)
    known.known = lambda fact, field: Card.known(known, fact, field)
    monkeypatch.setattr(bench.run, "card", known)


def test_a_filter_that_nobody_knows_is_not_judged(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    knows(clean, monkeypatch, single=Unknown(unknown="nobody measured it"))
    unicast = (filters.own_address_only, filters.promiscuous, filters.all_groups)
    for check, field in (*((each, "unicast") for each in unicast), (filters.vlans, "vlan")):
        with pytest.raises(NotApplicable, match=rf"sheet veth does not know filters\.{field}"):
            check(clean.run, str)


def test_a_declared_deviation_of_the_model_is_not_judged(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    knows(clean, monkeypatch)
    facts: Any = {"fact": SiliconFact.UNICAST_FILTER, "how": "looks up hashes", "source": "measured"}
    monkeypatch.setattr(clean.run.bench, "deviations", (DeclaredDeviation(card="veth", **facts),))
    said = r"sheet veth says filters\.unicast: exact; the model of this bench deviates: looks up hashes \(measured\)"
    with pytest.raises(Deviation, match=said):
        filters.own_address_only(clean.run, str)
    monkeypatch.setattr(clean.run.bench, "deviations", (DeclaredDeviation(card="other", **facts),))
    with pytest.raises(CardFailure, match="were delivered to"):
        filters.own_address_only(clean.run, str)


def test_an_inexact_filter_is_judged_by_an_address_that_it_refuses(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A filter of hashes lets some strange addresses through; those prove nothing of promiscuous mode."""
    knows(clean, monkeypatch, single=Unknown(unknown="it compares hashes"))
    strange, asked = strange_addresses(filters.STRANGE, filters.SEED), list[set[str]]()

    def exchanged(_: Run, streams: list[FrameStream], *__: object) -> tuple[Any, None]:
        sent = {number: stream for number, stream in enumerate(streams) if stream.frame is not None}
        asked.append({stream.frame.destination for stream in sent.values() if stream.frame})
        passed = [n for n, stream in sent.items() if stream.frame and stream.frame.destination != strange[2]]
        return SimpleNamespace(legs=[SimpleNamespace(streams=sent, arrived=passed)]), None

    monkeypatch.setattr(filters, "exchange", exchanged)
    filters.promiscuous(clean.run, str)
    assert set(strange) <= asked[0] and len(asked) == 3
    assert all(sent & set(strange) == {strange[2]} for sent in asked[1:])


def test_frames_arrive_and_each_stream_is_in_the_log(clean: Namespaces) -> None:
    said = list[str]()
    delivery.once_in_order(clean.run, said.append)
    assert len(said) == 4 and said[0] == "dut.p0 to peer.p0: frames of mixed sizes: 997 sent, 997 at the port"


def test_compared_frames_are_noted_for_each_port_and_direction(
    clean: Namespaces, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clean.run, "notes", RunNotes(tmp_path))
    delivery.once_in_order(clean.run, str)
    found = exposure.read(tmp_path / exposure.FILE)
    places = [f"dut.{port} {does}" for port in ("p0", "p1") for does in ("sends", "receives")]
    assert found.at == Counter({(exposure.Exposure.FRAMES, at): delivery.FRAMES for at in places})
    assert found.sums == {exposure.Exposure.FRAMES: 4 * delivery.FRAMES}


def test_frames_of_every_size_arrive(clean: Namespaces) -> None:
    said = list[str]()
    delivery.every_size(clean.run, said.append)
    assert said[1] == "peer.p0 to dut.p0: frames of 60 to 1514 bytes: 1455 sent, 1455 at the port"


def test_wrong_checksums_are_counted(clean: Namespaces) -> None:
    said = list[str]()
    delivery.wrong_checksums(clean.run, said.append)
    assert (
        said[-1]
        == "dut: counted wrong checksums {'ip': 192, 'tcp': 192, 'udp': 192, 'udp6': 0}, 192 connections refused"
    )


@pytest.mark.parametrize(("more", "verdict"), [(1, CardFailure), (-1, Undecided)])
def test_refusals_that_are_missing_may_be_lost_by_either_end(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch, more: int, verdict: type[Exception]
) -> None:
    """One too many answers a connection whose checksum was wrong."""
    plain = delivery.exchange

    def exchanged(*words: Any) -> object:
        ledger, answers = plain(*words)
        look = answers[Role.PEER].ports["p0"]
        other = look.model_copy(update={"resets": look.resets + more})
        peer = replace(answers[Role.PEER], ports={**answers[Role.PEER].ports, "p0": other})
        return ledger, {**answers, Role.PEER: peer}

    monkeypatch.setattr(delivery, "exchange", exchanged)
    with pytest.raises(verdict, match=rf"^dut: {192 + more} connections to a closed port refused; expected 192"):
        delivery.wrong_checksums(clean.run, str)


def test_refusals_that_come_late_are_awaited(clean: Namespaces) -> None:
    said = list[str]()
    clean.spoil("late")
    delivery.wrong_checksums(clean.run, said.append)
    assert said[-1].endswith("192 connections refused")


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (
            "flip",
            r"(?s)dut\.p1 to peer\.p1: .* damaged at peer\.p1 .*byte 17 of \d+ is 0x.., sent 0x..; 1 bit"
            r".*peer\.p1 to dut\.p1: .* damaged at dut\.p1 ",
        ),
        ("twice", r"(?s)frames arrived twice at peer\.p1 .*; expected each once.* arrived twice at dut\.p1 "),
    ],
)
def test_frames_that_are_damaged_by_the_card_or_the_peer_are_named(clean: Namespaces, word: str, says: str) -> None:
    clean.spoil(word)
    with pytest.raises(Undecided, match=says):
        delivery.once_in_order(clean.run, str)


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (filters.own_address_only, r"peer\.p0 to dut\.p0: frames to .*: 97 of 97 frames were delivered to dut\.p0"),
        (filters.promiscuous, r"frames to a strange address afterwards: 97 of 97 frames were delivered to dut\.p0"),
        (filters.all_groups, r"frames to a strange address: 97 of 97 frames were delivered to dut\.p0"),
    ],
)
def test_a_card_that_filters_nothing_fails(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch, check: Check, says: str
) -> None:
    knows(clean, monkeypatch)
    with pytest.raises(CardFailure, match=says):
        check(clean.run, str)


@pytest.mark.parametrize(
    ("kind", "allowed"), [(MulticastFilter.EXACT, 0), (MulticastFilter.HASH, 12), (MulticastFilter.NONE, None)]
)
def test_groups_that_get_through_are_judged_by_the_filter(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch, kind: MulticastFilter, allowed: int | None
) -> None:
    knows(clean, monkeypatch, kind)
    said = list[str]()
    if allowed is None:
        filters.groups(clean.run, said.append)
        assert said[-1] == "dut.p1: 48 of 48 groups that were not joined got through"
        return
    with pytest.raises(CardFailure, match=rf"sheet veth allows {allowed}: its filter is {kind.value}"):
        filters.groups(clean.run, said.append)


def test_further_addresses_are_received(clean: Namespaces) -> None:
    filters.more_addresses(clean.run, str)


def test_addresses_are_what_they_are_called() -> None:
    own = "52:54:00:12:34:56"
    near = near_addresses(own, filters.BITS)
    assert near[0] == "52:54:00:12:34:57" and near[-1] == "52:d4:00:12:34:56" and len(set(near)) == len(filters.BITS)
    assert all(int(mac[:2], 16) & 1 == 0 for mac in near)
    assert all(mac[:3] == "02:" for mac in strange_addresses(9, 1))
    groups = strange_addresses(9, 1, multicast=True)
    assert all(re.fullmatch(r"03(:[0-9a-f]{2}){5}", mac) for mac in groups) and len(set(groups)) == 9
    assert strange_addresses(9, 1) == strange_addresses(9, 1) != strange_addresses(9, 2)


def test_an_exchange_is_made_again_when_a_server_stood_still_and_frames_were_lost(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    stood = iter([["dut stood still for 900 ms"], []])
    watch = SimpleNamespace(told=tuple, between=lambda *_: next(stood))
    monkeypatch.setattr(exchange.standstill, "watch", lambda _: watch)
    clean.spoil("drop")
    said = list[str]()
    with pytest.raises(Undecided, match="lost between the ports"):
        delivery.once_in_order(clean.run, said.append)
    assert said[0] == "again, as dut stood still for 900 ms"


def test_records_over_sockets_are_judged(clean: Namespaces) -> None:
    bench = exchange.FrameBench(clean.run)
    streams = [stream for port in bench.ports for stream in delivery._records(bench, port)]
    said = list[str]()
    exchange.exchange(clean.run, streams, said.append)
    assert len(said) == len(streams) and all(re.search(r" (\d+) sent, \1 at the program$", line) for line in said), said
    clean.spoil("drop")
    with pytest.raises(Undecided, match=r"p1: datagrams: \d+ of 149 frames arrived at a program of .*; expected all"):
        exchange.exchange(clean.run, streams, str)


def test_records_in_pieces_are_judged(clean: Namespaces) -> None:
    bench = exchange.FrameBench(clean.run)
    streams = [
        replace(bench.records("records in pieces", port, MadeBy.TCP, 41, delivery.RECORD_SIZES), pieces=delivery.PIECES)
        for port in bench.of(Role.DUT)
    ]
    said = list[str]()
    exchange.exchange(clean.run, streams, said.append)
    counts = [line.rpartition(": ")[2] for line in said if not line.startswith("again, as ")]
    assert counts == ["41 sent, 41 at the program"] * len(streams)


def test_frames_that_may_be_lost_are_told_with_their_numbers(clean: Namespaces) -> None:
    clean.spoil("drop")
    bench = exchange.FrameBench(clean.run)
    streams = [bench.frames("frames while a port restarts", port, 400, (60, 1514)) for port in bench.ports]
    ledger, _ = exchange.exchange(clean.run, [replace(each, at_port=Arrives.SOME) for each in streams], str)
    came = [found.frames for leg in ledger.legs for found in leg.arrived.values()]
    assert len(came) == len(streams) and 0 < min(came) < 400
    kept, spoilt, *_ = lost_frames(ledger)
    assert (
        kept.runs == []
        and str(kept) == "dut.p0 to peer.p0: frames while a port restarts: 0 of 400 frames lost in 0 places"
    )
    assert spoilt.runs == [(10 * tens + PLACES[tens % 10], 1) for tens in range(40)]
    assert (spoilt.lost, spoilt.worst(44), spoilt.worst(45), spoilt.outside_of(12)) == (40, 5, 6, 28)


def test_the_vlans_of_the_table_cover_each_word_and_each_bit_alike() -> None:
    assert min(filters.TABLE) >= 1 and max(filters.TABLE) <= 4094
    assert Counter(vid // 32 for vid in filters.TABLE) == dict.fromkeys(range(128), 1)
    assert Counter(vid % 32 for vid in filters.TABLE) == dict.fromkeys(range(32), 4)
