"""The CPUs that take the dut's interrupts and packets."""

from __future__ import annotations

from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.hosts.steering.linux import cpus_of_list
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.settings import steering
from niclab.settings.tuning import port_of


@library(scope="GLOBAL")
class Steering(BenchLibrary):
    """Checks that steer interrupts and packets. Each puts back what it changes, and fails when it cannot.

    | `Steering Should Be Settable` | rps |
    | `Interrupts Should Arrive At` | dut.p0 | 0-3 |
    """

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

    @keyword
    def interrupts_should_arrive_at(self, port: str, cpus: str) -> None:
        """Check that interrupts of a port arrive at CPUs while pings cross its path, and at no other CPU.

        `Set IRQ Affinity` gives them to the CPUs.

        Args:
            port: Name of the port; ``dut`` alone is its port on the first path.
            cpus: Numbers and ranges, such as ``0-2,5``.

        Raises:
            CardFailure: Interrupts of a port of the dut arrive elsewhere, or none arrive.
            BenchFault: Those of a port of the peer do.
            NotApplicable: The server has one CPU, or the system does not steer interrupts.
        """
        steering.require_arrival(self.run, port_of(self.run, port), cpus_of_list(cpus))
