"""Power, sensors and event log by Redfish."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_redfish import CHASSIS, ENTRIES, LOG, PASSWORD, RESET, SYSTEM, USER, FakeService, Json, link, members

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.transports.bmc.bmc import CommandRefused, PowerState, SensorKind, SensorStatus
from niclab.transports.bmc.redfish import Redfish, RedfishEndpoint


@pytest.fixture
def service(tmp_path: Path) -> Iterator[FakeService]:
    service = FakeService(tmp_path)
    yield service
    service.stop()


@pytest.fixture
def bmc(service: FakeService) -> Iterator[Redfish]:
    bmc = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file))
    yield bmc
    bmc.close()


@pytest.mark.parametrize(
    ("found", "state"),
    [
        ("On", PowerState.ON),
        ("Off", PowerState.OFF),
        ("PoweringOn", PowerState.OFF),
        ("PoweringOff", PowerState.ON),
    ],
)
def test_power_status(bmc: Redfish, service: FakeService, found: str, state: PowerState) -> None:
    service.resources[SYSTEM]["PowerState"] = found
    assert bmc.power_status() is state


@pytest.mark.parametrize("found", [None, "", "Paused", 1])
def test_a_power_state_that_is_none_is_a_fault(bmc: Redfish, service: FakeService, found: object) -> None:
    service.resources[SYSTEM]["PowerState"] = found
    with pytest.raises(BenchFault, match=r"dut BMC: the answer cannot be read: PowerState is .*; expected one of: On"):
        bmc.power_status()


@pytest.mark.parametrize(
    ("action", "allowed", "sent"),
    [
        ("power_on", ["On"], "On"),
        ("power_on", ["ForceOn"], "ForceOn"),
        ("power_cycle", ["PowerCycle"], "PowerCycle"),
        ("reset", ["ForceRestart"], "ForceRestart"),
        ("nmi", ["Nmi"], "Nmi"),
    ],
)
def test_each_power_action_sends_a_type_that_is_offered(
    bmc: Redfish, service: FakeService, action: str, allowed: list[str] | None, sent: str
) -> None:
    reset = service.resources[SYSTEM]["Actions"]["#ComputerSystem.Reset"]
    del reset["ResetType@Redfish.AllowableValues"]
    if allowed is not None:
        reset["ResetType@Redfish.AllowableValues"] = allowed
    getattr(bmc, action)()
    assert service.requests[-1][:3] == ("POST", RESET, {"ResetType": sent})


def test_an_action_that_is_not_offered_is_refused(bmc: Redfish, service: FakeService) -> None:
    with pytest.raises(CommandRefused, match="dut BMC: NMI is not offered; offered: ForceOn, ForceOff, ForceRestart"):
        bmc.nmi()
    assert all(method == "GET" for method, *_ in service.requests)


def test_a_system_without_a_reset_action_is_refused(bmc: Redfish, service: FakeService) -> None:
    service.resources[SYSTEM]["Actions"] = {}
    with pytest.raises(CommandRefused, match=r"offers no action #ComputerSystem\.Reset"):
        bmc.reset()


def test_set_power_switches_and_waits(bmc: Redfish) -> None:
    bmc.set_power(PowerState.ON, within_s=30)
    assert bmc.power_status() is PowerState.ON


def test_set_power_says_the_last_state_when_the_power_is_stuck(bmc: Redfish, service: FakeService) -> None:
    service.stuck = True
    with pytest.raises(BenchFault, match=r"power is not on within 0\.3 s; last seen: off"):
        bmc.set_power(PowerState.ON, within_s=0.3)


@pytest.mark.parametrize(("state", "sent"), [(PowerState.ON, "ForceOn"), (PowerState.OFF, "ForceOff")])
def test_set_power_orders_again_what_was_taken_and_forgotten(
    bmc: Redfish, service: FakeService, monkeypatch: pytest.MonkeyPatch, state: PowerState, sent: str
) -> None:
    """The order names the state: it is never a press of the button, which a service may offer as well."""
    monkeypatch.setattr("niclab.transports.bmc.bmc.ORDER_AGAIN_S", 0.3)
    system = service.resources[SYSTEM]
    system["PowerState"] = "Off" if state is PowerState.ON else "On"
    types = ["PushPowerButton", "ForceOn", "ForceOff"]
    system["Actions"]["#ComputerSystem.Reset"]["ResetType@Redfish.AllowableValues"] = types
    own, forgotten = service.carry_out, list[str]()

    def carry_out(method: str, path: str, body: Json | None) -> tuple[int, Json | str]:
        if path == RESET and not forgotten:
            forgotten.append(path)
            return 204, ""
        return own(method, path, body)

    monkeypatch.setattr(service, "carry_out", carry_out)
    bmc.set_power(state, within_s=20)
    assert [body for method, _, body, *_ in service.requests if method == "POST"] == 2 * [{"ResetType": sent}]


def test_sensors_of_thermal_and_power(bmc: Redfish) -> None:
    assert [(s.name, s.kind, s.value, s.unit, s.status) for s in bmc.sensors()] == [
        ("CPU Temp", SensorKind.TEMPERATURE, 40.0, "°C", SensorStatus.OK),
        ("NIC Temp", SensorKind.TEMPERATURE, None, "°C", SensorStatus.UNAVAILABLE),
        ("Fan 1", SensorKind.FAN, 30.0, "%", SensorStatus.WARNING),
        ("12V", SensorKind.VOLTAGE, 9.1, "V", SensorStatus.CRITICAL),
        ("Sys Power", SensorKind.POWER, 120.5, "W", SensorStatus.UNKNOWN),
    ]


def test_sensors_of_a_service_without_thermal_and_power(bmc: Redfish, service: FakeService) -> None:
    service.resources[CHASSIS] = {"Sensors": link(f"{CHASSIS}/Sensors")}
    service.resources[f"{CHASSIS}/Sensors"] = members(f"{CHASSIS}/Sensors/t")
    reading = {"Id": "t", "Name": "Inlet", "Reading": 24.5, "ReadingType": "Temperature", "ReadingUnits": "Cel"}
    service.resources[f"{CHASSIS}/Sensors/t"] = reading | {"Status": {"State": "Enabled", "Health": "OK"}}
    (sensor,) = bmc.sensors()
    expected = ("Inlet", SensorKind.TEMPERATURE, 24.5, "°C", SensorStatus.OK)
    assert (sensor.name, sensor.kind, sensor.value, sensor.unit, sensor.status) == expected


@pytest.mark.parametrize("reading", ["40", True, [], {}])
def test_a_reading_that_is_no_number_is_a_fault(bmc: Redfish, service: FakeService, reading: object) -> None:
    service.resources[f"{CHASSIS}/Thermal"]["Temperatures"][0]["ReadingCelsius"] = reading
    with pytest.raises(BenchFault, match=r"sensor CPU Temp reads .*; expected a number"):
        bmc.sensors()


def test_a_system_without_chassis_has_no_sensors_to_ask(bmc: Redfish, service: FakeService) -> None:
    service.resources[SYSTEM]["Links"] = {}
    with pytest.raises(BenchFault, match=r"has no Links\.Chassis"):
        bmc.sensors()


def test_the_event_log_is_found_with_the_manager_and_read_over_its_pages(bmc: Redfish) -> None:
    first, second = bmc.sel()
    assert (first.id, first.sensor, first.event, first.asserted) == ("1", "sensor 240", "Power off", True)
    assert (second.id, second.sensor, second.event, second.asserted) == ("2", "Temperature", "Hot", None)
    assert first.time == second.time is not None


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"Id": "1"}, "Message None; expected both"),
    ],
)
def test_a_log_entry_that_cannot_be_read_is_a_fault(
    bmc: Redfish, service: FakeService, entry: dict[str, str], words: str
) -> None:
    service.resources[ENTRIES] = {"Members": [entry]}
    with pytest.raises(BenchFault, match=words):
        bmc.sel()


@pytest.mark.parametrize(
    "created", ["0000-00-00T00:00:00Z", "2026-11-21T10:00:00", "2018-01-01 10:00:00", "yesterday", "", 1545193714, None]
)
def test_a_time_that_cannot_be_used_costs_no_entry(bmc: Redfish, service: FakeService, created: object) -> None:
    good = {"Id": "2", "Message": "Hot", "Created": "2023-03-01T10:00:00-06:00"}
    service.resources[ENTRIES] = {"Members": [{"Id": "1", "Message": "AC lost", "Created": created}, good]}
    moment = datetime(2023, 3, 1, 16, tzinfo=UTC)
    assert [(e.id, e.event, e.time) for e in bmc.sel()] == [("1", "AC lost", None), ("2", "Hot", moment)]


@pytest.mark.parametrize(
    ("fields", "event"),
    [
        ({"Message": "", "MessageId": "Base.1.0.Hot"}, "Base.1.0.Hot"),
        ({"MessageId": "Base.1.0.Hot"}, "Base.1.0.Hot"),
        ({"Message": ""}, "no words"),
        ({"Message": "\0", "MessageId": None}, "no words"),
    ],
)
def test_an_entry_without_words_is_an_entry(
    bmc: Redfish, service: FakeService, fields: dict[str, str | None], event: str
) -> None:
    service.resources[ENTRIES] = {"Members": [{"Id": "1", **fields}]}
    assert [entry.event for entry in bmc.sel()] == [event]


def test_a_sensor_without_a_name_has_that_of_its_kind_and_place(bmc: Redfish, service: FakeService) -> None:
    """HPE iLO 4's PowerControl has neither Name, MemberId nor Id."""
    unnamed = {"PowerCapacityWatts": 500, "PowerConsumedWatts": 73, "PowerLimit": {"LimitInWatts": None}}
    service.resources[f"{CHASSIS}/Power"] = {"PowerControl": [{"Name": "All", "PowerConsumedWatts": 90}, unnamed]}
    assert [(s.name, s.value) for s in bmc.sensors()][-2:] == [("All", 90.0), ("power 1", 73.0)]


