"""Reader of what iperf3 prints for people (iperf 3.0 to 3.18), of the client or the server.

Only the lines that end in ``sender`` or ``receiver`` are results. UDP of versions before 3.7 has neither: its one
line below the intervals tells the receiver's losses beside the sender's rate, so that what was received is not known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from niclab.hosts.errors import unreadable
from niclab.hosts.reading import JsonNode
from niclab.hosts.transcript import transcript
from niclab.traffic import WorthlessResult
from niclab.traffic.iperf3 import COUNTER_FULL, SHORTEST_PART, Iperf3Result, Iperf3Test, document, read_document

_KIND = "iperf3"

_N = r"[0-9.]{1,12}"
_LINE = re.compile(
    rf"\[ {{0,3}}(?P<id>[0-9]{{1,4}}|SUM)\](?P<role>\[[A-Z-]{{1,6}}\])?\s+(?P<begin>{_N})-(?P<end>{_N})\s+sec\s+"
    rf"(?P<size>{_N}) (?P<size_unit>[KMGTP]?Bytes)\s+"
    rf"(?P<rate>{_N}) (?P<rate_unit>[KMGTP]?(?:bits|Bytes)/sec)(?P<rest>.*)"
)
# What else begins with the number of a stream.
_OF_A_STREAM = re.compile(
    r"\[ {0,3}(?P<id>[0-9]{1,4}|SUM)\](?:\[[A-Z-]{1,6}\])?\s+"
    r"(?:local \S+ port [0-9]+ connected to \S+ port [0-9]+"
    r"|Sent [0-9]+ datagrams|\.{2,}|\((?:sender|receiver) statistics not available\)"
    rf"|{_N}-\s*{_N}\s+sec\s+[0-9]+ datagrams received out-of-order).*"
)
_SENT = re.compile(r"\[ {0,3}[0-9]{1,4}\]\s+Sent [0-9]+ datagrams")
_STREAM_BEGINS = re.compile(r"\[ {0,5}(?:-?[0-9]|SUM|S$|SU$|$|[a-z]{1,5}\])")
_SEPARATOR = re.compile(r"(?:- ){5,}-?|Test Complete\. Summary Results:")
_TITLED = re.compile(r"(\S.{0,40}?:  )\S")  # what -T puts before every line
_REVERSE = re.compile(r"Reverse mode, remote host \S{1,255} is sending")
_DATAGRAMS = re.compile(
    rf"\s+(?P<jitter>{_N}) ms\s+(?P<lost>[0-9]{{1,15}})/(?P<total>[0-9]{{1,15}})\s+\((?:{_N}(?:e[+-]\d+)?|-?nan)%\)"
)
_RESULT = re.compile(rf"\s+(?:[0-9]{{1,12}}\s+)?(?:sender|receiver)|{_DATAGRAMS.pattern}\s+(?:sender|receiver)")
_CPU = re.compile(
    r"CPU Utilization: local/(?:sender|receiver) ([0-9.]{1,8})% .{0,40}, remote/(?:sender|receiver) ([0-9.]{1,8})%"
)
_STARTING = re.compile(r"Starting Test: protocol: (\S{1,8}), .{0,200}?(?:([0-9]{1,9}) second test|[0-9]{1,20} bytes)")
_TROUBLE = re.compile(
    r"iperf3: (?:error|interrupt|fatal|getsockopt|exiting)|(?:\S{0,20}sh|-bash): |Usage: iperf3|.*not found"
)
_ROUNDING = 0.05  # three digits of each stream
_CONTRADICTION = 0.1  # three digits of each figure, and the other side's time in old versions
# Transfers count by 1024, bit rates by 1000 (units.c of iperf).
_BITS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BYTES = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_DEFAULT_LENGTH_S = 10.0
# With --get-server-output what the server printed stands below what the client did, as text or as JSON.
_OF_THE_SERVER = re.compile(r"^[> ]{0,8}Server (?:JSON )?output:[ \r]*$", re.MULTILINE)


@dataclass(frozen=True)
class Iperf3Summary:
    """One run as printed: figures have the three digits that iperf3 prints. ``throughput_bps``: what the receiver got,
    in bit/s of payload, None for UDP of versions that print the sender's rate alone; ``send_throughput_bps``: None on
    a server that received. ``loss``: a fraction, UDP only. ``retransmits``: of the sender, None where not counted. CPU
    in percent of one core, with -V only. ``streams``: None where their sum is told without all of them."""

    test: Iperf3Test
    throughput_bps: float | None
    elapsed_s: float
    send_throughput_bps: float | None
    retransmits: int | None
    loss: float | None
    jitter_ms: float | None
    packets: int | None
    lost_packets: int | None
    cpu_local_pct: float | None
    cpu_remote_pct: float | None
    streams: int | None
    version: str | None
    reverse: bool | None = None


def read_iperf3_output(text: str, command: str | None = None) -> Iperf3Result | Iperf3Summary:
    """Read the output of one iperf3 run: JSON (``-J``, ``--json-stream``) or text.

    :param command: the command line; with it a text is checked against the time asked for.
    :raises WorthlessResult: when the run measured nothing usable.
    :raises ReadError: when the text is not iperf3's.
    """
    of_the_server = _OF_THE_SERVER.search(text)
    text = text[: of_the_server.start() if of_the_server else None].removeprefix("\ufeff")
    if re.search(r"^\s{0,8}\{", text, re.MULTILINE):
        root = document(text)
        return _mixed_document(root) or read_document(root)
    return read_iperf3_text(text, command)


def _mixed_document(root: JsonNode) -> Iperf3Summary | None:
    """UDP of versions without ``sum_received``: their only sum has the sender's rate beside the receiver's losses."""
    asked, end = root.at("start", "test_start"), root.child("end")
    udp = asked.optional("protocol") is not None and asked.child("protocol").value == Iperf3Test.UDP
    if not udp or end.optional("sum_received") is not None or end.optional("sum") is None:
        return None
    total = end.child("sum")
    lost, packets = total.child("lost_packets").count(), total.child("packets").count()
    elapsed_s = total.child("seconds")
    _refuse_short(elapsed_s.number(), asked.child("duration").number() or None)
    cpu, reverse = end.optional("cpu_utilization_percent"), asked.optional("reverse")
    return Iperf3Summary(
        test=Iperf3Test.UDP,
        throughput_bps=None,
        elapsed_s=elapsed_s.number(),
        send_throughput_bps=total.child("bits_per_second").number(),
        retransmits=None,
        loss=_lost_part(lost, packets),
        jitter_ms=total.child("jitter_ms").number(),
        packets=packets,
        lost_packets=lost,
        cpu_local_pct=cpu.child("host_total").number() if cpu else None,
        cpu_remote_pct=cpu.child("remote_total").number() if cpu else None,
        streams=asked.child("num_streams").count(),
        version=root.at("start", "version").text().removeprefix("iperf").strip(),
        reverse=bool(reverse.count()) if reverse else None,
    )


def read_iperf3_text(text: str, command: str | None = None) -> Iperf3Summary:
    """See :func:`read_iperf3_output`."""
    printed = transcript(text, "iperf3", whole=False)
    filled = _untitled(printed.filled)
    called = command if command is not None else printed.command
    if called is not None and re.search(r"\s--sctp(?:\s|$)", called):
        raise unreadable(_KIND, "command", called, f"a test of {' or '.join(Iperf3Test)}")
    for number, line in filled:
        if _TROUBLE.match(line.strip()[:400]):
            raise unreadable(_KIND, f"line {number}", line.strip(), "a result, not a message")
    matches = [(number, match) for number, line in filled if (match := _LINE.fullmatch(line.strip()[:400]))]
    if not matches:
        raise unreadable(_KIND, "text", text, "lines such as '[  5]  0.00-10.00  sec  1.10 GBytes  9.41 Gbits/sec'")
    named = _named_streams(filled)
    if any(match["role"] for _, match in matches):
        raise _worthless("both directions at once (--bidir) in one text; run the directions one by one")
    ended = [(number, match) for number, match in matches if match["rest"].split()[-1:] in (["sender"], ["receiver"])]
    lines = [line.strip()[:400] for _, line in filled]
    mixed = None if ended else _mixed(matches, filled)
    _refuse_incomplete(named, [mixed] if mixed else [match for _, match in ended])
    sender, receiver, streams = (mixed, mixed, 1 if mixed["id"] != "SUM" else None) if mixed else _results(ended)
    started = _first(_STARTING, lines)
    elapsed_s = float(receiver["end"]) - float(receiver["begin"])
    _refuse_short(elapsed_s, float(started[2]) if started and started[2] else _asked_s(called))
    datagrams = _DATAGRAMS.match(receiver["rest"])
    cpu = _first(_CPU, lines)
    for line in lines if cpu is None else ():
        if line.startswith("CPU Utilization"):
            raise unreadable(_KIND, "CPU Utilization", line, "'local/sender N% (...), remote/receiver N%'")
    version = _first(re.compile(r"iperf (3\.[0-9.]{1,10}\S{0,20})"), lines)
    return Iperf3Summary(
        test=_test(started, datagrams),
        throughput_bps=None if mixed else _rate(receiver),
        elapsed_s=round(elapsed_s, 3),
        send_throughput_bps=None if sender is None or _is_unknown(sender, lines) else _rate(sender),
        retransmits=_retransmits(sender, datagrams),
        loss=_loss(datagrams),
        jitter_ms=float(datagrams["jitter"]) if datagrams else None,
        packets=int(datagrams["total"]) if datagrams else None,
        lost_packets=int(datagrams["lost"]) if datagrams else None,
        cpu_local_pct=float(cpu[1]) if cpu else None,
        cpu_remote_pct=float(cpu[2]) if cpu else None,
        streams=streams,
        version=version[1] if version else None,
        reverse=_reverse(lines),
    )


def _untitled(lines: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    """The lines without the title of ``-T``, when the first and most others have it; some of ``-V`` never do."""
    titled = _TITLED.match(lines[0][1]) if lines else None
    if titled is None or 2 * sum(line.startswith(titled[1].rstrip()) for _, line in lines) <= len(lines):
        return lines
    return tuple((number, line.removeprefix(titled[1].rstrip())) for number, line in lines)


def _named_streams(lines: tuple[tuple[int, str], ...]) -> set[str]:
    """The streams that have a line, and ``SUM``.

    :raises ReadError: for a line of a stream that is damaged or cut.
    """
    named: set[str] = set()
    for number, line in lines:
        text = line.strip()[:400]
        if not _STREAM_BEGINS.match(text):
            continue
        match = _LINE.fullmatch(text) or _OF_A_STREAM.fullmatch(text)
        if match is None:
            raise unreadable(_KIND, f"line {number}", text, "a whole line of a stream")
        if match["id"] != "SUM" or match.re is _LINE:  # the datagrams out of order of a single stream are its "SUM" too
            named.add(match["id"])
    return named


def _refuse_incomplete(named: set[str], results: list[re.Match[str]]) -> None:
    """Results of some of the streams only: the text ends, or somebody left lines out, before those of all together.
    Interval lines of a single stream may have been left out with it."""
    told = {match["id"] for match in results}
    if results and "SUM" not in told and named - told:
        raise _worthless(f"results of {', '.join(sorted(told))} and none of {', '.join(sorted(named - told))}")


def _separator(lines: tuple[tuple[int, str], ...]) -> int | None:
    """The number of the line that stands between intervals and results; None without one. With ``-V`` it is the second
    of two; of several streams one stands below each interval, and only that of the results has a heading below it.

    :raises ReadError: when there are several, of several runs.
    """
    below = [line.strip()[:400] for _, line in lines[1:]] + [""]
    found = [
        (number, line, after.startswith("[ ID] "))
        for (number, line), after in zip(lines, below, strict=True)
        if _SEPARATOR.fullmatch(line.strip()[:400]) and not _SEPARATOR.fullmatch(after)
    ]
    headed = [entry for entry in found if entry[2]]
    found = headed if len(headed) == 1 else found
    if len(found) > 1:
        raise unreadable(_KIND, f"line {found[1][0]}", found[1][1].strip(), "one result only")
    if found or not any(_SENT.match(line.strip()) for _, line in lines):
        return found[0][0] if found else None
    # The line itself was left out: of a client only the heading of its results tells of losses.
    headings = [number for number, line in lines if "Lost/Total Datagrams" in line]
    return headings[0] if len(headings) == 1 else None


def _mixed(matches: list[tuple[int, re.Match[str]]], lines: tuple[tuple[int, str], ...]) -> re.Match[str] | None:
    """The line of results of UDP as versions before 3.7 print it, of all streams together; None without one.

    A text that ends in it may be a newer one whose last word, ``sender``, was cut; older ones say "Bandwidth".
    """
    separator = _separator(lines)
    found = [(number, match) for number, match in matches if separator is not None and number > separator]
    results = [(number, match) for number, match in found if _DATAGRAMS.fullmatch(match["rest"].rstrip())]
    together = [(number, match) for number, match in results if match["id"] == "SUM"]
    chosen = together or results
    if len(chosen) != 1:
        return None
    old = chosen[0][0] != lines[-1][0] or any("Bandwidth" in line for _, line in lines)
    return chosen[0][1] if old else None


def _is_unknown(sender: re.Match[str], lines: list[str]) -> bool:
    """Old servers do not know what was sent: they print 0, and for UDP a rate of another meaning."""
    on_a_server = any(line.startswith("Accepted connection from ") for line in lines)
    return on_a_server and (not sender["rest"].endswith("sender") or _number(sender["size"], "the transfer") == 0)


def _reverse(lines: list[str]) -> bool | None:
    """Whether the server sent; None where the beginning of a client's text is missing."""
    if any(_REVERSE.match(line) for line in lines):
        return True
    return False if any(line.startswith("Connecting to host ") for line in lines) else None


