"""A run is believed only when ports and CPUs of both servers bear it out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost
from fake_traffic import LISTENING, carry, iperf3_text

from niclab.bench.records import Role, TrafficToolName
from niclab.core import marks
from niclab.core.marks import MarkKind
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.hosts.counts.load_records import FrameCounters
from niclab.report.own_checks import spoiled_runs
from niclab.run.run import Run
from niclab.run.watching import standstill
from niclab.traffic import WorthlessResult
from niclab.traffic.runs import endpoints, measuring, run_count
from niclab.traffic.runs.traffic_run import Conservation, TrafficRun, described
from niclab.traffic.tools.tool import Order, TrafficTest

LINE_MBPS = 50
OMNI = (
    "THROUGHPUT=40.00\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=2.00\n"
    "LOCAL_CPU_UTIL=12.50\nREMOTE_CPU_UTIL=20.00\nLOCAL_TRANSPORT_RETRANS=7\n"
    "LOCAL_SEND_SIZE=16384\nLSS_SIZE_END=87380\nRSR_SIZE_END=131072\n"
)


@pytest.fixture(autouse=True)
def good(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """iperf3 sends 40 Mbit/s in each direction: 10 MB and 7000 frames in 2 s."""
    assert taken
    for ssh in bench.ssh.values():
        ssh.replies["ss -Hltn"] = LISTENING
    answers(bench, iperf3_text(40))
    monkeypatch.setattr(endpoints, "LISTEN_WITHIN_S", 0.05)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.05)
    monkeypatch.setattr(measuring, "_COUNTERS_EVERY_S", 0.01)


def answers(bench: FakeBench, text: str, size: int = 10_500_000, frames: int = 7000) -> None:
    def run(command: str) -> str:
        carry(bench, command, size, frames)
        return text

    for ssh in bench.ssh.values():
        for client in ("iperf3 --client", "netperf -H"):
            ssh.replies[client] = run


def measure(taken: Run, **order: Any) -> TrafficRun:
    return measuring.measure(taken, taken.bench.path("a"), Role.DUT, Order(**{"duration_s": 2, **order}), LINE_MBPS)


def test_a_run_has_what_the_tool_and_both_servers_say(bench: FakeBench, taken: Run) -> None:
    bench.peer.busy_ticks = 80
    run = measure(taken)
    assert (run.tool, run.sender.port, run.receiver.port) == ("iperf3", "dut.p0", "peer.p0")
    assert run.command.startswith("iperf3 --client 198.18.10.2") and run.result.throughput_bps == 40e6
    assert run.sender.cpu.busiest[1].busy == pytest.approx(0.1)
    assert run.receiver.cpu.busiest == (1, run.receiver.cpu.cpus[1]) and run.receiver.cpu.cpus[1].busy == 0.8
    assert (run.sender.frames.tx_bytes, run.receiver.frames.rx_bytes) == (10_500_000, 10_500_000)
    assert described(run) == (
        "iperf3 TCP_STREAM: 40.0 Mbit/s in 2.00 s, 0 retransmissions, dut.p0: cpu1 10 % busy (0 % softirq), "
        "all CPUs 0 % waiting for I/O, peer.p0: cpu1 80 % busy (0 % softirq), all CPUs 0 % waiting for I/O, "
        "7000 frames sent, 7000 received, 0 counted as lost: 0 missing without a trace"
    )


def test_the_receiver_s_window_is_told_where_it_is_known(bench: FakeBench, taken: Run) -> None:
    answers(bench, iperf3_text(36, windows=[56640]))
    assert ", 0 retransmissions, the receiver offered 56640 bytes, dut.p0: " in described(measure(taken))


def test_the_tool_of_the_bench_file_is_used(bench: FakeBench, taken: Run) -> None:
    bench.edit(bench.file, ("description:", "traffic: netperf\ndescription:"))
    taken.bench = bench.load()[0]
    assert taken.bench.traffic is TrafficToolName.NETPERF
    answers(bench, OMNI)
    run = measure(taken)
    assert run.tool == "netperf" and run.result.throughput_bps == 40e6 and run.result.retransmits == 7
    (job,) = bench.ssh[Role.PEER].jobs
    assert job.command == "netserver -D -L 198.18.10.2,4 -p 12865" and job.stopped == 1


def test_what_the_tool_cannot_do_starts_nothing(bench: FakeBench, taken: Run) -> None:
    with pytest.raises(NotApplicable, match="iperf3"):
        measure(taken, test=TrafficTest.TCP_RR)
    assert bench.ssh[Role.PEER].jobs == []


def test_a_port_that_is_taken_is_a_fault_before_a_server_is_started(bench: FakeBench, taken: Run) -> None:
    taken_by = 'tcp LISTEN 0 5 *:5201 *:* users:(("iperf3",pid=77,fd=3))'
    bench.ssh[Role.PEER].replies["ss -Hlntup sport = :5201"] = taken_by + "\n"
    with pytest.raises(BenchFault) as caught:
        measure(taken)
    assert str(caught.value) == f"peer: port 5201 is taken already; expected free: {taken_by}"
    assert bench.ssh[Role.PEER].jobs == []


def test_bytes_that_did_not_pass_the_port_are_worthless(bench: FakeBench, taken: Run) -> None:
    answers(bench, iperf3_text(40), size=9_700_000)
    wanted = (
        r"^peer\.p0: worthless result: the tool received 10000000 bytes, the port 9700000: the traffic went another"
    )
    with pytest.raises(WorthlessResult, match=wanted):
        measure(taken)


def test_counters_that_are_late_are_waited_for(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's counters show nothing of the run in the first two looks after it."""
    real, looks = FakeHost.frame_counters, iter(range(9))

    def late(host: FakeHost, iface: str) -> FrameCounters:
        counted = real(host, iface)
        return FrameCounters(*[0] * 9) if host.role is Role.PEER and next(looks) < 3 else counted

    monkeypatch.setattr(FakeHost, "frame_counters", late)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 5)
    assert bench and measure(taken).conservation.holds
    assert next(looks) == 4


