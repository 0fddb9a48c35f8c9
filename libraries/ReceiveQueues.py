"""Receive queues: flows are spread over them as the card's indirection table says."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.frames.queues import hash_checks, queue_changes, receive_queues, rule_checks, vectors


@library(scope="GLOBAL")
class ReceiveQueues(BenchLibrary):
    """Checks of the receive queues of the dut's ports (RSS). Each puts back what it changes.

    The peer sends one frame of each of many flows, which differ in their ports. The dut's driver notes with each packet
    the queue that it came by; the queues of the flows are compared with the indirection table that the port shows.

    Each raises Undecided where flows do not come and no queue is to blame, or the driver notes the queues of some
    packets alone; BenchFault where a setting could not be put back or the tool failed; and NotApplicable where no port
    has several queues, the driver notes the queue of no packet, or a server does not run Linux.

    | `Flows Should Spread Over Every Queue` |
    | `Flows Should Follow The Table After Changes` |
    """

    @keyword
    def flows_should_spread_over_every_queue(self) -> None:
        """Send flows of every kind that ports hash by their ports: TCP and UDP, IPv4 and IPv6.

        A chi-square test judges the spread; it calls a sound card faulty once in a million.

        Raises:
            CardFailure: A queue delivers nothing, or flows are spread otherwise than the table says.
        """
        receive_queues.spread(self.run, logger.info)

    @keyword
    def flows_should_follow_the_indirection_table(self) -> None:
        """Give the whole table to one queue after the other: all flows come by it, and the driver counts them there.

        Raises:
            CardFailure: A flow comes by another queue or not at all, the table is not taken or does not come back, or
                a queue counts otherwise.
        """
        receive_queues.follow_table(self.run, logger.info)

    @keyword
    def each_queue_should_raise_its_own_interrupt(self) -> None:
        """Give the whole table to one queue after the other: the interrupt vector of that queue counts, and no other's.

        Raises:
            CardFailure: A queue's frames raise no interrupt or another queue's, or do not come by the queue.
            NotApplicable: The driver has no vector for each queue.
        """
        vectors.own_vectors(self.run, logger.info)

    @keyword
    def each_queue_should_raise_its_own_interrupt_when_resized(self) -> None:
        """Halve the number of queues and put it back; after each, see the interrupt vectors as with all.

        Raises:
            CardFailure: As `Each Queue Should Raise Its Own Interrupt`, or a link does not come back.
            NotApplicable: The driver has no vector for each queue, or takes no other number of queues.
        """
        vectors.own_vectors_resized(self.run, logger.info)

    @keyword
    def flows_should_follow_the_table_after_changes(self) -> None:
        """Take the first port down and up, change its receive ring and its number of queues, and send flows after each.

        A driver may keep a table or make its own: what it shows must be in force.

        Raises:
            CardFailure: Flows do not follow the table that is shown, a queue delivers nothing, a change that was
                refused has changed something, or the link or the table does not come back.
        """
        queue_changes.after_changes(self.run, logger.info)

    @keyword
    def flows_should_come_by_the_queues_that_the_key_predicts(self) -> None:
        """Predict the queue of each flow by the Toeplitz hash of the card's key; again with another key, if settable.

        Raises:
            CardFailure: A flow comes by another queue, or the key is not taken or does not come back.
            Undecided: Also where some ports show what the prediction needs, and others not.
            NotApplicable: The driver does not show the key, another function, or not which fields it hashes.
        """
        hash_checks.predicted(self.run, logger.info)

    @keyword
    def rules_should_steer_their_own_flows(self) -> None:
        """Give flows rules (ntuple filters), some of which miss a flow by a bit, and remove them after down and up.

        Raises:
            CardFailure: A flow comes by another queue than the rules that are shown say, or rules are left.
            NotApplicable: No driver takes such rules, or a port has some.
        """
        rule_checks.rules_steer(self.run, logger.info)

    @keyword
    def hash_fields_should_be_settable(self) -> None:
        """Hash UDP by its ports where it is not, and by addresses alone where it is: flows spread, or share a queue.

        Raises:
            CardFailure: Other fields are taken and not shown, not in force, or do not come back.
            NotApplicable: The driver takes no other fields.
        """
        hash_checks.fields_settable(self.run, logger.info)
