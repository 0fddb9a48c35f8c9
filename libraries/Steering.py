"""The CPUs that take the dut's interrupts and packets."""

from __future__ import annotations

from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.hosts.steering_kinds import SteeringKind
from niclab.settings import steering


@library(scope="GLOBAL")
class Steering(BenchLibrary):
    """Checks that steer interrupts and packets. Each puts back what it changes, and fails when it cannot."""

    @keyword
    def steering_should_be_settable(self, kind: SteeringKind) -> None:
        """Check that every port of the dut takes another steering, shows it, and gets its own back.

        Args:
            kind: ``irq``: the CPU of each interrupt; ``rps``: CPUs for received packets; ``rfs``: flows followed to
                their reader; ``xps``: CPUs that send by a queue.

        Raises:
            CardFailure: A port does not show the new steering, or does not get its own back.
            BenchFault: Steering cannot be read or put back.
            NotApplicable: The system or a port has no such steering.
        """
        steering.set_and_put_back(self.run, kind)
