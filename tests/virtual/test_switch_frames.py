"""The switch's bridge: who gets which frame, with which tag, and what is counted."""

from __future__ import annotations

import pytest
from bench_fakes import wait_for
from switch_bench import BROADCAST, PORTS, A, B, C, SwitchBench, frame, needs_net_snmp

pytestmark = needs_net_snmp

PVID = "1.3.6.1.2.1.17.7.1.4.5.1.1"
FRAME_TYPES = "1.3.6.1.2.1.17.7.1.4.5.1.2"
VLAN = "1.3.6.1.2.1.17.7.1.4.3.1"
FDB = "1.3.6.1.2.1.17.7.1.2.2.1.2"
PAUSE, STP = bytes.fromhex("0180c2000001"), bytes.fromhex("0180c2000000")


@pytest.fixture
def bench(running_switch: SwitchBench) -> SwitchBench:
    running_switch.reset()
    return running_switch


def make_vlan(bench: SwitchBench, vlan: int, egress: set[int], untagged: set[int]) -> None:
    def bits(ports: set[int]) -> str:
        return f"{sum(0x80 >> port - 1 for port in ports):02x}"

    said = bench.set(
        *(f"{VLAN}.5.{vlan}", "i", "4", f"{VLAN}.2.{vlan}", "x", bits(egress)),
        *(f"{VLAN}.4.{vlan}", "x", bits(untagged)),
    )
    assert said == ""


def access(bench: SwitchBench, vlan: int, *ports: int) -> None:
    """These ports are in this VLAN alone, without tags."""
    make_vlan(bench, vlan, set(ports), set(ports))
    for port in ports:
        assert bench.set(f"{PVID}.{port}", "u", str(vlan)) == ""
    left = sum(0x80 >> port - 1 for port in set(PORTS) - set(ports))
    assert bench.set(f"{VLAN}.2.1", "x", f"{left:02x}") == ""


def known(bench: SwitchBench) -> dict[str, int]:
    return {name.removeprefix(FDB + "."): int(value.split()[1]) for name, value in bench.walk(FDB).items()}


def row(mac: bytes, vlan: int = 1) -> str:
    return ".".join(str(part) for part in (vlan, *mac))


# --- learning and flooding


def test_a_frame_for_somebody_unknown_goes_to_all_others(bench: SwitchBench) -> None:
    data = frame(B, A)
    assert bench.arrivals(1, data) == dict.fromkeys((2, 3, 4), data)


def test_a_frame_for_somebody_known_goes_there_alone(bench: SwitchBench) -> None:
    bench.arrivals(3, frame(BROADCAST, B))
    assert known(bench) == {row(B): 3}
    data = frame(B, A)
    assert bench.arrivals(1, data) == {3: data}
    assert known(bench) == {row(A): 1, row(B): 3}


def test_who_moves_is_found_where_it_spoke_last(bench: SwitchBench) -> None:
    bench.arrivals(3, frame(BROADCAST, B))
    bench.arrivals(4, frame(BROADCAST, B))
    assert known(bench) == {row(B): 4}
    assert list(bench.arrivals(1, frame(B, A))) == [4]


def test_a_frame_for_somebody_behind_the_same_port_goes_nowhere(bench: SwitchBench) -> None:
    bench.arrivals(1, frame(BROADCAST, B))
    assert bench.arrivals(1, frame(B, A)) == {}


def test_a_group_address_is_never_learned(bench: SwitchBench) -> None:
    bench.arrivals(1, frame(B, bytes.fromhex("01005e000001")))
    assert known(bench) == {}


@pytest.mark.parametrize("group", [PAUSE, STP])
def test_frames_for_the_next_bridge_alone_are_not_passed_on(bench: SwitchBench, group: bytes) -> None:
    assert bench.arrivals(1, frame(group, A)) == {}


def test_who_was_behind_a_port_is_forgotten_with_its_link(bench: SwitchBench) -> None:
    bench.arrivals(3, frame(BROADCAST, B))
    bench.ask(shut="port3")
    assert known(bench) == {}
    assert list(bench.arrivals(1, frame(B, A))) == [2, 4]


def test_a_server_without_power_has_no_link_and_gets_one_with_it(bench: SwitchBench) -> None:
    bench.qemu["peer"].power_off()
    bench.links_are(1, 2)
    assert list(bench.arrivals(1, frame(B, A))) == [2]
    bench.qemu["peer"].power_on()
    bench.links_are(*PORTS)


