"""Which CPUs take the dut's interrupts and packets: set, read back, put back."""

from __future__ import annotations

from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.verdict import fail_with
from niclab.hosts.linux.steering import Steering as Kind
from niclab.settings import steering


@library(scope="GLOBAL")
class Steering(BenchLibrary):
    """Keywords about steering. Constructing the library connects to nothing."""

    @keyword
    def steering_should_be_settable(self, kind: Kind) -> None:
        """Every port of the dut takes another steering, shows it, and gets back what it had.

        Skips the test where the system or the port has no such steering.

        :param kind: ``irq``: the CPU of each interrupt; ``rps``: CPUs for received packets; ``rfs``: flows followed to
            their reader; ``xps``: CPUs that send by a queue.
        """
        run = self.run
        fail_with([text for port in run.ports(Role.DUT) for text in steering.tried(run, port, kind)])
