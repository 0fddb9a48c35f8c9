"""Reads over the bonds of fake servers while a link fails and returns: silence, failed calls and damage decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench
from stacking import Stacking, install

from niclab.bench.records import OperatingSystem, Role
from niclab.card import NfsLimits
from niclab.core.figures import NotedFigure
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, Undecided
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links.failure import Cause
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.nfs import nfs_failover
from niclab.storage.nfs.nfs_reads import NfsTransport, ReadsOn
from niclab.storage.nfs.nfs_server import NfsExport
from StorageFailover import StorageFailover

LIMIT_MS = 1100
GOOD = ReadsOn(reads=900, failed=0, damaged=0, silent_s=0.4, example="")
EXPECTED = r"expected at most 3200 ms, none failed \(sheet intel-82574l allows 1100 ms: twice that, and a TCP timer of"


class Files:
    """A file that is read. ``finds``: changes of the counts of each time, the last one again."""

    def __init__(self, bench: FakeBench) -> None:
        self.finds: list[dict[str, Any]] = [{}]
        self.connection: SessionConnection | None = SessionConnection(700, 210)
        self.stood: tuple[Stood, ...] = ()
        self.stood_at_begin: tuple[Stood, ...] = ()
        self.begun, self.read, self.ended = 0, 0, 0
        self.pulled = list[set[str]]()
        self.pauses = list[float]()
        self.asked = list[object]()
        self._bench = bench

    def end(self) -> None:
        self.ended += 1

    @contextmanager
    def going_on(self, transport: NfsTransport) -> Iterator[Callable[[], ReadsOn]]:
        assert transport is NfsTransport.TCP
        self.begun += 1
        yield self._counts

    def _counts(self) -> ReadsOn:
        self.read += 1
        self.pulled.append(self._bench.pulled())
        return GOOD.model_copy(update=self.finds[min(self.read, len(self.finds)) - 1])

    def between(self, *asked: object) -> SessionConnection | None:
        self.asked = list(asked[1:])
        return self.connection

    def stood_between(self, before: int, after: int) -> tuple[Stood, ...]:
        return (*self.stood, *(self.stood_at_begin if after > before else ()))


@pytest.fixture
def files(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Files:
    limits = f"carrier_return_within_ms: 50\n  failover_within_ms: {LIMIT_MS}"
    bench.edit(bench.sheet, ("carrier_return_within_ms: 5000", limits))
    card = bench.load()[1]
    facts = card.limits.model_copy(update={"nfs": NfsLimits(udp_fraction_of_line_rate=0.25, source="a document")})
    taken.card = card.model_copy(update={"limits": facts})
    made = Files(bench)

    @contextmanager
    def serving(*_: object) -> Iterator[NfsExport]:
        yield NfsExport("198.18.10.2", "198.18.10.1", "seed")

    watch = SimpleNamespace(told=lambda: made.begun, between=made.stood_between)
    for name, value in {
        "serving": serving,
        "require_free": lambda _: False,
        "NfsAgent": lambda _: made,
        "NfsClient": lambda *_: made,
        "connection": made,
        "standstill": SimpleNamespace(watch=lambda _: watch),
        "pause": made.pauses.append,
    }.items():
        monkeypatch.setattr(nfs_failover, name, value)
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    return made


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, files: Files, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert files
    made = install(monkeypatch, bench)
    taken.part(Bonds).create(
        BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100, primary_reselect=PrimaryReselect.ALWAYS)
    )
    return made


def survive() -> None:
    StorageFailover().nfs_reads_should_survive_the_loss_and_return_of_a_link(Cause.CABLE)


def noted(taken: Run) -> list[tuple[str, str, float | None]]:
    figures: list[NotedFigure] = [each for each in taken.notes.take_figures() if each.subject.startswith("reads")]
    return [(each.subject, each.outcome.value, each.value) for each in figures]


def test_reads_that_go_on_are_green(bench: FakeBench, taken: Run, stacking: Stacking, files: Files) -> None:
    assert stacking
    survive()
    assert files.pulled == [{"a"}, set()] and bench.pulled() == set() and files.ended == 1
    assert files.pauses == [4.2, 4.2]  # twice the outage, the timer of TCP, and a second
    assert files.asked == [Role.PEER, "198.18.10.2", ("198.18.10.1", 2049)]
    assert noted(taken) == [
        ("reads over NFS, active link lost by cable", "met", 400.0),
        ("reads over NFS, primary link back", "met", 400.0),
    ]


def test_a_silence_is_the_cards_and_the_return_is_not_asked(taken: Run, stacking: Stacking, files: Files) -> None:
    assert stacking
    files.finds = [{"silent_s": 3.3, "failed": 4}]
    with pytest.raises(
        CardFailure, match=rf"active link lost by cable: no call was answered for 3300 ms.*; {EXPECTED}"
    ):
        survive()
    assert noted(taken) == [("reads over NFS, active link lost by cable", "missed", 3300.0)] and files.ended == 1


def test_a_silence_at_the_return_is_the_cards(stacking: Stacking, files: Files) -> None:
    assert stacking
    files.finds = [{}, {"silent_s": 3.3}]
    with pytest.raises(CardFailure, match="primary link back: no call was answered for 3300 ms"):
        survive()


def test_the_timer_of_the_connection_counts_where_it_is_longer(stacking: Stacking, files: Files) -> None:
    assert stacking
    files.finds, files.connection = [{"silent_s": 3.3}], SessionConnection(700, 1400)
    survive()


def test_a_stall_of_a_server_is_measured_again(stacking: Stacking, files: Files) -> None:
    assert stacking
    files.finds, files.stood = [{"silent_s": 3.3}], (Stood("dut", 300),)
    with pytest.raises(Undecided, match=r"3300 ms.*; servers stood still for 300 ms"):
        survive()
    assert files.read == 3
    files.stood = (Stood("dut", 60),)
    with pytest.raises(CardFailure, match="3300 ms"):
        survive()


def test_a_server_that_stands_still_as_reading_begins_is_no_link_that_fails(stacking: Stacking, files: Files) -> None:
    """The program counts from its first answer on, thus before the link changes."""
    assert stacking
    files.finds, files.stood_at_begin = [{"silent_s": 3.3}], (Stood("peer", 3000),)
    with pytest.raises(Undecided, match=r"3300 ms.*; servers stood still for 3000 ms"):
        survive()


@pytest.mark.parametrize(("stood_ms", "times"), [(0, 1), (4999, 1), (5000, 3)])
def test_calls_that_fail_within_the_limit_are_nobodys(
    stacking: Stacking, files: Files, stood_ms: int, times: int
) -> None:
    """Only a server that stood still for as long as the last answers may take explains them."""
    assert stacking
    files.finds = [{"failed": 4, "example": "the server has closed the connection"}]
    files.stood = (Stood("peer", stood_ms),) if stood_ms else ()
    with pytest.raises(Undecided, match="4 of 904 failed, such as the server has closed the connection"):
        survive()
    assert files.read == times


def test_damage_is_nobodys_and_at_once(stacking: Stacking, files: Files) -> None:
    assert stacking
    files.finds = [{"damaged": 2, "example": "byte 7 is wrong"}, {}]
    with pytest.raises(Undecided, match="2 of 900 with another content, such as byte 7 is wrong"):
        survive()
    assert files.read == 1


@pytest.mark.parametrize("stays", [False, True])
def test_damage_hides_no_failure_of_the_bond(stacking: Stacking, files: Files, stays: bool) -> None:
    stacking.stays = stays
    files.finds = [{"damaged": 2, "silent_s": 0.4 if stays else 3.3}]
    with pytest.raises(CardFailure, match="dut uses enp1s0" if stays else "for 3300 ms, .*; 2 with another"):
        survive()


def test_a_client_without_a_connection_is_the_benchs_fault(stacking: Stacking, files: Files) -> None:
    assert stacking
    files.connection = None
    with pytest.raises(BenchFault, match=r"198\.18\.10\.2: no TCP connection with 198\.18\.10\.1:2049"):
        survive()


def test_a_bond_that_stays_is_the_cards(stacking: Stacking, files: Files) -> None:
    stacking.stays = True
    with pytest.raises(CardFailure, match=r"dut uses enp1s0; expected enp2s0 that has its link"):
        survive()
    assert files.read == 1


def test_a_sheet_or_a_system_without_it_is_not_asked(taken: Run, files: Files) -> None:
    StorageFailover().require_nfs_reads()
    card = taken.card
    taken.card = card.model_copy(update={"limits": card.limits.model_copy(update={"nfs": None})})
    with pytest.raises(NotApplicable, match=r"has no limits\.nfs"):
        StorageFailover().require_nfs_reads()
    taken.card = card
    peer = taken.server(Role.PEER)
    peer.description = peer.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    with pytest.raises(NotApplicable, match="peer runs freebsd"):
        StorageFailover().require_nfs_reads()
    assert files.read == 0


def test_without_a_limit_the_sheet_is_silent(taken: Run, stacking: Stacking, files: Files) -> None:
    assert stacking
    limits = taken.card.limits.model_copy(update={"failover_within_ms": None})
    taken.card = taken.card.model_copy(update={"limits": limits})
    with pytest.raises(SheetSilent, match=r"says nothing about limits\.failover_within_ms"):
        survive()
    assert files.read == 0
