"""The last touch of a bench that may have taken a link down: carrier that changes then is nobody's fault.

Every command that a server gets is looked at, and every change in the journal that is no command of a server: a cable,
a port of the switch, power. What nobody here can see, such as a shell of somebody else, says itself that it may touch.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from niclab.core.undo import ActionKind
from niclab.hosts.link_touching import may_touch_a_link
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.transports.ssh.ssh import Result


class LinkTouches:
    """Counts what may have touched a link since it was made.

    Args:
        run: The current run.
        clock: Seconds of a clock that never goes back.
    """

    def __init__(self, run: Run, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._last = clock, clock()
        self._others, self._hands = set[str](), set[str]()
        self.count = 0
        """Grows with everything that may have touched a link."""
        run.journal.on_line = _after(run.journal.on_line, self._saw_line)
        for server in run.servers.values():
            self._watch(server)

    def note(self) -> None:
        """Note that a link may have been touched just now."""
        self.count += 1
        self._last = self._clock()

    def let(self, who: str, *, may: bool) -> None:
        """Note that somebody whose commands are not seen here may touch links from now on, or no more.

        Args:
            who: Who it is.
            may: False when it has ended.
        """
        (self._hands.add if may else self._hands.discard)(who)
        self.note()

    @property
    def ago_s(self) -> float:
        """Seconds since a link may have been touched; 0 while somebody may."""
        return 0.0 if self._hands or self._others else self._clock() - self._last

    def _watch(self, server: Server) -> None:
        before = server.ssh.on_result

        def saw(result: Result) -> None:
            if before is not None:
                before(result)
            if may_touch_a_link(result.command):
                self.note()

        server.ssh.on_result = saw

    def _saw_line(self, line: str) -> None:
        """A change that is not made by a server's own shell lasts until it is put back; its steps are not seen."""
        event = json.loads(line)
        if event["event"] == "registered" and event["action"]["kind"] != ActionKind.SHELL.value:
            self._others.add(event["id"])
            self.note()
        elif event["id"] in self._others:
            if event["event"] != "failed":
                self._others.discard(event["id"])
            self.note()
        elif event["event"] == "registered" and may_touch_a_link(event["action"]["command"]):
            self.note()


def _after(before: Callable[[str], object], then: Callable[[str], object]) -> Callable[[str], object]:
    def both(line: str) -> None:
        before(line)
        then(line)

    return both
