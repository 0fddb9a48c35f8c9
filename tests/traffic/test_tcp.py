"""TCP traffic with a scripted iperf3: what is worthless is refused, and nothing stays running."""

from __future__ import annotations

import json

import pytest
from examples import text_of
from fake_bench import FakeBench
from fake_parts import FakeJob
from fake_traffic import LISTENING, client

from niclab.bench.records import BenchPath, Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.hosts.host_records import Statistics
from niclab.run.run import Run
from niclab.traffic import WorthlessResult
from niclab.traffic.flows import tcp
from niclab.traffic.flows.steady import SteadyTraffic
from niclab.traffic.runs import endpoints, measuring
from niclab.traffic.runs.traffic_run import TrafficRun
from niclab.traffic.tools.tool import Order
from niclab.transports.ssh.ssh import Result

OTHER = {Role.DUT: Role.PEER, Role.PEER: Role.DUT}


def good(bench: FakeBench) -> None:
    """Every iperf3 server listens at once, every client measures the captured run."""
    for ssh in bench.ssh.values():
        ssh.replies["ss -Hltn"] = LISTENING
        ssh.replies["iperf3 --client"] = client(bench, text_of("iperf3", "tcp-omit"))


@pytest.fixture(autouse=True)
def iperf3(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert taken
    good(bench)
    monkeypatch.setattr(endpoints, "LISTEN_WITHIN_S", 0.05)
    monkeypatch.setattr(tcp, "FLOW_WITHIN_S", 0.05)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)


def measure(taken: Run, path: BenchPath, sender: Role, duration_s: int) -> TrafficRun:
    return measuring.measure(taken, path, sender, Order(duration_s=duration_s), 25_000)


def seconds() -> int:
    """The duration the captured run was asked for."""
    text = text_of("iperf3", "tcp-omit")
    duration: int = json.loads(text[text.index("{") :])["start"]["test_start"]["duration"]
    return duration


def job_of(bench: FakeBench, role: Role) -> FakeJob:
    (job,) = bench.ssh[role].jobs
    return job


@pytest.mark.parametrize("sender", list(Role))
def test_each_direction_has_its_own_server_and_addresses(bench: FakeBench, taken: Run, sender: Role) -> None:
    result = measure(taken, taken.bench.path("b"), sender, seconds())
    assert result.result.throughput_bps is not None and result.result.throughput_bps > 0
    job = job_of(bench, OTHER[sender])
    mine, theirs = ("198.18.11.1", "198.18.11.2") if sender is Role.DUT else ("198.18.11.2", "198.18.11.1")
    assert f"--server --bind {theirs}" in job.command and job.stopped == 1
    (client,) = [each for each in bench.ssh[sender].commands if each.startswith(f"iperf3 --client {theirs} ")]
    assert client.startswith(f"iperf3 --client {theirs} --bind {mine} --port 5201")
    assert f"ss -Hltn src {theirs} and sport = :5201" in bench.ssh[OTHER[sender]].commands


def test_a_server_that_dies_is_told_in_its_own_words(bench: FakeBench, taken: Run) -> None:
    def die(job: FakeJob) -> None:
        job.status, job.complained = 1, "iperf3: error - Address already in use\n"

    bench.ssh[Role.PEER].prepare_job = die
    bench.ssh[Role.PEER].replies["ss -Hltn"] = "\n"
    wanted = r"^peer: iperf3 server to listen on \S+: it ended with status 1: iperf3: error - Address already in use$"
    with pytest.raises(BenchFault, match=wanted):
        measure(taken, taken.bench.path("a"), Role.DUT, 3)
    assert job_of(bench, Role.PEER).stopped == 1


def test_a_server_that_ended_well_too_soon_is_a_fault_too(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.PEER].prepare_job = lambda job: setattr(job, "status", 0)
    bench.ssh[Role.PEER].replies["ss -Hltn"] = "\n"
    with pytest.raises(BenchFault, match=r"ended with status 0"):
        measure(taken, taken.bench.path("a"), Role.DUT, 3)


def test_a_server_that_does_not_listen_is_a_fault(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.PEER].replies["ss -Hltn"] = "\n"
    with pytest.raises(BenchFault, match=r"^peer: iperf3 server to listen on 198\.18\.10\.2:5201: not within 0\.05 s"):
        measure(taken, taken.bench.path("a"), Role.DUT, 3)
    assert job_of(bench, Role.PEER).stopped == 1


@pytest.mark.parametrize(
    ("capture", "why"), [("refused", "Connection refused"), ("cut", "worthless"), ("udp-loss", "worthless")]
)
def test_a_worthless_result_names_host_and_command(bench: FakeBench, taken: Run, capture: str, why: str) -> None:
    text = text_of("iperf3", capture)
    bench.ssh[Role.DUT].replies["iperf3 --client"] = Result("iperf3", 1, None, text, "a warning\n", 1.0)
    with pytest.raises(WorthlessResult, match=why) as caught:
        measure(taken, taken.bench.path("a"), Role.DUT, 77)
    assert str(caught.value).startswith("dut: `iperf3 --client 198.18.10.2 --bind 198.18.10.1")
    assert "(exit status 1; a warning)" in str(caught.value)
    assert job_of(bench, Role.PEER).stopped == 1


