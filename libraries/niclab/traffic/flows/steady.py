"""Steady traffic of a run: kept flowing between two keywords."""

from __future__ import annotations

from contextlib import ExitStack

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.run.run import Run
from niclab.traffic.flows import tcp
from niclab.transports.ssh.ssh import Job


class SteadyTraffic:
    """TCP from the dut to the peer over the first path.

    Args:
        run: The current run.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._flowing: ExitStack | None = None
        self._job: Job | None = None

    def start(self) -> None:
        """Start the traffic.

        Raises:
            BenchFault: It flows already, or does not begin to flow.
        """
        if self._flowing is not None:
            raise BenchFault("steady traffic flows already: 'Stop Steady Traffic' comes first")
        stack = ExitStack()
        self._job = stack.enter_context(tcp.steady(self._run, self._run.bench.paths[0], Role.DUT))
        self._flowing = stack

    def stop(self) -> None:
        """End the traffic, if there is any.

        Raises:
            BenchFault: It had ended before.
        """
        if self._flowing is not None:
            stack, self._flowing = self._flowing, None
            stack.close()

    def require_flow(self) -> None:
        """Require that the traffic arrives at the peer.

        Raises:
            CardFailure: It does not.
            BenchFault: There is none, or it has ended by itself.
        """
        if self._flowing is None or self._job is None:
            raise BenchFault("no traffic flows: 'Start Steady Traffic' comes first")
        with tcp.blaming_the_tool(self._run.server(Role.DUT).name, self._job):
            tcp.require_flow(self._run, Role.PEER)
