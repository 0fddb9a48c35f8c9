"""Disks over iSCSI whose speed follows settings of the servers: the program on the dut, the sessions, the counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from fake_traffic import carry
from measured_states import States

from niclab.bench.records import Role
from niclab.storage.disk_counts import DiskCounts
from niclab.storage.factors import factor_question, variant_sessions
from niclab.storage.failover.connection import SessionConnection
from niclab.storage.volumes import DiskTarget

COMMAND = "cd /tmp/niclab.fake && load disks"
DISKS = tuple(f"sd{letter}" for letter in "abcdefgh")
_NOISE = (1.0, 1.004, 0.997, 1.002, 0.996)


class FakeDisks:
    """The disks, over the first path.

    ``speed``: part of full speed, by the load; ``damaged``: blocks of each step; ``failed``: its operations;
    ``drops``: the session loses its connection; ``resends``: segments that the target sends again in a run; ``log``:
    sessions and loads in their order.
    """

    def __init__(self, states: States, monkeypatch: pytest.MonkeyPatch) -> None:
        self.states, self.log = states, list[str]()
        self.speed: Callable[[str], float] = lambda _: 1.0
        self.damaged: Callable[[], int] = lambda: 0
        self.failed: Callable[[], int] = lambda: 0
        self.drops: Callable[[], bool] = lambda: False
        self.resends: Callable[[], int] = lambda: 0
        self.is_counted = True
        self._plan: dict[str, Any] = {}
        self._total = {"bytes_read": 0, "bytes_written": 0}
        self._resent = self._sent = 0
        self._logins = 0
        self._noise = cycle(_NOISE)
        states.bench.ssh[Role.DUT].replies[COMMAND] = self._run
        states.bench.ssh[Role.DUT].replies["command -v"] = ""
        monkeypatch.setattr(factor_question, "offering", self._offering)
        monkeypatch.setattr(variant_sessions, "attached", self._attached)
        monkeypatch.setattr(variant_sessions, "DiskAgent", lambda _: self)
        monkeypatch.setattr(variant_sessions.iscsi_counts, "look", self._look)
        monkeypatch.setattr(variant_sessions.iscsi_connection, "look", self._connection)

    @contextmanager
    def _offering(self, *_: object) -> Iterator[DiskTarget]:
        yield DiskTarget("iqn.a:b", "198.18.10.2")

    @contextmanager
    def _attached(self, *_: object) -> Iterator[tuple[str, ...]]:
        self._logins += 1
        self.log.append("log in")
        yield DISKS
        self.log.append("log out")

    def _look(self, *_: object) -> DiskCounts:
        read, written = self._total.values() if self.is_counted else (0, 0)
        zero = DiskCounts(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        disks = {"disk_read_bytes": read, "disk_written_bytes": written}
        target = {"target_read_bytes": read, "target_written_bytes": written}
        return replace(zero, **disks, **target, peer_resent=self._resent, peer_sent=self._sent)

    def _connection(self, *_: object) -> SessionConnection:
        self._logins += self.drops()
        return SessionConnection(40000 + self._logins, 200)

    def end(self) -> None:
        self.log.append("end")

    def command(self, plan: dict[str, Any], lasts_s: int = 0) -> str:
        assert lasts_s == plan["seconds"]
        self._plan = plan
        return COMMAND

    def do(self, plan: dict[str, Any]) -> dict[str, Any]:
        return self._said(plan["load"], 10, 1.0)

    def _said(self, load: str, count: int, elapsed_s: float) -> dict[str, Any]:
        self.log.append(load)
        reads = {"fill": 0, "write": 0, "random": count * 2 // 3}.get(load, count)
        size = 8192 if load == "random" else 262144
        said = {"reads": reads, "written": count - reads}
        said |= {"bytes_read": reads * size, "bytes_written": (count - reads) * size}
        for name in self._total:
            self._total[name] += said[name]
        times = {"elapsed_s": elapsed_s, "silent_s": 0.1, "slowest_s": 0.2}
        return said | {"damaged": self.damaged(), "failed": self.failed(), **times, "example": "block 7"}

    def _run(self, _: str) -> str:
        load, seconds = self._plan["load"], self._plan["seconds"]
        said = self._said(load, round(400 * seconds * self.speed(load) * next(self._noise)), float(seconds))
        self._resent, self._sent = self._resent + self.resends(), self._sent + 1000
        size = said["bytes_written"] if load == "write" else said["bytes_read"]
        ends = "198.18.10.2 --bind 198.18.10.1" if load == "write" else "198.18.10.1 --bind 198.18.10.2"
        carry(self.states.bench, ends, size=round(1.05 * size), frames=size // 1448)
        return json.dumps(said)

    @staticmethod
    def said(text: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(text)
        return found
