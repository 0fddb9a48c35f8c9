"""Memory of a server that changes lose: is it gone for good, and do the changes take it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from niclab.core.verdict import Undecided
from niclab.core.wait import Deadline, pause

LEAST_LOST_BYTES = 4 << 20
"""Assumption: a server takes less by itself meanwhile. Smaller leaks are not seen."""
COMES_BACK_WITHIN_S = 60.0
"""Linux gives pages that a CPU keeps for itself back at one eighth a second (6.7, mm/vmstat.c, decay_pcp_high())."""
LOOK_EVERY_S = 5.0
_MIB = 1 << 20


@dataclass(frozen=True)
class LostMemory:
    """Memory that is less after changes than before: bytes available before the first, and after the last of them.

    ``place`` is what was changed; ``free`` asks for the bytes that are available now.
    """

    place: str
    free: Callable[[], int]
    start: int
    end: int

    def left(self, changes: str) -> str:
        """Wait until half of it has come back.

        Args:
            changes: What lost it, in words.

        Returns:
            How much is gone, in words; empty where it came back.

        Raises:
            Undecided: It goes while nothing is changed as well.
        """
        lost, deadline, now = self.start - self.end, Deadline(COMES_BACK_WITHIN_S), self.free()
        while self.start - now >= lost / 2:
            if deadline.expired:
                gone = f"{self.place}: {mib(self.start - now)} of memory are gone after {changes}"
                if self.end - now >= lost / 2:
                    took = mib(self.end - now)
                    raise Undecided(f"{gone}; expected it to stay without changes, which took {took} of it")
                return gone
            pause(LOOK_EVERY_S)
            now = self.free()
        return ""


def mib(size: float) -> str:
    """Return bytes in MiB."""
    return f"{size / _MIB:.1f} MiB"
