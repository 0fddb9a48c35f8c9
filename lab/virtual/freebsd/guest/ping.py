"""ping and ping6 with this system's options and words; the packets are sent by the ping of the system below."""

from __future__ import annotations

import re
import sys
from getopt import GetoptError, getopt

from below import Refusal, run

_USAGE = 64
_NOT_SENT = 2
_REPLY = re.compile(r"([0-9]+ bytes from .*?icmp_seq=)([0-9]+)(.*)")
_SUMMARY = re.compile(r"([0-9]+) packets transmitted, ([0-9]+) received,(?: \+([0-9]+) duplicates,)?.*")
_TIMES = re.compile(r"rtt min/avg/max/mdev = ([0-9.]+/[0-9.]+/[0-9.]+/[0-9.]+) ms.*")


def ping(arguments: list[str]) -> int:
    return _ping(arguments, six=False)


def ping6(arguments: list[str]) -> int:
    return _ping(arguments, six=True)


def _ping(arguments: list[str], *, six: bool) -> int:
    name = "ping6" if six else "ping"
    try:
        pairs, rest = getopt(arguments, "nqDoc:i:s:S:" + ("" if six else "W:t:"))
    except GetoptError as error:
        raise Refusal(
            f"{name}: illegal option -- {error.opt}\nusage: {name} [-Dnoq] [-c count] host", _USAGE
        ) from error
    if len(rest) != 1:
        raise Refusal(f"usage: {name} [-Dnoq] [-c count] [-i wait] [-S src_addr] [-s packetsize] host", _USAGE)
    options, host = dict(pairs), rest[0]
    size = int(options.get("-s", "56" if not six else "8"))
    words = ["ping", "-6" if six else "-4", "-n", "-s", str(size)]
    words += ["-W", f"{int(options['-W']) / 1000:g}"] if "-W" in options else []
    words += ["-M", "do"] if "-D" in options else []
    for mine, theirs in (("-c", "-c"), ("-i", "-i"), ("-S", "-I"), ("-t", "-w")):
        words += [theirs, options[mine]] if mine in options else []
    words += ["-q"] if "-q" in options else []
    _, out, err = run(*words, host)
    return _told(name, host, size, out, err)


def _told(name: str, host: str, size: int, out: str, err: str) -> int:
    summary = _SUMMARY.search(out)
    if summary is None:
        said = (err or out).strip().rpartition(": ")[2]
        raise Refusal(f"{name}: {said}", 68 if "not known" in said else 71)
    print(f"PING {host} ({host}): {size} data bytes")
    for line in out.splitlines():
        if (reply := _REPLY.match(line)) is not None:
            print(f"{reply[1]}{int(reply[2]) - 1}{reply[3]}")
    for line in err.splitlines():
        if "essage too long" in line:
            sys.stderr.write(f"{name}: sendto: Message too long\n")
    sent, received, twice = int(summary[1]), int(summary[2]), summary[3]
    lost = 100.0 * (sent - received) / sent if sent else 0.0
    duplicates = f"+{twice} duplicates, " if twice else ""
    print(f"\n--- {host} {name} statistics ---")
    print(f"{sent} packets transmitted, {received} packets received, {duplicates}{lost:.1f}% packet loss")
    if (times := _TIMES.search(out)) is not None:
        print(f"round-trip min/avg/max/{'std-dev' if name == 'ping6' else 'stddev'} = {times[1]} ms")
    return 0 if received else _NOT_SENT
