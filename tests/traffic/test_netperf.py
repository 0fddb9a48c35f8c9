"""netperf results: what is read, what must be refused, and texts printed from random results."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.hosts.errors import ReadError
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.netperf import NetperfResult, read_netperf

KEYS = """THROUGHPUT=9414.21
THROUGHPUT_UNITS=10^6bits/s
ELAPSED_TIME=10.00
LOCAL_CPU_UTIL=2.31
REMOTE_CPU_UTIL=-1.00
LOCAL_TRANSPORT_RETRANS=17
LOCAL_SEND_SIZE=16384
LSS_SIZE_END=2626560
RSR_SIZE_END=6291456
"""
SENDFILE = """TCP SENDFILE TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 1.2.3.2 (1.2.3.2) port 0 AF_INET : cpu bind
Recv   Send    Send                          Utilization       Service Demand
Socket Socket  Message  Elapsed              Send     Recv     Send    Recv
Size   Size    Size     Time     Throughput  local    remote   local   remote
bytes  bytes   bytes    secs.    10^6bits/s  % S      % S      us/KB   us/KB

131072  16384  16384    10.00      9132.37   6.13     11.79    0.440   0.846
"""
UDP = """MIGRATED UDP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.0.0.2 () port 0 AF_INET
Socket  Message  Elapsed      Messages                   CPU      Service
Size    Size     Time         Okay Errors   Throughput   Util     Demand
bytes   bytes    secs            #      #   10^6bits/sec % SS     us/KB

212992   65507   10.00       18351      0      961.6     12.48    15.236
212992           10.00       18350             961.5     20.25    16.100

