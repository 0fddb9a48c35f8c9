"""A link lost at the switch, and frames counted there: the first path, as both sides see it."""

from __future__ import annotations

import time

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath, Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, CardFailure, fail_with
from niclab.core.wait import until
from niclab.hosts.records import CarrierChanges
from niclab.links import carrier, switch_ports, wiring
from niclab.run.run import current
from niclab.switch.ports import difference
from niclab.switch.records import Oper, PortCounters

PINGS, PING_EVERY_S = 200, 0.05
"""Linux' ping waits for the last answer no longer than that, or two round trips; 5 ms were few for a busy server."""
COUNTED_WITHIN_S = 5.0
"""House rule: some switches count their frames only every few seconds."""
FORGOTTEN_WITHIN_S = 3.0
"""House rule: a switch forgets what it learned at a port when the link is lost, not when the entry is old (802.1D-2004,
7.9: ageing takes 300 s); its agent may show it a moment later."""


@library(scope="GLOBAL")
class SwitchLinks(BenchLibrary):
    """Keywords about the first path where it goes through the switch. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._since = 0.0
        self._before: dict[Port, CarrierChanges] = {}
        self._learned = ""

    @keyword
    def shut_the_switch_port(self) -> None:
        """Shut the switch's port of the dut on the first path; `Open All Shut Switch Ports` or the journal opens it."""
        run, port = self.run, _dut()
        self._learned = wiring.mac_of(run, port)
        self._before = _carrier_changes()
        switch_ports.shut(run, port)
        self._since = time.monotonic()

    @keyword
    def open_the_switch_port(self) -> None:
        """Open it again."""
        switch_ports.open_port(self.run, _dut())
        self._since = time.monotonic()

    @keyword
    def dut_should_lose_carrier_in_time(self) -> None:
        """The dut's port has lost carrier within the sheet's ``carrier_loss_within_ms`` of the shutting."""
        carrier.expect(self.run, [_dut()], up=False, since=self._since, say=logger.info)

    @keyword
    def dut_should_get_carrier_back_in_time(self) -> None:
        """The dut's port has carrier within the sheet's ``carrier_return_within_ms`` of the opening."""
        carrier.expect(self.run, [_dut()], up=True, since=self._since, say=logger.info)

    @keyword
    def no_other_port_should_have_seen_it(self) -> None:
        """No other port, the partner neither, has counted a change of carrier since the shutting."""
        problems = [
            f"{port.place} counted {after.changes - self._before[port].changes} changes of carrier while the switch's "
            f"port of {_dut().name} was shut; wanted: none"
            for port, after in _carrier_changes().items()
            if port != _dut() and after.changes != self._before[port].changes
        ]
        fail_with(problems)

    @keyword
    def switch_should_say_that_the_link_is_lost(self) -> None:
        """The switch reports the port as down, and has forgotten the address that it had learned there.

        A switch that has not sends the frames of a server that fails over to the lost link until they are old.

        :raises BenchFault: it is the switch that is wrong.
        """
        run, port = self.run, _dut()
        theirs = switch_ports.switch_port(run, port)
        run.switch.ports.wait_oper(theirs, Oper.DOWN, within_s=FORGOTTEN_WITHIN_S)

        def forgotten() -> bool:
            return theirs not in run.switch.tables.ports_of_mac(self._learned)

        try:
            until(forgotten, within=FORGOTTEN_WITHIN_S, what="forgotten", every=0.2)
        except BenchFault as error:
            raise BenchFault(
                f"{run.switch.name}: {theirs} has no link, and the address {self._learned} of {port.name} is known "
                f"there still after {FORGOTTEN_WITHIN_S:g} s; wanted: forgotten with the link"
            ) from error

    @keyword
    def every_frame_should_be_counted_alike(self) -> None:
        """Pings over the first path: the switch has received what each port of the card counts as sent, has passed on
        all that is for the other end, and has dropped nothing.

        Reading takes time: counters that differ are read again while the switch may still have to count.
        """
        run, ports = self.run, [self.run.bench.port(end) for end in _path().ends]
        before, sent_before = _begin(ports)
        result = run.server_of(_dut()).host.ping(
            str(run.bench.address(run.bench.partner(_dut())).ip),
            source=str(run.bench.address(_dut()).ip),
            count=PINGS,
            interval_s=PING_EVERY_S,
        )
        if result.received != result.sent:
            raise CardFailure(f"{_dut().place}: {result.received} of {result.sent} pings answered; wanted: all")
        problems: list[str] = []

        def alike() -> bool:
            sent = [after - then for after, then in zip(_sent(ports), sent_before, strict=True)]
            counted = [
                difference(then, after, f"{run.switch.name}: port of {port.name}")
                for port, then, after in zip(ports, before, _of_switch(ports), strict=True)
            ]
            problems[:] = _differences(ports, sent, counted)
            return not problems

        try:
            until(alike, within=COUNTED_WITHIN_S, what="every frame counted alike", every=0.5)
        except BenchFault as error:
            raise CardFailure("\n".join(problems)) from error


def _differences(ports: list[Port], sent: list[int], counted: list[dict[str, int]]) -> list[str]:
    """What does not agree, of the two ends of a path: ``sent`` by the card's ports, ``counted`` by the switch's."""
    problems = []
    for port, frames, here, there in zip(ports, sent, counted, reversed(counted), strict=True):
        received = here["in_unicast"] + here["in_multicast"] + here["in_broadcast"]
        if frames < PINGS or received != frames:
            problems.append(f"{port.place} has sent {frames} frames, the switch has received {received}; wanted: all")
        if here["in_unicast"] != there["out_unicast"]:
            problems.append(
                f"the switch has received {here['in_unicast']} frames of {port.name} for its partner, and passed on "
                f"{there['out_unicast']}; wanted: all"
            )
        dropped = {name: here[name] for name in ("in_errors", "in_discards", "out_errors", "out_discards")}
        if any(dropped.values()):
            told = ", ".join(f"{name} {count}" for name, count in dropped.items() if count)
            problems.append(f"the switch's port of {port.name} counts {told}; wanted: none")
    return problems


def _path() -> BenchPath:
    return current().bench.paths[0]


def _dut() -> Port:
    return current().bench.end(_path(), Role.DUT)


def _of_switch(ports: list[Port]) -> list[PortCounters]:
    run = current()
    return [run.switch.ports.counters(switch_ports.switch_port(run, port)) for port in ports]


def _begin(ports: list[Port]) -> tuple[list[PortCounters], list[int]]:
    """What the switch and the ports of the card have counted when neither port was sending.

    :raises BenchFault: when they never rest: somebody else sends over the card.
    """
    while_still: list[tuple[list[PortCounters], list[int]]] = []

    def still() -> bool:
        sent, counted = _sent(ports), _of_switch(ports)
        while_still[:] = [(counted, sent)]
        return _sent(ports) == sent

    until(still, within=COUNTED_WITHIN_S, what="the ports of the card to send nothing by themselves", every=0.5)
    return while_still[0]


def _sent(ports: list[Port]) -> list[int]:
    """Frames that each port of the card has sent."""
    run = current()
    return side_by_side(lambda port: run.server_of(port).host.statistics(run.interface(port)).tx_packets, ports)


def _carrier_changes() -> dict[Port, CarrierChanges]:
    run = current()
    ports = [run.bench.port(end) for path in run.bench.paths for end in path.ends]
    changes = side_by_side(lambda port: run.server_of(port).host.carrier_changes(run.interface(port)), ports)
    return dict(zip(ports, changes, strict=True))
