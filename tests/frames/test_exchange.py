"""The frame program in two network namespaces: what is sent arrives, and what cables do to it is found and named."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from namespaces import ADDRESSES, Namespaces
from relay import OURS, Spoiler

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, Undecided
from niclab.frames.blame.frame_findings import FrameDifference, judge
from niclab.frames.frame_agents import FrameAgents, port_addresses
from niclab.frames.frame_arrivals import Flow
from niclab.frames.frame_content import FrameContent, crafted
from niclab.frames.ledger import UNSEEN, Ledger
from niclab.frames.spec import Arrives, FrameKind, FramePlan, FrameSpec, FrameStream, MadeBy, PortModes, Wrong, tag
from niclab.frames.wire import counted_sums
from niclab.frames.wire.packet import Packet

COUNT = 499


def stream(made: Namespaces, sender: str, name: str = "frames", **changes: object) -> FrameStream:
    role, key = sender.split(".")
    receiver = f"{'peer' if role == 'dut' else 'dut'}.{key}"
    ports = [made.ports[sender], made.ports[receiver]]
    source, destination = port_addresses(made.run, ports).values()
    frame = FrameSpec(source, destination, addresses=(ADDRESSES[sender], ADDRESSES[receiver]))
    spec = {name: changes.pop(name) for name in list(changes) if hasattr(frame, name) and name != "addresses"}
    values = {"count": COUNT, "sizes": tuple(range(60, 1515)), "frame": FrameSpec(**vars(frame) | spec)} | changes
    return FrameStream(name, *ports, **values)


def exchange(made: Namespaces, *streams: FrameStream, **modes: PortModes) -> Ledger:
    plan = FramePlan(streams, {made.ports[name.replace("_", ".")]: each for name, each in modes.items()})
    return Ledger(plan, FrameAgents(made.run).exchange(plan), made.run.interface)


def differences(ledger: Ledger) -> dict[FrameDifference, str]:
    return {each.difference: each.text for each in ledger.findings()}


@pytest.mark.parametrize("streams", [2, 3, 5, 10])
def test_each_of_streams_that_take_turns_loses_frames_of_a_cable(streams: int) -> None:
    cable = Spoiler()
    lost = [number % streams for number in range(200) if not cable.carried("drop", OURS + bytes(60))]
    assert len(lost) == 20 and {*lost} == {*range(streams)}


def test_what_is_sent_arrives(clean: Namespaces) -> None:
    ledger = exchange(clean, *(stream(clean, name) for name in ADDRESSES))
    assert differences(ledger) == {}
    assert ledger.lines()[0] == f"dut.p0 to peer.p0: frames: {COUNT} sent, {COUNT} at the port"


def test_gaps_of_an_exchange_that_is_over_are_not_its_result(clean: Namespaces) -> None:
    agents = FrameAgents(clean.run)
    agents.exchange(FramePlan((stream(clean, "dut.p0"),)))
    with pytest.raises(BenchFault, match=r"frame program: .*; expected the gaps of an exchange that goes on"):
        agents.gaps(1)


def test_frames_that_the_system_sends_by_itself_are_subtracted_and_bytes_judged(clean: Namespaces) -> None:
    """Datagrams to a port on which nobody listens, of an odd size: at both ports more than firmware may send unseen."""
    send = "s.sendto(bytes(701), ('198.18.10.2', 9)); time.sleep(0.02)"
    program = f"import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nfor n in range(3000): {send}"
    pid = clean.servers[Role.DUT].run(f'python3 -c "{program}" >/dev/null 2>&1 & echo $!').stdout
    try:
        ledger = exchange(clean, stream(clean, "dut.p0"), stream(clean, "peer.p0"))
    finally:
        clean.servers[Role.DUT].run(f"kill {pid}")
    assert differences(ledger) == {}
    there, here = ledger.legs[0].looks
    assert there.leaving > UNSEEN and there.leaving_bytes >= (UNSEEN + 1) * 701
    assert here.others > UNSEEN and ledger.legs[1].looks == (here, there)


def test_udp_and_tcp_of_the_system_arrive(clean: Namespaces) -> None:
    made = [
        stream(clean, name, over.value, frame=None, made_by=over, addresses=addresses, sizes=(1000, 60, 9000), count=60)
        for over in (MadeBy.UDP, MadeBy.TCP)
        for name, addresses in (
            ("dut.p0", (ADDRESSES["dut.p0"], ADDRESSES["peer.p0"])),
            ("peer.p0", (ADDRESSES["peer.p0"], ADDRESSES["dut.p0"])),
        )
    ]
    ledger = exchange(clean, *made)
    assert differences(ledger) == {}
    assert ledger.lines()[0] == "dut.p0 to peer.p0: udp: 60 sent, 60 at the program"


@pytest.mark.parametrize(
    ("word", "difference", "says"),
    [
        ("drop", FrameDifference.LOST, " of 499 frames arrived at dut.p1 (0000:01:00.0), lost between the ports: "),
        ("twice", FrameDifference.TWICE, " frames arrived twice at dut.p1 (0000:01:00.0); expected each once"),
        ("swap", FrameDifference.REORDERED, "frames arrived behind later ones at dut.p1 (0000:01:00.0) (frame "),
        ("flip", FrameDifference.DAMAGED, " of 499 frames arrived damaged at dut.p1 (0000:01:00.0) (frame "),
        ("cut", FrameDifference.DAMAGED, "frames arrived damaged at dut.p1 (0000:01:00.0) (frame "),
    ],
)
def test_what_a_cable_does_is_named(clean: Namespaces, word: str, difference: FrameDifference, says: str) -> None:
    clean.spoil(word)
    found = differences(exchange(clean, stream(clean, "peer.p0"), stream(clean, "peer.p1")))
    assert set(found) == {difference}
    assert says in found[difference] and found[difference].startswith("peer.p1 to dut.p1: frames: ")


def test_frames_for_another_address_leak_only_into_a_promiscuous_port(clean: Namespaces) -> None:
    alien = {"destination": "02:00:5e:00:53:01", "at_port": Arrives.NONE, "name": "frames for nobody"}
    found = differences(exchange(clean, stream(clean, "peer.p0"), stream(clean, "peer.p0", **alien)))
    assert set(found) == {FrameDifference.LEAKED}  # a veth pair does not filter: seen as the leak that it is
    assert "499 of 499 frames were delivered to dut.p0 (0000:01:00.0); expected none" in found[FrameDifference.LEAKED]
    with pytest.raises(CardFailure):
        judge(exchange(clean, stream(clean, "peer.p0"), stream(clean, "peer.p0", **alien)).findings())


def test_frames_to_a_group_come_to_every_port_of_a_switch(clean: Namespaces) -> None:
    """Both paths go through the switch, which passes them on to the other port as well; its own would be red."""
    to_all = stream(clean, "peer.p0", destination="ff:ff:ff:ff:ff:ff", name="frames to all")
    plan = FramePlan((to_all, stream(clean, "peer.p1")))
    answers = dict(FrameAgents(clean.run).exchange(plan))
    assert Ledger(plan, answers, clean.run.interface).findings() == []
    arrived, look = answers[Role.DUT].arrived, answers[Role.DUT].ports["p1"]
    more = look.model_copy(update={"after": {**look.after, "rx_packets": look.after["rx_packets"] + COUNT}})
    answers[Role.DUT] = replace(
        answers[Role.DUT],
        arrived={**arrived, ("p1", 0): arrived["p0", 0]},
        ports={**answers[Role.DUT].ports, "p1": more},
    )
    found = {each.difference for each in Ledger(plan, answers, clean.run.interface).findings()}
    assert found == {FrameDifference.MISDELIVERED, FrameDifference.MISCOUNTED}
    switched = list(clean.ports.values())
    assert Ledger(plan, answers, clean.run.interface, switched).findings() == []
    plan = replace(plan, streams=(replace(to_all, frame=replace(plan.streams[1].frame)), plan.streams[1]))
    found = {each.difference for each in Ledger(plan, answers, clean.run.interface, switched).findings()}
    assert FrameDifference.MISDELIVERED in found


def test_wrong_checksums_are_refused_and_counted_by_the_system(clean: Namespaces) -> None:
    udp = {"kind": FrameKind.UDP, "sizes": (66, 1514, 301), "at_program": Arrives.ALL, "count": 48}
    bad = {"wrong": Wrong.TRANSPORT, "at_program": Arrives.NONE, "name": "wrong sums"}
    ip = {"wrong": Wrong.IP, "at_program": Arrives.NONE, "name": "wrong headers"}
    plan_of = [stream(clean, "peer.p0", **udp | more) for more in ({}, bad, ip)]
    plan = FramePlan(tuple(plan_of))
    answers = FrameAgents(clean.run).exchange(plan)
    ledger = Ledger(plan, answers, clean.run.interface)
    assert differences(ledger) == {}
    assert ledger.lines()[1] == "peer.p0 to dut.p0: wrong sums: 48 sent, 48 at the port, 0 at the program"
    assert answers[Role.DUT].wrong_sums == {"ip": 48, "tcp": 0, "udp": 48, "udp6": 0}


def test_a_closed_port_resets_good_connections_only(clean: Namespaces) -> None:
    syn = {"kind": FrameKind.TCP, "sizes": (100, 601), "count": 20}
    plan = FramePlan((stream(clean, "peer.p0", **syn), stream(clean, "peer.p0", **syn, wrong=Wrong.TRANSPORT)))
    answers = FrameAgents(clean.run).exchange(plan)
    assert answers[Role.PEER].ports["p0"].resets == 20
    assert answers[Role.DUT].wrong_sums["tcp"] == 20


def test_tags_are_seen(clean: Namespaces) -> None:
    plan = FramePlan((stream(clean, "dut.p0", vlans=(7,)), stream(clean, "dut.p0")))
    answers = FrameAgents(clean.run).exchange(plan)
    assert [answers[Role.PEER].arrived["p0", flow].tags for flow in (0, 1)] == [{"7": COUNT}, {"": COUNT}]
    assert Ledger(plan, answers, clean.run.interface).findings() == []


@pytest.mark.parametrize(("vlans", "tags"), [((), None), ((7,), None), ((), (7,))])
def test_bytes_of_tagged_frames_may_be_counted_without_the_tag(
    clean: Namespaces, vlans: tuple[int, ...], tags: tuple[int, ...] | None
) -> None:
    """Whoever puts the tag in: the program, or the port of a function on the way."""
    plan = FramePlan((replace(stream(clean, "dut.p0", vlans=vlans), tags=tags),))
    answers = dict(FrameAgents(clean.run).exchange(plan))
    look = answers[Role.PEER].ports["p0"]
    less = {**look.after, "rx_bytes": look.after["rx_bytes"] - 4 * COUNT}
    answers[Role.PEER] = replace(answers[Role.PEER], ports={"p0": look.model_copy(update={"after": less})})
    found = [each.difference for each in Ledger(plan, answers, clean.run.interface).findings()]
    assert (FrameDifference.MISCOUNTED in found) == (not vlans and tags is None)


def test_frames_that_are_too_large_are_said_to_be_refused(clean: Namespaces) -> None:
    found = exchange(clean, stream(clean, "peer.p0", sizes=(1600,))).findings()
    assert "0 of 499 frames could be sent (EMSGSIZE" in found[0].text


def test_a_connection_that_nobody_answers_is_a_loss(clean: Namespaces, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer's program listens at another address than the one that the dut asks for."""
    made = stream(clean, "dut.p0", "tcp", frame=None, made_by=MadeBy.TCP, sizes=(1000,), count=6)
    ends = (ADDRESSES["dut.p0"], ADDRESSES["peer.p0"])
    monkeypatch.setattr(FramePlan, "_address", staticmethod(lambda _: ADDRESSES["peer.p1"]))
    lost = exchange(clean, replace(made, addresses=ends)).findings()
    assert "0 of 6 frames could be sent (ECONNREFUSED: [Errno 111] Connection refused); expected all" in lost[0].text
    with pytest.raises(Undecided):  # as long as nobody has tried the peer
        judge(lost)


