"""Fresh starts of the dut: made once, looked at at once, and judged by every test that asks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fake_bench import FakeBench
from fake_parts import link_of

from Driver import Driver
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.links.returning.starts import Start
from niclab.run.run import Run
from niclab.transports.bmc.bmc import PowerAction
from Pcie import Pcie
from Power import Power


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("start", Start)
def test_a_start_is_made_once_for_all_who_ask(bench: FakeBench, start: Start) -> None:
    for _ in range(3):
        Power().start_the_dut_once(start)
        Driver().driver_should_have_been_loaded(start)
        Pcie().pcie_link_should_have_come_up_as_on_the_sheet(start)
    orders = bench.bmcs[Role.DUT]["ipmi"].orders
    assert bench.dut.boots == 2
    assert orders == ([PowerAction.OFF, PowerAction.ON] if start is Start.COLD else [])


@pytest.mark.usefixtures("taken")
def test_each_kind_of_start_is_its_own(bench: FakeBench) -> None:
    for start in Start:
        Power().start_the_dut_once(start)
    assert bench.dut.boots == 3


@pytest.mark.usefixtures("taken")
def test_nothing_is_claimed_of_a_start_that_was_not_made() -> None:
    Power().start_the_dut_once(Start.WARM)
    with pytest.raises(BenchFault, match=r"^dut: no power cycle was made in this run; 'Start"):
        Pcie().pcie_link_should_have_come_up_as_on_the_sheet(Start.COLD)


@pytest.mark.usefixtures("taken")
def test_what_was_wrong_right_after_it_stays_wrong(bench: FakeBench) -> None:
    """The lab loads the driver and the link may train again; the test that asks later gets the first look."""
    good = bench.dut.nics[0].path
    bench.dut.nics[0].path = (link_of(bench.dut.nics[0].pci, width=1, gts=1.0),)
    bench.dut.nics[1].device = replace(bench.dut.nics[1].device, driver="vfio-pci")
    Power().start_the_dut_once(Start.COLD)
    bench.dut.nics[0].path = good
    bench.dut.nics[1].device = replace(bench.dut.nics[1].device, driver="e1000e")
    with pytest.raises(CardFailure, match="trained to 1 GT/s"):
        Pcie().pcie_link_should_have_come_up_as_on_the_sheet(Start.COLD)
    with pytest.raises(CardFailure, match="vfio-pci after boot"):
        Driver().driver_should_have_been_loaded(Start.COLD)


@pytest.mark.usefixtures("taken")
def test_a_driver_that_the_lab_had_to_load_was_not_loaded(bench: FakeBench) -> None:
    bench.dut.loaded = None
    Power().start_the_dut_once(Start.COLD)
    with pytest.raises(CardFailure, match="e1000e is not loaded after boot"):
        Driver().driver_should_have_been_loaded(Start.COLD)


def test_a_power_cycle_of_another_server_is_no_cold_start(bench: FakeBench) -> None:
    bench.give_to_boot(0.2)
    bench.take()
    bench.bmcs[Role.DUT]["ipmi"].elsewhere = True
    with pytest.raises(BenchFault, match=r"^dut BMC: has carried out power off and on, and dut still runs the boot"):
        Power().start_the_dut_once(Start.COLD)
    with pytest.raises(BenchFault, match=r"^dut: no power cycle was made in this run"):
        Driver().driver_should_have_been_loaded(Start.COLD)


def test_without_a_bmc_a_cold_start_is_not_applicable(bench: FakeBench, taken: Run) -> None:
    server = taken.bench.server(Role.DUT).model_copy(update={"bmc": None})
    taken.server(Role.DUT).description = server
    taken.server(Role.DUT).__dict__.pop("bmc", None)
    with pytest.raises(NotApplicable, match="dut has no BMC"):
        Power().start_the_dut_once(Start.COLD)
    assert bench.dut.boots == 1
