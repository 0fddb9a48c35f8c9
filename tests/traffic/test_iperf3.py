"""iperf3 results: real runs, and every way in which a run proves nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "hosts"))

import examples

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.iperf3 import Iperf3Test, read_iperf3


def text(name: str) -> str:
    return examples.text_of("iperf3", name)


def changed(name: str, change: Callable[[Any], object]) -> str:
    """A capture with something changed in its JSON."""
    document = json.loads(text(name))
    change(document)
    return json.dumps(document)


def test_tcp() -> None:
    result = read_iperf3(text("tcp"), asked_s=1)
    assert result.test is Iperf3Test.TCP
    assert result.throughput_bps == pytest.approx(23735132289.2)
    assert (result.elapsed_s, result.received_bytes) == (1.000195, 2967470080)
    assert (result.retransmits, result.loss, result.jitter_ms) == (8, None, None)
    assert result.cpu_local_pct == pytest.approx(98.268, abs=0.001)
    assert result.cpu_remote_pct == pytest.approx(43.741, abs=0.001)
    assert (result.streams, result.reverse, result.version) == (1, False, "3.12")


def test_tcp_two_streams_reverse() -> None:
    result = read_iperf3(text("tcp-two-streams-reverse"))
    assert (result.streams, result.reverse, result.retransmits) == (2, True, 8)
    assert result.received_bytes == 2842820502


def test_omitted_seconds_do_not_count() -> None:
    """With -O the receiver's bytes may exceed the sender's a little."""
    result = read_iperf3(text("tcp-omit"), asked_s=2)
    assert result.elapsed_s == 2.000344


def test_run_by_bytes() -> None:
    assert read_iperf3(text("tcp-bytes")).received_bytes == 5242880


def test_udp_is_what_arrived_not_what_was_sent() -> None:
    result = read_iperf3(text("udp-loss"), asked_s=1)
    assert result.test is Iperf3Test.UDP
    assert result.throughput_bps == pytest.approx(38708586470.8)
    assert result.throughput_bps < 42380101030 * 0.92
    assert result.loss == pytest.approx(7608 / 88300)
    assert result.retransmits is None
    assert result.jitter_ms == pytest.approx(0.00933, abs=0.0001)


def test_udp_reverse() -> None:
    result = read_iperf3(text("udp-reverse"))
    assert (result.reverse, result.loss) == (True, 0)


@pytest.mark.parametrize("noise", ["warning: UDP block size 60000 exceeds TCP MSS 32768\n", "Welcome {dut}\n"])
def test_text_around_the_json_is_refused(noise: str) -> None:
    for dressed in (noise + text("tcp"), text("tcp") + noise):
        with pytest.raises(ReadError, match="one JSON document"):
            read_iperf3(dressed)


WORTHLESS: list[tuple[str, str, Callable[[Any], object], str]] = [
    ("refused", "refused", lambda _: None, "Connection refused"),
    ("cut by SIGINT", "cut", lambda _: None, "interrupt - the client has terminated"),
    ("cut, error key lost", "cut", lambda d: d.pop("error"), "0 bytes received"),
    ("bidirectional", "bidir", lambda _: None, "both directions"),
    ("sender's UDP sum only", "udp-3.1.3", lambda _: None, "only the sender's rate of UDP"),
    ("sum_received left out", "udp-loss", lambda d: d["end"].pop("sum_received"), "only the sender's rate of UDP"),
    ("no sums", "tcp", lambda d: d["end"].pop("sum_received"), "the run did not end"),
    ("short", "tcp", lambda d: d["start"]["test_start"].update(duration=10), r"lasted 1.000 s of 10 s"),
    ("nothing received", "tcp", lambda d: d["end"]["sum_received"].update(bytes=0), "0 bytes received"),
    (
        "the counter is full",
        "udp-loss",
        lambda d: d["end"]["sum_received"].update(packets=2**31 - 1),
        "the counter of datagrams is full at 2147483647",
    ),
    ("nothing sent", "tcp", lambda d: d["end"]["sum_sent"].update(bytes=0), "0 bytes sent"),
    ("no time", "tcp", lambda d: d["end"]["sum_received"].update(seconds=0), "in 0 s"),
    ("no rate", "tcp", lambda d: d["end"]["sum_received"].update(bits_per_second=0), "at 0 bit/s"),
    ("a stream died", "tcp-two-streams-reverse", lambda d: d["end"]["streams"].pop(), "1 streams ended of 2"),
    ("no stream", "tcp", lambda d: d["start"]["test_start"].update(num_streams=0), "1 streams ended of 0"),
    ("fewer bytes", "tcp-bytes", lambda d: d["start"]["test_start"].update(bytes=6000000), "of 6000000 asked for"),
    ("asked for nothing", "tcp-bytes", lambda d: d["start"]["test_start"].update(bytes=0), "no duration was asked"),
    (
        "loss not taken off",
        "udp-loss",
        lambda d: d["end"]["sum_received"].update(bytes=5298000000, bits_per_second=42362000000),
        "although 8.6 % were lost",
    ),
]


@pytest.mark.parametrize(
    ("name", "change", "said"), [case[1:] for case in WORTHLESS], ids=[case[0] for case in WORTHLESS]
)
def test_worthless_result_is_refused(name: str, change: Callable[[Any], object], said: str) -> None:
    with pytest.raises(WorthlessResult, match=f"iperf3 -J: worthless result: .*{said}") as error:
        read_iperf3(changed(name, change))
    assert isinstance(error.value, BenchFault)


def test_another_duration_than_asked_for_is_refused() -> None:
    with pytest.raises(WorthlessResult, match="asked for 1 s; expected 10 s"):
        read_iperf3(text("tcp"), asked_s=10)


def lasted(seconds: float, omit: int) -> Callable[[Any], object]:
    def change(document: Any) -> None:
        document["start"]["test_start"].update(omit=omit)
        for sums in (document["end"]["sum_sent"], document["end"]["sum_received"]):
            sums.update(seconds=seconds, bytes=round(1e6 * seconds), bits_per_second=8e6)

    return change


def test_an_omission_that_ended_late_shortens_a_run_a_little() -> None:
    read_iperf3(changed("tcp", lasted(0.79, omit=1)))
    read_iperf3(changed("tcp", lasted(0.99, omit=0)))
    for seconds, omit in ((0.77, 1), (0.97, 0)):
        with pytest.raises(WorthlessResult, match=rf"it lasted {seconds:.3f} s of 1 s"):
            read_iperf3(changed("tcp", lasted(seconds, omit)))


def sum_received(**values: object) -> Callable[[Any], object]:
    return lambda document: document["end"]["sum_received"].update(values)


UNREADABLE: list[tuple[str, Callable[[Any], object], str]] = [
    ("bytes as text", sum_received(bytes="1"), r"end.sum_received.bytes '1'; expected a whole number"),
    ("negative bytes", sum_received(bytes=-1), "expected a whole number from 0"),
    ("a boolean", sum_received(bytes=True), "end.sum_received.bytes 'True'"),
    ("rate that does not fit", sum_received(bits_per_second=2.0e10), "which bytes and seconds give"),
    ("seconds missing", lambda d: d["end"]["sum_received"].pop("seconds"), "end.sum_received.seconds"),
    ("SCTP", lambda d: d["start"]["test_start"].update(protocol="SCTP"), "'SCTP'; expected one of TCP, UDP"),
    ("no test", lambda d: d["start"].pop("test_start"), "start.test_start"),
    ("end is a list", lambda d: d.update(end=[]), "end '\\[\\]'; expected an object"),
]


@pytest.mark.parametrize(("change", "said"), [case[1:] for case in UNREADABLE], ids=[case[0] for case in UNREADABLE])
def test_unreadable_result_names_the_place(change: Callable[[Any], object], said: str) -> None:
    with pytest.raises(ReadError, match=f"cannot read iperf3 -J: {said}|cannot read iperf3 -J: .*{said}"):
        read_iperf3(changed("tcp", change))


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("", "one JSON document"),
        ("iperf3: error - unable to connect to server: Connection refused\n", "one JSON document"),
        ("{", "one JSON document"),
        ("[]", "expected an object"),
        ('{"a": NaN}', "NaN is not a number"),
        ("{}", "start"),
    ],
)
def test_text_that_is_no_result(broken: str, said: str) -> None:
    with pytest.raises(ReadError, match=said):
        read_iperf3(broken)


def test_two_results_in_one_text_are_refused() -> None:
    document = text("tcp")
    with pytest.raises(ReadError, match="one JSON document"):
        read_iperf3(document + document)


def test_a_text_cut_anywhere_is_never_a_result() -> None:
    whole = text("tcp").rstrip()
    for end in range(0, len(whole), 37):
        with pytest.raises(ReadError):
            read_iperf3(whole[:end])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_random_and_mutated_text_raises_nothing_but_read_error(data: st.DataObject) -> None:
    base = text(data.draw(st.sampled_from([entry.name for entry in examples.load("iperf3")])))
    start = data.draw(st.integers(0, len(base)))
    piece = data.draw(st.text(max_size=20) | st.sampled_from(["9" * 5000, "1e999", "-1", "null", "[", "{" * 3000]))
    mutated = base[:start] + piece + base[data.draw(st.integers(start, min(len(base), start + 30))) :]
    try:
        read_iperf3(mutated)
    except ReadError as error:
        assert str(error).startswith(("cannot read iperf3 -J: ", "iperf3 -J: worthless result: "))


def test_deeply_nested_json_is_a_read_error() -> None:
    with pytest.raises(ReadError, match="one JSON document"):
        read_iperf3('{"a":' * 100_000)
