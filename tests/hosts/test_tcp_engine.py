"""TCP that the card does itself, as servers show it: of cxgbe on FreeBSD, and of no driver on Linux."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from fake_shell import Answer, FakeShell, Script

from niclab.core.verdict import NotApplicable
from niclab.hosts.engine.engine_records import Placing
from niclab.hosts.engine.linux import LinuxEngine
from niclab.hosts.engine.tids import read_tids
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.host import HostEngine

TIDS = """ATID range: 0-8191, in use: 5
TID range: 0-1023, 4096-18431, in use: 7
STID range: 18432-18927, in use: 1
HW TID usage: 9 IP users, 0 IPv6 users
"""
TREE = "dev.t5nex.1.toe"
NO_POLICY = Answer(exit_status=1, stderr=f"sysctl: unknown oid '{TREE}.cop_managed_offloading'")
QUEUES = "".join(
    f"dev.cxl.2.ofld_rxq.{queue}.{leaf}\n"
    for queue in (0, 1)
    for leaf in ("cidx: 900", "fl.pidx: 800", "fl.cluster_allocated: 10", "fl.cluster_recycled: 7",
                 "fl.cluster_fast_recycled: 3")
)  # fmt: skip


def engine(**script: Script) -> HostEngine:
    known: dict[str, Script] = {
        "sysctl -n dev.cxl.2.%parent": "t5nex1\n",
        "sysctl -n dev.t5nex.1.toecaps": script.get("caps", "1<TOE>\n"),
        f"sysctl {TREE}.cop_managed_offloading": script.get("policy", NO_POLICY),
        f"sysctl -n {TREE}.ddp": script.get("ddp", "0\n"),
        f"sysctl {TREE}.ddp_thres": script.get("least", f"{TREE}.ddp_thres: 16224\n"),
        f"sysctl {TREE}.ddp=1": script.get("set", ""),
        "sysctl dev.cxl.2.ofld_rxq": script.get("queues", QUEUES),
    }
    return FreeBsdHost(FakeShell(known), "dut").engine


@pytest.mark.parametrize(("text", "found"), [(TIDS, 7), ("TID range: 0-18431, in use: 0", 0)])
def test_connections_are_the_tids_in_use(text: str, found: int) -> None:
    assert read_tids(text) == found


@pytest.mark.parametrize("text", ["", "ATID range: 0-8191, in use: 5", f"{TIDS}{TIDS}", "TID range: 0-9, in use: x"])
def test_anything_else_is_no_number_of_connections(text: str) -> None:
    with pytest.raises(ReadError, match="TID range"):
        read_tids(text)


@pytest.mark.parametrize(("caps", "reserved"), [("1<TOE>", True), ("0", False), ("2<RDMA>", False)])
def test_what_is_reserved_is_a_bit(caps: str, reserved: bool) -> None:
    assert engine(caps=f"{caps}\n").is_reserved("cxl2") is reserved


@pytest.mark.parametrize(
    ("said", "chosen"),
    [(NO_POLICY, False), (f"{TREE}.cop_managed_offloading: 0\n", False), (f"{TREE}.cop_managed_offloading: 1\n", True)],
)
def test_a_policy_that_no_release_but_new_ones_has(said: Script, chosen: bool) -> None:
    assert engine(policy=said).is_by_policy("cxl2") is chosen


def test_placement_is_set_and_put_back_as_it_is() -> None:
    assert engine().placing("cxl2") == Placing(False, 16224)
    assert engine(least=Answer(exit_status=1, stderr="sysctl: unknown oid 'x'")).placing("cxl2") == Placing(False, None)
    attempt = engine(ddp=["1\n"]).set_placing("cxl2", True)
    assert attempt.refused is None and attempt.now.on
    assert engine().restoring_placing("cxl2") == f"sysctl {TREE}.ddp=0"
    assert engine(ddp="1\n").restoring_placing("cxl2") == f"sysctl {TREE}.ddp=1"


def test_buffers_are_those_of_all_queues_of_the_port() -> None:
    assert engine().buffers("cxl2") == 40
    with pytest.raises(ReadError, match="cluster_allocated"):
        engine(queues="dev.cxl.2.ofld_rxq.0.fl.pidx: 800\n").buffers("cxl2")


def test_the_command_asks_the_device_of_all_ports() -> None:
    assert engine().connections_command("cxl2") == "sysctl -n dev.t5nex.1.misc.tids"


def asks(part: HostEngine, iface: str) -> tuple[Callable[[], object], ...]:
    calls = (part.is_reserved, part.is_by_policy, part.connections_command, part.placing, part.restoring_placing)
    return (*(partial(call, iface) for call in (*calls, part.buffers)), partial(part.set_placing, iface, True))


def test_other_drivers_and_linux_have_none() -> None:
    linux = LinuxEngine("dut")
    for ask in (*asks(engine(), "oce0"), *asks(linux, "eth0"), partial(linux.read_connections, TIDS)):
        with pytest.raises(NotApplicable, match=r"^dut: .* no TCP offload|shows no TCP offload"):
            ask()
