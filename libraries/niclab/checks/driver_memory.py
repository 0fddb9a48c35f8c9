"""Memory that a driver keeps each time it is unloaded and loaded again."""

from __future__ import annotations

from itertools import pairwise

from niclab.bench.records import Role
from niclab.checks import driver
from niclab.checks.asked import Say
from niclab.core.verdict import CardFailure
from niclab.run.run import Run
from niclab.run.watching.lost_memory import COMES_BACK_WITHIN_S, LEAST_LOST_BYTES, LostMemory, mib

RELOADS = 5
"""Reloads between two looks at the memory."""
FIRST_ROUNDS, MORE_ROUNDS = 2, 4
"""Looks; and more of them where memory was lost before each of the first."""


def require_returned(run: Run, say: Say) -> None:
    """Load the driver of the dut again and again, and see that each time it gives back what it took.

    A server that keeps freed memory for itself keeps that of some reloads only, and gives it back within a minute.

    Args:
        run: The run.
        say: Takes what was measured, in words.

    Raises:
        CardFailure: All reloads lose memory that does not come back, or by :func:`~niclab.checks.driver.reload`.
        BenchFault: By :func:`~niclab.checks.driver.reload`.
        Undecided: Memory goes while the driver stays as well.
    """
    free = run.server(Role.DUT).host.system.available_bytes

    def looks(count: int) -> list[int]:
        found = list[int]()
        for _ in range(count):
            for _ in range(RELOADS):
                driver.reload(run, Role.DUT)
            found.append(free())
        return found

    driver.reload(run, Role.DUT)  # the first one brings in what stays in memory for the next
    seen = [free(), *looks(FIRST_ROUNDS)]
    if _each_loses(seen):
        seen += looks(MORE_ROUNDS)
    lost = ", ".join(mib(size) for size in _lost(seen))
    say(f"dut: memory that is not given back by {RELOADS} reloads of the driver: {lost}")
    if not _each_loses(seen):
        return
    reloads = (len(seen) - 1) * RELOADS
    if left := LostMemory("dut", free, seen[0], seen[-1]).left(f"{reloads} reloads of the driver"):
        raise CardFailure(f"{left}, {lost} by {RELOADS} each; expected all of it back within {COMES_BACK_WITHIN_S:g} s")
    say("dut: the memory came back")


def _lost(seen: list[int]) -> list[int]:
    return [before - after for before, after in pairwise(seen)]


def _each_loses(seen: list[int]) -> bool:
    return all(size >= LEAST_LOST_BYTES for size in _lost(seen))
