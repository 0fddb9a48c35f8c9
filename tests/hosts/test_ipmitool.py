"""ipmitool's output: one defect each and its one clear error, faults in the event log, printed records read back."""

from __future__ import annotations

import pytest
from goldens import capture
from hypothesis import given
from hypothesis import strategies as st

from niclab.hosts.errors import ReadError
from niclab.hosts.ipmitool import read_ipmitool
from niclab.hosts.ipmitool_records import IpmiForm
from niclab.hosts.ipmitool_sel import is_fault

MESSAGES = [
    "Error: Unable to establish IPMI v2 / RMCP+ session",
    "Error: Unable to establish LAN session",
    "Activate Session error:\tRequested privilege level exceeds limit",
    "Get Session Challenge command failed: Invalid user name",
    "Could not open device at /dev/ipmi0 or /dev/ipmi/0 or /dev/ipmidev/0: No such file or directory",
    "Unable to get Chassis Power Status",
    "Error sending Chassis Status command",
    "Get Device ID command failed",
    "Get SEL Info command failed",
    "Chassis Power Control: Up/On",
    "Clearing SEL.  Please allow a few seconds to erase.",
    "IPMI response is NULL.\nInvalid channel: 1",
    "Address lookup for nosuch failed\nError: Unable to establish IPMI v2 / RMCP+ session",
    "bash: ipmitool: command not found",
    "Invalid command: chasis",
]


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_no_answer(message: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read ipmi: line 1 .*: expected output of ipmitool"):
        read_ipmitool(f"{message}\n")
    with pytest.raises(ReadError, match=r"cannot read ipmi: line 2 "):
        read_ipmitool(f"# ipmitool sdr list\n{message}\n")


DEFECTS = [
    ("chassis-status", "System Power         : on", "System Power         : maybe", "'maybe': expected on or off"),
    ("chassis-status", "System Power         : on", "System Power         :", "the line 'system power'"),
    ("chassis-status", "Drive Fault          : false", "Drive Fault          : perhaps", "expected true or false"),
    ("chassis-status", "Drive Fault          : false", "Power Overload       : true", "Power Overload once"),
    ("chassis-status", "Power Interlock      : inactive", "Power Interlock", "a line 'Name : value'"),
    ("power-status", "is off", "is unknown", "output of ipmitool"),
    ("sdr-list-intel", "| ok", "| fine", "a status such as ok|an event log or a sensor"),
    ("sdr-list-intel", "DIMM Thrm Mrgn 1 | -65 degrees C     | ok", "Error obtaining SDR info", "3 columns, as in the"),
    ("sdr-list-intel", "DIMM Thrm Mrgn 1", "", "the name of a sensor"),
    ("sdr-elist-dell", "31h", "31x", "a sensor number such as 0Eh"),
    ("sdr-elist-dell", "240 RPM", "240 RPM | 7", "5 columns"),
    ("sdr-elist-dell", "|  7.1 | 240", "|  seven | 240", "'seven': expected an entity such as 3.1"),
    ("sensor-list-dell", "6000.000", "fast", "'fast': expected a reading: a number, 0x.. or na"),
    ("sensor-list-dell", "840.000", "84o.000", "'84o.000': expected a threshold"),
    ("sensor-list-dell", "| RPM        | ok", "| RPM        | o.k.", "a status such as ok, cr, na or 0x0180"),
    ("sel-elist-intel", "06/03/2014 | 17:38:06", "06/03/2014 | 17h38", "'17h38': expected a time such as 17:38:05"),
    ("sel-elist-intel", "   2 |", "  xy |", "line 2 .*an entry 'id | date | time | sensor | event'"),
    ("sel-elist-intel", "Redundancy Lost | Asserted", "Redundancy Lost | Perhaps", "expected Asserted, Deasserted"),
    ("sel-elist-intel", " | Fan #0x0c | Fully Redundant | Deasserted", "", "a sensor and an event after the time"),
    ("sel-info", "Entries          : 3008", "Entries          : many", "'many': expected a whole number"),
    ("sel-info", "Entries          : 3008", "", "the line 'entries'"),
    ("sel-verbose-1.8.19", "0002", "zwei", "'zwei': expected the id of an entry in hex"),
    ("fru-cisco", " Board Product         : R200", " Board Product R200", "a line 'Name : value' of an inventory"),
    ("mc-info", "Firmware Revision         : 2.60", "", "the line 'firmware revision' of mc info"),
    ("lan-print", "IP Address              : 192.168.12.104", "", "the line 'ip address' of lan print"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new", "said"), DEFECTS, ids=[f"{d[0]}: {d[2][:30]!r}" for d in DEFECTS])
def test_a_defect_is_named(name: str, old: str, new: str, said: str) -> None:
    text = capture("ipmi", name)
    assert old in text
    with pytest.raises(ReadError, match=f"cannot read ipmi: .*(?:{said})"):
        read_ipmitool(text.replace(old, new, 1))


def test_an_inventory_without_fields_is_refused() -> None:
    with pytest.raises(ReadError, match="the fields of an inventory below it"):
        read_ipmitool("FRU Device Description : Builtin FRU Device (ID 0)\n")


def test_two_answers_in_one_text_are_refused() -> None:
    with pytest.raises(ReadError, match="line 2 'Chassis Power is off': expected one answer only"):
        read_ipmitool("Chassis Power is on\nChassis Power is off\n")
    with pytest.raises(ReadError):
        read_ipmitool(capture("ipmi", "sdr-list-intel") + capture("ipmi", "sel-elist-intel"))


def test_a_log_without_entries_is_an_answer() -> None:
    assert read_ipmitool("SEL has no entries\n").entries == ()


def test_a_session_that_closes_badly_spoils_no_answer() -> None:
    assert read_ipmitool("Chassis Power is on\nClose Session command failed\n").power == "on"


@pytest.mark.parametrize(
    ("event", "asserted", "fault"),
    [
        ("Fully Redundant", True, False),
        ("Fully Redundant", False, True),
        ("Redundancy Lost", True, True),
        ("Redundancy Lost", False, False),
        ("Non-Redundant: Insufficient Resources", True, True),
        ("Presence detected", True, False),
        ("Presence detected", False, True),
        ("Power Supply AC lost", True, True),
        ("Upper Critical going high", True, True),
        ("Upper Critical going high", None, True),
        ("Transition to Non-Critical from OK", True, True),
        ("Transition to OK", True, False),
        ("Uncorrectable ECC", True, True),
        ("Timestamp Clock Sync", True, False),
        ("OEM System boot event", True, False),
        ("Log area reset/cleared", True, False),
        ("Power Button pressed", True, False),
        ("Power off/down", True, False),
        ("", True, False),
    ],
)
def test_what_is_a_fault(event: str, asserted: bool | None, fault: bool) -> None:
    assert is_fault(event, asserted) is fault


NAMES = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Nd"), max_codepoint=127), min_size=1, max_size=12)


@pytest.mark.parametrize("number", [0, 1, 0x1A])
def test_a_sensor_may_bear_the_name_of_the_tool(number: int) -> None:
    record = read_ipmitool(
        f"{number:4x} | 06/03/2014 | 17:38:05 | ipmitool | Fully Redundant | Deasserted\n"
        "   2 | 06/03/2014 | 17:38:06 | Fan 1 | Failure detected | Asserted\n"
    )
    assert record.entries is not None
    assert [(entry.id, entry.sensor) for entry in record.entries] == [(number, "ipmitool"), (2, "Fan 1")]


@given(
    st.lists(
        st.tuples(
            st.integers(0, 0xFFFF), NAMES, st.sampled_from(["Fully Redundant", "Failure detected"]), st.booleans()
        ),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[0],
    )
)
def test_a_printed_event_log_reads_back(rows: list[tuple[int, str, str, bool]]) -> None:
    lines = [
        f"{number:4x} | 06/03/2014 | 17:38:05 | {sensor} | {event} | {'Asserted' if asserted else 'Deasserted'}\n"
        for number, sensor, event, asserted in rows
    ]
    record = read_ipmitool("".join(lines))
    assert record.form is IpmiForm.SEL_LIST
    assert record.entries is not None
    assert [(entry.id, entry.sensor, entry.event, entry.asserted) for entry in record.entries] == rows


@given(
    st.lists(
        st.tuples(NAMES, st.none() | st.integers(-(10**6), 10**6), st.sampled_from(["ok", "nc", "cr", "nr"])),
        min_size=1,
        max_size=20,
        unique_by=lambda row: row[0],
    )
)
def test_a_printed_sensor_list_reads_back(rows: list[tuple[str, int | None, str]]) -> None:
    lines = []
    for name, value, status in rows:
        reading = "na" if value is None else f"{value / 1000:.3f}"
        shown = "na" if value is None else status
        lines.append(f"{name:<16} | {reading:<10} | {'Volts':<10} | {shown:<6}" + "| na        " * 6 + "\n")
    record = read_ipmitool("".join(lines))
    assert record.form is IpmiForm.SENSOR_LIST
    assert record.sensors is not None
    for sensor, (name, value, status) in zip(record.sensors, rows, strict=True):
        assert (sensor.name, sensor.value) == (name, None if value is None else value / 1000)
        assert sensor.bad is (None if value is None else status != "ok")


@pytest.mark.parametrize(
    ("reading", "bad"),
    [
        ("Presence detected", False),
        ("Presence detected, Power Supply AC lost", True),
        ("Fully Redundant", False),
        ("Redundancy Lost", True),
        ("Predictive Failure Deasserted", False),
        ("0x01", None),
    ],
)
def test_a_discrete_sensor_is_judged_by_its_states(reading: str, bad: bool | None) -> None:
    """Its status is "ok" whatever the states are."""
    record = read_ipmitool(f"PS2 Status       | C9h | ok  | 10.2 | {reading}\n")
    assert record.sensors is not None
    assert [sensor.bad for sensor in record.sensors] == [bad]
