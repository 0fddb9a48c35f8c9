"""Settings changed while traffic flows, in an order drawn from a seed: the log and the certificate name both."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from niclab.bench.records import BenchPath, Port, Role
from niclab.card import Setting, SettingKind
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.marks import MarkKind
from niclab.core.profile import Profile
from niclab.core.verdict import CardFailure, NotApplicable, Undecided, blame
from niclab.frames import draw
from niclab.frames.blame import peer_trial
from niclab.frames.blame.frame_findings import Culprit, FrameDifference, FrameFinding, judge
from niclab.frames.draw import Draw
from niclab.frames.exchange import FrameBench, Say, exchange
from niclab.frames.frame_agents import FrameAgents
from niclab.frames.ledger import Ledger
from niclab.frames.load.lost_frames import MOST_LOST, lost_frames
from niclab.frames.spec import Arrives
from niclab.links.carrier import explained
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.run.watching.standstill import Stood
from niclab.traffic.effects.variants import Way, applied

FRAMES, SIZES, PER_S = 199, (60, 1514, 333), 100.0
OUTAGES = 3
"""Assumption: so often may frames stay away after a change: a port restarts, and negotiates with its partner."""


def under_traffic(run: Run, profile: Profile, say: Say, seed: int | None = None) -> None:
    """Change settings of the dut's first port while frames flow both ways, each for a moment, and put each back.

    After each change, and after each is put back, link and frames have the time of the sheet to return.

    Args:
        run: The current run.
        profile: ``quick``: one setting of each kind; ``full``: every setting.
        say: Takes the seed, and each change.
        seed: Choice and order of the changes follow from it; None: others each time.

    Raises:
        CardFailure: A setting is not taken, frames stay away for longer than the sheet allows a link to return, are
            lost otherwise meanwhile, are lost or damaged afterwards, or come behind later ones, unless they may have
            waited in a queue of the system while the number of queues changed.
        BenchFault: A setting could not be put back, or the peer loses as many frames without the card.
        Undecided: A server stood still while frames stayed away or were lost, the tool lost them, or nobody knows
            whether the card or the peer did.
        NotApplicable: The port has no setting that can be changed, or a server cannot send frames of its own.
    """
    chosen = random.randrange(1 << 32) if seed is None else seed
    path = run.bench.paths[0]
    found = draw.of_port(run, _port(run, path))
    if not found.candidates:
        named = f"sheet {run.card.name} names no ring, coalescing, pause, queue or offload that can be changed"
        raise NotApplicable("\n".join([named, *found.left_out]))
    limit_ms = run.card.known(run.card.limits.carrier_return_within_ms, "limits.carrier_return_within_ms")
    bench = FrameBench(run)
    changes, both = _Changes(run, path, limit_ms, chosen, say), standstill.watch(run)
    before = both.told()
    order = changes.drawn(found, profile)

    name = f"frames while settings change, seed {chosen}"
    stay = not any(map(_moves_flows, order))
    flowing = [
        replace(bench.frames(name, port, 0, SIZES), per_s=PER_S, at_port=Arrives.SOME, in_order=stay)
        for port in changes.ports
    ]
    try:
        ledger, _ = exchange(run, flowing, say, meanwhile=lambda: changes.make(order))
    finally:
        changes.note()
    changes.require_frames(ledger, 2 * len(order), lambda: both.between(before, both.told()))
    changes.require_order(ledger)
    exchange(run, [bench.frames(f"frames after seed {chosen}", port, FRAMES, SIZES) for port in changes.ports], say)


def _port(run: Run, path: BenchPath) -> Port:
    return run.bench.end(path, Role.DUT)


def _moves_flows(setting: Setting) -> bool:
    """Does it let the system send a flow by another queue?

    It chooses one by their number (Linux 6.1, net/core/dev.c, skb_tx_hash()). What waits in the former one while the
    port restarts leaves it with the next frame there: to start a queue does not run it (netif_tx_start_queue(), by
    which be2net's be_open() goes).
    """
    return setting.kind is SettingKind.QUEUES


@dataclass
class _Changes:
    """The changes of one exchange, and the longest time that frames stayed away after each."""

    run: Run
    path: BenchPath
    limit_ms: int
    seed: int
    say: Say
    gaps: list[tuple[float, str]] = field(default_factory=list)
    """Milliseconds, and after what."""
    moved_ms: float = 0.0
    """Milliseconds for which frames stayed away at changes by which flows go to other queues."""
    excused: bool = False
    """A server stood still for as long as frames stayed away for too long."""

    @property
    def ports(self) -> list[Port]:
        """Both ends of the path: flow n is sent by port n."""
        return [self.run.bench.port(end) for end in self.path.ends]

    def drawn(self, found: Draw, profile: Profile) -> list[Setting]:
        """Draw the settings, and note for the certificate what is drawn and what is left out."""
        order = found.order(profile, self.seed)
        kinds = ", ".join(kind.value for kind in found.candidates)
        place = _port(self.run, self.path).place
        drawn = f"{place}: seed {self.seed}, {len(order)} of {found.count} settings, of every kind: {kinds}"
        for line in (drawn, *(f"left out: {each}" for each in found.left_out)):
            self.say(line)
            self.run.notes.mark(MarkKind.DRAWN, line)
        return order

    def make(self, order: Sequence[Setting]) -> None:
        """Make the changes, one after the other, until frames stay away for too long after one."""
        self._agents.gaps(self.limit_ms / 1000)  # what was before does not count
        both = standstill.watch(self.run)
        before = both.told()

        def stood() -> Sequence[Stood]:
            return both.between(before, both.told())

        for setting in order:
            with applied(self.run, Way(self.path, Role.DUT), (setting,)):
                was_set = self._returned(f"{setting} was set", stood)
            put_back = self._returned(f"{setting} was put back", stood)
            self.moved_ms += (was_set + put_back) * _moves_flows(setting)
            line = f"{setting}: frames stood still for {was_set:.0f} ms when set, {put_back:.0f} ms when put back"
            self.say(line)
            self.run.notes.mark(MarkKind.DRAWN, line)

    def note(self) -> None:
        """Note the longest gap as a figure of the test."""
        if not self.gaps:
            return
        longest_ms, after = max(self.gaps)
        late = Decision.UNDECIDED if self.excused else Decision.MISSED
        self.run.notes.figure(
            NotedFigure(
                kind=FigureKind.TRAFFIC,
                subject=f"{_port(self.run, self.path).place}: settings changed under traffic, seed {self.seed}",
                found=f"{len(self.gaps)} changes, no frame for {longest_ms:.0f} ms at most, after {after}",
                expected=f"at most {self.limit_ms} ms",
                source=f"sheet {self.run.card.name}, limits.carrier_return_within_ms",
                outcome=Decision.MET if longest_ms <= self.limit_ms else late,
                unit="ms",
                value=longest_ms,
                at_most=float(self.limit_ms),
            )
        )

    def require_frames(self, ledger: Ledger, steps: int, stood: Callable[[], Sequence[Stood]]) -> None:
        """Require that frames were lost in outages after the changes, and hardly any otherwise."""
        lost, outages = lost_frames(ledger), OUTAGES * steps
        for each in lost:
            self.say(f"{each}, {each.outside_of(outages)} outside of the {outages} longest")
        much = [each for each in lost if each.outside_of(outages) > MOST_LOST * each.sent]
        if not much:
            return
        wanted = f"expected at most {100 * MOST_LOST:g} % outside of {OUTAGES} outages after each of {steps} changes"
        found = [f"{each}, {each.outside_of(outages)} outside of outages (seed {self.seed}); {wanted}" for each in much]
        reasons = [f"meanwhile {each}; expected both to keep running" for each in stood()]
        reasons += [f"the tool of {e.leg.receiver.role.value} lost frames" for e in much if e.leg.looks[1].dropped]
        if reasons:
            raise Undecided("\n".join([*found, *reasons]))
        charged = [
            FrameFinding(FrameDifference.LOST, Culprit.CARD, text, e.leg.suspicion([e.stream], e.outside_of(outages)))
            for e, text in zip(much, found, strict=True)
        ]
        self._judge(charged)

    def require_order(self, ledger: Ledger) -> None:
        """Require that no more frames came behind later ones than were sent while their queue changed."""
        may = math.ceil(PER_S * self.moved_ms / 1000)
        why = f"as many as are sent in the {self.moved_ms:.0f} ms for which they stayed away while queues changed"
        found = [
            FrameFinding(
                FrameDifference.REORDERED,
                leg.between,
                f"{leg.name}: {stream.name}: {came.late} frames arrived behind later ones at {leg.receiver.place} "
                f"({came.example}); expected at most {may}, {why}",
                leg.suspicion([stream], came.late),
            )
            for leg in ledger.legs
            for flow, stream in leg.streams.items()
            if (came := leg.arrived.get(flow)) and not stream.in_order and came.late > may
        ]
        self._judge(found)

    def _judge(self, findings: Sequence[FrameFinding]) -> None:
        judge(findings, trying=lambda suspected: peer_trial.tried(self.run, suspected, self.say))

    @property
    def _agents(self) -> FrameAgents:
        return self.run.part(FrameAgents)

    def _returned(self, after: str, stood: Callable[[], Sequence[Stood]]) -> float:
        """Require that link and frames have returned in time; return the longest gap in ms.

        A change may restart the port: frames must be back as fast as a link must be. Where they are back, the link is.
        """
        gaps_ms = {flow: 1000 * gap_s for flow, gap_s in self._agents.gaps(self.limit_ms / 1000).items()}
        worst_ms = max(gaps_ms.values())
        self.gaps.append((worst_ms, after))
        if worst_ms <= self.limit_ms:
            return worst_ms
        self._require_links(after)
        late = [
            f"{sender.name} to {self.run.bench.partner(sender).name}: no frame for {gaps_ms[flow]:.0f} ms "
            f"after {after} (seed {self.seed}); "
            f"sheet {self.run.card.name} allows {self.limit_ms} ms for a link to return"
            for flow, sender in enumerate(self.ports)
            if gaps_ms[flow] > self.limit_ms
        ]
        excuses = [each for each in stood() if each.ms >= worst_ms - self.limit_ms]
        if excuses:
            self.excused = True
            raise Undecided(
                "\n".join([*late, *(f"meanwhile {each}; expected both to keep running" for each in excuses)])
            )
        raise CardFailure("\n".join(late))

    def _require_links(self, after: str) -> None:
        text = (
            f"has no carrier {self.limit_ms} ms after {after} (seed {self.seed}); "
            f"expected a link by then (sheet {self.run.card.name})"
        )
        blame([explained(self.run, port, text) for port in self.run.without_carrier(self.ports)])
