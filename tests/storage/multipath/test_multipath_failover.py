"""Disks over two paths of fake servers while one is lost and returns: paths in use, stalls and damage decide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench
from loaded_disks import LoadedDisks, counts

from MultipathStorage import MultipathStorage
from niclab.bench.records import OperatingSystem, Role
from niclab.card import StorageFacts, StorageLoad
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.links.failure import Cause
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.storage.disk_loads import LoadCounts
from niclab.storage.multipath import multipath_disks, multipath_failover
from niclab.storage.multipath.multipath_disks import BACK_WITHIN_S, LOST_WITHIN_S, MultipathDisks
from niclab.storage.multipath.multipath_maps import DiskMap
from niclab.storage.volumes import DiskTarget

GOOD = counts(elapsed_s=31.0, silent_s=21.0, slowest_s=21.5)
LOST, BACK = "path a lost by cable", "path a back"


class Disks(LoadedDisks):
    """Two disks over each of two paths.

    ``failed``: paths that fail though nobody has lost them; ``left``: disks that are in no map; ``foreign``: those that
    every map has, too; ``maps``: how many there are; ``stays``: maps change no path; ``mute``: paths over which no ping
    is answered.
    """

    def __init__(self, bench: FakeBench) -> None:
        super().__init__(bench, GOOD)
        self.failed, self.mute, self.left, self.foreign = set[str](), set[str](), set[str](), set[str]()
        self.maps, self.stays = 2, False
        self.carrier: Exception | None = None
        self.pinged = list[str]()

    def check(self) -> LoadCounts:
        self.did.append(f"check without {sorted(self._bench.pulled())}")
        return GOOD

    def look(self, _: object) -> list[DiskMap]:
        bad = self.failed | self._bench.pulled()
        used = "a" if "a" not in bad or self.stays else "b"
        disks = (("sda", "sdc"), ("sdb", "sdd"))[: self.maps]
        found = list[DiskMap]()
        for number, (first, second) in enumerate(disks):
            active = {first: "a" not in bad, second: "b" not in bad}
            held = {disk: is_active for disk, is_active in active.items() if disk not in self.left}
            held |= dict.fromkeys(self.foreign, True)
            found.append(DiskMap(f"m{number}", 5120, first if used == "a" else second, held))
        return found

    def answers(self, _: object, ports: list[Any]) -> None:
        self.pinged += [port.name for port in ports]
        if ports[0].name == ("dut.p0" if "a" in self.mute else "dut.p1" if "b" in self.mute else ""):
            raise CardFailure(f"{ports[0].name}: 0 of 10 pings answered")

    def returned(self, *_: object, **__: object) -> None:
        self.did.append("carrier")
        if self.carrier:
            raise self.carrier


@pytest.fixture
def disks(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Disks:
    facts = StorageFacts(workloads=(StorageLoad.READ,), source="a document")
    taken.card = taken.card.model_copy(update={"iscsi": facts})
    made = Disks(bench)

    @contextmanager
    def offering(_: object, path: Any, *__: object) -> Iterator[DiskTarget]:
        made.did.append(f"offer {path.name}")
        yield DiskTarget(f"iqn.a:{path.name}", "198.18.10.2")
        made.did.append(f"withdraw {path.name}")

    @contextmanager
    def attached(_: object, path: Any, *__: object, **___: object) -> Iterator[tuple[str, ...]]:
        yield ("sda", "sdb") if path.name == "a" else ("sdc", "sdd")
        made.did.append(f"log out of {path.name} without {sorted(bench.pulled())}")

    @contextmanager
    def mapped(*_: object) -> Iterator[tuple[str, ...]]:
        yield ("m0", "m1")
        made.did.append("unmap")

    maps = SimpleNamespace(
        mapped=mapped, look=made.look, require_installed=lambda _: made.did.append("look"), serials=lambda _: ("1", "2")
    )
    parts = {"offering": offering, "offering_too": offering, "attached": attached, "multipath_maps": maps}
    parts |= {"DiskAgent": lambda _: made, "DiskClient": lambda *_: made}
    for name, value in parts.items():
        monkeypatch.setattr(multipath_disks, name, value)
    monkeypatch.setattr(multipath_disks, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(multipath_disks, "LOST_WITHIN_S", 0.05)
    monkeypatch.setattr(multipath_disks, "BACK_WITHIN_S", 0.05)
    watch = SimpleNamespace(told=made.told, between=made.between)
    monkeypatch.setattr(multipath_failover, "standstill", SimpleNamespace(watch=lambda _: watch))
    monkeypatch.setattr(multipath_failover, "pause", lambda seconds: made.did.append(f"pause {seconds}"))
    monkeypatch.setattr(multipath_failover, "link_checks", SimpleNamespace(require_answers=made.answers))
    monkeypatch.setattr(multipath_failover, "carrier", SimpleNamespace(expect=made.returned))
    bench.ssh[Role.DUT].replies["command -v"] = ""
    return made


@pytest.fixture
def connected(disks: Disks) -> Disks:
    MultipathStorage().connect_disks_over_two_paths()
    disks.did.clear()
    return disks


def survive(by: Cause = Cause.CABLE) -> None:
    MultipathStorage().multipath_disks_should_survive_the_loss_of_a_path(by)


def lose() -> None:
    MultipathStorage().lose_the_preferred_path_of_the_disks(Cause.CABLE)


def use_again() -> None:
    MultipathStorage().multipath_disks_should_use_a_path_that_returns(Cause.CABLE)


def noted(taken: Run) -> list[tuple[str, str, float | None]]:
    figures = [each for each in taken.notes.take_figures() if each.subject.startswith("disks")]
    return [(each.subject, each.outcome.value, each.value) for each in figures]


def test_disks_are_connected_and_removed_in_turn(bench: FakeBench, disks: Disks) -> None:
    library = MultipathStorage()
    library.connect_disks_over_two_paths()
    with pytest.raises(BenchFault, match="connected already"):
        library.connect_disks_over_two_paths()
    lose()
    library.disconnect_the_disks()
    library.disconnect_the_disks()
    assert disks.did == ["look", "offer a", "offer b", "look", "end", "unmap", "log out of b without []",
                         "log out of a without []", "withdraw b", "withdraw a"]  # fmt: skip
    assert bench.pulled() == set()
    with pytest.raises(BenchFault, match="there are no disks"):
        survive()


def test_disks_that_work_on_over_the_other_path_are_green(bench: FakeBench, taken: Run, connected: Disks) -> None:
    survive()
    assert connected.did == ["fill", "random", f"pause {LOST_WITHIN_S + 1.0}", "check without ['a']"]
    assert noted(taken) == [(f"disks over two paths, {LOST}", "met", 21000.0)]
    assert LOST_WITHIN_S == BACK_WITHIN_S == 30
    MultipathStorage().restore_the_preferred_path_of_the_disks()
    assert bench.pulled() == set()


@pytest.mark.parametrize("find", [{"failed": 10}, {"silent_s": 30.1}, {"slowest_s": 31.1}])
def test_the_other_path_that_carries_nothing_is_the_cards(connected: Disks, find: dict[str, Any]) -> None:
    connected.finds, connected.mute = [find], {"b"}
    with pytest.raises(
        CardFailure, match=rf"{LOST}: .*expected at most 30000 ms, none failed \(a silent .*\n.*0 of 10"
    ):
        survive()
    assert connected.pinged == ["dut.p1", "peer.p1"] and connected.did.count("random") == 1


def test_a_stall_over_a_path_that_carries_pings_is_nobodys(taken: Run, connected: Disks) -> None:
    connected.finds = [{"silent_s": 30.1}]
    with pytest.raises(Undecided, match=r"30100 ms.*; pings over path b are answered"):
        survive()
    assert connected.did.count("random") == 3
    assert noted(taken)[0] == (f"disks over two paths, {LOST}", "missed", 30100.0)


def test_a_stall_of_a_server_is_measured_again(connected: Disks) -> None:
    connected.finds, connected.stood = [{"silent_s": 30.1}, {}], (Stood("dut", 300),)
    survive()
    assert connected.did.count("random") == 2


def test_a_server_that_stands_still_as_the_load_begins_is_no_path_that_fails(taken: Run, connected: Disks) -> None:
    """The program counts from its first operation on, thus before the path changes."""
    connected.finds, connected.stood_at_begin = [{"silent_s": 30.1}], (Stood("dut", 3000),)
    with pytest.raises(Undecided, match=r"30100 ms.*; servers stood still for 3000 ms"):
        survive()
    assert noted(taken)[0] == (f"disks over two paths, {LOST}", "undecided", 30100.0)


def test_operations_that_fail_are_not_tried_again(connected: Disks) -> None:
    connected.finds = [{"failed": 3}, {}]
    with pytest.raises(Undecided, match=r"3 of 103 failed.*; pings over path b are answered"):
        survive()
    assert connected.did.count("random") == 1


@pytest.mark.parametrize("mute", [True, False])
def test_maps_that_stay_on_the_lost_path(connected: Disks, mute: bool) -> None:
    connected.stays, connected.mute = True, {"b"} if mute else set()
    error = CardFailure if mute else Undecided
    with pytest.raises(
        error, match=r"map m0 uses path a, failed: path a; expected path b within 0.05 s \(a silent session"
    ):
        survive()


@pytest.mark.parametrize("when", ["fill", "load"])
def test_damage_is_nobodys_and_at_once(connected: Disks, when: str) -> None:
    if when == "fill":
        connected.whole = {"damaged": 1}
    else:
        connected.finds = [{"damaged": 1}]
    with pytest.raises(Undecided, match="disks over two paths: 1 blocks with another content"):
        survive()
    assert connected.did.count("random") == (when == "load")


@pytest.mark.parametrize("mute", [True, False])
def test_a_path_that_fails_by_itself_is_seen_before(connected: Disks, mute: bool) -> None:
    connected.failed, connected.mute = {"b"}, {"b"} if mute else set()
    with pytest.raises(CardFailure if mute else Undecided, match="map m0 uses path a, failed: path b; expected path a"):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()
    assert connected.pinged[:2] == ["dut.p0", "peer.p0"]


def test_a_map_without_a_disk_of_the_other_path_is_not_ready(connected: Disks) -> None:
    connected.left = {"sdd"}
    with pytest.raises(Undecided, match=r"map m1 uses path a, has no disk of path b; expected path a within 0\.05 s"):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()
    assert connected.pinged == ["dut.p0", "peer.p0", "dut.p1", "peer.p1"]


def test_a_map_with_a_disk_of_neither_path_is_not_ready(connected: Disks) -> None:
    connected.foreign = {"sdx"}
    with pytest.raises(Undecided, match=r"map m0 has disk sdx of neither path; expected path a within 0\.05 s"):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()


def test_a_map_may_lack_the_disk_of_a_path_that_is_lost(taken: Run, connected: Disks) -> None:
    disks = taken.part(MultipathDisks)
    disks.lose(Cause.CABLE, connected.did.append)
    connected.left = {"sda"}
    assert disks.not_on(disks.other) == []


@pytest.mark.parametrize("maps", [0, 1])
def test_a_map_that_is_gone_uses_no_path(connected: Disks, maps: int) -> None:
    connected.maps = maps
    with pytest.raises(Undecided, match=rf"dut: has no map m{maps}; expected path a within 0\.05 s"):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()


def test_a_path_whose_link_the_peer_keeps_down_is_the_benchs_fault(bench: FakeBench, connected: Disks) -> None:
    connected.failed, connected.mute = {"b"}, {"b"}
    bench.nic("peer.p1").admin_up = False
    words = r"failed: path b; .*\n.*0 of 10 pings answered\npath b is down: partner-link \("
    with pytest.raises(BenchFault, match=words):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()
    bench.nic("dut.p1").admin_up = False
    with pytest.raises(CardFailure, match=r"path b is down: own-link and partner-link \("):
        MultipathStorage().both_paths_of_the_disks_should_be_ready()


def test_another_cause_of_the_loss_is_the_benchs_fault(connected: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(multipath_disks.Explained, "is_right", False)
    with pytest.raises(BenchFault, match="cause of the lost link of path a"):
        survive()
    assert connected.did[-1].startswith("pause")


def test_a_path_that_returns_is_used_again(bench: FakeBench, taken: Run, connected: Disks) -> None:
    lose()
    assert bench.pulled() == {"a"}
    use_again()
    assert connected.did == ["fill", "random", "carrier", "pause 1.0", "check without []"] and bench.pulled() == set()
    (used, decision, value), stall = noted(taken)
    assert (used, decision) == ("disks over two paths, path a used again after its link is back", "met")
    assert value is not None and value < 1 and stall == (f"disks over two paths, {BACK}", "met", 21000.0)


@pytest.mark.parametrize("mute", [True, False])
def test_a_path_that_never_comes_back(taken: Run, connected: Disks, mute: bool) -> None:
    lose()
    connected.failed, connected.mute = {"a"}, {"a"} if mute else set()
    words = r"map m0 uses path b, failed: path a; expected path a within 0.05 s \(two logins"
    with pytest.raises(CardFailure if mute else Undecided, match=words):
        use_again()
    assert connected.did.count("random") == 1
    assert noted(taken)[0][1:] == ("undecided", None)


def test_a_link_that_is_back_too_late_is_judged_by_the_sheet(connected: Disks) -> None:
    lose()
    connected.carrier = CardFailure("dut.p0 has no carrier after 5000 ms")
    with pytest.raises(CardFailure, match="no carrier after 5000 ms"):
        use_again()


def test_another_measurement_of_the_return_loses_the_path_again(connected: Disks) -> None:
    lose()
    connected.finds, connected.stood = [{"silent_s": 30.1}, {}], (Stood("peer", 300),)
    use_again()
    assert connected.did.count("carrier") == 2


def test_a_path_that_cannot_be_lost_in_time(connected: Disks) -> None:
    connected.stays = True
    with pytest.raises(Undecided, match=r"uses path a, failed: path a; .*pings over path b are answered"):
        lose()


def test_what_is_not_asked_for_is_not_applicable(taken: Run, disks: Disks, monkeypatch: pytest.MonkeyPatch) -> None:
    card, library = taken.card, MultipathStorage()
    taken.card = card.model_copy(update={"iscsi": None})
    with pytest.raises(NotApplicable, match="has no section iscsi"):
        library.connect_disks_over_two_paths()
    taken.card = card
    monkeypatch.setattr(taken, "bench", taken.bench.model_copy(update={"paths": taken.bench.paths[:1]}))
    with pytest.raises(NotApplicable, match="has one path; multipath takes two"):
        library.connect_disks_over_two_paths()
    peer = taken.server(Role.PEER)
    peer.description = peer.description.model_copy(update={"os": OperatingSystem.FREEBSD})
    with pytest.raises(NotApplicable, match="peer runs freebsd"):
        library.connect_disks_over_two_paths()
    assert disks.did == [] and not taken.part(MultipathDisks).is_lost


def test_damage_hides_no_path_that_carries_nothing(connected: Disks) -> None:
    connected.finds, connected.mute = [{"damaged": 1, "silent_s": 30.1}], {"b"}
    with pytest.raises(CardFailure, match=r"30100 ms.*\n.*0 of 10 pings answered"):
        survive()
    connected.mute = set()
    with pytest.raises(Undecided, match="1 blocks with another content"):
        survive()
