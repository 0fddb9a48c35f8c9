"""The first path through the switch: a shut port seen by one end alone, VLANs kept apart, frames counted alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from bench_fixtures import LEARNED
from fake_bench import FakeBench
from fake_parts import PING, FakeHost
from fake_switch import PORTS, FakeSwitch

from niclab.bench.records import Port
from niclab.core.verdict import BenchFault, CardFailure, Undecided, blame
from niclab.core.wait import Deadline, until
from niclab.hosts.host_records import PingResult
from niclab.links import patch_panel, switched
from niclab.links.switched import Carried, SwitchedPath, count_differences
from niclab.run.run import Run
from niclab.run.watching.standstill import StandstillWatch, Stood
from niclab.switch.switch_records import PortCounters
from SwitchLinks import SwitchLinks
from SwitchVlans import SwitchVlans


@pytest.fixture
def links(patched: Run, monkeypatch: pytest.MonkeyPatch) -> SwitchLinks:
    """The cables lead to the switch."""
    monkeypatch.setattr(switched, "FORGOTTEN_WITHIN_S", 0.2)
    patch_panel.connect(patched)
    return SwitchLinks()


class TestShutPort:
    def test_the_dut_sees_it_and_nobody_else(self, bench: FakeBench, switch: FakeSwitch, links: SwitchLinks) -> None:
        links.shut_the_switch_port()
        assert switch.admin("Gi1/0/3") == 2
        links.dut_should_lose_carrier_in_time()
        links.other_ports_should_have_kept_their_carrier()
        switch.forget(LEARNED["dut.p0"][0])
        links.switch_should_report_the_lost_link()
        links.open_the_switch_port()
        links.dut_should_get_carrier_back_in_time()
        assert bench.nic("dut.p0").admin_up and switch.admin("Gi1/0/3") == 1

    def test_a_carrier_that_stays_is_the_card_s_failure(self, bench: FakeBench, links: SwitchLinks) -> None:
        links.shut_the_switch_port()
        bench.cables.stuck["dut.p0"] = True
        with pytest.raises(CardFailure, match=r"dut.p0 \(0000:01:00.0\) has still carrier after 1000 ms, all that"):
            links.dut_should_lose_carrier_in_time()

    def test_a_switch_that_keeps_the_link_is_a_bench_fault(
        self, bench: FakeBench, switch: FakeSwitch, links: SwitchLinks
    ) -> None:
        switch.follows_admin = False
        links.shut_the_switch_port()
        bench.cables.stuck["dut.p0"] = True
        with pytest.raises(BenchFault, match=r"dut.p0 .* has still carrier .*; sw1: Gi1/0/3 was shut and has a link"):
            links.dut_should_lose_carrier_in_time()

    @pytest.mark.parametrize(("changed", "since"), [(360_000 - 90, r"\d+ ms"), (None, "an unknown time")])
    def test_a_switch_that_shuts_its_port_late_leaves_it_open_who_was_late(
        self, bench: FakeBench, switch: FakeSwitch, links: SwitchLinks, changed: int | None, since: str
    ) -> None:
        links.shut_the_switch_port()
        bench.cables.stuck["dut.p0"] = True
        switch.mib.drop("ifLastChange", PORTS["Gi1/0/3"])
        if changed is not None:
            switch.mib.ticks = False  # the switch's time must not depend on this host's load
            switch.mib.put("ifLastChange", [PORTS["Gi1/0/3"]], changed)
        with pytest.raises(Undecided, match=rf"still carrier .*; sw1: Gi1/0/3 had no link for {since} by then"):
            links.dut_should_lose_carrier_in_time()

    @pytest.mark.parametrize("changed", [0, 360_000 - 3_000])
    def test_a_switch_that_says_no_link_was_lost_since_the_port_is_shut_leaves_it_open(
        self, bench: FakeBench, switch: FakeSwitch, links: SwitchLinks, changed: int
    ) -> None:
        """As one that has 0 there always, or the time when the link came up."""
        links.shut_the_switch_port()
        bench.cables.stuck["dut.p0"] = True
        switch.mib.put("ifLastChange", [PORTS["Gi1/0/3"]], changed)
        with pytest.raises(Undecided, match=r"still carrier .*; sw1: Gi1/0/3 had no link for an unknown time by then"):
            links.dut_should_lose_carrier_in_time()

    def test_a_server_that_stood_still_leaves_it_open_as_well(
        self, bench: FakeBench, links: SwitchLinks, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        links.shut_the_switch_port()
        bench.cables.stuck["dut.p0"] = True
        monkeypatch.setattr(StandstillWatch, "between", lambda *_: (Stood("dut", 700),))
        with pytest.raises(Undecided, match=r"still carrier .*\nmeanwhile dut stood still for 700 ms"):
            links.dut_should_lose_carrier_in_time()

    def test_a_carrier_that_stays_away_is_the_card_s_failure(self, bench: FakeBench, links: SwitchLinks) -> None:
        links.shut_the_switch_port()
        links.open_the_switch_port()
        bench.cables.stuck["dut.p0"] = False
        with pytest.raises(CardFailure, match=r"dut.p0 \(0000:01:00.0\) has no carrier after"):
            links.dut_should_get_carrier_back_in_time()

    @pytest.mark.parametrize("name", ["peer.p0", "dut.p1"])
    def test_another_port_that_has_seen_it_is_named(self, bench: FakeBench, links: SwitchLinks, name: str) -> None:
        links.shut_the_switch_port()
        bench.nic(name).changes += 2
        with pytest.raises(
            BenchFault if name.startswith("peer") else Undecided,  # the switch may have made the dut's
            match=f"^{name} .* counted 2 changes of carrier while the switch's port of dut",
        ):
            links.other_ports_should_have_kept_their_carrier()

    def test_a_switch_that_does_not_forget_is_a_bench_fault(self, links: SwitchLinks) -> None:
        links.shut_the_switch_port()
        with pytest.raises(BenchFault, match=r"^sw1: Gi1/0/3 has no link, and the address .* of dut.p0 is known there"):
            links.switch_should_report_the_lost_link()

    def test_a_switch_that_says_that_it_has_a_link_is_a_bench_fault(
        self, switch: FakeSwitch, links: SwitchLinks
    ) -> None:
        switch.follows_admin = False
        links.shut_the_switch_port()
        with pytest.raises(BenchFault, match=r"port Gi1/0/3 DOWN: not within 0.2 s; its ifOperStatus is UP"):
            links.switch_should_report_the_lost_link()


COUNTED = dict.fromkeys(
    (f"{way}_{what}" for way in ("in", "out") for what in ("unicast", "multicast", "broadcast", "errors", "discards")),
    0,
)
DUT = COUNTED | {"in_unicast": 200, "in_broadcast": 1, "out_unicast": 200}
PEER = COUNTED | {"in_unicast": 200, "in_multicast": 2, "out_unicast": 200, "out_broadcast": 1}


@pytest.mark.parametrize(
    ("sent", "of_dut", "of_peer", "problem", "of_card"),
    [
        ([201, 202], {}, {}, None, False),
        (
            [202, 202],
            {},
            {},
            r"dut.p0 \(0000:01:00.0\) has sent 202 frames, the switch has received 201; expected all",
            True,
        ),
        ([201, 203], {}, {}, r"peer.p0 \(0000:01:00.0\) has sent 203 frames, the switch has received 202", False),
        ([201, 202], {"in_unicast": 0, "in_broadcast": 0}, {"out_unicast": 0}, "the switch has received 0;", False),
        (
            [201, 202],
            {},
            {"out_unicast": 199},
            "received 200 frames of dut.p0 for its partner, and passed on 199",
            False,
        ),
        ([201, 202], {"in_errors": 1}, {}, "the switch's port of dut.p0 counts in_errors 1; expected none", True),
        ([201, 202], {}, {"in_errors": 1}, "the switch's port of peer.p0 counts in_errors 1; expected none", False),
        (
            [201, 202],
            {},
            {"out_discards": 3},
            "the switch's port of peer.p0 counts out_discards 3; expected none",
            False,
        ),
        ([0, 202], {"in_unicast": 0, "in_broadcast": 0}, {"out_unicast": 0}, "has sent 0 frames, the switch has", True),
    ],
)
def test_frames_that_are_not_counted_alike_are_told(
    taken: Run, sent: list[int], of_dut: dict[str, int], of_peer: dict[str, int], problem: str | None, of_card: bool
) -> None:
    carried = [Carried(sent[0], 200), Carried(sent[1], 201)]
    found = count_differences(_ends(taken), carried, [DUT | of_dut, PEER | of_peer])
    assert bool(found) == (problem is not None)
    if problem:
        with pytest.raises(CardFailure if of_card else BenchFault, match=problem):
            blame(found)


def _ends(taken: Run) -> list[Port]:
    return [taken.bench.port(name) for name in ("dut.p0", "peer.p0")]


GROUPS = {"out_multicast": 3, "out_broadcast": 2}


@pytest.mark.parametrize(
    ("received", "of_dut", "of_peer", "problem", "of_card"),
    [
        ([200, 200], {}, {}, None, False),  # the peer's card does not count the broadcast
        ([203, 201], GROUPS, {}, None, False),
        ([205, 201], GROUPS, {}, None, False),
        ([201, 201], {"out_unicast": 201}, {"in_unicast": 201, "in_multicast": 1}, None, False),
        ([206, 201], GROUPS, {}, "the switch has sent 205; expected 200 or more of them", True),
        ([0, 201], {}, {}, r"dut.p0 \(.*\) has received 0 frames, the switch has sent 200; expected 200 or more", True),
        (
            [199, 201],
            GROUPS,
            {},
            "has received 199 frames, the switch has sent 205; expected 200 or more of them",
            True,
        ),
        ([400, 201], {}, {}, "has received 400 frames", True),
        ([200, 199], {}, {}, r"peer.p0 \(.*\) has received 199 frames", False),
        ([200, 201], {"out_unicast": 0}, {}, "received 200 frames of peer.p0 for its partner, and passed on 0", False),
        # flooded frames for others, which the card leaves alone
        ([200, 201], {"out_unicast": 230}, {}, "passed on 230", False),
        ([0, 201], {"out_unicast": 230}, {}, "dut.p0 .* has received 0 frames", True),
    ],
)
def test_frames_that_a_card_receives_are_compared(
    taken: Run, received: list[int], of_dut: dict[str, int], of_peer: dict[str, int], problem: str | None, of_card: bool
) -> None:
    counted = [DUT | of_dut, PEER | of_peer]
    sent = [sum(count for name, count in each.items() if name.startswith("in_")) for each in counted]
    found = count_differences(_ends(taken), [Carried(*each) for each in zip(sent, received, strict=True)], counted)
    assert bool(found) == (problem is not None)
    if problem:
        with pytest.raises(CardFailure if of_card else BenchFault, match=problem):
            blame(found)


@pytest.mark.parametrize(("restless", "looks"), [(0, 1), (2, 3)])
@pytest.mark.parametrize("way", ["sent", "received"])
def test_counting_begins_while_no_port_carries(
    taken: Run, monkeypatch: pytest.MonkeyPatch, restless: int, looks: int, way: str
) -> None:
    """A frame between the look at the ports and the one at the switch would be counted by one of them alone."""
    frames, seen = iter([*(1, 2) * restless, *(9, 9)]), []
    monkeypatch.setattr(switched, "AT_REST_S", 0.001)
    monkeypatch.setattr(SwitchedPath, "_carried", lambda _: [replace(Carried(7, 7), **{way: next(frames)})])
    monkeypatch.setattr(SwitchedPath, "_counted", lambda _: seen.append(len(seen)) or [len(seen)])
    assert taken.part(SwitchedPath)._counted_at_rest() == ([looks], [replace(Carried(7, 7), **{way: 9})])


def test_earlier_frames_that_the_switch_counts_late_are_not_charged(
    patched: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ports have sent two frames before, which their cards have counted and the switch has still to count."""
    monkeypatch.setattr(switched, "COUNTED_WITHIN_S", 0.3)
    monkeypatch.setattr(switched, "AT_REST_S", 0.001)
    late, pinged = Deadline(0.1), list[int]()

    def counted(_: SwitchedPath) -> list[PortCounters]:
        passed = sum(pinged) + (2 if late.expired else 0)
        counts = COUNTED | {"in_unicast": passed, "out_unicast": passed}
        return [
            PortCounters(uptime_ticks=0, discontinuity_ticks=0, in_octets=0, out_octets=0, fcs_errors=None, **counts)
        ] * 2

    def ping(*_: object, **__: object) -> PingResult:
        until(lambda: late.expired, within=30, what="the switch to have counted the frames of before")
        pinged.append(switched.PINGS)
        return replace(PING, sent=switched.PINGS, received=switched.PINGS)

    monkeypatch.setattr(SwitchedPath, "_carried", lambda _: [Carried(2 + sum(pinged), 2 + sum(pinged))] * 2)
    monkeypatch.setattr(SwitchedPath, "_counted", counted)
    monkeypatch.setattr(FakeHost, "ping", ping)
    patched.part(SwitchedPath).require_equal_counts()


