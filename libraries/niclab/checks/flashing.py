"""The ways of writing an image into the card: by its driver (ethtool, devlink), or by a tool of the vendor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import FirmwareUpdate, FlashCommand, FlashTool
from niclab.checks.asked import dut, dut_system
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.host_records import DriverInfo
from niclab.hosts.settings.settings_records import Attempt, FirmwareTool, ToolAnswer
from niclab.run.run import Run
from niclab.run.watching import standstill

_OTHERS = {
    FlashTool.VENDOR: "written by the vendor's own tool, and names no command of it",
    FlashTool.HOST_LOADED: "loaded by the driver each time it starts",
    FlashTool.UNKNOWN: "written in a way that nobody knows",
}
DEVLINK = FirmwareTool(
    "devlink dev flash pci/{pci} file {file}", ("devlink",), refused="(?i)error|answers:", refused_by_any_error=True
)
"""The driver writes, as with ethtool: what it answers is the card's answer, unless it could not ask the card."""


class Writer(Enum):
    """The program that writes firmware: the DRIVER, asked by ethtool or devlink, or a TOOL of the vendor."""

    DRIVER = "the driver"
    TOOL = "a tool of the vendor"


@dataclass(frozen=True)
class WriteOutcome:
    """The outcome of writing an image.

    Attributes:
        attempt: Refused by the card or not, and what the port shows then.
        unsure: Why nobody knows whether the card refuses the image; empty where it was written or refused.
        wrote_nothing: Says the tool that it does not support the system, and does the port show what it did before?
    """

    attempt: Attempt[DriverInfo]
    unsure: str = ""
    wrote_nothing: bool = False


class Flashing:
    """The sheet's way of writing firmware into the dut's card.

    Args:
        run: The run.

    Raises:
        NotApplicable: The sheet or the dut's system has no way that the lab knows.
        SheetSilent: The sheet says nothing about it.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self.update: FirmwareUpdate = run.card.section(run.card.firmware.update, "how firmware is updated")
        self._tool = self._of_sheet()
        self.writer = Writer.TOOL if self.update.command is not None else Writer.DRIVER

    def _of_sheet(self) -> FirmwareTool | None:
        """Return the program; None where the system's own way is asked for."""
        if self.update.command is not None:
            return _tool(self.update.command)
        if self.update.tool is FlashTool.DEVLINK:
            if dut_system(self._run) is not OperatingSystem.LINUX:
                raise NotApplicable(f"dut: {dut_system(self._run).value} has no devlink, which writes this firmware")
            return DEVLINK
        if self.update.tool is not FlashTool.ETHTOOL:
            raise NotApplicable(f"sheet {self._run.card.name} says that firmware is {_OTHERS[self.update.tool]}")
        return None

    def require_offered(self) -> None:
        """Check that the dut's system has a tool for this card, where it is asked to write.

        Raises:
            NotApplicable: It has none.
        """
        if self._tool is None:
            dut(self._run).undo.firmware(self._run.interface(self._run.ports(Role.DUT)[0]), "any.bin")

    def require_programs(self) -> None:
        """Check that the dut has every program that the tool needs, before anything changes.

        Raises:
            BenchFault: One is missing.
        """
        missing = dut(self._run).firmware.missing_programs(self._tool.needs) if self._tool is not None else ()
        if missing:
            raise BenchFault(
                f"dut: {', '.join(missing)} not found; expected it for the tool that writes firmware "
                f"(sheet {self._run.card.name})"
            )

    def command(self, port: Port, file: str) -> str:
        """Return the command that writes an image, for the journal.

        Args:
            port: The port.
            file: Name of the image.
        """
        host, iface = self._run.server_of(port).host, self._run.interface(port)
        if self._tool is None:
            return host.undo.firmware(iface, file)
        return host.firmware.tool_command(self._tool, iface, port.pci, file)

    def write(self, port: Port, file: str) -> WriteOutcome:
        """Write an image. Whether it then runs is for others to see.

        Args:
            port: The port.
            file: Name of the image.

        Raises:
            BenchFault: The program cannot work.
        """
        server, iface = self._run.server_of(port), self._run.interface(port)
        server.require_lease()
        if self._tool is None:
            return WriteOutcome(server.host.firmware.flash(iface, file))
        before = server.host.drivers.driver_info(iface)
        ended = server.host.firmware.write_with(self._tool, iface, port.pci, file)
        now = server.host.drivers.driver_info(iface)
        match ended.answer:
            case ToolAnswer.WRITTEN:
                return WriteOutcome(Attempt(None, now))
            case ToolAnswer.REFUSED:
                return WriteOutcome(Attempt(ended.words, now))
            case ToolAnswer.UNSUPPORTED:
                said = f"the tool does not support the system of the dut: {ended.words}"
                return WriteOutcome(Attempt(ended.words, now), said, wrote_nothing=now == before)
        said = f"the tool failed, and does not say that the card refused: {ended.words}"
        return WriteOutcome(Attempt(ended.words, now), said)

    def standstills(self) -> Callable[[], float]:
        """Watch the dut, where the sheet says how long a write may take; returns what tells for how many s it stood.

        Raises:
            BenchFault: It cannot be watched.
        """
        if self.update.within_s is None:
            return lambda: 0.0
        both = standstill.watch(self._run)
        before = both.told()
        dut_name = self._run.server(Role.DUT).name

        def stood_s() -> float:
            return sum(each.ms for each in both.between(before, both.told()) if each.server == dut_name) / 1000

        return stood_s

    def require_in_time(self, said: str, took_s: float, standing: Callable[[], float]) -> None:
        """Require that a write took no longer than the sheet allows.

        Args:
            said: Port, time and image, in words.
            took_s: The time in s.
            standing: Tells the part of it in s in which the dut stood still.

        Raises:
            CardFailure: It took longer, also without that part.
            Undecided: It took longer, and that part may be why.
        """
        most_s = self.update.within_s
        if most_s is None or took_s <= most_s:
            return
        stood_s = standing()
        text = f"{said}; expected at most {most_s} s (sheet {self._run.card.name})"
        text += f"; dut stood still for {stood_s:.1f} s meanwhile" if stood_s else ""
        raise CardFailure(text) if took_s - stood_s > most_s else Undecided(text)


def _tool(command: FlashCommand) -> FirmwareTool:
    return FirmwareTool(command.line, command.needs, command.refused, command.unsupported)
