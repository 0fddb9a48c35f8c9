"""The way back to the former firmware, which the journal has before an image is written."""

from __future__ import annotations

from niclab.bench.records import Port, Role
from niclab.card import Activation, FirmwareImage
from niclab.checks.driver import RELOAD_DEADLINE_S
from niclab.checks.flashing import Flashing
from niclab.core.undo import SLOW_DEADLINE_S, Action, ActionKind, Entry
from niclab.core.verdict import BenchFault
from niclab.run.run import Run

ACTIVATION = "dut firmware activation"


class WayBack:
    """Brings the former firmware back.

    Args:
        run: The run.

    Raises:
        NotApplicable: The sheet or the dut's system has no way that the lab knows.
        SheetSilent: The sheet says nothing about it.
    """

    def __init__(self, run: Run) -> None:
        self._run, self._way = run, Flashing(run)

    def action(self, port: Port, file: str) -> Action:
        """Return the action that writes an image, for the journal.

        Args:
            port: The port.
            file: Name of the image.
        """
        return Action(ActionKind.SHELL, port.role.value, self._way.command(port, file), SLOW_DEADLINE_S)

    def keep(self, port: Port, image: FirmwareImage, back: FirmwareImage, why: str) -> list[Entry]:
        """Have the journal write the former image and make it run.

        Args:
            port: The port.
            image: The image that is about to be written.
            back: That of the former firmware.
            why: The change, for the journal.

        Returns:
            The entries that the journal had not yet.

        Raises:
            BenchFault: An image is missing.
        """
        journal, made, activation = self._run.journal, list[Entry](), self._activation()
        pending = [entry.subject for entry in journal.pending()]
        if activation and ACTIVATION not in pending:
            said = "firmware is replaced, and the former has to run again"
            made.append(journal.register(ACTIVATION, said, activation))
        for file in (image.file, back.file):
            if not self._run.server_of(port).host.firmware.has_image(file):
                raise missing_image(self._run, port, file)
        if f"{port.name} firmware" not in pending:
            made.append(journal.register(f"{port.name} firmware", why, self.action(port, back.file)))
        return made

    def _activation(self) -> Action | None:
        """Return the action that makes the image run that an undo has written; None where nobody knows it."""
        dut = self._run.server(Role.DUT)
        match self._way.update.activation:
            case Activation.DRIVER_RELOAD:
                module = self._run.card.driver(dut.description.os).module
                reload_it = f"{dut.host.undo.unload_driver(module)} && {dut.host.undo.load_driver(module)}"
                return Action(ActionKind.SHELL, dut.name, reload_it, RELOAD_DEADLINE_S)
            case Activation.RESET:
                return Action(ActionKind.RESTART, dut.name, "reboot", RELOAD_DEADLINE_S)
            case Activation.POWER_CYCLE:
                return Action(ActionKind.RESTART, dut.name, "power-cycle", RELOAD_DEADLINE_S)
        return None


def missing_image(run: Run, port: Port, file: str) -> BenchFault:
    """Return the fault of an image that a server lacks.

    Args:
        run: The run.
        port: The port that it would be written into.
        file: Its name.
    """
    return BenchFault(f"{port.role.value}: firmware image {file} is missing, sheet {run.card.name} names it")
