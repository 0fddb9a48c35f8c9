"""The servers' power, by their BMCs: cycles, restarts, what the BMC says of itself, and recovery."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import keyword, library

from BenchLibrary import BenchLibrary
from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.transports.bmc import PowerState, SensorKind


@library(scope="GLOBAL")
class Power(BenchLibrary):
    """Keywords about power. ``server`` is ``dut`` or ``peer``."""

    @keyword
    def power_cycle(self, server: Role) -> None:
        """Cut the power, restore it, wait until the server runs again.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The BMC does not answer, or the server does not come back in its time.
        """
        target = self.run.server(server)
        entry = self.run.journal.register(
            target.name, "power is cut for a cycle", Action(ActionKind.POWER, target.name, "on")
        )
        target.power_cycle()
        self.run.journal.done(entry)

    @keyword
    def reboot(self, server: Role) -> None:
        """Restart the operating system in an orderly way, wait until it runs again.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The server does not come back in its time.
        """
        self.run.server(server).reboot()

    @keyword
    def reset_by_bmc(self, server: Role) -> None:
        """Press the reset button by the BMC, wait until the server runs again. For a server that hangs.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: The BMC does not answer, or the server does not come back in its time.
        """
        self.run.server(server).reset()

    @keyword
    def bmc_should_report_power(self, server: Role, state: PowerState) -> None:
        """Compare the power state that the BMC reports by every protocol that the bench file gives it.

        Args:
            server: ``dut`` or ``peer``.
            state: ``ON`` or ``OFF``.

        Raises:
            BenchFault: A protocol reports another state.
        """
        target = self.run.server(server)
        entry = target.description.bmc
        if entry is None:
            _ = target.bmc  # says why this cannot be asked
        for bmc in (target.ipmi if entry and entry.ipmi else None, target.redfish if entry and entry.redfish else None):
            if bmc is not None and (found := bmc.power_status()) is not state:
                name = type(bmc).__name__
                raise BenchFault(f"{target.name}: {name} reports power {found.value}, wanted {state.value}")

    @keyword
    def sensors_should_be_readable(self, server: Role) -> None:
        """Read the BMC's sensors; at least one is a temperature.

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: No temperature can be read.
        """
        sensors = self.run.server(server).bmc.sensors()
        for sensor in sensors:
            logger.info(f"{sensor.name}: {sensor.value} {sensor.unit or ''} {sensor.status}")
        if not any(sensor.value is not None and sensor.kind is SensorKind.TEMPERATURE for sensor in sensors):
            names = ", ".join(sensor.name for sensor in sensors) or "none"
            raise BenchFault(f"{server.value} BMC: no temperature can be read; sensors: {names}")

    @keyword
    def event_log_should_grow_by_power_cycle(self, server: Role) -> None:
        """Power cycle the server and look for new entries in the BMC's event log (SEL).

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            BenchFault: There is no new entry.
        """
        target = self.run.server(server)
        before = {entry.id for entry in target.bmc.sel()}
        self.power_cycle(server)
        new = [entry for entry in target.bmc.sel() if entry.id not in before]
        for entry in new:
            logger.info(str(entry))
        if not new:
            raise BenchFault(f"{target.name} BMC: a power cycle left no entry in the event log ({len(before)} before)")
