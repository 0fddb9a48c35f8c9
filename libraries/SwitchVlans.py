"""VLANs of the switch over the first path, or all: what it must carry, and what it must keep out."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Port, Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, fail_with
from niclab.hosts.records import PingResult
from niclab.links import switch_ports
from niclab.run.run import current
from niclab.switch.ports import difference

PINGS = 10
FIRST_NATIVE = 1
"""The VLAN of untagged frames on a trunk where nothing else is said (IEEE 802.1Q, 9.6: the default PVID)."""


@library(scope="GLOBAL")
class SwitchVlans(BenchLibrary):
    """Keywords about the switch's VLANs. `Restore Switch VLANs` undoes all of them. Constructing the library connects
    to nothing."""

    @keyword
    def put_first_path_in_switch_vlans(self, dut_vlan: int, peer_vlan: int) -> None:
        """The switch's ports of the first path become access ports of these VLANs."""
        run, path = self.run, self.run.bench.paths[0]
        for role, vlan in ((Role.DUT, dut_vlan), (Role.PEER, peer_vlan)):
            switch_ports.set_vlans(run, run.bench.end(path, role), switch_ports.access(vlan))

    @keyword
    def make_every_switch_port_a_trunk(self, vlan: int) -> None:
        """Every port carries ``vlan`` with a tag, and untagged frames as before."""
        run = self.run
        for path in run.bench.paths:
            for port in map(run.bench.port, path.ends):
                switch_ports.set_vlans(run, port, switch_ports.trunk(frozenset({vlan}), FIRST_NATIVE))

    @keyword
    def first_path_should_carry_traffic(self) -> None:
        """Ten pings from each end are answered."""
        fail_with([f"{told}; wanted: all" for result, told in _pings() if result.received != result.sent])

    @keyword
    def first_path_should_be_isolated(self) -> None:
        """No ping is answered from either end, and the switch has passed nothing on, though it has received frames.

        Frames to groups are left out: the switch speaks to its neighbours itself, of itself.

        :raises BenchFault: when the switch passes frames of another VLAN on, or none has come to it.
        """
        run, ports = self.run, _ends()
        theirs = [switch_ports.switch_port(run, port) for port in ports]
        before = [run.switch.ports.counters(name) for name in theirs]
        answered = [told for result, told in _pings() if result.received]
        problems = []
        for port, name, then in zip(ports, theirs, before, strict=True):
            subject = f"{run.switch.name}: {name} ({port.name})"
            counted = difference(then, run.switch.ports.counters(name), subject)
            passed = counted["out_unicast"] + counted["out_broadcast"]
            received = counted["in_unicast"] + counted["in_broadcast"]
            logger.info(f"{subject}: {received} frames received, {passed} passed on")
            if received == 0:
                raise BenchFault(f"{subject} has received nothing, so isolation is not tried")
            if passed:
                problems.append(f"{subject} has passed on {passed} frames of another VLAN; wanted: none")
        if problems or answered:
            raise BenchFault("\n".join([*problems, *(f"{told}; wanted: none, the VLANs differ" for told in answered)]))


def _ends() -> list[Port]:
    bench = current().bench
    return [bench.end(bench.paths[0], role) for role in Role]


def _pings() -> list[tuple[PingResult, str]]:
    """Ten pings from each end of the first path to the other, and what came of them."""
    run = current()

    def ping(port: Port) -> tuple[PingResult, str]:
        partner = run.bench.partner(port)
        source, target = (str(run.bench.address(end).ip) for end in (port, partner))
        result = run.server_of(port).host.ping(target, source=source, count=PINGS)
        return result, f"{port.place} to {partner.name}: {result.received} of {result.sent} pings answered"

    return side_by_side(ping, _ends())
