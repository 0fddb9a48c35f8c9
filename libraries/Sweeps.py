"""What the card carries at every size, with many connections, in frames a second, and in fragments."""

from __future__ import annotations

import json

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import BenchPath, Role
from niclab.card import OffloadName
from niclab.commands.parse import as_json
from niclab.core.profile import Profile
from niclab.core.verdict import fail_with
from niclab.report.charts import Chart
from niclab.report.links import EvidenceLink
from niclab.run.run import Run, current
from niclab.traffic import connections, datagrams, effect, frames, measuring, serving, sweep
from niclab.traffic.arms import Way, applied
from niclab.traffic.connections import Mode
from niclab.traffic.measuring import TrafficRun
from niclab.traffic.tool import TrafficTest


@library(scope="GLOBAL")
class Sweeps(BenchLibrary):
    """Keywords that measure over a range and judge where the sheet has a limit. Constructing connects to nothing."""

    @keyword
    def sweep_should_reach_the_limits(self, test: TrafficTest, profile: Profile) -> None:
        """The dut sends messages of every size at every MTU over the first path; large ones reach the sheet's limits.

        :param test: ``TCP_STREAM``, ``TCP_SENDFILE`` or ``UDP_STREAM``.
        :param profile: ``quick``: a dozen points of all three tests; ``full``: all 111.
        """
        found = sweep.measure(self.run, _path(), Role.DUT, test, profile, logger.console)
        for each in found.found:
            said = each.result.reason if each.result else f"{each.estimate.estimate:.2f} Mbit/s, no limit on the sheet"
            logger.info(f"{each.spot}: {said}")
            if each.baseline:
                logger.info(f"{each.spot}: {each.baseline.reason}")
        show_chart(sweep.chart(found), tuple(made for each in found.found for made in each.runs))
        sweep.judge(found)

    @keyword
    def connections_should_reach_the_limit(self, mode: Mode, profile: Profile) -> None:
        """The dut receives at the sheet's fraction of line rate with one connection and with many, in ``mode``.

        Skips the test where the card or its driver has no such mode.

        :param mode: ``nic``, ``toe`` or ``toe-ddp``.
        """
        run = self.run
        connections.want_mode(run, mode)
        found = connections.measure(run, _path(), profile, logger.console)
        for each in found.found:
            logger.info(f"{each.connections} connections: {each.result.reason}")
        for chart in connections.charts(found):
            show_chart(chart, tuple(made for each in found.found for made in each.runs))
        connections.judge(found)

    @keyword
    def frame_rate_should_reach_the_limit(self) -> None:
        """The dut receives the sheet's frames a second at every size of frame at which line and bus have room."""
        found = frames.measure(self.run, _path(), logger.console)
        for each in found.found:
            logger.info(f"frames of {each.frame_bytes} bytes: held back by {each.binds}; {each.result.reason}")
        logger.info(f"{found.subject}: {'the same' if found.independent else 'not the same'} at every size of frame")
        show_chart(frames.chart(found), tuple(made for each in found.found for made in each.runs))
        frames.judge(found)

    @keyword
    def frame_rate_should_be_the_same_at_every_size(self) -> None:
        """The frames a second do not depend on their size, within what the sheet says."""
        run = self.run
        frames.same_within(run)
        found = frames.measure(run, _path(), logger.console)
        show_chart(frames.chart(found), tuple(made for each in found.found for made in each.runs))
        frames.judge_independence(run, found)

    @keyword
    def jumbo_frames_should_gain_as_predicted(self, profile: Profile) -> None:
        """From the frame rate at MTU 1500 the gain of jumbo frames is predicted, measured and compared.

        The prediction names which limit comes first: frames a second, the line or the bus.
        """
        run = self.run
        peak = frames.measure(run, _path(), logger.console)
        predicted = frames.jumbo_gain(run, peak)
        answer = effect.ask(run, _path(), predicted, effect.BUDGETS[profile], logger.console, source=predicted.source)
        logger.info(f"{predicted.source}: {answer.result.reason}")
        show_chart(effect.chart(f"Jumbo frames {answer.subject}", [answer]), tuple(made for _, made in answer.runs))
        effect.judge([answer])

    @keyword
    def fragments_should_arrive_whole(self) -> None:
        """Datagrams of 32 KiB, cut into fragments, arrive whole in both directions, with checksum offload on.

        Content is compared byte by byte, and no datagram is thrown away for a wrong checksum.
        """
        run, problems = self.run, list[str]()
        for sender in Role:
            ends = serving.ends(run, _path(), sender)
            with applied(run, Way(_path(), sender), _checksums_on(run)):
                found = datagrams.deliver(run, ends)
            logger.info(f"{ends.name}: {found}")
            if found.problem:
                problems.append(f"{ends.name}: {found.problem}; wanted: each once and unchanged, checksum offload on")
        fail_with(problems)


def _checksums_on(run: Run) -> tuple[effect.Setting, ...]:
    """Checksum offload switched on where the sheet says that it can be switched; else it is as it is."""
    table = run.card.section(run.card.offloads, "offloads").rows(run.server(Role.DUT).description.os)
    names = (OffloadName.TX_CHECKSUM, OffloadName.RX_CHECKSUM)
    return tuple(effect.switched(name, True) for name in names if name in table and effect.can_switch(table[name]))


def _path() -> BenchPath:
    return current().bench.paths[0]


def show_chart(chart: Chart, runs: tuple[TrafficRun, ...]) -> None:
    """A chart with its numbers, and every run behind it, in the log and as evidence."""
    attach(f"{chart.title}.svg", chart.svg(), "image/svg+xml")
    attach(f"{chart.title}.csv", chart.csv(), "text/csv")
    for run in runs:
        logger.write(measuring.described(run), "WARN" if run.remarkable else "INFO")
    attach(f"{chart.title}.json", json.dumps(as_json(runs), indent=2, ensure_ascii=False), "application/json")


def attach(name: str, text: str, mime: str) -> None:
    """Keep a text as evidence, with a link in the log."""
    path = current().evidence.add(name, text, mime)
    logger.info(EvidenceLink(path.name, mime, f"evidence/{path.name}").markup(), html=True)
