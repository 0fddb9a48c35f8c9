"""What iperf3 prints for people, and what of it proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.hosts.errors import ReadError
from niclab.traffic import WorthlessResult
from niclab.traffic.iperf3 import Iperf3Result, Iperf3Test
from niclab.traffic.iperf3_text import Iperf3Summary, read_iperf3_output

TCP = """[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  10.9 GBytes  9.41 Gbits/sec    3             sender
[  5]   0.00-10.04  sec  10.9 GBytes  9.38 Gbits/sec                  receiver
"""
UDP = """[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams
[  5]   0.00-10.00  sec  1.16 GBytes  1000 Mbits/sec  0.000 ms  0/863200 (0%)  sender
[  5]   0.00-10.04  sec  1.15 GBytes   986 Mbits/sec  0.009 ms  8632/863180 (1%)  receiver
"""
OLD_UDP = """[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-10.00  sec  1.24 GBytes  1.06 Gbits/sec  0.001 ms  135795/162217 (84%)
[  4] Sent 162217 datagrams
"""
OLD_UDP_ENDED = f"{'- ' * 25}\n{OLD_UDP}"
STREAM = Path(__file__).parents[1] / "hosts" / "captures" / "iperf3" / "json-stream.txt"


def summary(text: str, command: str | None = None) -> Iperf3Summary:
    result = read_iperf3_output(text, command)
    assert isinstance(result, Iperf3Summary)
    return result


def test_a_text_gives_what_was_received() -> None:
    result = summary(TCP)
    assert (result.test, result.throughput_bps, result.send_throughput_bps) == (Iperf3Test.TCP, 9.38e9, 9.41e9)
    assert (result.elapsed_s, result.retransmits, result.loss) == (10.04, 3, None)


def test_a_text_of_udp_gives_the_loss() -> None:
    result = summary(UDP)
    assert (result.test, result.throughput_bps, result.retransmits) == (Iperf3Test.UDP, 986e6, None)
    assert result.loss == 8632 / 863180


def test_udp_of_an_old_version_gives_losses_and_no_rate_of_the_receiver() -> None:
    result = summary(OLD_UDP_ENDED)
    assert (result.throughput_bps, result.send_throughput_bps, result.loss) == (None, 1.06e9, 135795 / 162217)
    on_the_server = summary(f"Accepted connection from 10.0.0.1, port 40000\n{OLD_UDP_ENDED}")
    assert (on_the_server.throughput_bps, on_the_server.send_throughput_bps) == (None, None)


@pytest.mark.parametrize(
    ("text", "command", "said"),
    [
        (TCP.replace("receiver", "sender2"), None, "no line of the receiver"),
        (TCP, "iperf3 -c h -t 60", "it lasted 10.04 s of 60 s"),
        (TCP.replace("10.0", "5.0"), "iperf3 --client h", "it lasted 5.04 s of 10 s"),
        (TCP.replace("10.9 GBytes  9.38 Gbits/sec", "0.00 Bytes  0.00 bits/sec"), None, "0.00 Bytes at 0.00 bits/sec"),
        (TCP.replace("9.38 Gbits/sec", "0.00 bits/sec"), None, "10.9 GBytes at 0.00 bits/sec"),
        (UDP.replace("8632/863180", "863180/863180"), None, "863180 of 863180 datagrams lost"),
        (UDP.replace("8632/863180", "0/0"), None, "0 of 0 datagrams lost"),
        (UDP.replace("8632/863180", "0/2147483647"), None, "the counter of datagrams is full at 2147483647"),
        (TCP.replace("[  5]", "[  5][TX-C]"), None, "both directions at once"),
        ('{"event":"start","data":{}}\n', None, "a stream without its last event"),
        ('{"event":"start","data":{}}\n{"event":"error","data":"interrupt"}\n', None, "the error 'interrupt'"),
    ],
)
def test_worthless_result_is_refused(text: str, command: str | None, said: str) -> None:
    with pytest.raises(WorthlessResult, match=said):
        read_iperf3_output(text, command)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "lines such as"),
        ("iperf3: error - unable to connect to server: Connection refused\n", "line 1 .*a result, not a message"),
        (TCP + "iperf3: interrupt - the client has terminated\n", "line 4 .*a result, not a message"),
        (TCP + TCP, "one result only"),
        (TCP + TCP.replace("[  5]", "[  7]"), r"a line \[SUM\] of all streams"),
        (
            "Starting Test: protocol: SCTP, 1 streams, 65536 byte blocks, omitting 0 seconds, 10 second test\n" + TCP,
            "SCTP",
        ),
        (TCP.replace("9.38", "9.3.8"), "'9.3.8': expected a number"),
    ],
)
def test_unreadable_text_says_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(ReadError, match=f"cannot read iperf3: .*{said}") as refused:
        read_iperf3_output(text)
    assert not isinstance(refused.value, WorthlessResult)


def test_a_stream_of_events_is_the_same_result_as_the_document() -> None:
    result = read_iperf3_output(STREAM.read_text().partition("\n")[2])
    assert isinstance(result, Iperf3Result)
    assert (result.test, result.received_bytes, result.version) == (Iperf3Test.TCP, 2967470080, "3.12")


def test_a_version_that_does_not_name_the_direction() -> None:
    events = [json.loads(line) for line in STREAM.read_text().splitlines()[1:]]
    del events[0]["data"]["test_start"]["reverse"]
    result = read_iperf3_output(json.dumps({"start": events[0]["data"], "end": events[-1]["data"]}))
    assert isinstance(result, Iperf3Result)
    assert result.reverse is None


@given(
    rate=st.integers(1, 999),
    unit=st.sampled_from([("bits/sec", 1), ("Kbits/sec", 1e3), ("Gbits/sec", 1e9), ("MBytes/sec", 8 * 2**20)]),
    lost=st.integers(0, 10**6),
    arrived=st.integers(1, 10**6),
)
def test_a_printed_summary_reads_back(rate: int, unit: tuple[str, float], lost: int, arrived: int) -> None:
    moved = rate * unit[1] * 10.04 / 8
    name, amount = ("GBytes", 2**30) if unit[1] > 1000 else ("Bytes", 1)
    size = f"{moved / amount:.3f} {name}"
    figures = f"{size}  {rate} {unit[0]}  0.009 ms  {lost}/{lost + arrived} ({100 * lost / (lost + arrived):.2g}%)"
    result = summary(f"[  5]   0.00-10.04  sec  {figures}  receiver\n")
    assert result.throughput_bps == rate * unit[1]
    assert result.loss == lost / (lost + arrived)