@pytest.mark.parametrize(("side", "host"), [("local_pct", "dut"), ("remote_pct", "peer")])
def test_a_load_beyond_all_cpus_is_worthless(bench: FakeBench, taken: Run, side: str, host: str) -> None:
    answers(bench, iperf3_text(40, **{side: 203}))
    assert measure(taken).result.cpu_scale == "one CPU"
    answers(bench, iperf3_text(40, **{side: 205}))
    with pytest.raises(WorthlessResult, match=rf"^{host}: .*205 % of one CPU; expected at most 200 % with 2 CPUs$"):
        measure(taken)


def test_a_short_run_is_worthless_whatever_the_tool_thinks(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench
    monkeypatch.setattr("niclab.traffic.tools.iperf3.shortest_s", lambda *_: 0.1)
    answers(bench, iperf3_text(40, elapsed=1.7))
    with pytest.raises(WorthlessResult, match=r"^dut: `iperf3 .*worthless result: it lasted 1\.7 s of 2 s$"):
        measure(taken)


@pytest.mark.parametrize(
    ("port", "counter", "verdict"), [("peer.p0", "tx_bytes", BenchFault), ("dut.p0", "rx_bytes", CardFailure)]
)
def test_a_counter_that_was_reset_during_the_run_is_its_ports(
    bench: FakeBench, taken: Run, port: str, counter: str, verdict: type[Exception]
) -> None:
    bench.nic(port).frames[counter] = 5

    def run(command: str) -> str:
        carry(bench, command)
        bench.nic(port).frames[counter] = 0
        return iperf3_text(40)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    with pytest.raises(verdict, match=rf"^{port} .* {counter} runs backwards, from 5 to 0; expected 64 bits"):
        measure(taken)


@pytest.mark.parametrize(
    ("sent", "received", "lost", "explained", "holds"),
    [
        (1000, 1000, 0, 0, True),
        (1000, 950, 0, 0, True),
        (1000, 949, 0, 0, False),
        (1000, 900, 50, 0, True),
        (1000, 900, 0, 50, True),
        (1000, 899, 0, 50, False),
        (1000, 900, 0, None, False),
        (100, 1000, 0, 0, True),
    ],
)
def test_frames_are_conserved_but_for_what_is_counted(
    sent: int, received: int, lost: int, explained: int | None, holds: bool
) -> None:
    assert Conservation(sent, received, lost, explained).holds is holds


@pytest.mark.parametrize(
    ("sent", "received", "words"),
    [
        (1000, 900, "missing without a trace"),
        (1000, 1000, ": 0 missing without a trace"),
        (2327, 14768, "the sender counts before segmentation (TSO), so frames cannot be compared"),
    ],
)
def test_frames_that_cannot_be_compared_are_not_called_missing(sent: int, received: int, words: str) -> None:
    said = str(Conservation(sent, received, 0, 0))
    assert said.endswith(words) and "-" not in said


def test_frames_lost_without_a_trace_are_told(bench: FakeBench, taken: Run) -> None:
    def run(command: str) -> str:
        carry(bench, command)
        bench.nic("dut.p0").frames["tx_packets"] += 500
        bench.nic("peer.p0").frames["rx_missed_errors"] = 100
        return iperf3_text(40)

    bench.ssh[Role.DUT].replies["iperf3 --client"] = run
    run_ = measure(taken)
    assert not run_.conservation.holds
    assert str(run_.conservation).endswith("100 counted as lost: 400 missing without a trace")


class TestStandstills:
    """A server that stands still is no figure of the card."""

    def stands(self, bench: FakeBench, *runs: str) -> list[str]:
        """The dut's watch tells these in the runs that are made, one after the other; the clients' commands."""
        commands: list[str] = []

        def run(command: str) -> str:
            told = runs[len(commands)] if len(commands) < len(runs) else ""
            commands.append(command)
            bench.ssh[Role.DUT].stood += told
            carry(bench, command, 10_500_000, 7000)
            return iperf3_text(30 if told else 40)

        for ssh in bench.ssh.values():
            ssh.replies["iperf3 --client"] = run
        return commands

    def test_the_run_is_made_again_and_that_is_told(self, bench: FakeBench, taken: Run) -> None:
        commands = self.stands(bench, "stood 561\nstood 300\n", "stood 250\n")
        run = measure(taken)
        assert len(commands) == 3 and run.result.throughput_bps == 40e6 and run.remarkable
        first = "30.0 Mbit/s not counted: dut stood still for 561 ms, dut stood still for 300 ms"
        assert run.disturbed == (first, "30.0 Mbit/s not counted: dut stood still for 250 ms")
        assert described(run).endswith(f"; before it {first}; before it {run.disturbed[1]}")
        noted = marks.read(taken.evidence_folder / marks.FILE)
        discarded = [mark.subject for mark in noted if mark.kind is MarkKind.DISCARDED]
        assert [each.endswith(words) for each, words in zip(discarded, run.disturbed, strict=True)] == [True, True]

    def test_a_quiet_run_is_nothing_to_look_at(self, bench: FakeBench, taken: Run) -> None:
        commands = self.stands(bench)
        run = measure(taken)
        assert len(commands) == 1 and not run.disturbed and not run.remarkable

    def test_what_was_before_the_run_is_not_held_against_it(self, bench: FakeBench, taken: Run) -> None:
        bench.ssh[Role.PEER].stood = "stood 900\n"
        assert not measure(taken).disturbed

    def test_it_is_not_made_again_for_ever(self, bench: FakeBench, taken: Run) -> None:
        commands = self.stands(bench, *["stood 400\n"] * 20)
        with pytest.raises(Undecided, match=r"^dut\.p0 to peer\.p0: 9 runs in a row prove nothing: 30\.0 Mbit/s not"):
            measure(taken)
        assert len(commands) == 9

    def test_a_worthless_run_is_made_again_only_if_a_server_stood_still(self, bench: FakeBench, taken: Run) -> None:
        def run(command: str) -> str:
            carry(bench, command, 10_500_000, 7000)
            return iperf3_text(40, elapsed=0.9)

        bench.ssh[Role.DUT].replies["iperf3 --client"] = run
        with pytest.raises(WorthlessResult, match=r"it lasted 0\.900 s of 2 s"):
            measure(taken)

        def cut(command: str) -> str:
            bench.ssh[Role.DUT].replies["iperf3 --client"] = lambda again: (carry(bench, again), iperf3_text(40))[1]
            bench.ssh[Role.DUT].stood += "stood 1100\n"
            return run(command)

        bench.ssh[Role.DUT].replies["iperf3 --client"] = cut
        (told,) = measure(taken).disturbed
        assert told.endswith("it lasted 0.900 s of 2 s not counted: dut stood still for 1100 ms")

    def test_more_than_the_line_carries_is_made_again(self, bench: FakeBench, taken: Run) -> None:
        """iperf3 that is held up when its count begins counts what has come in before."""
        found = [53, 52.7, 50.9]

        def run(command: str) -> str:
            carry(bench, command, 15_000_000, 9000)
            return iperf3_text(found.pop(0))

        bench.ssh[Role.DUT].replies["iperf3 --client"] = run
        made = measure(taken)
        assert made.result.throughput_bps == 50.9e6 and made.remarkable and found == []
        assert made.disturbed == tuple(
            f"peer.p0: worthless result: {mbps} Mbit/s; expected at most the 50 Mbit/s of the line"
            for mbps in ("53.0", "52.7")
        )

    def test_a_line_that_always_carries_too_much_is_a_bench_fault(self, bench: FakeBench, taken: Run) -> None:
        answers(bench, iperf3_text(60), 15_500_000, 10_000)
        with pytest.raises(BenchFault, match=r"^dut\.p0 to peer\.p0: 9 runs in a row prove nothing: .*60\.0 Mbit/s"):
            measure(taken)

    def test_a_watch_that_ends_or_says_something_else_is_a_bench_fault(self, bench: FakeBench, taken: Run) -> None:
        self.stands(bench, "stood still\n")
        with pytest.raises(BenchFault, match=r"^dut: watch for standstills: .*expected pid and a number, then"):
            measure(taken)

        def ends(command: str) -> str:
            carry(bench, command, 10_500_000, 7000)
            bench.ssh[Role.PEER].watch_is_gone = True
            return iperf3_text(40)

        bench.ssh[Role.DUT].replies["iperf3 --client"], bench.ssh[Role.DUT].stood = ends, ""
        with pytest.raises(BenchFault, match=r"^peer: the watch for standstills is gone: .*No such process"):
            measure(taken)

    def test_one_watch_serves_the_whole_run_and_nothing_of_it_stays(self, bench: FakeBench, taken: Run) -> None:
        measure(taken)
        measure(taken)
        for ssh in bench.ssh.values():
            (watch,) = ssh.watches
            assert watch.stopped == 0 and "standstill_program.py.told 20 150 " in watch.command
        taken.release()
        for ssh in bench.ssh.values():
            assert ssh.watches[0].stopped == 1 and "rm -rf /tmp/niclab.fake" in ssh.commands

    def test_a_server_that_has_booted_is_watched_again(self, bench: FakeBench, taken: Run) -> None:
        measure(taken)
        bench.ssh[Role.DUT].watch_is_gone = True
        bench.ssh[Role.DUT].prepare_watch = lambda ssh: setattr(ssh, "watch_is_gone", False)
        taken.server(Role.DUT).boots_found += 1
        measure(taken)
        assert [len(bench.ssh[role].watches) for role in Role] == [2, 1]

    def test_a_watch_that_is_gone_is_a_fault_once(self, bench: FakeBench, taken: Run) -> None:
        measure(taken)
        bench.ssh[Role.PEER].watch_is_gone = True
        bench.ssh[Role.PEER].prepare_watch = lambda ssh: setattr(ssh, "watch_is_gone", False)
        with pytest.raises(BenchFault, match=r"^peer: the watch for standstills is gone"):
            measure(taken)
        measure(taken)
        assert [len(bench.ssh[role].watches) for role in Role] == [1, 2]


def stands_still(monkeypatch: pytest.MonkeyPatch, *servers: str) -> None:
    """Each look at both servers finds these stopped, in turn."""
    stood = [(standstill.Stood(name, 300),) if name else () for name in servers]
    monkeypatch.setattr(standstill.StandstillWatch, "between", lambda *_: stood.pop(0) if stood else ())


def noted(taken: Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (taken.evidence_folder / spoiled_runs.FILE).read_text().splitlines()]


def test_each_run_is_noted_with_who_spoiled_it(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stands_still(monkeypatch, "dut", "peer", "")
    measure(taken)
    assert [each["stood"] for each in noted(taken)] == [["dut"], ["peer"], []]
    assert {each["bound_percent"] for each in noted(taken)} == {taken.bench.discarded_runs_percent}


@pytest.mark.parametrize(("servers", "compared"), [(("dut", "dut", ""), True), (("peer", "peer", ""), False)])
def test_a_dut_that_spoils_too_many_is_compared_with_itself_idle(
    taken: Run, monkeypatch: pytest.MonkeyPatch, servers: tuple[str, ...], compared: bool
) -> None:
    idle = list[float]()
    monkeypatch.setattr(run_count, "pause", idle.append)
    stands_still(monkeypatch, *servers)
    measure(taken)
    taken.part(run_count.RunCount)._finish()
    assert idle == ([run_count.LEAST_IDLE_S] if compared else [])
    last = noted(taken)[-1]
    assert (last == {"idle_s": 20.0, "stood_idle": 0}) is compared
