"""Sensors, event log and inventory over IPMI, asked by ipmitool and python-ipmi."""

from __future__ import annotations

import time
from pathlib import Path

import pyipmi.sdr
import pytest
from bench_fakes import wait_for
from bmc_bench import RunningBmc
from pyipmi.errors import CompletionCodeError

from control import ControlError


def _sensors(bmc: RunningBmc) -> dict[str, list[str]]:
    """Name -> columns of ``ipmitool sensor``: value, unit, status, six thresholds."""
    lines = bmc.ipmitool_ok("sensor").splitlines()
    return {line.split("|")[0].strip(): [cell.strip() for cell in line.split("|")[1:]] for line in lines}


def test_readings_and_thresholds_as_ipmitool_shows_them(bmc: RunningBmc) -> None:
    bmc.power(True)
    sensors = _sensors(bmc)
    assert sensors["NIC Temp"][:3] == ["45.000", "degrees C", "ok"]
    assert sensors["NIC Temp"][3:] == ["na", "na", "na", "95.000", "105.000", "115.000"]
    assert sensors["Fan 1"] == ["5400.000", "RPM", "ok", "na", "600.000", "1000.000", "na", "na", "na"]
    assert sensors["Sys Power"][:3] == ["120.000", "Watts", "ok"]


def test_readings_are_not_available_while_the_machine_is_off(bmc: RunningBmc) -> None:
    sensors = _sensors(bmc)
    for name in ("CPU Temp", "NIC Temp", "Fan 1", "Fan 2", "Sys Power"):
        assert sensors[name][0] == "na", name
    assert sensors["Inlet Temp"][0] == "24.000"


