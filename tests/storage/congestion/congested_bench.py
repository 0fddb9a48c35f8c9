"""A fake bench with a congested SAN: programs whose operations pass its ports and its switch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_switch import PORTS, FakeSwitch
from fake_traffic import carry

from niclab.bench.records import BenchPath, Role
from niclab.card import StorageFacts, StorageLoad
from niclab.links import patch_panel
from niclab.run.run import Run
from niclab.storage.congestion import congested_loads
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.volumes import DiskTarget

FACTS = StorageFacts(workloads=tuple(StorageLoad), source="a document")
COMMAND, VLAN = "cd /tmp/niclab.fake && load disks", 103
HERE = tuple(f"sd{letter}" for letter in "abcdefghijkl")
THERE = ("sdm", "sdn", "sdo", "sdp")
PLACES = {"dut.p0": "Gi1/0/3", "peer.p0": "Gi1/0/4", "peer.p1": "Gi1/0/2"}


class Programs:
    """The programs on the dut, whose operations pass the ports and the switch of a fake bench.

    ``resent``, ``discarded``, ``missed``: by each run on the congested SAN: segments that the peer sends again, frames
    that the switch discards, frames for which the dut's port has no room. ``strays``: data of the second port come
    through the first one. ``dead``: loads by which all operations fail. ``late``: the switch counts what comes from the
    peer when it has to catch up. ``meanwhile``: called by each run, with the disks' SAN: is it the congested one?
    """

    def __init__(self, bench: FakeBench, switch: FakeSwitch) -> None:
        self.plans = list[dict[str, Any]]()
        self.read, self.written = Counter[str](), Counter[str]()
        self.sent = self.resent_until_now = self.ends = self.damaged = 0
        self.lasts_s = 1.0
        self.resent, self.discarded, self.missed, self.strays = 300, 300, 0, False
        self.dead = set[str]()
        self.late, self._behind = False, Counter[str]()
        self.meanwhile: Callable[[bool], object] = lambda _: None
        self._bench, self._switch = bench, switch
        bench.ssh[Role.DUT].replies[COMMAND] = self._run

    def end(self) -> None:
        self.ends += 1

    def command(self, plan: dict[str, Any], _: int = 0) -> str:
        self.plans.append(plan)
        return COMMAND

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        self.plans.append(plan)
        return self._said(plan)

    def _said(self, plan: dict[str, Any]) -> dict[str, Any]:
        load = plan["load"]
        reads = {"fill": 0, "random": 136, "read": 16, "check": 80}[load]
        written = {"fill": 80, "random": 64, "read": 0, "check": 0}[load]
        if load in self.dead:
            reads = written = 0
        size = 8192 if load == "random" else 262144
        names = [disk.removeprefix("/dev/") for disk in plan["disks"]]
        for name in names:
            self.read[name] += reads * size // len(names)
            self.written[name] += written * size // len(names)
        for name in names:
            source = "peer.p1" if name in THERE and not self.strays else "peer.p0"
            self._behind[source] += reads * size // len(names)
        if not self.late:
            self.catch_up()
        said = {"reads": reads, "written": written, "bytes_read": reads * size, "bytes_written": written * size}
        times = {"elapsed_s": self.lasts_s, "silent_s": 0.1, "slowest_s": 0.2}
        return {**said, **times, "damaged": self.damaged, "failed": 40 * (load in self.dead), "example": "block 7"}

    def catch_up(self) -> None:
        """The switch counts what has come from the peer until now."""
        for source, octets in self._behind.items():
            self._count(source, "ifHCInOctets", octets)
        self._behind.clear()

    def _run(self, _: str) -> str:
        plan = self.plans[-1]
        said = self._said(plan)
        carry(self._bench, "198.18.10.1 --bind 198.18.10.2", size=round(1.05 * said["bytes_read"]), frames=3000)
        self.sent += 5000
        is_congested = "/dev/sdm" in plan["disks"]
        self.meanwhile(is_congested)
        if is_congested:
            self.resent_until_now += self.resent
            self._count("dut.p0", "ifOutDiscards", self.discarded)
            frames = self._bench.nic("dut.p0").frames
            frames["rx_missed_errors"] = frames.get("rx_missed_errors", 0) + self.missed
        return json.dumps(said)

    def _count(self, port: str, counter: str, gained: int) -> None:
        index = PORTS[PLACES[port]]
        before = self._switch.mib.value(counter, index)
        assert isinstance(before, int)
        self._switch.mib.put(counter, [index], before + gained)

    @staticmethod
    def said(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text)
        return found

    def look(self, _: Run, names: Sequence[str], volumes: Sequence[int]) -> DiskCounts:
        assert len(names) == len(volumes)
        read, written = (sum(counts[name] for name in names) for counts in (self.read, self.written))
        return DiskCounts(read, written, 0, read, written, 0, 0, self.resent_until_now, self.sent, self.sent)


@pytest.fixture
def connected(patched: Run, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Run:
    @contextmanager
    def laid(*_: object) -> Iterator[None]:
        yield

    patch_panel.connect(patched)
    monkeypatch.setattr(CongestedSan, "laid", laid)
    monkeypatch.setattr(congested_loads, "COUNTED_WITHIN_S", 0.0)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.loopback_bps", lambda *_: 1e9)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.pause", lambda _: None)
    bench.ssh[Role.DUT].replies["command -v"] = ""
    patched.card = patched.card.model_copy(update={"iscsi": FACTS, "pause": "unknown"})
    return patched


@pytest.fixture
def programs(connected: Run, bench: FakeBench, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> Programs:
    assert connected
    made = Programs(bench, switch)

    @contextmanager
    def offering(_: Run, path: BenchPath, volumes: range) -> Iterator[DiskTarget]:
        yield DiskTarget(f"iqn.a:{path.name}", "198.18.10.2", volumes)

    @contextmanager
    def attached(_: Run, path: BenchPath, target: DiskTarget) -> Iterator[tuple[str, ...]]:
        found = {"a": HERE, "b": THERE}[path.name]
        assert len(found) == len(target.volumes)
        yield found

    for name, value in {"offering": offering, "attached": attached, "DiskAgent": lambda _: made}.items():
        monkeypatch.setattr(congested_loads, name, value)
    monkeypatch.setattr("niclab.storage.iscsi.iscsi_counts.look", made.look)
    return made
