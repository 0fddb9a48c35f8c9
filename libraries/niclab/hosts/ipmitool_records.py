"""Records of what ipmitool prints."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Field = str | int | bool | None | tuple[str, ...]


class IpmiForm(StrEnum):
    """The command whose output it is."""

    CHASSIS_STATUS = "chassis status"
    POWER_STATUS = "chassis power status"
    SDR_LIST = "sdr list"
    SDR_ELIST = "sdr elist"
    SDR_VERBOSE = "sdr verbose"
    SENSOR_LIST = "sensor list"
    SEL_LIST = "sel list"
    SEL_INFO = "sel info"
    FRU_PRINT = "fru print"
    MC_INFO = "mc info"
    LAN_PRINT = "lan print"


@dataclass(frozen=True)
class Thresholds:
    """Lower and upper, non-recoverable, critical and non-critical, in the unit of the sensor; None: not set."""

    lnr: float | None
    lcr: float | None
    lnc: float | None
    unc: float | None
    ucr: float | None
    unr: float | None


@dataclass(frozen=True)
class IpmiSensor:
    """``value``: a number, or of a discrete sensor its state as printed; None when there is no reading. ``status``: as
    printed (``ok``, ``nc``, ``cr``, ``0x0180``), None for ``na``. ``bad``: beyond a
    threshold or in a state that is a fault, None when nobody knows. ``number``: of the sensor, ``entity``: what it
    belongs to (sdr elist and verbose). ``thresholds``: sensor list and verbose only."""

    name: str
    value: float | str | None
    unit: str | None
    status: str | None
    bad: bool | None
    number: int | None = None
    entity: str | None = None
    thresholds: Thresholds | None = None


@dataclass(frozen=True)
class SelLine:
    """An entry of the event log. ``id``: printed in hex. ``date`` and ``time`` as printed, None before the clock was
    set; ``uptime_s`` is the BMC's then, where it is printed. ``asserted``: None where the version does not say.
    ``fault``: the entry tells of something wrong: a bad state that came, or a good one that went ("Fully Redundant"
    deasserted). ``reading``: what stands behind: the value that crossed a threshold, or the memory module."""

    id: int
    date: str | None
    time: str | None
    pre_init: bool
    uptime_s: int | None
    sensor: str | None
    event: str | None
    asserted: bool | None
    reading: str | None
    fault: bool


@dataclass(frozen=True)
class Fru:
    """A replaceable unit. ``fields``: as printed; a name that stands several times has all its values. ``problem``: why
    its inventory cannot be read, as printed; ``present``: None when it is not known because of that, or where nothing
    stands below its name. ``name``: None in
    ``fru print 0``, which does not tell it."""

    name: str | None
    id: int | None
    present: bool | None
    fields: dict[str, str | tuple[str, ...]]
    problem: str | None


@dataclass(frozen=True)
class IpmiText:
    """One output of ipmitool; what its form does not have is None.

    ``power``: ``on`` or ``off``. ``faults``: names of the chassis faults that are true. ``chassis``, ``sel_info``,
    ``controller``, ``lan``: the lines ``Name : value`` by name in lower case with underscores.
    """

    form: IpmiForm
    power: str | None = None
    faults: tuple[str, ...] | None = None
    chassis: dict[str, Field] | None = None
    sensors: tuple[IpmiSensor, ...] | None = None
    entries: tuple[SelLine, ...] | None = None
    sel_info: dict[str, Field] | None = None
    frus: tuple[Fru, ...] | None = None
    controller: dict[str, Field] | None = None
    lan: dict[str, Field] | None = None