def test_a_sensor_resource_without_a_name_has_that_of_its_kind_and_place(bmc: Redfish, service: FakeService) -> None:
    path = f"{CHASSIS}/Sensors"
    service.resources[CHASSIS] = {"Sensors": link(path)}
    service.resources[path] = members(f"{path}/a", f"{path}/b")
    service.resources[f"{path}/a"] = {"Id": "a", "Reading": 1}
    service.resources[f"{path}/b"] = {"ReadingType": "Temperature", "Reading": 24.5}
    assert [(s.name, s.value) for s in bmc.sensors()] == [("a", 1.0), ("temperature 1", 24.5)]


def test_pages_that_run_in_a_circle_end(bmc: Redfish, service: FakeService) -> None:
    service.resources[f"{ENTRIES}?page=2"]["Members@odata.nextLink"] = ENTRIES
    with pytest.raises(BenchFault, match="run in a circle"):
        bmc.sel()


def test_a_service_without_an_event_log_says_which_logs_it_has(bmc: Redfish, service: FakeService) -> None:
    service.resources[LOG]["Id"] = "Lclog"
    with pytest.raises(
        NotApplicable, match=f"no log service is a SEL; log services: {SYSTEM}/LogServices/Audit, {LOG}"
    ):
        bmc.sel()


@pytest.mark.parametrize("chosen", ["2", "/redfish/v1/Systems/2"])
def test_one_of_several_systems_is_chosen(service: FakeService, chosen: str) -> None:
    service.resources["/redfish/v1/Systems"] = members(SYSTEM, "/redfish/v1/Systems/2")
    service.resources["/redfish/v1/Systems/2"] = {"PowerState": "On"}
    bmc = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file, system=chosen))
    assert bmc.power_status() is PowerState.ON


@pytest.mark.parametrize(
    ("systems", "chosen", "words"),
    [
        ((), None, "has systems none; expected exactly one"),
        ((SYSTEM, "/redfish/v1/Systems/2"), None, "expected exactly one, or `system` to choose"),
        ((SYSTEM,), "7", "expected system '7'"),
    ],
)
def test_a_system_that_cannot_be_chosen_is_a_fault(
    service: FakeService, systems: tuple[str, ...], chosen: str | None, words: str
) -> None:
    service.resources["/redfish/v1/Systems"] = members(*systems)
    bmc = Redfish(RedfishEndpoint("dut BMC", service.url, USER, PASSWORD, service.ca_file, system=chosen))
    with pytest.raises(BenchFault, match=words):
        bmc.power_status()
