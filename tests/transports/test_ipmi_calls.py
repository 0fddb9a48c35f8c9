"""Power, sensors and event log by IPMI, against a BMC at the boundary of pyipmi."""

from __future__ import annotations

import logging
import struct
import threading
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from fake_ipmi import APP, CHASSIS, OK, SENSOR, STORAGE, FakeBmc, FakeLan, event, sensor_record
from pyipmi import errors

from niclab.core.verdict import BenchFault
from niclab.core.wait import Deadline
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc import bmc as bmc_module
from niclab.transports.bmc import ipmi
from niclab.transports.bmc.bmc import (
    CommandRefused,
    InsufficientPrivilege,
    NotNow,
    PowerAction,
    PowerState,
    SensorKind,
    SensorStatus,
)
from niclab.transports.bmc.ipmi import Ipmi, IpmiEndpoint

PASSWORD = "s3cret-of-the-bmc"
READ = 0x40  # a sensor that is scanned


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeBmc:
    bmc = FakeBmc()
    monkeypatch.setattr(FakeLan, "bmc", bmc, raising=False)
    monkeypatch.setattr(ipmi, "_Lan", FakeLan)
    monkeypatch.setattr(ipmi, "NOT_NOW_WITHIN_S", 0.05)
    monkeypatch.setattr(ipmi, "ASK_AGAIN_EVERY_S", 0.01)
    return bmc


@pytest.fixture
def bmc(fake: FakeBmc) -> Iterator[Ipmi]:
    bmc = Ipmi(IpmiEndpoint("dut BMC", "192.0.2.1", 623, "admin", PASSWORD))
    yield bmc
    fake.silent = False
    bmc.close()


def test_constructing_connects_to_nothing(bmc: Ipmi, fake: FakeBmc) -> None:
    assert (bmc.name, fake.opened, fake.commands) == ("dut BMC", 0, [])


@pytest.mark.parametrize(("on", "state"), [(True, PowerState.ON), (False, PowerState.OFF)])
def test_power_status(bmc: Ipmi, fake: FakeBmc, on: bool, state: PowerState) -> None:
    fake.on = on
    assert bmc.power_status() is state


