"""The words of the program that loads disks: read strictly, and made a result of traffic."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from niclab.card import IscsiLoad
from niclab.hosts.errors import ReadError
from niclab.storage.iscsi_loads import IscsiAgent, IscsiClient, LoadOrder
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import Route

SAID: dict[str, Any] = {
    **{"reads": 300, "written": 100, "bytes_read": 300 << 13, "bytes_written": 100 << 13},
    **{"damaged": 0, "failed": 0, "elapsed_s": 2.0, "example": ""},
}
ROUTE = Route("198.18.10.1", "198.18.10.2")


def client(said: dict[str, Any] | None = None) -> IscsiClient:
    agent = SimpleNamespace(
        command=lambda plan, lasts_s: f"sleep {lasts_s}; do {json.dumps(plan)}",
        said=json.loads,
        do=lambda _: said or SAID,
    )
    return IscsiClient(cast(IscsiAgent, agent), ("sda", "sdb"), "abc")


def order(load: IscsiLoad) -> LoadOrder:
    return LoadOrder(duration_s=2, load=load)


@pytest.mark.parametrize(
    ("load", "bps", "per_s"),
    [
        (IscsiLoad.RANDOM, None, 200.0),
        (IscsiLoad.READ, (300 << 13) * 4.0, None),
        (IscsiLoad.WRITE, (100 << 13) * 4.0, None),
    ],
)
def test_the_figures_of_a_run(load: IscsiLoad, bps: float | None, per_s: float | None) -> None:
    one = client()
    found = one.read(json.dumps(SAID), order(load))
    assert (found.throughput_bps, found.transactions_per_s, found.elapsed_s) == (bps, per_s, 2.0)
    assert found.received_bytes == (100 << 13 if load is IscsiLoad.WRITE else 300 << 13)
    assert one.total == {name: SAID[name] for name in ("reads", "written", "bytes_read", "bytes_written")}
    assert one.damaged == []


def test_what_is_damaged_or_failed_is_kept_in_words() -> None:
    one = client(SAID | {"damaged": 2, "example": "sda: block 7"})
    one.fill()
    one.check()
    one.read(json.dumps(SAID | {"failed": 1, "example": "sdb: EIO"}), order(IscsiLoad.READ))
    assert [each.partition(":")[0] for each in one.damaged] == [
        "writing all",
        "reading all",
        order(IscsiLoad.READ).words,
    ]
    assert one.damaged[0].endswith("2 blocks with another content, 0 operations failed, such as sda: block 7")
    assert one.damaged[2].endswith("0 blocks with another content, 1 operations failed, such as sdb: EIO")
    assert one.total["reads"] == 900


def test_what_the_program_is_asked() -> None:
    plan = json.loads(client().client_command(ROUTE, order(IscsiLoad.WRITE)).removeprefix("sleep 2; do "))
    assert (plan["disks"], plan["load"], plan["seconds"], plan["seed"]) == (["/dev/sda", "/dev/sdb"], "write", 2, "abc")


@pytest.mark.parametrize("changed", [{"reads": -1}, {"bytes_read": "many"}, {"elapsed_s": None}, {"gossip": 1}])
def test_other_words_are_an_error(changed: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="; expected the counts of a load"):
        client().read(json.dumps(SAID | changed), order(IscsiLoad.READ))


@pytest.mark.parametrize("changed", [{"reads": 0, "written": 0}, {"elapsed_s": 0.0}])
def test_a_run_without_an_operation_proves_nothing(changed: dict[str, Any]) -> None:
    with pytest.raises(WorthlessResult, match="no operation ended"):
        client().read(json.dumps(SAID | changed), order(IscsiLoad.READ))
