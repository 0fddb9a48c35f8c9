"""Fault injection over the control socket of the BMC (:mod:`control`): one JSON object asks, one answers.

``{"fault": {"drop": true}}``
    these are the faults from now on (:class:`bmc.service.Faults`); ``{"fault": {}}`` takes all back.
``{"sensor": 3, "value": 97}``
    let a sensor read something else, in the unit of its kind.
``{"status": true}``
    change nothing.

The answer is ``{"on": ..., "faults": {...}, "sensors": {...}, "sel_records": n}`` or ``{"error": "..."}``; after an
error nothing has changed.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bmc.config import explain
from bmc.machine import MachineError
from bmc.sensors import SensorError
from bmc.service import Bmc, Faults

log = logging.getLogger(__name__)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class FaultSet(_Part):
    """All faults; the ones not named are off."""

    drop: bool = False
    delay_s: Annotated[float, Field(ge=0, le=3600)] = 0.0
    power_stuck: bool = False
    redfish_500: bool = False


class FaultRequest(_Part):
    """Set the faults."""

    fault: FaultSet


class SensorRequest(_Part):
    """Change a reading."""

    sensor: int
    value: int


class StatusRequest(_Part):
    """Only ask."""

    status: Literal[True]


REQUESTS: dict[str, type[FaultRequest] | type[SensorRequest] | type[StatusRequest]] = {
    "fault": FaultRequest,
    "sensor": SensorRequest,
    "status": StatusRequest,
}


class ControlPanel:
    """The handler of the control socket of one BMC."""

    def __init__(self, bmc: Bmc) -> None:
        self._bmc = bmc

    async def handle(self, request: dict[str, Any]) -> dict[str, Any]:
        """Carry out one request.

        Raises:
            ValueError: When it is wrong; then nothing has changed.
        """
        try:
            self._carry_out(_parse(request))
            return self._status()
        except (SensorError, MachineError) as error:
            raise ValueError(str(error)) from error

    def _carry_out(self, request: FaultRequest | SensorRequest | StatusRequest) -> None:
        bmc = self._bmc
        if isinstance(request, FaultRequest):
            bmc.faults = Faults(**request.fault.model_dump())
            log.info("faults from now on: %s", bmc.faults)
        elif isinstance(request, SensorRequest):
            if request.sensor not in bmc.sensors:
                raise ValueError(f"sensor: {request.sensor}; expected one of {sorted(bmc.sensors)}")
            bmc.set_sensor(request.sensor, request.value)

    def _status(self) -> dict[str, Any]:
        bmc = self._bmc
        return {
            "on": bmc.machine.is_on(),
            "faults": dataclasses.asdict(bmc.faults),
            "sensors": {str(number): sensor.value for number, sensor in bmc.sensors.items()},
            "sel_records": len(bmc.sel.records),
        }


def _parse(request: dict[str, Any]) -> FaultRequest | SensorRequest | StatusRequest:
    kind = next((name for name in REQUESTS if name in request), None)
    if kind is None:
        raise ValueError(f"{request!r:.80}; expected one of: {', '.join(REQUESTS)}")
    try:
        return REQUESTS[kind].model_validate(request)
    except ValidationError as error:
        raise ValueError(explain(error)) from error
