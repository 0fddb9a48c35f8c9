"""Link aggregation with the switch: whole when both sides say so, and every way in which it is not is reported."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_switch import PORTS, SYSTEM, FakeSwitch
from stacking import BOND, MEMBER

from Aggregation import Aggregation
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.hosts.bonds.bond_records import Aggregator, Bond
from niclab.hosts.bonds.bond_settings import LacpRate
from niclab.links import patch_panel
from niclab.links.upper import lacp
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run

WHOLE = b"\xfc"
"""Active, short timeout, aggregatable, in sync, collecting, distributing (IEEE 802.1AX, 6.4.2.3)."""
OF = {"dut": ("Gi1/0/3", "Gi1/0/1"), "peer": ("Gi1/0/4", "Gi1/0/2")}
ADDRESS = {"dut": bytes.fromhex("0200000000d0"), "peer": bytes.fromhex("0200000000f0")}


def coloned(octets: bytes) -> str:
    return octets.hex(":")


class Stacks:
    """The bonds as the servers see them; tests bend them."""

    def __init__(self) -> None:
        partner = Aggregator(1, 2, 5, coloned(SYSTEM))
        members = tuple(replace(MEMBER, name=name, aggregator_id=1) for name in ("enp1s0", "enp2s0"))
        self.bonds = {role: replace(BOND, aggregator=partner, slaves=members, slaves_up=2) for role in OF}
        self.carrier_lost = True

    def of(self, taken: Run, role: Role) -> SimpleNamespace:
        name = role.value
        host = SimpleNamespace(
            bonds=SimpleNamespace(bond=lambda _: self.bonds[name]),
            links=SimpleNamespace(
                interface=lambda _: SimpleNamespace(mac=coloned(ADDRESS[name])),
                await_carrier=lambda *_, **__: self.carrier_lost,
            ),
        )
        below = {taken.bench.port(f"{name}.p{n}"): None for n in (0, 1)}
        return SimpleNamespace(name="niclab0", server=SimpleNamespace(name=name, host=host, role=role), below=below)


@pytest.fixture
def stacks(patched: Run, switch: FakeSwitch, monkeypatch: pytest.MonkeyPatch) -> Stacks:
    """Two whole aggregations."""
    made = Stacks()
    for number, (role, ports) in enumerate(OF.items()):
        for port in ports:
            column(switch, port, "AttachedAggID", 900 + number)
            column(switch, port, "PartnerOperSystemID", ADDRESS[role])
            for side in ("Actor", "Partner"):
                column(switch, port, f"{side}OperState", WHOLE)
    patch_panel.connect(patched)
    both = [made.of(patched, role) for role in Role]
    bonds = SimpleNamespace(both=both, stack=lambda role: both[list(Role).index(role)])
    monkeypatch.setitem(patched._parts, Bonds, bonds)
    monkeypatch.setattr(lacp, "AGGREGATED_WITHIN_S", 0.05)
    monkeypatch.setattr(lacp, "LOOK_EVERY_S", 0.01)
    return made


def column(switch: FakeSwitch, port: str, name: str, value: bytes | int) -> None:
    switch.mib.put(f"dot3adAggPort{name}", [PORTS[port]], value)


@pytest.mark.usefixtures("stacks")
def test_whole_aggregations_are_green() -> None:
    Aggregation().every_member_should_be_aggregated()


@pytest.mark.usefixtures("stacks")
@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        (
            "PartnerOperSystemID",
            ADDRESS["peer"],
            r"^sw1: Gi1/0/3 \(dut.p0\) has partner 02:00:00:00:00:f0; expected",
        ),
        ("PartnerOperState", b"\xfe", r"^sw1: Gi1/0/3 \(dut.p0\): the bond is .*defaulted=True"),
        ("PartnerOperState", b"\xe0", r"^sw1: Gi1/0/3 \(dut.p0\): the bond is .*in_sync=False"),
        ("PartnerOperKey", 77, None),
    ],
    ids=["partner", "defaulted", "bond not in sync", "keys"],
)
def test_a_bond_that_the_switch_does_not_hear_right_is_red(
    switch: FakeSwitch, name: str, value: bytes | int, told: str | None
) -> None:
    column(switch, "Gi1/0/3", name, value)
    if told is None:  # two keys: the switch keeps the links apart, as it must
        column(switch, "Gi1/0/3", "AttachedAggID", 77)
        told = r"^sw1: the ports of dut are in aggregations"
    with pytest.raises(CardFailure, match=told):
        Aggregation().every_member_should_be_aggregated()


@pytest.mark.usefixtures("stacks")
@pytest.mark.parametrize(
    ("name", "value", "cause", "told"),
    [
        (
            "AttachedAggID",
            0,
            "keeps the links of one bond apart",
            r"ports of dut are in aggregations \['900', 'None'",
        ),
        ("AttachedAggID", 77, "keeps the links of one bond apart", "the ports of dut are in aggregations"),
        (
            "ActorSystemID",
            b"\2other",
            "calls itself 00:50:56",
            "dut: the bond's partner is 00:50:56:00:00:01",
        ),
        (
            "ActorOperState",
            b"\xf8",
            "Gi1/0/3 does not join",
            r"Gi1/0/3 \(dut.p0\): the switch is .*distributing=.*",
        ),
        (
            "ActorOperState",
            b"\xc0",
            "LACP is off at Gi1/0/3",
            r"Gi1/0/3 \(dut.p0\): the switch is .*aggreg",
        ),
    ],
    ids=["none", "another", "system", "not distributing", "off"],
)
def test_a_switch_that_keeps_the_bond_from_it_is_a_bench_fault(
    switch: FakeSwitch, name: str, value: bytes | int, cause: str, told: str
) -> None:
    column(switch, "Gi1/0/3", name, value)
    with pytest.raises(BenchFault, match=rf"^sw1: {cause}(?s:.*){told}"):
        Aggregation().every_member_should_be_aggregated()


def spoiled(bond: Bond, what: str) -> Bond:
    if what == "no aggregator":
        return replace(bond, aggregator=None)
    first, second = bond.slaves
    return replace(bond, slaves=(first, replace(second, aggregator_id=2)))


@pytest.mark.parametrize(
    ("what", "told"),
    [
        ("no aggregator", "peer: the bond has no active aggregator; expected one with the switch"),
        ("apart", "peer: enp2s0 is in aggregator 2; expected 1, the active one"),
    ],
)
def test_what_the_bond_says_otherwise_is_red(stacks: Stacks, what: str, told: str) -> None:
    """The words of the dut's bond are the card's failure; the peer is the known-good end."""
    stacks.bonds["peer"] = spoiled(stacks.bonds["peer"], what)
    with pytest.raises(BenchFault, match=f"^{told}"):
        Aggregation().every_member_should_be_aggregated()
    stacks.bonds["dut"] = spoiled(stacks.bonds["dut"], what)
    with pytest.raises(CardFailure, match=f"^{told.replace('peer', 'dut')}(?s:.*)\n{told}"):
        Aggregation().every_member_should_be_aggregated()


@pytest.mark.usefixtures("stacks")
def test_the_rate_that_the_switch_is_asked_for(switch: FakeSwitch) -> None:
    for ports in OF.values():
        for port in ports:
            column(switch, port, "PartnerOperState", WHOLE)
    keywords = Aggregation()
    keywords.switch_should_be_asked_for_lacpdus(LacpRate.FAST)
    with pytest.raises(CardFailure, match=r"^dut.p0 \(0000:01:00.0\) asks for LACPDUs at the rate fast; expected slow"):
        keywords.switch_should_be_asked_for_lacpdus(LacpRate.SLOW)


@pytest.mark.usefixtures("stacks")
def test_a_member_that_asks_at_the_wrong_rate_is_red_though_the_switch_is_silent_about_another(
    switch: FakeSwitch,
) -> None:
    switch.mib.drop("dot3adAggPortPartnerOperState", PORTS["Gi1/0/1"])
    with pytest.raises(CardFailure, match=r"^dut.p0 \(0000:01:00.0\) asks for .* expected slow\nundecided: sw1"):
        Aggregation().switch_should_be_asked_for_lacpdus(LacpRate.SLOW)


class TestOverCables:
    @pytest.fixture
    def apart(self, stacks: Stacks, patched: Run) -> Stacks:
        """Two bonds that are each other's partner."""
        patch_panel.disconnect(patched)
        for role, other in (("dut", "peer"), ("peer", "dut")):
            address, bond = coloned(ADDRESS[other]), stacks.bonds[role]
            members = tuple(replace(member, partner_mac=address) for member in bond.slaves)
            stacks.bonds[role] = replace(bond, slaves=members, aggregator=Aggregator(1, 2, 5, address))
        return stacks

    @pytest.mark.usefixtures("apart")
    def test_each_others_partner_is_green(self) -> None:
        Aggregation().every_member_should_be_aggregated()

    def test_a_member_that_hears_nobody_is_red(self, apart: Stacks) -> None:
        first, second = apart.bonds["dut"].slaves
        deaf = (first, replace(second, partner_mac="00:00:00:00:00:00"))
        apart.bonds["dut"] = replace(apart.bonds["dut"], slaves=deaf)
        wanted = r"^dut: enp2s0 hears LACPDUs of 00:00:00:00:00:00; expected 02:00:00:00:00:f0, the other bond"
        with pytest.raises(CardFailure, match=wanted):
            Aggregation().every_member_should_be_aggregated()

    @pytest.mark.parametrize(("side", "name"), [("actor_state", "the bond"), ("partner_state", "the other bond")])
    def test_a_member_that_does_not_distribute_yet_is_red(self, apart: Stacks, side: str, name: str) -> None:
        """Its aggregation knows it again as soon as its link is back; frames are carried only after both agree."""
        first, second = apart.bonds["dut"].slaves
        waiting, carrying = dict[str, Any]({side: 0x1F}), dict[str, Any]({side: 0x3F})
        apart.bonds["dut"] = replace(apart.bonds["dut"], slaves=(first, replace(second, **waiting)))
        wanted = rf"^dut: enp2s0: {name} has LACP state 0x1f; expected in sync, collecting and distributing"
        with pytest.raises(CardFailure, match=wanted):
            Aggregation().every_member_should_be_aggregated()
        apart.bonds["dut"] = replace(apart.bonds["dut"], slaves=(first, replace(second, **carrying)))
        Aggregation().every_member_should_be_aggregated()

    def test_a_member_that_is_left_out_of_the_peers_bond_is_the_benchs(self, apart: Stacks) -> None:
        apart.bonds["peer"] = replace(apart.bonds["peer"], aggregator=Aggregator(1, 1, 5, coloned(ADDRESS["dut"])))
        with pytest.raises(BenchFault, match=r"^peer: 1 members are aggregated; expected all 2"):
            Aggregation().every_member_should_be_aggregated()

    def test_a_bond_without_aggregator_is_red(self, apart: Stacks) -> None:
        apart.bonds["dut"] = replace(apart.bonds["dut"], aggregator=None)
        with pytest.raises(CardFailure, match=r"^dut: the bond has no active aggregator; expected one with the other"):
            Aggregation().every_member_should_be_aggregated()


