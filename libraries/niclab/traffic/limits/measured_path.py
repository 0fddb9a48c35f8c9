"""A path that is ready to be measured: its ends, its line rate, and what both servers can do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.bench.records import BenchPath
from niclab.run.run import Run
from niclab.stats.measurements import Key
from niclab.stats.questions import Expected, at_least
from niclab.traffic.limits import bottleneck
from niclab.traffic.limits.bottleneck import Before
from niclab.traffic.runs.endpoints import Ends
from niclab.traffic.runs.line_rate import line_mbps
from niclab.traffic.runs.measurement_key import key_of
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order


@dataclass(frozen=True)
class MeasuredPath:
    """A path with what was found of it before the first run.

    Attributes:
        run: The current run.
        path: The path of the bench.
        ends: Who sends to whom, through which ports.
        rate_mbps: Line rate.
        before: Both ends.
    """

    run: Run
    path: BenchPath
    ends: Ends
    rate_mbps: float
    before: tuple[Before, Before]

    @classmethod
    def looked_at(cls, run: Run, path: BenchPath, ends: Ends) -> MeasuredPath:
        """Look at a path: takes about a second, and once a server a run of its own, with itself.

        Args:
            run: The current run.
            path: The path that carries the traffic.
            ends: Who sends to whom, through which ports.

        Raises:
            CardFailure: A port of the dut negotiated another speed than the sheet's.
            BenchFault: A port of the peer did, or an end cannot be read.
            Undecided: A server stood still in each of many runs with itself.
        """
        rate_mbps = line_mbps(run, ends, path)
        return cls(run, path, ends, rate_mbps, bottleneck.look_before(run, ends))

    def expected(self, fraction: float) -> Expected:
        """Return what a fraction of line rate is, which the sheet wants at least.

        Args:
            fraction: Of line rate.

        Raises:
            BenchFault: The bus of an end cannot carry it.
        """
        source = f"sheet {self.run.card.name}: {fraction} of line rate, {self.rate_mbps:g} Mbit/s"
        found = at_least(fraction * self.rate_mbps, source)
        bottleneck.want_room(self.before, found.low * 1e6, source)
        return found

    def key(self, order: Order) -> Key:
        """Return the conditions of measurements over the path.

        Args:
            order: What is sent, and for how long.

        Raises:
            BenchFault: One of them cannot be read.
        """
        ports = (self.ends.from_port, self.ends.to_port)
        links = {port.role: each.link for port, each in zip(ports, self.before, strict=True)}
        return key_of(self.run, self.ends, self.path.name, order, links)

    def hindrances(self, runs: Sequence[TrafficRun]) -> tuple[str, ...]:
        """Return what of the bench may have held runs back.

        Args:
            runs: The runs.
        """
        return tuple(bottleneck.hindrances(self.before, runs, self.rate_mbps * 1e6))
