"""Virtual functions, as macvlans next to the one that is the port: they carry their own frames, and check no source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from macvlans import MOST, NO_OPERATION, PORT, REFUSED_RULES, Check, Macvlans, with_sheet
from namespaces import Namespaces

from niclab.bench.records import DeclaredDeviation, Port, SiliconFact, Wiring
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, SheetSilent, Undecided
from niclab.frames.functions import function_checks, function_ports
from niclab.hosts.functions.function_records import FunctionCount
from niclab.run.run import Run
from VirtualFunctions import VirtualFunctions


@pytest.mark.parametrize(
    "check",
    [function_checks.made_and_removed, function_checks.carry_frames, function_checks.survive_their_port],
)
def test_sound_functions_pass(clean: Namespaces, macvlans: Macvlans, check: Check) -> None:
    said = list[str]()
    check(clean.run, said.append)
    assert said and not macvlans.functions("0000:01:00.0") and len(clean.run.interfaces) == 1


@pytest.mark.usefixtures("macvlans")
def test_each_function_exchanges_frames_with_the_peer_and_the_next_one(clean: Namespaces) -> None:
    said = list[str]()
    function_checks.carry_frames(clean.run, said.append)
    frames = [line for line in said if " sent, " in line]
    assert len(frames) == 2 * (1 + MOST) + (MOST - 1) + 1
    assert "dut.p0v0 to dut.p0v1: frames inside of the card: 97 sent, 97 at the port" in frames
    assert "peer.p0 to dut.p0: frames to a strange address: 97 sent, 0 at the port" in frames


@pytest.mark.parametrize(
    ("defect", "check", "says"),
    [
        (
            "refuses",
            function_checks.made_and_removed,
            r"3 virtual functions were asked for, it has 0, refused: echo: write error: Input/output",
        ),
        ("few", function_checks.made_and_removed, r"1 virtual functions were asked for, it has 0$"),
        ("nameless", function_checks.made_and_removed, r"functions 0000:01:00\.2, 0000:01:00\.3 have no interface"),
        ("stays", function_checks.made_and_removed, r"1 virtual functions are left when they were removed"),
        ("dark", function_checks.carry_frames, r"dut\.p0v1 .* has no carrier 30 s after its port has"),
        ("islands", function_checks.carry_frames, r"dut\.p0v0 to dut\.p0v1: frames inside of the card: 0 of 97"),
        ("", function_checks.refuse_spoofed, r"97 of 97 frames from a strange address got out to peer\.p0, while its"),
        (
            "fails",
            function_checks.refuse_spoofed,
            r"shows None, refused: RTNETLINK answers: Input/output error; exp",
        ),
        (
            "fails",
            function_checks.keep_their_vlan,
            r"shows None, refused: RTNETLINK answers: Input/output error; exp",
        ),
        ("checks nothing", function_checks.refuse_spoofed, r"function 0: spoof check was switched on, it shows False"),
        (
            "forgets vlan",
            function_checks.keep_their_vlan,
            r"function 0 was put into VLAN 100, it shows 0; expected 100",
        ),
    ],
)
def test_defects_are_charged_to_the_card(
    clean: Namespaces, macvlans: Macvlans, defect: str, check: Check, says: str
) -> None:
    macvlans.defect = defect
    with pytest.raises(CardFailure, match=says):
        check(clean.run, str)


def test_a_server_without_room_for_functions_is_the_benchs(clean: Namespaces, macvlans: Macvlans) -> None:
    macvlans.defect = "has no room"
    with pytest.raises(BenchFault, match=r"refused: echo: .* Cannot allocate memory; .* \(BIOS\) must have SR-IOV"):
        function_checks.made_and_removed(clean.run, str)


@pytest.mark.parametrize("defect", NO_OPERATION)
def test_a_driver_that_makes_no_functions_is_not_asked(
    clean: Namespaces, macvlans: Macvlans, monkeypatch: pytest.MonkeyPatch, defect: str
) -> None:
    """Their number is offered by the PCI capability alone."""
    macvlans.defect = defect
    says = f"it has 0, refused: .*{NO_OPERATION[defect]}; its driver makes none by sysfs"
    with pytest.raises(NotApplicable, match=says):
        function_checks.made_and_removed(clean.run, str)
    with_sheet(clean, monkeypatch, MOST)
    with pytest.raises(Undecided, match=says):
        function_checks.made_and_removed(clean.run, str)


@pytest.mark.parametrize(
    ("defect", "verdict", "says"),
    [
        (
            "driverless",
            Undecided,
            r"functions 0000:01:00\.1 have no .*, and no driver; expected .* PCI ids 8086:10ca",
        ),
        ("not probed", BenchFault, r"the dut binds no driver to them; expected sriov_drivers_autoprobe 1"),
        ("for guests", BenchFault, r"the dut gives them to vfio-pci; expected a network driver"),
        ("without interface", CardFailure, r"have no interface after 0\.2 s; expected a driver to take each of 1"),
    ],
)
def test_functions_without_interface_are_charged_to_who_lacks_a_driver(
    clean: Namespaces, macvlans: Macvlans, defect: str, verdict: type[Exception], says: str
) -> None:
    macvlans.defect = defect
    with pytest.raises(verdict, match=says):
        function_checks.made_and_removed(clean.run, str)


@pytest.mark.parametrize("check", [function_checks.keep_their_vlan, function_checks.survive_their_port])
def test_a_port_that_offers_one_function_is_asked_for_one(
    clean: Namespaces, macvlans: Macvlans, monkeypatch: pytest.MonkeyPatch, check: Check
) -> None:
    """A macvlan keeps no VLAN: the check is about its frames."""
    macvlans.most = 1
    with_sheet(clean, monkeypatch, 1)
    said = list[str]()
    monkeypatch.setattr(function_checks.upper_devices, "vlans_without_addresses", lambda *_: None)
    monkeypatch.setattr(function_checks.upper_devices, "remove", lambda *_: [])
    try:
        check(clean.run, said.append)
    except (CardFailure, Undecided) as found:
        assert check is function_checks.keep_their_vlan and "frames without tag" in str(found)
    assert any("1 virtual functions have carrier" in line for line in said)


class Ports:
    """Two ports of the dut, each with a verdict of its own."""

    def __init__(self, clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
        paths = [SimpleNamespace(name=key, ends=(f"dut.{key}", f"peer.{key}")) for key in ("p0", "p1")]
        monkeypatch.setattr(clean.run.bench, "paths", paths)
        self.run, self.asked = clean.run, list[str]()

    def judge(self, *verdicts: Exception | None) -> None:
        def one(port: Port) -> None:
            self.asked.append(port.name)
            if (verdict := verdicts[len(self.asked) - 1]) is not None:
                raise verdict

        function_ports.each_port(self.run, one)


@pytest.mark.parametrize(
    ("verdicts", "found", "says"),
    [
        ((NotApplicable("a"), CardFailure("b")), CardFailure, "b"),
        ((CardFailure("a"), CardFailure("b")), CardFailure, "a\nb"),
        ((CardFailure("a"), BenchFault("b")), CardFailure, "a\nundecided: b"),
        ((Undecided("a"), CardFailure("b")), CardFailure, "b\nundecided: a"),
        ((NotApplicable("a"), Undecided("b")), Undecided, "b\na"),
        ((NotApplicable("a"), None), Undecided, "a"),
        ((None, NotApplicable("b")), Undecided, "b"),
        ((NotApplicable("a"), NotApplicable("b")), NotApplicable, "a\nb"),
        ((None, BenchFault("b")), BenchFault, "b"),
        ((None, SheetSilent("b")), SheetSilent, "b"),
    ],
)
def test_no_port_hides_what_another_one_fails(
    clean: Namespaces,
    monkeypatch: pytest.MonkeyPatch,
    verdicts: tuple[Exception | None, ...],
    found: type[Exception],
    says: str,
) -> None:
    ports = Ports(clean, monkeypatch)
    with pytest.raises(found) as caught:
        ports.judge(*verdicts)
    assert type(caught.value) is found and str(caught.value) == says and ports.asked == ["dut.p0", "dut.p1"]


@pytest.mark.parametrize(
    ("check", "names"),
    [
        (function_checks.made_and_removed, ["dut.p0", "dut.p1"]),
        (function_checks.refuse_spoofed, ["dut.p0", "dut.p1"]),
        (function_checks.keep_their_vlan, ["dut.p0", "dut.p1"]),
        (function_checks.carry_frames, ["dut.p0"]),
        (function_checks.leave_other_ports, ["dut.p0"]),
        (function_checks.survive_their_port, ["dut.p0"]),
    ],
)
def test_checks_of_a_few_functions_ask_every_port(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch, check: Check, names: list[str]
) -> None:
    ports, asked = Ports(clean, monkeypatch), list[str]()

    def offered(_: Run, port: Port) -> FunctionCount:
        asked.append(port.name)
        raise NotApplicable("none")

    monkeypatch.setattr(function_checks, "offered", offered)
    with pytest.raises(NotApplicable, match=r"^none$"):
        check(ports.run, str)
    assert asked == names


@pytest.mark.usefixtures("macvlans")
def test_functions_of_one_address_are_charged_to_the_card(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    same = "52:54:00:aa:00:01"
    monkeypatch.setattr(function_checks, "port_addresses", lambda _, ports: dict.fromkeys(ports, same))
    with pytest.raises(CardFailure, match=rf"dut\.p0 .*, dut\.p0v0 .*: all have MAC address {same}"):
        function_checks.made_and_removed(clean.run, str)


def test_a_port_that_gets_the_frames_of_its_functions_is_charged_to_the_card(
    clean: Namespaces, macvlans: Macvlans
) -> None:
    """A port below its functions is promiscuous: nothing is kept from it."""
    macvlans.server.run(f"ip link set {PORT} down")
    clean.run.interfaces[clean.ports["dut.p0"]] = "p0"
    try:
        with pytest.raises(CardFailure, match=r"(?s)dut\.p0 .* received 97 frames of .* for dut\.p0v0; expected none"):
            function_checks.carry_frames(clean.run, str)
    finally:
        clean.run.interfaces[clean.ports["dut.p0"]] = PORT


@pytest.mark.usefixtures("macvlans")
def test_a_function_that_ignores_its_vlan_is_charged_to_the_card(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A macvlan knows of no VLAN of its own: it sends without a tag, and gets what has none."""
    monkeypatch.setattr(function_checks.upper_devices, "vlans_without_addresses", lambda *_: None)
    monkeypatch.setattr(function_checks.upper_devices, "remove", lambda *_: [])
    monkeypatch.setattr(function_checks, "COUNT", 9)
    says = r"(?s)frames without tag: 9 of 9 frames were delivered to dut\.p0v0"
    with pytest.raises((CardFailure, Undecided), match=says):
        function_checks.keep_their_vlan(clean.run, str)


