"""Orders become the right command of each tool, and its words the same record; what is missing is never zero."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_traffic import iperf3_text

from niclab.bench.records import TrafficToolName
from niclab.core.verdict import NotApplicable
from niclab.hosts.errors import ReadError
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import CpuScale, Order, Route, TrafficTest
from niclab.traffic.tools.tool_choice import tool_of

ROUTE = Route("198.18.10.1", "198.18.10.2")
IPERF3, NETPERF = tool_of(TrafficToolName.IPERF3), tool_of(TrafficToolName.NETPERF)
STREAM, FILE, UDP, RR = TrafficTest

OMNI = (
    "THROUGHPUT={mbps}\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME={seconds}\nLOCAL_CPU_UTIL=12.50\n"
    "REMOTE_CPU_UTIL=20.25\nLOCAL_TRANSPORT_RETRANS={retransmits}\nLOCAL_SEND_SIZE=16384\nLSS_SIZE_END=87040\n"
    "RSR_SIZE_END=131072\n"
)
# Shapes of netperf 2.7.1's classic output (src/nettest_bsd.c), figures made up.
CLASSIC_FILE = """\
TCP SENDFILE TEST from 198.18.10.1 () port 0 AF_INET to 198.18.10.2 () port 0 AF_INET
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

131072  16384  16384    2.00       941.51    3.25     9.75     1.132   3.395
"""
CLASSIC_UDP = """\
UDP UNIDIRECTIONAL SEND TEST from 198.18.10.1 () port 0 AF_INET to 198.18.10.2 () port 0 AF_INET
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

