"""The CPUs that take the dut's interrupts and packets."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.hosts.steering.linux import cpus_of_list
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.settings import steered_packets, steering
from niclab.settings.tuning import port_of
from niclab.traffic.flows import followed


@library(scope="GLOBAL")
class Steering(BenchLibrary):
    """Checks that steer interrupts and packets. Each puts back what it changes, and fails when it cannot.

    | `Steering Should Be Settable` | rps |
    | `Interrupts Should Arrive At` | dut.p0 | 0-3 |
    | `Received Packets Should Be Taken Over By` | dut.p0 | 4-7 |
    | `Packets Should Follow Their Reader` | dut.p0 |
    | `Sent Packets Should Leave By The Queues Of Their CPU` | dut.p0 | 0-3 |
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
            Undecided: None arrive, and no ping is answered: either end may be why.
            NotApplicable: The server has one CPU, or the system does not steer interrupts.
        """
        steering.require_arrival(self.run, port_of(self.run, port), cpus_of_list(cpus))

    @keyword
    def received_packets_should_be_taken_over_by(self, port: str, cpus: str) -> None:
        """Check that CPUs take over received packets of a port while pings cross its path, and no other CPU does.

        `Set IRQ Affinity` gives its interrupts to other CPUs before, `Set RPS` the packets to these.

        Args:
            port: Name of the port; ``dut`` alone is its port on the first path.
            cpus: Numbers and ranges, such as ``0-2,5``.

        Raises:
            CardFailure: Packets of a port of the dut are not taken over, or by another CPU.
            BenchFault: Those of a port of the peer are not.
            Undecided: Pings were lost.
            NotApplicable: The server has one CPU, or another system than Linux.
        """
        steered_packets.require_takeover(self.run, port_of(self.run, port), cpus_of_list(cpus))

    @keyword
    def packets_should_follow_their_reader(self, port: str) -> None:
        """Check that received packets of a connection are worked on by the CPU of the program that reads them.

        `Set IRQ Affinity` gives the interrupts of the port to some of the CPUs before, `Set RFS` steers its flows.

        Args:
            port: Name of the port; ``dut`` alone is its port on the first path.

        Raises:
            CardFailure: Packets of a port of the dut do not follow.
            BenchFault: Those of a port of the peer do not, or a run fails.
            NotApplicable: The server has one CPU or another system than Linux, or every CPU may take the interrupts.
        """
        followed.require_followed(self.run, port_of(self.run, port), logger.info)

    @keyword
    def sent_packets_should_leave_by_the_queues_of_their_cpu(self, port: str, cpus: str) -> None:
        """Give send queues of a port to CPUs in turn, and check that packets that a CPU sends leave by its queues.

        Args:
            port: Name of the port; ``dut`` alone is its port on the first path.
            cpus: Numbers and ranges, such as ``0-2,5``.

        Raises:
            CardFailure: A port of the dut does not take it, or its packets leave by other queues.
            BenchFault: A port of the peer does so, or its steering could not be put back.
            NotApplicable: The server has not those CPUs or another system than Linux, the port has one queue, or its
                driver counts no single queue.
        """
        steered_packets.require_own_queues(self.run, port_of(self.run, port), cpus_of_list(cpus))
