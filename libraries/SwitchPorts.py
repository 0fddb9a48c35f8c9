"""The ports of the managed switch, named by the servers' ports that they lead to: ``dut.p1``."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.links import switch_ports
from niclab.switch.switch_records import PortState


@library(scope="GLOBAL")
class SwitchPorts(BenchLibrary):
    """Keywords about ports of the switch, also for suites of your own: `Shut Switch Port    dut.p1`.

    ``port`` is a port of a server and means the port at the other end of its cable. Each keyword raises NotApplicable
    where that is no port of the switch.

    | `Shut Switch Port` | dut.p1 |
    | `Open Switch Port` | dut.p1 |
    | `Get Switch Port State` | dut.p1 |
    | `Get Switch Port Counter` | dut.p1 | in_errors |
    """

    @keyword
    def shut_switch_port(self, port: str) -> None:
        """Shut a port of the switch; the journal opens it where the run ends before.

        Args:
            port: The server's port, for example ``dut.p1``.

        Raises:
            BenchFault: Another than this run has shut it, or the switch does not shut it.
        """
        switch_ports.shut(self.run, self.run.bench.port(port))

    @keyword
    def open_switch_port(self, port: str) -> None:
        """Open a port of the switch.

        Args:
            port: The server's port, for example ``dut.p1``.

        Raises:
            BenchFault: The switch does not open it.
        """
        switch_ports.open_port(self.run, self.run.bench.port(port))

    @keyword
    def open_all_shut_switch_ports(self) -> None:
        """Open every port of the switch that this run has shut. Does nothing when none is.

        Raises:
            BenchFault: A port cannot be opened; the others have been.
        """
        for name in switch_ports.open_all(self.run):
            logger.info(f"switch port of {name} opened")

    @keyword
    def get_switch_port_state(self, port: str) -> PortState:
        """Return the administrative and operational state and the speed of a port of the switch.

        Args:
            port: The server's port, for example ``dut.p1``.

        Returns:
            The state, with ``admin``, ``oper`` and ``speed_mbps``.
        """
        return self.run.switch.ports.state(switch_ports.switch_port(self.run, self.run.bench.port(port)))

    @keyword
    def get_switch_port_counter(self, port: str, counter: str) -> int:
        """Return what a counter of a port of the switch shows now.

        Args:
            port: The server's port, for example ``dut.p1``.
            counter: Its name, for example ``in_octets``, ``out_unicast`` or ``fcs_errors``.

        Returns:
            The counter's value; it begins at 0 again when the switch restarts.

        Raises:
            BenchFault: The switch has no such counter.
        """
        return switch_ports.count(self.run, self.run.bench.port(port), counter)
