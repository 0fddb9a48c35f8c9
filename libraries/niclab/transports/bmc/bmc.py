"""The questions to a BMC, whatever protocol it speaks: power, sensors, event log."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Protocol

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline, until
from niclab.transports import AuthenticationFailed

POLL_POWER_EVERY_S = 0.2
"""Interval between questions about the power while a change is waited for; BMCs take 0.1 s to 10 s to carry one out."""
ORDER_AGAIN_S = 10.0
"""Time after which a change that was taken and is not there is ordered again. A BMC that is slow has carried it out by
then; Lenovo's take "power on" right after a power off, and forget it."""
NOT_NOW_WITHIN_S = 20.0
"""Time for which one call asks a BMC again that says "not now"; :meth:`Bmc.set_power` has its own deadline."""
ASK_AGAIN_EVERY_S = 0.5
_LONGEST_WORDS = 500


class InsufficientPrivilege(BenchFault):
    """The user was let in but may not do this."""


class CommandRefused(BenchFault):
    """The BMC understood, and refused; the message says why in its words."""


class NotNow(CommandRefused):
    """The BMC is busy, and was so until the deadline. It may carry out what was ordered all the same."""


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


def plain(text: str) -> str:
    """Words of a BMC as messages and reports may quote them: one line of printable characters, not too long."""
    shown = "".join(letter if letter.isprintable() else " " for letter in text[: 2 * _LONGEST_WORDS])
    return " ".join(shown.split())[:_LONGEST_WORDS]


class Bmc(Protocol):
    """A BMC. Constructing one connects to nothing; every call has a deadline; calls of several threads take turns.

    A BMC that says "not now" is asked again for :data:`NOT_NOW_WITHIN_S`. Every call raises
    :class:`~niclab.transports.AuthenticationFailed` when the user, password or certificate is refused,
    :class:`InsufficientPrivilege`, :class:`CommandRefused`, :class:`NotNow`,
    :class:`~niclab.transports.ConnectionLost` when the BMC is silent or away, and plain
    :class:`~niclab.core.verdict.BenchFault` when its answer cannot be read.
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
        """Order a change of the power; the BMC may carry it out after it has answered.

        It is repeated by itself only when the BMC says that it has not carried it out.
        """

    def power_on(self) -> None:
        """Order power on."""
        self.control(PowerAction.ON)

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

        Until the deadline a BMC that is silent, refuses or answers nonsense is asked again. The order is given again
        until an answer says that it was taken, and where the state is not there :data:`ORDER_AGAIN_S` later. It names
        the state ("on" or "off", never a press of the button) and may be carried out twice without harm.

        Args:
            state: The power that is wanted.
            within_s: Deadline in seconds. A call that is under way then is waited for.

        Raises:
            BenchFault: The state is not reported in time (the message has what was seen last), or the user is refused.
        """
        if not (math.isfinite(within_s) and within_s > 0):
            raise BenchFault(f"{self.name}: within_s of set_power is {within_s}; expected seconds above 0")
        switch = _Switch(self, state)
        try:
            until(switch.reached, within=within_s, what="power", every=POLL_POWER_EVERY_S, error=_NotReached)
        except _NotReached:
            message = f"{self.name}: power is not {state.value} within {within_s:g} s; last seen: {switch.last}"
            raise BenchFault(message) from None

    @abstractmethod
    def sensors(self) -> list[Sensor]:
        """The sensors that measure something, in the order of the BMC."""

    @abstractmethod
    def sel(self) -> list[SelEntry]:
        """The system event log, the oldest entry first as the BMC has them.

        Raises:
            NotApplicable: The BMC has none.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection, if there is one. The next call opens it again."""


class _Switch:
    """One change of the power, asked about until it is there."""

    def __init__(self, bmc: Bmc, state: PowerState) -> None:
        self._bmc, self._state = bmc, state
        self._action = PowerAction.ON if state is PowerState.ON else PowerAction.OFF
        self._order_after = Deadline(0)
        self._seen = self._refusal = ""

    @property
    def last(self) -> str:
        """The state that was seen last, and why the last order was not taken."""
        return f"{self._seen}; {self._refusal}" if self._refusal else self._seen

    def reached(self) -> bool:
        """Look at the power, and order the change unless an order was just given."""
        try:
            found = self._bmc.power_status()
        except (AuthenticationFailed, InsufficientPrivilege):
            raise
        except BenchFault as fault:
            self._seen = str(fault)
            return False
        self._seen = found.value
        if found is not self._state and self._order_after.expired:
            self._order()
        return found is self._state

    def _order(self) -> None:
        """Order the change. Servers that are just being switched refuse it; a lost answer says nothing."""
        try:
            self._bmc.control(self._action)
        except (AuthenticationFailed, InsufficientPrivilege):
            raise
        except BenchFault as fault:
            self._refusal, self._order_after = str(fault), Deadline(ASK_AGAIN_EVERY_S)
        else:
            self._refusal, self._order_after = "", Deadline(ORDER_AGAIN_S)
