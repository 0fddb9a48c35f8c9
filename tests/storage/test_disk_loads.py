"""The words of the program that loads disks: read strictly, and made a result of traffic."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from niclab.card import StorageLoad
from niclab.hosts.errors import ReadError
from niclab.storage.disk_loads import DiskAgent, DiskClient, LoadOrder
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import Route

SAID: dict[str, Any] = {
    **{"reads": 300, "written": 100, "bytes_read": 300 << 13, "bytes_written": 100 << 13},
    **{"damaged": 0, "failed": 0, "elapsed_s": 2.0, "silent_s": 0.1, "slowest_s": 0.2, "example": ""},
}
ROUTE = Route("198.18.10.1", "198.18.10.2")


def client(said: dict[str, Any] | None = None) -> DiskClient:
    agent = SimpleNamespace(
        command=lambda plan, lasts_s: f"sleep {lasts_s}; do {json.dumps(plan)}",
        said=json.loads,
        do=lambda _: said or SAID,
    )
    return DiskClient(cast(DiskAgent, agent), ("sda", "sdb"), "abc")


def order(load: StorageLoad) -> LoadOrder:
    return LoadOrder(duration_s=2, load=load)


@pytest.mark.parametrize(
    ("load", "bps", "per_s"),
    [
        (StorageLoad.RANDOM, None, 200.0),
        (StorageLoad.READ, (300 << 13) * 4.0, None),
        (StorageLoad.WRITE, (100 << 13) * 4.0, None),
    ],
)
def test_the_figures_of_a_run(load: StorageLoad, bps: float | None, per_s: float | None) -> None:
    one = client()
    found = one.read(json.dumps(SAID), order(load))
    assert (found.throughput_bps, found.transactions_per_s, found.elapsed_s) == (bps, per_s, 2.0)
    assert found.received_bytes == (100 << 13 if load is StorageLoad.WRITE else 300 << 13)
    assert one.total == {name: SAID[name] for name in ("reads", "written", "bytes_read", "bytes_written")}
    assert one.damaged == []


def test_what_is_damaged_or_failed_is_kept_in_words() -> None:
    one = client(SAID | {"damaged": 2, "example": "sda: block 7"})
    one.fill()
    one.check()
    one.read(json.dumps(SAID | {"failed": 1, "example": "sdb: EIO"}), order(StorageLoad.READ))
    assert [each.partition(":")[0] for each in one.damaged] == [
        "writing all",
        "reading all",
        order(StorageLoad.READ).words,
    ]
    assert one.damaged[0].endswith("2 blocks with another content, 0 operations failed, such as sda: block 7")
    assert one.damaged[2].endswith("0 blocks with another content, 1 operations failed, such as sdb: EIO")
    assert one.total["reads"] == 900


def test_what_the_program_is_asked() -> None:
    plan = json.loads(client().client_command(ROUTE, order(StorageLoad.WRITE)).removeprefix("sleep 2; do "))
    assert (plan["disks"], plan["load"], plan["seconds"], plan["seed"]) == (["/dev/sda", "/dev/sdb"], "write", 2, "abc")


class Going:
    """A server on which a step goes on while a file is there."""

    def __init__(self, folder: Path) -> None:
        self.marker, self.stopped, self.plan = folder / "goes-on", 0, dict[str, Any]()

    def run(self, command: str) -> None:
        assert command == f"rm -f {self.marker}"
        self.marker.unlink(missing_ok=True)

    def start(self, command: str, *, limit_s: float) -> Going:
        assert limit_s == 120
        self.plan = json.loads(command)
        self.marker.touch()
        return self

    def await_begin(self, begun: str, _: str, within_s: float) -> None:
        assert begun == f"[ -e {self.marker} ]" and within_s == 20

    def wait(self, within_s: float) -> SimpleNamespace:
        assert within_s == 60 and not self.marker.exists()
        return SimpleNamespace(stdout=json.dumps(SAID))

    def stop(self) -> None:
        self.stopped += 1


@pytest.mark.parametrize("is_ended", [True, False])
def test_a_load_goes_on_until_it_is_ended(tmp_path: Path, is_ended: bool) -> None:
    server, agent = Going(tmp_path), DiskAgent.__new__(DiskAgent)
    agent._server, agent.folder, agent.name = cast(Any, server), str(tmp_path), "dut"
    agent.command = lambda plan, _=0: json.dumps(plan)  # type: ignore[method-assign]
    with DiskClient(agent, ("sda",), "abc").going_on(StorageLoad.RANDOM) as end:
        assert server.marker.exists() and not server.stopped
        if is_ended:
            assert end().silent_s == 0.1
    assert not server.marker.exists() and server.stopped == 1
    assert (server.plan["load"], server.plan["marker"]) == ("random", str(server.marker))
    assert server.plan["seconds"] == 60  # also where nobody ends it


@pytest.mark.parametrize("changed", [{"reads": -1}, {"bytes_read": "many"}, {"elapsed_s": None}, {"gossip": 1}])
def test_other_words_are_an_error(changed: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="; expected the counts of a load"):
        client().read(json.dumps(SAID | changed), order(StorageLoad.READ))


@pytest.mark.parametrize("changed", [{"reads": 0, "written": 0}, {"elapsed_s": 0.0}])
def test_a_run_without_an_operation_proves_nothing(changed: dict[str, Any]) -> None:
    with pytest.raises(WorthlessResult, match="no operation ended"):
        client().read(json.dumps(SAID | changed), order(StorageLoad.READ))
