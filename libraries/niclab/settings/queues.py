"""Queues of a port, which ethtool calls channels: as delivered, and over their range."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from niclab.card import ChannelFacts
from niclab.core.verdict import CardFailure, Collected, NotApplicable, fail_with
from niclab.hosts.errors import NotOffered
from niclab.hosts.settings.settings_records import Attempt
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort, Show, driver_section, dut_ports, require_known
from niclab.settings.trial import Trial


def as_delivered(run: Run) -> None:
    """Judge number and maximum of the queues of every port of the dut against the sheet, where it knows them.

    Where the sheet names no kind of queue, the driver must show none.

    Args:
        run: The current run.

    Raises:
        CardFailure: A port has another number or maximum, or shows queues where the sheet names none.
        NotApplicable: The sheet knows nothing of the queues.
    """
    section, judged = _section(run), Collected()
    named = {"rx": section.rx, "tx": section.tx, "combined": section.combined}
    kinds = {kind: queues for kind, queues in named.items() if queues is not None}
    if not kinds:
        fail_with([text for dut in dut_ports(run) for text in _offered(dut)])
        return
    require_known(run, "channels", [fact for queues in kinds.values() for fact in (queues.max, queues.default)])
    for dut in dut_ports(run):
        with judged.one():
            shown = dut.ask("queues", dut.host.settings.channels)
            now = {"rx": shown.current.rx, "tx": shown.current.tx, "combined": shown.current.combined}
            most = {"rx": shown.max.rx, "tx": shown.max.tx, "combined": shown.max.combined}
            for kind, queues in kinds.items():
                judged.problems += dut.compare(f"{kind} queues", now[kind], queues.default)
                judged.problems += dut.compare(f"most {kind} queues", most[kind], queues.max)
    judged.end()


def over_range(run: Run, show: Show) -> None:
    """Set the combined queues of every port of the dut to one, to the most the port shows, and to one more.

    Where the sheet says that queues cannot be set, no attempt may change them.

    Args:
        run: The current run.
        show: Takes each attempt as a sentence.

    Raises:
        CardFailure: A port does not keep to the sheet, shows no maximum, or its queues do not come back.
        BenchFault: The queues could not be put back.
        NotApplicable: The sheet names no combined queues.
    """
    section, ports = _section(run), Collected()
    if section.combined is None:
        raise NotApplicable(f"sheet {run.card.name} names no combined queues")
    for dut in dut_ports(run):
        with ports.one():
            most = dut.ask("queues", dut.host.settings.channels).max.combined
            if most is None:
                raise CardFailure(dut.expected("most combined queues", None, "a number"))
            Trial(CombinedQueues(dut), 1, most, settable=section.settable).judge(show)
    ports.end()


@dataclass(frozen=True)
class CombinedQueues:
    """The combined queues of one port, as a :class:`~niclab.settings.trial.Quantity`."""

    dut: DutPort
    what: str = "combined queues"

    def read(self) -> int | None:
        """Read their number."""
        return self.dut.ask("queues", self.dut.host.settings.channels).current.combined

    def set(self, value: int) -> Attempt[int | None]:
        """Set their number."""
        attempt = self.dut.host.settings.set_channels(self.dut.iface, {"combined": value})
        return Attempt(attempt.refused, attempt.now.current.combined)

    def put_back(self) -> AbstractContextManager[None]:
        """Put the queues of the port back after the ``with`` block."""
        return self.dut.put_back(f"{self.what} is set", self.dut.host.undo.channels(self.dut.iface))


def _offered(dut: DutPort) -> list[str]:
    try:
        shown = dut.host.settings.channels(dut.iface)
    except NotOffered:
        return []
    return [dut.expected("queues", shown.current, "that the driver shows none")]


def _section(run: Run) -> ChannelFacts:
    return driver_section(run, "channels", ChannelFacts, lambda dut: dut.host.settings.channels(dut.iface))
