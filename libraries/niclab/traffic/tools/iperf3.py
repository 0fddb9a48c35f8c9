"""Reader of ``iperf3 -J`` (iperf 3.0 to 3.18), from the side of the client.

What iperf3 gets wrong and this reader refuses: exit status 0 with an ``error`` key (3.12 and others with -J); a run cut
short with normal looking sums; UDP ``end.sum``, whose rate is the sender's even when nothing arrived; older versions
that report no receiver's sum for UDP at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode, load_json
from niclab.traffic import WorthlessResult

_KIND = "iperf3 -J"

# Assumption: a run that lasted less than this part of the time asked for was cut. Real runs end within some
# milliseconds of their duration.
SHORTEST_PART = 0.98
# Measured where the CPU is full: iperf3 looks at its timers between writes. With --omit its clock restarts when that
# timer is served, so late a start shortens the run; the figure is over what was left of it.
_OMIT_LATE_S = 0.2
# Assumption: the receiver's UDP bytes may differ by this much from "sent minus lost". More means that the version
# reports the sender's bytes under the receiver's name.
_LOSS_TOLERANCE = 0.02
# Where the counters of datagrams of versions before 3.18 do not grow (issue 1534 of esnet/iperf).
_COUNTER_FULL = 2**31 - 1


class Iperf3Test(StrEnum):
    TCP = "TCP"
    UDP = "UDP"


@dataclass(frozen=True)
class Iperf3Result:
    """One run. ``local`` is the client's host, ``remote`` the server's; ``reverse``: the server sent.

    ``throughput_bps``: what the receiver got, in bit/s of payload. ``elapsed_s``: the receiver's time, without the
    omitted seconds. ``loss``: lost UDP packets as a fraction 0..1, None for TCP. ``retransmits``: of the sender, TCP
    only, None when its system does not count them. CPU in percent of one core, None when not reported. ``reverse``:
    None where the version does not say (the first releases of 3.0). ``window_bytes``: the largest window that the
    receiver's TCP has offered, of the stream that was offered least; None when not reported.
    """

    test: Iperf3Test
    throughput_bps: float
    elapsed_s: float
    received_bytes: int
    retransmits: int | None
    loss: float | None
    jitter_ms: float | None
    cpu_local_pct: float | None
    cpu_remote_pct: float | None
    streams: int
    reverse: bool | None
    version: str
    window_bytes: int | None


def read_iperf3(text: str, *, asked_s: float | None = None) -> Iperf3Result:
    """Read the output of ``iperf3 -c ... -J``.

    Args:
        text: standard output of iperf3.
        asked_s: the duration the caller asked for, in seconds; the run must have been asked for the same.

    Raises:
        WorthlessResult: when iperf3 reports an error, or the run measured nothing usable.
        ReadError: when the text is not iperf3's.
    """
    root = load_json(_KIND, text)
    error = root.optional("error")
    if error is not None:
        raise _worthless(f"iperf3 reports the error {error.value!r}")
    start, end = root.child("start"), root.child("end")
    asked = start.child("test_start")
    test = _test(asked.child("protocol"))
    streams = _streams(asked, end)
    sent, received = _sums(test, end)
    sent_bytes, received_bytes = sent.child("bytes").count(), received.child("bytes").count()
    elapsed_s = received.child("seconds").number()
    _refuse_nothing(sent_bytes, received_bytes, received)
    _refuse_short(asked, asked_s, elapsed_s, sent_bytes)
    loss, jitter_ms = _loss(received, sent_bytes, received_bytes) if test is Iperf3Test.UDP else (None, None)
    retransmits = sent.optional("retransmits")
    cpu = end.optional("cpu_utilization_percent")
    return Iperf3Result(
        test=test,
        throughput_bps=received.child("bits_per_second").number(),
        elapsed_s=elapsed_s,
        received_bytes=received_bytes,
        retransmits=retransmits.count() if retransmits and test is Iperf3Test.TCP else None,
        loss=loss,
        jitter_ms=jitter_ms,
        cpu_local_pct=_percent(cpu, "host_total"),
        cpu_remote_pct=_percent(cpu, "remote_total"),
        streams=streams,
        reverse=_flag(asked.child("reverse")) if asked.optional("reverse") else None,
        version=start.child("version").text().removeprefix("iperf").strip(),
        window_bytes=_window_bytes(end.child("streams")),
    )


def _worthless(why: str) -> WorthlessResult:
    return WorthlessResult(f"{_KIND}: worthless result: {why}")


def _test(node: JsonNode) -> Iperf3Test:
    try:
        return Iperf3Test(node.text())
    except ValueError as error:
        raise node.wrong(f"one of {', '.join(Iperf3Test)}") from error


def _flag(node: JsonNode) -> bool:
    if node.value not in (0, 1):
        raise node.wrong("0 or 1")
    return bool(node.value)


def _streams(asked: JsonNode, end: JsonNode) -> int:
    streams = asked.child("num_streams").count()
    ended = len(end.child("streams").items())
    bidirectional = end.optional("sum_sent_bidir_reverse") or asked.optional("bidir")
    if bidirectional is not None and bidirectional.value != 0:
        raise _worthless("both directions at once (--bidir) in one figure; run the directions one by one")
    if streams == 0 or ended != streams:
        raise _worthless(f"{ended} streams ended of {streams} asked for")
    return streams


def _sums(test: Iperf3Test, end: JsonNode) -> tuple[JsonNode, JsonNode]:
    """The sender's and the receiver's sum."""
    received, sent = end.optional("sum_received"), end.optional("sum_sent")
    if test is Iperf3Test.UDP and received is None and end.optional("sum") is not None:
        raise _worthless("this version gives only the sender's rate of UDP (end.sum); expected 3.12 or later")
    if sent is None or received is None:
        raise _worthless("no sums of sender and receiver: the run did not end")
    return sent, received


def _refuse_nothing(sent_bytes: int, received_bytes: int, received: JsonNode) -> None:
    if sent_bytes == 0 or received_bytes == 0:
        raise _worthless(f"{sent_bytes} bytes sent, {received_bytes} bytes received")
    seconds, rate_bps = received.child("seconds").number(), received.child("bits_per_second").number()
    if seconds == 0 or rate_bps == 0:
        raise _worthless(f"{received_bytes} bytes received in {seconds:g} s at {rate_bps:g} bit/s")
    counted_bps = received_bytes * 8 / seconds
    if not 0.98 <= rate_bps / counted_bps <= 1.02:
        raise unreadable(
            _KIND, "end.sum_received.bits_per_second", rate_bps, f"{counted_bps:.0f}, which bytes and seconds give"
        )


def shortest_s(asked_s: float, omitted_s: float) -> float:
    """Seconds that a run of ``asked_s`` must have lasted after the first ``omitted_s``, which are not counted."""
    return SHORTEST_PART * asked_s - (_OMIT_LATE_S if omitted_s else 0)


def _refuse_short(asked: JsonNode, asked_s: float | None, elapsed_s: float, sent_bytes: int) -> None:
    duration_s = asked.child("duration").number()
    if asked_s is not None and duration_s != asked_s:
        raise _worthless(f"the run was asked for {duration_s:g} s; expected {asked_s:g} s")
    if duration_s > 0:
        omitted = asked.optional("omit")
        if elapsed_s < shortest_s(duration_s, omitted.number() if omitted else 0):
            raise _worthless(f"it lasted {elapsed_s:.3f} s of {duration_s:g} s")
        return
    wanted_bytes = asked.child("bytes").count() or asked.child("blocks").count() * asked.child("blksize").count()
    if wanted_bytes == 0 or sent_bytes < wanted_bytes:
        raise _worthless(f"{sent_bytes} bytes sent of {wanted_bytes} asked for, and no duration was asked for")


def _loss(received: JsonNode, sent_bytes: int, received_bytes: int) -> tuple[float, float]:
    packets, lost = received.child("packets").count(), received.child("lost_packets").count()
    if packets == 0 or lost > packets:
        raise unreadable(
            _KIND, "end.sum_received", f"{lost} of {packets} packets lost", "no more lost than packets, not 0"
        )
    if packets == _COUNTER_FULL:
        raise _worthless(f"the counter of datagrams is full at {packets}")
    loss = lost / packets
    if received_bytes > sent_bytes * (1 - loss + _LOSS_TOLERANCE):
        raise _worthless(f"{received_bytes} bytes received of {sent_bytes} sent, although {100 * loss:.1f} % were lost")
    return loss, received.child("jitter_ms").number()


def _percent(cpu: JsonNode | None, name: str) -> float | None:
    node = cpu.optional(name) if cpu else None
    return node.number() if node else None


def _window_bytes(streams: JsonNode) -> int | None:
    """Older versions, UDP and other systems than Linux do not tell; some of them print 0 or -1 then."""
    senders = [stream.optional("sender") for stream in streams.items()]
    windows = [sender.optional("max_snd_wnd") for sender in senders if sender is not None]
    told = (window.count() for window in windows if window is not None and window.value not in (0, -1))
    return min(told, default=None)
