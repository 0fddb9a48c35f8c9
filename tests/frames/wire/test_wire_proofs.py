"""Proofs of offloads in network namespaces. The card is a relay: it cuts up and sums what the dut's stack leaves to it.

The switches are those of the real ``ethtool``, so that the stack hands over what it hands to a card.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from namespaces import Namespaces, NamespaceServer

from niclab.bench.records import DeclaredDeviation, OperatingSystem, Port, Role, SiliconFact, Wiring
from niclab.card import OffloadName, load_card
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.frames import spec
from niclab.frames.answers import HashLook, WireView
from niclab.frames.blame.frame_findings import Culprit, FrameFinding
from niclab.frames.wire import ground, kinds, proofs, receiving, sending
from niclab.hosts.settings.ethtool_features import read_features
from niclab.hosts.settings.settings_records import Attempt

SHEET = "intel-x520"


class Settings:
    """Features of an interface in a namespace, by ``ethtool``."""

    def __init__(self, server: NamespaceServer) -> None:
        self.server = server

    def features(self, iface: str) -> Any:
        return read_features(self.server.run(f"ethtool --json -k {iface}").stdout)

    def set_feature(self, iface: str, word: str, on: bool) -> Attempt[Any]:
        self.server.run(f"ethtool -K {iface} {word} {'on' if on else 'off'}")
        return Attempt(None, self.features(iface))

    def undo(self, iface: str, words: dict[str, str]) -> str:
        shown = self.features(iface)
        wanted = {word: shown[name].on for name, word in words.items() if not shown[name].fixed}
        return f"ethtool -K {iface} " + " ".join(f"{word} {'on' if on else 'off'}" for word, on in wanted.items())


@pytest.fixture
def wire(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> Iterator[Namespaces]:
    """The cable p1 as the first path, with a card at the dut's end."""
    run: Any = clean.run
    path = SimpleNamespace(name="p1", ends=("dut.p1", "peer.p1"), through=Wiring.SWITCH)
    monkeypatch.setattr(run.bench, "paths", [path])
    monkeypatch.setattr(run.bench, "path_of", lambda _: path, raising=False)
    monkeypatch.setattr(run, "card", load_card(SHEET))
    undone = SimpleNamespace(register=lambda _subject, _what, action: action, undo=undo(clean))
    monkeypatch.setattr(run, "journal", undone, raising=False)
    monkeypatch.setattr(run, "undo", None, raising=False)
    monkeypatch.setattr(run, "await_carrier", lambda *_, **__: [], raising=False)
    monkeypatch.setattr(sending.ipv6, "addressed", addressed)
    monkeypatch.setattr(spec, "QUIET_S", 2.0)  # a connection that repeats a segment is silent for a while
    for server in clean.servers.values():
        settings = Settings(server)
        monkeypatch.setattr(server.host, "settings", settings)
        monkeypatch.setattr(server.host, "undo", SimpleNamespace(features=settings.undo), raising=False)
        server.run("sysctl -qw net.ipv6.conf.p1.disable_ipv6=0")
    clean.servers[Role.DUT].run("ethtool -K p1 tx on tso on gso on")
    clean.spoil("card")
    yield clean
    for server in clean.servers.values():
        server.run("ethtool -K p1 tx off tso off gso off; sysctl -qw net.ipv6.conf.p1.disable_ipv6=1")


def undo(made: Namespaces) -> Callable[[Any, object], None]:
    return lambda action, _: made.servers[Role(action.where)].run(action.command) and None


@contextmanager
def addressed(run: Any, path: Any) -> Iterator[None]:
    ends = [run.bench.end(path, role) for role in Role]
    for port in ends:
        run.server_of(port).run(f"ip address add {ground.ipv6.address(run, port)} dev {port.key} nodad")
    try:
        yield
    finally:
        for port in ends:
            run.server_of(port).run(f"ip address del {ground.ipv6.address(run, port)} dev {port.key}")


@pytest.mark.parametrize("offload", ["tso4", "tso6", "tx-checksum"])
def test_a_card_that_cuts_up_and_sums_right_passes(wire: Namespaces, offload: str) -> None:
    said = list[str]()
    proofs.prove(wire.run, offload, said.append)
    states = [line.rpartition(" ")[2] for line in said if line.startswith("dut.p1 (0000:01:00.0): ")]
    assert states == ["off", "on"]
    assert any("oversize" in line for line in said if line.startswith("dut: out tcp"))
    shown = wire.servers[Role.DUT].host.settings.features("p1")
    assert all(shown[name].on for name in ("tx-checksumming", "tx-tcp-segmentation", "tx-tcp6-segmentation"))