262144    1024   2.00       100000      0      409.6     10.00    2.000
262144           2.00        90000             368.6     20.00    4.444
"""


def omni(mbps: float = 941.51, seconds: float = 2.0, retransmits: int = 3) -> str:
    return OMNI.format(mbps=f"{mbps:.2f}", seconds=f"{seconds:.2f}", retransmits=retransmits)


COMMANDS = [
    (IPERF3, Order(duration_s=2), ""),
    (IPERF3, Order(FILE, duration_s=2), " --zerocopy"),
    (IPERF3, Order(UDP, duration_s=2), " --udp --bitrate 0"),
    (
        IPERF3,
        Order(UDP, duration_s=2, rate_bps=4_000_000, connections=4, message_bytes=1024, socket_bytes=131072),
        " --udp --bitrate 1000000 --parallel 4 --length 1024 --window 131072",
    ),
    (IPERF3, Order(duration_s=2, sender_cpu=5, receiver_cpu=4), " --affinity 5,4"),
]


@pytest.mark.parametrize(("tool", "order", "rest"), COMMANDS)
def test_iperf3_is_asked_for_what_was_ordered(tool: object, order: Order, rest: str) -> None:
    assert tool is IPERF3
    omitted = 0 if order.test is UDP else 1
    start = f"iperf3 --client 198.18.10.2 --bind 198.18.10.1 --port 5201 --time 2 --omit {omitted} --json"
    assert IPERF3.client_command(ROUTE, order) == start + rest


@pytest.mark.parametrize(
    ("order", "middle", "rest"),
    [
        (Order(duration_s=2), "-t TCP_STREAM -l 2 -c -C -P 0", ""),
        (Order(duration_s=2, message_bytes=32768), "-t TCP_STREAM -l 2 -c -C -P 0", " -m 32768"),
        (Order(duration_s=2, sender_cpu=5, receiver_cpu=4), "-t TCP_STREAM -l 2 -c -C -P 0 -T 5,4", ""),
        (Order(RR, duration_s=2, request_bytes=64, response_bytes=9), "-t TCP_RR -l 2 -c -C -P 0", " -r 64,9"),
    ],
)
def test_netperf_is_asked_for_key_and_value_lines(order: Order, middle: str, rest: str) -> None:
    command = NETPERF.client_command(ROUTE, order)
    assert command.startswith(f"netperf -H 198.18.10.2,4 -L 198.18.10.1,4 -p 12865 {middle} -- -k THROUGHPUT,")
    assert command.endswith(f"RSR_SIZE_END{rest}")


def test_netperf_is_asked_for_the_family_of_its_addresses() -> None:
    assert NETPERF.server_command("198.18.10.2") == "netserver -D -L 198.18.10.2,4 -p 12865"
    assert NETPERF.server_command("fd00::2") == "netserver -D -L fd00::2,6 -p 12865"
    command = NETPERF.client_command(Route("fd00::1", "fd00::2"), Order(duration_s=2))
    assert command.startswith("netperf -H fd00::2,6 -L fd00::1,6 -p 12865 ")


def test_netperf_udp_is_asked_for_both_lines() -> None:
    order = Order(UDP, duration_s=2, message_bytes=1024, socket_bytes=131072)
    assert NETPERF.client_command(ROUTE, order).endswith("-t UDP_STREAM -l 2 -c -C -P 1 -- -m 1024 -s 131072 -S 131072")


@pytest.mark.parametrize(("test", "connections"), [(STREAM, 3), (FILE, 1), (FILE, 2)])
def test_netperf_side_by_side_runs_in_a_shell_and_leaves_nothing(
    tmp_path: Path, test: TrafficTest, connections: int
) -> None:
    """The command as it is, with a netperf that prints what it was given; its scratch folder is gone afterwards."""
    fake, scratch = tmp_path / "bin" / "netperf", tmp_path / "scratch"
    fake.parent.mkdir()
    scratch.mkdir()
    text = CLASSIC_FILE if test is FILE else omni()
    (tmp_path / "text").write_text(text)
    check = "test $(stat -c %s data) -ge 1048576 || echo 'netperf: no file'\n" if test is FILE else ""
    fake.write_text(f"#!/bin/sh\n{check}cat {tmp_path}/text\n")
    fake.chmod(0o755)
    order = Order(test, duration_s=2, connections=connections)
    command = NETPERF.client_command(ROUTE, order)
    environment = {"PATH": f"{fake.parent}:/usr/bin:/bin", "TMPDIR": str(scratch)}
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment, timeout=20)
    found = NETPERF.read(done.stdout, order)
    assert found.throughput_bps == pytest.approx(connections * 941.51e6)
    assert found.received_bytes == pytest.approx(connections * 941.51e6 * 2 / 8)
    assert list(scratch.iterdir()) == []


class TestRead:
    def test_both_tools_give_the_same_record(self) -> None:
        order = Order(duration_s=2)
        one = IPERF3.read(iperf3_text(941.51, retransmits=3), order)
        other = NETPERF.read(omni(), order)
        assert one.throughput_bps == other.throughput_bps == pytest.approx(941.51e6)
        assert one.elapsed_s == other.elapsed_s == 2.0
        assert one.received_bytes == pytest.approx(other.received_bytes)
        assert one.retransmits == other.retransmits == 3
        assert (one.cpu_scale, other.cpu_scale) == (CpuScale.ONE_CPU, CpuScale.MACHINE)
        assert (other.cpu_local_pct, other.cpu_remote_pct) == (12.5, 20.25)

    @pytest.mark.parametrize(
        ("windows", "least"), [(None, None), ([0], None), ([-1], None), ([56640], 56640), ([1348352, 56640], 56640)]
    )
    def test_the_receiver_s_window_is_told_by_iperf3_on_linux(self, windows: list[int], least: int | None) -> None:
        count = len(windows or [0])
        text = iperf3_text(400, windows=windows, num_streams=count)
        assert IPERF3.read(text, Order(duration_s=2, connections=count)).window_bytes == least

    def test_udp_has_its_loss(self) -> None:
        order = Order(UDP, duration_s=2, message_bytes=1024)
        assert IPERF3.read(iperf3_text(400, protocol="UDP"), order).loss == pytest.approx(0.1)
        found = NETPERF.read(CLASSIC_UDP, order)
        assert found.loss == pytest.approx(0.1) and found.throughput_bps == pytest.approx(368.6e6)
        assert (found.cpu_local_pct, found.cpu_remote_pct) == (10.0, 20.0)

    def test_request_response_has_its_rate(self) -> None:
        text = OMNI.replace("10^6bits/s", "Trans/s").format(mbps="10010.00", seconds="2.00", retransmits=0)
        found = NETPERF.read(text, Order(RR, duration_s=2))
        assert (found.transactions_per_s, found.throughput_bps, found.received_bytes) == (10010.0, None, None)

    def test_retransmissions_that_are_not_counted_are_none(self) -> None:
        text = omni().replace("RETRANS=3", "RETRANS=-1")
        assert NETPERF.read(text, Order(duration_s=2)).retransmits is None

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (iperf3_text(900, protocol="UDP"), "of UDP with 1 connections; expected TCP with 1"),
            (iperf3_text(900, num_streams=2), "of TCP with 2 connections; expected TCP with 1"),
            (iperf3_text(900, reverse=1), "1 connections in reverse"),
            (iperf3_text(900, seconds=3), "asked for 3 s; expected 2 s"),
            (iperf3_text(900, elapsed=1.7), "lasted 1.700 s of 2 s"),
            (iperf3_text(0), "0 bytes received"),
        ],
    )
    def test_an_iperf3_run_other_than_ordered_is_worthless(self, text: str, why: str) -> None:
        with pytest.raises(WorthlessResult, match=why):
            IPERF3.read(text, Order(duration_s=2))

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (omni(0), "throughput of 0"),
            (omni(seconds=1.9), "lasted 1.9 s of 2 s"),
            (omni().replace("CPU_UTIL=12.50", "CPU_UTIL=112.50"), "a CPU load of 112.5 % .LOCAL_CPU_UTIL"),
            (omni().replace("10^6bits/s", "Trans/s"), "no throughput of TCP_STREAM"),
            (CLASSIC_UDP, "messages are counted of UDP_STREAM only; expected TCP_STREAM"),
        ],
    )
    def test_a_netperf_run_that_proves_nothing_is_worthless(self, text: str, why: str) -> None:
        with pytest.raises(WorthlessResult, match=why):
            NETPERF.read(text, Order(duration_s=2))

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (f"=== connection 1\n{omni()}", "1 connections ended of 2"),
            (f"=== connection 1\n{omni()}=== connection 1\n{omni()}", "2 connections ended of 2"),
            (f"sh: mktemp: not found\n=== connection 1\n{omni()}=== connection 2\n{omni()}", "mktemp: not found"),
        ],
    )
    def test_a_connection_that_is_missing_is_not_left_out_of_the_sum(self, text: str, why: str) -> None:
        with pytest.raises(WorthlessResult, match=why):
            NETPERF.read(text, Order(duration_s=2, connections=2))

    def test_the_shortest_connection_says_how_long_all_flowed(self) -> None:
        text = f"=== connection 1\n{omni(40, 2.0)}=== connection 2\n{omni(60, 2.5)}"
        found = NETPERF.read(text, Order(duration_s=2, connections=2))
        assert (found.throughput_bps, found.elapsed_s, found.retransmits) == (100e6, 2.0, 6)
        assert found.received_bytes == pytest.approx((40 * 2.0 + 60 * 2.5) * 1e6 / 8)

    def test_a_connection_that_failed_spoils_the_run(self) -> None:
        text = f"=== connection 1\n{omni()}=== connection 2\nestablish control: are you sure there is a netserver?\n"
        with pytest.raises(ReadError, match="establish control"):
            NETPERF.read(text, Order(duration_s=2, connections=2))


def test_what_a_tool_cannot_do_is_not_applicable_and_names_it() -> None:
    with pytest.raises(NotApplicable, match=r"^iperf3 measures no request/response"):
        IPERF3.client_command(ROUTE, Order(RR))
    with pytest.raises(NotApplicable, match=r"^netperf paces UDP only where"):
        NETPERF.client_command(ROUTE, Order(UDP, rate_bps=1000))


@pytest.mark.parametrize(
    ("order", "field"),
    [
        ({"duration_s": 0}, "duration_s"),
        ({"connections": 0}, "connections"),
        ({"message_bytes": 0}, "message_bytes"),
        ({"sender_cpu": 1}, "receiver_cpu"),
        ({"sender_cpu": -1, "receiver_cpu": 0}, "sender_cpu"),
        ({"rate_bps": 1000}, "rate_bps"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(order: dict[str, int], field: str) -> None:
    with pytest.raises(ValueError, match=f"^traffic: {field}: "):
        Order(**order)  # type: ignore[arg-type]


def test_the_step_of_a_figure_is_that_of_what_prints_it() -> None:
    assert IPERF3.resolution_bps(Order(duration_s=2)) == 5792
    assert NETPERF.resolution_bps(Order(duration_s=2)) == 10_000
    assert NETPERF.resolution_bps(Order(duration_s=1)) == 11_584