def test_a_plan_that_cannot_be_opened_is_a_fault_of_the_bench(clean: Namespaces) -> None:
    with pytest.raises(BenchFault, match=r"dut: frame program: OSError: .*"):
        exchange(clean, stream(clean, "dut.p0"), dut_p0=PortModes(groups=("ff" * 9,)))
    assert differences(exchange(clean, stream(clean, "dut.p0"))) == {}  # and the program goes on


def test_a_wrong_checksum_that_nobody_sent_on_purpose_decides_nothing(clean: Namespaces) -> None:
    wrong = stream(clean, "dut.p0", kind=FrameKind.UDP, wrong=Wrong.TRANSPORT, sizes=(100,), count=3)
    answers = FrameAgents(clean.run).exchange(FramePlan((wrong,)))
    right = replace(wrong, frame=replace(wrong.frame, wrong=Wrong.NOTHING))
    (found,) = counted_sums.findings(FramePlan((right,)), answers)
    assert found.text == "peer: 3 wrong checksums of UDP counted; expected none"
    with pytest.raises(Undecided):
        judge([found])
    peer = answers[Role.PEER]
    accepted = {**answers, Role.PEER: replace(peer, wrong_sums={**peer.wrong_sums, "udp": 2})}
    (few,) = counted_sums.findings(FramePlan((wrong,)), accepted)
    assert few.text == "peer: 2 wrong checksums of UDP counted; expected 3, and all 3 that arrived"
    with pytest.raises(BenchFault):
        judge([few])
    lost = {**accepted, Role.PEER: replace(accepted[Role.PEER], arrived={})}
    assert list(counted_sums.findings(FramePlan((wrong,)), lost)) == [], "what is lost on its way is the ledger's"
    assert list(counted_sums.findings(FramePlan((wrong,)), answers)) == []


