"""The questions to a BMC, whatever protocol it speaks: power, sensors, event log."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.core.wait import until
from niclab.transports import ConnectionLost

POLL_POWER_EVERY_S = 0.2
"""Interval in s of reading the power while a change is awaited; BMCs take 0.1 s to 10 s to carry one out."""


class InsufficientPrivilege(BenchFault):
    """The user was let in but may not do this."""


class CommandRefused(BenchFault):
    """The BMC understood, and refused; the message says why in its words."""


class _NotReached(Exception):
    """The deadline of a wait, distinct from what the BMC says."""


class PowerState(Enum):
    """Power of the server. A server that is being switched has the state it had before."""

    ON = "on"
    OFF = "off"


class PowerAction(Enum):
    """The power actions of a BMC. The value is for messages."""

    ON = "power on"
    OFF = "power off"
    CYCLE = "power cycle"
    RESET = "reset"
    NMI = "NMI"


class SensorKind(Enum):
    """The quantity that a sensor measures."""

    TEMPERATURE = "temperature"
    VOLTAGE = "voltage"
    CURRENT = "current"
    FAN = "fan"
    POWER = "power"
    OTHER = "other"


class SensorStatus(Enum):
    """A reading against the sensor's own thresholds. ``UNKNOWN``: the BMC gives no judgement."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNAVAILABLE = "unavailable"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Sensor:
    """A sensor that measures something.

    ``value`` is in ``unit`` (``°C``, ``RPM``, ``V``, ``A``, ``W``, ...; None when the BMC names none). It is None, and
    ``status`` UNAVAILABLE, when there is no reading now, as for most sensors of a server that is off.
    """

    name: str
    kind: SensorKind
    value: float | None
    unit: str | None
    status: SensorStatus


@dataclass(frozen=True)
class SelEntry:
    """An entry of the system event log (SEL).

    ``id`` is unique in the log until it is cleared. ``time`` has a time zone; it is None when the BMC did not know it.
    ``asserted``: the event began (True) or ended (False); None when the entry does not say.
    """

    id: str
    time: datetime | None
    sensor: str | None
    event: str
    asserted: bool | None


class Bmc(Protocol):
    """A BMC. Constructing one connects to nothing; every call has a deadline; calls of several threads take turns.

    Every call raises :class:`~niclab.transports.AuthenticationFailed` when the user, password or certificate is
    refused, :class:`InsufficientPrivilege`, :class:`CommandRefused`, :class:`~niclab.transports.ConnectionLost` when
    the BMC is silent or away, and plain :class:`~niclab.core.verdict.BenchFault` when its answer cannot be read.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The subject of messages, like ``dut BMC``."""

    @abstractmethod
    def power_status(self) -> PowerState:
        """Return True if the server has power."""

    @abstractmethod
    def control(self, action: PowerAction) -> None:
        """Order a change of the power; the BMC may carry it out after it has answered. Never repeated by itself."""

    def power_on(self) -> None:
        """Order power on."""
        self.control(PowerAction.ON)

    def power_off(self) -> None:
        """Order power off at once, without a word to the operating system."""
        self.control(PowerAction.OFF)

    def power_cycle(self) -> None:
        """Order power off, then on."""
        self.control(PowerAction.CYCLE)

    def reset(self) -> None:
        """Press the reset button."""
        self.control(PowerAction.RESET)

    def nmi(self) -> None:
        """Give the processors a diagnostic interrupt; a kernel set up for it panics and dumps."""
        self.control(PowerAction.NMI)

    def set_power(self, state: PowerState, within_s: float) -> None:
        """Switch the power (a server that is there already is left alone) and wait until the BMC reports it.

        While waiting, a BMC that is silent for a moment is asked again.

        Raises:
            BenchFault: When the state is not reported within ``within_s`` seconds; the message has the last one.
        """
        if not (math.isfinite(within_s) and within_s > 0):
            raise BenchFault(f"{self.name}: within_s of set_power is {within_s}, wanted seconds above 0")
        if self.power_status() is state:
            return
        self.control(PowerAction.ON if state is PowerState.ON else PowerAction.OFF)
        last = "nothing"

        def reached() -> bool:
            nonlocal last
            try:
                found = self.power_status()
            except ConnectionLost as error:
                last = str(error)
                return False
            last = found.value
            return found is state

        try:
            until(reached, within=within_s, what="power", every=POLL_POWER_EVERY_S, error=_NotReached)
        except _NotReached:
            message = f"{self.name}: power is not {state.value} within {within_s:g} s; last seen: {last}"
            raise BenchFault(message) from None

    @abstractmethod
    def sensors(self) -> list[Sensor]:
        """The sensors that measure something, in the order of the BMC."""

    @abstractmethod
    def sel(self) -> list[SelEntry]:
        """The system event log, the oldest entry first as the BMC has them."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, if there is one. The next call opens it again."""
