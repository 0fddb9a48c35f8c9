"""The resources, built afresh from the state of the BMC for every request."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bmc.config import SensorKind, Threshold
from bmc.events import LogRecord
from bmc.machine import PowerAction
from bmc.sensors import Sensor
from bmc.service import FIRMWARE_VERSION, Bmc
from bmc.settings import BootDevice, BootLifetime

Json = dict[str, Any]

ROOT = "/redfish/v1"
SYSTEMS, MANAGERS, CHASSES = f"{ROOT}/Systems", f"{ROOT}/Managers", f"{ROOT}/Chassis"
SYSTEM, MANAGER, CHASSIS = f"{SYSTEMS}/1", f"{MANAGERS}/1", f"{CHASSES}/1"
RESET = f"{SYSTEM}/Actions/ComputerSystem.Reset"
LOGS = f"{SYSTEM}/LogServices"
SEL = f"{LOGS}/SEL"
ENTRIES = f"{SEL}/Entries"
CLEAR_LOG = f"{SEL}/Actions/LogService.ClearLog"
SESSION_SERVICE = f"{ROOT}/SessionService"
SESSIONS = f"{SESSION_SERVICE}/Sessions"

RESET_TYPES = {
    "On": PowerAction.ON,
    "ForceOff": PowerAction.OFF,
    "GracefulShutdown": PowerAction.SOFT_SHUTDOWN,
    "ForceRestart": PowerAction.RESET,
    "PowerCycle": PowerAction.CYCLE,
    "Nmi": PowerAction.NMI,
}
BOOT_TARGETS = {
    "None": BootDevice.NONE,
    "Pxe": BootDevice.PXE,
    "Hdd": BootDevice.DISK,
    "Cd": BootDevice.CDROM,
    "BiosSetup": BootDevice.BIOS_SETUP,
}
BOOT_LIFETIMES = {
    "Disabled": BootLifetime.DISABLED,
    "Once": BootLifetime.ONCE,
    "Continuous": BootLifetime.ALWAYS,
}

_OK: Json = {"State": "Enabled", "Health": "OK"}


def link(path: str) -> Json:
    """A reference to another resource."""
    return {"@odata.id": path}


def collection(path: str, kind: str, members: list[str]) -> Json:
    """A collection of references."""
    return {
        "@odata.id": path,
        "@odata.type": f"#{kind}Collection.{kind}Collection",
        "Name": f"{kind} collection",
        "Members@odata.count": len(members),
        "Members": [link(member) for member in members],
    }


def _resource(path: str, kind: str, name: str) -> Json:
    return {"@odata.id": path, "@odata.type": kind, "Id": path.rpartition("/")[2], "Name": name}


def service_root(bmc: Bmc) -> Json:
    """The entry point, readable without credentials."""
    return _resource(ROOT, "#ServiceRoot.v1_5_0.ServiceRoot", "Root service") | {
        "Id": "RootService",
        "RedfishVersion": "1.6.0",
        "UUID": str(bmc.guid),
        "Systems": link(SYSTEMS),
        "Managers": link(MANAGERS),
        "Chassis": link(CHASSES),
        "SessionService": link(SESSION_SERVICE),
        "Links": {"Sessions": link(SESSIONS)},
    }


def system(bmc: Bmc) -> Json:
    """The machine."""
    on = bmc.machine.is_on()
    product, settings = bmc.config.fru.product, bmc.settings.now
    target = next(name for name, device in BOOT_TARGETS.items() if device is settings.boot_device)
    lifetime = next(name for name, value in BOOT_LIFETIMES.items() if value is settings.boot_lifetime)
    return _resource(SYSTEM, "#ComputerSystem.v1_13_0.ComputerSystem", bmc.config.name) | {
        "SystemType": "Physical",
        "UUID": str(bmc.guid),
        "Manufacturer": product.manufacturer,
        "Model": product.name,
        "PartNumber": product.part_number,
        "SerialNumber": product.serial,
        "AssetTag": product.asset_tag,
        "PowerState": "On" if on else "Off",
        "Status": _OK if on else {"State": "StandbyOffline", "Health": "OK"},
        "Boot": {
            "BootSourceOverrideEnabled": lifetime,
            "BootSourceOverrideTarget": target,
            "BootSourceOverrideTarget@Redfish.AllowableValues": list(BOOT_TARGETS),
        },
        "LogServices": link(LOGS),
        "Links": {"Chassis": [link(CHASSIS)], "ManagedBy": [link(MANAGER)]},
        "Actions": {"#ComputerSystem.Reset": {"target": RESET, "ResetType@Redfish.AllowableValues": list(RESET_TYPES)}},
    }


def manager(bmc: Bmc) -> Json:
    """The BMC."""
    major, minor = FIRMWARE_VERSION
    return _resource(MANAGER, "#Manager.v1_10_0.Manager", "BMC") | {
        "ManagerType": "BMC",
        "FirmwareVersion": f"{major}.{minor:02d}",
        "UUID": str(bmc.guid),
        "DateTime": _moment(bmc.now_s()),
        "Status": _OK,
        "PowerState": "On",
        "Links": {"ManagerForServers": [link(SYSTEM)], "ManagerForChassis": [link(CHASSIS)]},
    }


def chassis(bmc: Bmc) -> Json:
    """The box."""
    product = bmc.config.fru.product
    return _resource(CHASSIS, "#Chassis.v1_14_0.Chassis", bmc.config.name) | {
        "ChassisType": "RackMount",
        "Manufacturer": product.manufacturer,
        "Model": product.name,
        "SerialNumber": product.serial,
        "PowerState": "On" if bmc.machine.is_on() else "Off",
        "Status": _OK,
        "Thermal": link(f"{CHASSIS}/Thermal"),
        "Power": link(f"{CHASSIS}/Power"),
        "Links": {"ComputerSystems": [link(SYSTEM)], "ManagedBy": [link(MANAGER)]},
    }


def thermal(bmc: Bmc) -> Json:
    """Temperatures (°C) and fans (RPM)."""
    path = f"{CHASSIS}/Thermal"
    return _resource(path, "#Thermal.v1_7_0.Thermal", "Thermal") | {
        "Temperatures": [
            _sensor(bmc, sensor, f"{path}#/Temperatures/{at}", "ReadingCelsius")
            for at, sensor in enumerate(_sensors(bmc, SensorKind.TEMPERATURE))
        ],
        "Fans": [
            _sensor(bmc, sensor, f"{path}#/Fans/{at}", "Reading") | {"ReadingUnits": "RPM"}
            for at, sensor in enumerate(_sensors(bmc, SensorKind.FAN))
        ],
    }


def power(bmc: Bmc) -> Json:
    """Consumption (W)."""
    path = f"{CHASSIS}/Power"
    on = bmc.machine.is_on()
    return _resource(path, "#Power.v1_7_0.Power", "Power") | {
        "PowerControl": [
            {
                "@odata.id": f"{path}#/PowerControl/{at}",
                "MemberId": str(at),
                "Name": sensor.info.name,
                "PowerConsumedWatts": sensor.value if sensor.available(on) else None,
            }
            for at, sensor in enumerate(_sensors(bmc, SensorKind.POWER))
        ],
    }


def _sensors(bmc: Bmc, kind: SensorKind) -> list[Sensor]:
    return [sensor for sensor in bmc.sensors.values() if sensor.info.kind is kind]


def _sensor(bmc: Bmc, sensor: Sensor, path: str, reading: str) -> Json:
    available = sensor.available(bmc.machine.is_on())
    names = {
        Threshold.LOWER_NONCRITICAL: "LowerThresholdNonCritical",
        Threshold.LOWER_CRITICAL: "LowerThresholdCritical",
        Threshold.LOWER_NONRECOVERABLE: "LowerThresholdFatal",
        Threshold.UPPER_NONCRITICAL: "UpperThresholdNonCritical",
        Threshold.UPPER_CRITICAL: "UpperThresholdCritical",
        Threshold.UPPER_NONRECOVERABLE: "UpperThresholdFatal",
    }
    limits = {names[threshold]: limit for threshold, limit in sensor.thresholds.items()}
    return {
        "@odata.id": path,
        "MemberId": path.rpartition("/")[2],
        "Name": sensor.info.name,
        "SensorNumber": sensor.info.number,
        "Status": {"State": "Enabled", "Health": _health(sensor)} if available else {"State": "UnavailableOffline"},
        reading: sensor.value if available else None,
        **limits,
    }


def _health(sensor: Sensor) -> str:
    crossed = sensor.crossed()
    if not crossed:
        return "OK"
    return "Warning" if crossed <= {Threshold.LOWER_NONCRITICAL, Threshold.UPPER_NONCRITICAL} else "Critical"


def log_service(bmc: Bmc) -> Json:
    """The event log."""
    return _resource(SEL, "#LogService.v1_2_0.LogService", "System event log") | {
        "ServiceEnabled": True,
        "LogEntryType": "SEL",
        "OverWritePolicy": "NeverOverWrites",
        "DateTime": _moment(bmc.now_s()),
        "Entries": link(ENTRIES),
        "Actions": {"#LogService.ClearLog": {"target": CLEAR_LOG}},
    }


def entries(bmc: Bmc) -> Json:
    """All log entries, in full."""
    members = [entry(bmc, record) for record in bmc.sel.records]
    return collection(ENTRIES, "LogEntry", []) | {"Members@odata.count": len(members), "Members": members}


def entry(bmc: Bmc, record: LogRecord) -> Json:
    """One log entry; what a record does not hold is left out."""
    content = _resource(f"{ENTRIES}/{record.record_id}", "#LogEntry.v1_6_0.LogEntry", f"Entry {record.record_id}") | {
        "EntryType": "SEL",
        "Message": record.text,
        "Oem": {"Record": record.raw.hex()},
    }
    if record.timestamp_s is not None:
        content["Created"] = _moment(record.timestamp_s)
    if record.is_system_event:
        sensor = bmc.sensors.get(record.source.number)
        content["SensorNumber"] = record.source.number
        content["EntryCode"] = "Assert" if record.asserted else "Deassert"
        if sensor is not None:
            content["Message"] = f"{sensor.info.name}: {record.text}"
    return content


def session_service() -> Json:
    """The resource at which sessions are made."""
    return _resource(SESSION_SERVICE, "#SessionService.v1_1_6.SessionService", "Session service") | {
        "ServiceEnabled": True,
        "SessionTimeout": 1800,
        "Sessions": link(SESSIONS),
    }


def session(session_id: str, user_name: str) -> Json:
    """One session, without its token."""
    return _resource(f"{SESSIONS}/{session_id}", "#Session.v1_2_1.Session", "Session") | {"UserName": user_name}


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