@pytest.mark.parametrize("extensions", [0, 1, 2])
@pytest.mark.parametrize("kind", [FrameKind.UDP, FrameKind.TCP])
def test_frames_of_ipv6_with_extension_headers_arrive(clean: Namespaces, kind: FrameKind, extensions: int) -> None:
    spec = {"kind": kind, "extensions": extensions, "vlans": (tag(0, 5), tag(7, 1)), "sizes": (333, 1515, 150)}
    ended = ("fd00::1", "fd00::2")
    made = stream(clean, "dut.p0", **spec)
    plan = FramePlan((replace(made, frame=replace(made.frame, addresses=ended)),))
    answers = FrameAgents(clean.run).exchange(plan)
    assert Ledger(plan, answers, clean.run.interface).findings() == []
    assert answers[Role.PEER].arrived["p0", 0].tags == {f"{5 << 13}.{1 << 13 | 7}": COUNT}


@pytest.mark.parametrize("addresses", [("198.18.10.1", "198.18.10.2"), ("fd00::1", "fd00::2")])
@pytest.mark.parametrize("wrong", [Wrong.NOTHING, Wrong.TRANSPORT])
def test_crafted_packets_have_the_checksums_that_they_should(addresses: tuple[str, str], wrong: Wrong) -> None:
    content = FrameContent(7)
    for kind, extensions, connections in product((FrameKind.UDP, FrameKind.TCP), (0, 1, 2), (1, 64)):
        spec = FrameSpec("02:00:5e:00:53:01", "02:00:5e:00:53:02", kind, (5,), wrong, addresses)
        spec = replace(spec, extensions=extensions, connections=connections)
        for number in range(2 * connections):
            packet = Packet(crafted(spec.words(), content, 3, number, 301 + number))
            assert (packet.over, packet.tags) == (f"{kind.value}{6 if ':' in addresses[0] else 4}", [5])
            assert bool(packet.wrong_sum) is (wrong is Wrong.TRANSPORT) and not packet.has_wrong_header
            assert content.judge(packet.payload, 0) == (3, number, "") and not packet.is_cut


def test_order_is_kept_within_each_connection_alone(clean: Namespaces) -> None:
    arrivals = Flow(connections=2)
    for number in (0, 2, 1, 4, 3, 5):
        arrivals.take(number, "", 60, "", valid=False)
    assert arrivals.late == 0
    for number in (10, 8):
        arrivals.take(number, "", 60, "", valid=False)
    assert arrivals.late == 1 and "behind 10" in arrivals.example
    made = stream(clean, "dut.p0", kind=FrameKind.TCP, connections=8, sizes=(100, 1514))
    assert differences(exchange(clean, made)) == {}


def test_padding_carries_no_foreign_bytes() -> None:
    content = FrameContent(7)
    payload = content.make(0, 1, 24)
    assert content.judge(payload + bytes(22), 46) == (0, 1, "")
    assert content.judge(payload + b"\0" * 20 + b"ab", 46) == (0, 1, f"its padding is {'00' * 20}6162, not zeros")
