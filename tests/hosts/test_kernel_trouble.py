"""Trouble in kernel logs, and whom it names."""

from __future__ import annotations

import pytest

from niclab.hosts.kernel import freebsd_trouble as freebsd
from niclab.hosts.kernel import linux_trouble as linux
from niclab.hosts.kernel.kernel_log import KernelLine

PANIC = (
    "Fatal trap 12: page fault while in kernel mode",
    "cpuid = 0; apic id = 00",
    "KDB: stack backtrace:",
    "#0 0xffffffff80c53dc5 at kdb_backtrace+0x65",
    "#1 0xffffffff82a1b2c3 at oce_rq_handler+0x1b",
)


def lines(*texts: str) -> list[KernelLine]:
    return [KernelLine(1.0, text) for text in texts]


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("NETDEV WATCHDOG: enp3s0 (be2net): transmit queue 0 timed out", "transmit timeout", {"be2net", "enp3s0"}),
        ("be2net 0000:03:00.0: probe of 0000:03:00.0 failed with error -5", "driver probe failed", {"0000:03:00.0"}),
        ("be2net 0000:03:00.0: Adapter removed", "device lost", {"0000:03:00.0"}),
        ("mce: [Hardware Error]: Machine check events logged", "machine check", set()),
    ],
)
def test_one_line_of_linux(text: str, kind: str, names: set[str]) -> None:
    for found in linux.read_trouble(lines("quiet", text, "quiet")):
        assert (found.kind, found.words) == (kind, text) and names <= (found.devices | found.drivers)


def test_a_warning_without_a_module_in_its_trace_is_no_trouble() -> None:
    assert linux.read_trouble(lines("WARNING: CPU: 0 PID: 1 at x.c:1 y+0x1/0x2", "Call Trace:", " y+0x1/0x2")) == ()


def test_the_list_of_loaded_modules_accuses_none() -> None:
    (found,) = linux.read_trouble(lines("kernel BUG at mm/slub.c:1!", "Modules linked in: be2net(E) bonding"))
    assert not found.devices | found.drivers


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("oce0: watchdog timeout", {"oce0", "oce"}),
        ("device_attach: cxl1 attach returned 6", {"cxl1", "cxl"}),
        ("MCA: Bank 5, Status 0xbe00000000800400", set()),
    ],
)
def test_one_line_of_freebsd(text: str, names: set[str]) -> None:
    (found,) = freebsd.read_trouble(lines("oce0: link state changed to DOWN", text))
    assert found.words == text and (found.devices | found.drivers) == names


def test_a_backtrace_of_freebsd_names_the_driver() -> None:
    (found,) = freebsd.read_trouble(lines(*PANIC))
    assert found.kind == "trap" and "oce" in found.drivers
