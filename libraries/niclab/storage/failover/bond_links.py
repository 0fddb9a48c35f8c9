"""The loss and the return of the active link of the bonds below storage, and how long that may keep it waiting.

The sheet says how long the bond may take. TCP adds its own: what it sends again within that outage is lost as well, and
each time it waits twice as long for an answer (RFC 6298, 5.5). With a timer R, what was lost is sent again R, 3 R, 7 R
and so on after the loss, thus at last before twice the outage and R; R is the timer that the connection has, and a
second where that is shorter (RFC 6298, 2.4; Linux waits for less).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from niclab.core.decision import Decision
from niclab.core.verdict import Undecided, fail_with
from niclab.links.link_loss import MemberLink
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.failover.waits import Longest, Wait
from niclab.traffic.outage.failover import Failover
from niclab.traffic.outage.outage import Allowed, Judgement

LEAST_TIMER_MS = 1000
"""RFC 6298, 2.4."""
Change = Callable[[], list[str]]
"""Changes a link; returns the bonds that do not use the right link then."""


def longest(allowed: Allowed, connection: SessionConnection) -> Longest:
    """Return how long storage may wait for a link that fails or returns.

    Args:
        allowed: The outage that the bonds may have.
        connection: What carries the data, as it is under load.
    """
    timer_ms = max(LEAST_TIMER_MS, connection.timer_ms)
    source = f"{allowed.source}: twice that, and a TCP timer of {timer_ms} ms; RFC 6298, 5.5"
    return Longest(2 * allowed.limit_ms + timer_ms, source)


def judged(wait: Wait, elsewhere: Sequence[str], require_whole: Callable[[], object]) -> Judgement:
    """Return the judgement of a wait while a link of the bonds changed.

    Args:
        wait: The wait.
        elsewhere: The bonds that do not use the right link then.
        require_whole: Is called where nothing is proven: damage hides no failure.

    Raises:
        Undecided: Something failed by itself, within the limit: to try again would forget it.
    """
    missed, unknown = ([wait.words] if wait.outcome is each else [] for each in (Decision.MISSED, Decision.UNDECIDED))
    found = Judgement([*missed, *elsewhere], unknown)
    if found.proven:
        return found
    require_whole()
    if wait.fails_by_itself:
        raise Undecided("\n".join(found.possible))
    return found


def lost_and_back(run: Run, links: Failover, during: Callable[[str, Change], Judgement]) -> Judgement:
    """Judge the loss of the active link, and its return where nothing was wrong before.

    Args:
        run: The current run, with active-backup bonds whose first path is the primary.
        links: The way in which links fail.
        during: Judges what is under way while a link changes. Takes what happens, in words, and what changes the link.

    Raises:
        CardFailure: The bonds are whole, and do not use the first path.
        BenchFault: Both ends show another cause of the lost link.
    """
    bonds, first = run.part(Bonds), run.bench.paths[0]
    bonds.make_whole()
    fail_with(bonds.not_on_path(first))

    def lose() -> list[str]:
        bonds.lose(MemberLink.ACTIVE, links.cause, links.say)
        return bonds.not_changed()

    def restore() -> list[str]:
        bonds.restore()
        return bonds.not_on_path(first)

    lost = links.explained(during(f"active link lost by {links.chosen_cause.value}", lose))
    if lost.proven or lost.possible:
        return lost
    back = during("primary link back", restore)
    bonds.require_members()
    return back
