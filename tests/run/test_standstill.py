"""A check that a standstill of a server fails by itself blames the card only while both servers kept running."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, KernelFailure, Undecided
from niclab.run.run import Run
from niclab.run.watching import standstill

LOST = "dut.p0 to peer.p0: 9 of 10 pings answered"


@pytest.fixture(autouse=True)
def stood_before(bench: FakeBench) -> None:
    """Let both servers have stood still before the check, to which that does not matter."""
    for ssh in bench.ssh.values():
        ssh.stood = "stood 400\n"


def test_a_failure_while_both_keep_running_is_the_card_s(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(CardFailure, match=rf"^{LOST}$"), standstill.blameless(taken):
        raise CardFailure(LOST)
    for ssh in bench.ssh.values():
        (watch,) = ssh.watches
        assert watch.command.endswith(" 20 150 14400.0")


@pytest.mark.parametrize("role", list(Role))
def test_a_failure_while_a_server_stood_still_is_undecided(bench: FakeBench, taken: Run, role: Role) -> None:
    with pytest.raises(Undecided) as caught, standstill.blameless(taken):
        bench.ssh[role].stood += "stood 260\n"
        raise CardFailure(LOST)
    assert str(caught.value) == f"{LOST}\nmeanwhile {role.value} stood still for 260 ms; expected both to keep running"


def test_a_standstill_alone_fails_nothing(bench: FakeBench, taken: Run) -> None:
    with standstill.blameless(taken):
        bench.ssh[Role.DUT].stood += "stood 260\n"


def test_a_fault_of_the_bench_stays_one(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(BenchFault, match=r"^no answer$"), standstill.blameless(taken):
        bench.ssh[Role.DUT].stood += "stood 260\n"
        raise BenchFault("no answer")


@pytest.mark.parametrize("role", list(Role))
def test_a_server_that_cannot_be_asked_leaves_the_words_of_the_failure(
    bench: FakeBench, taken: Run, role: Role
) -> None:
    """Nobody knows whether it kept running: the failure is no proof, and its words are no less needed."""
    with pytest.raises(Undecided) as caught, standstill.blameless(taken):
        bench.ssh[role].host.crash()
        raise CardFailure(LOST)
    first, *more = str(caught.value).splitlines()
    assert first == LOST and f"meanwhile {role.value}" in "".join(more)
    assert "expected to see both keep running" in "".join(more)


def test_trouble_of_a_kernel_is_no_standstill(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(KernelFailure, match=r"^dut: Oops$"), standstill.blameless(taken):
        bench.ssh[Role.DUT].stood += "stood 260\n"
        raise KernelFailure("dut: Oops")
