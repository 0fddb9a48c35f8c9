"""The proof of the wiring: right cables are proven, each kind of wrong one stops the run and is named."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.core.verdict import BenchFault
from niclab.links import wiring
from niclab.run.run import Run

PROOF = [
    "path a: dut.p0 and peer.p0 lost and regained carrier together, no other port did",
    "path b: dut.p1 and peer.p1 lost and regained carrier together, no other port did",
]


@pytest.fixture(params=[True, False], ids=["by pulling", "by a port"])
def cabled(request: pytest.FixtureRequest, bench: FakeBench, taken: Run) -> Run:
    """Paths are broken by the bench's commands, and by taking the dut's end down."""
    bench.write(commands=False, cables=request.param)
    taken.bench = bench.load()[0]
    return taken


def proof_fails(taken: Run) -> str:
    """The message; whatever is wrong, the path is whole again and nothing of it stays in the journal."""
    before = taken.journal.pending()
    with pytest.raises(BenchFault) as caught:
        wiring.prove(taken)
    assert taken.journal.pending() == before
    return str(caught.value)


def crossed(bench: FakeBench) -> None:
    bench.cables.wires = {"a": ("dut.p0", "peer.p1"), "b": ("dut.p1", "peer.p0")}


def test_right_cables_are_proven_and_left_whole(bench: FakeBench, cabled: Run) -> None:
    before = cabled.journal.pending()
    assert wiring.prove(cabled) == PROOF
    assert cabled.journal.pending() == before
    assert bench.pulled() == set() and all(cabled.carrier(port) for port in cabled.bench.ports)


def test_crossed_cables_are_named(bench: FakeBench, cabled: Run) -> None:
    crossed(bench)
    message = proof_fails(cabled)
    assert message.startswith("path a broken: still carrier at peer.p0 after 0.2 s; check the cables against")
    assert str(bench.file) in message
    assert bench.pulled() == set() and bench.nic("dut.p0").admin_up


@pytest.mark.parametrize("name", ["dut.p0", "peer.p0"])
def test_a_port_that_keeps_its_carrier_is_named(bench: FakeBench, taken: Run, name: str) -> None:
    bench.cables.stuck[name] = True
    assert proof_fails(taken).startswith(f"path a broken: still carrier at {name} after")


def test_the_second_path_is_proven_too(bench: FakeBench, cabled: Run) -> None:
    bench.cables.stuck["peer.p1"] = True
    assert proof_fails(cabled).startswith("path b broken: still carrier at peer.p1 after")


@pytest.mark.parametrize("name", ["dut.p1", "peer.p1"])
def test_a_port_of_another_path_that_loses_carrier_too_is_named(bench: FakeBench, taken: Run, name: str) -> None:
    bench.cables.follows[name] = "a"
    wanted = f"path a broken: {name} lost carrier too; the bench file says otherwise"
    assert proof_fails(taken) == wanted


def test_carrier_that_does_not_come_back_is_named(bench: FakeBench, taken: Run) -> None:
    bench.cables.sticks_after_pull = {"peer.p0"}
    assert proof_fails(taken).startswith("path a mended: no carrier at peer.p0 after 0.2 s")


@pytest.mark.parametrize("name", ["dut.p0", "peer.p0", "dut.p1", "peer.p1"])
def test_a_port_without_carrier_beforehand_is_named(bench: FakeBench, cabled: Run, name: str) -> None:
    bench.cables.stuck[name] = False
    assert proof_fails(cabled).startswith(f"before the wiring proof: no carrier at {name} after 0.2 s")
    assert bench.said == []


def test_breaking_is_in_the_journal_first(bench: FakeBench, cabled: Run) -> None:
    """A pull that fails half way, or a kill, leaves the plug to the next run."""
    path = cabled.bench.path("b")
    count = len(bench.dut.changes)
    entry = wiring.break_path(cabled, path)
    assert cabled.journal.pending()[0] == entry
    if path.plug:
        assert entry.action.command == path.plug and bench.pulled() == {"b"}
    else:
        ((change, pending),) = bench.dut.changes[count:]
        assert change == "enp2s0 down" and pending[0] == "ip link set dev enp2s0 up" == entry.action.command
    assert not cabled.carrier(cabled.bench.port("peer.p1"))
    wiring.mend_path(cabled, entry)
    assert cabled.carrier(cabled.bench.port("peer.p1"))


def test_a_pull_that_fails_is_a_bench_fault_and_stays_in_the_journal(bench: FakeBench, taken: Run) -> None:
    bench.set_state(fail={"pull": 5})
    with pytest.raises(BenchFault, match=r"pull a' failed with exit status 5"):
        wiring.prove(taken)
    assert taken.journal.pending()[0].action.command.endswith("plug a")