def test_no_text_at_all_is_a_fault(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["iperf3 --client"] = Result("iperf3", None, "SEGV", "", "", 1.0)
    with pytest.raises(BenchFault, match=r"^dut: `iperf3 .*\(killed by SIGSEGV\)"):
        measure(taken, taken.bench.path("a"), Role.DUT, 3)


def test_the_server_is_stopped_when_the_client_is_lost(bench: FakeBench, taken: Run) -> None:
    bench.ssh[Role.DUT].replies["iperf3 --client"] = BenchFault("dut: gone")
    with pytest.raises(BenchFault, match=r"^dut: gone$"):
        measure(taken, taken.bench.path("a"), Role.DUT, 3)
    assert job_of(bench, Role.PEER).stopped == 1


class TestSteady:
    def test_it_flows_inside_the_block_only(self, bench: FakeBench, taken: Run) -> None:
        with tcp.steady(taken, taken.bench.path("a"), Role.DUT):
            client, server = job_of(bench, Role.DUT), job_of(bench, Role.PEER)
            assert client.command.startswith("iperf3 --client 198.18.10.2") and "--time 600" in client.command
            assert bench.nic("dut.p0").tx_bytes > 100_000 and bench.nic("peer.p0").tx_bytes == 0
            assert (client.stopped, server.stopped) == (0, 0)
        assert (client.stopped, server.stopped) == (1, 1)

    def test_what_does_not_flow_is_a_fault(self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        still = bench.dut.statistics("enp1s0")
        monkeypatch.setattr(bench.dut, "statistics", lambda _: still)
        with pytest.raises(BenchFault, match=r"^traffic from dut\.p0 to peer\.p0 to flow: not within"):  # noqa: SIM117
            with tcp.steady(taken, taken.bench.path("a"), Role.DUT):
                pytest.fail("nothing flowed")
        assert [job_of(bench, role).stopped for role in Role] == [1, 1]

    def test_traffic_that_ended_before_the_block_is_a_fault(self, bench: FakeBench, taken: Run) -> None:
        """The judged block was not under load."""
        with pytest.raises(BenchFault, match=r"^dut: `iperf3 .*` ended early with status 1: unable to send$"):  # noqa: SIM117
            with tcp.steady(taken, taken.bench.path("a"), Role.DUT) as job:
                fake = job_of(bench, Role.DUT)
                assert job is fake  # type: ignore[comparison-overlap]  # a fake one
                fake.status, fake.said = 1, "unable to send\n"
        assert [job_of(bench, role).stopped for role in Role] == [1, 1]

    @pytest.mark.parametrize(("status", "verdict"), [(None, CardFailure), (1, BenchFault)])
    def test_what_a_block_misses_because_the_traffic_has_ended_is_not_charged(
        self, bench: FakeBench, taken: Run, status: int | None, verdict: type[Exception]
    ) -> None:
        with pytest.raises(verdict), tcp.steady(taken, taken.bench.path("a"), Role.DUT):
            job_of(bench, Role.DUT).status = status
            raise CardFailure("no frame was counted")

    @pytest.mark.parametrize(("status", "verdict"), [(None, CardFailure), (1, BenchFault)])
    def test_nor_is_what_a_keyword_misses_meanwhile(
        self,
        bench: FakeBench,
        taken: Run,
        monkeypatch: pytest.MonkeyPatch,
        status: int | None,
        verdict: type[Exception],
    ) -> None:
        monkeypatch.setattr(bench.peer, "statistics", lambda _: received(7))
        steady = taken.part(SteadyTraffic)
        steady.start()
        job_of(bench, Role.DUT).status = status
        with pytest.raises(verdict, match="ended early" if status else "while TCP is sent"):
            steady.require_flow()
        job_of(bench, Role.DUT).status = None
        steady.stop()

    def test_both_programs_are_stopped_when_the_block_fails(self, bench: FakeBench, taken: Run) -> None:
        with pytest.raises(KeyError), tcp.steady(taken, taken.bench.path("a"), Role.PEER):
            raise KeyError("a test")
        assert [job_of(bench, role).stopped for role in Role] == [1, 1]


@pytest.mark.parametrize("port", [0, 1])
def test_what_arrives_over_any_port_flows(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, port: int
) -> None:
    arrived = iter(range(0, 10**9, tcp.FLOW_BYTES + 1))
    monkeypatch.setattr(
        bench.peer, "statistics", lambda iface: received(next(arrived) if iface.startswith(f"enp{port + 1}") else 0)
    )
    tcp.require_flow(taken, Role.PEER)


def test_traffic_that_stands_still_is_red(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.peer, "statistics", lambda _: received(7))
    with pytest.raises(CardFailure, match=r"^peer: enp1s0, enp2s0 have received 0 bytes in 0.05 s, while TCP is sent"):
        tcp.require_flow(taken, Role.PEER)


def received(octets: int) -> Statistics:
    return Statistics(octets, 0, 0, 0, 0, 0, 0, 0)
