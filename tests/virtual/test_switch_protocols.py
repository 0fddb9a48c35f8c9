"""LACP and LLDP of the switch: with hand-made frames at the process, and with a hand-made clock."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from bench_fakes import wait_for
from cable_bench import Nic
from switch_bench import BROADCAST, MAC, A, B, SwitchBench, frame, needs_net_snmp

from switch import lldp
from switch.config import PortConfig
from switch.lacp import FAST_S, SHORT_S, SLOW_S, Lacp
from switch.lacpdu import Information, Lacpdu, State, decode, encode

SERVER = bytes.fromhex("001b21aaaa01")
FAST = State.ACTIVITY | State.TIMEOUT | State.AGGREGATION
JOINED = FAST | State.SYNCHRONIZATION | State.COLLECTING | State.DISTRIBUTING
PORT_TABLE = "1.2.840.10006.300.43.1.2.1.1"
AGGREGATOR_TABLE = "1.2.840.10006.300.43.1.1.1.1"
REMOTE = "1.0.8802.1.1.2.1.4.1.1"


def server_says(port: int, state: State, partner: Information, key: int = 9) -> Lacpdu:
    return Lacpdu(Information(65535, SERVER, key, 255, port, state), partner)


# --- LACP with a clock of our own


class Wire:
    """A port's LACP, and what it has sent."""

    def __init__(self, **settings: bool) -> None:
        self.sent: list[Lacpdu] = []
        self.changes = 0
        self.lacp = Lacp(1, MAC, dataclasses.replace(PortConfig(), **settings), self.sent.append, self._changed)

    def _changed(self) -> None:
        self.changes += 1

    def join(self, now: float) -> None:
        """The server finds the switch, agrees, and carries frames."""
        for step in range(4):
            self.lacp.received(server_says(1, JOINED, self.lacp.actor), now + step)

    def sent_from(self, start: float, until: float) -> int:
        before = len(self.sent)
        for tenth in range(int(start * 10), int(until * 10)):
            self.lacp.tick(tenth / 10)
        return len(self.sent) - before


def test_a_passive_port_says_nothing_until_it_is_asked_and_is_a_link_of_its_own() -> None:
    wire = Wire()
    assert wire.sent_from(0, 100) == 0
    assert wire.lacp.carrying
    assert wire.lacp.aggregation is None


def test_an_active_port_asks_each_second() -> None:
    wire = Wire(lacp_active=True)
    assert wire.sent_from(0, 10) == pytest.approx(10 / FAST_S, abs=1)
    assert State.DEFAULTED in wire.sent[0].actor.state


def test_frames_pass_when_both_ends_are_in_sync_and_not_before() -> None:
    wire = Wire()
    wire.lacp.received(server_says(1, FAST, Information()), 0.0)
    assert not wire.lacp.carrying
    assert State.SYNCHRONIZATION in wire.sent[-1].actor.state
    wire.lacp.received(server_says(1, FAST | State.SYNCHRONIZATION, wire.lacp.actor), 1.0)
    assert wire.lacp.carrying
    assert State.COLLECTING | State.DISTRIBUTING in wire.lacp.actor.state
    assert wire.sent[-1].partner.system == SERVER


def test_a_partner_is_told_as_often_as_it_wants() -> None:
    fast, slow = Wire(), Wire()
    fast.join(0.0)
    slow.lacp.received(server_says(1, JOINED & ~State.TIMEOUT, slow.lacp.actor), 3.0)
    slow.lacp.settings = dataclasses.replace(slow.lacp.settings, lacp_short=False)
    assert fast.sent_from(4, 6) in (2, 3)
    slow.sent_from(3, 5)
    assert slow.sent_from(5, 5 + SLOW_S - 3) == 0
    assert slow.sent_from(5 + SLOW_S - 3, 5 + SLOW_S + 1) == 1


def test_a_silent_partner_expires_after_the_short_timeout_and_is_given_up_after_another() -> None:
    wire = Wire()
    wire.join(0.0)
    heard = 3.0
    wire.lacp.tick(heard + SHORT_S - 0.1)
    assert wire.lacp.carrying
    wire.lacp.tick(heard + SHORT_S + 0.1)
    assert not wire.lacp.carrying
    assert State.EXPIRED in wire.lacp.actor.state
    wire.lacp.tick(heard + 2 * SHORT_S + 0.1)
    assert wire.lacp.partner is None
    assert State.EXPIRED not in wire.lacp.actor.state


