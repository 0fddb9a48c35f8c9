"""A VLAN filter that the sheet declares: on, switched on for the test, or missing."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_settings import settings_of, with_sheet

from niclab.bench.records import Role
from niclab.core.verdict import CardFailure, NotApplicable
from niclab.frames import filters
from niclab.hosts.settings.ethtool_records import Feature
from niclab.run.run import Run
from niclab.settings.dut_ports import DutPort

ROW = "    - name: vlan-filter\n      linux: {word: rx-vlan-filter, default: DEFAULT, change: CHANGE}\n"
BEFORE = "    - name: vlan-strip\n"


def asked(bench: FakeBench, taken: Run, on: bool, default: str = "true", change: str = "fixed") -> list[str]:
    """The features that must be set so that a port whose filter is on, or off, filters VLANs."""
    row = ROW.replace("DEFAULT", default).replace("CHANGE", change)
    with_sheet(bench, taken, (BEFORE, row + BEFORE))
    dut = DutPort(taken, taken.ports(Role.DUT)[0])
    settings_of(bench).ports[dut.iface].features["rx-vlan-filter"] = Feature(on, change == "fixed", None)
    return [str(each) for each in filters._filter_on(dut)]


def test_a_filter_that_is_on_needs_nothing(bench: FakeBench, taken: Run) -> None:
    assert asked(bench, taken, True) == []


def test_a_filter_that_is_off_is_switched_on(bench: FakeBench, taken: Run) -> None:
    assert asked(bench, taken, False, change="both") == ["offload vlan-filter on at the sender"]


@pytest.mark.parametrize("change", ["fixed", "not-off"])
def test_a_declared_filter_that_is_off_for_good_is_the_cards(bench: FakeBench, taken: Run, change: str) -> None:
    said = r"^dut\.p0 .*: offload vlan-filter \(rx-vlan-filter\) is off and cannot be switched; expected it on"
    with pytest.raises(CardFailure, match=said):
        asked(bench, taken, False, change=change)


def test_a_filter_that_the_sheet_does_not_declare_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(NotApplicable, match="does not filter VLANs, nor does sheet"):
        asked(bench, taken, False, default="false")


def test_a_sheet_without_the_offload_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    with_sheet(bench, taken)
    with pytest.raises(NotApplicable, match="names no offload vlan-filter for linux"):
        filters._filter_on(DutPort(taken, taken.ports(Role.DUT)[0]))