def _worthless(why: str) -> WorthlessResult:
    return WorthlessResult(f"{_KIND}: worthless result: {why}")


def _first(pattern: re.Pattern[str], lines: Iterable[str]) -> re.Match[str] | None:
    return next((match for line in lines if (match := pattern.match(line))), None)


def _results(ended: list[tuple[int, re.Match[str]]]) -> tuple[re.Match[str] | None, re.Match[str], int | None]:
    """The lines of sender and receiver, of all streams together, and how many streams there are, None when not all
    of them are there beside their sum.

    :raises ReadError: when there are several results.
    """
    found: dict[tuple[str, str], re.Match[str]] = {}
    for number, match in ended:
        key = (match["id"], match["rest"].split()[-1])
        if not _RESULT.fullmatch(match["rest"]):
            raise unreadable(_KIND, f"line {number}", match[0], "retransmits or losses before 'sender' or 'receiver'")
        if key in found:
            raise unreadable(_KIND, f"line {number}", match[0], "one result only")
        found[key] = match
    streams = len({identity for identity, _ in found if identity != "SUM"})
    of = "SUM" if any(identity == "SUM" for identity, _ in found) else next((identity for identity, _ in found), "")
    if streams > 1 and of != "SUM":
        raise unreadable(_KIND, "text", f"{streams} streams", "a line [SUM] of all streams")
    receiver = found.get((of, "receiver"))
    if receiver is None:
        raise _worthless("no line of the receiver: the run did not end, or it gives only the sender's rate")
    parts = sum(_transferred(match) for key, match in found.items() if key[0] != "SUM" and key[1] == "receiver")
    # Of many streams people leave most lines out, and the number of those that are left says nothing.
    complete = of != "SUM" or abs(parts - _transferred(receiver)) <= _ROUNDING * _transferred(receiver)
    return found.get((of, "sender")), receiver, streams if streams and complete else None


