"""The answer about an engine for iSCSI: its figures against those of the software initiator, and what it sends."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from niclab.card import IscsiOffload, StorageLoad
from niclab.core.decision import Decision
from niclab.core.figures import FigureKind, NotedFigure
from niclab.core.verdict import BenchFault, CardFailure, Collected, Undecided
from niclab.report.pages.charts import Chart, ChartLine, LineChart, Point
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.stats.questions import Outcome
from niclab.storage import damage
from niclab.storage.disk_counts import OTHERS_COMMANDS
from niclab.storage.disk_loads import WORDS, LoadCounts, operation_bytes
from niclab.storage.disk_program import SEQUENTIAL_BYTES
from niclab.storage.offload.engine import Engine
from niclab.traffic.runs import experiment
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import TrafficRun


class Initiator(StrEnum):
    """The part of the dut that speaks iSCSI."""

    SOFTWARE = "software initiator"
    ENGINE = "engine of the card"


@dataclass(frozen=True)
class Made:
    """One load by one initiator.

    ``commands``: at the target; ``busy``, ``waiting``: parts 0..1 of the time of the dut's busiest CPU, and of all its
    CPUs that waited for I/O; ``may_kib``, ``can_kib``: most data of a command by the setting of the disks, and by their
    driver; ``stood``: of servers meanwhile.
    """

    initiator: Initiator
    load: StorageLoad
    counts: LoadCounts
    commands: int
    busy: float
    waiting: float | None
    may_kib: int
    can_kib: int
    stood: tuple[Stood, ...]

    @property
    def operations(self) -> int:
        return self.counts.reads + self.counts.written

    @property
    def per_s(self) -> float:
        """Operations a second."""
        return self.operations / self.counts.elapsed_s


@dataclass(frozen=True)
class Transfers:
    """The commands at the target for the operations of a load by one initiator, in all runs of it.

    ``most``: commands that an operation may take.
    """

    made: tuple[Made, ...]
    most: int

    @property
    def operations(self) -> int:
        return sum(each.operations for each in self.made)

    @property
    def commands(self) -> int:
        return sum(each.commands for each in self.made)

    @property
    def is_short(self) -> bool:
        """Are there more commands than the operations may take, and than others that are no reads and writes?"""
        return self.commands > self.most * self.operations + OTHERS_COMMANDS * len(self.made)

    @property
    def is_set_short(self) -> bool:
        """Does a setting of the disks cut them, below what their driver takes, into more than an operation may take?"""
        return any(each.may_kib < each.can_kib and self.most * (each.may_kib << 10) < self.size for each in self.made)

    @property
    def size(self) -> int:
        """Bytes of an operation."""
        return operation_bytes(self.made[0].load)

    def __str__(self) -> str:
        average = self.size * self.operations / max(1, self.commands) / 1024
        first = self.made[0]
        return (
            f"{first.initiator.value}, {WORDS[first.load]}: {self.commands} commands at the target for "
            f"{self.operations} operations, {average:.1f} KiB each; the disks' setting allows {first.may_kib} KiB, "
            f"their driver {first.can_kib} KiB"
        )


@dataclass(frozen=True)
class OffloadLoad:
    """One load by both, in turns."""

    subject: str
    load: StorageLoad
    pairs: tuple[tuple[float, float], ...]
    result: Outcome
    made: tuple[Made, ...]

    def of(self, initiator: Initiator) -> tuple[Made, ...]:
        return tuple(each for each in self.made if each.initiator is initiator)

    def transfers(self, initiator: Initiator, transfer_bytes: int) -> Transfers:
        """The commands for the operations of one initiator, each with at most ``transfer_bytes``."""
        return Transfers(self.of(initiator), math.ceil(operation_bytes(self.load) / transfer_bytes))

    @property
    def stood(self) -> tuple[str, ...]:
        return tuple(str(each) for made in self.made for each in made.stood)

    def cost(self, initiator: Initiator) -> str:
        """The figures of one initiator in words."""
        made = self.of(initiator)
        waits = [each.waiting for each in made if each.waiting is not None]
        words = f"{initiator.value}: {median(each.per_s for each in made):.1f} operations/s"
        words += f", busiest CPU of the dut {100 * median(each.busy for each in made):.0f} %"
        return words + (f", its CPUs waited for I/O {100 * median(waits):.0f} %" if waits else "")


@dataclass(frozen=True)
class OffloadAnswer(Answer):
    """The answer.

    Attributes:
        subject: The port.
        facts: The engine on the sheet.
        engine: The engine.
        mac: MAC address of its session, at the peer.
        loads: Each load.
        problems: Where counts disagree, in words.
        damaged: Data that were not those written, and operations that failed, in words.
    """

    subject: str
    facts: IscsiOffload
    engine: Engine
    mac: str
    loads: tuple[OffloadLoad, ...]
    problems: tuple[str, ...]
    damaged: tuple[str, ...]

    def lines(self) -> list[str]:
        lines = [f"{self.subject}: {each}" for each in (*self.problems, *self.damaged)]
        lines.append(f"{self.subject}: the session of the engine has MAC address {self.mac}")
        for load in self.loads:
            lines.append(f"{load.subject}: {load.result.reason}")
            lines += [f"{load.subject}: {load.cost(each)}" for each in Initiator]
            lines += [f"{self.subject}: {load.transfers(each, self._bytes(each))}" for each in Initiator]
        return lines

    def charts(self) -> list[Chart]:
        charts = list[Chart]()
        for load in self.loads:
            lines = tuple(
                ChartLine(
                    each.value, tuple(Point(n, pair[at], pair[at], pair[at]) for n, pair in enumerate(load.pairs, 1))
                )
                for at, each in enumerate(Initiator)
            )
            charts.append(
                LineChart(load.subject.replace(",", ""), load.result.reason, "turn", "operations/s", lines, None)
            )
        return charts

    def made(self) -> list[TrafficRun]:
        return []

    def questions(self) -> list[Question]:
        return [Question(load.subject, load.result, (), load.stood) for load in self.loads]

    def short(self) -> list[tuple[Transfers, Transfers]]:
        """The transfers of the engine that are shorter than the sheet says, each with those of the software."""
        both = [tuple(load.transfers(each, self._bytes(each)) for each in Initiator) for load in self.loads]
        return [(engine, software) for software, engine in both if engine.is_short]

    def _bytes(self, initiator: Initiator) -> int:
        return self.facts.transfer_bytes if initiator is Initiator.ENGINE else SEQUENTIAL_BYTES

    def figures(self) -> list[NotedFigure]:
        """The figures of the certificate that are no changes."""
        found = list[NotedFigure]()
        for load in self.loads:
            transfers = load.transfers(Initiator.ENGINE, self.facts.transfer_bytes)
            found.append(
                NotedFigure(
                    kind=FigureKind.TRAFFIC,
                    subject=f"{load.subject}, commands at the target",
                    found="; ".join([str(transfers), *map(load.cost, Initiator)]),
                    expected=f"at most {transfers.most} an operation",
                    source="the sheet's largest transfer",
                    outcome=Decision.MISSED if transfers.is_short else Decision.MET,
                    unit="commands",
                    value=transfers.commands / max(1, transfers.operations),
                    runs=len(transfers.made),
                )
            )
        return found


def judge(run: Run, answer: OffloadAnswer, say: Tell) -> None:
    """End the check: return only when data, addresses, transfers and figures are right.

    Args:
        run: The current run.
        answer: What was found.
        say: Takes what becomes of frames that tell who damages data.

    Raises:
        CardFailure: The session has another MAC address, the engine cuts transfers, or loses more than on the sheet.
        BenchFault: Counts disagree, or a setting of the disks or the target cuts transfers.
        Undecided: A server stood still, somebody else has the address of the session, nobody knows who damages data, or
            the runs cannot tell.
    """
    for figure in answer.figures():
        run.notes.figure(figure)
    damage.require_undamaged(run, answer, say)
    if answer.problems:
        raise BenchFault("\n".join(f"{answer.subject}: {each}" for each in answer.problems))
    ends = Collected()
    with ends.one():
        _require_mac(answer)
    with ends.one():
        _require_whole(answer)
    with ends.one():
        experiment.judge_questions(run.notes, answer.questions())
    ends.end()


def _require_mac(answer: OffloadAnswer) -> None:
    if answer.mac == answer.engine.mac:
        return
    words = f"{answer.subject}: the session of the engine has MAC address {answer.mac} at the peer; expected "
    words += f"{answer.engine.mac}, that of the port plus {answer.facts.mac_offset} (sheet)"
    if answer.mac == answer.engine.base_mac:
        raise CardFailure(words)
    raise Undecided(f"{words}; nobody knows whether another station has {answer.engine.address}")


def _require_whole(answer: OffloadAnswer) -> None:
    """Require that no transfer is cut; by the engine, where neither a setting of the disks nor the target cuts it."""
    own, others = list[str](), list[str]()
    for engine, software in answer.short():
        words = (
            f"{answer.subject}: {engine}; expected at most {engine.most} commands an operation (sheet: transfers of "
        )
        words += f"{answer.facts.transfer_bytes} bytes)"
        if engine.is_set_short:
            others.append(f"{words}; a setting of the server cuts them")
        elif software.is_short:
            others.append(f"{words}; the software initiator's are cut as well, by the server or the target: {software}")
        else:
            own.append(words)
    if own:
        raise CardFailure("\n".join([*own, *others]))
    if others:
        raise BenchFault("\n".join(others))