@pytest.mark.parametrize(
    ("received", "discards", "verdict", "message"),
    [
        (199, 1, BenchFault, "the switch's port of dut.p0 counts out_discards 1; expected none"),
        (199, 0, CardFailure, r"dut.p0 \(.*\) has received 199 frames, the switch has sent 200"),
        (200, 0, Undecided, r"dut.p0 \(.*\): 199 of 200 pings answered; .* have counted the same frames"),
    ],
)
def test_who_has_lost_a_ping_is_seen_by_the_counters(
    patched: Run, monkeypatch: pytest.MonkeyPatch, received: int, discards: int, verdict: type[Exception], message: str
) -> None:
    monkeypatch.setattr(switched, "COUNTED_WITHIN_S", 0.05)
    monkeypatch.setattr(switched, "AT_REST_S", 0.001)
    pinged = list[int]()

    def counted(_: SwitchedPath) -> list[PortCounters]:
        of_dut = COUNTED | {"in_unicast": 200, "out_unicast": 200 - discards, "out_discards": discards}
        of_peer = COUNTED | {"in_unicast": 200, "out_unicast": 200}
        return [
            PortCounters(
                uptime_ticks=0,
                discontinuity_ticks=0,
                in_octets=0,
                out_octets=0,
                fcs_errors=None,
                **{name: count * len(pinged) for name, count in each.items()},
            )
            for each in (of_dut, of_peer)
        ]

    def carried(_: SwitchedPath) -> list[Carried]:
        return [Carried(200 * len(pinged), received * len(pinged)), Carried(200 * len(pinged), 200 * len(pinged))]

    def ping(*_: object, **__: object) -> PingResult:
        pinged.append(1)
        return replace(PING, sent=200, received=199)

    monkeypatch.setattr(SwitchedPath, "_carried", carried)
    monkeypatch.setattr(SwitchedPath, "_counted", counted)
    monkeypatch.setattr(FakeHost, "ping", ping)
    with pytest.raises(verdict, match=message):
        patched.part(SwitchedPath).require_equal_counts()