def test_a_crossed_threshold_is_an_event_and_so_is_its_end(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.control({"sensor": 3, "value": 104})
    bmc.control({"sensor": 3, "value": 105})
    assert _sensors(bmc)["NIC Temp"][:3] == ["105.000", "degrees C", "cr"]
    bmc.control({"sensor": 3, "value": 45})
    events = [[cell.strip() for cell in line.split("|")[3:]] for line in bmc.ipmitool_ok("sel", "elist").splitlines()]
    assert events == [
        ["Temperature NIC Temp", "Upper Non-critical going high", "Asserted", "Reading 104 > Threshold 95 degrees C"],
        ["Temperature NIC Temp", "Upper Critical going high", "Asserted", "Reading 105 > Threshold 105 degrees C"],
        ["Temperature NIC Temp", "Upper Non-critical going high", "Deasserted", "Reading 45 < Threshold 95 degrees C"],
        ["Temperature NIC Temp", "Upper Critical going high", "Deasserted", "Reading 45 < Threshold 105 degrees C"],
    ]


def test_a_stopped_fan_crosses_its_lower_thresholds(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.control({"sensor": 4, "value": 0})
    assert bmc.events == ["Lower non-critical going low", "Lower critical going low"]
    assert _sensors(bmc)["Fan 1"][2] == "cr"


def test_a_hot_card_in_a_dark_machine_is_an_event_when_power_comes(bmc: RunningBmc) -> None:
    bmc.control({"sensor": 3, "value": 99})
    assert bmc.events == []
    bmc.ipmitool_ok("power", "on")
    assert bmc.events == ["Power on", "Upper non-critical going high"]


def test_thresholds_can_be_moved_where_there_are_some(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.ipmitool_ok("sensor", "thresh", "CPU Temp", "unc", "39")
    assert bmc.events == ["Upper non-critical going high"]
    bmc.ipmitool_ok("sensor", "thresh", "CPU Temp", "unc", "80")
    refused = bmc.ipmitool("raw", "4", "0x26", "1", "1", "0", "0", "0", "0", "0", "0")
    assert "rsp=0xcc" in refused.stderr


def test_python_ipmi_reads_the_same(bmc: RunningBmc) -> None:
    bmc.power(True)
    with bmc.python_ipmi() as client:
        found = {}
        for record in client.sdr_repository_entries():
            if isinstance(record, pyipmi.sdr.SdrFullSensorRecord):
                raw, _ = client.get_sensor_reading(record.number)
                found[record.device_id_string] = record.convert_sensor_raw_to_value(raw)
    assert found == {
        "CPU Temp": 40,
        "Inlet Temp": 24,
        "NIC Temp": 45,
        "Fan 1": 5400,
        "Fan 2": 5300,
        "Sys Power": 120,
    }


def test_python_ipmi_sees_no_reading_while_off(bmc: RunningBmc) -> None:
    with bmc.python_ipmi() as client:
        assert client.get_sensor_reading(3)[0] is None
        with pytest.raises(CompletionCodeError) as unknown:
            client.get_sensor_reading(0x77)
    assert unknown.value.cc == 0xCB


@pytest.mark.parametrize(
    ("request_", "wrong"),
    [
        ({"sensor": 3, "value": 256}, r"sensor 3 \(NIC Temp\): 256; expected 0 to 255"),
        ({"sensor": 3, "value": -1}, "expected 0 to 255"),
        ({"sensor": 99, "value": 1}, r"sensor: 99; expected one of \[1, 2, 3, 4, 5, 6\]"),
        ({"sensor": 3}, "value: missing"),
        ({"sensor": 3, "value": "hot"}, "value: 'hot'"),
        ({"sensor": 3, "value": 5, "unit": "K"}, "unit: 'K'"),
        ({"fault": {"drop": 1}}, "fault.drop: 1"),
        ({"fault": {"dorp": True}}, "fault.dorp: True"),
        ({"fault": {"delay_s": -1.0}}, "fault.delay_s: -1.0"),
        ({"status": False}, "status: False"),
        ({"hello": 1}, "expected one of: fault, sensor, status"),
        ({}, "expected one of: fault, sensor, status"),
    ],
)
def test_wrong_control_requests_are_refused_and_change_nothing(
    bmc: RunningBmc, request_: dict[str, object], wrong: str
) -> None:
    before = bmc.control({"status": True})
    with pytest.raises(ControlError, match=wrong):
        bmc.control(request_)
    assert bmc.control({"status": True}) == before


def test_status_tells_what_there_is(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"delay_s": 0.01}})
    bmc.power(True)
    assert bmc.control({"status": True}) == {
        "on": True,
        "faults": {"drop": False, "delay_s": 0.01, "power_stuck": False, "redfish_500": False},
        "sensors": {"1": 40, "2": 24, "3": 45, "4": 5400, "5": 5300, "6": 120},
        "sel_records": 0,
    }


def test_ipmitool_adds_lists_deletes_and_clears_events(bmc: RunningBmc, tmp_path: Path) -> None:
    (tmp_path / "event").write_text("0x04 0x01 0x03 0x01 0x59 0x60 0x5f # NIC Temp upper critical\n")
    bmc.ipmitool_ok("sel", "add", str(tmp_path / "event"))
    bmc.ipmitool_ok("sel", "add", str(tmp_path / "event"))
    assert len(bmc.ipmitool_ok("sel", "list").splitlines()) == 2
    assert bmc.ipmitool_ok("sel", "list").count("Temperature #0x03 | Upper Critical going high | Asserted") == 2
    bmc.ipmitool_ok("sel", "delete", "1")
    assert bmc.ipmitool_ok("sel", "list").split("|")[0].strip() == "2"
    bmc.ipmitool_ok("sel", "clear")
    wait_for(lambda: bmc.bmc.sel.records == [], "the log is empty")
    assert "SEL has no entries" in bmc.ipmitool("sel", "list").stdout + bmc.ipmitool("sel", "list").stderr


def test_a_viewer_may_read_the_log_but_not_clear_it(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "on")
    assert "Power off/down" in bmc.ipmitool_ok("sel", "elist", user="viewer", options=("-L", "USER"))
    refused = bmc.ipmitool("sel", "clear", user="viewer", options=("-L", "USER"))
    assert "Insufficient privilege" in refused.stdout + refused.stderr
    assert bmc.events == ["Power on"]


def test_deleting_needs_a_valid_reservation(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "on")
    with bmc.python_ipmi() as client:
        old = client.get_sel_reservation_id()
        new = client.get_sel_reservation_id()
        for reservation in (0, old):
            with pytest.raises(CompletionCodeError) as refused:
                client.delete_sel_entry(1, reservation)
            assert refused.value.cc == 0xC5
        assert client.delete_sel_entry(1, new) == 1
        assert client.get_sel_entries_count() == 0


def test_python_ipmi_reads_power_events(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "on")
    bmc.ipmitool_ok("power", "reset")
    with bmc.python_ipmi() as client:
        entries = client.get_sel_entries()
    assert [(entry.sensor_type, entry.sensor_number) for entry in entries] == [(0x09, 0xF0), (0x1D, 0xF1)]


def test_the_clock_of_the_log_can_be_set(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("sel", "time", "set", "01/02/21 03:04:05")
    bmc.ipmitool_ok("power", "on")
    assert "| 01/02/21 |" in bmc.ipmitool_ok("sel", "list")
    bmc.call(lambda: bmc.bmc.set_clock(int(time.time())))
    bmc.ipmitool_ok("power", "off")
    assert time.strftime("| %m/%d/%y |", time.gmtime()) in bmc.ipmitool_ok("sel", "list").splitlines()[1]


def test_the_log_survives_a_restart(tmp_path: Path) -> None:
    with RunningBmc(tmp_path) as first:
        first.ipmitool_ok("power", "on")
        first.ipmitool_ok("power", "off")
        before = first.ipmitool_ok("sel", "elist")
    with RunningBmc(tmp_path) as second:
        assert second.ipmitool_ok("sel", "elist") == before
        assert len(before.splitlines()) == 2


def test_inventory(bmc: RunningBmc) -> None:
    text = bmc.ipmitool_ok("fru", "print", "0")
    product = bmc.config.fru.product
    for wanted in (product.manufacturer, product.name, product.serial, product.asset_tag, bmc.config.fru.board.serial):
        assert f": {wanted}\n" in text + "\n"
    with bmc.python_ipmi() as client:
        inventory = client.get_fru_inventory()
        assert str(inventory.product_info_area.serial_number) == product.serial
        assert str(inventory.board_info_area.part_number) == bmc.config.fru.board.part_number
        with pytest.raises(CompletionCodeError) as unknown:
            client.get_fru_inventory_area_info(5)
    assert unknown.value.cc == 0xCB
