"""The BMCs' reports on their servers: power, sensors, event log."""

from __future__ import annotations

from robot.api import logger
from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.transports.bmc.bmc import PowerState, SensorKind


@library(scope="GLOBAL")
class Bmc(BenchLibrary):
    """Keywords about BMCs. ``server`` is ``dut`` or ``peer``.

    | `BMC Should Report Power` | dut | ON |
    | `Event Log Should Grow By Power Cycle` | dut |
    | `Sensors Should Be Readable` | peer |
    """

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
                raise BenchFault(f"{target.name}: {name} reports power {found.value}; expected {state.value}")

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

    @keyword(tags=["boots"])
    def event_log_should_grow_by_power_cycle(self, server: Role) -> None:
        """Power cycle the server and look for new entries in the BMC's event log (SEL).

        Args:
            server: ``dut`` or ``peer``.

        Raises:
            NotApplicable: The BMC has no event log.
            BenchFault: There is no new entry.
        """
        target = self.run.server(server)
        before = {entry.id for entry in target.bmc.sel()}
        target.power_cycle()
        new = [entry for entry in target.bmc.sel() if entry.id not in before]
        for entry in new:
            logger.info(str(entry))
        if not new:
            raise BenchFault(f"{target.name} BMC: a power cycle left no entry in the event log ({len(before)} before)")
