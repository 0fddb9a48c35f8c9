"""PCI Express errors before and after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NoReturn

import pytest
from fake_bench import FakeBench
from fake_parts import link_of
from fake_settings import FakeSettings, settings_of

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.errors import NoDevice
from niclab.hosts.settings.settings_records import AerCounters
from niclab.run.run import Run
from Pcie import Pcie

QUIET = AerCounters({"BadTLP": 3, "RxErr": 0}, {"DLP": 0}, {"DLP": 0})
ROOT = "0000:00:01.0"
GROWN = AerCounters({"BadTLP": 5, "RxErr": 0}, {"DLP": 0}, {"DLP": 0})
ABOVE, UPPER, LOWER = "0000:00:03.0", "0000:04:00.0", "0000:05:08.0"
"""A root port, and both ports of a bridge between it and the card."""


@pytest.fixture
def settings(bench: FakeBench, taken: Run) -> FakeSettings:
    assert taken.card.pcie is not None
    made = settings_of(bench)
    made.aer_counts = dict.fromkeys(("0000:01:00.0", "0000:02:00.0", ROOT), QUIET)
    return made


@pytest.fixture
def errors(settings: FakeSettings) -> Pcie:
    assert settings.aer_counts
    made = Pcie()
    made.remember_pcie_errors()
    return made


@pytest.fixture
def bridged(bench: FakeBench, settings: FakeSettings) -> Pcie:
    """The counters, kept with a bridge between the root port and every port of the card."""
    for nic in bench.dut.nics:
        nic.path = (link_of(UPPER, above=ABOVE), link_of(nic.pci, above=LOWER))
    settings.aer_counts |= dict.fromkeys((ABOVE, UPPER, LOWER), QUIET)
    made = Pcie()
    made.remember_pcie_errors()
    return made


def test_errors_of_before_do_not_count(errors: Pcie) -> None:
    errors.pcie_errors_should_not_have_grown()


@pytest.mark.parametrize("slot", ["0000:02:00.0", ROOT])
@pytest.mark.parametrize(
    ("counters", "words"),
    [
        (GROWN, "correctable BadTLP by 2"),
        (AerCounters({"BadTLP": 3, "RxErr": 0}, {"DLP": 0}, {"DLP": 1}), "fatal DLP by 1"),
        (
            AerCounters({"BadTLP": 3, "RxErr": 0}, {"DLP": 1, "New": 2}, {"DLP": 0}),
            "nonfatal DLP by 1, nonfatal New by 2",
        ),
    ],
)
def test_an_error_at_either_end_of_the_cards_own_link_is_wrong(
    errors: Pcie, settings: FakeSettings, slot: str, counters: AerCounters, words: str
) -> None:
    settings.aer_counts[slot] = counters
    with pytest.raises(CardFailure) as caught:
        errors.pcie_errors_should_not_have_grown()
    assert str(caught.value) == f"dut: PCI Express errors of {slot} grew: {words}; expected none"


@pytest.mark.parametrize("slot", [ABOVE, UPPER])
def test_an_error_of_a_link_above_a_bridge_is_nobodys(bridged: Pcie, settings: FakeSettings, slot: str) -> None:
    settings.aer_counts[slot] = GROWN
    with pytest.raises(Undecided) as caught:
        bridged.pcie_errors_should_not_have_grown()
    assert str(caught.value) == (
        f"dut: PCI Express errors of {slot} grew: correctable BadTLP by 2; expected none; "
        "it is at no end of the card's own link"
    )


@pytest.mark.parametrize("slot", [LOWER, "0000:01:00.0"])
def test_an_error_of_the_cards_own_link_below_a_bridge_is_the_cards(
    bridged: Pcie, settings: FakeSettings, slot: str
) -> None:
    settings.aer_counts |= {slot: GROWN, ABOVE: GROWN}
    with pytest.raises(CardFailure) as caught:
        bridged.pcie_errors_should_not_have_grown()
    first, second = str(caught.value).splitlines()
    assert first == f"dut: PCI Express errors of {slot} grew: correctable BadTLP by 2; expected none"
    assert second.startswith(f"dut: PCI Express errors of {ABOVE} grew")


@pytest.mark.parametrize(("slot", "verdict"), [(UPPER, Undecided), (LOWER, CardFailure)])
def test_a_bridge_that_counts_no_more_is_judged_alike(
    bridged: Pcie, settings: FakeSettings, slot: str, verdict: type[Exception]
) -> None:
    settings.aer_counts[slot] = None
    with pytest.raises(verdict, match=f"^dut: {slot} is gone, or counts its errors no more"):
        bridged.pcie_errors_should_not_have_grown()


def test_a_device_that_is_gone_is_wrong(errors: Pcie, settings: FakeSettings) -> None:
    settings.aer_counts[ROOT] = None
    with pytest.raises(CardFailure, match=r"^dut: 0000:00:01\.0 is gone, or counts its errors no more$"):
        errors.pcie_errors_should_not_have_grown()


@pytest.mark.parametrize(
    ("now", "verdict", "words"),
    [
        (
            AerCounters({"BadTLP": 0, "RxErr": 0}, {"DLP": 0}, {"DLP": 0}),
            Undecided,
            r"^dut: 0000:02:00\.0 counts its errors from 0 again; expected no device to leave the bus$",
        ),
        (
            AerCounters({"BadTLP": 0, "RxErr": 3}, {"DLP": 0}, {"DLP": 0}),
            CardFailure,
            r"^dut: PCI Express errors of 0000:02:00\.0 grew: correctable RxErr by 3; expected none$",
        ),
        (
            AerCounters({"BadTLP": 2, "RxErr": 0}, {"DLP": 0}, {"DLP": 0}),
            CardFailure,
            r"^dut: PCI Express errors of 0000:02:00\.0 grew: correctable BadTLP by 2; expected none$",
        ),
    ],
)
def test_a_device_that_is_counted_anew_has_errors_of_since_then_alone(
    errors: Pcie, settings: FakeSettings, now: AerCounters, verdict: type[Exception], words: str
) -> None:
    """The kernel forgets the counters of a device that is removed and found again."""
    settings.aer_counts["0000:02:00.0"] = now
    with pytest.raises(verdict, match=words):
        errors.pcie_errors_should_not_have_grown()


def _raiser(error: Exception) -> Callable[[str], NoReturn]:
    def lost(_: str) -> NoReturn:
        raise error

    return lost


def test_a_card_that_has_left_the_bus_is_gone(
    errors: Pcie, bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def aer(address: str) -> AerCounters | None:
        if address != ROOT:
            raise NoDevice(f"dut: there is no PCI device at {address}")
        return settings.aer(address)

    monkeypatch.setattr(bench.dut, "aer", aer)
    monkeypatch.setattr(bench.dut, "pcie_path", _raiser(BenchFault("dut: `readlink` failed")))
    settings.aer_counts[ROOT] = GROWN
    with pytest.raises(CardFailure) as caught:
        errors.pcie_errors_should_not_have_grown()
    assert str(caught.value).splitlines() == [
        "dut: 0000:01:00.0 is gone, or counts its errors no more",
        f"dut: PCI Express errors of {ROOT} grew: correctable BadTLP by 2; expected none",
        "dut: 0000:02:00.0 is gone, or counts its errors no more",
        "undecided: dut: `readlink` failed",
    ]


def test_a_card_that_cannot_be_asked_hides_no_error_above_it(
    errors: Pcie, bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def aer(address: str) -> AerCounters | None:
        if address != ROOT:
            raise BenchFault(f"dut: setpci: {address}: Capability 0010 not found")
        return settings.aer(address)

    monkeypatch.setattr(bench.dut, "aer", aer)
    with pytest.raises(BenchFault, match=r"0000:01:00\.0: Capability 0010 not found$"):
        errors.pcie_errors_should_not_have_grown()
    settings.aer_counts[ROOT] = GROWN
    with pytest.raises(CardFailure, match=rf"^dut: PCI Express errors of {ROOT} grew") as caught:
        errors.pcie_errors_should_not_have_grown()
    assert str(caught.value).endswith("\nundecided: dut: setpci: 0000:01:00.0: Capability 0010 not found")


def test_a_restart_between_cannot_tell(errors: Pcie, bench: FakeBench) -> None:
    bench.dut.boot()
    with pytest.raises(Undecided, match="dut: has booted since"):
        errors.pcie_errors_should_not_have_grown()


def test_counters_must_have_been_kept(settings: FakeSettings) -> None:
    assert settings.aer_counts
    with pytest.raises(BenchFault, match="no error counters were kept"):
        Pcie().pcie_errors_should_not_have_grown()


def test_ports_without_counters_are_not_applicable(settings: FakeSettings) -> None:
    settings.aer_counts["0000:02:00.0"] = None
    with pytest.raises(NotApplicable, match=r"^dut\.p1 \(0000:02:00\.0\): the kernel counts no PCI Express errors"):
        Pcie().remember_pcie_errors()


@pytest.mark.parametrize("slot", ["0000:01:00.0", "0000:02:00.0"])
def test_ports_whose_errors_nobody_hears_of_are_not_applicable(
    bench: FakeBench, settings: FakeSettings, monkeypatch: pytest.MonkeyPatch, slot: str
) -> None:
    counted = settings.aer

    def aer(address: str) -> AerCounters | None:
        if address == slot:
            raise NotApplicable(f"dut: PCI Express errors of {slot} are not counted: firmware owns AER")
        return counted(address)

    monkeypatch.setattr(bench.dut, "aer", aer)
    with pytest.raises(NotApplicable, match=r"^dut\.p\d \(\S+\): dut: PCI Express errors of .* firmware owns AER$"):
        Pcie().remember_pcie_errors()
    with pytest.raises(BenchFault, match="no error counters were kept"):
        Pcie().pcie_errors_should_not_have_grown()


def test_a_bridge_that_reports_nothing_is_left_out(bridged: Pcie, settings: FakeSettings) -> None:
    settings.aer_counts[ABOVE] = None
    bridged.remember_pcie_errors()
    bridged.pcie_errors_should_not_have_grown()


@pytest.mark.parametrize(
    ("slot", "counters", "words"),
    [
        (ROOT, None, f"{ROOT}: the kernel counts no PCI Express errors of it"),
        (ROOT, replace(QUIET, masked=("BadTLP", "Timeout")), f"{ROOT}: it masks BadTLP, Timeout"),
        ("0000:02:00.0", replace(QUIET, masked=("RxErr",)), r"0000:02:00\.0: it masks RxErr"),
    ],
)
def test_errors_of_the_cards_own_link_that_nobody_counts_are_not_none(
    settings: FakeSettings, slot: str, counters: AerCounters | None, words: str
) -> None:
    """The upper end counts the errors of what the card sends."""
    settings.aer_counts[slot] = counters
    errors = Pcie()
    errors.remember_pcie_errors()
    with pytest.raises(NotApplicable, match=f"^dut: not all PCI Express errors are counted: {words}$"):
        errors.pcie_errors_should_not_have_grown()
    settings.aer_counts["0000:01:00.0"] = GROWN
    with pytest.raises(CardFailure, match=r"^dut: PCI Express errors of 0000:01:00\.0 grew"):
        errors.pcie_errors_should_not_have_grown()


def test_a_bridge_that_reports_since_hides_no_error_of_the_card(bridged: Pcie, settings: FakeSettings) -> None:
    settings.aer_counts[ABOVE] = None
    errors = bridged
    errors.remember_pcie_errors()
    settings.aer_counts[ABOVE] = QUIET
    with pytest.raises(Undecided, match=f"^dut: {ABOVE} was not there when the error counters were kept$"):
        errors.pcie_errors_should_not_have_grown()
    settings.aer_counts["0000:02:00.0"] = GROWN
    with pytest.raises(CardFailure, match=r"^dut: PCI Express errors of 0000:02:00\.0 grew"):
        errors.pcie_errors_should_not_have_grown()


def test_a_port_that_counts_no_more_is_wrong(errors: Pcie, settings: FakeSettings) -> None:
    settings.aer_counts["0000:02:00.0"] = None
    with pytest.raises(CardFailure, match=r"^dut: 0000:02:00\.0 is gone, or counts its errors no more$"):
        errors.pcie_errors_should_not_have_grown()


def test_conventional_pci_is_not_applicable(settings: FakeSettings, bench: FakeBench, taken: Run) -> None:
    assert settings.aer_counts
    text = bench.sheet.read_text()
    section = text[text.index("pcie:") : text.index("\nlink:")]
    bus = "conventional_pci: {width_bits: 64, clock_mhz: 66, source: test}\n"
    bench.edit(bench.sheet, (section, bus))
    taken.card = bench.load()[1]
    with pytest.raises(NotApplicable, match="is of a card on conventional PCI"):
        Pcie().remember_pcie_errors()