def _transferred(match: re.Match[str]) -> float:
    return _number(match["size"], "the transfer") * _BYTES[match["size_unit"].removesuffix("Bytes")]


def _number(text: str, what: str) -> float:
    if not re.fullmatch(r"[0-9]{1,10}(?:\.[0-9]{0,6})?", text):
        raise unreadable(_KIND, what, text, "a number")
    return float(text)


def _rate(match: re.Match[str]) -> float:
    prefix, bits = match["rate_unit"][: -len("bits/sec")], match["rate_unit"].endswith("bits/sec")
    if not bits:
        prefix = match["rate_unit"][: -len("Bytes/sec")]
    value = _number(match["rate"], "the rate")
    figure = round(value * (_BITS[prefix] if bits else 8 * _BYTES[prefix]), 3)
    if figure == 0 or _number(match["size"], "the transfer") == 0:
        raise _worthless(f"{match['size']} {match['size_unit']} at {match['rate']} {match['rate_unit']}")
    seconds = float(match["end"]) - float(match["begin"])
    if seconds > 0 and abs(_transferred(match) * 8 / seconds / figure - 1) > _CONTRADICTION:
        raise unreadable(_KIND, "the line of a result", match[0], "a rate that the transfer and the time give")
    return figure


def _test(started: re.Match[str] | None, datagrams: re.Match[str] | None) -> Iperf3Test:
    if started is not None and started[1] not in tuple(Iperf3Test):
        raise unreadable(_KIND, "protocol", started[1], f"one of {', '.join(Iperf3Test)}")
    return Iperf3Test(started[1]) if started else Iperf3Test.UDP if datagrams else Iperf3Test.TCP


