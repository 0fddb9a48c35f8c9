"""The host's time stamp counter."""

from __future__ import annotations

import itertools
import mmap
import platform
import re
from pathlib import Path

import pytest

import hostcpu

needs_tsc = pytest.mark.skipif(platform.machine() != "x86_64", reason="there is no TSC on this processor")


@needs_tsc
def test_two_measurements_agree() -> None:
    measured = [hostcpu.tsc_khz(0.05) for _ in range(4)]
    closest = min(abs(a - b) / a for a, b in itertools.combinations([m for m in measured if m], 2))
    assert closest < 200e-6  # a busy host may disturb some of the four, not all


@needs_tsc
def test_it_is_of_the_order_of_the_processors_frequency() -> None:
    speeds = re.findall(r"^cpu MHz\s*: ([\d.]+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    khz = hostcpu.tsc_khz(0.05)
    assert khz is not None
    if not speeds:
        assert 0.5e6 < khz < 10e6
        return
    fastest_khz = max(map(float, speeds)) * 1000
    assert 0.25 * fastest_khz < khz < 4 * fastest_khz  # the counter runs at the nominal speed, the cores as they like


def test_a_disturbed_reading_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 9_000_000, 10_000_000, 10_000_100, *(20_000_000 + 5_000_000 * n for n in range(16))])
    monkeypatch.setattr("time.monotonic_ns", lambda: next(clock))
    counter = itertools.count(1)
    assert hostcpu._both_clocks(lambda: next(counter)) == (10_000_050, 2)


def test_another_processor_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert hostcpu.tsc_khz(0.01) is None


def test_a_system_that_forbids_executable_memory_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object, **__: object) -> mmap.mmap:
        raise PermissionError("no executable memory")

    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    monkeypatch.setattr("mmap.mmap", forbidden)
    assert hostcpu.tsc_khz(0.01) is None
