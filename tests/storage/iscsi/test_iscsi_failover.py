"""Disks over the bonds of fake servers while a link fails and returns: stalls, failed operations and damage decide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from loaded_disks import LoadedDisks, counts
from stacking import Stacking, install

from niclab.bench.records import OperatingSystem, Role
from niclab.card import StorageFacts, StorageLoad
from niclab.core.figures import NotedFigure
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, Undecided
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, PrimaryReselect
from niclab.links.failure import Cause
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.storage.disk_loads import LoadCounts
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.iscsi import iscsi_failover
from niclab.storage.iscsi.iscsi_initiator import GIVES_UP_AFTER_S
from niclab.storage.volumes import DiskTarget
from Storage import Storage
from StorageFailover import StorageFailover

LIMIT_MS = 1100
GOOD = counts(elapsed_s=6.0, silent_s=0.4, slowest_s=0.9)
KEPT = SessionConnection(50000, 210)
EXPECTED = r"expected at most 3200 ms, none failed \(sheet intel-82574l allows 1100 ms: twice that, and a TCP timer of"


class Disks(LoadedDisks):
    """A session's disks. ``connections``: at each look, the last one again; ``pulled``: links out at each end."""

    def __init__(self, bench: FakeBench) -> None:
        super().__init__(bench, GOOD)
        self.connections: list[SessionConnection | None] = [KEPT]
        self.pulled = list[set[str]]()
        self.pauses = list[float]()
        self._looks = 0

    def end(self) -> None:
        super().end()
        self.pulled.append(self._bench.pulled())

    def ended(self) -> LoadCounts:
        self.pulled.append(self._bench.pulled())
        return super().ended()

    def look(self, *_: object) -> SessionConnection | None:
        self._looks += 1
        return self.connections[min(self._looks, len(self.connections)) - 1]