def test_a_shut_port_stays_shut_for_a_server_that_starts(bench: SwitchBench) -> None:
    bench.ask(shut="port3")
    bench.qemu["peer"].power_off()
    bench.links_are(1, 2)
    bench.qemu["peer"].power_on()
    bench.links_are(1, 2, 4)
    wait_for(lambda: bench.qemu["peer"].links() == {"p0": False, "p1": True}, "the server has been told")


def test_a_shut_port_takes_no_frames(bench: SwitchBench) -> None:
    bench.ask(shut="port1")
    assert bench.arrivals(1, frame(B, A)) == {}
    assert known(bench) == {}


# --- VLANs


def test_two_vlans_do_not_hear_each_other(bench: SwitchBench) -> None:
    access(bench, 3, 1, 3)
    assert list(bench.arrivals(1, frame(BROADCAST, A))) == [3]
    assert list(bench.arrivals(2, frame(BROADCAST, B))) == [4]
    assert list(bench.arrivals(2, frame(A, B))) == [4], "an address known in another VLAN is unknown here"
    assert known(bench) == {row(A, 3): 1, row(B, 1): 2}


def test_a_trunk_keeps_the_tag_and_an_access_port_has_none(bench: SwitchBench) -> None:
    make_vlan(bench, 3, {1, 3, 4}, {3})
    came = bench.arrivals(1, frame(BROADCAST, A, "x", tag=3))
    assert came == {3: frame(BROADCAST, A, "x"), 4: frame(BROADCAST, A, "x", tag=3)}


def test_a_trunk_keeps_the_priority(bench: SwitchBench) -> None:
    make_vlan(bench, 3, {1, 3}, set())
    assert bench.arrivals(1, frame(BROADCAST, A, "x", tag=0xA003)) == {3: frame(BROADCAST, A, "x", tag=0xA003)}
    assert bench.set(f"{PVID}.1", "u", "3") == ""
    assert bench.arrivals(1, frame(BROADCAST, A, "x", tag=0xC000))[3] == frame(BROADCAST, A, "x", tag=0xC003)


def test_a_frame_without_a_tag_is_of_the_ports_own_vlan(bench: SwitchBench) -> None:
    make_vlan(bench, 3, {1, 3}, set())
    assert bench.set(f"{PVID}.1", "u", "3") == ""
    assert bench.arrivals(1, frame(BROADCAST, A, "x")) == {3: frame(BROADCAST, A, "x", tag=3, size=64)}


def test_a_tag_with_a_priority_alone_counts_as_none(bench: SwitchBench) -> None:
    assert bench.arrivals(1, frame(BROADCAST, A, "x", tag=0))[2] == frame(BROADCAST, A, "x")


def test_a_tag_of_a_vlan_that_the_port_is_not_in_is_dropped_and_counted(bench: SwitchBench) -> None:
    make_vlan(bench, 3, {3, 4}, set())
    before = bench.number("1.3.6.1.2.1.2.2.1.13.101")
    assert bench.arrivals(1, frame(BROADCAST, A, tag=3)) == {}
    assert bench.arrivals(1, frame(BROADCAST, A, tag=77)) == {}
    assert bench.number("1.3.6.1.2.1.2.2.1.13.101") == before + 2


def test_a_port_that_admits_tagged_frames_alone_drops_the_others(bench: SwitchBench) -> None:
    make_vlan(bench, 3, {1, 3}, set())
    assert bench.set(f"{FRAME_TYPES}.1", "i", "2") == ""
    assert bench.arrivals(1, frame(BROADCAST, A)) == {}
    assert list(bench.arrivals(1, frame(BROADCAST, A, tag=3))) == [3]


def test_a_port_taken_out_of_a_vlan_hears_no_more_of_it_at_once(bench: SwitchBench) -> None:
    access(bench, 3, 1, 3)
    assert list(bench.arrivals(1, frame(C, A))) == [3]
    assert bench.set(f"{VLAN}.2.3", "x", "80") == ""
    assert bench.arrivals(1, frame(C, A)) == {}


# --- sizes, counters, speed


def test_a_pause_is_neither_counted_nor_passed_on(bench: SwitchBench) -> None:
    before = bench.number("1.3.6.1.2.1.31.1.1.1.8.101")
    pause = bytes.fromhex("0180c2000001") + A + bytes.fromhex("88080001ffff")
    assert bench.arrivals(1, pause.ljust(60, b"\0")) == {}
    assert bench.number("1.3.6.1.2.1.31.1.1.1.8.101") == before
    bench.arrivals(1, frame(bytes.fromhex("0180c200000e"), A))
    assert bench.number("1.3.6.1.2.1.31.1.1.1.8.101") == before + 1  # any other frame to a group is


