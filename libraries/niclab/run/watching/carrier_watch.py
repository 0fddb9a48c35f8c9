"""The carrier of every port from the beginning of a run to its end, less what was done to links on purpose.

A link that flaps once may do so while no test looks. The changes of carrier that a kernel counts are read with each
look at its log, so they cost no question of their own. Between two looks a change is unexpected if

* nothing that may touch a link was done to either server, to the switch or to a cable, from :func:`settled_s` before
  the first look to the second one (:mod:`niclab.run.watching.link_touches`);
* neither server has booted, as far as is known when both have been looked at again;
* the port had carrier at the first look, and its interface was not made again.

Other times are not judged, and the record says how long was: a driver may take a link down for a setting, as often as
it likes. Whose flap it was follows from both ends: the end of a cable that lost its carrier alone. Where both did, a
cable or either port may be the cause; where a switch is at the other end, or a system that counts nothing (FreeBSD),
nobody knows. All of these are undecided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from niclab.bench.records import Port, Role, Wiring
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import CarrierLook
from niclab.report.own_checks.carrier_check import KeptCarrier, keep_carrier
from niclab.run.run import Run
from niclab.run.watching.link_touches import LinkTouches

Finding = CardFailure | BenchFault | Undecided
_CARRIERS = "@ carriers"
_RETURNS = 2
"""Assumption: a link that was touched is at rest after so many times the longest return that its sheet allows."""
UNKNOWN_SETTLED_S = 30.0
"""Assumption: longer than a link of copper negotiates, and trains again, where the sheet does not know the return."""


@dataclass(frozen=True)
class _Look:
    """One look at a server: how often a link had been touched by then, and how long ago."""

    at_s: float
    touches: int
    ago_s: float
    boots: tuple[object, ...]
    carriers: Mapping[Port, CarrierLook]


@dataclass(frozen=True)
class _Flap:
    """Changes of carrier that nobody has brought about, as far as is known, between two looks at a port."""

    port: Port
    changes: int
    begin_s: float
    end_s: float
    boots: tuple[object, ...]


class CarrierWatch:
    """Compares the changes of carrier from look to look. A part of the run.

    Args:
        run: The current run.
    """

    clock: Callable[[], float] = staticmethod(time.monotonic)

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ports: dict[Role, dict[str, Port]] = {}
        self._commands: dict[Role, str] = {}
        self._looks: dict[Role, list[_Look]] = {}
        self._watched_s: dict[Role, float] = {}
        self._open: list[_Flap] = []
        """Those of which the other server has not been looked at again."""
        self._found: list[Finding] = []
        self._touches: LinkTouches | None = None
        """None until the watch begins."""

    def begin(self) -> None:
        """Watch from now on: the ports have their interfaces, and the wiring is proven."""
        self._touches = LinkTouches(self._run, self.clock)
        for role in Role:
            ports = {self._run.interface(port): port for port in self._run.ports(role) if port in self._run.interfaces}
            try:
                self._commands[role] = self._run.server(role).host.counts.carriers_command(list(ports))
            except NotApplicable:
                continue
            self._ports[role], self._looks[role], self._watched_s[role] = ports, [], 0.0
        self._keep()

    def note_touch(self) -> None:
        """Note that a link may have been touched just now, by what neither a command nor the journal shows."""
        if self._touches is not None:
            self._touches.note()

    def let(self, who: str, *, may: bool) -> None:
        """Note that somebody whose commands are not seen may touch links from now on, or no more.

        Args:
            who: Who it is.
            may: False when it has ended.
        """
        if self._touches is not None:
            self._touches.let(who, may=may)

    def showing(self, role: Role, show: str) -> str:
        """Return a command that shows the carriers of a server behind what another one shows.

        Args:
            role: The server.
            show: The other command; may be empty.
        """
        if role not in self._commands:
            return show
        return f"{show}{'; ' if show else ''}echo '{_CARRIERS}'; {self._commands[role]}"

    def note_shown(self, role: Role, text: str) -> str:
        """Take what :meth:`showing` has shown, and return what the other command has.

        Args:
            role: The server.
            text: What was shown.
        """
        others, separator, carriers = text.partition(f"{_CARRIERS}\n")
        if separator and self._touches is not None:
            self._compare(role, self._look(role, carriers, self._touches))
        return others

    def judge(self, *, over: bool = False) -> None:
        """Take the changes of which both servers have been looked at since for unexpected, or drop them.

        Args:
            over: The watch has ended; no look will follow.
        """
        for flap in list(self._open):
            if over or all(looks and looks[-1].at_s >= flap.end_s for looks in self._looks.values()):
                self._open.remove(flap)
                if flap.boots == self._boots():
                    self._found.append(self._blamed(flap))
        if self._touches is not None:
            self._keep()

    def _look(self, role: Role, text: str, touches: LinkTouches) -> _Look:
        try:
            seen = self._run.server(role).host.counts.read_carriers(text)
        except ReadError:  # an interface that vanished while it was read: whoever did that has touched it
            seen = {}
        carriers = {port: seen[iface] for iface, port in self._ports[role].items() if iface in seen}
        last, boots = next(reversed(self._looks[role]), None), self._boots()
        if last is not None and (last.boots, _indexes(last.carriers)) != (boots, _indexes(carriers)):
            touches.note()
        return _Look(self.clock(), touches.count, touches.ago_s, boots, carriers)

    def _compare(self, role: Role, now: _Look) -> None:
        looks = self._looks[role]
        looks.append(now)
        if len(looks) == 1 or looks[-2].ago_s < settled_s(self._run):
            return
        before = looks[-2]
        if before.touches != now.touches or now.ago_s == 0:
            return
        self._watched_s[role] += now.at_s - before.at_s
        for port, late in now.carriers.items():
            early = before.carriers.get(port)
            if early is not None and early.up and late.changes > early.changes:
                changes = late.changes - early.changes
                self._open.append(_Flap(port, changes, before.at_s, now.at_s, before.boots))

    def _boots(self) -> tuple[object, ...]:
        return tuple(server.boots_seen for server in self._run.servers.values())

    def _blamed(self, flap: _Flap) -> Finding:
        port, bench = flap.port, self._run.bench
        text = (
            f"{port.name} counted {flap.changes} changes of carrier within {flap.end_s - flap.begin_s:.0f} s in which "
            "nobody touched a link; expected none"
        )
        if port.role is Role.DUT and bench.path_of(port).through is Wiring.SWITCH:
            return Undecided(f"{text}; the port of the switch, the cable or the card")
        partner = bench.partner(port)
        theirs = self._changes_of(partner, flap)
        if theirs is None:
            return Undecided(f"{text}; nobody knows what {partner.name} counted meanwhile")
        if theirs:
            return Undecided(f"{text}; {partner.name} counted {theirs}: the cable or either port")
        return (CardFailure if port.role is Role.DUT else BenchFault)(f"{text}; {partner.name} counted none")

    def _changes_of(self, port: Port, flap: _Flap) -> int | None:
        """The changes that the other end has counted from before a flap until after it."""
        looks = self._looks.get(port.role, [])
        early = next((each.carriers.get(port) for each in reversed(looks) if each.at_s <= flap.begin_s), None)
        late = next((each.carriers.get(port) for each in looks if each.at_s >= flap.end_s), None)
        if early is None or late is None or early.index != late.index:
            return None
        return late.changes - early.changes

    def _keep(self) -> None:
        found = tuple(f"{type(each).__name__}: {each}" for each in self._found)
        watched_s = round(min(self._watched_s.values(), default=0.0), 1)
        keep_carrier(self._run.evidence_folder, KeptCarrier(watched_s, found))


def _indexes(carriers: Mapping[Port, CarrierLook]) -> dict[Port, int]:
    return {port: each.index for port, each in carriers.items()}


def settled_s(run: Run) -> float:
    """Return how long after it was touched a link may still change carrier, in s.

    Args:
        run: The current run.
    """
    limit_ms = run.card.limits.carrier_return_within_ms
    return _RETURNS * limit_ms / 1000 if isinstance(limit_ms, int) else UNKNOWN_SETTLED_S
