"""Receive queues of a Linux host: the commands given, what is read back, and how tables of each driver are put back."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest
from fake_shell import FakeShell, failed

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NotOffered, ReadError
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.host import HostQueues
from niclab.hosts.host_records import Counters
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.steering.flow_rules import FlowRule
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS, FlowKind
from niclab.hosts.steering.queue_counters import frames_by_queue

KEY = bytes(range(40))
SUM = {"ethtool -x eth0 | cksum": "77 1200\n", "ethtool -n eth0 rx-flow-hash udp4 | cksum": "88 60\n"}
UNSUPPORTED = failed("Cannot get RX ring count: Operation not supported\n")
UDP_ADDRESSES = "UDP over IPV4 flows use these fields for computing Hash flow key:\nIP SA\nIP DA\n\n"
UDP_PORTS = (
    "UDP over IPV4 flows use these fields for computing Hash flow key:\nIP SA\nIP DA\n"
    "L4 bytes 0 & 1 [TCP/UDP src port]\nL4 bytes 2 & 3 [TCP/UDP dst port]\n\n"
)


def shown(table: list[int], rings: int = 4, key: bytes | None = KEY) -> str:
    rows = [f"{at:5}: {''.join(f' {queue:5}' for queue in table[at : at + 8])}" for at in range(0, len(table), 8)]
    heading = f"RX flow hash indirection table for eth0 with {rings} RX ring(s):"
    known = key.hex(":") if key else "Operation not supported"
    function = "RSS hash function:\n    toeplitz: on\n    xor: off\n    crc32: off"
    return "\n".join([heading, *rows, "RSS hash key:", known, function, ""])


def told(table: list[int], rings: int = 4) -> HostQueues:
    return LinuxHost(FakeShell(SUM | {"ethtool -x eth0": shown(table, rings)}), "dut").queues


def test_shares_are_the_parts_of_the_table() -> None:
    found = told([0, 0, 0, 2, 0, 0, 0, 2]).receive_hash("eth0")
    assert found.shares == {0: 0.75, 2: 0.25}
    assert (found.rings, found.key, found.function, found.transformed) == (4, KEY, "toeplitz", False)


def test_a_driver_without_the_operation_offers_none() -> None:
    host = LinuxHost(FakeShell({"ethtool -x eth0": UNSUPPORTED}), "dut").queues
    with pytest.raises(NotOffered, match="Operation not supported"):
        host.receive_hash("eth0")


def test_the_answer_must_be_of_the_interface() -> None:
    shell = FakeShell({"ethtool -x eth1": shown([0, 1])})
    with pytest.raises(BenchFault, match="answered for eth0"):
        LinuxHost(shell, "dut").queues.receive_hash("eth1")


def test_weights_give_parts_of_the_table() -> None:
    shell = FakeShell({"ethtool -X eth0 weight 0 1": "", "ethtool -x eth0": shown([1] * 8)})
    attempt = LinuxHost(shell, "dut").queues.set_weights("eth0", [0, 1])
    assert (attempt.refused, attempt.now.shares) == (None, {1: 1.0})


@pytest.mark.parametrize("words", ["Invalid argument", "Operation not supported"])
def test_a_refused_key_is_an_answer_and_one_that_is_not_offered_is_none(words: str) -> None:
    said = f"Cannot set RX flow hash configuration: {words}"
    command = f"ethtool -X eth0 hkey {KEY[::-1].hex(':')}"
    shell = FakeShell({command: failed(f"{said}\n"), "ethtool -x eth0": shown([0, 1, 2, 3])})
    if words == "Invalid argument":
        attempt = LinuxHost(shell, "dut").queues.set_key("eth0", KEY[::-1])
        assert attempt.refused == said and attempt.now.key == KEY
        return
    with pytest.raises(NotOffered, match=f"dut: `{command}`: {said}"):
        LinuxHost(shell, "dut").queues.set_key("eth0", KEY[::-1])


@pytest.mark.parametrize(
    ("driver", "table", "rings", "command"),
    [
        ("be2net, bnx2x, cxgb4, sfc", [0, 1, 2, 3] * 32, 4, "default || ethtool -X eth0 equal 4"),
        ("igb", [n * 4 // 128 for n in range(128)], 4, "default || ethtool -X eth0 equal 4"),
        ("ixgbe of the 82599", list(range(16)) * 8, 63, "equal 16"),
        ("equal parts for fewer queues by somebody", [0, 1] * 64, 4, "equal 2"),
        ("igb with parts that do not fit", [n * 6 // 128 for n in range(128)], 6, "default || ethtool -X eth0 equal 6"),
        ("weights of somebody", [0] * 96 + [2] * 32, 4, "weight 96 0 32"),
    ],
)
def test_the_table_of_each_driver_is_put_back(driver: str, table: list[int], rings: int, command: str) -> None:
    expected = f"ethtool -X eth0 {command} || test \"$(LC_ALL=C ethtool -x eth0 | cksum)\" = '77 1200'"
    assert told(table, rings).restoring_table("eth0") == expected, driver


def test_a_table_that_no_command_makes_is_not_touched() -> None:
    with pytest.raises(BenchFault, match="a pattern that ethtool cannot put back: 1 0 1 1"):
        told([1, 0, 1, 1]).restoring_table("eth0")


def test_the_key_is_put_back_where_it_is_shown() -> None:
    restoring = told([0, 1]).restoring_key("eth0")
    assert restoring.startswith(f"ethtool -X eth0 hkey {KEY.hex(':')} || test ")
    hidden = LinuxHost(FakeShell({"ethtool -x eth0": shown([0, 1], key=None)}), "dut").queues
    with pytest.raises(NotOffered, match="shows no hash key"):
        hidden.restoring_key("eth0")


def test_hash_fields_are_set_read_back_and_put_back() -> None:
    show, change = "ethtool -n eth0 rx-flow-hash udp4", "ethtool -N eth0 rx-flow-hash udp4 dfns"
    shell = FakeShell(SUM | {show: [UDP_ADDRESSES, UDP_PORTS], change: ""})
    host = LinuxHost(shell, "dut").queues
    restoring = host.restoring_fields("eth0", FlowKind.UDP4)
    attempt = host.set_fields("eth0", FlowKind.UDP4, ADDRESSES | PORTS)
    assert restoring.startswith("ethtool -N eth0 rx-flow-hash udp4 ds || test ")
    assert attempt.now.fields == ADDRESSES | PORTS


RULE = FlowRule(("10.0.0.1", "10.0.0.2"), (5, 6), 3)
WORDS = "flow-type udp4 src-ip 10.0.0.1 dst-ip 10.0.0.2 src-port 5 dst-port 6 action 3"


def shown_rules(*rules: FlowRule) -> str:
    filters = [f"Filter: {number}\n{_lines(rule)}\n" for number, rule in enumerate(rules)]
    return f"4 RX rings available\nTotal {len(rules)} rules\n\n{''.join(filters)}"


def _lines(rule: FlowRule) -> str:
    return "".join(f"\t{name}: {text}\n" for name, text in rule.shown.items())


def test_rules_are_added_and_read_back() -> None:
    change = f"ethtool -N eth0 {WORDS} > /dev/null && ethtool -N eth0 {WORDS} > /dev/null"
    host = LinuxHost(FakeShell({change: "", "ethtool -n eth0": shown_rules(RULE, RULE)}), "dut").queues
    attempt = host.add_rules("eth0", [RULE, RULE])
    assert attempt.refused is None and dict(attempt.now) == {0: RULE.shown, 1: RULE.shown}


def test_a_driver_that_takes_no_rules_offers_none() -> None:
    refused = failed("rmgr: Cannot insert RX class rule: Operation not supported\n")
    change = f"ethtool -N eth0 {WORDS} > /dev/null"
    host = LinuxHost(FakeShell({change: refused, "ethtool -n eth0": shown_rules()}), "dut").queues
    with pytest.raises(NotOffered, match="Cannot insert RX class rule: Operation not supported"):
        host.add_rules("eth0", [RULE])
    silent = failed("rxclass: Cannot get RX class rule count: Operation not supported\n")
    with pytest.raises(NotOffered, match="rule count: Operation not supported"):
        LinuxHost(FakeShell({"ethtool -n eth0": silent}), "dut").queues.rules("eth0")


@pytest.mark.parametrize("refuses", [False, True])
def test_every_rule_is_removed(refuses: bool) -> None:
    """The command runs in a shell: ``ethtool`` is a function."""
    restoring = LinuxHost(FakeShell({}), "dut").queues.restoring_no_rules("eth0")
    does = "return 1" if refuses else 'echo "$@" >&2'
    ethtool = f"ethtool() {{ if [ $1 = -n ]; then printf '%s' \"$TEXT\"; else {does}; fi; }}"
    script = f"{ethtool}; {restoring}; echo then $?"
    env = {"TEXT": shown_rules(RULE, RULE), "PATH": "/usr/bin:/bin"}
    ran = subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True)
    assert ran.stdout == f"then {int(refuses)}\n"
    assert ran.stderr == ("" if refuses else "-N eth0 delete 0\n-N eth0 delete 1\n")


def test_what_is_left_is_shown() -> None:
    shell = FakeShell({"(for rule in ...": "", "ethtool -n eth0": shown_rules(RULE)})
    attempt = LinuxHost(shell, "dut").queues.remove_rules("eth0")
    assert dict(attempt.now) == {0: RULE.shown}


def test_fields_of_other_flows_are_no_answer() -> None:
    shell = FakeShell({"ethtool -n eth0 rx-flow-hash tcp4": UDP_ADDRESSES})
    with pytest.raises(BenchFault, match="answered for udp4; expected tcp4"):
        LinuxHost(shell, "dut").queues.fields("eth0", FlowKind.TCP4)


@pytest.mark.parametrize(
    ("driver", "name"),
    [
        ("igb, ixgbe", "rx_queue_{}_packets"),
        ("be2net", "rxq{}: rx_pkts"),
        ("bnx2x", "[{}]: rx_ucast_packets"),
        ("sfc", "rx-{}.rx_packets"),
        ("mlx5", "rx{}_packets"),
    ],
)
def test_counters_of_queues_are_found_by_the_names_of_each_driver(driver: str, name: str) -> None:
    others = [("rx_packets", 900), ("tx_queue_0_packets", 5), ("rxq0: rx_bytes", 7), ("[0]: rx_bytes", 8)]
    named = [(name.format(queue), 10 + queue) for queue in range(12)]
    found = frames_by_queue(Counters((*others, *named)))
    assert found == {queue: 10 + queue for queue in range(12)}, driver


def test_cxgb4_counts_no_single_queue() -> None:
    assert frames_by_queue(Counters((("rx_frames_ok", 5), ("rx_csum_good", 4)))) == {}


def test_two_counters_of_a_queue_are_an_error() -> None:
    with pytest.raises(ReadError, match="two counters are of receive queue 0"):
        frames_by_queue(Counters((("rx0_packets", 1), ("rx_queue_0_packets", 1))))


def test_a_driver_without_counters_counts_no_queue() -> None:
    shell = FakeShell(
        {"ethtool -S eth0": failed("no stats available\n"), "ethtool -S eth1": failed("No such device\n")}
    )
    host = LinuxHost(shell, "dut").queues
    assert host.frames("eth0") == {}
    with pytest.raises(BenchFault, match="No such device"):
        host.frames("eth1")


@pytest.mark.parametrize(
    "question",
    [
        lambda host: host.receive_hash("oce0"),
        lambda host: host.set_weights("oce0", [0, 1]),
        lambda host: host.set_key("oce0", KEY),
        lambda host: host.fields("oce0", FlowKind.TCP4),
        lambda host: host.set_fields("oce0", FlowKind.UDP6, PORTS),
        lambda host: host.frames("oce0"),
        lambda host: host.restoring_table("oce0"),
        lambda host: host.restoring_key("oce0"),
        lambda host: host.restoring_fields("oce0", FlowKind.UDP4),
    ],
)
def test_freebsd_answers_no_question(question: Callable[[HostQueues], object]) -> None:
    with pytest.raises(NotApplicable, match=r"dut: oce0: .* cannot be asked for: FreeBSD: each driver"):
        question(FreeBsdHost(FakeShell({}), "dut").queues)


@pytest.mark.parametrize(("answer", "changed", "status"), [("false", "", 0), ("true", "", 0), ("false", "x", 1)])
def test_what_cannot_be_put_back_is_well_where_nothing_has_changed(answer: str, changed: str, status: int) -> None:
    """The command runs in a shell: ``ethtool`` is a function that refuses, or does not."""
    text = shown([0, 1, 2, 3])
    checksum = subprocess.run(["cksum"], input=text.encode(), capture_output=True, check=True).stdout.decode()
    shell = FakeShell({"ethtool -x eth0": text, "ethtool -x eth0 | cksum": checksum})
    restoring = LinuxHost(shell, "dut").queues.restoring_table("eth0")
    ethtool = f"ethtool() {{ if [ $1 = -x ]; then printf '%s' \"$TEXT\"; else {answer}; fi; }}"
    ran = subprocess.run(["sh", "-c", f"{ethtool}; {restoring}"], env={"TEXT": text + changed, "PATH": "/usr/bin:/bin"})
    assert (ran.returncode != 0) == bool(status)
