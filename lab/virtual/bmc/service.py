"""The state of one BMC, which IPMI and Redfish both act on."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import IntEnum

from bmc.config import Config
from bmc.events import SOURCE_NAMES, Event, PowerEvent
from bmc.machine import Machine, MachineError, PowerAction
from bmc.sel import SelFullError, SystemEventLog
from bmc.sensors import Sensor, controller_sdr, event_only_sdr
from bmc.settings import SettingsFile

log = logging.getLogger(__name__)

ANSWER_S = 0.5
"""A power command that takes longer is acknowledged and carried out in the background; IPMI clients repeat a request
after one second."""
WATCH_S = 0.2
"""Interval of looking at the machine for changes nobody commanded."""
IDENTIFY_DEFAULT_S = 15
"""Time that the identify light is on when no time is given (IPMI 28.5)."""

FIRMWARE_VERSION = (2, 10)
"""Major and minor; the same in IPMI and Redfish."""

_NEEDS_POWER = {PowerAction.CYCLE, PowerAction.RESET, PowerAction.NMI, PowerAction.SOFT_SHUTDOWN}
_LOGGED_AS = {
    PowerAction.ON: PowerEvent.ON,
    PowerAction.OFF: PowerEvent.OFF,
    PowerAction.CYCLE: PowerEvent.CYCLE,
    PowerAction.RESET: PowerEvent.RESET,
    PowerAction.NMI: PowerEvent.NMI,
    PowerAction.SOFT_SHUTDOWN: PowerEvent.BUTTON,
}


class MachineIsOffError(Exception):
    """The command makes no sense while the machine is off."""


class BusyError(Exception):
    """Another power command is still at work."""


class RestartCause(IntEnum):
    """The cause of the machine's last start (IPMI table 28-11)."""

    UNKNOWN = 0
    CHASSIS_CONTROL = 1


@dataclass
class Faults:
    """The parts that are broken on purpose.

    Attributes:
        drop: No answer on the network, neither IPMI nor Redfish.
        delay_s: Every answer comes this much later, seconds.
        power_stuck: Power commands are accepted and do nothing.
        redfish_500: Redfish answers every request with an internal error.
    """

    drop: bool = False
    delay_s: float = 0.0
    power_stuck: bool = False
    redfish_500: bool = False


