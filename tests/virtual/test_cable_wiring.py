"""The cables laid to the switch: who has light, where frames go, and what a pulled cable means there."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench_fakes import wait_for
from cable_bench import CableBench, cable_bench

from control import ControlError
from linkcontrol import CABLE_EVENT

UP, DOWN = {"p0": True, "p1": True}, {"p0": False, "p1": False}


class Grip:
    """A made-up switch's hold of one server's cables."""

    def __init__(self, outlet: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(3)

        def connected() -> bool:
            try:
                self._socket.connect(str(outlet))
            except (FileNotFoundError, ConnectionRefusedError):  # its file is there before anybody listens
                return False
            return True

        wait_for(connected, "the outlet is open")
        self._stream = self._socket.makefile("rwb")
        assert "QMP" in self.next()

    def next(self) -> dict[str, Any]:
        """Return the outlet's next message; empty when it has hung up."""
        line = self._stream.readline()
        said: dict[str, Any] = json.loads(line) if line else {}
        return said

    def light(self, port: str, on: bool) -> dict[str, Any]:
        """Give or take it: the answer."""
        request = {"execute": "set_link", "arguments": {"name": port, "up": on}, "id": 7}
        self._stream.write(json.dumps(request).encode() + b"\n")
        self._stream.flush()
        return self.next()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


@pytest.fixture
def bench() -> Iterator[CableBench]:
    """Cables that lead to a switch of which nothing is heard yet."""
    with cable_bench() as made, made.asked(wiring="switch"):
        wait_for(lambda: made.ask(status=True)["wiring"] == "switch", "the cables are laid to the switch")
        yield made


@pytest.fixture
def lit(bench: CableBench) -> Iterator[dict[str, Grip]]:
    """Every port has light: the switch's hold of each server."""
    grips = {role: Grip(outlet) for role, outlet in bench.outlets.items()}
    for grip in grips.values():
        for port in UP:
            assert grip.light(port, True) == {"return": {}, "id": 7}
    yield grips
    for grip in grips.values():
        grip.close()


def carries(bench: CableBench, source: str, to_switch: bool) -> None:
    """A frame goes from the card to its place at the switch, or from there, and nowhere else."""
    sender, receiver = (bench.nics, bench.at_switch) if to_switch else (bench.at_switch, bench.nics)
    mark = f"{source} {to_switch}".encode().ljust(60)
    sender[source].send(mark)
    assert receiver[source].next() == mark
    assert [nic.take() for nic in (*bench.nics.values(), *bench.at_switch.values())] == [[]] * 8


def test_no_port_has_light_before_the_switch_gives_it(bench: CableBench) -> None:
    bench.links_become(dut=DOWN, peer=DOWN)
    bench.nics["dut.p0"].send(b"x" * 60)
    bench.at_switch["dut.p0"].send(b"x" * 60)
    assert bench.settled("dut.p0", 1)["dropped"] == 1
    assert [nic.take() for nic in (*bench.nics.values(), *bench.at_switch.values())] == [[]] * 8


@pytest.mark.usefixtures("lit")
def test_frames_go_from_each_port_to_its_place_and_back(bench: CableBench) -> None:
    bench.links_become(dut=UP, peer=UP)
    for port in bench.nics:
        carries(bench, port, to_switch=True)
        carries(bench, port, to_switch=False)


def test_one_port_s_light_is_taken_and_the_far_server_keeps_its_own(bench: CableBench, lit: dict[str, Grip]) -> None:
    lit["dut"].light("p0", False)
    assert bench.qemu["dut"].links() == {"p0": False, "p1": True}  # already when the switch has its answer
    assert bench.qemu["peer"].links() == UP
    bench.at_switch["dut.p0"].send(b"x" * 60)
    carries(bench, "peer.p0", to_switch=True)
    assert bench.nics["dut.p0"].take() == []


def test_a_pulled_cable_is_that_of_the_dut_and_the_switch_is_told(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.ask(pull="a")
    bench.links_become(dut={"p0": False, "p1": True}, peer=UP)
    assert lit["dut"].next() == {"event": CABLE_EVENT, "data": {"name": "p0"}}
    assert lit["dut"].light("p0", True)["error"]["desc"] == "the cable to dut.p0 is pulled"
    bench.nics["dut.p0"].send(b"x" * 60)
    bench.at_switch["dut.p0"].send(b"x" * 60)
    carries(bench, "peer.p0", to_switch=True)
    assert bench.nics["dut.p0"].take() == bench.at_switch["dut.p0"].take() == []
    bench.ask(plug="a")
    assert lit["dut"].next()["event"] == CABLE_EVENT
    assert lit["dut"].light("p0", True) == {"return": {}, "id": 7}
    carries(bench, "dut.p0", to_switch=True)


def test_nothing_is_said_of_a_cable_that_is_plugged_already(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.ask(plug="a")
    assert lit["dut"].light("p0", True) == {"return": {}, "id": 7}


def test_a_switch_that_dies_takes_every_light(bench: CableBench, lit: dict[str, Grip]) -> None:
    lit["dut"].close()
    bench.links_become(dut=DOWN, peer=UP)


def test_a_server_without_power_has_no_outlet(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.qemu["peer"].power_off()
    wait_for(lambda: not bench.outlets["peer"].exists(), "the outlet is closed")
    assert lit["peer"].next() == {}
    assert bench.qemu["dut"].links() == UP


def test_the_cables_are_laid_back(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.ask(wiring="direct")
    assert lit["dut"].next() == {}
    assert not any(outlet.exists() for outlet in bench.outlets.values())
    bench.links_become(dut=UP, peer=UP)
    bench.carries("dut.p0", "peer.p0")


def test_they_lie_as_they_lay_after_a_restart(bench: CableBench) -> None:
    bench.restart()
    assert bench.ask(status=True)["wiring"] == "switch"
    wait_for(bench.outlets["dut"].exists, "the outlet is open")


def test_crossed_cables_are_crossed_at_the_switch(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.fault("a", "crossed")
    bench.nics["peer.p0"].send(b"x" * 60)
    assert bench.at_switch["peer.p1"].next() == b"x" * 60
    bench.at_switch["peer.p1"].send(b"y" * 60)
    assert bench.nics["peer.p0"].next() == b"y" * 60
    carries(bench, "dut.p0", to_switch=True)
    lit["peer"].light("p0", False)
    bench.links_become(peer={"p0": True, "p1": False})


def test_a_late_carrier_does_not_hold_the_switch_up(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.fault("a.dut", "carrier_delay_s", 0.5)
    assert lit["dut"].light("p0", False) == {"return": {}, "id": 7}
    assert bench.qemu["dut"].links() == UP
    bench.links_become(dut={"p0": False, "p1": True})


def test_a_server_that_stands_still_is_told_to_the_switch(bench: CableBench, lit: dict[str, Grip]) -> None:
    bench.qemu["dut"].awake.clear()
    answer = lit["dut"].light("p0", False)
    bench.qemu["dut"].awake.set()
    assert answer["error"]["desc"] == "dut.p0 has not taken the change of carrier within 1.5 s"


def test_a_switch_that_does_not_take_its_ports_is_told() -> None:
    missing = re.escape("wiring 'switch': dut.p0, peer.p0, dut.p1, peer.p1 has not taken")
    with cable_bench() as bench, pytest.raises(ControlError, match=missing):
        bench.ask(wiring="switch")


def test_an_unknown_wiring_is_refused(bench: CableBench) -> None:
    with pytest.raises(ControlError, match="no wiring 'loose'; there are direct, switch"):
        bench.ask(wiring="loose")