def test_ports_that_never_rest_are_a_bench_fault(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = iter(range(1000))
    monkeypatch.setattr(switched, "COUNTED_WITHIN_S", 0.05)
    monkeypatch.setattr(switched, "AT_REST_S", 0.001)
    monkeypatch.setattr(SwitchedPath, "_carried", lambda _: [Carried(7, next(frames))])
    monkeypatch.setattr(SwitchedPath, "_counted", lambda _: [])
    with pytest.raises(BenchFault, match="the ports of the card to carry nothing by themselves: not within"):
        taken.part(SwitchedPath)._counted_at_rest()


Pings = list[tuple[PingResult, str]]


@pytest.fixture
def pinged(switch: FakeSwitch, links: SwitchLinks, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SwitchVlans]:
    """The result of the next pings: how many are answered, what the switch receives and passes on at each end."""
    assert links

    def prepare(answered: int, received: int = 3, passed: int = 0, kind: str = "Broadcast") -> SwitchVlans:
        def pings(_: SwitchedPath) -> Pings:
            for name in ("Gi1/0/3", "Gi1/0/4"):
                for counter, count in ((f"ifHCIn{kind}Pkts", received), (f"ifHCOut{kind}Pkts", passed)):
                    before = switch.mib.value(counter, PORTS[name])
                    assert isinstance(before, int)
                    switch.mib.put(counter, [PORTS[name]], before + count)
            return [(replace(PING, received=answered), f"{end}: {answered} of 10 answered") for end in ("dut", "peer")]

        monkeypatch.setattr(SwitchedPath, "_pings", pings)
        return SwitchVlans()

    return prepare


class TestVlans:
    def test_ends_in_two_vlans_are_isolated(self, pinged: Callable[..., SwitchVlans], switch: FakeSwitch) -> None:
        vlans = pinged(answered=0)
        vlans.put_first_path_in_switch_vlans(101, 102)
        assert (switch.members(101), switch.members(102)) == (({"Gi1/0/3"},) * 2, ({"Gi1/0/4"},) * 2)
        vlans.first_path_should_be_isolated()

    def test_an_answer_is_red(self, pinged: Callable[..., SwitchVlans]) -> None:
        with pytest.raises(BenchFault, match=r"^dut: 1 of 10 answered; expected none, the VLANs differ\npeer: 1 of 10"):
            pinged(answered=1).first_path_should_be_isolated()

    def test_a_frame_that_is_passed_on_is_red_though_nothing_is_answered(
        self, pinged: Callable[..., SwitchVlans]
    ) -> None:
        with pytest.raises(
            BenchFault, match=r"^sw1: Gi1/0/3 \(dut.p0\) has passed on 1 frames of another VLAN; expected none"
        ):
            pinged(answered=0, passed=1).first_path_should_be_isolated()

    def test_isolation_that_is_not_tried_is_no_isolation(self, pinged: Callable[..., SwitchVlans]) -> None:
        with pytest.raises(BenchFault, match="has received nothing, so isolation is not tried"):
            pinged(answered=0, received=0).first_path_should_be_isolated()

    def test_one_vlan_carries(self, pinged: Callable[..., SwitchVlans]) -> None:
        pinged(answered=10).first_path_should_carry_traffic()
        with pytest.raises(CardFailure, match=r"^dut: 9 of 10 answered; expected all"):
            pinged(answered=9, passed=3).first_path_should_carry_traffic()

    def test_frames_that_the_switch_keeps_are_not_lost_by_the_card(
        self, pinged: Callable[..., SwitchVlans], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(switched, "COUNTED_WITHIN_S", 0.05)
        with pytest.raises(
            Undecided, match=r"^dut: 0 of 10 (.|\n)*the switch has received 3 frames of dut\.p0, and pas"
        ):
            pinged(answered=0, passed=2).first_path_should_carry_traffic()

    @pytest.mark.parametrize(("answered", "verdict"), [(7, CardFailure), (8, Undecided)])
    def test_a_frame_that_the_switch_keeps_excuses_one_ping_where_no_address_was_asked_for(
        self,
        pinged: Callable[..., SwitchVlans],
        monkeypatch: pytest.MonkeyPatch,
        answered: int,
        verdict: type[Exception],
    ) -> None:
        """Two frames of each end are kept. Without an answer to ARP all pings may be lost, but nobody asked."""
        monkeypatch.setattr(switched, "COUNTED_WITHIN_S", 0.05)
        vlans = pinged(answered=answered, received=20, passed=18, kind="Ucast")
        with pytest.raises(verdict, match=rf"^dut: {answered} of 10 (.|\n)*has received 20 frames of dut\.p0, and pas"):
            vlans.first_path_should_carry_traffic()

    def test_every_port_becomes_a_trunk(self, pinged: Callable[..., SwitchVlans], switch: FakeSwitch) -> None:
        pinged(answered=0).make_every_switch_port_a_trunk(103)
        assert switch.members(103) == (set(PORTS), set())
        assert switch.members(1) == (set(PORTS), set(PORTS))
