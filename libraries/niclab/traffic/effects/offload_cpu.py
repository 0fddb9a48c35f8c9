"""The receiver's CPU against the number of connections: TCP of the system, of the card, and with direct placement.

After the Chelsio paper (CHE-02). The modes take turns, so that what drifts on the bench is in all of them; in each turn
of a card's TCP a run by itself proves that the connections are the card's. A mode that carries less also costs less:
its CPU is judged as it were at the rate of the other mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from niclab.bench.records import BenchPath, Role, SiliconFact
from niclab.core.profile import Profile
from niclab.core.verdict import Undecided
from niclab.core.wait import Deadline
from niclab.report.pages.charts import Chart, ChartLine, LineChart, Point
from niclab.run.run import Run
from niclab.settings.tcp_offload import Mode, placement_of
from niclab.stats.judge import judge_pairs
from niclab.stats.questions import Outcome, lowers_by
from niclab.stats.run_plan import SamplingPlan
from niclab.traffic.limits import limit
from niclab.traffic.limits.card_tcp import prove, receiving
from niclab.traffic.limits.connection_counts import COUNTS, MESSAGE_BYTES, MOST_S, order_of
from niclab.traffic.limits.measured_path import MeasuredPath
from niclab.traffic.runs import endpoints, measuring
from niclab.traffic.runs.experiment import Answer, Question
from niclab.traffic.runs.progress import Tell
from niclab.traffic.runs.traffic_run import TrafficRun

ROUNDS, FEWEST_ROUNDS = 6, 3
LEAST_PERCENT = 0.1
"""Resolution of a load in percent of all processors; also what an idle one counts as."""
UNIT = "% of all processors"
AGAINST = (Mode.NIC, Mode.TOE)
_Figure = Callable[[Sequence[TrafficRun]], list[float]]


@dataclass(frozen=True)
class CpuAnswer(Answer):
    """Runs of each mode and number of connections, one for each round. ``saved``: the answers with most connections."""

    subject: str
    runs: Mapping[Mode, Mapping[int, Sequence[TrafficRun]]]
    saved: Mapping[Mode, Outcome]
    hindrances: tuple[str, ...]

    def lines(self) -> list[str]:
        found = []
        for count in self.runs[Mode.NIC]:
            shown = [f"{mode.value} {fmean(_cpu(self.runs[mode][count])):.1f} %" for mode in Mode]
            less = ", ".join(f"{self._saved_percent(mode, count):.0f} % less than {mode.value}" for mode in AGAINST)
            found.append(
                f"{count} connections, receiver's CPU: {', '.join(shown)}; with placement at their rate {less}"
            )
        return [*found, *(f"at the rate of {mode.value}: {result.reason}" for mode, result in self.saved.items())]

    def _saved_percent(self, mode: Mode, count: int) -> float:
        pairs = _at_its_rate(self.runs[mode][count], self.runs[Mode.TOE_DDP][count])
        return 100 * (1 - fmean(placed for _, placed in pairs) / fmean(cpu for cpu, _ in pairs))

    def charts(self) -> list[Chart]:
        note = f"messages of {MESSAGE_BYTES} bytes; band: least and most of the runs"
        return [
            LineChart(f"{what} by mode {self.subject}", note, "connections", unit, self._drawn(figure))
            for what, unit, figure in (("Receiver CPU", UNIT, _cpu), ("Throughput", limit.UNIT, _rates))
        ]

    def made(self) -> list[TrafficRun]:
        return [run for counts in self.runs.values() for runs in counts.values() for run in runs]

    def questions(self) -> list[Question]:
        most = max(self.runs[Mode.NIC])
        name = f"{self.subject}, {most} connections, receiver's CPU with {Mode.TOE_DDP.value} at the rate of"
        return [Question(f"{name} {mode.value}", result, self.hindrances) for mode, result in self.saved.items()]

    def _drawn(self, figure: _Figure) -> tuple[ChartLine, ...]:
        return tuple(
            ChartLine(
                mode.value,
                tuple(
                    Point(count, fmean(values), min(values), max(values))
                    for count, runs in counts.items()
                    for values in [figure(runs)]
                ),
            )
            for mode, counts in self.runs.items()
        )


def measure(run: Run, path: BenchPath, profile: Profile, tell: Tell) -> CpuAnswer:
    """Receive at the dut over a path in each mode with each number of connections, in turns.

    Args:
        run: The current run.
        path: The path that carries the traffic.
        profile: Which numbers of connections, and how long each run.
        tell: Takes the progress.

    Raises:
        NotApplicable: The card, its driver or the system has no direct placement.
        SheetUnknown: The sheet does not know how much it saves.
        CardFailure: TCP offload is on, and a connection is not the card's, or data are not placed.
        BenchFault: A run fails or is worthless, or the server cannot have a mode.
        Undecided: The time was spent before there were three rounds.
    """
    measured = MeasuredPath.looked_at(run, path, endpoints.ends(run, path, Role.PEER))
    facts = placement_of(run, MESSAGE_BYTES)
    known = (facts.saves_percent_of_nic, facts.saves_percent_of_toe)
    wanted = {
        mode: run.card.known(percent, f"tcp_offload.placement.saves_percent_of_{mode.value}")
        for mode, percent in zip(AGAINST, known, strict=True)
    }
    runs = _rounds(measured, profile, tell)
    plan = SamplingPlan(
        first_look=FEWEST_ROUNDS, most=ROUNDS, met_from=ROUNDS, warm_up_runs=0, resolution=LEAST_PERCENT
    )
    most, source = COUNTS[profile][-1], f"sheet {run.card.name}: {facts.source}"
    placed = runs[Mode.TOE_DDP][most]
    saved = {
        mode: judge_pairs(_at_its_rate(runs[mode][most], placed), lowers_by(percent, source), plan)
        for mode, percent in wanted.items()
    }
    # those of the number of connections that is judged: other numbers take more of a CPU, or less
    hindrances = measured.hindrances([each for counts in runs.values() for each in counts[most]])
    return CpuAnswer(measured.ends.name, runs, saved, hindrances)


def _rounds(measured: MeasuredPath, profile: Profile, tell: Tell) -> Mapping[Mode, Mapping[int, Sequence[TrafficRun]]]:
    runs: dict[Mode, dict[int, list[TrafficRun]]] = {mode: {each: [] for each in COUNTS[profile]} for mode in Mode}
    time, made = Deadline(MOST_S[profile]), 0
    while made < ROUNDS and not time.expired:
        for mode in list(Mode) if made % 2 == 0 else list(Mode)[::-1]:
            _turn(measured, mode, profile, runs[mode])
        made += 1
        tell(f"{measured.ends.name}: receiver's CPU in each mode: round {made} of {ROUNDS}")
    if made < FEWEST_ROUNDS:
        raise Undecided(f"{measured.ends.name}: {made} rounds made when the time was spent; expected {FEWEST_ROUNDS}")
    return runs


def require_work(run: Run) -> None:
    """End the check where the bench declares that its emulated card does TCP at the server's cost.

    Args:
        run: The current run.

    Raises:
        Deviation: It does; the figures are recorded and not judged.
    """
    if declared := run.bench.deviation(run.card.name, SiliconFact.TCP_WORK):
        raise declared.verdict("the card does TCP")


def _turn(measured: MeasuredPath, mode: Mode, profile: Profile, runs: Mapping[int, list[TrafficRun]]) -> None:
    run, path = measured.run, measured.path
    with (
        receiving(run, path, mode, MESSAGE_BYTES) as engine,
        measuring.session(run, path, Role.PEER, measured.rate_mbps) as session,
    ):
        if engine is not None:
            prove(engine, mode, session, order_of(max(runs), profile))
        for count, kept in runs.items():
            kept.append(session.measure(order_of(count, profile)))


def _cpu(runs: Sequence[TrafficRun]) -> list[float]:
    return [max(LEAST_PERCENT, 100 * each.receiver.cpu.mean_busy) for each in runs]


def _at_its_rate(runs: Sequence[TrafficRun], placed: Sequence[TrafficRun]) -> list[tuple[float, float]]:
    """Pairs of runs of a mode and of placement: the CPU of each, that of placement at the rate of its partner."""
    figures = zip(_cpu(runs), _rates(runs), _cpu(placed), _rates(placed), strict=True)
    return [(cpu, placed_cpu * rate / placed_rate) for cpu, rate, placed_cpu, placed_rate in figures]


def _rates(runs: Sequence[TrafficRun]) -> list[float]:
    return [limit.mbps(each) for each in runs]