class TestMinLinks:
    def test_a_bond_without_carrier_and_with_a_link_is_green(self, stacks: Stacks) -> None:
        stacks.bonds["dut"] = replace(stacks.bonds["dut"], slaves_up=1)
        Aggregation().bond_with_too_few_links_should_have_no_carrier(Role.DUT)

    def test_a_bond_that_keeps_its_carrier_is_red(self, stacks: Stacks) -> None:
        stacks.carrier_lost = False
        with pytest.raises(
            CardFailure, match=r"^dut: niclab0 has still carrier with 2 links; expected no carrier, and one"
        ):
            Aggregation().bond_with_too_few_links_should_have_no_carrier(Role.DUT)

    def test_a_bond_without_any_link_proves_nothing(self, stacks: Stacks) -> None:
        stacks.bonds["dut"] = replace(stacks.bonds["dut"], slaves_up=0)
        with pytest.raises(CardFailure, match=r"^dut: niclab0 has no carrier with 0 links"):
            Aggregation().bond_with_too_few_links_should_have_no_carrier(Role.DUT)

    def test_the_peers_bond_is_not_the_cards(self, stacks: Stacks) -> None:
        stacks.carrier_lost = False
        with pytest.raises(BenchFault, match=r"^peer: niclab0 has still carrier with 2 links"):
            Aggregation().bond_with_too_few_links_should_have_no_carrier(Role.PEER)
