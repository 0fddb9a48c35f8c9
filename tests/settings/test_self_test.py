"""The card's self test: the driver's verdict, and a driver that has none although the sheet says so."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.host_records import SelfTest
from niclab.links import carrier
from niclab.run.run import Run
from niclab.settings import survival
from niclab.settings.dut_ports import Show

GOOD = SelfTest(True, (("link", 0),))


def carried_out(
    bench: FakeBench, taken: Run, answer: Callable[[str], SelfTest], declared: bool | None, show: Show = str
) -> None:
    """Let the ports test themselves; ``declared``: what the sheet says of the self test, None for nothing."""
    said = "" if declared is None else f"\nself_test:\n  offered: {str(declared).lower()}\n  source: test\n"
    bench.sheet.write_text(bench.sheet.read_text() + said)
    taken.card = bench.load()[1]
    host = taken.server(Role.DUT).host
    host.drivers = SimpleNamespace(self_test=lambda iface, _: answer(iface))  # type: ignore[assignment]
    survival.self_test(taken, False, show, carrier.not_back)


def none(iface: str) -> SelfTest:
    raise NotApplicable(f"dut: {iface}: its driver has no self test")


@pytest.mark.parametrize("declared", [True, False, None])
def test_a_card_that_passes(bench: FakeBench, taken: Run, declared: bool | None) -> None:
    carried_out(bench, taken, lambda _: GOOD, declared)


def test_a_declared_self_test_that_is_gone_is_the_cards(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(CardFailure) as caught:
        carried_out(bench, taken, none, True)
    first, second = str(caught.value).splitlines()
    assert first.startswith("dut.p0 (") and second.startswith("dut.p1 (")
    assert first.endswith(f"has no self test; sheet {taken.card.name} says self_test.offered: true")


@pytest.mark.parametrize("declared", [False, None])
def test_one_that_nobody_declared_is_not_applicable(bench: FakeBench, taken: Run, declared: bool | None) -> None:
    with pytest.raises(NotApplicable, match="no self test"):
        carried_out(bench, taken, none, declared)


@pytest.mark.parametrize(("passed", "verdict"), [(False, CardFailure), (True, Undecided)])
def test_a_port_without_hides_no_other(bench: FakeBench, taken: Run, passed: bool, verdict: type[Exception]) -> None:
    def answer(iface: str) -> SelfTest:
        return SelfTest(passed, (("nvram", int(not passed)),)) if iface == "enp1s0" else none(iface)

    with pytest.raises(verdict, match=r"nvram 1" if verdict is CardFailure else "enp2s0: its driver has no self test"):
        carried_out(bench, taken, answer, False)


def test_a_link_that_the_peer_keeps_down_is_not_the_cards(bench: FakeBench, taken: Run) -> None:
    """Nor is that a driver finds none."""
    bench.nic("peer.p0").admin_up = False
    with pytest.raises(BenchFault, match=r"^dut\.p0 .* has no carrier .* after the bench was made ready") as caught:
        carried_out(bench, taken, lambda iface: SelfTest(iface == "enp2s0", (("link", int(iface == "enp1s0")),)), True)
    assert "expected a link (sheet intel-82574l); partner-link (" in str(caught.value)


def test_a_link_that_the_peer_keeps_down_hides_no_failure_of_another_port(bench: FakeBench, taken: Run) -> None:
    bench.nic("peer.p0").admin_up = False
    with pytest.raises(CardFailure, match=r"^dut\.p1 .*fails: .* nvram 1"):
        carried_out(bench, taken, lambda _: SelfTest(False, (("nvram", 1),)), True)


def test_a_link_that_is_lost_by_the_peer_meanwhile_is_not_the_cards(bench: FakeBench, taken: Run) -> None:
    def answer(_: str) -> SelfTest:
        bench.nic("peer.p0").admin_up = False
        return GOOD

    with pytest.raises(BenchFault, match=r"^dut\.p0 .* has no carrier .* after its self test"):
        carried_out(bench, taken, answer, True)


def test_a_link_that_the_dut_loses_by_its_self_test_is_the_cards(bench: FakeBench, taken: Run) -> None:
    def answer(_: str) -> SelfTest:
        bench.cables.stuck["dut.p0"] = False
        return GOOD

    with pytest.raises(CardFailure, match=r"^dut\.p0 .* has no carrier .* after its self test; expected a link"):
        carried_out(bench, taken, answer, True)


@pytest.mark.parametrize("lost", ["nvram", "link"])
def test_a_result_that_cannot_be_read_hides_no_failure_of_another_port(bench: FakeBench, taken: Run, lost: str) -> None:
    def answer(iface: str) -> SelfTest:
        if iface == "enp2s0":
            raise BenchFault("dut: connection lost")
        if lost == "nvram":
            return SelfTest(False, (("nvram", 1),))
        bench.cables.stuck["dut.p0"] = False
        return GOOD

    words = r"^dut\.p0 .*nvram 1" if lost == "nvram" else r"^dut\.p0 .* has no carrier .* after its self test"
    with pytest.raises(CardFailure, match=words) as caught:
        carried_out(bench, taken, answer, True)
    assert str(caught.value).endswith("\nundecided: dut: connection lost")


def test_a_result_that_fails_is_named(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(CardFailure, match=r"its self test fails: results other than 0: link 1; expected the verdict "):
        carried_out(bench, taken, lambda _: SelfTest(False, (("nvram", 0), ("link", 1))), True)


def test_a_verdict_that_no_result_explains_counts_alone(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(
        CardFailure, match=r"its self test fails: results other than 0: none; expected the verdict PASS"
    ):
        carried_out(bench, taken, lambda _: SelfTest(False, (("link", 0),)), True)


@pytest.mark.parametrize(
    "results", [(("phy    alive", 1), ("core   memory", 0)), (("loopback.PHYXS.tx_sent", 32),), (("link", -1),)]
)
def test_results_of_a_test_that_passes_are_shown_alone(
    bench: FakeBench, taken: Run, results: tuple[tuple[str, int], ...]
) -> None:
    seen = list[str]()
    carried_out(bench, taken, lambda _: SelfTest(True, results), True, seen.append)
    assert len(seen) == 2 and all(f": passed: {dict(results)}" in line for line in seen)
