"""Two states of a server, compared."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from niclab.core.verdict import BenchFault
from niclab.state.snapshot import (
    ABSENT,
    INTERFACE,
    LEFT_OUT,
    Depth,
    Leftover,
    Snapshot,
    Values,
    Volatile,
    diff,
    with_leftovers,
)

PORT = {INTERFACE: "device", "mtu": "1500", "up": "yes"}
BOND = {INTERFACE: "bond", "mtu": "1500", "up": "yes"}

_WORD = st.sampled_from(["a", "b", "c", INTERFACE])
_VALUES = st.dictionaries(
    st.sampled_from(["enp1s0", "sysctl", "modules", "bond0"]), st.dictionaries(_WORD, st.sampled_from(["1", "2"]))
)


def state(values: Values, depth: Depth = Depth.BETWEEN) -> Snapshot:
    return Snapshot("dut", depth, values)


@given(values=_VALUES)
def test_a_state_equals_itself(values: Values) -> None:
    assert diff(state(values), state(values)) == []


@given(old=_VALUES, new=_VALUES)
def test_a_difference_is_seen_from_both_sides(old: Values, new: Values) -> None:
    there = {(each.subject, each.key, each.was, each.is_now) for each in diff(state(old), state(new))}
    back = {(each.subject, each.key, each.is_now, each.was) for each in diff(state(new), state(old))}
    assert there == back and all(was != now for _, _, was, now in there)


@given(old=_VALUES, new=_VALUES)
def test_what_is_known_is_reported_once(old: Values, new: Values) -> None:
    before, after = state(old), state(new)
    assert diff(with_leftovers(before, after, diff(before, after)), after) == []


@given(old=_VALUES, key=_WORD)
def test_one_change_is_one_leftover(old: Values, key: str) -> None:
    before = {**old, "enp1s0": {**old.get("enp1s0", {}), INTERFACE: "device", key: "1"}}
    after = {**before, "enp1s0": {**before["enp1s0"], key: "3"}}
    assert diff(state(before), state(after)) == [Leftover("dut", "enp1s0", key, "1", "3")]


def test_an_interface_that_is_left_is_one_difference() -> None:
    found = diff(state({"enp1s0": PORT}), state({"enp1s0": PORT, "bond0": BOND}))
    assert found == [Leftover("dut", "bond0", INTERFACE, ABSENT, "bond")]
    assert str(found[0]) == "dut: bond0 interface: bond; expected absent (state before)"


@pytest.mark.parametrize(
    "module", ["bonding", "8021q", "sch_fq", "tcp_bbr", "nfsd", "auth_rpcgss", "netfs", "sd_mod", "uio"]
)
def test_modules_that_the_kernel_loads_on_demand_are_no_leftover(module: str) -> None:
    after = state({"modules": {module: "present"}})
    assert diff(state({"modules": {}}), after) == []
    assert diff(state({"modules": {}}), state({"modules": {"e1000e_test": "present"}})) != []


@pytest.mark.parametrize("nothing", ["0", "00000000,00000000"])
def test_queues_that_steer_nothing_may_go_and_come(nothing: str) -> None:
    some, more = state({"steering": {}}), state({"steering": {"enp1s0 rx-7/rps_cpus": nothing}})
    assert diff(some, more) == diff(more, some) == []


@pytest.mark.parametrize(("was", "is_now"), [("0", "3"), ("3", "0"), ("3", ABSENT), (ABSENT, "2048"), ("1", "2")])
def test_steering_that_is_left_is_seen(was: str, is_now: str) -> None:
    key = "enp1s0 rx-7/rps_cpus"
    old, new = ({} if value == ABSENT else {key: value} for value in (was, is_now))
    found = diff(state({"steering": old}), state({"steering": new}))
    assert found == [Leftover("dut", "steering", key, was, is_now)]


@pytest.mark.parametrize(("up", "was", "left"), [("no", "00", 0), ("no", "01", 1), ("yes", "00", 1)])
def test_a_driver_steers_sending_when_a_port_is_first_up(up: str, was: str, left: int) -> None:
    key = "enp1s0 tx-1/xps_cpus"
    port = {"enp1s0": PORT | {"up": up}}
    assert len(diff(state(port | {"steering": {key: was}}), state(port | {"steering": {key: "02"}}))) == left
    assert len(diff(state(port | {"steering": {}}), state(port | {"steering": {key: "02"}}))) == (up == "yes")


def test_interrupts_are_compared_where_no_daemon_moves_them() -> None:
    old, new = {"interrupts": {"enp1s0": "0-1"}}, {"interrupts": {"enp1s0": "1"}}
    assert len(diff(state(old), state(new))) == 1
    moving = {"processes": {"irqbalance": "present"}}
    assert diff(state(old | moving), state(new | moving)) == []


def test_each_volatile_value_has_its_reason() -> None:
    assert all(isinstance(each, Volatile) and each.reason for each in LEFT_OUT)


@pytest.mark.parametrize(
    "other", [Snapshot("peer", Depth.BETWEEN, {}), Snapshot("dut", Depth.FULL, {})], ids=["server", "depth"]
)
def test_other_servers_and_depths_are_not_compared(other: Snapshot) -> None:
    with pytest.raises(BenchFault, match="expected the same server to the same depth"):
        diff(state({}), other)
    assert diff(replace(other), other) == []
