"""Bonds on fake servers: links lost and restored, the journal written first, the ports left as they were."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_switch import FakeSwitch
from stacking import Stacking, install

from Bonding import Bonding
from LinkFailures import LinkFailures
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.bonds.bond_settings import BondMode, BondSettings, FailOverMac, HashPolicy, PrimaryReselect
from niclab.links import patch_panel
from niclab.links.failure import Cause
from niclab.links.link_loss import MemberLink
from niclab.links.upper import bonds as bonds_module
from niclab.links.upper.bonds import Bonds
from niclab.run.run import Run


class Keywords(Bonding, LinkFailures):
    """The keywords of both libraries; the bonds are the run's."""


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    bench.edit(bench.sheet, ("carrier_return_within_ms: 5000", "carrier_return_within_ms: 50"))
    taken.card = bench.load()[1]
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    return install(monkeypatch, bench)


@pytest.fixture
def bonding(stacking: Stacking) -> Keywords:
    made = Keywords()
    made.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    assert stacking.uppers["dut"] and stacking.uppers["peer"]
    return made


def ports(bench: FakeBench) -> list[tuple[bool, list[str]]]:
    return [(nic.admin_up, [*nic.addresses]) for host in bench.hosts.values() for nic in host.nics]


def test_bonds_are_undone_and_the_ports_are_as_before(bench: FakeBench, taken: Run, stacking: Stacking) -> None:
    before, entries = ports(bench), taken.journal.pending()
    bonding = Keywords()
    bonding.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    assert stacking.uppers["dut"]["niclab0"].addresses == ["198.18.10.1/24"]
    assert stacking.uppers["peer"]["niclab0"].addresses == ["198.18.10.2/24"]
    bonding.remove_bonds_from_both_hosts()
    assert stacking.uppers == {"dut": {}, "peer": {}}
    assert ports(bench) == before and taken.journal.pending() == entries
    bonding.remove_bonds_from_both_hosts()


def test_what_the_system_switches_off_at_members_is_on_again(bench: FakeBench, taken: Run, stacking: Stacking) -> None:
    nic, entries = bench.nic("peer.p1"), taken.journal.pending()
    nic.lro = True
    bonding = Keywords()
    bonding.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    assert not nic.lro
    bonding.remove_bonds_from_both_hosts()
    assert nic.lro and taken.journal.pending() == entries and not stacking.uppers["peer"]
    assert not bench.nic("peer.p0").lro


def test_every_undo_is_in_the_journal_before_the_bond_is_made(stacking: Stacking, bonding: Keywords) -> None:
    assert bonding
    assert stacking.pending_at_creation[0][:4] == [
        "[ ! -e /sys/class/net/niclab0 ] || ip link delete dev niclab0",
        "ip link set dev enp2s0 nomaster && ip link set dev enp2s0 up && ip address replace 198.18.11.1/24 dev enp2s0",
        "ip link set dev enp1s0 nomaster && ip link set dev enp1s0 up && ip address replace 198.18.10.1/24 dev enp1s0",
        "modprobe -r bonding",
    ]


def test_a_port_that_is_not_as_before_is_red(stacking: Stacking, bonding: Keywords) -> None:
    stacking.forgets = True
    with pytest.raises(CardFailure) as caught:
        bonding.remove_bonds_from_both_hosts()
    assert "dut.p0 (0000:01:00.0): enp1s0 has addresses [] after niclab0, it had ['198.18.10.1/24']" in str(
        caught.value
    )


def test_a_bond_that_does_not_read_back_is_taken_away_everywhere(
    bench: FakeBench, taken: Run, stacking: Stacking
) -> None:
    before, entries, stacking.refuses = ports(bench), taken.journal.pending(), True
    with pytest.raises(BenchFault, match="miimon reads 0"):
        Keywords().bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    assert stacking.uppers == {"dut": {}, "peer": {}}
    assert ports(bench) == before and taken.journal.pending() == entries


def test_the_other_link_is_used_when_the_active_one_is_lost(bench: FakeBench, bonding: Keywords) -> None:
    bonding.active_link_should_be_the_first()
    bonding.lose_the_link(MemberLink.ACTIVE)
    assert bench.pulled() == {"a"}
    bonding.active_link_should_be_another()
    bonding.active_link_should_be_the_second()
    bonding.restore_every_link()
    assert bench.pulled() == set()
    bonding.every_member_should_be_up()
    bonding.bonds_should_carry_traffic()


