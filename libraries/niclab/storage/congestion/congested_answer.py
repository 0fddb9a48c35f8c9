"""The answer of loads on a base and on a congested SAN: what each carried, and what became of its frames."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.report.pages.charts import Chart, ChartLine, LineChart, Point
from niclab.run.watching.standstill import Stood
from niclab.stats.questions import Outcome
from niclab.storage.congestion.losses import Lost
from niclab.storage.congestion.pause_frames import PortPauses, counted
from niclab.storage.disk_figures import LoadFigures
from niclab.storage.storage_figures import FULL, Binding
from niclab.traffic.limits.accepted_baseline import Against
from niclab.traffic.outage.outage import Judgement
from niclab.traffic.runs import discarded
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.traffic_run import TrafficRun

STRAY_FRAMES = 10
"""Assumption: a switch discards no more of others, such as broadcasts; a port that is overrun discards many times that,
whole bursts of each connection."""


class San(StrEnum):
    """The ports through which disks are reached."""

    BASE = "base SAN (1:1)"
    CONGESTED = "congested SAN (2:1)"


@dataclass(frozen=True)
class SanFound:
    """One load on one SAN.

    ``values``: of each run; ``dut_resent``, ``peer_resent``: TCP segments sent again in all its runs; ``discards``:
    frames that the switch discarded on the way to the dut's port.
    """

    san: San
    values: tuple[float, ...]
    runs: tuple[TrafficRun, ...]
    figures: LoadFigures
    dut_resent: int
    peer_resent: int
    discards: int

    @property
    def text(self) -> str:
        """The figures in words."""
        known = [each for run in self.runs if (each := run.dut.cpu.mean_waiting) is not None]
        words = f"{self.san.value}: {self.figures}"
        words += f", all CPUs of the dut {100 * median(known):.0f} % waiting for I/O" if known else ""
        words += f", TCP segments sent again: dut {self.dut_resent}, peer {self.peer_resent}"
        return f"{words}, {self.discards} frames discarded by the switch"


@dataclass(frozen=True)
class CongestedLoad:
    """One load on both SANs, in turns.

    ``shares``: bytes of the disks of each source on the congested SAN, by its port. ``pauses``: pause frames of ports,
    by port. ``lost``: of all runs of both.
    """

    subject: str
    unit: str
    base: SanFound
    congested: SanFound
    line_mbps: float
    shares: dict[str, int]
    pauses: dict[str, PortPauses]
    lost: tuple[Lost, ...]
    binds: Binding
    hindrances: tuple[str, ...]
    stood: tuple[Stood, ...]
    against: Against

    @property
    def is_congested(self) -> bool:
        """Did the sources send more than the switch's port carries? It discarded frames, or its line was full."""
        return self.congested.discards > STRAY_FRAMES or self.congested.figures.wire_mbps >= FULL * self.line_mbps

    @property
    def text(self) -> str:
        """The figures of both in words, and how the sources shared the port."""
        total = max(1, sum(self.shares.values()))
        shared = ", ".join(f"{port} {100 * each / total:.0f} %" for port, each in self.shares.items())
        received = ", ".join(f"{port} {counted(each.received)}" for port, each in self.pauses.items())
        sent = ", ".join(f"{port} {counted(each.sent)}" for port, each in self.pauses.items())
        part = 100 * median(self.congested.values) / max(median(self.base.values), 1e-9)
        words = f"{self.congested.text}; {part:.0f} % of {self.base.text}; of the data came from {shared}"
        words += f"; pause frames received: {received}; sent: {sent}"
        return words if self.is_congested else f"{words}; the switch's port was not full"

    @property
    def judgements(self) -> list[Judgement]:
        """The losses, judged."""
        return [each.judgement(self.subject, self.stood, self.hindrances) for each in self.lost]

    @property
    def baseline(self) -> Outcome | None:
        """The answer of the congested SAN against the accepted baseline, if there is one."""
        return discarded.bounded(self.against.result(self.congested.values), self.congested.runs)

    def figure(self) -> NotedFigure:
        """Return the figure of the certificate, which has no limit."""
        is_open = any(each.proven or each.possible for each in self.judgements)
        return NotedFigure(
            kind=FigureKind.TRAFFIC,
            subject=self.subject,
            found=self.text,
            expected="no limit: recorded",
            source="",
            outcome=Decision.UNDECIDED if is_open else Decision.MET,
            unit=self.unit,
            value=median(self.congested.values),
            runs=len(self.congested.values),
        )


@dataclass(frozen=True)
class CongestedAnswer(Answer):
    """All loads on both SANs.

    Attributes:
        subject: The dut's port and its sources.
        loads: Each load.
        problems: Where counts disagree, in words.
        damaged: Data that were not those written, and operations that failed, in words.
    """

    subject: str
    loads: tuple[CongestedLoad, ...]
    problems: tuple[str, ...]
    damaged: tuple[str, ...]

    def lines(self) -> list[str]:
        lines = [f"{self.subject}: {each}" for each in (*self.problems, *self.damaged)]
        for load in self.loads:
            lines.append(f"{load.subject}: {load.text}")
            lines += [f"{load.subject}: {each}" for each in load.lost]
            lines += [f"the bench may hold it back: {hindrance}" for hindrance in load.hindrances]
            compared = load.baseline
            lines.append(f"{load.subject}: {compared.reason if compared else load.against.text}")
        return lines

    def charts(self) -> list[Chart]:
        charts = list[Chart]()
        for load in self.loads:
            title, lines = load.subject.replace(",", ""), list[ChartLine]()
            for found in (load.base, load.congested):
                points = tuple(Point(number, value, value, value) for number, value in enumerate(found.values, start=1))
                lines.append(ChartLine(found.san.value, points))
            charts.append(LineChart(title, load.text, "turn", load.unit, tuple(lines), None))
            trend = load.against.trend(f"{title} against the baseline", load.congested.values)
            charts += [] if trend is None else [trend]
        return charts

    def made(self) -> list[TrafficRun]:
        return [run for load in self.loads for found in (load.base, load.congested) for run in found.runs]

    def questions(self) -> list[Question]:
        asked = [(load, load.baseline) for load in self.loads]
        return [
            Question(f"{load.subject}, baseline", each, load.hindrances, load.binds.doubts)
            for load, each in asked
            if each
        ]
