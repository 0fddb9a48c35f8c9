"""The card's self test: each result, and a driver that has none although the sheet says so."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import CardFailure, NotApplicable
from niclab.hosts.host_records import SelfTest
from niclab.run.run import Run
from niclab.settings import survival

GOOD = SelfTest(True, (("link", 0),))


def carried_out(bench: FakeBench, taken: Run, answer: Callable[[str], SelfTest], declared: bool | None) -> None:
    """Let the ports test themselves; ``declared``: what the sheet says of the self test, None for nothing."""
    said = "" if declared is None else f"\nself_test:\n  offered: {str(declared).lower()}\n  source: test\n"
    bench.sheet.write_text(bench.sheet.read_text() + said)
    taken.card = bench.load()[1]
    host = taken.server(Role.DUT).host
    host.drivers = SimpleNamespace(self_test=lambda iface, _: answer(iface))  # type: ignore[assignment]
    survival.self_test(taken, False, str)


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


def test_a_result_that_fails_is_named(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(CardFailure, match=r"its self test fails: link 1; expected every result 0"):
        carried_out(bench, taken, lambda _: SelfTest(False, (("link", 1),)), True)