def _retransmits(sender: re.Match[str] | None, datagrams: re.Match[str] | None) -> int | None:
    words = sender["rest"].split() if sender and not datagrams else []
    return int(words[0]) if len(words) == 2 and re.fullmatch(r"[0-9]{1,12}", words[0]) else None


def _loss(datagrams: re.Match[str] | None) -> float | None:
    if datagrams is None:
        return None
    return _lost_part(int(datagrams["lost"]), int(datagrams["total"]))


def _lost_part(lost: int, total: int) -> float:
    if total >= COUNTER_FULL:
        raise _worthless(f"the counter of datagrams is full at {total}")
    if total == 0 or lost >= total:
        raise _worthless(f"{lost} of {total} datagrams lost")
    return lost / total


def _refuse_short(elapsed_s: float, asked_s: float | None) -> None:
    if elapsed_s <= 0 or (asked_s is not None and elapsed_s < SHORTEST_PART * asked_s):
        raise _worthless(f"it lasted {elapsed_s:g} s" + (f" of {asked_s:g} s" if asked_s else ""))


def _asked_s(command: str | None) -> float | None:
    """The time a client's command asked for; None for a server, and for runs limited by bytes or blocks."""
    if (
        command is None
        or not re.search(r"\s(?:-c|--client)", command)
        or re.search(r"\s-[nk]|--bytes|--block", command)
    ):
        return None
    match = re.search(r"\s(?:-t ?|--time[ =])([0-9]{1,9})(?:\s|$)", command)
    return (float(match[1]) or None) if match else _DEFAULT_LENGTH_S
