"""Judges by which queues flows came: spread as the table says, or all by one queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from niclab.core.verdict import Collected, fail_with
from niclab.frames.queues.chi_square import chi_square, chi_square_upper_tail
from niclab.frames.queues.flow_agents import ATTEMPTS, Came

CHANCE = 1e-6
"""A sound card is called faulty with at most this probability for each port and kind of flows."""
LOST_PART = 16
"""Assumption: a queue loses flows by itself where more than one in so many do not come, although each is sent again."""
FLOWS, FLOWS_OF_ENTRY, FLOWS_OF_QUEUE, MOST_FLOWS = 512, 4, 32, 4096
"""At 4 flows an entry one is left out of an exchange with a probability of 2 %, at 32 a queue of 1e-14.

Each exchange has flows of its own: three, as with four queues, leave an entry out with 6e-6. At most 4 s of sending.
"""


def flows_for(entries: int, queues: int) -> int:
    """The number of flows that reach every entry of a table, and every queue in it.

    Args:
        entries: Size of the table.
        queues: Number of queues in it.
    """
    return min(MOST_FLOWS, max(FLOWS, FLOWS_OF_ENTRY * entries, FLOWS_OF_QUEUE * queues))


@dataclass
class Findings:
    """The problems of a card, and what could not be decided. ``noting``: ports whose driver has noted queues.

    As a context it ends the check, also where something after the findings fails, cannot be asked or decided, or finds
    the bench wrong: that hides none of them.
    """

    problems: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)
    noting: set[str] = field(default_factory=set)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, _trace: TracebackType | None) -> None:
        judged = Collected()
        judged.problems, judged.doubts = self.problems, self.undecided
        with judged.one():
            if error is not None:
                raise error
        judged.end()

    def end(self) -> None:
        """End the check, and begin with none.

        Raises:
            CardFailure: There are problems.
            Undecided: There are none, and something could not be decided.
        """
        problems, undecided = self.problems, self.undecided
        self.problems, self.undecided = [], []
        fail_with(problems, undecided)

    def judge_spread(
        self, what: str, came: Came, count: int, shares: Mapping[int, float], *, by_ports: bool = True
    ) -> None:
        """Judge flows that must come by every queue of a table, by each as often as its part says.

        Args:
            what: Port and flows, for messages.
            came: What came.
            count: Number of flows that were sent.
            shares: Queue -> its part of the table.
            by_ports: Are the flows hashed by their ports? If not they need not come by every queue.
        """
        counts = Counter(came.queues.values())
        self.judge_moved(what, came)
        if strange := {queue: number for queue, number in sorted(counts.items()) if queue not in shares}:
            queues = _queues(shares)
            self.problems.append(f"{what}: flows came by other queues, {_counted(strange)}; the table has {queues}")
        known = {queue: counts[queue] for queue in shares}
        likely = _with_unnoted(known, came, {queue: count * share for queue, share in shares.items()})
        if not sum(likely.values()):
            self.undecided.append(f"{what}: no flow of {count} came by a queue of the table; expected all")
            return
        if not by_ports or len(shares) == 1:
            self.judge_lost(what, came, count)
            return
        statistic = chi_square(likely, shares)
        chance = chi_square_upper_tail(statistic, len(shares) - 1)
        empty = [queue for queue in shares if not likely[queue]]
        # as many as would have come if these queues alone had lost theirs: others that never came were in no queue
        left = 1 - sum(shares[queue] for queue in empty)
        could_come = min(count, came.flows / left) if left > 0 else count
        by_chance = sum((1 - shares[queue]) ** could_come for queue in empty)
        if chance < CHANCE or (empty and by_chance < CHANCE):
            wanted = {queue: round(count * share) for queue, share in shares.items()}
            found = f"{_counted(known)}; expected {_counted(wanted)}"
            why = f"chi-square {statistic:.1f}, as likely as {chance:.1g}; a limit of {CHANCE:g} is kept"
            self.problems.append(f"{what}: {came.flows} of {count} flows came unevenly, {found} ({why})")
        else:
            self.judge_lost(what, came, count)

    def judge_steered(self, what: str, came: Came, count: int, queue: int) -> None:
        """Judge flows that must all come by one queue.

        Args:
            what: Port and flows, for messages.
            came: What came.
            count: Number of flows that were sent.
            queue: The queue of the whole table.
        """
        counts = Counter(came.queues.values())
        self.judge_moved(what, came)
        others = {other: number for other, number in sorted(counts.items()) if other != queue}
        if others:
            self.problems.append(f"{what}: flows came by other queues, {_counted(others)}; expected all by {queue}")
        missing = count - came.flows
        if missing * LOST_PART > count:
            said = f"{missing} of {count} flows never came, each was sent {ATTEMPTS} times"
            self.problems.append(f"{what}: {said}; expected queue {queue} to deliver what is steered to it")
        else:
            self.judge_lost(what, came, count)

    def judge_moved(self, what: str, came: Came) -> None:
        """Judge flows whose frames came by two queues: by one of them they are wrong, whatever the other is.

        Args:
            what: Port and flows, for messages.
            came: What came.
        """
        if came.moved:
            said = f"{len(came.moved)} flows came by two queues, flow {min(came.moved)} is one"
            self.problems.append(f"{what}: {said}; expected frames of a flow by one")

    def judge_lost(self, what: str, came: Came, count: int) -> None:
        """Note flows that did not come, for which no queue is to blame, and those whose queue nobody knows.

        Args:
            what: Port and flows, for messages.
            came: What came.
            count: Number of flows that were sent.
        """
        if came.unnoted:
            self.undecided.append(f"{what}: {said_of_unnoted(came)}; expected one for each")
        missing = count - came.flows
        if not missing:
            return
        said = f"{missing} of {count} flows never came, each was sent {ATTEMPTS} times, and no queue lost them alone"
        self.undecided.append(f"{what}: {said}; expected all. Frames with numbers tell who loses them")


def said_of_unnoted(came: Came) -> str:
    """Say for how many packets nobody knows the queue.

    Args:
        came: What came.
    """
    return f"the driver has noted no queue for {len(came.unnoted)} of {came.flows} packets (skb_record_rx_queue())"


def _with_unnoted(known: Mapping[int, int], came: Came, expected: Mapping[int, float]) -> Mapping[int, int]:
    """Count each flow of an unknown queue where most flows are missed: no queue is blamed for it."""
    found = dict(known)
    for _ in came.unnoted:
        found[max(found, key=lambda queue: expected[queue] - found[queue])] += 1
    return found


def _counted(counts: Mapping[int, int]) -> str:
    return ", ".join(f"queue {queue}: {number}" for queue, number in counts.items())


def _queues(shares: Mapping[int, float]) -> str:
    return f"queues {', '.join(map(str, shares))}"
