"""The answer of loads on a congested SAN with flow control off and on: both, compared."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from statistics import median

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.report.pages.charts import Chart, ChartLine, LineChart, Point
from niclab.storage.congestion.congested_answer import CongestedAnswer, CongestedLoad, SanFound
from niclab.storage.congestion.pause_frames import counted
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.traffic_run import TrafficRun

SOURCE = "IEEE 802.3-2018, annex 31B"
CHARGED_FROM = 2
"""A port is charged only with what it does in as many sessions, as where pause frames are tried by themselves."""


class FlowControl(Enum):
    """The pause frames of a port: none are sent or obeyed, or both are."""

    OFF = "flow control off"
    ON = "flow control on"

    @property
    def is_on(self) -> bool:
        """Is it the setting with pause frames?"""
        return self is FlowControl.ON

    @property
    def order(self) -> tuple[str, str]:
        """The parts in the order in which they are set: some drivers refuse to send where they do not obey."""
        return ("rx", "tx") if self.is_on else ("tx", "rx")


@dataclass(frozen=True)
class Unasked:
    """Pause frames that the dut's port sent in each session with flow control off; None: not counted.

    ``port``: the port; ``counter``: of its driver.
    """

    port: str
    counter: str
    sent: tuple[int | None, ...]

    @property
    def judgement(self) -> Judgement:
        """Proven, where some were sent in several sessions; possible, where in one, or nobody counts them."""
        some = [each for each in self.sent if each]
        numbers = ", ".join(map(counted, self.sent))
        words = (
            f"{self.port}: pause frames sent in sessions with flow control off: {numbers} (its driver's counter "
            f"{self.counter}); expected none ({SOURCE})"
        )
        if len(some) >= CHARGED_FROM:
            return Judgement([f"{words}: it sends them although it is not to"], [])
        if some:
            return Judgement([], [f"{words}; seen in one session; expected in {CHARGED_FROM} before it is charged"])
        return Judgement([], [words] if None in self.sent else [])


@dataclass(frozen=True)
class FlowAnswer(Answer):
    """Loads with flow control off and on, in turns.

    Attributes:
        off: The loads with flow control off.
        on: Those with it on.
        unasked: Pause frames that the dut's port sent with flow control off.
        kept: Ports of the peer whose flow control cannot be set, in words.
    """

    off: CongestedAnswer
    on: CongestedAnswer
    unasked: Unasked
    kept: tuple[str, ...]

    def lines(self) -> list[str]:
        lines = [f"{_name(off)}: {_compared(off, on)}" for off, on in self._loads]
        sent = self.unasked.judgement
        return [*self.kept, *sent.proven, *sent.possible, *lines, *self.off.lines(), *self.on.lines()]

    def charts(self) -> list[Chart]:
        charts = list[Chart]()
        for off, on in self._loads:
            lines = tuple(_line(flow, load.congested) for flow, load in zip(FlowControl, (off, on), strict=True))
            title = _name(off).replace(",", "")
            charts.append(LineChart(title, _compared(off, on), "run", off.unit, lines))
        return [*charts, *self.off.charts(), *self.on.charts()]

    def made(self) -> list[TrafficRun]:
        return [*self.off.made(), *self.on.made()]

    def questions(self) -> list[Question]:
        return [*self.off.questions(), *self.on.questions()]

    def figures(self) -> list[NotedFigure]:
        """Return the comparisons as figures of the certificate, which have no limit."""
        return [
            NotedFigure(
                kind=FigureKind.TRAFFIC,
                subject=_name(off),
                found=_compared(off, on),
                expected="no limit: recorded",
                source="",
                outcome=Decision.MET,
                unit="%",
                value=_percent(off.congested, on.congested),
                runs=len(off.congested.runs) + len(on.congested.runs),
            )
            for off, on in self._loads
        ]

    @property
    def _loads(self) -> list[tuple[CongestedLoad, CongestedLoad]]:
        return list(zip(self.off.loads, self.on.loads, strict=True))


def _name(off: CongestedLoad) -> str:
    return off.subject.replace(FlowControl.OFF.value, "flow control on against off")


def _line(flow: FlowControl, found: SanFound) -> ChartLine:
    points = tuple(Point(number, value, value, value) for number, value in enumerate(found.values, start=1))
    return ChartLine(flow.value, points)


def _percent(off: SanFound, on: SanFound) -> float:
    return 100 * median(on.values) / max(median(off.values), 1e-9)


def _compared(off: CongestedLoad, on: CongestedLoad) -> str:
    """Both in words: figures, losses, discards, and the pause frames of each port, on against off."""
    words = [
        f"{found.san.value} {_percent(before, found):.0f} % of {before.figures.operations_per_s:.1f} operations/s, "
        f"TCP segments sent again: dut {found.dut_resent} against {before.dut_resent}, peer {found.peer_resent} "
        f"against {before.peer_resent}; discarded by the switch {found.discards} against {before.discards}"
        for before, found in ((off.congested, on.congested), (off.base, on.base))
    ]
    for port, found in on.pauses.items():
        before = off.pauses[port]
        words.append(
            f"{port} received {counted(found.received)} pause frames against {counted(before.received)}, "
            f"sent {counted(found.sent)} against {counted(before.sent)}"
        )
    return "; ".join([*words, _of_the_switch(on)])


def _of_the_switch(on: CongestedLoad) -> str:
    """The part of the switch in words: all pause frames that its ports send end at ports of the servers."""
    known = [each.received for each in on.pauses.values() if each.received is not None]
    if not known:
        return "nobody counts pause frames of the switch"
    return "the switch sent pause frames" if any(known) else "the switch was seen to send no pause frames"