"""


def test_keys_and_values() -> None:
    assert read_netperf(KEYS, asked_s=10) == NetperfResult(9414.21e6, None, 10.0, 2.31, None, 17)
    rr = KEYS.replace("10^6bits/s", "Trans/s").replace("RETRANS=17", "RETRANS=-1")
    assert read_netperf(rr) == NetperfResult(None, 9414.21, 10.0, 2.31, None, None)


def test_tables() -> None:
    assert read_netperf(SENDFILE) == NetperfResult(9132.37e6, None, 10.0, 6.13, 11.79)
    assert read_netperf(UDP) == NetperfResult(961.5e6, None, 10.0, 12.48, 20.25, None, 18351, 18350)


WORTHLESS = [
    ("nothing", KEYS, "9414.21", "0.00", "a throughput of 0"),
    ("not a number", KEYS, "9414.21", "nan", "a throughput of nan"),
    ("infinite", SENDFILE, "9132.37", "inf", "a throughput of inf"),
    ("negative", SENDFILE, "9132.37", "-9.00", "a throughput of -9"),
    ("no time", KEYS, "10.00", "0.00", "an elapsed time of 0 s"),
    ("cut", KEYS, "10.00", "9.79", "it lasted 9.79 s of 10 s"),
    ("table cut", SENDFILE, "10.00", "9.79", "it lasted 9.79 s of 10 s"),
    ("no result", SENDFILE, SENDFILE[-78:], "\n", "the run did not end"),
    ("CPU above 100 %", KEYS, "2.31", "100.01", "a CPU load of 100.01 %"),
    ("CPU below zero", SENDFILE, "11.79", "-5459.89", "a CPU load of -5459.89 %"),
    ("nothing received", UDP, "18350 ", "0 ", "18351 messages sent, 0 received"),
    ("zero rate received", UDP, "961.5", "0.0", "a receiver's throughput of 0"),
    ("zero rate sent", UDP, "961.6", "0.0", "a sender's throughput of 0"),
    ("more than sent", UDP, "18350 ", "18352 ", "more than the 18351 sent"),
    ("sent only", UDP, "212992           10.00       18350             961.5     20.25    16.100\n", "", "1 rows of 2"),
]


@pytest.mark.parametrize(("text", "old", "new", "said"), [c[1:] for c in WORTHLESS], ids=[c[0] for c in WORTHLESS])
def test_worthless_result_is_refused(text: str, old: str, new: str, said: str) -> None:
    assert old in text
    with pytest.raises(WorthlessResult, match=f"^netperf: worthless result: .*{said}"):
        read_netperf(text.replace(old, new, 1), asked_s=10)


UNREADABLE = [
    ("empty", "", "a result whose last line ends"),
    ("blank", "\n\n", "a result whose last line ends"),
    ("a message", "establish control: are you sure there is a netserver?\n", "line 1 'establish control.*KEY=value"),
    ("a message before", f"recv_response: partial response\n{KEYS}", "line 1 'recv_response.*KEY=value"),
    ("a message behind", f"{KEYS}netperf: remote error 11\n", "line 10 'netperf: remote error 11'"),
    ("a prompt", f"root@dut:~ # netperf -H h\n{KEYS}", "line 1 .*KEY=value"),
    ("two results", KEYS + KEYS, "line 10 .*once"),
    ("two tables", SENDFILE + SENDFILE, "line 8 .*one result only"),
    ("a key is missing", KEYS.replace("ELAPSED_TIME=10.00\n", ""), "ELAPSED_TIME as well"),
    ("another key", KEYS + "PROTOCOL=TCP\n", "line 10 .*KEY=value"),
    ("another unit", KEYS.replace("10^6bits/s", "MBytes/s"), "one of 10.6bits/s, Trans/s"),
    ("another unit in a table", SENDFILE.replace("10^6bits", "10^9bits"), "line 5 .*a heading like"),
    ("a table without CPU", SENDFILE.replace("  % S      % S      us/KB   us/KB", ""), "line 5 .*a heading like"),
    ("of another test", SENDFILE.replace("TCP SENDFILE", "TCP STREAM"), "line 1 .*KEY=value"),
    ("a word for a number", KEYS.replace("9414.21", "fast"), "THROUGHPUT 'fast'; expected a number"),
    ("a size cut", SENDFILE.replace("131072", "131072.5"), "column 1 '131072.5'; expected a whole number"),
    ("a column too few", SENDFILE.replace("0.846", ""), "9 numbers"),
    ("a column too many", UDP.replace("16.100", "16.100 1"), "6 numbers"),
]


@pytest.mark.parametrize(("text", "said"), [c[1:] for c in UNREADABLE], ids=[c[0] for c in UNREADABLE])
def test_what_is_no_result_says_what_is_expected(text: str, said: str) -> None:
    with pytest.raises(ReadError, match=f"^cannot read netperf: .*{said}"):
        read_netperf(text)


@pytest.mark.parametrize("text", [KEYS, SENDFILE, UDP])
def test_a_text_cut_anywhere_is_never_a_result(text: str) -> None:
    whole = text.rstrip()
    for end in range(len(whole)):
        with pytest.raises(ReadError):
            read_netperf(whole[:end])


@given(text=st.text(max_size=80), place=st.integers(0, 600), base=st.sampled_from([KEYS, SENDFILE, UDP]))
def test_random_text_raises_nothing_but_read_error(text: str, place: int, base: str) -> None:
    try:
        read_netperf(base[:place] + text + base[place:])
    except ReadError as error:
        assert str(error).startswith(("cannot read netperf: ", "netperf: worthless result: "))


@given(
    mbits=st.integers(1, 10**8).map(lambda value: value / 100),
    seconds=st.integers(100, 10**6).map(lambda value: value / 100),
    sizes=st.tuples(st.integers(0, 2**30), st.integers(0, 2**30), st.integers(1, 65507)),
    loads=st.tuples(*[st.integers(0, 10_000).map(lambda value: value / 100)] * 2),
)
def test_a_printed_table_reads_back(
    mbits: float, seconds: float, sizes: tuple[int, int, int], loads: tuple[float, float]
) -> None:
    figures = f"{sizes[0]:5d} {sizes[1]:5d}  {sizes[2]:6d}    {seconds:<6.2f}     {mbits:7.2f}"
    figures += f"   {loads[0]:<6.2f}   {loads[1]:<6.2f}   {0.149:<6.3f}  {0.268:<6.3f} "
    result = read_netperf(f"{SENDFILE.rpartition('131072')[0]}{figures}\n")
    assert result == NetperfResult(pytest.approx(mbits * 1e6), None, seconds, *loads)


@given(sent=st.integers(1, 10**9), lost=st.integers(0, 10**9))
def test_a_printed_udp_stream_reads_back(sent: int, lost: int) -> None:
    received = sent - min(lost, sent - 1)
    rows = (
        f"{212992:6d}  {1472:6d}   {10.0:<7.2f}   {sent:7d} {3:6d}    {961.61:7.1f}     12.48    15.236\n"
        f"{212992:6d}           {10.0:<7.2f}   {received:7d}           {900.5:7.1f}     12.48    15.236\n"
    )
    result = read_netperf(f"{UDP.partition('212992')[0]}{rows}\n")
    assert (result.messages_sent, result.messages_received, result.throughput_bps) == (sent, received, 900.5e6)
