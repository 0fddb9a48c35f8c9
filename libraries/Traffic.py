"""Traffic between the servers: kept flowing under other tests, or measured against the sheet's limit."""

from __future__ import annotations

import json
from contextlib import ExitStack

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath, Role
from niclab.commands.parse import as_json
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault
from niclab.links.bonds import Bonds
from niclab.report.links import EvidenceLink
from niclab.run.run import current
from niclab.traffic import limit, measuring, serving, tcp
from niclab.traffic.limit import BUDGETS, Answer
from niclab.traffic.tool import Order


@library(scope="GLOBAL")
class Traffic(BenchLibrary):
    """Keywords about traffic. Constructing the library connects to nothing."""

    def __init__(self) -> None:
        self._steady: ExitStack | None = None

    @keyword
    def start_steady_traffic(self) -> None:
        """Keep TCP flowing from the dut to the peer over the first path until `Stop Steady Traffic`."""
        if self._steady is not None:
            raise BenchFault("steady traffic flows already: 'Stop Steady Traffic' comes first")
        stack = ExitStack()
        stack.enter_context(tcp.steady(self.run, self._path(), Role.DUT))
        self._steady = stack

    @keyword
    def stop_steady_traffic(self) -> None:
        """End the traffic started by `Start Steady Traffic`, and its programs on both servers."""
        if self._steady is not None:
            stack, self._steady = self._steady, None
            stack.close()

    @keyword
    def steady_traffic_should_flow_on(self) -> None:
        """The connection of `Start Steady Traffic` is alive, and what it carries arrives at the peer."""
        if self._steady is None:
            raise BenchFault("no traffic flows: 'Start Steady Traffic' comes first")
        tcp.require_flow(self.run, Role.PEER)

    @keyword
    def send_tcp(self, sender: Role, seconds: int) -> None:
        """Send TCP over every path, one after the other, and see that it arrived. How fast it is, is not judged.

        :param sender: ``dut`` or ``peer``.
        :param seconds: how long over each path.
        """
        for path in self.run.bench.paths:
            line_mbps = limit.line_mbps(serving.ends(self.run, path, sender), path)
            found = measuring.measure(self.run, path, sender, Order(duration_s=seconds), line_mbps)
            logger.info(f"{found.sender.port} to {found.receiver.port}: {measuring.described(found)}")

    @keyword
    def tcp_should_reach_the_limit(self, sender: Role, profile: Profile) -> None:
        """Over every path, TCP sent by ``sender`` reaches the sheet's fraction of line rate.

        Line rate is the speed the link negotiated, divided by the path's ``rate_scale``. Runs are repeated until the
        interval of their mean lies on one side of the limit, or the budget of the profile is spent.

        :param sender: ``dut`` or ``peer``.
        :param profile: ``quick``: runs of 2 s, 3 to 8 of them; ``full``: runs of 10 s, 5 to 12.
        """
        run = self.run
        answers = []
        for path in run.bench.paths:
            answers.append(limit.ask(run, path, sender, BUDGETS[profile], logger.console))
            self._show(answers[-1])
        limit.judge(answers)

    @keyword
    def tcp_over_the_bonds_should_reach_the_limit(self, sender: Role, profile: Profile) -> None:
        """Over the links that the bonds use now, TCP sent by ``sender`` reaches the sheet's fraction of line rate.

        As `TCP Should Reach The Limit`, of bonds that use one link at a time.

        :param sender: ``dut`` or ``peer``.
        :param profile: ``quick`` or ``full``.
        """
        bonds = self.run.part(Bonds)
        over = limit.Over(
            interfaces={role: bonds.stack(role).name for role in Role},
            ports={role: bonds.active_port(role) for role in Role},
            words=bonds.described(),
        )
        answer = limit.ask(self.run, self._path(), sender, BUDGETS[profile], logger.console, over)
        self._show(answer)
        limit.judge([answer])

    def _show(self, answer: Answer) -> None:
        """The answer in the log, with all that stands beside it as evidence."""
        logger.info(f"{answer.subject}: {answer.result.reason}")
        for before in answer.before:
            logger.info(f"the bench can do: {before}")
        for run in answer.runs:
            logger.write(measuring.described(run), "WARN" if run.remarkable else "INFO")
        for hindrance in answer.hindrances:
            logger.info(f"the bench may hold it back: {hindrance}")
        chart = limit.chart(answer)
        self._attach(f"{chart.title}.svg", chart.svg(), "image/svg+xml")
        self._attach(f"{chart.title}.csv", chart.csv(), "text/csv")
        logger.info(f"{answer.subject}: {answer.baseline.reason if answer.baseline else answer.against.text}")
        if answer.resent is not None:
            logger.info(f"{answer.subject}: {answer.resent.reason}")
        if (trend := answer.against.trend(f"{chart.title} against the baseline", answer.values)) is not None:
            self._attach(f"{trend.title}.svg", trend.svg(), "image/svg+xml")
            self._attach(f"{trend.title}.csv", trend.csv(), "text/csv")
        runs = json.dumps(as_json(answer.runs), indent=2, ensure_ascii=False)
        self._attach(f"{chart.title}.json", runs, "application/json")

    @staticmethod
    def _attach(name: str, text: str, mime: str) -> None:
        path = current().evidence.add(name, text, mime)
        logger.info(EvidenceLink(path.name, mime, f"evidence/{path.name}").markup(), html=True)

    @staticmethod
    def _path() -> BenchPath:
        return current().bench.paths[0]
