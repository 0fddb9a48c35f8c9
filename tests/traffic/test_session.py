"""Several runs with one server: it is started once, ended with the last, and the counters of the runs do not mix."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_parts import changes
from fake_traffic import LISTENING, carry, iperf3_text

from niclab.bench.records import Role
from niclab.core.undo import ActionKind
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic import WorthlessResult
from niclab.traffic.runs import endpoints, measuring
from niclab.traffic.runs.looks import Looks
from niclab.traffic.runs.measuring import Session
from niclab.traffic.runs.switch_counts import SwitchCountWatch
from niclab.traffic.tools.iperf3_tool import Iperf3Tool
from niclab.traffic.tools.tool import Order, TrafficTest


@pytest.fixture(autouse=True)
def iperf3(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    sizes = iter((12_000_000, 13_000_000, 12_500_000))

    def run(command: str) -> str:
        carry(bench, command, size=next(sizes), frames=9000)
        return iperf3_text(47.0)

    for ssh in bench.ssh.values():
        ssh.replies["ss -Hltn"] = LISTENING
        ssh.replies["iperf3 --client"] = run


def test_runs_share_a_server_and_not_their_counts(bench: FakeBench, taken: Run) -> None:
    with measuring.session(taken, taken.bench.paths[0], Role.DUT, 50) as session:
        runs = [session.measure(Order(duration_s=2)) for _ in range(3)]
        (job,) = bench.ssh[Role.PEER].jobs
        assert job.stopped == 0
    assert job.stopped == 1
    assert [run.receiver.frames.rx_bytes for run in runs] == [12_000_000, 13_000_000, 12_500_000]
    assert [run.conservation.missing for run in runs] == [0, 0, 0]


def test_the_server_ends_when_a_run_fails(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["iperf3 --client"] = "{}"
    with (
        pytest.raises(BenchFault, match="iperf3"),
        measuring.session(taken, taken.bench.paths[0], Role.DUT, 50) as session,
    ):
        session.measure(Order(duration_s=2))
    assert bench.ssh[Role.PEER].jobs[0].stopped == 1


def test_what_the_tool_cannot_do_starts_no_server(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(NotApplicable):
        measuring.measure(taken, taken.bench.paths[0], Role.DUT, Order(TrafficTest.TCP_RR, 2), 50)
    assert not bench.ssh[Role.PEER].jobs


def test_bytes_of_the_run_before_do_not_vouch_for_the_next(bench: FakeBench, taken: Run) -> None:
    """A run whose traffic goes another way is worthless, though the port has counted much before it."""
    with measuring.session(taken, taken.bench.paths[0], Role.DUT, 50) as session:
        session.measure(Order(duration_s=2))
        bench.ssh[Role.DUT].replies["iperf3 --client"] = iperf3_text(47.0)
        with pytest.raises(WorthlessResult, match="the traffic went another way"):
            session.measure(Order(duration_s=2))


def test_what_passed_between_two_runs_counts_for_neither_when_said(bench: FakeBench, taken: Run) -> None:
    with measuring.session(taken, taken.bench.paths[0], Role.DUT, 50) as session:
        session.measure(Order(duration_s=2))
        carry(bench, "iperf3 --client 198.18.10.2 --bind 198.18.10.1", size=70_000_000, frames=50_000)
        session.forget()
        run = session.measure(Order(duration_s=2))
    assert (run.receiver.frames.rx_bytes, run.conservation.sent) == (13_000_000, 9000)


def test_a_killed_run_leaves_no_server_of_the_tool(bench: FakeBench, taken: Run) -> None:
    """While it listens its end is in the journal; after that only those of the watches, which serve the whole run."""
    before = taken.journal.pending()
    with measuring.session(taken, taken.bench.paths[0], Role.DUT, 50):
        left = [entry for entry in taken.journal.pending() if entry not in before]
        marks = [mark for ssh in bench.ssh.values() for mark in ssh.marks]
        assert len(left) == len(marks) == 3, "two watches and one server"
        for entry in left:
            assert entry.what.startswith("job is started: ") and entry.action.kind is ActionKind.SHELL
            assert any(mark and f"/tmp/niclab-job.{mark};" in entry.action.command for mark in marks)
    assert changes(taken.journal) == before and len(taken.journal.pending()) == len(before) + 2


def test_a_client_may_ask_for_the_data(bench: FakeBench, taken: Run) -> None:
    """It runs on the server that receives; which end has sent does not change by that."""
    path = taken.bench.paths[0]
    ends = endpoints.ends(taken, path, Role.DUT)
    interfaces = {port.role: taken.interface(port) for port in (ends.from_port, ends.to_port)}
    route, watch = endpoints.route(taken, ends), standstill.watch(taken)
    rest = (SwitchCountWatch(taken, path), 50, watch, True, Role.PEER)
    session = Session(taken, ends, Iperf3Tool(), route, Looks(watch, interfaces), *rest)
    runs = [session.measure(Order(duration_s=2)) for _ in range(2)]
    asked = [command for command in bench.ssh[Role.PEER].commands if command.startswith("iperf3 --client")]
    assert len(asked) == 2 and not any("iperf3 --client" in each for each in bench.ssh[Role.DUT].commands)
    assert [run.sender.port for run in runs] == ["dut.p0", "dut.p0"]
    assert [run.receiver.frames.rx_bytes for run in runs] == [12_000_000, 13_000_000]
    assert [run.sender.frames.tx_packets for run in runs] == [9000, 9000]