def test_a_bond_that_stays_on_the_lost_link_is_red(stacking: Stacking, bonding: Keywords) -> None:
    bonding.active_link_should_be_the_first()
    stacking.stays = True
    bonding.lose_the_link(MemberLink.ACTIVE)
    with pytest.raises(CardFailure, match=r"dut uses enp1s0; expected enp2s0 that has its link; .* allows 50 ms"):
        bonding.active_link_should_be_another()


def test_losing_the_backup_leaves_the_active_link(bench: FakeBench, bonding: Keywords) -> None:
    bonding.active_link_should_be_the_first()
    bonding.lose_the_link(MemberLink.BACKUP)
    assert bench.pulled() == {"b"}
    bonding.active_link_should_be_the_first()


def test_a_primary_is_returned_to(stacking: Stacking) -> None:
    bonding = Keywords()
    bonding.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100, PrimaryReselect.ALWAYS)
    settings = stacking.uppers["peer"]["niclab0"].settings
    assert settings and (settings.primary, settings.primary_reselect) == ("enp1s0", PrimaryReselect.ALWAYS)
    bonding.flap_the_active_link(2)
    bonding.active_link_should_be_the_first()


def test_no_link_is_no_carrier(stacking: Stacking, bonding: Keywords) -> None:
    bonding.lose_every_link()
    bonding.bonds_should_have_no_carrier()
    with pytest.raises(CardFailure, match="dut: niclab0 uses no link"):
        bonding.lose_the_link(MemberLink.ACTIVE)
    stacking.clings = True
    with pytest.raises(CardFailure, match=r"^dut: niclab0 has still carrier with every link lost"):
        bonding.bonds_should_have_no_carrier()


def test_a_member_without_link_is_red(bench: FakeBench, bonding: Keywords) -> None:
    bench.cables.stuck["peer.p1"] = False
    with pytest.raises(BenchFault, match=r"^peer: 1 of 2 links; expected all within 0\.05 s\npath b is down: one-end"):
        bonding.every_member_should_be_up()
    bench.cables.stuck["dut.p1"] = False
    with pytest.raises(CardFailure, match=r"^dut: 1 of 2 links; .*\npath b is down: cable .*\npeer: 1 of 2 links"):
        bonding.every_member_should_be_up()


def test_links_that_the_peer_keeps_down_are_not_the_cards(bench: FakeBench, bonding: Keywords) -> None:
    """The bond of the dut moves as well, and lacks a member: its partner is down, which nobody has asked for."""
    bench.nic("peer.p0").admin_up = False
    wanted = r"expected enp1s0 of path a.*\n(?s:.*)^path a is down: partner-link \(dut\.p0 up"
    with pytest.raises(BenchFault, match=f"(?m){wanted}"):
        bonding.active_link_should_be_the_first(Role.DUT)
    bench.nic("peer.p0").admin_up = True
    bench.nic("dut.p0").admin_up = False
    with pytest.raises(CardFailure, match=r"path a is down: own-link"):
        bonding.active_link_should_be_the_first(Role.DUT)


def test_a_bond_of_the_peer_that_keeps_the_dut_s_light_is_the_cards(bench: FakeBench, bonding: Keywords) -> None:
    bonding.lose_the_link(MemberLink.ACTIVE, Cause.OWN_LINK)
    bench.cables.stuck["peer.p0"] = True
    with pytest.raises(CardFailure, match=r"^peer uses enp1s0; expected enp2s0 that has its link"):
        bonding.active_link_should_be_another()


