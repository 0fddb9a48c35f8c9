"""The ports of the managed switch, called by the servers' ports that they lead to: ``dut.p2``."""

from __future__ import annotations

from datetime import timedelta

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Port
from niclab.core.verdict import BenchFault
from niclab.links import patch_panel, switch_ports, wiring
from niclab.run.run import current
from niclab.switch.ports import difference
from niclab.switch.records import Identity, LacpPort, Neighbour, Oper, PortCounters, PortState, PortVlans


@library(scope="GLOBAL")
class SwitchPorts(BenchLibrary):
    """Keywords about the switch. ``port`` is a port of a server (``dut.p2``) and means the port at the other end of its
    cable. A port that is on no switch skips the test. Constructing the library connects to nothing.
    """

    def __init__(self) -> None:
        self._counters: dict[str, PortCounters] = {}

    @keyword
    def connect_every_path_to_the_switch(self) -> None:
        """Lay the card's cables to the switch, where the bench can and has them lie directly; prove where they lead.
        Skips where the bench has no switch, or cannot."""
        for line in patch_panel.connect(self.run):
            logger.info(line)

    @keyword
    def lay_every_path_back(self) -> None:
        """The cables lie as the bench file says; proven. Does nothing where they have not been moved. For teardowns."""
        for line in patch_panel.disconnect(self.run):
            logger.info(line)

    @keyword
    def shut_switch_port(self, port: str) -> None:
        """Shut it. Its opening stands in the journal before, so that the next run opens it where this one is killed."""
        switch_ports.shut(self.run, _port(port))

    @keyword
    def open_switch_port(self, port: str) -> None:
        """Open it."""
        switch_ports.open_port(self.run, _port(port))

    @keyword
    def open_all_shut_switch_ports(self) -> None:
        """Open every port that this run has shut. Does nothing when none is. For teardowns."""
        for name in switch_ports.open_all(self.run):
            logger.info(f"switch port of {name} opened")

    @keyword
    def put_switch_port_in_vlan(self, port: str, vlan: int) -> None:
        """Make it an access port of ``vlan``, which is made if it is missing."""
        switch_ports.set_vlans(self.run, _port(port), switch_ports.access(vlan))

    @keyword
    def make_switch_port_a_trunk(self, port: str, *tagged: int, native: int = 1) -> None:
        """Make it a trunk for the VLANs ``tagged``; frames of ``native`` carry no tag. Missing VLANs are made."""
        switch_ports.set_vlans(self.run, _port(port), switch_ports.trunk(frozenset(tagged), native))

    @keyword
    def restore_switch_vlans(self) -> None:
        """Put the VLANs of every port back to what they were, and remove those that this run made. For teardowns."""
        for name in switch_ports.restore_vlans(self.run):
            logger.info(f"VLANs of the switch port of {name} put back")

    @keyword
    def switch_port_should_be(self, port: str, state: Oper, within: timedelta = timedelta(seconds=10)) -> None:
        """The switch reports this operational state (``UP``, ``DOWN``, ...) of the port in time: ``within=5 s``."""
        run = self.run
        run.switch.ports.wait_oper(switch_ports.switch_port(run, _port(port)), state, within_s=within.total_seconds())

    @keyword
    def get_switch_port_state(self, port: str) -> PortState:
        """Administrative and operational state, and speed."""
        run = self.run
        return run.switch.ports.state(switch_ports.switch_port(run, _port(port)))

    @keyword
    def get_switch_port_vlans(self, port: str) -> PortVlans:
        """The VLANs of the port: ``pvid``, ``untagged``, ``tagged``."""
        run = self.run
        return run.switch.vlans.of(switch_ports.switch_port(run, _port(port)))

    @keyword
    def remember_switch_port_counters(self, port: str) -> None:
        """Read its counters, for `Get Switch Port Count`."""
        run = self.run
        theirs = switch_ports.switch_port(run, _port(port))
        self._counters[port] = run.switch.ports.counters(theirs)

    @keyword
    def get_switch_port_count(self, port: str, counter: str) -> int:
        """What ``counter`` (such as ``in_octets``, ``out_unicast``, ``fcs_errors``) has counted since `Remember Switch
        Port Counters`. Counters that jumped in between, by a restart of the switch too, are a bench fault."""
        if port not in self._counters:
            raise BenchFault(f"counters of {port} were not read before: 'Remember Switch Port Counters' comes first")
        run = self.run
        after = run.switch.ports.counters(switch_ports.switch_port(run, _port(port)))
        counted = difference(self._counters[port], after, f"{run.switch.name}: port of {port}")
        if counter not in counted:
            raise BenchFault(f"{run.switch.name}: there is no counter {counter!r}; wanted: one of {', '.join(counted)}")
        return counted[counter]

    @keyword
    def switch_should_know_address_of(self, port: str) -> None:
        """The switch has learned the card's address at this port, and at no other. Traffic comes before."""
        wiring.require_learned(self.run, _port(port))

    @keyword
    def get_switch_port_neighbour(self, port: str) -> Neighbour:
        """Who is heard by LLDP at the port; exactly one must be."""
        run = self.run
        theirs = switch_ports.switch_port(run, _port(port))
        heard = [neighbour for neighbour in run.switch.tables.neighbours() if neighbour.port == theirs]
        if len(heard) != 1:
            raise BenchFault(f"{run.switch.name}: {len(heard)} LLDP neighbours at {theirs} ({port}); wanted: one")
        return heard[0]

    @keyword
    def get_switch_port_aggregation(self, port: str) -> LacpPort:
        """What the switch tells of the port's link aggregation (LACP)."""
        run = self.run
        return run.switch.tables.lacp(switch_ports.switch_port(run, _port(port)))

    @keyword
    def get_switch_identity(self) -> Identity:
        """Name, maker, model, serial number and software of the switch."""
        return self.run.switch.identity()

    @keyword
    def switch_should_not_have_restarted(self) -> None:
        """The switch runs on since the bench was taken: a restart would have dropped every link and counter."""
        run = self.run
        before, now = run.switch_uptime, run.switch.uptime()
        if before is None:
            raise BenchFault(f"{run.switch.name}: its uptime was not read when the bench was taken")
        if before.restarted_by(now):
            raise BenchFault(
                f"{run.switch.name}: restarted during the run (sysUpTime {before.ticks / 100:.0f} s when the bench "
                f"was taken, {now.ticks / 100:.0f} s now, {now.at_s - before.at_s:.0f} s later)"
            )


def _port(name: str) -> Port:
    return current().bench.port(name)
