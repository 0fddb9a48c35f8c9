"""Injected defects: the right part is asked, and what is none is refused."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator

import pytest
from bench_fakes import ControlSocket, bench_in, process_state, short_folder, wait_for, wait_for_part

import cables
import faults
import layout
import parts
import process
from bmc.control import FaultSet
from control import ControlError
from faults import FaultError, Kind
from switch.defects import PORT_DEFECTS, SWITCH_DEFECTS


@pytest.fixture
def bench() -> Iterator[layout.Bench]:
    with short_folder() as folder:
        yield bench_in(folder)


class Parts:
    """The control sockets of a bench."""

    def __init__(self, bench: layout.Bench) -> None:
        no_faults = FaultSet().model_dump()
        self.cables = ControlSocket(bench.folder / "cables.control", {})
        self.switch = ControlSocket(bench.folder / "switch.control", {})
        self.bmc = {
            server.role: ControlSocket(server.folder / "bmc.control", {"faults": no_faults}) for server in bench.servers
        }

    def all(self) -> list[ControlSocket]:
        return [self.cables, self.switch, *self.bmc.values()]


@pytest.fixture
def answering(bench: layout.Bench) -> Iterator[Parts]:
    parts = Parts(bench)
    yield parts
    for part in parts.all():
        part.close()


@pytest.fixture
def dut_process(bench: layout.Bench) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the identity of the DUT's machine."""
    environment = {**os.environ, "VBENCH": str(bench.folder), "VBENCH_PART": "qemu-dut"}
    child = subprocess.Popen(["sleep", "60"], env=environment)
    wait_for_part(child, "qemu-dut")
    yield child
    child.kill()
    child.wait(5)


def test_the_table_holds_exactly_what_the_parts_can_do() -> None:
    by_kind = {kind: {fault.name for fault in faults.FAULTS if fault.kind is kind} for kind in Kind}
    assert by_kind[Kind.CABLE] == {*cables.END_FAULTS, *cables.PANEL_FAULTS}
    assert by_kind[Kind.BMC] == set(FaultSet.model_fields)
    assert by_kind[Kind.SERVER] == {"frozen"}
    assert by_kind[Kind.SWITCH] == {*SWITCH_DEFECTS, *PORT_DEFECTS}


@pytest.mark.parametrize(
    ("target", "setting", "complaint"),
    [
        ("cable:a", "melted", "no fault 'melted' for 'cable'; there are cable:... rate_factor"),
        ("cable:a", "", "no fault '' for 'cable'"),
        ("bmc:dut", "loss=0.5", "no fault 'loss' for 'bmc'"),
        ("switch:port1", "melted", "no fault 'melted' for 'switch'"),
        ("switch:", "agent_slow_s", "agent_slow_s takes a value: seconds"),
        ("switch:", "set_ignored=1", "set_ignored takes no value"),
        ("", "silent", "no fault 'silent' for ''"),
        ("cable:a", "loss", "loss takes a value: fraction"),
        ("bmc:dut", "delay_s", "delay_s takes a value: seconds"),
        ("cable:a", "silent=1", "silent takes no value"),
        ("server:dut", "frozen=1", "frozen takes no value"),
        ("cable:a", "loss=half", "loss: 'half' is no number"),
        ("cable:a", "loss=", "loss: '' is no number"),
        ("bmc:switch", "drop", "no server 'switch'; there are dut, peer"),
        ("server:", "frozen", "no server ''; there are dut, peer"),
        ("server:dut", "frozen", "dut is off"),
    ],
)
def test_what_is_no_fault_is_refused_and_nobody_is_asked(
    bench: layout.Bench, answering: Parts, target: str, setting: str, complaint: str
) -> None:
    with pytest.raises(FaultError, match=re.escape(complaint)):
        faults.set_fault(bench, target, setting)
    assert [part.requests for part in answering.all()] == [[], [], [], []]


def test_a_cable_fault_goes_to_the_cables_with_its_value(bench: layout.Bench, answering: Parts) -> None:
    faults.set_fault(bench, "cable:a.dut", "loss=0.25")
    faults.set_fault(bench, "cable:b", "silent")
    assert answering.cables.requests == [
        {"fault": {"target": "a.dut", "name": "loss", "value": 0.25}},
        {"fault": {"target": "b", "name": "silent", "value": 1.0}},
    ]


def test_a_fault_of_the_switch_goes_to_it_with_its_port_and_value(bench: layout.Bench, answering: Parts) -> None:
    faults.set_fault(bench, "switch:", "agent_slow_s=2.5")
    faults.set_fault(bench, "switch:port3", "silent")
    assert answering.switch.requests == [
        {"fault": {"target": "", "name": "agent_slow_s", "value": 2.5}},
        {"fault": {"target": "port3", "name": "silent", "value": 1.0}},
    ]


def test_a_bmc_fault_goes_to_that_bmc_and_leaves_the_faults_it_has(bench: layout.Bench) -> None:
    had = {**FaultSet().model_dump(), "drop": True}
    dut = ControlSocket(bench.server("dut").folder / "bmc.control", {"faults": had})
    try:
        faults.set_fault(bench, "bmc:dut", "delay_s=1.5")
    finally:
        dut.close()
    assert dut.requests == [{"status": True}, {"fault": {**had, "delay_s": 1.5}}]


def test_a_part_that_is_not_there_is_an_error(bench: layout.Bench) -> None:
    with pytest.raises(ControlError, match=r"cables does not answer"):
        faults.set_fault(bench, "cable:a", "silent")


def test_frozen_stops_the_machine_and_clear_wakes_it(
    bench: layout.Bench, answering: Parts, dut_process: subprocess.Popen[bytes]
) -> None:
    faults.set_fault(bench, "server:dut", "frozen")
    wait_for(lambda: process_state(dut_process.pid) == "T", "the machine stands still")
    faults.clear_all(bench)
    wait_for(lambda: process_state(dut_process.pid) == "S", "the machine goes on")
    assert answering.cables.requests == answering.switch.requests == [{"clear": {}}]
    assert [bmc.requests for bmc in answering.bmc.values()] == [[{"fault": {}}], [{"fault": {}}]]


def test_a_machine_that_has_ended_is_off_and_its_number_gets_no_signal(
    bench: layout.Bench, dut_process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    former = process.Pid(dut_process.pid, process.pid_of(dut_process.pid).start - 1)
    monkeypatch.setattr(parts, "running", lambda _: {"qemu-dut": [former]})
    with pytest.raises(FaultError, match="dut is off"):
        faults.set_fault(bench, "server:dut", "frozen")
    wait_for(lambda: process_state(dut_process.pid) == "S", "the machine sleeps")


def test_a_dead_part_does_not_keep_the_others_from_being_cleared(
    bench: layout.Bench, dut_process: subprocess.Popen[bytes]
) -> None:
    peer = ControlSocket(bench.server("peer").folder / "bmc.control", {})
    faults.set_fault(bench, "server:dut", "frozen")
    wait_for(lambda: process_state(dut_process.pid) == "T", "the machine stands still")
    try:
        with pytest.raises(
            FaultError,
            match=r"not everything is cleared: cables does not answer.*; bmc does not answer.*; switch does not answer",
        ):
            faults.clear_all(bench)
    finally:
        peer.close()
    wait_for(lambda: process_state(dut_process.pid) == "S", "the machine goes on")
    assert peer.requests == [{"fault": {}}]