@pytest.fixture
def disks(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Disks:
    limits = f"carrier_return_within_ms: 50\n  failover_within_ms: {LIMIT_MS}"
    bench.edit(bench.sheet, ("carrier_return_within_ms: 5000", limits))
    facts = StorageFacts(workloads=(StorageLoad.READ,), source="a document")
    taken.card = bench.load()[1].model_copy(update={"iscsi": facts})
    made = Disks(bench)

    @contextmanager
    def offering(*_: object) -> Iterator[DiskTarget]:
        yield DiskTarget("iqn.a:b", "198.18.10.2")

    @contextmanager
    def attached(*_: object) -> Iterator[tuple[str, ...]]:
        yield ("sda", "sdb")

    watch = SimpleNamespace(told=made.told, between=made.between)
    for name, value in {
        "offering": offering,
        "attached": attached,
        "DiskAgent": lambda _: made,
        "DiskClient": lambda *_: made,
        "iscsi_connection": SimpleNamespace(look=made.look),
        "standstill": SimpleNamespace(watch=lambda _: watch),
        "pause": made.pauses.append,
    }.items():
        monkeypatch.setattr(iscsi_failover, name, value)
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    bench.ssh[Role.DUT].replies["command -v"] = ""
    return made


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, disks: Disks, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert disks
    made = install(monkeypatch, bench)
    taken.part(Bonds).create(
        BondSettings(BondMode.ACTIVE_BACKUP, miimon_ms=100, primary_reselect=PrimaryReselect.ALWAYS)
    )
    return made


def survive(by: Cause = Cause.CABLE) -> None:
    StorageFailover().network_disks_should_survive_the_loss_and_return_of_a_link(by)


def of_disks(taken: Run) -> list[NotedFigure]:
    return [each for each in taken.notes.take_figures() if each.subject.startswith("disks")]


def noted(taken: Run) -> list[tuple[str, str, float | None]]:
    return [(each.subject, each.outcome.value, each.value) for each in of_disks(taken)]


def test_disks_that_work_on_are_green(bench: FakeBench, taken: Run, stacking: Stacking, disks: Disks) -> None:
    assert stacking
    survive()
    assert disks.did == ["fill", "random", "random", "check", "end"]
    assert disks.pulled == [{"a"}, set(), set()] and bench.pulled() == set()
    assert disks.pauses == [4.2, 4.2]  # twice the outage, the timer of TCP, and a second
    assert noted(taken) == [
        ("disks over iSCSI, active link lost by cable", "met", 400.0),
        ("disks over iSCSI, primary link back", "met", 400.0),
    ]


def test_a_stall_is_the_cards_and_the_return_is_not_asked(
    bench: FakeBench, taken: Run, stacking: Stacking, disks: Disks
) -> None:
    assert stacking
    disks.finds = [{"silent_s": 3.3, "failed": 40}]
    with pytest.raises(CardFailure, match=rf"active link lost by cable: no operation ended for 3300 ms.*; {EXPECTED}"):
        survive()
    assert disks.did == ["fill", "random", "end"] and disks.pulled[-1] == bench.pulled() == set()
    assert noted(taken) == [("disks over iSCSI, active link lost by cable", "missed", 3300.0)]


@pytest.mark.parametrize(("usual_s", "enough_s"), [(0.9, 4.0), (60.0, 4.2)])
def test_a_single_operation_that_waits_too_long_is_the_cards(
    taken: Run, stacking: Stacking, disks: Disks, usual_s: float, enough_s: float
) -> None:
    """Others go on: those of a disk whose requests all got through."""
    assert stacking
    disks.whole, disks.finds = {"slowest_s": usual_s}, [{"slowest_s": enough_s}]
    survive()
    taken.notes.take_figures()
    disks.finds = [{"slowest_s": 61.0}]
    usual_ms = 900 if usual_s < 1 else 1000
    words = rf"the slowest took 61000 ms \(with no link failing up to {usual_ms} ms\).*; {EXPECTED}"
    with pytest.raises(CardFailure, match=words):
        survive()
    assert noted(taken) == [("disks over iSCSI, active link lost by cable", "missed", 61000.0 - usual_ms)]


def test_a_single_operation_that_may_have_waited_for_a_server_is_undecided(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.finds, disks.stood = [{"slowest_s": 4.2}], (Stood("dut", 300),)
    with pytest.raises(Undecided, match=r"slowest took 4200 ms .*; servers stood still for 300 ms"):
        survive()


def test_a_stall_at_the_return_is_the_cards(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.finds = [{}, {"silent_s": 3.3}]
    with pytest.raises(CardFailure, match="primary link back: no operation ended for 3300 ms"):
        survive()


def test_a_stall_of_a_server_is_measured_again(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.finds, disks.stood = [{"silent_s": 3.3}], (Stood("dut", 300),)
    with pytest.raises(Undecided, match=r"3300 ms.*; servers stood still for 300 ms"):
        survive()
    assert disks.did.count("random") == 3
    disks.stood = (Stood("dut", 60),)
    with pytest.raises(CardFailure, match="3300 ms"):
        survive()


def test_operations_that_fail_within_the_limit_are_nobodys(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.finds = [{"failed": 3}]
    with pytest.raises(Undecided, match="3 of 103 failed"):
        survive()
    assert disks.did.count("random") == 1, "another measurement would forget them"


def test_a_server_that_stands_still_as_the_load_begins_is_no_link_that_fails(stacking: Stacking, disks: Disks) -> None:
    """The program counts from its first operation on, thus before the link changes."""
    assert stacking
    disks.finds, disks.stood_at_begin = [{"silent_s": 3.3}], (Stood("dut", 3000),)
    with pytest.raises(Undecided, match=r"3300 ms.*; servers stood still for 3000 ms"):
        survive()


@pytest.mark.parametrize("stood_ms", [300, GIVES_UP_AFTER_S * 1000 - 1])
def test_operations_that_fail_with_a_server_still_for_less_than_the_session_waits_count_at_once(
    stacking: Stacking, disks: Disks, stood_ms: int
) -> None:
    assert stacking
    disks.finds, disks.stood = [{"failed": 40}, {}], (Stood("dut", stood_ms), Stood("peer", stood_ms))
    with pytest.raises(Undecided, match=r"40 of 140 failed.*; servers stood still for"):
        survive()
    assert disks.did.count("random") == 1, "another measurement would forget them"


def test_operations_that_fail_while_a_server_stands_still_are_measured_again(stacking: Stacking, disks: Disks) -> None:
    """A session whose server stops for so long fails its operations by itself."""
    assert stacking
    disks.finds, disks.stood = [{"failed": 3}], (Stood("dut", GIVES_UP_AFTER_S * 1000),)
    with pytest.raises(Undecided, match="3 of 103 failed"):
        survive()
    assert disks.did.count("random") == 3


@pytest.mark.parametrize("when", ["fill", "load"])
def test_damage_is_nobodys_and_at_once(stacking: Stacking, disks: Disks, when: str) -> None:
    assert stacking
    if when == "fill":
        disks.whole = {"damaged": 1}
    else:
        disks.finds = [{"damaged": 1}]
    with pytest.raises(Undecided, match="1 blocks with another content, 0 operations failed, such as block 7"):
        survive()
    assert disks.did.count("random") == (when == "load") and disks.pulled[-1] == set()


def test_the_timer_of_the_connection_counts_where_it_is_longer(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.finds, disks.connections = [{"silent_s": 3.3}], [SessionConnection(50000, 1400)]
    survive()


def test_another_login_is_recorded(taken: Run, stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.connections = [KEPT, SessionConnection(50002, 210), KEPT, None]
    survive()
    found = [each.found for each in of_disks(taken)]
    assert found[0].endswith("the session was logged in again (TCP port 50000 before, 50002 after)")
    assert found[1].endswith("the session has no connection")


def test_a_session_without_a_connection_is_the_benchs_fault(stacking: Stacking, disks: Disks) -> None:
    assert stacking
    disks.connections = [None]
    with pytest.raises(BenchFault, match=r"iqn\.a:b: no TCP connection while disks are loaded"):
        survive()


def test_a_bond_that_stays_is_the_cards(stacking: Stacking, disks: Disks) -> None:
    stacking.stays = True
    with pytest.raises(CardFailure, match=r"dut uses enp1s0; expected enp2s0 that has its link"):
        survive()
    assert disks.pulled[-1] == set()


def test_what_is_not_asked_for_is_not_applicable(taken: Run, disks: Disks) -> None:
    card = taken.card
    taken.card = card.model_copy(update={"iscsi": None})
    with pytest.raises(NotApplicable, match="has no section iscsi"):
        Storage().require_network_disks()
    taken.card = card
    Storage().require_network_disks()
    peer = taken.server(Role.PEER)
    peer.description = peer.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    with pytest.raises(NotApplicable, match="peer runs freebsd"):
        Storage().require_network_disks()
    assert disks.did == []


def test_without_a_limit_the_sheet_is_silent(taken: Run, stacking: Stacking, disks: Disks) -> None:
    assert stacking
    limits = taken.card.limits.model_copy(update={"failover_within_ms": None})
    taken.card = taken.card.model_copy(update={"limits": limits})
    with pytest.raises(SheetSilent, match=r"says nothing about limits\.failover_within_ms"):
        survive()
    assert disks.did == []


@pytest.mark.parametrize("stays", [False, True])
def test_damage_hides_no_failure_of_the_bond(stacking: Stacking, disks: Disks, stays: bool) -> None:
    stacking.stays = stays
    disks.finds = [{"damaged": 1, "silent_s": 0.4 if stays else 3.3}]
    with pytest.raises(CardFailure, match="dut uses enp1s0" if stays else "for 3300 ms, .*; 1 blocks with"):
        survive()