def test_a_link_that_half_fails_is_whole_again(
    bench: FakeBench, taken: Run, bonding: Keywords, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interface is down, but its server did not say so."""
    links, plain = taken.server(Role.DUT).host.links, bench.nic("dut.p0")

    def cut(iface: str, up: bool) -> None:
        plain.admin_up = up
        raise BenchFault(f"dut: {iface}: connection lost")

    monkeypatch.setattr(links, "set_link", cut)
    with pytest.raises(BenchFault, match="connection lost"):
        bonding.lose_the_link(MemberLink.FIRST, Cause.OWN_LINK)
    assert plain.admin_up
    assert not [entry for entry in taken.journal.pending() if "taken down" in entry.what]


def test_pings_that_are_not_answered_are_red(stacking: Stacking, bonding: Keywords) -> None:
    stacking.mute = True
    with pytest.raises(CardFailure, match="dut to peer over niclab0: 0 of 10 pings answered"):
        bonding.bonds_should_carry_traffic()


def test_what_has_to_come_first(taken: Run, bonding: Keywords) -> None:
    with pytest.raises(BenchFault, match="bonded already"):
        bonding.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    assert taken.part(Bonds).stack(Role.PEER).server.name == "peer"
    bonding.remove_bonds_from_both_hosts()
    for question in (bonding.bonds_should_carry_traffic, taken.part(Bonds).described):
        with pytest.raises(BenchFault, match="'Bond Both Hosts' comes first"):
            question()


def test_cables_that_nobody_can_pull_are_not_applicable(bench: FakeBench, taken: Run, bonding: Keywords) -> None:
    bench.write(commands=False, cables=False)
    taken.bench = bench.load()[0]
    with pytest.raises(NotApplicable, match="no command to pull the cable of path a"):
        bonding.lose_the_link(MemberLink.ACTIVE)


@pytest.fixture
def over_switch(stacking_at_switch: Stacking) -> Keywords:
    """Bonds whose links lead to the switch."""
    assert stacking_at_switch
    made = Keywords()
    made.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    return made


@pytest.fixture
def stacking_at_switch(bench: FakeBench, patched: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    bench.edit(bench.sheet, ("carrier_return_within_ms: 5000", "carrier_return_within_ms: 50"))
    patched.card = bench.load()[1]
    patch_panel.connect(patched)
    monkeypatch.setattr(bonds_module, "LINKS_WITHIN_S", 0.05)
    monkeypatch.setattr(bonds_module, "LOOK_EVERY_S", 0.01)
    return install(monkeypatch, bench)


def active(stacking: Stacking) -> dict[str, str | None]:
    return {role: stacking.seen(role, "niclab0").active_slave for role in ("dut", "peer")}


class TestCauses:
    """Through a switch one end alone loses its link; its bond changes, the other one's stays."""

    @pytest.mark.parametrize(
        ("cause", "port", "moved"),
        [(Cause.SWITCH_PORT, "Gi1/0/3", "dut"), (Cause.PARTNER_SWITCH_PORT, "Gi1/0/4", "peer")],
    )
    def test_a_port_that_is_shut_and_opened(
        self,
        over_switch: Keywords,
        stacking_at_switch: Stacking,
        switch: FakeSwitch,
        cause: Cause,
        port: str,
        moved: str,
    ) -> None:
        over_switch.lose_the_link(MemberLink.ACTIVE, cause)
        assert switch.admin(port) == 2
        over_switch.active_link_should_be_another()
        assert active(stacking_at_switch) == {"dut": "enp1s0", "peer": "enp1s0"} | {moved: "enp2s0"}
        over_switch.restore_every_link()
        assert switch.admin(port) == 1
        over_switch.every_member_should_be_up()

    @pytest.mark.parametrize(("cause", "name"), [(Cause.OWN_LINK, "dut.p0"), (Cause.PARTNER_LINK, "peer.p0")])
    def test_an_interface_that_is_taken_down_and_up(
        self, bench: FakeBench, over_switch: Keywords, cause: Cause, name: str
    ) -> None:
        over_switch.lose_the_link(MemberLink.FIRST, cause)
        assert not bench.nic(name).admin_up
        over_switch.restore_every_link()
        assert bench.nic(name).admin_up

    def test_a_bond_of_the_peer_that_moves_without_cause(self, bench: FakeBench, over_switch: Keywords) -> None:
        over_switch.lose_the_link(MemberLink.ACTIVE, Cause.SWITCH_PORT)
        bench.cables.stuck["peer.p0"] = False
        with pytest.raises(BenchFault, match=r"^peer uses enp2s0; expected enp1s0 that has its link; sheet"):
            over_switch.active_link_should_be_another()

    def test_one_bond_s_link_is_asked_for(self, over_switch: Keywords) -> None:
        over_switch.lose_the_link(MemberLink.ACTIVE, Cause.SWITCH_PORT)
        over_switch.active_link_should_be_the_second(Role.DUT)
        with pytest.raises(BenchFault, match=r"^peer uses enp1s0; expected enp2s0 of path b"):
            over_switch.active_link_should_be_the_second()

    def test_one_bond_without_any_link(self, over_switch: Keywords) -> None:
        over_switch.lose_every_link(Cause.SWITCH_PORT)
        over_switch.bonds_should_have_no_carrier(Role.DUT)
        with pytest.raises(BenchFault, match=r"^peer: niclab0 has still carrier with every link lost"):
            over_switch.bonds_should_have_no_carrier()

    def test_what_was_not_lost_cannot_be_changed(self, over_switch: Keywords) -> None:
        with pytest.raises(BenchFault, match="no link is lost: 'Lose The Active Link' comes first"):
            over_switch.active_link_should_be_another()

    def test_a_path_on_no_switch_is_not_applicable(self, bonding: Keywords) -> None:
        with pytest.raises(NotApplicable, match=r"dut\.p0 is not on a managed switch"):
            bonding.lose_the_link(MemberLink.ACTIVE, Cause.SWITCH_PORT)
        bonding.restore_every_link()

    def test_a_driver_that_is_taken_and_given_back(self, over_switch: Keywords, stacking_at_switch: Stacking) -> None:
        over_switch.lose_the_link(MemberLink.ACTIVE, Cause.DRIVER_UNLOAD)
        assert stacking_at_switch.driverless == {("dut", "0000:01:00.0")}
        over_switch.active_link_should_be_another()
        assert active(stacking_at_switch) == {"dut": "enp2s0", "peer": "enp1s0"}
        with pytest.raises(CardFailure, match=r"^dut: 1 of 2 links; expected all"):
            over_switch.every_member_should_be_up()
        over_switch.restore_every_link()
        assert not stacking_at_switch.driverless
        over_switch.every_member_should_be_up()

    def test_a_driver_of_two_ports_is_not_taken_from_one(
        self, patched: Run, over_switch: Keywords, stacking_at_switch: Stacking, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        both = [replace(port, pci="0000:01:00.0", index=n) for n, port in enumerate(patched.ports(Role.DUT))]
        monkeypatch.setattr(Run, "ports", lambda *_: both)
        with pytest.raises(
            NotApplicable,
            match=r"^dut\.p0 \(0000:01:00\.0\) shares its PCI function with dut\.p1: both lose the driver",
        ):
            over_switch.lose_the_link(MemberLink.ACTIVE, Cause.DRIVER_UNLOAD)
        assert not stacking_at_switch.driverless


class TestOptions:
    """The options of a bond reach the driver of both servers."""

    def test_a_bond_that_asks_by_arp_asks_for_the_other(self, stacking: Stacking) -> None:
        Keywords().bond_both_hosts(BondMode.ACTIVE_BACKUP, arp_interval_ms=200)
        for role, other in (("dut", "198.18.10.2"), ("peer", "198.18.10.1")):
            settings = stacking.uppers[role]["niclab0"].settings
            assert settings == BondSettings(BondMode.ACTIVE_BACKUP, arp_interval_ms=200, arp_ip_target=(other,))

    @pytest.mark.parametrize("looks", [{}, {"miimon_ms": 100, "arp_interval_ms": 200}], ids=["none", "both"])
    def test_links_are_looked_at_in_one_way(self, stacking: Stacking, looks: dict[str, int]) -> None:
        with pytest.raises(BenchFault, match=r"by miimon_ms or by arp_interval_ms; expected one of the two$"):
            Keywords().bond_both_hosts(BondMode.ACTIVE_BACKUP, **looks)
        assert stacking.uppers == {"dut": {}, "peer": {}}

    def test_every_other_option(self, stacking: Stacking) -> None:
        given: dict[str, Any] = {
            "miimon_ms": 100,
            "updelay_ms": 200,
            "downdelay_ms": 300,
            "fail_over_mac": FailOverMac.ACTIVE,
            "num_grat_arp": 3,
            "xmit_hash_policy": HashPolicy.LAYER34,
        }
        Keywords().bond_both_hosts(BondMode.BALANCE_XOR, **given)
        assert stacking.uppers["peer"]["niclab0"].settings == BondSettings(BondMode.BALANCE_XOR, **given)


class TestWhatOthersAsk:
    def test_what_bonds_are_and_use(self, taken: Run, bonding: Keywords) -> None:
        bonds = taken.part(Bonds)
        assert bonds.described() == "active-backup bond"
        assert bonds.active_port(Role.PEER).name == "peer.p0"
        bonding.lose_the_link(MemberLink.ACTIVE)
        assert bonds.active_port(Role.PEER).name == "peer.p1"
