"""A bench whose throughput follows its settings, and a sheet that predicts what they do."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable

from fake_bench import FakeBench
from fake_settings import SHEET, FakeSettings, settings_of
from fake_traffic import LISTENING, carry, iperf3_text

from niclab.bench.records import Role

EFFECTS = """
effects:
  - name: tso-off
    requirement: SUS-05
    change: [{kind: offload, name: tso4, to: false, at: sender}]
    wanted: {ratio: 0.64, within_percent: 10}
    source: test
  - name: nobody-knows
    requirement: SUS-01
    change: [{kind: sysctl, name: net.ipv4.tcp_window_scaling, to: 0}]
    wanted: {unknown: the round trip decides}
    source: test
  - name: window
    requirement: SUS-01
    change: [{kind: sysctl, name: net.ipv4.tcp_window_scaling, to: 0}]
    wanted: {window_bytes: 65535}
    source: test
  - name: low-latency
    requirement: DEL-02
    change: [{kind: sysctl, name: net.ipv4.tcp_low_latency, to: 1}]
    wanted: {gains_at_most_percent: 10}
    source: test
  - name: fixed
    requirement: NFS-03
    change: [{kind: offload, name: vlan-strip, to: false, at: sender}]
    wanted: {more_percent: 5}
    source: test
  - name: sums-off
    requirement: NFS-03
    change: [{kind: offload, name: tx-checksum, to: false, at: sender}]
    wanted: {loses_at_most_percent: 50}
    source: test
  - name: sums-off-cpu
    requirement: NFS-03
    change: [{kind: offload, name: tx-checksum, to: false, at: sender}]
    figure: sender-cpu
    wanted: {more_percent: 5}
    source: test
  - name: in-flight
    requirement: EMX-08
    against: [{kind: mtu, to: 9000}]
    change: [{kind: mtu-in-flight, to: 9000}]
    wanted: {loses_at_most_percent: 10}
    source: test
  - name: latency
    requirement: SUS-03
    change: [{kind: coalescing, name: rx-usecs, to: 50, at: receiver}]
    workload: TCP_RR
    figure: transactions-per-s
    wanted: {ratio: 1.25, within_percent: 10}
    source: test
  - name: processor-9
    requirement: SUS-02
    change: [{kind: mtu, to: 9000}]
    cpu: 9
    wanted: {more_percent: 1}
    source: test
sequence:
  requirement: DEL-02
  baseline: [{kind: mtu, to: 9000}]
  steps:
    - {name: default, settings: [], wanted: {ratio: 0.95, within_percent: 3}}
    - name: reno
      settings: [{kind: mtu, to: 9000}, {kind: sysctl, name: net.ipv4.tcp_congestion_control, to: reno}]
      wanted: {unknown: storage only}
  source: test
errata:
  - {text: Sums stay on., requirement: DEL-08, source: test}
"""
MORE = SHEET + EFFECTS
_NOISE = (1.0, 1.0006, 0.9996, 1.0002, 0.9994, 1.0004)


class States:
    """Settings of both servers, their sysctls, and the rate that follows from all of it.

    ``rate``: Mbit/s of a client's command, by the state it finds. ``frames``: those that the two ports count, of sender
    and receiver. ``was_bounced``: no MTU was set after the last down.
    """

    def __init__(self, bench: FakeBench) -> None:
        self.bench = bench
        self.settings: dict[Role, FakeSettings] = {role: settings_of(bench, role) for role in Role}
        self.sysctls = {role: {"net.ipv4.tcp_window_scaling": "1", "net.ipv4.tcp_congestion_control": "cubic"}
                        for role in Role}  # fmt: skip
        self.deaf: set[str] = set()
        """Sysctls that take every value and keep their own."""
        self.rate: Callable[[str], float] = lambda _: 47.0
        self.frames: Callable[[str], tuple[int, int]] = lambda _: (4_000_000, 4_000_000)
        self.commands: list[str] = []
        self.was_bounced = True
        self._noise = itertools.cycle(_NOISE)
        for role, ssh in bench.ssh.items():
            ssh.replies["ss -Hltn"] = LISTENING
            ssh.replies["sysctl"] = lambda command, role=role: self._sysctl(role, command)
            ssh.replies["iperf3 --client"] = self._run
            self._watch(role)

    def _watch(self, role: Role) -> None:
        host = self.bench.hosts[role]
        set_link, set_mtu = host.links.set_link, self.settings[role].set_mtu

        def changing_link(iface: str, up: bool) -> None:
            self.was_bounced = True
            set_link(iface, up)

        def changing_mtu(iface: str, mtu: int) -> object:
            self.was_bounced = False
            return set_mtu(iface, mtu)

        host.set_link = changing_link  # type: ignore[method-assign]
        host.set_mtu = changing_mtu  # type: ignore[attr-defined]

    def _sysctl(self, role: Role, command: str) -> str:
        known = self.sysctls[role]
        word = command.replace("'", "").split()[-1]
        if " -n " in command:
            return known[word] + "\n"
        name, value = word.split("=")
        if name not in self.deaf:
            known[name] = value
        return ""

    def _run(self, command: str) -> str:
        self.commands.append(command)
        sent, arrived = self.frames(command)
        carry(self.bench, command, frames=sent, arrived=arrived)
        seconds = int(re.findall(r"--time (\d+)", command)[0])
        changes: dict[str, object] = {}
        if parallel := re.findall(r"--parallel (\d+)", command):
            changes["num_streams"] = int(parallel[0])
        if "--udp" in command:
            changes["protocol"] = "UDP"
        return iperf3_text(self.rate(command) * next(self._noise), seconds, **changes)

    def tso(self) -> bool:
        """Is segmentation of the dut's first port on?"""
        return self.settings[Role.DUT].ports["enp1s0"].features["tx-tcp-segmentation"].on

    def mtu(self) -> int:
        """MTU of the dut's first port."""
        return self.settings[Role.DUT].ports["enp1s0"].mtu
