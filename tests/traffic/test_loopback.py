"""The throughput of a server with itself alone is measured once, over its loopback; worthless results are refused."""

from __future__ import annotations

import json

import pytest
from fake_bench import FakeBench
from fake_traffic import iperf3_text

from niclab.bench.records import Role, TrafficToolName
from niclab.core.verdict import BenchFault, Undecided
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.watching import standstill
from niclab.run.watching.standstill import StandstillWatch
from niclab.traffic import WorthlessResult
from niclab.traffic.limits.loopback import loopback_bps
from niclab.traffic.runs import endpoints
from niclab.traffic.tools.tool_choice import tool_of

LISTENING = "LISTEN 0 5 127.0.0.1:5201 0.0.0.0:*"
IPERF3 = tool_of(TrafficToolName.IPERF3)


@pytest.fixture
def server(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that was not measured yet, whose iperf3 server listens at once."""
    monkeypatch.setattr(endpoints, "LISTEN_WITHIN_S", 0.05)
    bench.ssh[Role.DUT].replies["ss -Hltn src 127.0.0.1"] = LISTENING
    found = taken.server(Role.DUT)
    found.loopback_bps = None
    return found


@pytest.fixture
def watch(taken: Run) -> StandstillWatch:
    return standstill.watch(taken)


def test_it_is_measured_over_the_loopback_and_only_once(
    bench: FakeBench, server: Server, watch: StandstillWatch
) -> None:
    ssh = bench.ssh[Role.DUT]
    ssh.replies["iperf3 --client"] = iperf3_text(640)
    assert [loopback_bps(server, IPERF3, watch) for _ in range(2)] == [640e6] * 2
    clients = [command for command in ssh.commands if command.startswith("iperf3 --client")]
    assert clients == ["iperf3 --client 127.0.0.1 --bind 127.0.0.1 --port 5201 --time 2 --omit 1 --json"]
    assert [job.command for job in ssh.jobs] == ["iperf3 --server --bind 127.0.0.1 --port 5201"]
    assert ssh.jobs[0].stopped


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (iperf3_text(0), "worthless result"),
        (json.dumps({"error": "unable to connect to server"}), "unable to connect to server"),
        ("", "iperf3"),
    ],
    ids=["zero", "error", "nothing"],
)
def test_a_run_that_proves_nothing_is_refused_and_not_remembered(
    bench: FakeBench, server: Server, watch: StandstillWatch, text: str, told: str
) -> None:
    bench.ssh[Role.DUT].replies["iperf3 --client"] = text
    with pytest.raises(BenchFault, match=rf"^dut: `iperf3 --client 127\.0\.0\.1 .*{told}"):
        loopback_bps(server, IPERF3, watch)
    assert server.loopback_bps is None and bench.ssh[Role.DUT].jobs[0].stopped


def test_a_server_of_somebody_else_on_the_port_is_told(
    bench: FakeBench, server: Server, watch: StandstillWatch
) -> None:
    bench.ssh[Role.DUT].replies["ss -Hlntup"] = 'tcp LISTEN 0 5 *:5201 *:* users:(("iperf3",pid=77,fd=3))'
    with pytest.raises(BenchFault, match=r"^dut: port 5201 is taken already") as caught:
        loopback_bps(server, IPERF3, watch)
    assert not isinstance(caught.value, WorthlessResult)


@pytest.mark.parametrize("first", [iperf3_text(70), json.dumps({"error": "it lasted 1.4 s of 2 s"})])
def test_a_run_in_which_the_server_stood_still_is_made_again(
    bench: FakeBench, server: Server, watch: StandstillWatch, first: str
) -> None:
    ssh, answers = bench.ssh[Role.DUT], [first, iperf3_text(640)]

    def client(_: str) -> str:
        ssh.stood += "stood 400\n" if len(answers) == 2 else ""
        return answers.pop(0)

    ssh.replies["iperf3 --client"] = client
    assert loopback_bps(server, IPERF3, watch) == 640e6 and not answers


def test_a_server_that_always_stands_still_is_no_measure(
    bench: FakeBench, server: Server, watch: StandstillWatch
) -> None:
    ssh = bench.ssh[Role.DUT]

    def client(_: str) -> str:
        ssh.stood += "stood 300\n"
        return iperf3_text(70)

    ssh.replies["iperf3 --client"] = client
    with pytest.raises(Undecided, match=r"^dut to itself: 9 runs in a row prove nothing: 70 Mbit/s not counted"):
        loopback_bps(server, IPERF3, watch)
    assert server.loopback_bps is None
