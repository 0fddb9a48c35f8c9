"""The times at which something may have touched a link of a bench: carrier that changes then is nobody's fault.

Every command that a server gets is looked at, and every change in the journal that is no command of a server: a cable,
a port of the switch. What nobody here can see, such as a shell of somebody else, says itself that it may touch. Power
and restarts need no entry: a server that boots is known by its boots.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

from niclab.core.undo import ActionKind
from niclab.hosts.link_touching import may_touch_a_link
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh.ssh import Result

_LASTING = frozenset({ActionKind.LOCAL.value, ActionKind.SWITCH.value})
"""Changes that last until they are put back, and whose steps are not seen here."""


@dataclass(frozen=True)
class Touch:
    """A time in which links may have been touched, in s of the controller's or of a kernel's clock."""

    begin_s: float
    end_s: float


class LinkTouches:
    """Keeps the times since it was made, which counts as a touch itself.

    Args:
        run: The current run.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._over = list[Touch]()
        self._open = dict[str, float]()
        """A name of somebody who may touch links at present -> since when, in s of the clock."""
        self.note()
        run.journal.on_line = _after(run.journal.on_line, self._saw_line)
        for server in run.servers.values():
            self._watch(server)

    def note(self, since_s: float | None = None) -> None:
        """Note that a link may have been touched.

        Args:
            since_s: When that was at the earliest, in s of the clock; None for just now.
        """
        now = self._clock()
        self._over.append(Touch(now if since_s is None else since_s, now))

    def let(self, who: str, *, may: bool) -> None:
        """Note that somebody whose commands are not seen here may touch links from now on, or no more.

        Args:
            who: Who it is.
            may: False when it has ended.
        """
        if may:
            self._open.setdefault(who, self._clock())
        elif who in self._open:
            self.note(self._open.pop(who))

    def since(self, begin_s: float) -> list[Touch]:
        """Return the touches that ended at a time or later; one that goes on ends now.

        Args:
            begin_s: The time, in s of the clock.
        """
        now = self._clock()
        ended = list(takewhile(lambda each: each.end_s >= begin_s, reversed(self._over)))
        return [*ended, *(Touch(began, now) for began in list(self._open.values()))]

    def last_s(self) -> float:
        """Return when the last touch that is over has ended, in s of the clock."""
        return self._over[-1].end_s

    @property
    def are_open(self) -> bool:
        """True while somebody may touch links, or a cable or port of the switch is held."""
        return bool(self._open)

    def _watch(self, server: Server) -> None:
        before = server.ssh.on_result

        def saw(result: Result) -> None:
            if before is not None:
                before(result)
            if may_touch_a_link(result.command):
                self.note(self._clock() - result.seconds)

        server.ssh.on_result = saw

    def _saw_line(self, line: str) -> None:
        event = json.loads(line)
        if event["event"] == "registered":
            action = event["action"]
            if action["kind"] in _LASTING:
                self.let(event["id"], may=True)
            elif action["kind"] != ActionKind.SHELL.value or may_touch_a_link(action["command"]):
                self.note()
        elif event["event"] != "failed":
            self.let(event["id"], may=False)


def _after(before: Callable[[str], object], then: Callable[[str], object]) -> Callable[[str], object]:
    def both(line: str) -> None:
        before(line)
        then(line)

    return both
