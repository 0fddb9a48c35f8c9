"""Virtual functions that send in other VLANs, are removed while they send, or whose driver is loaded again."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from macvlans import MOST, PORT, Macvlans
from namespaces import Namespaces

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames.frame_agents import FrameAgents
from niclab.frames.functions import function_checks, function_leaving
from niclab.frames.functions.function_checks import vlan_id
from niclab.frames.functions.function_leaving import FunctionSenders
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from VirtualFunctions import VirtualFunctions

ADDRESS = "0000:01:00.0"


@pytest.fixture
def removable(macvlans: Macvlans, monkeypatch: pytest.MonkeyPatch) -> Macvlans:
    make = macvlans.set_count

    def set_count(address: str, count: int) -> Attempt[Any]:
        if count:
            return make(address, count)
        if macvlans.defect == "keeps":
            return Attempt("echo: write error: Device or resource busy", macvlans.count(address))
        if macvlans.defect != "keeps in silence":
            macvlans.server.run(macvlans.restoring(address))
        return Attempt(None, macvlans.count(address))

    monkeypatch.setattr(macvlans, "set_count", set_count)
    return macvlans


@pytest.fixture
def two(clean: Namespaces, removable: Macvlans, monkeypatch: pytest.MonkeyPatch) -> Macvlans:
    """The dut has two ports, the first with functions."""
    paths = [
        SimpleNamespace(name=key, ends=(f"dut.{key}", f"peer.{key}"), through=Wiring.DIRECT) for key in ("p0", "p1")
    ]
    monkeypatch.setattr(clean.run.bench, "paths", paths)
    return removable


def test_functions_go_while_they_send_and_come_again(clean: Namespaces, two: Macvlans) -> None:
    said = list[str]()
    function_leaving.leave_under_traffic(clean.run, said.append)
    assert sum("frames of another port" in line for line in said) == 2, "both ways"
    ended = [line for line in said if " frames sent until " in line]
    assert len(ended) == 2 and all("until EN" in line for line in ended), ended
    assert sum("frames to its own address: 97 sent, 97 at" in line for line in said) == 2 + 2 * (1 + 2)
    assert not two.functions(ADDRESS) and len(clean.run.interfaces) == 1


def test_functions_of_the_only_port_go_with_no_other_frames_to_wait_for(
    clean: Namespaces, removable: Macvlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    def looked_at(*_: object) -> None:
        raise AssertionError("no frames of another port flow")

    monkeypatch.setattr(clean.run.part(FrameAgents), "gaps", looked_at)
    said = list[str]()
    function_leaving.leave_under_traffic(clean.run, said.append)
    assert sum(" frames sent until EN" in line for line in said) == 2
    assert not removable.functions(ADDRESS)


def test_frames_of_another_port_that_are_lost_meanwhile_are_red(clean: Namespaces, two: Macvlans) -> None:
    clean.spoil("drop")
    with pytest.raises((CardFailure, Undecided), match=r"frames of another port: .* arrived at"):
        function_leaving.leave_under_traffic(clean.run, str)
    assert not two.functions(ADDRESS)


@pytest.mark.parametrize(
    ("defect", "says"),
    [
        ("keeps", "it has 2, refused: echo: write error: Device or resource busy; expected them to go while they send"),
        ("keeps in silence", "no virtual function was asked for, it has 2; expected"),
    ],
)
def test_functions_that_do_not_go_are_red(clean: Namespaces, removable: Macvlans, defect: str, says: str) -> None:
    removable.defect = defect
    with pytest.raises(CardFailure, match=says):
        function_leaving.leave_under_traffic(clean.run, str)


def test_a_sender_that_cannot_be_ended_hides_no_failure(
    clean: Namespaces, removable: Macvlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = FunctionSenders.end

    def ends_badly(senders: FunctionSenders) -> None:
        end(senders)
        raise BenchFault("dut: function sender: no answer")

    monkeypatch.setattr(FunctionSenders, "end", ends_badly)
    with pytest.raises(BenchFault, match="no answer"):
        function_leaving.leave_under_traffic(clean.run, str)
    removable.defect = "keeps"
    with pytest.raises(CardFailure, match="refused: echo: write error"):
        function_leaving.leave_under_traffic(clean.run, str)


def test_functions_that_do_not_come_again_are_red(
    clean: Namespaces, removable: Macvlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = removable.set_count

    def once(address: str, count: int) -> Attempt[Any]:
        if not count:
            monkeypatch.setattr(
                removable, "set_count", lambda *_: Attempt("Invalid argument", removable.count(ADDRESS))
            )
        return remove(address, count)

    monkeypatch.setattr(removable, "set_count", once)
    with pytest.raises(CardFailure, match="2 virtual functions were asked for, it has 0, refused: Invalid argument"):
        function_leaving.leave_under_traffic(clean.run, str)


def test_functions_that_have_not_sent_prove_nothing(
    clean: Namespaces, removable: Macvlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FunctionSenders, "begin", lambda *_: None)
    silent = SimpleNamespace(frames=0, ended="ENXIO")
    monkeypatch.setattr(FunctionSenders, "end", lambda _: {"p0v0": silent})
    with pytest.raises(Undecided, match=r"dut\.p0v0 .*: sent no frames when removed"):
        function_leaving.leave_under_traffic(clean.run, str)
    assert not removable.functions(ADDRESS)


def test_senders_whose_interface_stays_are_ended(clean: Namespaces, removable: Macvlans) -> None:
    port = clean.ports["dut.p0"]
    removable.set_count(ADDRESS, 1)
    removable.server.run("ip link set p0v0 up")
    function = Port(Role.DUT, "p0v0", "0000:01:00.1", None, None)
    senders = FunctionSenders(clean.run)
    senders.begin(port, [function])
    (sent,) = senders.end().values()
    assert sent.ended == "" and not senders.end()


@pytest.fixture
def reloaded(monkeypatch: pytest.MonkeyPatch, macvlans: Macvlans) -> list[str]:
    """A reload removes every function."""
    done = list[str]()

    def reload(_: Run, role: Role) -> None:
        assert len(macvlans.functions(ADDRESS)) == 2, "with functions in place"
        macvlans.server.run(macvlans.restoring(ADDRESS))
        done.append(f"reload {role.value}")

    monkeypatch.setattr(function_leaving.driver, "reload", reload)
    monkeypatch.setattr(function_leaving.ready, "make_ready", lambda *_: done.append("ready"))
    return done


def test_a_port_has_functions_again_after_a_reload(clean: Namespaces, macvlans: Macvlans, reloaded: list[str]) -> None:
    said = list[str]()
    function_leaving.return_after_reload(clean.run, said.append)
    assert reloaded == ["reload dut", "ready"]
    assert sum("frames to its own address: 97 sent, 97 at" in line for line in said) == 2 + 2 * (1 + 2)
    assert not macvlans.functions(ADDRESS) and len(clean.run.interfaces) == 1


def test_functions_that_are_dark_after_a_reload_are_red(
    clean: Namespaces, macvlans: Macvlans, reloaded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(macvlans, "without_link", lambda ifaces: tuple(ifaces[1:]) if reloaded else ())
    with pytest.raises(CardFailure, match=r"dut\.p0v1 .* has no carrier 30 s after its port has"):
        function_leaving.return_after_reload(clean.run, str)


@pytest.mark.parametrize(("tags", "vid"), [("", 0), ("100", 100), ("100.101", 100), ("101.100", 101), ("24676", 100)])
def test_the_vlan_is_that_of_the_outer_tag(tags: str, vid: int) -> None:
    assert vlan_id(tags) == vid


@pytest.fixture
def in_vlan(clean: Namespaces, macvlans: Macvlans, monkeypatch: pytest.MonkeyPatch) -> Macvlans:
    """Functions that are put into a VLAN have the one that this is set to, 0 for none, in place of all their tags."""
    monkeypatch.setattr(function_checks.upper_devices, "vlans_without_addresses", lambda *_: None)
    monkeypatch.setattr(function_checks.upper_devices, "remove", lambda *_: [])
    monkeypatch.setattr(function_checks, "COUNT", 9)
    assert clean.run.interfaces[clean.ports["dut.p0"]] == PORT and macvlans.most == MOST
    return macvlans


@pytest.mark.usefixtures("in_vlan")
def test_a_function_that_sends_in_another_vlan_is_red(clean: Namespaces) -> None:
    """A macvlan passes on what has any tag."""
    says = r"dut\.p0v0 .*: 9 of 9 frames with a tag of VLAN 101 got out to peer\.p0, with tags 101 \(9\), while its"
    with pytest.raises(CardFailure, match=says):
        function_checks.send_in_their_vlan(clean.run, str)


@pytest.mark.usefixtures("in_vlan")
def test_frames_without_a_tag_must_get_out(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(function_checks, "_got_out_of_vlan", lambda _: [])
    with pytest.raises((CardFailure, Undecided), match=r"without tag: arrived with tags none \(9\) .*; expected 100"):
        function_checks.send_in_their_vlan(clean.run, str)


@pytest.mark.parametrize(
    ("tags", "says"),
    [
        ({"100.101": 5, "100": 4}, ""),
        ({}, ""),
        ({"100.101": 5, "101": 4}, "4 of 9 frames"),
        ({"": 3}, "with tags none "),
    ],
)
def test_frames_in_the_own_vlan_may_get_out(tags: dict[str, int], says: str) -> None:
    leg: Any = SimpleNamespace(
        arrived={0: SimpleNamespace(tags=tags)},
        sent={0: SimpleNamespace(frames=9)},
        streams={0: SimpleNamespace(name="frames")},
        sender=SimpleNamespace(place="dut.p0v0"),
        receiver=SimpleNamespace(name="peer.p0"),
    )
    found = function_checks._got_out_of_vlan(leg)
    assert bool(found) is bool(says) and says in "".join(found)


def test_a_driver_that_puts_none_into_a_vlan_is_not_asked(clean: Namespaces, in_vlan: Macvlans) -> None:
    in_vlan.defect = "not supported"
    with pytest.raises(NotApplicable, match="its driver puts no function into a VLAN"):
        function_checks.send_in_their_vlan(clean.run, str)


@pytest.mark.parametrize(
    ("keyword", "module", "check"),
    [
        (VirtualFunctions.functions_should_send_in_their_vlan_only, function_checks, "send_in_their_vlan"),
        (VirtualFunctions.functions_should_go_while_they_send, function_leaving, "leave_under_traffic"),
        (VirtualFunctions.functions_should_be_made_again_after_a_reload, function_leaving, "return_after_reload"),
    ],
)
def test_each_keyword_makes_its_check(monkeypatch: pytest.MonkeyPatch, keyword: Any, module: Any, check: str) -> None:
    asked, current = list[object](), object()
    monkeypatch.setattr(VirtualFunctions, "run", current)
    monkeypatch.setattr(module, check, lambda run, _: asked.append(run))
    keyword(VirtualFunctions())
    assert asked == [current]
