"""The words of the NFS client: read strictly, and made a result of traffic."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from niclab.hosts.errors import ReadError
from niclab.storage.nfs.nfs_reads import NfsAgent, NfsClient, NfsTransport, ReadsOn, read_order, understood
from niclab.storage.nfs.nfs_server import NfsExport
from niclab.traffic import WorthlessResult
from niclab.traffic.tools.tool import Route, TrafficTest

SAID: dict[str, Any] = {
    **{"reads": 100, "elapsed_s": 4.0, "all_reads": 110, "resent": 2},
    **{"unanswered": 0, "strange": 1, "damaged": 0, "example": ""},
}
EXPORT = NfsExport("198.18.10.2", "198.18.10.1", "abc")


def client(damaged: list[str]) -> NfsClient:
    agent = SimpleNamespace(command=lambda plan, lasts_s: f"sleep {lasts_s}; do {json.dumps(plan)}", said=json.loads)
    return NfsClient(cast(NfsAgent, agent), EXPORT, damaged.append)


def test_the_figures_of_a_run() -> None:
    damaged = list[str]()
    found = client(damaged).read(json.dumps(SAID), read_order(NfsTransport.UDP, 4))
    assert found.throughput_bps == 100 * 32768 * 8 / 4 and found.received_bytes == 110 * 32768
    assert (found.elapsed_s, found.retransmits, found.loss) == (4.0, 2, None)
    assert damaged == []


def test_damaged_reads_are_told() -> None:
    damaged = list[str]()
    client(damaged).read(json.dumps(SAID | {"damaged": 3, "example": "byte 7"}), read_order(NfsTransport.TCP, 4))
    assert damaged == ["3 of 110 reads with another content, such as byte 7"]


def test_what_the_program_is_asked() -> None:
    command = client([]).client_command(Route("198.18.10.1", "198.18.10.2"), read_order(NfsTransport.TCP, 2))
    plan = json.loads(command.removeprefix("sleep 2; do "))
    assert (plan["here"], plan["there"], plan["transport"], plan["seconds"]) == (EXPORT.here, EXPORT.there, "tcp", 2)
    assert (plan["read_bytes"], plan["under_way"], plan["seed"]) == (32768, 4, "abc")


@pytest.mark.parametrize("transport", NfsTransport)
def test_an_order_says_what_it_is(transport: NfsTransport) -> None:
    order = read_order(transport, 2)
    assert order.words == f"reads of 32 KiB over {transport.value.upper()}"
    assert order.parameters["transport"] == transport.value and order.parameters["seconds"] == "2"
    assert order.test is {"udp": TrafficTest.UDP_STREAM, "tcp": TrafficTest.TCP_STREAM}[transport.value]


@pytest.mark.parametrize(
    "changed", [{"reads": -1}, {"reads": "many"}, {"elapsed_s": None}, {"gossip": 1}, {"damaged": 1.5}]
)
def test_other_words_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="; expected the counts of a run"):
        understood(SAID | changed)
    with pytest.raises(ReadError, match="Field required"):
        understood({"reads": 1})


@pytest.mark.parametrize("changed", [{"reads": 0}, {"elapsed_s": 0.0}])
def test_a_run_without_a_read_is_worthless(changed: dict[str, Any]) -> None:
    with pytest.raises(WorthlessResult, match="expected at least one"):
        understood(SAID | changed)


ON: dict[str, Any] = {"reads": 900, "failed": 0, "damaged": 0, "silent_s": 0.4, "example": ""}


def going_on(said: dict[str, Any]) -> tuple[ReadsOn, dict[str, Any], str]:
    """The counts of reads that were ended, the plan of the program, and what it is called."""
    asked = list[tuple[dict[str, Any], str]]()

    @contextmanager
    def begun(plan: dict[str, Any], what: str) -> Iterator[Callable[[], dict[str, Any]]]:
        asked.append((plan, what))
        yield lambda: said

    agent = cast(NfsAgent, SimpleNamespace(going_on=begun))
    with NfsClient(agent, EXPORT, str).going_on(NfsTransport.TCP) as end:
        return end(), *asked[0]


def test_reads_go_on_until_they_are_ended() -> None:
    found, plan, what = going_on(ON)
    assert (found, what) == (ReadsOn(**ON), "reads over NFS")
    assert (plan["here"], plan["there"], plan["transport"]) == (EXPORT.here, EXPORT.there, "tcp")


@pytest.mark.parametrize("changed", [{"reads": -1}, {"failed": None}, {"silent_s": "long"}, {"gossip": 1}])
def test_other_words_of_reads_that_go_on_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ReadError, match="; expected the counts of reads"):
        going_on(ON | changed)
