"""Adaptive coalescing: a frame that comes alone does not wait as long as with the longest time that is held fixed.

Round trips of one byte, one at a time, are made in turns with three settings of the dut's port: no time between two
interrupts, the adaptive time, and a fixed one. Where the fixed time does not show in the round trips nothing can be
said of the adaptive one. How many interrupts a frame takes, at this rate and under load, is shown next to it: drivers
poll under load whatever the time is, and no source says how many a sound card may take.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from niclab.bench.records import BenchPath, Role
from niclab.card import CoalescingFacts
from niclab.core.verdict import CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.hosts.counts.load_records import counted_at
from niclab.hosts.settings.ethtool_records import Coalescing
from niclab.hosts.steering.steering_files import arrived
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, driver_section, settled
from niclab.traffic.runs import endpoints, measuring
from niclab.traffic.runs.line_rate import line_mbps
from niclab.traffic.tools import round_trips
from niclab.traffic.tools.tool import Order, TrafficTest

TURNS = 3
SETTLES_S, RUN_S = 1, 2
"""A driver that steps once in a thousand interrupts (sfc, efx.c, irq_adapt_irqs) needs most of a second of 60 us."""
SHOWN_WITHIN_S = 3.0
"""be2net applies a new value once a second (be_worker)."""
SHOWS = 2.0
"""Assumption: where the fixed time makes round trips so many times as long, its two ends cannot be confused."""
STUCK, ADAPTS = 0.75, 0.5
"""Assumption: of the way from no time to the fixed one. A sound card is at its beginning, one that never adapts at its
end."""
Say = Callable[[str], object]
T = TypeVar("T")


class Arm(Enum):
    """A setting of coalescing."""

    NONE = "no time"
    ADAPTIVE = "adaptive"
    FIXED = "fixed"


@dataclass(frozen=True)
class AdaptiveTurn:
    """Seconds of a round trip with each setting."""

    none_s: float
    adaptive_s: float
    fixed_s: float

    @property
    def shows(self) -> bool:
        """Does the fixed time show?"""
        return self.fixed_s >= SHOWS * self.none_s

    @property
    def held(self) -> float:
        """Part of the fixed time that a frame waits with the adaptive one."""
        return (self.adaptive_s - self.none_s) / (self.fixed_s - self.none_s)

    def __str__(self) -> str:
        times = (self.none_s, self.adaptive_s, self.fixed_s)
        return " / ".join(f"{1e3 * each:.3f}" for each in times) + " ms"


def require_adaptive(run: Run, say: Say) -> None:
    """See that adaptive coalescing of the dut's port on the first path does not hold single frames.

    Args:
        run: The current run.
        say: Takes each turn, and the interrupts of a frame, as sentences.

    Raises:
        CardFailure: In every turn a frame waits as long as with the fixed time, or the port does not take a setting.
        BenchFault: A run fails, or the setting could not be put back.
        Undecided: The turns contradict each other, or the fixed time shows in some of them alone.
        NotApplicable: The sheet names no adaptive coalescing or no time, or the fixed time shows in no turn.
        SheetUnknown: It does not know the time.
    """
    path = run.bench.paths[0]
    dut = DutPort(run, run.bench.end(path, Role.DUT))
    section = driver_section(run, "coalescing", CoalescingFacts, lambda _: dut.host.settings.coalescing(dut.iface))
    if section.adaptive_rx is None:
        raise NotApplicable(f"sheet {run.card.name} names no adaptive coalescing of received frames")
    usecs = _longest(run, section)
    measured = _Measured(run, path, dut, usecs, say)
    with dut.put_back("adaptive coalescing is measured", dut.host.undo.coalescing(dut.iface, ("rx-usecs",))):
        turns = [measured.turn(number) for number in range(TURNS)]
    judge(dut, usecs, turns)


def judge(dut: DutPort, usecs: int, turns: list[AdaptiveTurn]) -> None:
    """Judge the turns.

    Args:
        dut: The port.
        usecs: The fixed time in us.
        turns: What was measured.

    Raises:
        CardFailure: In every turn a frame waits as long as with the fixed time.
        Undecided: The turns contradict each other, or the fixed time shows in some of them alone.
        NotApplicable: It shows in none.
    """
    said = f"{dut.place}: round trips with no time, adaptive and rx-usecs {usecs}: {'; '.join(map(str, turns))}"
    require_shown(said, "fixed", [turn.shows for turn in turns])
    if all(turn.held >= STUCK for turn in turns):
        raise CardFailure(f"{said}: adaptive coalescing holds single frames; expected it to hand them over")
    if not all(turn.held <= ADAPTS for turn in turns):
        raise Undecided(f"{said}; expected the adaptive ones all near those with no time, or all near the fixed ones")


def _longest(run: Run, section: CoalescingFacts) -> int:
    """The longest time of the adaptive algorithm as delivered, in us."""
    rows = {row.name: row.default for row in section.parameters}
    named = [rows[name] for name in ("rx-usecs-high", "rx-usecs") if name in rows]
    known = [usecs for usecs in named if isinstance(usecs, int)]
    if named and not known:
        raise SheetUnknown(f"sheet {run.card.name} knows neither rx-usecs-high nor rx-usecs as delivered")
    if not known or not known[0]:
        raise NotApplicable(f"sheet {run.card.name} lists no time of adaptive coalescing as delivered")
    return known[0]


@dataclass(frozen=True)
class _Measured:
    """Measures with each setting. ``usecs``: the fixed time."""

    run: Run
    path: BenchPath
    dut: DutPort
    usecs: int
    say: Say

    def turn(self, number: int) -> AdaptiveTurn:
        """Measure each setting once; another one comes first in each turn."""
        arms = list(Arm)
        order = arms[number % len(arms) :] + arms[: number % len(arms)]
        found = {arm: self._with(arm) for arm in order}
        turn = AdaptiveTurn(*(found[arm] for arm in arms))
        self.say(f"{self.dut.place}: round trips with no time, adaptive and rx-usecs {self.usecs}: {turn}")
        return turn

    def _with(self, arm: Arm) -> float:
        """Seconds of a round trip."""
        self._set(arm)
        ends = endpoints.ends(self.run, self.path, Role.PEER)
        round_trips.per_second(self.run, ends, SETTLES_S)
        rate, alone = self._counted(lambda: round_trips.per_second(self.run, ends, RUN_S))
        with measuring.session(self.run, self.path, Role.PEER, line_mbps(self.run, ends, self.path)) as session:
            _, loaded = self._counted(lambda: session.measure(Order(TrafficTest.TCP_STREAM, RUN_S)))
        self.say(
            f"{self.dut.place}: {arm.value}: {alone:.2f} interrupts for each received frame that comes alone, "
            f"{loaded:.2f} under load"
        )
        return 1 / rate

    def _set(self, arm: Arm) -> None:
        # one after the other: a driver may take no time together with the switch, nor while it is on (Linux:
        # i40e_ethtool.c, __i40e_set_coalesce()); for others the time is the longest of the adaptive one (sfc, efx.c)
        self._switch(on=False)
        usecs = 0 if arm is Arm.NONE else self.usecs
        refused, now = self._put({"rx-usecs": usecs}, lambda shown: shown.parameters.get("rx-usecs") == usecs)
        if now.parameters.get("rx-usecs") != usecs:
            why = f" ({refused})" if refused else ""
            raise NotApplicable(f"{self.dut.place} does not take rx-usecs {usecs}{why}")
        if arm is Arm.ADAPTIVE:
            self._switch(on=True)

    def _switch(self, *, on: bool) -> None:
        _, now = self._put({"adaptive-rx": on}, lambda shown: shown.adaptive_rx is on)
        if now.adaptive_rx is not on:
            raise CardFailure(self.dut.expected("adaptive receive coalescing when set", now.adaptive_rx, on))

    def _put(
        self, values: Mapping[str, int | bool], shows: Callable[[Coalescing], bool]
    ) -> tuple[str | None, Coalescing]:
        """Set values: why they are refused, and what is shown once it shows them, or in the end."""
        settings, iface = self.dut.host.settings, self.dut.iface
        refused = settings.set_coalescing(iface, values).refused
        return refused, settled(lambda: settings.coalescing(iface), shows, SHOWN_WITHIN_S)

    def _counted(self, load: Callable[[], T]) -> tuple[T, float]:
        """The outcome of ``load``, and the interrupts of the port for each frame that it received meanwhile."""
        server, iface = self.dut.server, self.dut.iface

        def taken() -> int:
            return sum(sum(counts.values()) for counts in arrived(server.ssh, server.name, iface).values())

        before, interrupts = server.host.counts.load(iface).frames, taken()
        outcome = load()
        gained = taken() - interrupts
        frames = counted_at(self.dut.port, before, server.host.counts.load(iface).frames).rx_packets
        return outcome, gained / max(frames, 1)


def require_shown(said: str, which: str, shows: Sequence[bool]) -> None:
    """Require that a time of coalescing showed in every turn.

    Args:
        said: What was measured, in words.
        which: The time, in a word.
        shows: Did it show, for each turn?

    Raises:
        NotApplicable: It showed in none.
        Undecided: It showed in some alone.
    """
    if not any(shows):
        raise NotApplicable(f"{said}: the {which} time does not show; expected {SHOWS:g} times as long")
    if not all(shows):
        raise Undecided(f"{said}: the {which} time shows in some turns alone; expected {SHOWS:g} times as long in each")
