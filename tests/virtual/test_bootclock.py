"""The clock that a server tells at the end of its boot."""

from __future__ import annotations

from pathlib import Path

import pytest

import bootclock

EARLIER = "[900.000] --- power on, serial line connected\n[903.100] rc.boot: clock 903.050000000\n"
POWER_ON = "[1000.000] --- power on, serial line connected\n[1000.900] [    0.5] some driver: a line\n"
TAIL = "\n[1003.400] dut login: "


def right(tmp_path: Path, text: str) -> bool:
    log = tmp_path / "dut.log"
    log.write_text(text)
    return bootclock.was_right(log, since=1000.0, within_s=1.0)


@pytest.mark.parametrize("line", ["rc.boot: clock 1003.25", "INIT: version 3 booting rc.boot: clock 1003.250000000"])
def test_a_right_clock(tmp_path: Path, line: str) -> None:
    assert right(tmp_path, f"{EARLIER}{POWER_ON}[1003.300] {line}{TAIL}")


@pytest.mark.parametrize("guest", ["1004.400", "1002.100", "4600.000"])
def test_a_wrong_clock_or_a_late_line(tmp_path: Path, guest: str) -> None:
    assert not right(tmp_path, f"{POWER_ON}[1003.300] rc.boot: clock {guest}{TAIL}")


@pytest.mark.parametrize(
    "text", ["", POWER_ON, EARLIER, EARLIER + POWER_ON, POWER_ON + "[1003.300] rc.boot: clock 100"]
)
def test_a_clock_that_was_not_told_in_this_boot(tmp_path: Path, text: str) -> None:
    assert not right(tmp_path, text)
