"""Cables laid to the switch and back: proven there, put back whatever happens, not asked of a bench that cannot."""

from __future__ import annotations

import pytest
from bench_fixtures import LEARNED
from fake_bench import FakeBench
from fake_switch import FakeSwitch

from niclab.bench.records import Role, Wiring
from niclab.commands import cli
from niclab.core.undo import Journal
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.links import patch_panel
from niclab.run import run as runs
from niclab.run.run import Run


def wirings(taken: Run) -> set[Wiring]:
    return {path.through for path in taken.bench.paths}


def test_every_path_goes_through_the_switch_and_is_proven(bench: FakeBench, patched: Run) -> None:
    assert wirings(patched) == {Wiring.DIRECT} and bench.state["wiring"] == "direct"
    proof = patch_panel.connect(patched)
    assert wirings(patched) == {Wiring.SWITCH} and bench.state["wiring"] == "switch"
    assert proof == [
        "path a: sw1 has learned dut.p0 at Gi1/0/3 and peer.p0 at Gi1/0/4, and at no other port",
        "path b: sw1 has learned dut.p1 at Gi1/0/1 and peer.p1 at Gi1/0/2, and at no other port",
    ]
    assert patch_panel.connect(patched) == []  # they are there


def test_they_are_laid_back_and_proven_again(bench: FakeBench, patched: Run) -> None:
    before = patched.journal.pending()
    patch_panel.connect(patched)
    assert [entry.what for entry in patched.journal.pending()[: -len(before) or None]] == ["the cables are laid to sw1"]
    assert [line.partition(":")[0] for line in patch_panel.disconnect(patched)] == ["path a", "path b"]
    assert wirings(patched) == {Wiring.DIRECT} and bench.state["wiring"] == "direct"
    assert patched.journal.pending() == before
    assert patch_panel.disconnect(patched) == []


def test_a_port_answers_for_its_own_address_alone_while_it_is_at_the_switch(bench: FakeBench, patched: Run) -> None:
    alone = "echo 1 > /proc/sys/net/ipv4/conf/enp2s0/arp_ignore"
    bench.dut.mixed_arp.add("enp2s0")
    bench.ssh[Role.DUT].replies[alone] = ""
    before = patched.journal.pending()
    patch_panel.connect(patched)
    new = patched.journal.pending()[: -len(before) or None]
    assert new[0].action.command == alone.replace("echo 1", "echo 0") and new[0].subject == "dut.p1"


def test_a_cable_at_the_wrong_port_of_the_switch_stops_it_and_they_are_laid_back(
    bench: FakeBench, switch: FakeSwitch, patched: Run
) -> None:
    switch.forget(LEARNED["peer.p1"][0])
    switch.learn(LEARNED["peer.p1"][0], "Gi1/0/4")
    with pytest.raises(BenchFault, match=r"^sw1: the address .* of peer.p1 is at Gi1/0/4; expected Gi1/0/2 alone"):
        patch_panel.connect(patched)
    assert wirings(patched) == {Wiring.DIRECT} and bench.state["wiring"] == "direct"


def test_a_command_that_fails_is_a_bench_fault_and_is_undone(bench: FakeBench, patched: Run) -> None:
    tool, _, _ = str(patched.bench.switch and patched.bench.switch.connect).rpartition(" wiring ")
    assert patched.bench.switch is not None
    broken = patched.bench.switch.model_copy(update={"connect": f"{tool} nothing-such"})
    patched.bench = patched.bench.model_copy(update={"switch": broken})
    with pytest.raises(BenchFault, match=r"^controller: .*nothing-such' failed with exit status 1"):
        patch_panel.connect(patched)
    assert wirings(patched) == {Wiring.DIRECT} and bench.state["wiring"] == "direct"


def test_a_run_that_ends_lays_them_back(bench: FakeBench, patched: Run) -> None:
    patch_panel.connect(patched)
    runs.release()
    assert bench.state["wiring"] == "direct"
    assert Journal.for_bench("virtual").pending() == []


def test_what_a_killed_run_left_is_laid_back_by_restore(bench: FakeBench, patched: Run) -> None:
    patch_panel.connect(patched)
    with patched._stack:
        patched.bench_servers.close()
    assert cli.main(["restore", str(bench.file)]) == 0
    assert bench.state["wiring"] == "direct"


def test_a_bench_without_a_switch_is_not_asked(taken: Run) -> None:
    with pytest.raises(NotApplicable, match=r"^bench virtual has no managed switch$"):
        patch_panel.connect(taken)
    assert patch_panel.disconnect(taken) == []


@pytest.mark.usefixtures("switch")
def test_a_path_that_nothing_connects_is_named(bench: FakeBench) -> None:
    with pytest.raises(NotApplicable, match=r"^bench virtual: nothing connects path a to sw1$"):
        patch_panel.connect(bench.take())
