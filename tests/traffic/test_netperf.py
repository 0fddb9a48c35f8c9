"""netperf results: what must be refused, the command's part in it, and texts printed from random results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.hosts.errors import ReadError
from niclab.traffic import WorthlessResult
from niclab.traffic.netperf import read_netperf
from niclab.traffic.netperf_command import read_command

TITLE = "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET"
STREAM = """Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00     9413.81
"""
CPU = """Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

 87380  16384  16384    10.00      9413.81   2.18     3.93     0.149   0.268
"""
UDP_TITLE = "MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET"
UDP = """Socket  Message  Elapsed      Messages
Size    Size     Time         Okay Errors   Throughput
bytes   bytes    secs            #      #   10^6bits/sec

212992   65507   10.00       18351      0     961.61
212992           10.00       18350            961.56
"""
RR_TITLE = "MIGRATED TCP REQUEST/RESPONSE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET"
RR = """Local /Remote
Socket Size   Request  Resp.   Elapsed  Trans.
Send   Recv   Size     Size    Time     Rate
bytes  Bytes  bytes    bytes   secs.    per sec

16384  87380  1        1       10.00    8000.27
16384  87380
"""
WARNING = """!!! WARNING
!!! Desired confidence was not achieved within the specified iterations.
!!! Confidence intervals: Throughput      : 6.663%
"""

WORTHLESS = [
    ("nothing", TITLE, STREAM, "9413.81", "0.00", None, "a throughput of 0 10\\^6bits/s"),
    ("not a number", TITLE, STREAM, "9413.81", "nan", None, "a throughput of nan"),
    ("infinite", TITLE, STREAM, "9413.81", "inf", None, "a throughput of inf"),
    ("negative", TITLE, STREAM, "9413.81", "-9.00", None, "a throughput of -9"),
    ("no time", TITLE, STREAM, "10.00", "0.00", None, "an elapsed time of 0 s"),
    ("cut", TITLE, STREAM, "", "", "netperf -H h -l 60", "it lasted 10 s of 60 s"),
    ("cut before the default", TITLE, STREAM, "10.00", "9.79", "netperf -H h", "it lasted 9.79 s of 10 s"),
    ("no result", TITLE, STREAM, " 87380  16384  16384    10.00     9413.81\n", "", None, "the run did not end"),
    ("title only", TITLE, STREAM, STREAM, "", None, "the run did not end"),
    ("CPU above 100 %", TITLE, CPU, "2.18", "100.01", None, "a local CPU load of 100.01 %"),
    ("CPU below zero", TITLE, CPU, "3.93", "-5459.89", None, "a remote CPU load of -5459.89 %"),
    (
        "nothing received",
        UDP_TITLE,
        UDP,
        "18350            961.56",
        "0   0.00",
        None,
        "18351 messages sent, 0 received",
    ),
    ("zero rate received", UDP_TITLE, UDP, "            961.56", "   0.00", None, "a receiver's throughput of 0"),
    ("more than sent", UDP_TITLE, UDP, "18350", "18352", None, "more than the 18351 sent"),
    ("sent only", UDP_TITLE, UDP, "212992           10.00       18350            961.56\n", "", None, "sender's line"),
    ("no transactions", RR_TITLE, RR, "8000.27", "0.00", None, "a transaction rate of 0"),
]


@pytest.mark.parametrize(
    ("title", "table", "old", "new", "command", "said"), [case[1:] for case in WORTHLESS], ids=[c[0] for c in WORTHLESS]
)
def test_worthless_result_is_refused(
    title: str, table: str, old: str, new: str, command: str | None, said: str
) -> None:
    assert old in table
    with pytest.raises(WorthlessResult, match=f"netperf: worthless result: .*{said}"):
        read_netperf(f"{title}\n{table.replace(old, new, 1)}", command)


UNREADABLE = [
    ("", "line 1 '': expected a result of netperf"),
    ("\n\n", "expected a result of netperf"),
    ("87380 16384 16384 10.00 9413.81\n", "headings, or the command that tells test and unit"),
    ("9413.81\n", "headings, or the command that tells test and unit"),
    (f"{TITLE}\n9413.81\n", "headings, or the command that tells test and unit"),
    (f"{TITLE}\n{STREAM}{TITLE}\n{STREAM}", "one result only"),
    (f"{TITLE}\n{STREAM} 87380  16384  16384    10.00     9413.81\n", "one result only"),
    (f"{TITLE}\n{RR_TITLE}\n{STREAM}", "line 2 .*one result only"),
    (f"{RR_TITLE}\n{STREAM}", "the heading of a stream test.*expected that of TCP_RR"),
    (f"{TITLE}\n{STREAM.replace('16384    10.00', '16384 abc    10.00')}", "5 numbers, the columns of a stream test"),
    (f"{TITLE}\n{STREAM.replace('9413.81', '9413.81 2.18')}", "5 numbers"),
    (f"{TITLE}\n{CPU.replace('0.268', '')}", "9 numbers"),
    (f"{TITLE}\n{STREAM.replace('87380', '87380.5')}", "the receiver's socket size, a whole number, in column 1"),
    (f"{UDP_TITLE}\n{UDP.replace('18351 ', '18351.5 ')}", "messages sent, a whole number, in column 4"),
    (
        f"{TITLE}\n{STREAM.replace('10^6bits', '10^6apples')}",
        "line 2 .*a whole heading, with a unit",
    ),
    (f"{TITLE}\n!!! WARNING\n{STREAM}", "the line 'Confidence intervals: Throughput : N%'"),
    ("netperf: send_omni: connect_data_socket failed: Connection refused\n", "expected a result, not a message"),
    (f"{TITLE}\nrecv_response: partial response received: 0 bytes\n{STREAM}", "line 2 .*not a message"),
    (f"{TITLE}\nnetperf: remote error 11\n", "not a message"),
    ("bash: netperf: command not found\n", "not a message"),
    ("THROUGHPUT=9413.81\n", "THROUGHPUT_UNITS, or the command that tells the unit"),
    ("THROUGHPUT=fast\nTHROUGHPUT_UNITS=10^6bits/s\n", "THROUGHPUT=fast': expected a whole value"),
    ("THROUGHPUT_UNITS=10^6bits/s\nTHROUGHPUT=94", "THROUGHPUT=94': expected a whole value as netperf prints it"),
    (
        f"{TITLE}\n{STREAM}".removesuffix("13.81\n"),
        "a throughput, a number with 2 digits behind the point, in column 5",
    ),
    (f"{TITLE}\n{STREAM}".removesuffix("1\n"), "a throughput, a number with 2 digits behind the point, in column 5"),
    (f"{TITLE}\n{CPU}".removesuffix("8\n"), "the remote service demand, a number with 3 digits"),
    (f"{UDP_TITLE}\n{UDP}".removesuffix("6\n"), "the throughput, a number with 2 digits"),
    ("THROUGHPUT=1.00\nTHROUGHPUT=2.00\nTHROUGHPUT_UNITS=10^6bits/s\n", "THROUGHPUT once"),
    ("THROUGHPUT=1.00\nTHROUGHPUT_UNITS=furlongs\n", "a unit such as 10\\^6bits/s"),
    ("ELAPSED_TIME=1.00\n", "THROUGHPUT, TRANSACTION_RATE or a latency among the selectors"),
    ("Throughput,Throughput Units\n1.0\n", "2 values, as many as names"),
]


@pytest.mark.parametrize(("text", "said"), UNREADABLE)
def test_unreadable_text_says_what_is_wanted(text: str, said: str) -> None:
    with pytest.raises(ReadError, match=f"cannot read netperf: .*{said}") as refused:
        read_netperf(text)
    assert not isinstance(refused.value, WorthlessResult)


@pytest.mark.parametrize(
    ("command", "test", "length_s", "unit", "headers"),
    [
        ("netperf", "TCP_STREAM", 10.0, None, True),
        ("netperf -H 10.0.0.2 -cc -t TCP_STREAM -l 30 -- -d -m 32768", "TCP_STREAM", 30.0, None, True),
        ("./netperf -P1 -I 30 -H h -T 5,5 -t TCP_SENDFILE -F /data.file -l60", "TCP_SENDFILE", 60.0, None, True),
        ("ssh dut taskset -c 2 /opt/netperf-2.7.0/src/netperf -P 0 -f M -t udp_stream", "UDP_STREAM", 10.0, "M", False),
        ("netperf -D -0.5 -l -1000 -H h", "TCP_STREAM", None, None, True),
        ("netperf -D -l 20 -H h", "TCP_STREAM", 20.0, None, True),
        ("netperf -D 10,2 -l 0 -H h", "TCP_STREAM", None, None, True),
        ("sudo ip netns exec a netperf -4 -t TCP_RR -f x -- -r 1,1 -l 9", "TCP_RR", 10.0, "x", True),
        ("./netperf -H 192.168.10.12 -t TCP RR", "TCP_RR", 10.0, None, True),
        ("netperf -H 'unclosed", "TCP_STREAM", 10.0, None, True),
    ],
)
def test_a_command_line_is_understood(
    command: str, test: str, length_s: float | None, unit: str | None, headers: bool
) -> None:
    found = read_command(command)
    assert (found.test, found.length_s, found.unit, found.headers) == (test, length_s, unit, headers)


@pytest.mark.parametrize("command", ["iperf3 -c h", "netperf -l ten", "netperf -i x", "netperf -I 5%"])
def test_a_command_line_that_cannot_be_read_is_an_error(command: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read netperf: (?:command|option)"):
        read_netperf(f"{TITLE}\n{STREAM}", command)


def test_a_unit_without_heading_is_the_commands() -> None:
    row = " 87380  16384  16384    10.00     1122.10\n"
    assert read_netperf(row, "netperf -P 0 -H h").throughput_bps == 1122.10e6
    assert read_netperf(row, "netperf -P 0 -f M -H h").throughput_bps == pytest.approx(1122.10 * 8 * 2**20)
    assert read_netperf(row, "netperf -P 0 -f k -H h").throughput_bps == 1122.10e3
    with pytest.raises(ReadError, match="option -f of the command 'q': expected one of B K M G b k m g x"):
        read_netperf(row, "netperf -P 0 -f q -H h")


def test_the_figure_alone_needs_verbosity_zero() -> None:
    assert read_netperf("9413.81\n", "netperf -v 0 -P 0 -H h").throughput_bps == 9413.81e6
    assert read_netperf("8000.27\n", "netperf -v 0 -P 0 -t TCP_RR -H h").transactions_per_s == 8000.27
    with pytest.raises(WorthlessResult, match="one rate of UDP, which may be the sender's"):
        read_netperf("961.61\n", "netperf -v 0 -P 0 -t UDP_STREAM -H h")


@pytest.mark.parametrize("unit", ["10^0bits", "Bytes"])
def test_what_netperf_calls_bits_are_bytes(unit: str) -> None:
    text = f"{TITLE}\n{STREAM}".replace("10^6bits", unit).replace("9413.81", "1176726250.00")
    assert read_netperf(text).throughput_bps == 9413810000.0


def test_repeats_that_were_asked_for_and_sure_enough() -> None:
    asked = read_netperf(f"{TITLE} : +/-2.500% @ 95% conf.\n{CPU}").confidence
    assert asked is not None
    assert (asked.level_pct, asked.wanted_pct, asked.met, asked.throughput_pct) == (95, 2.5, True, None)
    by_command = read_netperf(f"{TITLE}\n{CPU}", "netperf -H h -i 10,3 -I 95,10 -c -C").confidence
    assert by_command is not None
    assert (by_command.level_pct, by_command.wanted_pct, by_command.met) == (95, 5.0, True)
    assert read_netperf(f"{TITLE}\n{CPU}", "netperf -H h").confidence is None


def test_a_warning_without_headings_is_kept() -> None:
    found = read_netperf(f"{WARNING}\n 87380  16384  16384    10.00     9413.81\n", "netperf -P 0 -H h -i 3").confidence
    assert found is not None
    assert (found.level_pct, found.wanted_pct, found.met, found.throughput_pct) == (99, 2.5, False, 6.663)


def test_omni_confidence_is_computed_not_believed() -> None:
    keys = "THROUGHPUT=1.00\nTHROUGHPUT_UNITS=10^6bits/s\nCONFIDENCE_LEVEL=95\nCONFIDENCE_INTERVAL=5.0\n"
    keys += "THROUGHPUT_CONFID=5.100\n"
    wide, narrow = read_netperf(keys).confidence, read_netperf(keys.replace("5.100", "4.900")).confidence
    assert wide is not None and wide.met is False
    assert narrow is not None and narrow.met is True


@given(
    mbits=st.integers(1, 10**8).map(lambda value: value / 100),
    seconds=st.integers(100, 10**6).map(lambda value: value / 100),
    sizes=st.tuples(st.integers(0, 2**30), st.integers(0, 2**30), st.integers(1, 65507)),
    loads=st.none() | st.tuples(*[st.integers(0, 10_000).map(lambda value: value / 100)] * 2),
)
def test_a_printed_stream_reads_back(
    mbits: float, seconds: float, sizes: tuple[int, int, int], loads: tuple[float, float] | None
) -> None:
    figures = f"{sizes[0]:5d} {sizes[1]:5d}  {sizes[2]:6d}    {seconds:<6.2f}     {mbits:7.2f}"
    if loads is not None:
        figures += f"   {loads[0]:<6.2f}   {loads[1]:<6.2f}   {0.149:<6.3f}  {0.268:<6.3f} "
    heading = (CPU if loads is not None else STREAM).rpartition("\n 87380")[0]
    result = read_netperf(f"{TITLE}\n{heading}\n{figures}\n")
    assert result.throughput_bps == pytest.approx(mbits * 1e6)
    assert (result.elapsed_s, result.recv_socket_bytes, result.send_socket_bytes, result.message_bytes) == (
        seconds,
        *sizes,
    )
    assert (result.cpu_local_pct, result.cpu_remote_pct) == (loads or (None, None))


@given(sent=st.integers(1, 10**9), lost=st.integers(0, 10**9), cpu=st.booleans())
def test_a_printed_udp_stream_reads_back(sent: int, lost: int, cpu: bool) -> None:
    received = sent - min(lost, sent - 1)
    more, digits = ("     12.48    15.236", 1) if cpu else ("", 2)
    heading = "bytes   bytes    secs            #      #   10^6bits/sec" + (" % SS     us/KB" if cpu else "")
    rows = (
        f"{212992:6d}  {1472:6d}   {10.0:<7.2f}   {sent:7d} {3:6d}    {961.61:7.{digits}f}{more}\n"
        f"{212992:6d}           {10.0:<7.2f}   {received:7d}           {900.5:7.{digits}f}{more}\n"
    )
    result = read_netperf(f"{UDP_TITLE}\n{heading}\n\n{rows}\n")
    assert (result.messages_sent, result.messages_received, result.messages_failed) == (sent, received, 3)
    assert result.loss == (sent - received) / sent
    assert (result.throughput_bps, result.send_throughput_bps) == (900.5e6, 961.6e6 if cpu else 961.61e6)
    assert result.cpu_remote_pct == (12.48 if cpu else None)