@pytest.mark.parametrize("offload", ["tso4", "tso6", "tx-checksum"])
def test_what_a_model_sends_otherwise_than_the_silicon_is_not_judged(
    wire: Namespaces, offload: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts: Any = {"fact": SiliconFact.SENDING_OFFLOADS, "how": "cuts up IP", "source": "measured"}
    monkeypatch.setattr(wire.run.bench, "deviations", (DeclaredDeviation(card=wire.run.card.name, **facts),))
    with pytest.raises(
        Deviation, match=f"offloads.sending: {offload}, .*; the model of this bench deviates: cuts up IP"
    ):
        proofs.prove(wire.run, offload, str)


@pytest.mark.parametrize(
    ("offload", "word", "says"),
    [
        (
            "tso4",
            "card-last",
            r"\d of \d+ packets of tcp4 arrived with wrong checksums at peer\.p1 .*\(packet with \d+ ",
        ),
        ("tso6", "card-odd", r"packets of tcp6 arrived with wrong checksums at peer\.p1 .*\(packet with 989 bytes of "),
        ("tx-checksum", "card-last", r"packets of tcp4 arrived with wrong checksums"),
    ],
)
def test_a_card_that_sums_wrong_fails_where_the_peer_is_sound(
    wire: Namespaces, offload: str, word: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.spoil(word)
    monkeypatch.setattr(
        ground.peer_trial, "tried", lambda _, found, __: [replace(each, suspicion=None) for each in found]
    )
    with pytest.raises(CardFailure, match=says):
        proofs.prove(wire.run, offload, str)


def test_what_came_right_with_the_offload_off_proves_the_peer_sound(
    wire: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    wire.spoil("card-odd")
    few = list[FrameFinding]()
    monkeypatch.setattr(ground.peer_trial, "tried", lambda _, found, __: few.extend(found) or found)
    with pytest.raises(CardFailure, match=r"packets of tcp4 arrived with wrong checksums at peer\.p1"):
        proofs.prove(wire.run, "tso4", str)
    assert few == []


def test_what_never_is_handed_over_is_found(wire: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    """A port that shows segmentation on and whose stack segments all the same."""
    made = Settings.set_feature

    def lie(self: Settings, iface: str, word: str, on: bool) -> Attempt[Any]:
        return made(self, iface, word, on) if self.server.role is Role.PEER else Attempt(None, self.features(iface))

    monkeypatch.setattr(ground.ProofGround, "_is_on", property(lambda _: False))
    monkeypatch.setattr(Settings, "set_feature", lie)
    wire.servers[Role.DUT].run("ethtool -K p1 tx off tso off")
    with pytest.raises(CardFailure, match=r"tso4 on .* was set, it shows False"):
        proofs.prove(wire.run, "tso4", str)
    monkeypatch.setattr(ground, "held", lambda *_: nothing())
    with pytest.raises(CardFailure, match=r"tso4 \(tx-tcp-segmentation\) is on, and the stack handed over 0 of \d+"):
        proofs.prove(wire.run, "tso4", str)
    with pytest.raises(CardFailure, match=r"is on, and the stack left checksums unfinished: 0 of tcp4.*TCP over IPv4"):
        proofs.prove(wire.run, "tx-checksum", str)


@contextmanager
def nothing() -> Iterator[None]:
    yield


def test_packets_that_are_merged_while_the_offload_is_on_alone(wire: Namespaces) -> None:
    """A veth pair with a relay hands over each packet by itself."""
    with pytest.raises(NotApplicable, match="is on, and no packet was merged"):
        proofs.prove(wire.run, "gro", str)
    assert wire.servers[Role.DUT].run("cat /sys/class/net/p1/gro_flush_timeout").stdout == "0\n"


def test_packets_that_are_merged_always_are_found(wire: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    """A veth pair without a relay hands over what the sender has not cut up."""
    plain(wire, monkeypatch, Wiring.SWITCH)
    with pytest.raises(CardFailure, match=r"gro .* is off, and \d+ of \d+ packets are larger than the MTU"):
        proofs.prove(wire.run, "gro", str)


def plain(wire: Namespaces, monkeypatch: pytest.MonkeyPatch, through: Wiring) -> None:
    """Make the cable p0 the first path."""
    path: Any = SimpleNamespace(name="p0", ends=("dut.p0", "peer.p0"), through=through)
    monkeypatch.setattr(wire.run.bench, "paths", [path])
    monkeypatch.setattr(wire.run.bench, "path_of", lambda _: path)


def test_received_checksums_and_hashes(wire: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    """A veth pair says of no checksum that it is right, and hashes nothing; it has one queue."""
    wire.spoil("")
    with pytest.raises(Undecided, match="rx-checksum is on, and no checksum is called right"):
        proofs.prove(wire.run, "rx-checksum", str)
    monkeypatch.setattr(ground, "held", lambda *_: nothing())
    said = list[str]()
    with pytest.raises(NotApplicable, match=r"rx-hash .* is on, and the port has one queue"):
        proofs.prove(wire.run, "rx-hash", said.append)
    assert said[-1].endswith("0 of 512 packets of 64 connections hashed, 1 values, 0 connections with several")


def test_checksums_that_are_judged_with_the_offload_off_are_not_hidden(
    wire: Namespaces, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With it on, nobody knows."""
    wire.spoil("")
    send = ground.ProofGround.send

    def sent(self: Any, streams: Any, on: bool) -> Any:
        captured = send(self, streams, on)
        (leg,) = captured.ledger.legs
        for flow, came in leg.arrived.items():
            leg.arrived[flow] = came.model_copy(update={"valid": 0 if on else came.frames})
        return captured

    monkeypatch.setattr(ground.ProofGround, "send", sent)
    with pytest.raises(
        CardFailure, match=r"rx-checksum .* is off, and .* are called right; expected none\nundecided: "
    ):
        proofs.prove(wire.run, "rx-checksum", str)


@pytest.mark.parametrize("offload", ["vlan-insert", "vlan-strip"])
def test_tags_with_priorities_are_inserted_and_arrive(
    wire: Namespaces, monkeypatch: pytest.MonkeyPatch, offload: str
) -> None:
    if not wire.servers[Role.DUT].ssh.run("ip link add link p0 name p0.3 type vlan id 3 && ip link del p0.3").succeeded:
        pytest.skip("needs a kernel with VLANs")
    plain(wire, monkeypatch, Wiring.DIRECT)
    monkeypatch.setattr(sending.in_vlan, "vlans", vlans)
    for server in wire.servers.values():
        server.run("ethtool -K p0 tx off")
    said = list[str]()
    try:
        proofs.prove(wire.run, offload, said.append)
        out = [line for line in said if line.startswith(("dut: out udp4", "peer: out udp4"))]
        inserted = "in the frame" if offload == "vlan-insert" else "handed over"
        assert [line.rpartition(" with tag 40963 ")[2] for line in out] == [inserted, "handed over"]
        monkeypatch.setattr(sending, "tag", lambda vlan, _: vlan)
        with pytest.raises(CardFailure, match=r"arrived at .*\.p0 .* with tags 40963 \(\d+\); expected 3 on"):
            proofs.prove(wire.run, offload, str)
    finally:
        for server in wire.servers.values():
            server.run("ethtool -K p0 tx on tso on")


@contextmanager
def vlans(run: Any, path: Any) -> Iterator[dict[Role, str]]:
    ends = [(run.server_of(port), run.bench.address(port)) for port in (run.bench.end(path, role) for role in Role)]
    try:
        for server, address in ends:
            server.run("ip link add link p0 name p0.3 type vlan id 3")
            server.run(f"ip address del {address} dev p0; ip address add {address} dev p0.3; ip link set p0.3 up")
        yield dict.fromkeys(Role, "p0.3")
    finally:
        for server, address in ends:
            server.run(f"ip link del p0.3; ip address add {address} dev p0")


def test_frames_of_every_kind_arrive(wire: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    plain(wire, monkeypatch, Wiring.DIRECT)
    monkeypatch.setattr(kinds.upper_devices, "vlans_without_addresses", lambda *_: None)
    monkeypatch.setattr(kinds.upper_devices, "remove", lambda *_: [])
    said = list[str]()
    kinds.every_kind(wire.run, said.append)
    assert len(said) == 2 * (7 + 11) and all(" sent, " in line for line in said)
    kinds.padding(wire.run, said.append)
    assert said[-1].endswith("frames with padding: 240 sent, 240 at the port")


def test_an_offload_that_cannot_be_seen_is_refused(wire: Namespaces) -> None:
    with pytest.raises(BenchFault, match="offload 'jumbo-mtu' cannot be seen on the wire; expected one of tso4, "):
        proofs.prove(wire.run, "jumbo-mtu", str)
    wire.servers[Role.PEER].description.os = OperatingSystem.FREEBSD
    try:
        with pytest.raises(NotApplicable, match="peer runs freebsd: the frame program needs packet sockets of Linux"):
            proofs.prove(wire.run, "tso4", str)
    finally:
        wire.servers[Role.PEER].description.os = OperatingSystem.LINUX


HASHES = HashLook(
    port="p1", frames=512, hashless=0, connections=64, values=60, unsteady=0, queues=4, steered=False, dropped=0
)


@pytest.mark.parametrize(
    ("changes", "on", "says"),
    [
        ({}, True, ""),
        ({"hashless": 512}, False, ""),
        ({"hashless": 512, "values": 1, "queues": 1}, True, ""),
        ({}, False, "expected none"),
        ({"hashless": 512, "values": 1}, True, "expected all"),
        ({"values": 1}, True, "all with the same; expected different ones"),
        ({"unsteady": 3}, True, "3 connections with several hashes; expected one for each"),
    ],
)
def test_hashes_are_judged(changes: dict[str, int], on: bool, says: str) -> None:
    assert receiving._wrong_hashes(HASHES.model_copy(update=changes), on) == says


VIEW = WireView(
    frames=40,
    largest=1500,
    oversize=0,
    unfinished=0,
    wrong_headers=0,
    wrong=0,
    cut=0,
    short=1,
    odd=2,
    handed={"40963": 40},
    inline={},
    example="",
)


class FakeGround:
    """The path of a proof, without servers."""

    wrong = staticmethod(str)


def captured(**changes: object) -> Any:
    view = VIEW.model_copy(update=changes)
    return SimpleNamespace(view=lambda *_: view)


@pytest.mark.parametrize(
    ("changes", "on", "says"),
    [
        ({}, True, []),
        ({"handed": {}, "inline": {"40963": 40}}, False, []),
        (
            {"handed": {"40963": 39}, "inline": {"40963": 1}},
            True,
            ["78 tags to it and inserted 2; expected none to be inserted"],
        ),
        ({}, False, ["is off, and the stack left 80 tags to it and inserted 0; expected all to be inserted"]),
    ],
)
def test_tags_that_the_stack_leaves_are_judged(changes: dict[str, object], on: bool, says: list[str]) -> None:
    ground_: Any = FakeGround
    found = sending._given(ground_, captured(**changes), on)
    assert len(found) == len(says) and all(part in text for part, text in zip(says, found, strict=True))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (
            {"wrong": 2, "example": "packet with 7 bytes of data"},
            "2 of 40 packets of tcp4 arrived with wrong checksums",
        ),
        ({"wrong_headers": 1}, "with wrong checksums of IP at peer.p0 (0000:01:00.0); expected none"),
        ({"cut": 1}, "arrived cut at peer.p0"),
        ({"oversize": 3, "largest": 2000}, "larger than allowed, of up to 2000 bytes, at peer.p0"),
    ],
)
def test_packets_on_the_wire_are_judged(changes: dict[str, object], says: str) -> None:
    (found,) = faults(VIEW.model_copy(update=changes))
    assert found.culprit is Culprit.CARD and found.text.startswith("dut.p0 to peer.p0: ") and says in found.text
    assert faults(VIEW) == []


@pytest.mark.parametrize(
    ("view", "says"),
    [
        (
            VIEW.model_copy(update={"unfinished": 1}),
            "packets of tcp4 came without checksums: 1 of 40; expected all as",
        ),
        (VIEW.model_copy(update={"short": 0}), "0 short and 2 odd packets of tcp4 arrived; expected some of each"),
        (VIEW.model_copy(update={"odd": 0}), "1 short and 0 odd packets of tcp4 arrived; expected some of each"),
        (None, "packets of tcp4 were captured: none; expected all as they are on the wire"),
    ],
)
def test_what_the_peer_shows_otherwise_decides_nothing(view: WireView | None, says: str) -> None:
    (found,) = faults(view)
    assert found.culprit is Culprit.TOOL and says in found.text


def faults(view: WireView | None) -> list[FrameFinding]:
    dut, peer = (Port(role, "p0", "0000:01:00.0", None, None) for role in Role)
    return ground.faults(dut, peer, "tcp4", view, [])


def test_a_capture_that_saw_nothing_decides_nothing() -> None:
    empty: Any = SimpleNamespace(views={})
    with pytest.raises(Undecided, match="dut: the capture saw no packet of tcp4 out"):
        ground.Captured(SimpleNamespace(), {Role.DUT: empty}, {}).view(Role.DUT, "out", "tcp4")  # type: ignore[arg-type]
    assert set(proofs.PROOFS) < set(OffloadName)


def test_connections_leave_room_for_the_datagrams_beside_them() -> None:
    """A port of the bench has at least 50 ms at 25 Mbit/s: what overflows them, the card did not lose."""
    rate_bit_s, buffer_s, headers = 25e6, 0.05, 1.08
    record = sum(ground.RECORD_SIZES) / len(ground.RECORD_SIZES)
    datagrams = 2 * ground.DATAGRAMS_PER_S * max(ground.DATAGRAM_SIZES)
    assert 8 * headers * (2 * ground.RECORDS_PER_S * record + datagrams) < rate_bit_s
    assert 8 * headers * 2 * max(ground.RECORD_SIZES) < rate_bit_s * buffer_s