def test_a_link_that_goes_takes_the_partner_with_it() -> None:
    wire = Wire()
    wire.join(0.0)
    before = wire.changes
    wire.lacp.down()
    assert wire.lacp.partner is None
    assert wire.changes == before + 1


def test_a_partner_that_does_not_aggregate_is_never_in_sync() -> None:
    wire = Wire()
    wire.lacp.received(server_says(1, JOINED & ~State.AGGREGATION, wire.lacp.actor), 0.0)
    assert State.SYNCHRONIZATION not in wire.lacp.actor.state


def test_not_more_than_three_a_second_leave_however_often_the_partner_speaks() -> None:
    wire = Wire()
    for tenth in range(100):
        state = JOINED if tenth % 2 else FAST
        wire.lacp.received(server_says(1, state, Information()), tenth / 10)
    assert len(wire.sent) <= 30


@pytest.mark.parametrize("broken", [b"", bytes(60), encode(MAC, Lacpdu(Information(), Information()))[:40]])
def test_a_broken_lacpdu_is_none(broken: bytes) -> None:
    assert decode(broken.ljust(15, b"\0")) is None


def test_a_lacpdu_is_read_as_it_was_written() -> None:
    pdu = server_says(2, JOINED, Information(1, MAC, 2, 3, 4, State.EXPIRED))
    written = encode(SERVER, pdu)
    assert decode(written) == pdu
    assert len(written) == 14 + 110


# --- both at the process


@pytest.fixture
def bench(running_switch: SwitchBench) -> SwitchBench:
    running_switch.reset()
    running_switch.quiet()
    return running_switch


def answer(nic: Nic) -> Lacpdu | None:
    """The last LACPDU that has come."""
    pdus = [decode(data) for _, data in nic.take() if data[12:14] == b"\x88\x09"]
    return pdus[-1] if pdus else None


@contextmanager
def bond(bench: SwitchBench, *ports: int) -> Iterator[None]:
    """The server makes these ports one, as Linux does: it says what it knows until the switch agrees, and goes on."""
    said: dict[int, bytes] = {}
    for port in ports:
        partner, state = Information(), FAST
        for _ in range(3):
            said[port] = encode(SERVER, server_says(port, state, partner))
            bench.nics[port].send(said[port])
            partner = wait_for(lambda port=port: answer(bench.nics[port]), f"the switch answers at port {port}").actor
            state = JOINED
    over = threading.Event()

    def go_on() -> None:
        while not over.wait(0.3):  # a partner that is silent for three seconds is gone
            for port, pdu in said.items():
                bench.nics[port].send(pdu)

    speaker = threading.Thread(target=go_on)
    speaker.start()
    try:
        wait_for(lambda: bench.port(ports[0])["with"] == [f"port{n}" for n in ports], "the ports carry frames together")
        yield
    finally:
        over.set()
        speaker.join()


def test_two_ports_of_a_server_become_one_and_a_frame_comes_once(bench: SwitchBench) -> None:
    with bond(bench, 1, 2):
        came = bench.arrivals(3, frame(BROADCAST, B))
        assert sorted(came) in ([1, 4], [2, 4])
        assert bench.arrivals(1, frame(BROADCAST, A)).keys() == {3, 4}, "it is not sent back through the other port"
        assert bench.arrivals(2, frame(BROADCAST, A)).keys() == {3, 4}


@needs_net_snmp
def test_the_aggregation_and_its_partner_are_in_the_mib(bench: SwitchBench) -> None:
    mac = f"Hex-STRING: {SERVER.hex(' ').upper()}"
    with bond(bench, 1, 2):
        assert bench.get(f"{PORT_TABLE}.9.101") == bench.get(f"{PORT_TABLE}.9.102") == mac
        assert bench.get(f"{PORT_TABLE}.13.101") == bench.get(f"{PORT_TABLE}.13.102") == "INTEGER: 201"
        assert bench.get(f"{AGGREGATOR_TABLE}.8.201") == mac
        assert bench.get(f"{AGGREGATOR_TABLE}.8.202") == "Hex-STRING: 00 00 00 00 00 00"
        assert bench.get("1.2.840.10006.300.43.1.1.2.1.1.201") == "Hex-STRING: C0"
        # activity is bit 0 of the BITS: the highest of the octet; passive, short, in sync, collecting, distributing
        assert bench.get(f"{PORT_TABLE}.21.101") in ("Hex-STRING: 7C", 'STRING: "|"')
        assert bench.get("1.3.6.1.2.1.2.2.1.8.201") == "INTEGER: 1"
        assert bench.get("1.3.6.1.2.1.31.1.1.1.15.201") == "Gauge32: 2000"


