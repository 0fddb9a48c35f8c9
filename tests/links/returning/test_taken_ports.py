"""Ports that are taken away come back as they were; each fault has its verdict, and the journal has the undo."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from bench_fixtures import prepared
from fake_bench import FakeBench
from fake_parts import PING, FakeHost, FakeSsh, Nic, link_of

from niclab.bench.records import Role
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import NoDevice
from niclab.hosts.host_records import PingResult
from niclab.hosts.settings.ethtool_records import Rings, RingSizes
from niclab.links.returning.taken_ports import PINGS, ROUNDS, TakenBy
from niclab.run.run import Run
from TakenPorts import TakenPorts

BOUND = "the driver of dut.p0 was unbound and bound"


class Functions:
    """The PCI functions of the dut, as its kernel removes them and gives them back. ``then`` changes a port.

    ``resets``: its kernel and its driver can reset it. ``stays_away``: it never comes back. ``refusal``: of a reset.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.bench, self.away, self.log = bench, set[str](), list[str]()
        self.resets = self.driver_resets = True
        self.without_reset = set[str]()
        self.stays_away, self.refusal, self.stuck = set[str](), "", ""
        self.then: Callable[[Nic], object] = lambda _: None
        self.rings = 256
        self.pings: list[int] = []

    def take(self, host: FakeHost, address: str, how: str) -> None:
        assert host.journal is not None and host.role is Role.DUT
        mine = [nic for nic in host.nics if nic.pci == address]
        pending = [entry.action.command for entry in host.journal.pending()]
        assert {f"bind {address} {nic.iface}" for nic in mine} <= set(pending), "no undo in the journal"
        if self.stuck:
            raise BenchFault(self.stuck)
        self.log.append(f"{how} {mine[0].key}")
        self.away.add(address)

    def back(self, address: str, iface: str) -> None:
        if address in self.stays_away:
            raise BenchFault(f"dut: {address} has no interface {iface}")
        if address in self.away:
            self.away.discard(address)
            for nic in self.bench.dut.nics:
                if nic.pci == address:
                    nic.changes, nic.index = 2, nic.index + 1
                    self.then(nic)


