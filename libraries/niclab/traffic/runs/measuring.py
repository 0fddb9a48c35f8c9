"""One measured run: what the tool says, with what both servers' CPUs and ports have counted meanwhile.

The tool's word alone is not believed: what it says was received must have passed the receiver's port, its CPU loads
must be possible, and its run must have lasted as long as asked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from niclab.bench.records import BenchPath, Port, Role
from niclab.core.exposure import Exposure
from niclab.core.marks import MarkKind
from niclab.core.parallel import side_by_side
from niclab.core.wait import Deadline, pause
from niclab.hosts.counts.load_records import FrameCounters, counted_at, load_between
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.watching import standstill
from niclab.traffic import WorthlessResult
from niclab.traffic.runs import endpoints
from niclab.traffic.runs.discarded import DiscardedRun, DiscardedRuns
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.looks import EndLook, Looks
from niclab.traffic.runs.run_count import RunCount
from niclab.traffic.runs.switch_counts import SwitchCountWatch
from niclab.traffic.runs.traffic_run import Conservation, EndOfRun, TrafficRun, figure_text
from niclab.traffic.runs.turns import turn_to_measure
from niclab.traffic.tools.iperf3 import shortest_s
from niclab.traffic.tools.tool import CpuScale, Order, Route, ToolResult, TrafficClient
from niclab.traffic.tools.tool_choice import tool_of

SESSION_LIMIT_S = 2 * 3600.0
"""No session has a larger budget than an hour and a half."""
COUNTERS_WITHIN_S = 2.0
"""Drivers that fetch the counters of their card do so every second or two."""
_COUNTERS_EVERY_S = 0.5
_PORT_PART = 0.98
_CPU_SLACK = 1.02
"""Rounding of the tools."""
_LINE_SLACK = 1.02
"""Assumption: payload above the rate of the line by more than rounding and clocks is no measurement."""


class _AboveLine(WorthlessResult):
    """More than the line carries: a tool that was held up for a moment counted what had come in before it began."""


def measure(
    run: Run,
    path: BenchPath,
    sender: Role,
    order: Order,
    line_mbps: float,
) -> TrafficRun:
    """Make one run over ``path``, with a server of its own.

    Args:
        run: The run.
        path: The path of the bench.
        sender: The server that sends.
        order: What is sent, and for how long.
        line_mbps: What the line carries; a run that finds more is no measurement.

    Raises:
        NotApplicable: When the bench's tool cannot do what is asked.
        CardFailure: When a counter of a port of the dut runs backwards.
        BenchFault: When the run fails, its result is worthless, or the servers' counters contradict it.
    """
    with session(run, path, sender, line_mbps, order=order) as made:
        return made.measure(order)


@contextmanager
def session(
    run: Run,
    path: BenchPath,
    sender: Role,
    line_mbps: float,
    over: Mapping[Role, str] | None = None,
    watch: standstill.StandstillWatch | None = None,
    order: Order | None = None,
) -> Iterator[Session]:
    """Runs over ``path`` with one server that listens inside the ``with`` block, and ends with it.

    Args:
        run: The run.
        path: The path of the bench.
        sender: The server that sends.
        line_mbps: What the line carries; a run that finds more is no measurement.
        over: The interface of each server that has the path's address, where it is not its port: a bond, a VLAN.
        watch: Of both servers, where there is one already.
        order: What the first run is asked.

    Raises:
        NotApplicable: When the bench's tool cannot do ``order``; nothing is started then.
        BenchFault: When the tool's server does not listen.
    """
    ends, tool = endpoints.ends(run, path, sender), tool_of(run.bench.traffic)
    route = endpoints.route(run, ends)
    if order is not None:
        tool.client_command(route, order)
    with ExitStack() as undoing:
        watch = watch or standstill.watch(run)
        undoing.enter_context(endpoints.listening(ends.receiver, tool, route.receiver, SESSION_LIMIT_S))
        looks, switch = Looks(watch, _interfaces(run, ends, over)), SwitchCountWatch(run, path)
        yield Session(run, ends, tool, route, looks, switch, line_mbps, watch, over is None)


class Session:
    """Runs one after the other; the counters after one serve as the baseline of the next.

    Whoever does something else with the ports between two runs says so by :meth:`forget`. See :func:`session`.
    ``client``: the server on which the client runs, None for the one that sends.
    """

    def __init__(
        self,
        run: Run,
        ends: Ends,
        tool: TrafficClient,
        route: Route,
        looks: Looks,
        switch: SwitchCountWatch,
        line_mbps: float,
        watch: standstill.StandstillWatch,
        are_ports: bool,
        client: Role | None = None,
    ) -> None:
        self._count, self._notes, self._are_ports = run.part(RunCount), run.notes, are_ports
        self._is_asked_for = client is ends.receiver.role
        """The client runs on the server that receives, and asks the other one for the data."""
        self._ends, self._tool, self._route = ends, tool, route
        self._looks, self._switch, self._line_mbps, self._watch = looks, switch, line_mbps, watch
        self._last: EndLook | None = None
        """The last look of the server without the client; the other one looks in the command of the client."""
        self._told: standstill.Told | None = None
        self._told_after: standstill.Told = ()

    def forget(self) -> None:
        """Forget the counters of the last run: something else has used the bench, so the next run takes its own."""
        self._last = self._told = None

    def measure(self, order: Order) -> TrafficRun:
        """Make one run; raises as :func:`measure` does.

        One in which a server stood still is made again, and one that found more than the line carries.

        Raises:
            Undecided: When a server stood still too often in a row.
            BenchFault: When all of as many runs found more than the line carries.
        """
        discarded = DiscardedRuns(self._ends.name)
        while True:
            try:
                found = self._measure(order)
            except WorthlessResult as error:
                if not (stood := self._stood()) and not isinstance(error, _AboveLine):
                    raise
                figure = str(error)
            else:
                if not (stood := self._stood()):
                    self._counted((), order)
                    return replace(found, disturbed=discarded.texts)
                figure = figure_text(found.result)
            run = DiscardedRun(figure, stood)
            self._counted({each.server for each in stood}, order)
            self._notes.mark(MarkKind.DISCARDED, f"{self._ends.name}: {run}")
            discarded.add(run)

    def _counted(self, stood: Collection[str], order: Order) -> None:
        self._count.note(stood, order.duration_s)
        self._notes.exposed(Exposure.LOADED_SECONDS, order.duration_s)

    def _stood(self) -> tuple[standstill.Stood, ...]:
        """Since the end of the last run, or since the looks before this one where there was something else between."""
        before, self._told = self._told, self._told_after
        return self._watch.between(before or self._told, self._told)

    def _told_by(self, looks: tuple[EndLook, EndLook]) -> standstill.Told:
        ends = (self._ends.sender.role, self._ends.receiver.role)
        return self._watch.by_role({role: look.told for role, look in zip(ends, looks, strict=True)})

    def _measure(self, order: Order) -> TrafficRun:
        command = self._tool.client_command(self._route, order)
        with turn_to_measure():
            return self._measure_now(order, command)

    def _measure_now(self, order: Order, command: str) -> TrafficRun:
        ends, tool = self._ends, self._tool
        client, other = (ends.receiver, ends.sender) if self._is_asked_for else (ends.sender, ends.receiver)
        other_before = self._last or self._looks.at(other)
        self._last, switch_before = None, self._switch.look()
        timeout_s = order.duration_s + tool.omitted_s + endpoints.SLACK_S
        ended, client_before, client_after = self._looks.around(client, command, timeout_s)
        before = self._sender_first(client_before, other_before)
        after = self._sender_first(client_after, self._looks.at(other))
        self._told = self._told or self._told_by(before)
        self._told_after = self._told_by(after)
        with endpoints.named(client, command, ended):
            result = tool.read(ended.stdout, order)
            _refuse_short(result, order, tool.omitted_s)
        sides, last = self._settled(before, after, result)
        self._last = last[0] if self._is_asked_for else last[1]
        _refuse_impossible_cpu(ends, result, sides)
        _refuse_other_ways(result, sides[1])
        _refuse_above_line(result, self._line_mbps, sides[1])
        switch, conservation = self._switch.since(switch_before), _conservation(sides, result)
        return TrafficRun(tool.name.value, command, order, result, *sides, conservation, ended.seconds, switch)

    def _sender_first(self, client: EndLook, other: EndLook) -> tuple[EndLook, EndLook]:
        return (other, client) if self._is_asked_for else (client, other)

    def _settled(
        self, before: tuple[EndLook, EndLook], after: tuple[EndLook, EndLook], result: ToolResult
    ) -> tuple[tuple[EndOfRun, EndOfRun], tuple[EndLook, EndLook]]:
        """The ends with counters that agree, or as they are when the time for that has passed; and the last looks."""
        ends = self._ends
        sides = (
            self._end(ends.sender, ends.from_port, before[0], after[0]),
            self._end(ends.receiver, ends.to_port, before[1], after[1]),
        )
        deadline = Deadline(COUNTERS_WITHIN_S)
        while not (_conservation(sides, result).holds and _passed(result, sides[1])) and not deadline.expired:
            pause(min(_COUNTERS_EVERY_S, deadline.left))
            sent, receives = side_by_side(self._looks.at, (ends.sender, ends.receiver))
            after = (sent, receives)
            sides = (
                replace(sides[0], frames=self._gained(ends.from_port, before[0], after[0])),
                replace(sides[1], frames=self._gained(ends.to_port, before[1], after[1])),
            )
        return sides, after

    def _end(self, server: Server, port: Port, before: EndLook, after: EndLook) -> EndOfRun:
        try:
            load, frames = load_between(before.load.cpu, after.load.cpu), self._gained(port, before, after)
            return EndOfRun(port.name, load, frames, after.at - before.at)
        except ReadError as error:
            raise error.about(f"{server.name}: {port.name} before and after the run") from error

    def _gained(self, port: Port, before: EndLook, after: EndLook) -> FrameCounters:
        """The counts of a port are its card's; those of an interface over it are the system's."""
        if self._are_ports:
            return counted_at(port, before.load.frames, after.load.frames)
        return after.load.frames.since(before.load.frames)


def _interfaces(run: Run, ends: Ends, over: Mapping[Role, str] | None) -> Mapping[Role, str]:
    return over if over is not None else {port.role: run.interface(port) for port in (ends.from_port, ends.to_port)}


def _conservation(sides: tuple[EndOfRun, EndOfRun], result: ToolResult) -> Conservation:
    sender, receiver = sides
    return Conservation(
        sent=sender.frames.tx_packets,
        received=receiver.frames.rx_packets,
        lost=sender.frames.tx_dropped + sender.frames.tx_errors + receiver.frames.rx_lost,
        explained=result.retransmits,
    )


def _passed(result: ToolResult, receiver: EndOfRun) -> bool:
    return result.received_bytes is None or receiver.frames.rx_bytes >= _PORT_PART * result.received_bytes


def _refuse_short(result: ToolResult, order: Order, omitted_s: int) -> None:
    if result.elapsed_s < shortest_s(order.duration_s, omitted_s):
        raise WorthlessResult(f"worthless result: it lasted {result.elapsed_s:g} s of {order.duration_s} s")


def _refuse_impossible_cpu(ends: Ends, result: ToolResult, sides: tuple[EndOfRun, EndOfRun]) -> None:
    """A load beyond all the CPUs of a server: the tool's accounting is broken there."""
    loads = ((ends.sender, result.cpu_local_pct, sides[0]), (ends.receiver, result.cpu_remote_pct, sides[1]))
    for server, claimed_pct, side in loads:
        most_pct = 100.0 * (len(side.cpu.cpus) if result.cpu_scale is CpuScale.ONE_CPU else 1)
        if claimed_pct is not None and not 0 <= claimed_pct <= most_pct * _CPU_SLACK:
            raise WorthlessResult(
                f"worthless result: a CPU load of {claimed_pct:g} % of {result.cpu_scale.value}; "
                f"expected at most {most_pct:g} % with {len(side.cpu.cpus)} CPUs",
                server.name,
            )


def _refuse_other_ways(result: ToolResult, receiver: EndOfRun) -> None:
    if not _passed(result, receiver):
        raise WorthlessResult(
            f"worthless result: the tool received {result.received_bytes:.0f} bytes, the port "
            f"{receiver.frames.rx_bytes}: the traffic went another way",
            receiver.port,
        )


def _refuse_above_line(result: ToolResult, line_mbps: float, receiver: EndOfRun) -> None:
    bps = result.throughput_bps
    if bps is not None and bps > line_mbps * 1e6 * _LINE_SLACK:
        raise _AboveLine(
            f"worthless result: {bps / 1e6:.1f} Mbit/s; expected at most the {line_mbps:g} Mbit/s of the line",
            receiver.port,
        )
