"""Memories of modules become readings in units of physics, by the offsets of SFF-8472 and SFF-8636."""

from __future__ import annotations

import struct

import pytest
from module_dumps import CABLE_SFP, GOOD_SFP, MIXED_SFP, memory_of, qsfp, sfp

from niclab.core.verdict import NotApplicable
from niclab.links.optics.cage_checks import read_module
from niclab.links.optics.module_data import ModuleData, ModuleLimits, ModuleReading


def read(memory: bytes) -> ModuleData:
    return read_module("dut.p0", bytes(memory))


def values(data: ModuleData) -> dict[str, float]:
    return {each.what: round(each.value, 4) for each in (*data.own, *data.surroundings)}


def wrong_sums(data: ModuleData) -> list[str]:
    return [each.name for each in data.checksums if each.stored != each.summed]


def test_a_real_module_is_read_as_its_maker_means_it() -> None:
    data = read(memory_of(GOOD_SFP))
    assert data.name == "Intel Corp FTLX8574D3BNL-IT, serial number A41ASYK"
    assert wrong_sums(data) == [] and not data.is_cable
    assert values(data) == {
        "temperature": 35.3359,
        "supply voltage": 3.4272,
        "bias current": 8.688,
        "sent power": 0.578,
        "received power": 0.0021,
    }
    limits = {each.what: each.limits for each in (*data.own, *data.surroundings)}
    assert limits["temperature"] == ModuleLimits(-13, -8, 88, 93)
    found = limits["sent power"]
    assert found is not None and (round(found.low_alarm, 4), round(found.high_alarm, 4)) == (0.2512, 1.0)
    assert [each.what for each in (*data.own, *data.surroundings) if each.alarms] == ["received power"]


def test_a_real_memory_of_the_wrong_address_has_wrong_checksums() -> None:
    assert wrong_sums(read(memory_of(MIXED_SFP))) == ["CC_BASE", "CC_EXT"]


def test_a_real_cable_has_no_readings_even_where_it_has_bytes_for_them() -> None:
    data = read(memory_of(CABLE_SFP))
    assert data.is_cable and wrong_sums(data) == []
    assert values(data) == {} and data.received == ()


@pytest.mark.parametrize("monitoring", [0x00, 0x08, 0x6C])
def test_a_module_without_readings_at_the_second_address_has_none(monitoring: int) -> None:
    memory = sfp()
    memory[92] = monitoring
    assert values(read(memory)) == {}


@pytest.mark.parametrize("second", [b"", b"\xff" * 256, b"\0" * 256])
def test_readings_that_the_driver_does_not_get_are_none(second: bytes) -> None:
    assert values(read(bytes(sfp())[:256] + second)) == {}


def test_limits_that_a_module_does_not_have_are_none() -> None:
    memory = sfp()
    memory[256:296] = bytes(40)
    data = read(memory)
    assert data.own and {each.limits for each in (*data.own, *data.surroundings)} == {None}


def test_a_laser_that_is_off_is_not_read() -> None:
    memory = sfp(sent_uw=0)
    memory[256 + 110] = 0x80
    assert [each.what for each in read(memory).own] == ["supply voltage"]


def test_an_external_calibration_is_applied_to_readings_and_limits() -> None:
    """SFF-8472: received power by a polynomial, the others by slope and offset."""
    memory = sfp(celsius=10)
    memory[92] = 0x58
    struct.pack_into(">5f", memory, 256 + 56, 0, 0, 1e-4, 0.5, 10)
    struct.pack_into(">HhHhHhHh", memory, 256 + 76, 0x0200, 0, 0x0180, -100, 0x0100, 256, 0x0080, 50)
    data = read(memory)
    raw = 4200
    assert values(data) == {
        "temperature": 11.0,
        "supply voltage": round(33000 / 2e4 + 0.005, 4),
        "bias current": 12.0,
        "sent power": round((5000 * 1.5 - 100) / 1e4, 4),
        "received power": round((1e-4 * raw**2 + 0.5 * raw + 10) / 1e4, 4),
    }
    (received,) = data.received
    assert received.limits is not None
    assert received.limits.low_alarm == pytest.approx((1e-4 * 100**2 + 0.5 * 100 + 10) / 1e4)


def test_a_temperature_below_zero() -> None:
    assert values(read(sfp(celsius=-6.5)))["temperature"] == -6.5


def test_each_lane_of_a_qsfp_module_is_read() -> None:
    data = read(qsfp(650, 640, 630, 620))
    assert data.name == "MAKER SR4, serial number S1" and wrong_sums(data) == []
    assert [round(each.value, 3) for each in data.received] == [0.65, 0.64, 0.63, 0.62]
    assert len(data.own) == 1 + 2 * 4 and not any(each.alarms for each in (*data.own, *data.surroundings))
    (supply, *_) = data.own
    assert supply == ModuleReading("supply voltage", pytest.approx(3.3), "V", supply.limits)
    assert supply.limits is not None and supply.limits.high_alarm == pytest.approx(3.63)
    (temperature, *_) = data.surroundings
    assert temperature.limits == ModuleLimits(-5, 0, 70, 75)


def test_lanes_that_are_disabled_are_not_read() -> None:
    memory = qsfp()
    memory[86] = 0x0E
    assert [each.what for each in read(memory).own] == [
        "supply voltage",
        "bias current of lane 1",
        "sent power of lane 1",
    ]


@pytest.mark.parametrize("pages", [2, 5])
def test_a_qsfp_module_of_one_page_has_no_limits(pages: int) -> None:
    memory = qsfp(pages=pages)
    memory[2] |= 0x04
    assert {each.limits for each in read(memory).own} == {None}


def test_a_qsfp_module_that_does_not_measure_what_it_sends() -> None:
    memory = qsfp()
    memory[220] = 0x08
    assert read(memory).sent == ()


def test_a_cable_of_copper_has_no_readings() -> None:
    data = read(qsfp(technology=0xA0))
    assert data.is_cable and values(data) == {} and wrong_sums(data) == []


def test_a_power_is_shown_in_dbm_as_well() -> None:
    assert ModuleReading("received power", 0.1, "mW", None).shown == "0.1000 mW (-10.0 dBm)"
    assert ModuleReading("received power", 0.0, "mW", None).shown == "0.0000 mW (dark)"


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        (bytes([0x18]) + bytes(range(255)), "256 bytes with identifier 0x18"),
        (bytes([0x03, 0x04]) * 64, "128 bytes with identifier 0x03"),
    ],
)
def test_a_module_of_another_kind_is_not_applicable(memory: bytes, said: str) -> None:
    with pytest.raises(NotApplicable, match=rf"^dut\.p0: its module has {said}; those of SFP and QSFP are read"):
        read(memory)
