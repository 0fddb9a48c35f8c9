"""Configuration, event log and settings: what is in the files, and what is said about wrong ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bmc_bench import config_content

from bmc.config import Config, ConfigError, Privilege, SensorInfo, Threshold, load
from bmc.events import PowerEvent
from bmc.sel import CAPACITY, SelFullError, SystemEventLog
from bmc.settings import BootDevice, BootLifetime, RestorePolicy, SettingsFile


def _load(tmp_path: Path, change: dict[str, Any], without: str = "") -> Config:
    content = config_content(tmp_path) | change
    content.pop(without, None)
    (tmp_path / "config.json").write_text(json.dumps(content))
    return load(tmp_path / "config.json")


def test_a_small_configuration_gets_defaults(tmp_path: Path) -> None:
    config = _load(tmp_path, {}, without="cycle_s")
    assert config.cycle_s == 1.0
    assert [sensor.name for sensor in config.sensors][:3] == ["CPU Temp", "Inlet Temp", "NIC Temp"]
    assert config.fru.product.manufacturer == "NIC lab"
    assert config.users[2].privilege is Privilege.USER
    assert config.sensors[0].thresholds[Threshold.UPPER_CRITICAL] == 90


SENSOR = {"number": 1, "name": "T1", "kind": "temperature", "value": 20}
USER = {"name": "u", "password": "p", "privilege": "user"}


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"name": ""}, "name: ''"),
        ({"address": "localhost"}, "address: 'localhost'"),
        ({"ipmi_port": "623"}, "ipmi_port: '623'"),
        ({"redfish_port": 70000}, "redfish_port: 70000"),
        ({"tls_cert": "/nowhere.pem"}, "tls_cert: '/nowhere.pem'"),
        ({"run_dir": "/nowhere"}, "run_dir: '/nowhere'"),
        ({"cycle_s": -1.0}, "cycle_s: -1.0"),
        ({"cycle_s": "soon"}, "cycle_s: 'soon'"),
        ({"users": []}, "users: "),
        ({"users": [USER | {"privilege": "king"}]}, "users.0.privilege: 'king'"),
        ({"users": [USER | {"name": "a name of 17 chars"}]}, "users.0.name: "),
        ({"users": [USER, USER]}, "users: name 'u' is there twice"),
        ({"sensors": []}, "sensors: "),
        ({"sensors": [SENSOR, SENSOR]}, "sensors: number 1 is there twice"),
        ({"sensors": [SENSOR | {"value": 256}]}, "value is 256; expected at most 255"),
        ({"sensors": [SENSOR | {"thresholds": {"upper": 5}}]}, "sensors.0.thresholds"),
        (
            {"sensors": [SENSOR | {"thresholds": {"upper_critical": 300}}]},
            "upper_critical is 300; expected at most 255",
        ),
        ({"sensors": [SENSOR | {"kind": "smell"}]}, "sensors.0.kind: 'smell'"),
        ({"fru": {"board": {}, "product": {}}}, "fru.board.manufacturer: missing"),
        ({"colour": "red"}, "colour: 'red'"),
    ],
)
def test_wrong_fields_are_named(tmp_path: Path, change: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ConfigError) as error:
        _load(tmp_path, change)
    assert str(error.value).startswith(f"{tmp_path}/config.json: ")
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "field", ["name", "address", "ipmi_port", "redfish_port", "tls_cert", "users", "run_dir", "sel_file"]
)
def test_missing_fields_are_named(tmp_path: Path, field: str) -> None:
    with pytest.raises(ConfigError, match=f"config.json: {field}: missing"):
        _load(tmp_path, {}, without=field)


@pytest.mark.parametrize("password", ["", "a secret of 21 chars!", 12345])
def test_wrong_passwords_are_not_shown(tmp_path: Path, password: object) -> None:
    with pytest.raises(ConfigError, match=r"users\.0\.password: .*value not shown") as error:
        _load(tmp_path, {"users": [USER | {"password": password}]})
    if password:
        assert str(password) not in str(error.value)


@pytest.mark.parametrize(
    ("text", "wrong"), [("", "not JSON"), ("[]", "list; expected a JSON object"), ("{", "not JSON")]
)
def test_wrong_files(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(ConfigError, match=f"config.json: {wrong}"):
        load(tmp_path / "config.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(tmp_path / "none.json")


def test_sensor_values_up_to_the_largest_byte_fit() -> None:
    info = SensorInfo.model_validate_json(json.dumps(SENSOR | {"value": 12750, "multiplier": 50}))
    assert info.value == 12750


# -- event log


def _log(path: Path) -> SystemEventLog:
    return SystemEventLog(path, lambda: 1_700_000_000)


def test_the_log_is_the_same_after_reading_it_again(tmp_path: Path) -> None:
    log = _log(tmp_path / "sel")
    for event in (PowerEvent.ON, PowerEvent.RESET, PowerEvent.OFF):
        log.log(event.value)
    log.delete(2)
    again = _log(tmp_path / "sel")
    assert again.records == log.records
    assert [record.record_id for record in again.records] == [1, 3]
    assert again.last_add_s == 1_700_000_000
    assert again.log(PowerEvent.NMI.value).record_id == 4
    again.clear()
    assert _log(tmp_path / "sel").records == []


def test_a_full_log_takes_no_more_and_says_so(tmp_path: Path) -> None:
    line = json.dumps({"id": 0, "body": PowerEvent.ON.value.body(0).hex()})
    full = "".join(line.replace('"id": 0', f'"id": {number}') + "\n" for number in range(1, CAPACITY + 1))
    (tmp_path / "sel").write_text(full)
    log = _log(tmp_path / "sel")
    assert log.free_bytes == 0
    assert not log.overflow
    with pytest.raises(SelFullError):
        log.log(PowerEvent.OFF.value)
    assert log.overflow
    assert len(_log(tmp_path / "sel").records) == CAPACITY
    log.clear()
    assert not log.overflow


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("nonsense\n", "line 1: 'nonsense'"),
        ('{"id": 1}\n', "line 1"),
        ('{"id": 1, "body": "00"}\n', "line 1: body has 1 bytes; expected 14"),
        ('{"id": 0, "body": "0200000000200004226f000000ff"}\n', "line 1: id is 0"),
        ('{"id": true, "body": "0200000000200004226f000000ff"}\n', "line 1: id is True"),
        ("\n", "line 1: ''"),
    ],
)
def test_a_wrong_log_file_is_an_error(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "sel").write_text(text)
    with pytest.raises(ConfigError) as error:
        _log(tmp_path / "sel")
    assert f"{tmp_path}/sel: {wrong}" in str(error.value)


# -- settings


def test_settings_are_kept(tmp_path: Path) -> None:
    first = SettingsFile(tmp_path / "settings.json")
    assert first.now.boot_lifetime is BootLifetime.DISABLED
    first.set_boot(BootDevice.PXE, BootLifetime.ONCE)
    first.set_restore_policy(RestorePolicy.PREVIOUS)
    again = SettingsFile(tmp_path / "settings.json")
    assert again.now.boot_device is BootDevice.PXE
    assert again.now.boot_lifetime is BootLifetime.ONCE
    assert again.now.restore_policy is RestorePolicy.PREVIOUS


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "settings.json: Invalid JSON"),
        ('{"boot_flags": "80"}', "settings.json: boot_flags: '80'"),
        ('{"boot_flags": "803c000000"}', "settings.json: boot_flags: '803c000000'"),
        ('{"restore_policy": 9}', "settings.json: restore_policy: 9"),
        ('{"colour": 1}', "settings.json: colour: 1"),
    ],
)
def test_wrong_settings_are_an_error(tmp_path: Path, text: str, wrong: str) -> None:
    (tmp_path / "settings.json").write_text(text)
    with pytest.raises(ConfigError, match=wrong):
        SettingsFile(tmp_path / "settings.json")
