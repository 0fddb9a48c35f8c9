"""Traffic between the servers: kept flowing under other tests, or measured against the sheet's limit."""

from __future__ import annotations

from contextlib import ExitStack

from robot.api import logger
from robot.api.deco import keyword, library

from niclab import lab
from niclab.bench import BenchPath, Role
from niclab.traffic import tcp
from niclab.verdict import BenchFault, fail_with


@library(scope="GLOBAL")
class Traffic:
    """Keywords about traffic. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._steady: ExitStack | None = None

    @keyword
    def start_steady_traffic(self) -> None:
        """Keep TCP flowing from the dut to the peer over the first path until `Stop Steady Traffic`."""
        if self._steady is not None:
            raise BenchFault("steady traffic flows already: 'Stop Steady Traffic' comes first")
        stack = ExitStack()
        stack.enter_context(tcp.steady(lab.current(), self._path(), Role.DUT))
        self._steady = stack

    @keyword
    def stop_steady_traffic(self) -> None:
        """End the traffic started by `Start Steady Traffic`, and its programs on both servers."""
        if self._steady is not None:
            stack, self._steady = self._steady, None
            stack.close()

    @keyword
    def tcp_should_reach_the_limit(self, sender: Role, seconds: int) -> None:
        """Over every path, TCP sent by ``sender`` reaches the sheet's fraction of line rate.

        Line rate is the speed the link negotiated, divided by the path's ``rate_scale``.

        :param sender: ``dut`` or ``peer``.
        :param seconds: how long each measurement lasts.
        """
        problems = [problem for path in lab.current().bench.paths for problem in self._judge(path, sender, seconds)]
        fail_with(problems)

    @keyword
    def carry_tcp(self, sender: Role, seconds: int) -> None:
        """Carry TCP sent by ``sender`` over every path, one after the other, whatever its rate.

        A path that carries nothing is an error (of the bench: other tests say what a link that is down means).

        :param sender: ``dut`` or ``peer``.
        :param seconds: how long on each path.
        """
        for path in lab.current().bench.paths:
            result = tcp.measure(lab.current(), path, sender, seconds)
            logger.info(f"path {path.name}: {sender.value} sent {result.sent_bytes / 1e6:.1f} MB")

    def _judge(self, path: BenchPath, sender: Role, seconds: int) -> list[str]:
        taken = lab.current()
        fraction = taken.card.known(taken.card.limits.tcp_fraction_of_line_rate, "limits.tcp_fraction_of_line_rate")
        run = tcp.ends(taken, path, sender)
        speed_mbps = run.sender.host.link_settings(run.sender.interface(run.from_port)).speed_mbps
        if not speed_mbps:
            raise BenchFault(f"{run.from_port.name}: link speed is unknown, so there is no line rate to compare with")
        line_mbps = speed_mbps / path.rate_scale
        result = tcp.measure(taken, path, sender, seconds)
        found_mbps = result.throughput_bps / 1e6
        shown = (
            f"{run.from_port.name} to {run.to_port.name}: {found_mbps:.1f} Mbit/s, "
            f"{found_mbps / line_mbps:.3f} of {line_mbps:g} Mbit/s, {result.retransmits} retransmissions"
        )
        logger.info(shown)
        if found_mbps < fraction * line_mbps:
            return [f"{shown}; sheet {taken.card.name} wants at least {fraction} of line rate"]
        return []

    @staticmethod
    def _path() -> BenchPath:
        return lab.current().bench.paths[0]