@pytest.fixture
def functions(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Functions:
    """Functions of the dut that can be taken away."""
    assert taken.interfaces, "its ports are prepared"
    made = Functions(bench)
    plain_shell, plain_ping, plain_interface = FakeSsh._shell, FakeHost.ping, FakeHost.interface_at

    def shell(self: FakeSsh, command: str) -> str:
        if bind := re.fullmatch(r"bind (\S+) (\w+)", command):
            made.back(bind[1], bind[2])
            return ""
        return plain_shell(self, command)

    def ping(self: FakeHost, destination: str, **options: Any) -> PingResult:
        if (count := options["count"]) == PINGS:
            made.pings.append(count)
            nic = next(nic for nic in self.nics if f"{options['source']}/24" in nic.addresses)
            return replace(nic.ping, sent=count, received=count * nic.ping.received // nic.ping.sent)
        return plain_ping(self, destination, **options)

    def interface_at(self: FakeHost, address: str, port_index: int | None = None) -> str:
        if self.role is Role.DUT and address in made.away:
            raise NoDevice(f"dut: there is no PCI device at {address}")
        return plain_interface(self, address, port_index)

    def reset_interface(_: FakeHost, iface: str) -> None:
        if not made.driver_resets:
            raise NotApplicable(f"dut: {iface}: its driver offers no reset")
        made.log.append(f"driver reset {iface}")

    def reset_function(_: FakeHost, address: str) -> str | None:
        made.log.append(f"reset {address}")
        return made.refusal or None

    methods = {
        "interface_at": interface_at,
        "ping": ping,
        "restoring_driver": lambda _, address, iface: f"bind {address} {iface}",
        "detach_driver": lambda self, address: made.take(self, address, "unbind"),
        "remove_function": lambda self, address: made.take(self, address, "remove"),
        "can_reset_function": lambda _, address: made.resets and address not in made.without_reset,
        "reset_function": reset_function,
        "reset_interface": reset_interface,
        "rings": lambda _, iface: Rings(iface, *[RingSizes(made.rings, None, None, 256)] * 2),
    }
    for name, method in methods.items():
        monkeypatch.setattr(FakeHost, name, method, raising=False)
    monkeypatch.setattr(FakeSsh, "_shell", shell)
    return made


def pending(taken: Run) -> list[str]:
    """The undo commands of functions that are still to be given back."""
    commands = (entry.action.command for entry in taken.journal.pending())
    return [command for command in commands if command.startswith("bind ")]


def come_back(way: TakenBy) -> None:
    TakenPorts().every_port_should_come_back(way, profile=Profile.QUICK)


def test_every_function_is_taken_in_turn_and_nothing_is_left_to_undo(functions: Functions, taken: Run) -> None:
    for way in TakenBy:
        come_back(way)
    assert functions.log == [
        *("unbind p0", "unbind p1", "remove p0", "remove p1"),
        *("unbind p0", "reset 0000:01:00.0", "unbind p1", "reset 0000:02:00.0"),
        *("driver reset enp1s0", "driver reset enp2s0"),
    ]
    assert pending(taken) == []
    assert functions.pings == [PINGS] * 8, "another port carries traffic meanwhile"


def test_every_function_is_taken_of_a_card_that_has_more_than_rounds(
    functions: Functions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niclab.links.returning.taken_ports.ROUNDS", {Profile.QUICK: 1})
    come_back(TakenBy.RESCAN)
    assert functions.log == ["remove p0", "remove p1"]


def test_a_full_run_takes_twenty_rounds() -> None:
    assert ROUNDS == {Profile.QUICK: 2, Profile.FULL: 20}


class TestOneFunction:
    """A card whose ports share a function."""

    @pytest.fixture
    def taken(self, bench: FakeBench) -> Iterator[Run]:
        bench.write(commands=False, cables=True)
        first, second = 'p0: {pci: "0000:01:00.0"}', 'p1: {pci: "0000:02:00.0"}'
        bench.edit(bench.file, (first, 'p0: {pci: "0000:01:00.0", port_index: 0}'))
        bench.edit(bench.file, (second, 'p1: {pci: "0000:01:00.0", port_index: 1}'))
        bench.dut.nics[1].pci = bench.dut.nics[0].pci
        with prepared(bench) as made:
            yield made

    def test_all_its_ports_go_and_come_back(self, functions: Functions, taken: Run) -> None:
        come_back(TakenBy.RESCAN)
        assert functions.log == ["remove p0"] * 2 and functions.pings == []
        assert pending(taken) == []

    def test_each_that_stays_away_is_named(self, functions: Functions) -> None:
        functions.stays_away = {"0000:01:00.0"}
        with pytest.raises(CardFailure, match=r"^dut\.p0 .* is not back after .*\ndut\.p1 .* is not back after"):
            come_back(TakenBy.REBIND)


def test_the_first_look_after_a_binding_says_what_the_driver_chooses(functions: Functions) -> None:
    """A site may have set its rings before the run: they are the driver's own afterwards."""
    functions.rings = 4096
    functions.then = lambda _: setattr(functions, "rings", 256)
    come_back(TakenBy.REBIND)
    functions.then = lambda _: setattr(functions, "rings", 128)
    with pytest.raises(CardFailure) as caught:
        come_back(TakenBy.RESCAN)
    found = "the function of dut.p0 was removed from the bus and found again it has rings rx 128, tx 256"
    assert str(caught.value) == f"dut.p0 (0000:01:00.0): after {found}; expected rx 256, tx 256, as before"


def _other_mac(nic: Nic) -> None:
    nic.mac = "02:00:00:00:00:99"


def _other_firmware(nic: Nic) -> None:
    nic.info = replace(nic.info, firmware="2.0-0")


def _other_ids(nic: Nic) -> None:
    nic.device = replace(nic.device, subdevice="0001")


def _narrow(nic: Nic) -> None:
    nic.path = (link_of(nic.pci, gts=1.25),)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (_other_mac, "it has MAC address 02:00:00:00:00:99; expected 52:54:00:00:00:00, as before"),
        (_other_firmware, "it has firmware 2.0-0; expected 2.1-0, as before"),
        (_other_ids, "it has PCI ids 8086:10d3, 8086:0001; expected 8086:10d3, 8086:a01f, as before"),
        (_narrow, "it trained to 1.25 GT/s (0000:00:01.0 to 0000:01:00.0: x1 at 1.25 GT/s); expected 2.5 GT/s, as be"),
    ],
)
def test_a_port_that_is_another_one_fails(functions: Functions, change: Callable[[Nic], object], says: str) -> None:
    functions.then = change
    with pytest.raises(CardFailure, match=re.escape(f"dut.p0 (0000:01:00.0): after {BOUND} {says}")):
        come_back(TakenBy.REBIND)


def test_a_link_that_does_not_come_back_fails(bench: FakeBench, functions: Functions) -> None:
    functions.then = lambda nic: bench.cables.stuck.update({f"dut.{nic.key}": False})
    with pytest.raises(CardFailure, match=r"^dut\.p0 \(0000:01:00\.0\) has no carrier after 5000 ms"):
        come_back(TakenBy.RESET)


def test_a_port_that_carries_no_traffic_afterwards_fails(functions: Functions) -> None:
    functions.then = lambda nic: setattr(nic, "ping", replace(PING, received=0))
    with pytest.raises(CardFailure, match=r"dut\.p0 \(.*\) to peer\.p0: 0 of 10 pings answered"):
        come_back(TakenBy.REBIND)


def test_a_function_that_stays_away_fails_and_stays_in_the_journal(functions: Functions, taken: Run) -> None:
    functions.stays_away = {"0000:01:00.0"}
    with pytest.raises(CardFailure) as caught:
        come_back(TakenBy.RESCAN)
    found = "the function of dut.p0 was removed from the bus and found again"
    reason = "dut: there is no PCI device at 0000:01:00.0"
    assert str(caught.value) == f"dut.p0 (0000:01:00.0) is not back after {found}: {reason}"
    assert pending(taken) == ["bind 0000:01:00.0 enp1s0"]
    functions.stays_away = set()
    for entry in taken.journal.pending():
        if entry.action.command.startswith("bind "):
            taken.journal.undo(entry, taken.undo)
    assert not functions.away


def test_a_port_that_cannot_be_set_up_fails(functions: Functions) -> None:
    def then(nic: Nic) -> None:
        nic.admin_up = False
        raise BenchFault("dut: RTNETLINK answers: Input/output error")

    functions.then = then
    with pytest.raises(CardFailure, match=rf"^dut\.p0 .* is down after {BOUND}, and cannot be set up; expected"):
        come_back(TakenBy.REBIND)


def test_a_function_that_cannot_be_taken_is_a_fault_of_the_bench(functions: Functions) -> None:
    functions.stuck = "dut: 0000:01:00.0 is 'bound' after its driver was unbound; expected free"
    with pytest.raises(BenchFault, match="is 'bound' after its driver was unbound"):
        come_back(TakenBy.REBIND)


def test_a_reset_that_the_function_does_not_take_fails(functions: Functions) -> None:
    functions.refusal = "write error: Connection timed out"
    with pytest.raises(
        CardFailure, match=r"dut\.p0 \(.*\): its function does not reset: write error: Connection timed"
    ):
        come_back(TakenBy.RESET)
    assert not functions.away


def test_another_port_that_loses_its_carrier_fails(bench: FakeBench, functions: Functions) -> None:
    functions.then = lambda _: setattr(bench.nic("dut.p1"), "changes", 5)
    with pytest.raises(CardFailure, match=rf"^dut\.p1 .* counted 2 changes of carrier while {BOUND}; expected none"):
        come_back(TakenBy.REBIND)


@pytest.mark.usefixtures("functions")
def test_another_port_that_carries_nothing_meanwhile_fails(bench: FakeBench) -> None:
    bench.nic("dut.p1").ping = replace(PING, received=4)
    with pytest.raises(CardFailure) as caught:
        come_back(TakenBy.REBIND)
    found = "0000:02:00.0) to peer.p1: 20 of 50 pings answered"
    assert str(caught.value) == f"dut.p1 ({found} while {BOUND}; expected at least 50% of them"


def test_what_the_dut_cannot_do_is_left_out(functions: Functions) -> None:
    functions.driver_resets = False
    come_back(TakenBy.RESET)
    functions.resets = False
    with pytest.raises(NotApplicable) as caught:
        come_back(TakenBy.RESET)
    assert str(caught.value).splitlines() == [
        *(f"dut: the kernel knows no way to reset 0000:0{number}:00.0 alone" for number in (1, 2)),
        *(f"dut: enp{number}s0: its driver offers no reset" for number in (1, 2)),
    ]


@pytest.mark.parametrize("lost", ["0000:01:00.0", "0000:02:00.0"])
def test_one_function_without_a_way_is_undecided_and_the_other_is_taken(functions: Functions, lost: str) -> None:
    functions.without_reset = {lost}
    with pytest.raises(Undecided, match=f"^dut: the kernel knows no way to reset {re.escape(lost)} alone$"):
        come_back(TakenBy.RESET)
    assert sum("unbind" in line for line in functions.log) == 1
    assert [line for line in functions.log if "driver" in line] == ["driver reset enp1s0", "driver reset enp2s0"]


def test_a_failure_comes_before_another_function_without_a_way(functions: Functions) -> None:
    functions.without_reset, functions.refusal = {"0000:01:00.0"}, "write error: Connection timed out"
    with pytest.raises(CardFailure, match=r"^dut\.p1 .*: its function does not reset: write error"):
        come_back(TakenBy.RESET)
