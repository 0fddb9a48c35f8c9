"""The carrier of every port from the beginning of a run to its end, less what was done to links on purpose.

A link that flaps once may do so while no test looks. The changes of carrier that a kernel counts are read with each
look at its log, so they cost no question of their own. The log has the time of each, where the driver says that a link
came or went. As long as it names every return that was counted, each change is held against the times in which a link
was touched (:mod:`niclab.run.watching.link_touches`): on either server, at the switch or at a cable. Where it does not,
the counts alone tell, as long as no link was touched from :attr:`Rest.lost_s` before the first look to the second one.

Other times are not judged, and the record says how long they were, and why: a driver may take a link down for a
setting, as often as it likes. Neither are times in which a server has booted, as far as is known when both have been
looked at again, or in which the interface was made again. Whose flap it was follows from both ends: the end of a cable
that lost its carrier alone. Where both did, a cable or either port may be the cause; where a switch is at the other
end, or a system that counts nothing (FreeBSD), nobody knows. All of these are undecided.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault, Blamed, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import CarrierLook
from niclab.hosts.kernel.kernel_log import KernelLook
from niclab.hosts.kernel.link_lines import link_news
from niclab.report.evidence.runfolder import is_continued
from niclab.report.own_checks.carrier_check import KeptCarrier, KeptPort, Unwatched, keep_carrier, kept_carrier
from niclab.run.run import Run
from niclab.run.watching import flap_sides
from niclab.run.watching.carrier_looks import CarrierMoment, CarrierPair, Flap
from niclab.run.watching.carrier_span import Rest
from niclab.run.watching.link_touches import LinkTouches

Finding = CardFailure | BenchFault | Undecided
_VERDICTS: Mapping[Blamed | None, type[Finding]] = {
    Blamed.CARD: CardFailure,
    Blamed.BENCH: BenchFault,
    None: Undecided,
}
_CARRIERS = "@ carriers"
_RETURNS = 2
"""Assumption: a link that was taken down is at rest after so many times the longest return that its sheet allows."""
_LOSSES = 3
"""Assumption: a touch has left a link alone if it has not gone within so many times the longest loss of the sheet. Of
335 changes in a run with an emulated 82574L, whose sheet allows 1 s, the last one came 0.8 s after its touch."""
UNKNOWN = Rest(10.0, 15.0, 30.0)
"""Assumption: longer than a link of copper negotiates, and trains again, where the sheet does not know the times."""


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
        self._looks: dict[Role, list[CarrierMoment]] = {}
        self._compared: dict[Role, int] = {}
        """The number of looks of a server that have been compared with those before."""
        self._accounts: dict[str, KeptPort] = {}
        """By the names of the ports."""
        self._not_counted: dict[str, str] = {}
        self._found: list[str] = []
        self._touches: LinkTouches | None = None
        """None until the watch begins."""
        self._settled_s = 0.0
        self._began = datetime.now(UTC)

    def begin(self) -> None:
        """Watch from now on: the ports have their interfaces, and the wiring is proven.

        Raises:
            BenchFault: The record of the killed part of a run that is continued cannot be read.
        """
        self._take_up()
        self._touches = LinkTouches(self._run, self.clock)
        for role in Role:
            ports = {self._run.interface(port): port for port in self._run.ports(role) if port in self._run.interfaces}
            try:
                self._commands[role] = self._run.server(role).host.counts.carriers_command(list(ports))
            except NotApplicable as reason:
                self._not_counted |= {port.name: str(reason) for port in ports.values()}
                continue
            self._ports[role], self._looks[role], self._compared[role] = ports, [], 1
            for port in ports.values():
                self._accounts.setdefault(port.name, KeptPort())
        self._keep()

    def _take_up(self) -> None:
        """Begin with the record of the killed part of a run that is continued; nothing was watched since."""
        kept = kept_carrier(self._run.run_dir) if is_continued(self._run.run_dir) else None
        if kept is None:
            return
        self._began, self._found, self._accounts = kept.began, list(kept.findings), dict(kept.ports)
        seconds = (datetime.now(UTC) - kept.began).total_seconds()
        for account in self._accounts.values():
            account.add(0.0, seconds - account.seconds, Unwatched.KILLED)

    def note_touch(self) -> None:
        """Note a touch since the last look, by what neither a command nor the journal shows."""
        if self._touches is not None:
            self._touches.note(min((looks[-1].began_s for looks in self._looks.values() if looks), default=None))

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

    def note_look(self, role: Role, began_s: float, look: KernelLook) -> str:
        """Take a look that ran :meth:`showing`, and return what the other command has shown.

        Args:
            role: The server.
            began_s: When the look was begun, in s of :attr:`clock`.
            look: The look.
        """
        others, separator, carriers = look.shown.partition(f"{_CARRIERS}\n")
        if separator and self._touches is not None:
            self._looks[role].append(self._read(role, began_s, look, carriers, self._touches))
        return others

    def settle(self) -> None:
        """Wait for links that were touched last, as long as they may take: what follows finds them up, or dead.

        A driver may restart its port to put a setting back. The wait judges nothing, and costs no question where both
        servers have been seen with every link since. It does not wait while a cable or a port of the switch is held.
        """
        touches = self._touches
        if touches is None or touches.are_open or (touched_s := touches.last_s()) <= self._settled_s:
            return
        self._settled_s = self.clock()
        ends = [self._run.bench.port(end) for path in self._run.bench.paths for end in path.ends]
        ports = [port for port in ends if port in self._run.interfaces]
        if all(self._is_up_since(port, touched_s) for port in ports):
            return
        left_s = touched_s + rest(self._run).back_s - self.clock()
        with suppress(BenchFault):  # a server that does not answer is the next test's to find
            self._run.await_carrier(ports, up=True, within_s=max(0.0, left_s))

    def _is_up_since(self, port: Port, touched_s: float) -> bool:
        last = next(reversed(self._looks.get(port.role, [])), None)
        if last is None or last.began_s < touched_s:
            return False
        seen = last.carriers.get(port)
        return seen is not None and seen.up

    def judge(self, *, over: bool = False) -> None:
        """Compare the looks of which both servers have been looked at since.

        Args:
            over: The watch has ended; no look will follow.
        """
        if self._touches is None:
            return
        flaps, both_s = list[Flap](), min((_last_s(looks) for looks in self._looks.values()), default=0.0)
        for role, looks in self._looks.items():
            while self._compared[role] < len(looks) and (over or looks[self._compared[role]].at_s <= both_s):
                self._compared[role] += 1
                flaps += self._compare(role, self._compared[role], self._touches)
        blamed = [self._blamed(flap, self._touches) for flap in flaps]
        self._found += [f"{type(each).__name__}: {each}" for each in blamed]
        self._keep()

    def _read(self, role: Role, began_s: float, look: KernelLook, text: str, touches: LinkTouches) -> CarrierMoment:
        try:
            seen = self._run.server(role).host.counts.read_carriers(text)
        except ReadError:  # an interface that vanished while it was read: whoever did that has touched it
            seen = {}
        ports, last = self._ports[role], next(reversed(self._looks[role]), None)
        carriers = {port: seen[iface] for iface, port in ports.items() if iface in seen}
        news = {port: link_news(look.lines, iface) for iface, port in ports.items()}
        found = CarrierMoment(began_s, self.clock(), look.at_s, self._boots(), carriers, news)
        if last is not None and (last.boots, _indexes(last.carriers)) != (found.boots, _indexes(carriers)):
            touches.note(last.began_s)
        return found

    def _compare(self, role: Role, count: int, touches: LinkTouches) -> list[Flap]:
        """Compare the last two of the first ``count`` looks, and add them to the accounts."""
        found, is_booted = list[Flap](), self._looks[role][count - 2].boots != self._boots()
        for port in self._ports[role].values():
            pair = self._pair(role, port, count, touches)
            why = Unwatched.BOOTED if is_booted else pair.unclear
            flap = None if why else pair.flap()
            changes = 0 if flap is None else flap.changes
            watched_s = 0.0 if why else pair.watched_s
            account = self._accounts[port.name]
            account.add(watched_s, pair.seconds - watched_s, why or Unwatched.TOUCHED)
            account.on_purpose += max(0, pair.counted - changes)
            account.unexpected += changes
            found += [] if flap is None else [flap]
        return found

    def _pair(self, role: Role, port: Port, count: int, touches: LinkTouches) -> CarrierPair:
        *before, early, late = self._looks[role][:count]
        settling = rest(self._run)
        since_s = early.began_s - 2 * settling.lost_s
        matter = [each for each in before if each.at_s >= since_s and each.boots == early.boots]
        return CarrierPair(port, [*matter, early, late], touches, settling)

    def _boots(self) -> tuple[object, ...]:
        return tuple(server.boots_seen for server in self._run.servers.values())

    def _blamed(self, flap: Flap, touches: LinkTouches) -> Finding:
        port = flap.port
        text = (
            f"{port.name} counted {flap.changes} changes of carrier within {flap.end_s - flap.begin_s:.0f} s in which "
            f"nobody touched a link{flap.words}; expected none"
        )
        theirs = self._changes_of(self._run.bench.partner(port), flap, touches)
        side, why = flap_sides.side(self._run.bench, port, theirs)
        return _VERDICTS[side](f"{text}; {why}")

    def _changes_of(self, port: Port, flap: Flap, touches: LinkTouches) -> int | None:
        """The changes at the other end around a flap; None where nobody knows."""
        looks, late_s = self._looks.get(port.role, []), rest(self._run).kept_s
        begin_s, end_s = flap.begin_s - late_s, flap.end_s + late_s
        if not looks or looks[0].at_s > flap.begin_s or looks[-1].at_s < flap.end_s:
            return None
        counts = [
            self._pair(port.role, port, count, touches).changes_within(begin_s, end_s)
            for count, (early, late) in enumerate(pairwise(looks), start=2)
            if early.began_s <= end_s and begin_s <= late.at_s
        ]
        known = [each for each in counts if each is not None]
        return sum(known) if len(known) == len(counts) else None

    def _keep(self) -> None:
        kept = KeptCarrier(self._accounts, self._not_counted, self._found, self._began)
        keep_carrier(self._run.evidence_folder, kept)


def _last_s(looks: list[CarrierMoment]) -> float:
    return looks[-1].at_s if looks else 0.0


def _indexes(carriers: Mapping[Port, CarrierLook]) -> dict[Port, int]:
    return {port: each.index for port, each in carriers.items()}


def rest(run: Run) -> Rest:
    """Return how long after a touch a link may still change carrier.

    Args:
        run: The current run.
    """
    limits = run.card.limits
    loss_ms, return_ms = limits.carrier_loss_within_ms, limits.carrier_return_within_ms
    kept_s = _LOSSES * loss_ms / 1000 if isinstance(loss_ms, int) else UNKNOWN.kept_s
    back_s = max(kept_s, return_ms / 1000 if isinstance(return_ms, int) else UNKNOWN.back_s)
    return Rest(kept_s, back_s, _RETURNS * back_s)
