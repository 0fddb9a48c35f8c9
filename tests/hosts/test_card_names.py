"""Whom a kernel line names: the card under test, or another one with the same driver."""

from __future__ import annotations

import pytest

from niclab.hosts.kernel import freebsd_trouble, linux_trouble
from niclab.hosts.kernel.card_names import CardNames
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.kernel.kernel_log import KernelLine

CARD = CardNames(frozenset({"0000:01:00.0", "0000:02:00.1", "enp1s0", "enp2s0f1"}), frozenset({"bnx2x"}))
PORT = CardNames(frozenset({"0000:01:00.0"}), frozenset({"bnx2x"}), frozenset({"0000:01:00.1", "eno1"}))
LOOP = " bnx2x_poll+0x1/0x2 [bnx2x]"
WATCHDOG = "NETDEV WATCHDOG: {} (bnx2x): transmit queue 0 timed out"
RENAMED = "bnx2x 0000:{}:00.0 {}: renamed from eth0"


def is_of(card: CardNames, *lines: str, level: int = 3) -> list[bool]:
    """Tell of each piece of trouble whether it is of the card."""
    return [card.are_in(each) for each in linux_trouble.read_trouble([KernelLine(1.0, line, level) for line in lines])]


@pytest.mark.parametrize(
    "line",
    [
        "bnx2x 0000:01:00.0 enp1s0: something",
        "bnx2x 0000:02:00.0: another function of its slot",
        "bnx2x 0000:01:10.2: a virtual function",
        "bnx2x: [bnx2x_timer:5773(enp1s0)]MFW seems hanged",
        "bnx2x: [bnx2x_init:1(eth%d)]before it has a name",
        "NETDEV WATCHDOG: enp1s0 (bnx2x): transmit queue 0 timed out",
        "enp1s0.100: hw csum failure",
        "bnx2x: cannot go on",
        "DMAR: [DMA Write] Request device [01:00.0] fault addr 0xfffff000",
        "pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0",
    ],
)
def test_a_line_of_the_card(line: str) -> None:
    assert is_of(CARD, line) == [True]


@pytest.mark.parametrize(
    "line",
    [
        "bnx2x 0000:09:00.0 eno1: something",
        "bnx2x 0000:01:00.0: something".replace("0000", "0001"),
        "bnx2x: [bnx2x_timer:5773(eno1)]MFW seems hanged",
        "NETDEV WATCHDOG: eno1 (bnx2x): transmit queue 0 timed out",
        "bnx2x: probe of 0000:09:00.0 failed with error -5",
        "DMAR: [DMA Write] Request device [09:00.0] fault addr 0xfffff000",
    ],
)
def test_a_line_of_another_card_with_the_same_driver(line: str) -> None:
    assert is_of(CARD, line, LOOP) == [False]


def test_the_trace_counts_where_no_device_is_named() -> None:
    assert is_of(CARD, "kernel BUG at mm/slub.c:1!", LOOP) == [True]
    assert is_of(CARD, "niclab0: hw csum failure", LOOP) == is_of(CARD, "niclab.100: hw csum failure", LOOP) == [True]


@pytest.mark.parametrize(
    ("card", "lines", "whose"),
    [
        (CARD, (WATCHDOG.format("eth0"), RENAMED.format("01", "enp1s0")), True),
        (CARD, (WATCHDOG.format("eth0"), RENAMED.format("09", "eno1")), False),
        (CARD, ("bnx2x 0000:01:00.0 eth0: found at mem", WATCHDOG.format("eth0")), True),
        (PORT, (RENAMED.format("01", "eno7"), WATCHDOG.format("eno7")), True),
        (PORT, (RENAMED.format("09", "eno7"), WATCHDOG.format("eno7")), False),
    ],
)
def test_an_early_name_of_an_interface(card: CardNames, lines: tuple[str, ...], whose: bool) -> None:
    assert is_of(card, *lines, level=6) == [whose]


def test_a_name_that_goes_to_the_next_card() -> None:
    lines = (RENAMED.format("01", "enp1s0"), RENAMED.format("09", "eno1"))
    watchdog = WATCHDOG.format("eth0")
    assert is_of(CARD, watchdog, *lines, level=6) == [True]
    assert is_of(CARD, lines[0], watchdog, lines[1], level=6) == [False]


def test_a_port_that_has_no_interface() -> None:
    assert is_of(PORT, "bnx2x: [bnx2x_nic_load:2727(net0)]HW init failed, aborting") == [True]
    assert is_of(PORT, "bnx2x: [bnx2x_nic_load:2727(eno1)]HW init failed, aborting") == [False]
    assert is_of(PORT, "bnx2x 0000:01:00.1: something") == [False]


def test_a_file_that_another_card_lacks_excuses_nothing() -> None:
    no_file = "bnx2x 0000:09:00.0: Direct firmware load for bnx2x-e2.fw failed with error -2"
    (found,) = linux_trouble.read_trouble(read_dmesg(f"{no_file}\n<3>[ 1.0] bnx2x 0000:01:00.0: something new"))
    assert found.kind == "error" and CARD.are_in(found)


@pytest.mark.parametrize(
    ("line", "whose"),
    [
        ("cxl0: watchdog timeout", True),
        ("cxl2: watchdog timeout", False),
        ("t5nex0: encountered fatal error, adapter stopped", True),
        ("device_attach: cxl1 attach returned 6", True),
        ("device_attach: em1 attach returned 6", False),
        ("ix0: watchdog timeout", False),
        ("pci1:0:0 sid 100 fault acc 1", True),
        ("pci9:0:0 sid 900 fault acc 1", False),
    ],
)
def test_units_of_freebsd(line: str, whose: bool) -> None:
    drivers = frozenset({"if_cxgbe", "t5nex", "cxl", "cc"})
    card = CardNames(frozenset({"0000:01:00.4", "cxl0", "cxl1"}), drivers)
    (found,) = freebsd_trouble.read_trouble([KernelLine(1.0, line)])
    assert card.are_in(found) is whose


def test_a_unit_of_freebsd_that_is_not_there() -> None:
    port = CardNames(frozenset({"0000:01:00.0"}), frozenset({"em"}), frozenset({"em0"}))
    lines = [KernelLine(1.0, f"device_attach: em{number} attach returned 6") for number in (0, 1)]
    assert [port.are_in(each) for each in freebsd_trouble.read_trouble(lines)] == [False, True]
