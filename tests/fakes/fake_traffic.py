"""Scripted clients of traffic tools: what they print, and what passes the ports of the fake bench meanwhile."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from fake_bench import FakeBench

from niclab.bench.records import Role

GOOD = (47.0, 47.1, 46.9)
"""Mbit/s; the limit is 42.5, 0.85 of 1000 Mbit/s on a path that is scaled by 20."""
LISTENING = "LISTEN 0 1 198.18.10.2:5201\n"


def carry(
    bench: FakeBench, command: str, size: int = 6_000_000_000, frames: int = 4_000_000, arrived: int | None = None
) -> None:
    """The ports between the two addresses of a client's command count so many bytes and frames."""
    name = "p0" if "198.18.10." in command else "p1"
    dut_sends = re.search(r"(?:--bind|-L) \S+\.1\b", command)
    ends = (f"dut.{name}", f"peer.{name}") if dut_sends else (f"peer.{name}", f"dut.{name}")
    counts = (("tx", frames), ("rx", frames if arrived is None else arrived))
    for end, (way, passed) in zip(ends, counts, strict=True):
        counted = bench.nic(end).frames
        for what, gained in (("packets", passed), ("bytes", size)):
            counted[f"{way}_{what}"] = counted.get(f"{way}_{what}", 0) + gained


def client(bench: FakeBench, text: str) -> Callable[[str], str]:
    """A client that prints ``text`` and whose traffic passes the ports."""

    def run(command: str) -> str:
        carry(bench, command)
        return text

    return run


def iperf3_text(mbps: float, seconds: float = 2, **changes: object) -> str:
    """Return the output of ``iperf3 --json`` for TCP at ``mbps``, as of 3.12 (the members that are read).

    Args:
        changes: Of ``start.test_start``; ``retransmits``, ``elapsed``, ``local_pct``, ``remote_pct``, ``windows``.
    """
    elapsed = float(str(changes.pop("elapsed", seconds)))
    retransmits = changes.pop("retransmits", 0)
    cpu = {"host_total": changes.pop("local_pct", 30.5), "remote_total": changes.pop("remote_pct", 20.5)}
    windows = changes.pop("windows", None)
    size = round(mbps * 1e6 * elapsed / 8)
    asked = {
        "protocol": "TCP",
        "num_streams": 1,
        "duration": int(seconds),
        "bytes": 0,
        "blocks": 0,
        "blksize": 131072,
        "omit": 1,
    }
    asked |= {"reverse": 0, **changes}
    sums = {"seconds": elapsed, "bytes": size, "bits_per_second": mbps * 1e6}
    streams = [{}] * int(str(asked["num_streams"]))
    if isinstance(windows, list):
        streams = [{"sender": {"max_snd_wnd": each}} for each in windows]
    end = {"streams": streams, "sum_sent": {**sums, "retransmits": retransmits}, "sum_received": sums}
    udp = {"packets": 1000, "lost_packets": 100, "jitter_ms": 0.02}
    if asked["protocol"] == "UDP":
        end["sum_received"] = {**sums, **udp}
        end["sum_sent"] = {**sums, "bytes": round(size / 0.9)}
    version = {"version": "iperf 3.12", "test_start": asked}
    return json.dumps({"start": version, "end": {**end, "cpu_utilization_percent": cpu}})


class Rates:
    """The rates that iperf3 measures, by path and sender: the figures in turn, again and again.

    ``runs``: made until now.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.figures: dict[tuple[str, Role], tuple[float, ...]] = {}
        self.runs: dict[tuple[str, Role], int] = {}
        self.tool_says: dict[str, object] = {}
        for role, ssh in bench.ssh.items():
            ssh.replies["ss -Hltn"] = LISTENING
            ssh.replies["iperf3 --client"] = lambda command, role=role: self._run(bench, role, command)

    def _run(self, bench: FakeBench, role: Role, command: str) -> str:
        key = ("a" if "198.18.10." in command else "b", role)
        number = self.runs[key] = self.runs.get(key, 0) + 1
        figures = self.figures.get(key, GOOD)
        carry(bench, command)
        seconds = int(command.partition("--time ")[2].split()[0])
        return iperf3_text(figures[(number - 1) % len(figures)], seconds, **self.tool_says)