class Bmc:
    """One BMC in front of one machine. :meth:`watch` must run next to it.

    Attributes:
        seen_on: The power state the event log knows of.

    Raises:
        ConfigError: When the event log or the settings file cannot be used.
    """

    def __init__(self, config: Config, machine: Machine) -> None:
        self.config = config
        self.machine = machine
        self.guid = uuid.uuid5(uuid.NAMESPACE_DNS, f"{config.name}.bench.invalid")
        self.faults = Faults()
        self.restart_cause = RestartCause.UNKNOWN
        self.settings = SettingsFile(config.run_dir / "bmc-settings.json")
        self.sel = SystemEventLog(config.sel_file, self.now_s)
        self.sensors = {info.number: Sensor.from_info(info) for info in config.sensors}
        self._clock_offset_s = 0
        self._identify_until_s = 0.0
        self._task: asyncio.Task[None] | None = None
        self._action: PowerAction | None = None
        self.seen_on = machine.is_on()

    # -- clock and light

    def now_s(self) -> int:
        """The clock of the event log, seconds since 1970."""
        return int(time.time()) + self._clock_offset_s

    def set_clock(self, now_s: int) -> None:
        """Set the clock of the event log; a restart of the BMC sets it back to that of the host."""
        self._clock_offset_s = now_s - int(time.time())

    def identify(self, seconds: float) -> None:
        """Light the identify light; 0 puts it out, infinity leaves it on."""
        self._identify_until_s = time.monotonic() + seconds if seconds > 0 else 0.0

    @property
    def identify_left_s(self) -> float:
        """The time that the identify light stays on, 0 when it is out."""
        return max(0.0, self._identify_until_s - time.monotonic())

    # -- sensors

    def set_sensor(self, number: int, value: int) -> None:
        """Let a sensor read something else; a crossed threshold is logged.

        Raises:
            KeyError: When there is no such sensor.
            SensorError: When it cannot read that.
        """
        self.sensors[number].set_value(value)
        self.check_thresholds()

    def check_thresholds(self) -> None:
        """Log every threshold crossing since the last call."""
        powered = self.machine.is_on()
        for sensor in self.sensors.values():
            for event in sensor.new_events(powered):
                self.log_event(event)

    def sdr_repository(self) -> list[bytes]:
        """All Sensor Data Records; the id of a record is its position, from 1."""
        records = [controller_sdr(1, f"BMC {self.config.name}")]
        for sensor in self.sensors.values():
            records.append(sensor.sdr(len(records) + 1))
        for source, name in SOURCE_NAMES.items():
            records.append(event_only_sdr(len(records) + 1, source, name))
        return records

    def log_event(self, event: Event) -> None:
        """Put an event into the event log. One that is lost is an error in our log, not of the power control."""
        try:
            record = self.sel.log(event)
        except (SelFullError, OSError):
            log.exception("event lost: %s", event)
        else:
            log.info("event %d: %s", record.record_id, record.text)

    # -- power

    async def power(self, action: PowerAction) -> None:
        """Carry out a power command.

        Returns when it is done, or after ``ANSWER_S`` while it goes on in the background; a cycle always goes on in
        the background. A hard power-off ends whatever other command is at work.

        Raises:
            MachineIsOffError: Cycle, reset, NMI and soft shutdown of a machine that is off.
            BusyError: When another power command is at work and stays so for ``ANSWER_S``.
            MachineError: When the machine did not do it. A failure in the background is in both logs.
        """
        await self._others_done(action)
        if self.faults.power_stuck:
            log.warning("power %s: accepted and not done (fault power_stuck)", action.value)
            return
        on = self.machine.is_on()
        if action in _NEEDS_POWER and not on:
            raise MachineIsOffError(f"power {action.value}: the machine is off")
        if on == (action is PowerAction.ON) and action in (PowerAction.ON, PowerAction.OFF):
            return
        task = asyncio.create_task(self._carry_out(action))
        task.add_done_callback(_see_failure)
        self._task, self._action = task, action
        if action is PowerAction.CYCLE:
            return
        await asyncio.wait({task}, timeout=ANSWER_S)
        if task.done():
            task.result()

    @property
    def is_busy(self) -> bool:
        """Is a power command at work?"""
        return self._task is not None and not self._task.done()

    async def _others_done(self, action: PowerAction) -> None:
        end_s = time.monotonic() + ANSWER_S
        while self._task is not None and not self._task.done():
            if action is PowerAction.OFF and self._action is not PowerAction.OFF:
                self._task.cancel()
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                raise BusyError("another power command is at work")
            await asyncio.wait({self._task}, timeout=left_s)

    async def _carry_out(self, action: PowerAction) -> None:
        log.info("power %s", action.value)
        try:
            await self._what_to_do(action)()
        except MachineError as error:
            log.error("power %s failed: %s", action.value, error)
            self.log_event(PowerEvent.CONTROL_FAILED.value)
            raise
        self.log_event(_LOGGED_AS[action].value)
        if action in (PowerAction.ON, PowerAction.CYCLE, PowerAction.RESET):
            self.restart_cause = RestartCause.CHASSIS_CONTROL
        if action is not PowerAction.SOFT_SHUTDOWN:  # what the operating system makes of it, the watch sees
            self.seen_on = self.machine.is_on()
            self.check_thresholds()

    def _what_to_do(self, action: PowerAction) -> Callable[[], Awaitable[None]]:
        return {
            PowerAction.ON: self.machine.power_on,
            PowerAction.OFF: self.machine.power_off,
            PowerAction.CYCLE: self.machine.cycle,
            PowerAction.RESET: self.machine.reset,
            PowerAction.NMI: self.machine.nmi,
            PowerAction.SOFT_SHUTDOWN: self.machine.soft_shutdown,
        }[action]

    async def watch(self) -> None:
        """Log power changes nobody commanded: a shutdown from inside, a crash of the machine. Runs for ever."""
        while True:
            await asyncio.sleep(WATCH_S)
            if not self.is_busy:
                try:
                    self._look()
                except MachineError:
                    log.exception("the machine cannot be looked at")

    def _look(self) -> None:
        on = self.machine.is_on()
        if on == self.seen_on:
            return
        log.info("the machine is %s without a power command", "on" if on else "off")
        self.seen_on = on
        self.log_event((PowerEvent.ON if on else PowerEvent.OFF).value)
        self.check_thresholds()


def _see_failure(task: asyncio.Task[None]) -> None:
    """Fetch the error of a background command, so that only a surprising one is reported (again)."""
    if task.cancelled():
        log.warning("a power command was ended by a power off")
        return
    error = task.exception()
    if error is not None and not isinstance(error, MachineError):
        log.error("a power command broke", exc_info=error)
