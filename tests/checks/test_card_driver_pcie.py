"""The driver in memory against the one on disk, its reload, and the PCI Express link along the whole path."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import FILE, KERNEL, MODULE, link_of

from Driver import Driver
from niclab.bench.records import DeclaredDeviation, SiliconFact
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.hosts.host_records import PcieLink
from niclab.hosts.pci.common import links_of
from niclab.hosts.pci.lspci import read_lspci
from niclab.hosts.pci.pciconf import read_pciconf
from niclab.run.run import Run
from Pcie import Pcie


class TestDriverOfTheSystem:
    @pytest.mark.usefixtures("taken")
    def test_one_that_came_with_it_is_green(self, bench: FakeBench) -> None:
        bench.dut.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/kernel/drivers/net/e1000e.ko")
        Driver().driver_should_be_the_systems_own()
        bench.dut.loaded, bench.dut.file = None, replace(FILE, filename=None, built_in=True)
        Driver().driver_should_be_the_systems_own()
        Driver().driver_should_be_loaded()

    @pytest.mark.usefixtures("taken")
    def test_one_that_was_installed_or_is_not_there_is_wrong(self, bench: FakeBench) -> None:
        bench.dut.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/updates/e1000e.ko")
        with pytest.raises(
            CardFailure, match=r"^dut: module e1000e is /lib/\S*/updates/e1000e\.ko; expected the system's"
        ):
            Driver().driver_should_be_the_systems_own()
        bench.dut.loaded = None
        with pytest.raises(CardFailure, match="\ndut: driver e1000e is not loaded; expected no step for that"):
            Driver().driver_should_be_the_systems_own()

    @pytest.mark.usefixtures("taken")
    def test_a_port_that_another_driver_drives_is_wrong(self, bench: FakeBench) -> None:
        bench.dut.file = replace(FILE, filename=f"/lib/modules/{KERNEL}/kernel/drivers/net/e1000e.ko")
        bench.dut.nics[1].device = replace(bench.dut.nics[1].device, driver="vfio-pci")
        with pytest.raises(
            CardFailure, match=r"^dut\.p1 \(.*\) has driver vfio-pci; expected e1000e \(sheet intel-82574l\)$"
        ):
            Driver().driver_should_be_the_systems_own()

    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (
                'version: {required: ["3.8.1"]}',
                "names no driver that comes with the system apart from e1000e for linux",
            ),
            (
                "in_kernel: true\n    package: {name: ab, required: ['1'], source: t}",
                "names a package of e1000e for linux",
            ),
        ],
    )
    def test_one_that_takes_a_step_is_not_asked(self, bench: FakeBench, taken: Run, change: str, words: str) -> None:
        bench.edit(bench.sheet, ("in_kernel: true", change))
        taken.card = bench.load()[1]
        with pytest.raises(NotApplicable, match=words):
            Driver().driver_should_be_the_systems_own()


@pytest.mark.usefixtures("taken")
class TestLoadedDriver:
    def test_not_loaded_is_wrong(self, bench: FakeBench) -> None:
        bench.dut.loaded = None
        with pytest.raises(CardFailure, match=r"^dut: driver e1000e is not loaded$"):
            Driver().loaded_driver_should_be_the_installed_one()
        wanted = r"^dut: driver e1000e is not loaded after boot; expected it at boot \(sheet intel-82574l\)$"
        with pytest.raises(CardFailure, match=wanted):
            Driver().driver_should_be_loaded()

    @pytest.mark.parametrize("field", ["srcversion", "version"])
    @pytest.mark.parametrize(("memory", "disk"), [("A", "B"), ("A", None), (None, "B")])
    def test_another_source_is_wrong(self, bench: FakeBench, field: str, memory: str | None, disk: str | None) -> None:
        bench.dut.loaded = replace(MODULE, **{field: memory})  # type: ignore[arg-type]  # a field of text
        bench.dut.file = replace(FILE, **{field: disk})  # type: ignore[arg-type]  # a field of text
        with pytest.raises(CardFailure) as caught:
            Driver().loaded_driver_should_be_the_installed_one()
        found = f"dut: driver e1000e in memory has {field} {memory}, /lib/modules/e1000e.ko has {disk}"
        assert str(caught.value) == found

    def test_another_build_of_the_same_source_is_wrong(self, bench: FakeBench) -> None:
        bench.dut.same_build = False
        with pytest.raises(CardFailure, match=r"^dut: .* in memory is of another build than /lib/modules/e1000e\.ko$"):
            Driver().loaded_driver_should_be_the_installed_one()

    @pytest.mark.parametrize("told", ["srcversion", "version"])
    def test_without_a_build_id_source_or_version_decides(self, bench: FakeBench, told: str) -> None:
        nothing = {"srcversion": None, "version": None, told: "1"}
        bench.dut.same_build = None
        bench.dut.loaded = replace(MODULE, **nothing)  # type: ignore[arg-type]  # fields of text
        bench.dut.file = replace(FILE, **nothing)  # type: ignore[arg-type]  # fields of text
        Driver().loaded_driver_should_be_the_installed_one()

    def test_nothing_told_is_undecided(self, bench: FakeBench) -> None:
        bench.dut.same_build = None
        bench.dut.loaded, bench.dut.file = replace(MODULE, srcversion=None), replace(FILE, srcversion=None)
        with pytest.raises(Undecided, match=r"tells neither build id nor source version nor version"):
            Driver().loaded_driver_should_be_the_installed_one()

    def test_the_same_build_id_alone_is_enough(self, bench: FakeBench) -> None:
        bench.dut.loaded, bench.dut.file = replace(MODULE, srcversion=None), replace(FILE, srcversion=None)
        Driver().loaded_driver_should_be_the_installed_one()


def test_reloading_has_its_undo_in_the_journal_until_it_is_done(bench: FakeBench, taken: Run) -> None:
    before = taken.journal.pending()
    Driver().reload_driver()
    assert bench.dut.calls == ["reload e1000e"]  # the fake expects the undo to be there first
    assert taken.journal.pending() == before


def test_a_reload_that_fails_stays_in_the_journal(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: str) -> None:
        raise BenchFault("dut: module is in use")

    monkeypatch.setattr(bench.dut, "reload_driver", fail)
    with pytest.raises(BenchFault, match=r"in use"):
        Driver().reload_driver()
    assert taken.journal.pending()[0].action.command == "modprobe e1000e"


CASES = Path(__file__).parents[1] / "hosts" / "cases"
ROOT, BRIDGE = "0000:00:01.0", "0000:03:00.0"


def wide(bench: FakeBench, taken: Run) -> None:
    """A card that wants x8 at 8 GT/s, below a switch, good on both ports."""
    bench.edit(bench.sheet, ("speed_gts: 2.5", "speed_gts: 8"), ("  width: 1", "  width: 8"))
    taken.card = bench.load()[1]
    for nic in bench.dut.nics:
        card = link_of(nic.pci, width=8, gts=8, above=BRIDGE)
        nic.path = (link_of(BRIDGE, width=8, gts=16, above=ROOT), card)


class TestPcie:
    @pytest.fixture(autouse=True)
    def _wide(self, bench: FakeBench, taken: Run) -> None:
        wide(bench, taken)

    def test_a_good_path_is_green(self) -> None:
        Pcie().pcie_link_should_be_as_on_the_sheet()

    @pytest.mark.parametrize("index", [0, 1])
    def test_a_narrow_link_of_the_card_is_wrong(self, bench: FakeBench, index: int) -> None:
        nic = bench.dut.nics[index]
        link = replace(nic.path[1], width=4)
        nic.path = (nic.path[0], link)
        with pytest.raises(CardFailure) as caught:
            Pcie().pcie_link_should_be_as_on_the_sheet()
        shown = f"{link.upstream.slot} to {link.downstream.slot}: x4 at {link.gts:g} GT/s"
        wanted = f"dut.p{index} ({nic.pci}) trained to x4 ({shown}); expected x8 (sheet intel-82574l)"
        assert str(caught.value) == wanted

    @pytest.mark.parametrize("index", [0, 1])
    def test_a_slow_link_of_the_card_is_wrong(self, bench: FakeBench, index: int) -> None:
        nic = bench.dut.nics[index]
        link = replace(nic.path[1], gts=5.0)
        nic.path = (nic.path[0], link)
        with pytest.raises(CardFailure) as caught:
            Pcie().pcie_link_should_be_as_on_the_sheet()
        shown = f"{link.upstream.slot} to {link.downstream.slot}: x8 at 5 GT/s"
        wanted = f"dut.p{index} ({nic.pci}) trained to 5 GT/s ({shown}); expected 8 GT/s (sheet intel-82574l)"
        assert str(caught.value) == wanted

    @pytest.mark.parametrize("lost", [0, 1])
    def test_a_port_that_cannot_be_read_hides_no_narrow_link_of_another(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch, lost: int
    ) -> None:
        gone, nic = bench.dut.nics[lost], bench.dut.nics[1 - lost]
        read = bench.dut.pcie_path

        def path(address: str) -> tuple[PcieLink, ...]:
            if address == gone.pci:
                raise BenchFault(f"dut: link -> {gone.pci}: not trained")
            return read(address)

        monkeypatch.setattr(bench.dut, "pcie_path", path)
        with pytest.raises(BenchFault, match=r"not trained$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()
        nic.path = (nic.path[0], replace(nic.path[1], width=4))
        with pytest.raises(CardFailure, match=rf"^dut\.p{1 - lost} .* trained to x4 ") as caught:
            Pcie().pcie_link_should_be_as_on_the_sheet()
        assert str(caught.value).endswith(f"\nundecided: dut: link -> {gone.pci}: not trained")

    @pytest.mark.parametrize(
        ("limits", "said"),
        [
            ({"lnkcap_width": 4}, "x4 only"),
            ({"lnkcap_gts": 2.5}, "2.5 GT/s only"),
        ],
        ids=["narrow", "slow"],
    )
    @pytest.mark.parametrize("place", [0, 1], ids=["above the switch", "at the card"])
    def test_a_slot_that_can_do_no_more_is_the_benchs(
        self, bench: FakeBench, place: int, limits: dict[str, Any], said: str
    ) -> None:
        nic = bench.dut.nics[0]
        link = nic.path[place]
        link = replace(
            link,
            upstream=replace(link.upstream, **limits),
            width=limits.get("lnkcap_width", link.width),
            gts=limits.get("lnkcap_gts", link.gts),
        )
        nic.path = (link, nic.path[1]) if place == 0 else (nic.path[0], link)
        with pytest.raises(BenchFault) as caught:
            Pcie().pcie_link_should_be_as_on_the_sheet()
        assert str(caught.value).endswith(f"; {link.upstream.slot} above it can do {said} (LnkCap)")

    @pytest.mark.parametrize(
        ("gts", "verdict", "whose"),
        [
            (5, BenchFault, "by firmware"),
            (2.5, Undecided, "by firmware, or by a kernel that could not train it faster ('retraining' in its log)"),
        ],
    )
    @pytest.mark.parametrize("place", [0, 1], ids=["above the switch", "at the card"])
    def test_a_slot_that_is_set_to_a_lower_speed_is_the_benchs_unless_the_kernel_may_have_set_it(
        self, bench: FakeBench, place: int, gts: float, verdict: type[Exception], whose: str
    ) -> None:
        """The kernel sets 2.5 GT/s where a link did not train, whichever end is why (pcie_failed_link_retrain())."""
        nic = bench.dut.nics[0]
        link = nic.path[place]
        link = replace(link, upstream=replace(link.upstream, lnkcap_gts=8, lnkctl2_gts=gts), gts=gts)
        nic.path = (link, nic.path[1]) if place == 0 else (nic.path[0], link)
        said = f"; {link.upstream.slot} above it is set to {gts:g} GT/s at most (LnkCtl2 Target Link Speed): {whose}"
        with pytest.raises(verdict) as caught:
            Pcie().pcie_link_should_be_as_on_the_sheet()
        assert str(caught.value).endswith(said)

    @pytest.mark.parametrize(("change", "said"), [({"width": 4}, "to x4"), ({"gts": 2.5}, "to 2.5 GT/s")])
    def test_a_link_between_bridges_that_could_do_more_is_nobodys(
        self, bench: FakeBench, change: dict[str, Any], said: str
    ) -> None:
        """The bridge may be on a riser, or on the card."""
        nic = bench.dut.nics[0]
        nic.path = (replace(nic.path[0], **change), nic.path[1])
        with pytest.raises(Undecided, match=rf"trained {said} .*; {BRIDGE} is a bridge: of the slot, or of the card$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()
        nic.path = (nic.path[0], replace(nic.path[1], gts=5))
        other = bench.dut.nics[1]
        other.path = (replace(other.path[0], **change), other.path[1])
        with pytest.raises(CardFailure, match=rf"^dut\.p0 .* to 5 GT/s [\s\S]*\ndut\.p1 .*{said} "):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    @pytest.mark.parametrize(
        ("limits", "change", "said"),
        [({"lnkcap_width": 4}, {"width": 4}, "x4"), ({"lnkcap_gts": 5}, {"gts": 5}, "5 GT/s")],
    )
    def test_a_bridge_that_can_do_no_more_is_the_benchs(
        self, bench: FakeBench, limits: dict[str, Any], change: dict[str, Any], said: str
    ) -> None:
        nic = bench.dut.nics[0]
        below = replace(nic.path[0].downstream, **limits)
        nic.path = (replace(nic.path[0], downstream=below, **change), nic.path[1])
        wanted = rf"; {BRIDGE}, a bridge above the card, can do {said} only \(LnkCap\)$"
        with pytest.raises(BenchFault, match=wanted):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_a_slow_card_below_a_slower_slot_is_found_too(self, bench: FakeBench) -> None:
        """The slowest link is the slot's, but it is not what holds the card back."""
        nic = bench.dut.nics[0]
        slot = replace(nic.path[0], gts=2.5, upstream=replace(nic.path[0].upstream, lnkcap_gts=2.5))
        nic.path = (slot, replace(nic.path[1], gts=5))
        with pytest.raises(
            CardFailure, match=r"^dut\.p0 .* to 5 GT/s .*8 GT/s \(sheet \S+\)\ndut\.p0 .* can do 2\.5 GT/s only"
        ):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_the_public_case_of_a_clamped_slot(self, bench: FakeBench) -> None:
        """Linux-kernel 2407.3/05368 and 2602.2/09285."""
        (file,) = CASES.glob("08-*")
        for nic in bench.dut.nics:
            nic.path = links_of("dut", "0000:04:00.0", read_lspci(file.read_text()), ("Root Port",))
        with pytest.raises(Undecided, match=r"trained to 2\.5 GT/s .*; 0000:00:03\.0 above it is set to 2\.5 GT/s"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_the_public_case_of_a_narrow_link(self, bench: FakeBench) -> None:
        """freebsd-hackers, August 2025, message 4922: x2 of x8."""
        (file,) = CASES.glob("09-*")
        (device,) = read_pciconf(file.read_text()).devices
        above = replace(device, slot="0000:00:01.0", port_type="root port", lnkcap_width=16)
        for nic in bench.dut.nics:
            nic.path = links_of("dut", device.slot, [above, device], ("root port",))
        with pytest.raises(CardFailure, match=r"trained to x2 \(.*: x2 at 8 GT/s\); expected x8 \(sheet \S+\)\n"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    @pytest.mark.parametrize(("target", "gts"), [(8, 2.5), (None, 2.5), (5, 2.5), (16, 16)])
    def test_a_slot_that_is_not_set_to_that_speed_leaves_it_to_the_card(
        self, bench: FakeBench, target: float | None, gts: float
    ) -> None:
        """And the lower end does not decide: a card of 2.5 GT/s has that as its own target."""
        nic = bench.dut.nics[0]
        link = nic.path[1]
        above, below = replace(link.upstream, lnkctl2_gts=target), replace(link.downstream, lnkctl2_gts=gts)
        nic.path = (nic.path[0], replace(link, upstream=above, downstream=below, gts=gts))
        with pytest.raises(CardFailure, match=r" GT/s\); expected 8 GT/s \(sheet intel-82574l\)$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_a_slot_that_can_do_more_leaves_it_to_the_card(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[0]
        above = replace(nic.path[1].upstream, lnkcap_width=8, lnkcap_gts=16)
        nic.path = (nic.path[0], replace(nic.path[1], upstream=above, width=4))
        with pytest.raises(CardFailure, match=r"trained to x4 .*; expected x8 \(sheet \S+\)$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_narrow_and_slow_are_both_said(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[0]
        nic.path = (nic.path[0], replace(nic.path[1], width=4, gts=2.5))
        with pytest.raises(CardFailure, match=r"trained to x4 .*\n.* trained to 2\.5 GT/s"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_more_than_the_sheet_says_is_wrong_too(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[1]
        nic.path = (link_of(nic.pci, width=16, gts=8),)
        with pytest.raises(CardFailure, match=r"^dut\.p1 \S+ trained to x16 .*; expected x8 \(sheet \S+\)$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_faster_than_the_sheet_says_is_wrong_too(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[1]
        nic.path = (link_of(nic.pci, width=8, gts=16),)
        with pytest.raises(CardFailure, match=r"^dut\.p1 \S+ trained to 16 GT/s .*; expected 8 GT/s \(sheet \S+\)$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    @pytest.mark.parametrize(
        ("gts", "verdict", "said"),
        [
            (8.0, Deviation, r"says pcie\.width: x8; the model of this bench deviates: one lane \(test\)$"),
            (5.0, CardFailure, r"trained to 5 GT/s .*; expected 8 GT/s \(sheet \S+\)$"),
        ],
    )
    def test_a_model_whose_width_deviates_is_judged_by_its_speed(
        self,
        bench: FakeBench,
        taken: Run,
        monkeypatch: pytest.MonkeyPatch,
        gts: float,
        verdict: type[Exception],
        said: str,
    ) -> None:
        declared = DeclaredDeviation(card="intel-82574l", fact=SiliconFact.PCIE_WIDTH, how="one lane", source="test")
        monkeypatch.setattr(taken, "bench", taken.bench.model_copy(update={"deviations": (declared,)}))
        for nic in bench.dut.nics:
            nic.path = (link_of(nic.pci, width=1, gts=gts),)
        with pytest.raises(verdict, match=said):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_no_path_is_undecided(self, bench: FakeBench) -> None:
        bench.dut.nics[1].path = ()
        with pytest.raises(Undecided, match=r"^dut\.p1 \(0000:02:00\.0\): no PCI Express link above it"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    def test_no_path_hides_no_narrow_link_of_another_port(self, bench: FakeBench) -> None:
        first, second = bench.dut.nics[:2]
        first.path = ()
        second.path = (second.path[0], replace(second.path[1], width=4))
        with pytest.raises(CardFailure, match=r"^dut\.p1 .* trained to x4 .*\ndut\.p0 .* no PCI Express link above it"):
            Pcie().pcie_link_should_be_as_on_the_sheet()

    @pytest.mark.parametrize(("old", "field"), [("speed_gts: 8", "speed_gts"), ("  width: 8", "width")])
    def test_an_unknown_fact_is_not_applicable(self, bench: FakeBench, taken: Run, old: str, field: str) -> None:
        bench.edit(bench.sheet, (old, f"{old.rpartition(' ')[0]} {{unknown: test}}"))
        taken.card = bench.load()[1]
        with pytest.raises(NotApplicable, match=f"^sheet intel-82574l does not know pcie\\.{field}: test$"):
            Pcie().pcie_link_should_be_as_on_the_sheet()