@pytest.mark.parametrize(
    ("action", "code"),
    [("power_on", 1), ("power_cycle", 2), ("reset", 3), ("nmi", 4)],
)
def test_each_power_action_sends_its_own_code(
    bmc: Ipmi, fake: FakeBmc, monkeypatch: pytest.MonkeyPatch, action: str, code: int
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(fake, "_control", lambda data: sent.append(data[0]) or OK)
    getattr(bmc, action)()
    assert sent == [code]


def test_set_power_switches_and_waits(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.set_power(PowerState.ON, within_s=30)
    assert fake.on


def test_set_power_leaves_a_server_alone_that_is_there_already(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.set_power(PowerState.OFF, within_s=30)
    assert (CHASSIS, 0x02) not in fake.commands


def test_set_power_says_the_last_state_when_the_power_is_stuck(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.stuck = True
    with pytest.raises(BenchFault, match=r"^dut BMC: power is not on within 0\.3 s; last seen: off$"):
        bmc.set_power(PowerState.ON, within_s=0.3)


def test_set_power_asks_a_silent_bmc_again(bmc: Ipmi, fake: FakeBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter([OK + bytes([0, 0, 0]), None, OK + bytes([1, 0, 0])])
    real = fake._answer

    def moody(netfn: int, request: bytes) -> bytes:
        if (netfn, request[0]) != (CHASSIS, 0x01):
            return real(netfn, request)
        answer = next(answers)
        if answer is None:
            raise errors.RetryError("lost")
        return answer

    monkeypatch.setattr(fake, "_answer", moody)
    bmc.set_power(PowerState.ON, within_s=5)
    assert next(answers, "all asked") == "all asked"


@pytest.mark.parametrize(("state", "code"), [(PowerState.ON, 1), (PowerState.OFF, 0)])
@pytest.mark.parametrize("second", [OK, b"\xd5", b"\x00\x00\x00"], ids=["taken", "refused", "too long"])
def test_set_power_orders_again_what_was_taken_and_forgotten(
    bmc: Ipmi, fake: FakeBmc, monkeypatch: pytest.MonkeyPatch, state: PowerState, code: int, second: bytes
) -> None:
    """The order names the state; a refusal of the second one changes nothing, the third is taken again."""
    monkeypatch.setattr(bmc_module, "ORDER_AGAIN_S", 0.3)
    monkeypatch.setattr(bmc_module, "ASK_AGAIN_EVERY_S", 0.01)
    fake.on, sent = state is PowerState.OFF, list[int]()

    def forgetful(data: bytes) -> bytes:
        sent.append(data[0])
        fake.on = (state is PowerState.ON) if len(sent) == 3 else fake.on
        return second if len(sent) == 2 else OK

    monkeypatch.setattr(fake, "_control", forgetful)
    bmc.set_power(state, within_s=20)
    assert sent == [code] * 3


def test_set_power_gives_a_slow_server_its_time(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.stuck = True
    with pytest.raises(BenchFault, match="power is not on within"):
        bmc.set_power(PowerState.ON, within_s=1)
    assert fake.commands.count((CHASSIS, 0x02)) == 1
    assert bmc_module.ORDER_AGAIN_S >= 10, "BMCs take up to 10 s to carry out an order"


def test_set_power_says_why_the_last_order_was_refused(
    bmc: Ipmi, fake: FakeBmc, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bmc_module, "ORDER_AGAIN_S", 0.01)
    answers = iter([OK])
    monkeypatch.setattr(fake, "_control", lambda _: next(answers, b"\xd5"))
    with pytest.raises(BenchFault, match=r"within 1 s; last seen: off; dut BMC: power on: refused with .* 0xd5"):
        bmc.set_power(PowerState.ON, within_s=1)


@pytest.mark.parametrize("within_s", [0, -1, float("nan"), float("inf")])
def test_set_power_wants_a_real_deadline(bmc: Ipmi, within_s: float) -> None:
    with pytest.raises(BenchFault, match="within_s of set_power"):
        bmc.set_power(PowerState.ON, within_s=within_s)


def test_sensors_are_read_with_kind_unit_and_status(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.records = [
        sensor_record(1, 1, "CPU Temp"),
        sensor_record(2, 2, "Fan 1", type=4, unit=18, m=100),
        sensor_record(3, 3, "12V", type=2, unit=4, m=6, r_exp=0xE),  # 0.06 V a count
        sensor_record(4, 4, "Outside", units=0x80),  # two's complement
        sensor_record(5, 5, "Sys Power", type=0x0B, unit=6),
    ]
    fake.readings = {
        1: OK + bytes([40, READ, 0xC0, 0]),
        2: OK + bytes([54, READ, 0xC1, 0]),
        3: OK + bytes([201, READ, 0xD0, 0]),
        4: OK + bytes([0xF6, READ, 0xC0, 0]),
        5: OK + bytes([120, READ]),
    }
    found = bmc.sensors()
    assert [(s.name, s.kind, s.value, s.unit, s.status) for s in found] == [
        ("CPU Temp", SensorKind.TEMPERATURE, 40.0, "°C", SensorStatus.OK),
        ("Fan 1", SensorKind.FAN, 5400.0, "RPM", SensorStatus.WARNING),
        ("12V", SensorKind.VOLTAGE, pytest.approx(12.06), "V", SensorStatus.CRITICAL),
        ("Outside", SensorKind.TEMPERATURE, -10.0, "°C", SensorStatus.OK),
        ("Sys Power", SensorKind.POWER, 120.0, "W", SensorStatus.UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("reading", "changed"),
    [
        (b"\xcb", {}),  # not present
        (OK + bytes([40, READ | 0x20, 0xC0, 0]), {}),  # reading unavailable
        (OK + bytes([40, 0x00, 0xC0, 0]), {}),  # not scanned
        (OK + bytes([40, READ, 0xC0, 0]), {"owner": 0x2C}),  # of another controller
        (OK + bytes([40, READ, 0xC0, 0]), {"lun": 0x10}),  # on another channel
    ],
)
def test_a_sensor_without_a_reading_has_no_value(
    bmc: Ipmi, fake: FakeBmc, reading: bytes, changed: dict[str, int]
) -> None:
    fake.records, fake.readings = [sensor_record(1, 1, "NIC Temp", **changed)], {1: reading}
    (sensor,) = bmc.sensors()
    assert (sensor.value, sensor.status) == (None, SensorStatus.UNAVAILABLE)


def test_a_sensor_that_is_refused_otherwise_is_an_error(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.records, fake.readings = [sensor_record(1, 1, "NIC Temp")], {1: b"\xff"}
    with pytest.raises(NotNow, match="dut BMC: sensors: not now: completion code 0xff: Unspecified error"):
        bmc.sensors()


def test_the_event_log_is_read_in_words(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.records = [sensor_record(1, 1, "CPU Temp")]
    oem = struct.pack("<HB", 4, 0xE0) + bytes(range(13))
    fake.events = [
        event(1, 0x01, 1, 0x01, 0x59),
        event(2, 0x13, 0x77, 0x6F, 0x0A),
        event(3, 0x09, 0x01, 0xEF, 0x00, time_s=12),
        oem,
        event(5, 0x55, 0x01, 0x6F, 0x03),
    ]
    first, bus, ended, own, unknown = bmc.sel()
    assert (first.id, first.sensor, first.event) == ("1", "CPU Temp", "upper critical going high")
    assert (first.time, first.asserted) == (datetime.fromtimestamp(0x6A000000, UTC), True)
    assert (bus.sensor, bus.event) == ("sensor 0x77", "critical interrupt: bus fatal error")
    assert (ended.event, ended.asserted, ended.time) == ("power unit: power off", False, None)
    assert (own.id, own.time, own.sensor, own.asserted) == ("4", None, None, None)
    assert own.event == "record of type 0xe0: 000102030405060708090a0b0c"
    assert unknown.event == "sensor type 0x55, event type 0x6f, data 03ffff"


def test_an_empty_event_log_is_empty(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.records = [sensor_record(1, 1, "CPU Temp")]
    assert bmc.sel() == []


def test_device_id(bmc: Ipmi) -> None:
    found = bmc.device_id()
    assert (found.manufacturer_id, found.product_id, found.firmware, found.ipmi_version) == (7154, 1, "2.10", "2.0")


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (errors.AuthenticationError("wrong password?"), AuthenticationFailed, "user admin or the password is refused"),
        (errors.IpmiLongPasswordError("longer than 20"), AuthenticationFailed, "longer than 20"),
        (errors.MessageStatusCodeError(0x0D), AuthenticationFailed, "Unauthorized name"),
        (errors.MessageStatusCodeError(0x0F), AuthenticationFailed, "status 0x0f"),
        (errors.MessageStatusCodeError(0x0A), InsufficientPrivilege, "gets no operator session"),
        (errors.CompletionCodeError(0x81), InsufficientPrivilege, "user admin may not, with operator privilege"),
        (errors.MessageStatusCodeError(0x04), BenchFault, "cipher suite 17 is refused"),
        (errors.MessageStatusCodeError(0x01), NotNow, "no session: Insufficient resources"),
        (errors.IpmiConnectionError("no response"), ConnectionLost, "192.0.2.1, UDP port 623: no response"),
        (OSError("no route"), ConnectionLost, "no route"),
        (errors.DecodingError("short"), BenchFault, "cannot be read: DecodingError: short"),
    ],
)
def test_login_errors_are_told_apart(
    bmc: Ipmi, fake: FakeBmc, fault: Exception, kind: type[BenchFault], words: str
) -> None:
    fake.open_fault = fault
    with pytest.raises(BenchFault) as raised:
        bmc.power_status()
    assert type(raised.value) is kind
    assert str(raised.value).startswith("dut BMC: power status: ")
    assert words.lower() in str(raised.value).lower()
    assert PASSWORD not in str(raised.value)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (0xD4, InsufficientPrivilege, "reset: user admin may not, with operator privilege"),
        (0xD5, CommandRefused, "reset: refused with completion code 0xd5: .*present state"),
        (0xC1, CommandRefused, "0xc1: Invalid Command"),
    ],
)
def test_refusals_are_told_apart_and_keep_the_session(
    bmc: Ipmi, fake: FakeBmc, code: int, kind: type[BenchFault], words: str
) -> None:
    fake.answers[CHASSIS, 0x02] = bytes([code])
    with pytest.raises(kind, match=words):
        bmc.control(PowerAction.RESET)
    bmc.power_status()
    assert fake.opened == 1


def test_sessions_are_used_again(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.power_status()
    bmc.power_status()
    assert fake.opened == 1


def test_a_lost_session_is_opened_again_by_the_next_call(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.power_status()
    fake.silent = True
    with pytest.raises(ConnectionLost, match=r"dut BMC: power status: no answer from 192\.0\.2\.1, UDP port 623"):
        bmc.power_status()
    fake.silent = False
    assert bmc.power_status() is PowerState.OFF
    assert fake.opened == 2


def test_a_power_command_that_was_not_answered_is_not_repeated(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.power_status()
    fake.silent = True
    with pytest.raises(ConnectionLost):
        bmc.power_cycle()
    assert fake.commands.count((CHASSIS, 0x02)) == 1


def test_an_idle_session_is_not_trusted(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.power_status()
    bmc._fresh = Deadline(0)
    bmc.power_status()
    assert (fake.opened, fake.closed) == (2, 1)


def test_a_truncated_answer_is_a_fault(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.answers[CHASSIS, 0x01] = OK
    with pytest.raises(BenchFault, match="the answer cannot be read"):
        bmc.power_status()


def test_sensor_records_are_read_once(bmc: Ipmi, fake: FakeBmc) -> None:
    fake.records, fake.readings = [sensor_record(1, 1, "T")], {1: OK + bytes([4, READ, 0xC0, 0])}
    bmc.sensors()
    before = fake.commands.count((STORAGE, 0x23))
    bmc.sensors()
    assert fake.commands.count((STORAGE, 0x23)) == before > 0
    assert fake.commands.count((SENSOR, 0x2D)) == 2


def test_threads_take_turns(bmc: Ipmi, fake: FakeBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question is kept waiting inside the BMC; the second must not get there meanwhile."""
    bmc.power_status()
    real, first_is_in, second_is_in = fake._answer, threading.Event(), threading.Event()
    met: list[bool] = []

    def slow(netfn: int, request: bytes) -> bytes:
        if first_is_in.is_set():
            second_is_in.set()
        else:
            first_is_in.set()
            met.append(second_is_in.wait(0.3))
        return real(netfn, request)

    monkeypatch.setattr(fake, "_answer", slow)
    first, second = threading.Thread(target=bmc.power_status), threading.Thread(target=bmc.power_status)
    first.start()
    assert first_is_in.wait(5)
    second.start()
    first.join(5)
    second.join(5)
    assert (met, second_is_in.is_set(), fake.opened) == ([False], True, 1)


def test_open_sessions_are_closed_at_exit(bmc: Ipmi, fake: FakeBmc) -> None:
    bmc.power_status()
    ipmi._close_all()
    assert fake.commands[-1] == (APP, 0x3C)


def test_the_password_is_in_no_log_and_no_repr(bmc: Ipmi, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        bmc.power_status()
        bmc.close()
    assert PASSWORD not in caplog.text
    assert PASSWORD not in repr(bmc.endpoint)


def test_the_library_would_log_the_password(bmc: Ipmi, caplog: pytest.LogCaptureFixture) -> None:
    """The reason for silencing it; when this fails, the silencing is not needed any more."""
    with caplog.at_level(logging.DEBUG, logger="pyipmi"):
        bmc.power_status()
        bmc.close()
    assert PASSWORD in caplog.text
