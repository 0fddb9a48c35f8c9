"""VLANs on fake servers: what is answered and counted though it should not be, and what is not though it should."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench
from fake_parts import PING, changes
from stacking import Stacking, install

from Bonding import Bonding
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable
from niclab.hosts.bonds.bond_settings import BondMode, VlanTag
from niclab.links.upper.upper_devices import remove, vlans_without_addresses
from niclab.links.upper.vlans import HostVlans
from niclab.run.run import Run
from Vlans import Vlans


@pytest.fixture
def stacking(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Stacking:
    assert taken
    return install(monkeypatch, bench)


def test_a_vlan_takes_the_ports_address_and_gives_it_back(bench: FakeBench, taken: Run, stacking: Stacking) -> None:
    entries = changes(taken.journal)
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    assert bench.nic("dut.p0").addresses == [] and bench.nic("dut.p1").addresses == ["198.18.11.1/24"]
    assert stacking.pending_at_creation[0][:3] == [
        "[ ! -e /sys/class/net/enp1s0.3 ] || ip link delete dev enp1s0.3",
        "ip link set dev enp1s0 nomaster && ip link set dev enp1s0 up && ip address replace 198.18.10.1/24 dev enp1s0",
        "modprobe -r 8021q",
    ]
    vlans.vlans_should_carry_traffic()
    vlans.vlans_should_carry_packets_of_full_size()
    vlans.remove_vlans()
    assert bench.nic("dut.p0").addresses == ["198.18.10.1/24"]
    assert stacking.uppers == {"dut": {}, "peer": {}} and changes(taken.journal) == entries


def test_a_module_that_is_part_of_the_kernel_is_not_unloaded(taken: Run, stacking: Stacking) -> None:
    assert taken
    stacking.built_in.add("8021q")
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    assert "modprobe -r 8021q" not in stacking.pending_at_creation[0]
    vlans.remove_vlans()


def test_what_the_system_switches_off_below_a_vlan_is_on_again(
    bench: FakeBench, taken: Run, stacking: Stacking
) -> None:
    nic, entries = bench.nic("peer.p0"), taken.journal.pending()
    nic.lro = True
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    assert not nic.lro
    vlans.remove_vlans()
    assert nic.lro and taken.journal.pending() == entries and not stacking.uppers["peer"]
    unaddressed = vlans_without_addresses(taken, taken.bench.port("peer.p0"), [3, 4])
    assert not nic.lro
    remove(taken, unaddressed)
    assert nic.lro and taken.journal.pending() == entries


def test_vlans_that_differ_are_isolated(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    vlans.vlans_should_be_isolated()
    with pytest.raises(CardFailure, match=r"dut to peer over enp1s0\.3: 0 of 10 pings answered"):
        vlans.vlans_should_carry_traffic()
    stacking.leaks = True
    with pytest.raises(CardFailure, match=r"^dut: enp1s0\.3 has received 10 packets of the other end; expected none"):
        vlans.vlans_should_be_isolated()


def test_a_frame_of_another_vlan_that_lost_its_tag_is_told(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    stacking.leaked = "12:00:00.1 ARP, Request who-has 198.18.10.1 tell 198.18.10.2, length 46"
    with pytest.raises(CardFailure) as caught:
        vlans.vlans_should_be_isolated()
    first, second = str(caught.value).splitlines()
    assert first.startswith(
        "dut.p0 (0000:01:00.0) has received a frame of another VLAN without its tag: 12:00:00.1 ARP"
    )
    assert second.startswith("peer.p0 ")


def test_a_watch_that_does_not_work_is_a_bench_fault(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    stacking.watch_ends = 127
    with pytest.raises(BenchFault, match=r"^peer: tcpdump on enp1s0: exit status 127"):
        vlans.vlans_should_be_isolated()


def test_a_vlan_that_the_switch_should_keep_out_is_not_the_cards(stacking: Stacking) -> None:
    assert stacking
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    with pytest.raises(BenchFault, match="10 of 10 pings answered; expected none, the switch has no such VLAN"):
        vlans.vlans_should_be_isolated()


def test_isolation_that_was_not_tried_is_a_bench_fault(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    stacking.mute = True
    with pytest.raises(BenchFault, match=r"enp1s0\.3 has sent nothing, so isolation is not tried"):
        vlans.vlans_should_be_isolated()


def test_a_leak_is_proven_though_a_vlan_has_sent_nothing(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    stacking.mute = True
    stacking.leaked = "12:00:00.1 ARP, Request who-has 198.18.10.1 tell 198.18.10.2, length 46"
    with pytest.raises(CardFailure, match=r"^dut\.p0 .* without its tag(?s:.*)undecided: .* has sent nothing, so isol"):
        vlans.vlans_should_be_isolated()


def test_a_leak_is_proven_though_a_watch_does_not_work(stacking: Stacking, monkeypatch: pytest.MonkeyPatch) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 4)
    stacking.watch_ends = 127
    monkeypatch.setattr(HostVlans, "_pings", lambda _: [("dut to peer", PING)])
    with pytest.raises(CardFailure, match=r"^dut to peer: 10 of 10 pings answered(?s:.*)undecided: peer: tcpdump on"):
        vlans.vlans_should_be_isolated()


def test_a_packet_of_full_size_that_does_not_fit_is_red(stacking: Stacking) -> None:
    vlans = Vlans()
    vlans.put_vlans_on_the_first_path(3, 3)
    stacking.drops = True
    with pytest.raises(CardFailure, match=r"dut: 0 of 10 packets of 1500 bytes answered over enp1s0\.3; expected all"):
        vlans.vlans_should_carry_packets_of_full_size()


def test_a_vlan_on_bonds_has_the_second_paths_address(bench: FakeBench, stacking: Stacking) -> None:
    bonding = Bonding()
    bonding.bond_both_hosts(BondMode.ACTIVE_BACKUP, 100)
    vlans = Vlans()
    vlans.put_vlans_on_the_bonds(3)
    assert stacking.uppers["peer"]["niclab0.3"].addresses == ["198.18.11.2/24"]
    vlans.vlans_should_carry_traffic()
    with pytest.raises(BenchFault, match="there are VLANs already"):
        vlans.put_vlans_on_the_bonds(3)
    vlans.remove_vlans()
    bonding.remove_bonds_from_both_hosts()
    assert bench.nic("peer.p1").addresses == ["198.18.11.2/24"]
    with pytest.raises(BenchFault, match="there is no VLAN"):
        vlans.vlans_should_carry_traffic()


class TestVlansInVlans:
    def test_the_inner_one_has_the_address_and_both_are_taken_away(
        self, bench: FakeBench, taken: Run, stacking: Stacking
    ) -> None:
        entries = changes(taken.journal)
        vlans = Vlans()
        vlans.put_vlans_in_vlans_on_the_first_path(5, 3)
        outer, inner = stacking.uppers["dut"]["enp1s0.5"], stacking.uppers["dut"]["niclab.5.3"]
        assert (outer.below, outer.vlan_id, outer.tag, outer.addresses) == (["enp1s0"], 5, VlanTag.SERVICE, [])
        assert (inner.below, inner.vlan_id, inner.tag) == (["enp1s0.5"], 3, VlanTag.CUSTOMER)
        assert inner.addresses == ["198.18.10.1/24"] and bench.nic("dut.p0").addresses == []
        assert stacking.pending_at_creation[1][:2] == [
            "[ ! -e /sys/class/net/niclab.5.3 ] || ip link delete dev niclab.5.3",
            "[ ! -e /sys/class/net/enp1s0.5 ] || ip link delete dev enp1s0.5",
        ]
        vlans.vlans_should_carry_traffic()
        with pytest.raises(BenchFault, match="there are VLANs already"):
            vlans.put_vlans_in_vlans_on_the_first_path(5, 3)
        vlans.remove_vlans()
        assert bench.nic("dut.p0").addresses == ["198.18.10.1/24"]
        assert stacking.uppers == {"dut": {}, "peer": {}} and changes(taken.journal) == entries

    def test_a_system_without_such_tags_is_left_as_it_was(
        self, bench: FakeBench, taken: Run, stacking: Stacking
    ) -> None:
        entries = changes(taken.journal)
        stacking.unknown_tags.add(VlanTag.SERVICE)
        with pytest.raises(NotApplicable, match=r"^dut: no tag 802\.1ad"):
            Vlans().put_vlans_in_vlans_on_the_first_path(5, 3)
        assert bench.nic("dut.p0").addresses == ["198.18.10.1/24"]
        assert stacking.uppers == {"dut": {}, "peer": {}} and changes(taken.journal) == entries