def test_a_virtual_cards_pulse_is_answered_with_light_and_is_no_frame(bench: SwitchBench) -> None:
    before = bench.number("1.3.6.1.2.1.31.1.1.1.9.101")
    asking = (BROADCAST + A + bytes.fromhex("88b5") + b"DRCV" + (3).to_bytes(4, "big")).ljust(60, b"\0")
    dark = asking[:18] + (0).to_bytes(4, "big") + asking[22:]
    for pulse in (asking, dark):
        came = bench.arrivals(1, pulse)
        assert list(came) == [1]
        assert came[1][12:22] == bytes.fromhex("88b5") + b"DRCV" + (1).to_bytes(4, "big")
        assert came[1][6:12] != A
    assert bench.number("1.3.6.1.2.1.31.1.1.1.9.101") == before


def test_a_jumbo_frame_passes_and_a_longer_one_is_an_error(bench: SwitchBench) -> None:
    longest = frame(B, A, size=9216 + 18)
    assert bench.arrivals(1, longest)[3] == longest
    before = bench.number("1.3.6.1.2.1.2.2.1.14.101"), bench.number("1.3.6.1.2.1.10.7.2.1.13.101")
    assert bench.arrivals(1, frame(B, A, size=9216 + 19)) == {}
    after = bench.number("1.3.6.1.2.1.2.2.1.14.101"), bench.number("1.3.6.1.2.1.10.7.2.1.13.101")
    assert after == (before[0] + 1, before[1] + 1)


def _counted(bench: SwitchBench, port: int) -> dict[int, int]:
    prefix = "1.3.6.1.2.1.31.1.1.1"
    columns = ("snmpget", *(f"{prefix}.{column}.{100 + port}" for column in range(6, 14)))
    lines = bench.snmp(*columns).stdout.splitlines()
    assert all(" = Counter64: " in line for line in lines)
    return {column: int(line.split()[-1]) for column, line in zip(range(6, 14), lines, strict=True)}


def _counted_and_taken(bench: SwitchBench, port: int) -> tuple[dict[int, int], list[bytes]]:
    """The port's counters, and what has come to its card up to that very moment (the switch speaks LLDP meanwhile)."""
    taken: list[bytes] = []
    while True:
        before = _counted(bench, port)
        bench.settle()
        taken += [data for _, data in bench.nics[port].take()]
        if _counted(bench, port) == before:
            return before, taken


def test_every_frame_and_octet_received_is_counted_with_its_fcs(bench: SwitchBench) -> None:
    before = _counted(bench, 1)
    for _ in range(10):
        bench.nics[1].send(frame(B, A, size=1000))
    bench.nics[1].send(frame(BROADCAST, A))
    bench.nics[1].send(frame(bytes.fromhex("01005e000001"), A))
    bench.settle()
    after = _counted(bench, 1)
    assert [after[column] - before[column] for column in (6, 7, 8, 9)] == [10 * 1004 + 2 * 64, 10, 1, 1]


def test_every_frame_and_octet_sent_is_counted_with_its_fcs(bench: SwitchBench) -> None:
    before, _ = _counted_and_taken(bench, 4)
    for size in (60, 61, 1000, 1514):
        bench.nics[1].send(frame(B, A, size=size))
    bench.nics[1].send(frame(BROADCAST, A))
    after, taken = _counted_and_taken(bench, 4)
    groups = [data[:6] == BROADCAST for data in taken if data[0] & 1]
    assert after[10] - before[10] == sum(len(data) + 4 for data in taken)
    assert [after[column] - before[column] for column in (11, 12, 13)] == [4, groups.count(False), 1]


# --- restarts


def test_what_is_configured_outlives_a_restart(bench: SwitchBench) -> None:
    access(bench, 3, 1, 3)
    bench.ask(shut="port2")
    assert bench.set("1.3.6.1.2.1.31.1.1.1.18.101", "s", "to the card") == ""
    bench.restart()
    bench.links_are(1, 3, 4)
    wait_for(lambda: bench.qemu["dut"].links() == {"p0": True, "p1": False}, "the servers are reported again")
    assert bench.get("1.3.6.1.2.1.31.1.1.1.18.101") == 'STRING: "to the card"'
    assert list(bench.arrivals(1, frame(BROADCAST, A))) == [3]