def test_a_member_that_loses_its_link_leaves_the_others_carrying(bench: SwitchBench) -> None:
    with bond(bench, 1, 2):
        bench.ask(shut="port1")
        assert bench.arrivals(3, frame(BROADCAST, B)).keys() == {2, 4}


def test_a_port_of_a_server_that_never_agrees_carries_nothing(bench: SwitchBench) -> None:
    bench.nics[1].send(encode(SERVER, server_says(1, FAST, Information())))
    wait_for(lambda: answer(bench.nics[1]), "the switch answers")
    assert 1 not in bench.arrivals(3, frame(BROADCAST, B))
    assert bench.arrivals(1, frame(BROADCAST, A)) == {}


def neighbour_frame(ttl: int = 120) -> bytes:
    data = lldp.encode(SERVER, SERVER, "eth2", "to the switch", "dut", "Debian GNU/Linux 12")
    at = data.index(b"\x06\x02") + 2
    return data[:at] + ttl.to_bytes(2, "big") + data[at + 2 :]


def test_the_switch_says_who_it_is_on_each_port(bench: SwitchBench) -> None:
    def heard(port: int) -> lldp.Neighbour | None:
        found = [data for _, data in bench.nics[port].take() if data[12:14] == b"\x88\xcc"]
        return lldp.decode(found[-1]) if found else None

    for port in (1, 4):
        neighbour = wait_for(lambda port=port: heard(port), "LLDP", within_s=7)
        assert neighbour.chassis == MAC
        assert neighbour.port == f"port{port}".encode()
        assert neighbour.system_name == b"switch"
        assert neighbour.capabilities == lldp.BRIDGE
        assert neighbour.ttl_s == 20


@needs_net_snmp
def test_a_neighbour_is_in_the_mib_until_it_leaves(bench: SwitchBench) -> None:
    bench.nics[2].send(neighbour_frame())
    wait_for(lambda: bench.port(2)["neighbour"] == "dut", "the switch knows its neighbour")
    rows = bench.walk(REMOTE)
    assert len(rows) == 9
    by_column = {int(name.split(".")[10]): (name.split(".")[12], value) for name, value in rows.items()}
    assert by_column[5] == ("2", f"Hex-STRING: {SERVER.hex(' ').upper()}")
    assert by_column[7] == ("2", 'STRING: "eth2"')
    assert by_column[9] == ("2", 'STRING: "dut"')
    bench.nics[2].send(neighbour_frame(ttl=0))
    wait_for(lambda: bench.port(2)["neighbour"] is None, "it has left")
    assert bench.walk(REMOTE) == {}


def test_a_neighbour_is_forgotten_when_its_time_is_up_and_with_its_link(bench: SwitchBench) -> None:
    def known() -> bool:
        bench.nics[1].send(neighbour_frame(ttl=1))
        return bench.port(1)["neighbour"] is not None and bench.port(2)["neighbour"] is not None

    bench.nics[2].send(neighbour_frame())
    wait_for(known, "both are known")
    wait_for(lambda: bench.port(1)["neighbour"] is None, "its time is up")
    assert bench.port(2)["neighbour"] == "dut"
    bench.ask(shut="port2")
    assert bench.port(2)["neighbour"] is None


@pytest.mark.parametrize(
    ("cut", "complaint"),
    [(14, "without its end"), (20, "TLV 1 is cut off"), (40, "cut off|without its end")],
)
def test_a_broken_lldp_frame_is_refused(cut: int, complaint: str) -> None:
    with pytest.raises(lldp.LldpError, match=complaint):
        lldp.decode(neighbour_frame()[:cut])


def test_lldp_without_a_port_is_refused() -> None:
    data = lldp.encode(SERVER, SERVER, "eth2", "", "dut", "")
    without_port = data[:23] + data[30:]
    with pytest.raises(lldp.LldpError, match="its first TLVs are"):
        lldp.decode(without_port)
