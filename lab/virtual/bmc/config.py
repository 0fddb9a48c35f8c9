"""The configuration of one BMC: a JSON file, checked field by field. ``defaults.json`` holds inventory and sensors."""

from __future__ import annotations

import json
from enum import StrEnum
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    DirectoryPath,
    Field,
    FilePath,
    StringConstraints,
    ValidationError,
    model_validator,
)

DEFAULTS_FILE = Path(__file__).with_name("defaults.json")

RAW_MAX = 255
"""An IPMI reading is one byte: the largest reading is this many times the multiplier of the sensor."""

Name = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,16}$")]
Password = Annotated[str, StringConstraints(pattern=r"^[!-~]{1,20}$")]
FruText = Annotated[str, StringConstraints(pattern=r"^[ -~]{2,32}$")]  # one character alone would read as end of fields
SensorName = Annotated[str, StringConstraints(pattern=r"^[ -~]{2,16}$")]
Port = Annotated[int, Field(ge=1, le=65535)]
SensorNumber = Annotated[int, Field(ge=1, le=0xDF)]  # from 0xE0 on: our own event sources, see bmc.events


class ConfigError(Exception):
    """The configuration is wrong; the message names file, field, value and what is wanted."""


class Record(BaseModel):
    """The base of all parts of the configuration: no unknown fields, no silent conversions, no changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Privilege(StrEnum):
    """The highest privilege of a user."""

    USER = "user"
    OPERATOR = "operator"
    ADMINISTRATOR = "administrator"


class User(Record):
    """An account, for IPMI and Redfish alike. IPMI allows 16 characters for the name and 20 for the password."""

    name: Name
    password: Password = Field(repr=False)
    privilege: Privilege


class BoardInfo(Record):
    """Board area of the FRU inventory."""

    manufacturer: FruText
    product: FruText
    serial: FruText
    part_number: FruText


class ProductInfo(Record):
    """Product area of the FRU inventory."""

    manufacturer: FruText
    name: FruText
    part_number: FruText
    version: FruText
    serial: FruText
    asset_tag: FruText


class FruInfo(Record):
    """The FRU inventory."""

    board: BoardInfo
    product: ProductInfo


class SensorKind(StrEnum):
    """The quantity that a sensor measures; readings are in °C, revolutions per minute and W."""

    TEMPERATURE = "temperature"
    FAN = "fan"
    POWER = "power"


class Threshold(StrEnum):
    """The six thresholds, in the order of the bits of the IPMI threshold masks (IPMI table 35-9)."""

    LOWER_NONCRITICAL = "lower_noncritical"
    LOWER_CRITICAL = "lower_critical"
    LOWER_NONRECOVERABLE = "lower_nonrecoverable"
    UPPER_NONCRITICAL = "upper_noncritical"
    UPPER_CRITICAL = "upper_critical"
    UPPER_NONRECOVERABLE = "upper_nonrecoverable"

    @property
    def bit(self) -> int:
        """Number of its bit in the masks, 0 to 5."""
        return list(Threshold).index(self)

    @property
    def is_upper(self) -> bool:
        """Crossed by rising readings?"""
        return self.bit >= 3


class SensorInfo(Record):
    """A sensor. ``value`` and ``thresholds`` are in the unit of the kind.

    Attributes:
        multiplier: One step of the one-byte IPMI reading, in the unit of the kind.
        entity: What it sits on (IPMI table 43-13): 3 processor, 7 system board, 11 add-in card, 29 fan.
        needs_power: "not available" while the machine is off.
    """

    number: SensorNumber
    name: SensorName
    kind: SensorKind
    value: Annotated[int, Field(ge=0)]
    multiplier: Annotated[int, Field(ge=1, le=511)] = 1
    entity: Annotated[int, Field(ge=1, le=127)] = 7
    needs_power: bool = False
    thresholds: dict[Threshold, Annotated[int, Field(ge=0)]] = {}

    @model_validator(mode="after")
    def _fits_one_byte(self) -> Self:
        largest = RAW_MAX * self.multiplier
        values: dict[str, int] = {"value": self.value} | {str(name): limit for name, limit in self.thresholds.items()}
        for name, value in values.items():
            if value > largest:
                raise ValueError(f"{name} is {value}; expected at most {largest} (255 times the multiplier)")
        return self


class Config(Record):
    """One BMC.

    Attributes:
        name: Of the machine; the GUID is made from it.
        run_dir: Of the QEMU, see :mod:`bmc.qemu`; the BMC keeps ``bmc-settings.json`` there.
        sel_file: Where the event log is kept; made when missing.
        control_socket: Where faults are injected, see :mod:`bmc.control`; made at start.
        cycle_s: Off time of a power cycle, seconds.
    """

    name: Name
    address: IPv4Address
    ipmi_port: Port
    redfish_port: Port
    tls_cert: FilePath
    tls_key: FilePath
    users: Annotated[list[User], Field(min_length=1, max_length=15)]
    fru: FruInfo
    sensors: Annotated[list[SensorInfo], Field(min_length=1)]
    run_dir: DirectoryPath
    sel_file: Path
    control_socket: Path
    cycle_s: Annotated[float, Field(ge=0, le=60)] = 1.0

    @model_validator(mode="after")
    def _unambiguous(self) -> Self:
        unique: dict[str, list[object]] = {
            "users: name": [user.name for user in self.users],
            "sensors: number": [sensor.number for sensor in self.sensors],
            "sensors: name": [sensor.name for sensor in self.sensors],
        }
        for what, values in unique.items():
            for value in values:
                if values.count(value) > 1:
                    raise ValueError(f"{what} {value!r} is there twice")
        return self


def load(path: Path) -> Config:
    """Read and check the configuration file.

    Raises:
        ConfigError: With the first thing that is wrong in it.
    """
    given, defaults = _read(path), _read(DEFAULTS_FILE)
    try:
        return Config.model_validate_json(json.dumps({**defaults, **given}))
    except ValidationError as error:
        raise ConfigError(f"{path}: {explain(error)}") from None  # its own text would show passwords


def explain(error: ValidationError) -> str:
    """The first complaint of pydantic in one line: field, value, what is wanted. Shows no passwords."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    wanted = first["msg"].removeprefix("Value error, ")
    if not field:
        return wanted
    if first["type"] == "missing":
        return f"{field}: missing"
    if field.endswith("password"):
        return f"{field}: {wanted} (value not shown)"
    if isinstance(first["input"], dict | list):
        return f"{field}: {wanted}"
    return f"{field}: {first['input']!r}: {wanted}"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{path}: {type(content).__name__}; expected a JSON object")
    return content