@pytest.mark.parametrize(
    ("defect", "check", "says"),
    [
        *(
            (word, check, f"its driver {says}: {REFUSED_RULES[word]}")
            for word in ("not supported", "not implemented", "without a word")
            for check, says in (
                (function_checks.refuse_spoofed, "checks no addresses of functions"),
                (function_checks.keep_their_vlan, "puts no function into a VLAN"),
            )
        ),
        ("", function_checks.leave_other_ports, r"dut\.p0 .* is the only port of the dut on a path"),
    ],
)
def test_what_nobody_offers_is_not_asked(
    clean: Namespaces, macvlans: Macvlans, defect: str, check: Check, says: str
) -> None:
    macvlans.defect = defect
    with pytest.raises(NotApplicable, match=says):
        check(clean.run, str)


@pytest.mark.usefixtures("macvlans")
def test_functions_come_and_go_while_another_port_carries_frames(
    clean: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [
        SimpleNamespace(name=key, ends=(f"dut.{key}", f"peer.{key}"), through=Wiring.DIRECT) for key in ("p0", "p1")
    ]
    monkeypatch.setattr(clean.run.bench, "paths", paths)
    said = list[str]()
    function_checks.leave_other_ports(clean.run, said.append)
    assert sum("frames of another port" in line for line in said) == 2, "both ways"
    clean.spoil("drop")
    with pytest.raises((CardFailure, Undecided), match=r"frames of another port: .* arrived at"):
        function_checks.leave_other_ports(clean.run, str)


def test_the_number_is_that_of_the_sheet(
    clean: Namespaces, macvlans: Macvlans, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_sheet(clean, monkeypatch, 7)
    with pytest.raises(CardFailure, match=r"offers 3 virtual functions; expected 7 \(sheet veth\)"):
        function_checks.made_and_removed(clean.run, str)
    macvlans.most = 0
    with pytest.raises(Undecided, match=r"offers no .*; sheet veth says 7 of each port: they are switched off"):
        function_checks.carry_frames(clean.run, str)
    with_sheet(clean, monkeypatch, None)
    with pytest.raises(NotApplicable, match="offers no virtual functions"):
        function_checks.carry_frames(clean.run, str)


def test_functions_of_others_are_left_alone(clean: Namespaces, macvlans: Macvlans) -> None:
    macvlans.others = 1
    with pytest.raises(NotApplicable, match="has 1 virtual functions already; the lab leaves them alone"):
        function_checks.carry_frames(clean.run, str)


@pytest.mark.usefixtures("macvlans")
def test_a_model_that_checks_no_source_is_declared(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    facts: Any = {"fact": SiliconFact.SPOOF_CHECK, "how": "passes any source", "source": "measured"}
    monkeypatch.setattr(clean.run.bench, "deviations", (DeclaredDeviation(card="veth", **facts),))
    with pytest.raises(
        Deviation, match=r"says virtual_functions\.spoof-check: refused; the model .* passes any source"
    ):
        function_checks.refuse_spoofed(clean.run, str)


def test_a_stream_of_a_function_is_of_the_dut(clean: Namespaces) -> None:
    port = replace(clean.ports["dut.p0"], key="p0v0", pci="0000:01:10.0")
    assert (port.name, port.place) == ("dut.p0v0", "dut.p0v0 (0000:01:10.0)")


@pytest.mark.parametrize(
    ("keyword", "check"),
    [
        (VirtualFunctions.every_port_should_make_all_of_its_functions, "made_and_removed"),
        (VirtualFunctions.functions_should_carry_their_own_frames, "carry_frames"),
        (VirtualFunctions.functions_should_refuse_spoofed_addresses, "refuse_spoofed"),
        (VirtualFunctions.functions_should_keep_their_vlan, "keep_their_vlan"),
        (VirtualFunctions.functions_should_leave_other_ports, "leave_other_ports"),
        (VirtualFunctions.functions_should_survive_their_port, "survive_their_port"),
    ],
)
def test_each_keyword_makes_its_check(
    monkeypatch: pytest.MonkeyPatch, keyword: Callable[[VirtualFunctions], None], check: str
) -> None:
    asked, current = list[object](), object()
    monkeypatch.setattr(VirtualFunctions, "run", current)
    monkeypatch.setattr(function_checks, check, lambda run, _: asked.append(run))
    keyword(VirtualFunctions())
    assert asked == [current]
