"""Every defect that the controls inject: the tests that it turns red, the verdict, and the control that proves it.

The rows of cards and of throughput are those of the controls themselves. ``make matrix`` runs the controls and prints
the table; it names the tests of the suites that no row turns red, and the faults that no control injects.
"""

from __future__ import annotations

from dataclasses import dataclass

import card_defects
import one_each
import test_bond_controls as bonds
import test_cable_controls as cabled
import test_cut_write_controls as cut_writes
import test_dkms_controls as dkms
import test_failover_controls as failover
import test_freebsd_controls as freebsd
import test_kernel_controls as kernel
import test_negative_controls as negative
import test_offload_controls as offload
import test_peer_controls as peer
import test_rpm_controls as rpm
import test_storage_controls as storage
import test_switch_controls as switch
import test_throughput_controls as throughput
import test_vendor_controls as vendor

from niclab.report.verdicts import Verdict

CARD, BENCH, UNDECIDED = "CardFailure", "BenchFault", "Undecided"
_NONE = "no control injects it"
_CARD = ("flash-fails",)
_OTHER = ("delay_s", "set_not_writable", "agent_slow_s")
UNSEEN = {
    **dict.fromkeys((*_CARD, *_OTHER), _NONE),
    "degrade": "no test lasts long enough; `niclab soak` does, and has a control of its own",
    "silent": "as a defect of the switch; as one of a cable it is declared",
}
"""Faults that no row has -> why."""


@dataclass(frozen=True)
class Declared:
    """``defect``: target and fault as of ``vbench fault set``. ``control``: id of pytest below ``tests/controls``."""

    defect: str
    red: frozenset[str]
    verdict: str
    control: str
    card: str = "intel-82574l"

    @property
    def kind(self) -> str:
        """The target of the fault."""
        return self.defect.partition(":")[0]

    @property
    def fault(self) -> str:
        """The name of the fault."""
        return self.defect.partition(" ")[2].partition("=")[0]


def _others() -> list[Declared]:
    """Cables, BMCs, servers, the switch, and what a kernel says: one test each."""
    cables, bond = "test_negative_controls.py::TestCables::", "test_bond_controls.py::"
    fails, switched = "test_failover_controls.py::", "test_switch_controls.py::"
    bmc, recovery = "test_negative_controls.py::TestBmc::", "test_negative_controls.py::TestRecovery::"
    late = "test_a_balancing_bond_whose_lost_link_is_seen_too_late"
    rows = [
        ("cable:a.dut carrier_stuck", negative.PULLED, CARD, f"{cables}test_carrier_that_stays_is_seen"),
        ("cable:a carrier_delay_s=3", negative.PULLED, CARD, f"{cables}test_carrier_that_goes_late_is_seen"),
        ("cable:b.peer silent", negative.CARRIES, CARD, f"{cables}test_a_silent_cable_is_seen"),
        (
            "cable:a.dut rate_factor=0.5",
            negative.SENDS,
            CARD,
            f"{cables}test_a_slow_direction_is_seen_in_that_direction",
        ),
        ("cable:b.peer loss=0.05", negative.RECEIVES, CARD, f"{cables}test_a_cable_that_loses_frames_is_seen"),
        ("cable:a crossed", switch.COUNTED, BENCH, f"{switched}test_crossed_cables_stop_the_suites_at_the_switch"),
        ("cable:a carrier_delay_s=8", failover.FAILOVER, CARD, f"{fails}test_a_link_that_is_reported_lost_too_late"),
        ("cable:b silent", failover.FAILOVER, CARD, f"{fails}test_a_backup_path_that_carries_nothing"),
        ("cable:a.dut loss=0.01", failover.BACKUP, CARD, f"{fails}test_packets_lost_on_the_link_that_stays"),
        *(
            ("cable:b silent", test, CARD, f"{bond}test_a_backup_path_that_carries_nothing[{test}]")
            for test in (bonds.DRIVER, bonds.BY_ARP, bonds.MOVING)
        ),
        *(
            ("cable:b silent", test, CARD, f"{bond}test_a_link_that_is_sent_over_and_carries_nothing[{test}]")
            for test in (bonds.BALANCE_RR, bonds.BALANCE_XOR)
        ),
        (
            "cable:a carrier_delay_s=5",
            bonds.BALANCE_RR_LOST,
            CARD,
            f"{bond}test_a_link_of_balance_rr_that_is_reported_lost_too_late",
        ),
        (
            "cable:b carrier_delay_s=5",
            bonds.BALANCE_XOR_LOST,
            CARD,
            f"{bond}test_a_link_of_balance_xor_that_is_reported_lost_too_late",
        ),
        *(
            ("cable:a.dut carrier_delay_s=8", test, CARD, f"{bond}{late}[{mode}]")
            for mode, test in bonds.BALANCED.items()
        ),
        ("cable:b.dut rate_factor=0.3", bonds.FULL_RATE, CARD, f"{bond}test_a_link_that_is_left_and_slow"),
        ("cable:a silent", bonds.TWO_TAGS, CARD, f"{bond}test_frames_with_two_tags_that_are_lost"),
        ("bmc:peer drop", negative.SHOWN, BENCH, f"{bmc}test_a_silent_bmc_is_a_bench_fault"),
        (
            "bmc:peer power_stuck",
            "A Power Cycle Is In The Event Log",
            BENCH,
            f"{bmc}test_a_bmc_that_does_not_cut_the_power_is_a_bench_fault",
        ),
        (
            "server:dut frozen",
            card_defects.DRIVEN,
            BENCH,
            f"{recovery}test_a_frozen_server_ends_the_test_in_time_and_the_run_goes_on",
        ),
        (
            "blacklist:dut driver",
            negative.AT_BOOT,
            CARD,
            "test_negative_controls.py::TestDriver::test_a_driver_that_does_not_load_at_boot_is_seen",
        ),
        (
            "tool:dut vmstat",
            negative.EVIDENCE,
            BENCH,
            "test_negative_controls.py::TestEvidence::test_a_tool_that_is_not_installed_is_named",
        ),
        ("kernel:dut oops", kernel.UP, CARD, "test_kernel_controls.py::test_an_oops_of_the_driver_is_the_cards"),
        ("kernel:peer oops", kernel.UP, BENCH, "test_kernel_controls.py::test_an_oops_of_the_peer_is_the_benchs"),
        ("switch: set_ignored", switch.SHUT, BENCH, f"{switched}test_a_set_that_is_accepted_and_not_done"),
        ("switch: set_gen_err", switch.SHUT, BENCH, f"{switched}test_a_set_that_is_refused"),
        ("switch: agent_dead", switch.SHUT, BENCH, f"{switched}test_an_agent_that_is_dead"),
        (
            "switch: fdb_not_flushed",
            switch.SHUT,
            BENCH,
            f"{switched}test_addresses_that_stay_known_at_a_port_without_link",
        ),
        ("switch:port1 vlan_leak", switch.ISOLATED, BENCH, f"{switched}test_a_vlan_that_leaks"),
        ("switch:port1 counters_stuck", switch.COUNTED, BENCH, f"{switched}test_counters_that_stand_still"),
        (
            "switch:port1 err_disabled",
            switch.COUNTED,
            BENCH,
            f"{switched}test_a_port_that_has_shut_itself_stops_the_suites_at_the_switch_alone",
        ),
        *(
            (
                f"switch:port1 {defect}",
                switch.AGGREGATED,
                BENCH,
                f"{switched}test_a_partner_that_is_not_one_or_not_in_sync[{defect}]",
            )
            for defect in ("lacp_other_system", "lacp_not_in_sync")
        ),
        ("cable:a.dut carrier_delay_s=5", switch.FAILOVER, CARD, f"{switched}test_a_link_whose_loss_is_seen_too_late"),
    ]
    return [Declared(defect, frozenset({red}), verdict, control) for defect, red, verdict, control in rows]


def _one_each() -> list[Declared]:
    """Many defects in one run, one for each test; and facts of a sheet that the card does not have."""
    tables = {
        "test_each_defect_turns_its_test_red": one_each.QUICK,
        "test_each_defect_of_a_cable_turns_its_bond_red": one_each.CABLES,
        "test_each_defect_turns_its_test_at_the_switch_red": one_each.SWITCH,
    }
    rows = [
        Declared(each.defect, frozenset({each.red}), each.verdict, f"test_one_each.py::{proof}")
        for proof, table in tables.items()
        for each in table
    ]
    proof = "test_one_each.py::test_each_defect_of_a_card_of_many_queues_turns_its_test_red"
    rows += [
        Declared(each.defect, frozenset({each.red}), each.verdict, f"{proof}[{name}]", one_each.STEERED_CARD)
        for name, table in (("steering", one_each.STEERED), ("functions", one_each.FUNCTIONS))
        for each in table
    ]
    proof = "test_one_each.py::test_a_card_that_is_not_as_on_its_sheet_fails_the_test_of_each_fact"
    return [*rows, *(Declared(wrong.defect, frozenset(wrong.red), CARD, proof) for wrong in one_each.WRONG)]


def declared() -> list[Declared]:
    """Return every row."""
    proof = "test_card_defects.py::test_a_defect_turns_exactly_the_intended_tests_red"
    cards = [
        Declared(" ".join(each.fault), each.red, each.verdict, f"{proof}[{each}]", each.card)
        for each in card_defects.DEFECTS
    ]
    proof = "test_throughput_controls.py::test_the_defect_turns_its_tests_red_and_no_other"
    rates = [
        Declared(f"{each.target} {each.defect}", red, verdict, f"{proof}[{name}]", each.card)
        for name, each in throughput.CONTROLS.items()
        for verdict in (CARD, BENCH, UNDECIDED)
        if (red := frozenset(test for test, found in each.red.items() if found.partition("|")[0] == verdict))
    ]
    proof = "test_cable_controls.py::test_a_defect_of_a_cable"
    links = [
        Declared(
            f"{each.target} {each.fault}",
            frozenset({each.test}),
            each.verdict,
            f"{proof}[{each.target} {each.fault} {each.test}]",
        )
        for each in cabled.CONTROLS
    ]
    slow = "test_cable_controls.py::test_a_vlan_that_is_slow_on_a_bond"
    links.append(Declared("card:dut vlan-slow=1500", frozenset({cabled.VLAN_RATE}), CARD, slow, cabled.EMULEX))
    proof, once = "test_peer_controls.py::test_a_defect_of_the_peer_is_a_fault_of_the_bench", frozenset({peer.ONCE})
    peers = [
        Declared(f"card:peer.p0 {defect}", once, BENCH, f"{proof}[{defect}]", peer.BROADCOM) for defect in peer.OF_PEER
    ]
    return [*cards, *rates, *links, *peers, *_others(), *_one_each(), *_software(), *_storage()]


def _storage() -> list[Declared]:
    """Targets, disks and ways to them, lost frames, and slow ends."""
    proof = "test_storage_controls.py::test_a_trouble_of_the_bench_or_a_loss_is_nothing_of_the_cards"
    slow = "test_storage_controls.py::TestSlow::"
    target, writes = (
        f"{slow}test_a_slow_target_is_not_charged_to_the_card",
        f"{slow}test_slow_writes_are_the_cards_where_its_rate_proves_it",
    )
    kinds = {Verdict.BENCH_FAULT: BENCH, Verdict.UNDECIDED: UNDECIDED}
    nvme = f"{slow.removesuffix('::')}Nvme::test_slow_disks_of_the_target_are_not_charged_to_the_card"
    disks, rows = frozenset({storage.ISCSI}), list[Declared]()
    for name, each in storage.TROUBLES.items():
        defect = f"{each.where} {each.does}" if ":" in each.where else f"storage:{each.where} {name}"
        rows.append(Declared(defect, frozenset({each.test}), kinds[each.verdict], f"{proof}[{name}]", storage.BROADCOM))
    return [
        *rows,
        Declared("storage:peer target takes one command at a time", disks, UNDECIDED, target, storage.BROADCOM),
        Declared("storage:peer slow disks", frozenset({storage.NVME}), UNDECIDED, nvme, storage.BROADCOM),
        Declared("card:dut tx-slow=600", disks, UNDECIDED, writes, storage.BROADCOM),
        Declared("card:dut tx-slow=600", frozenset({storage.SENDS}), CARD, writes, storage.BROADCOM),
    ]


def _software() -> list[Declared]:
    """The vendor's packages and tools, firmware for another driver, and the settings of the boot."""
    proof = "test_vendor_controls.py::test_packages_without_effect_turn_their_tests_red"
    lies = "test_vendor_controls.py::test_a_tool_that_lies_about_its_success_is_seen"
    pair = "test_freebsd_controls.py::test_firmware_that_does_not_go_with_the_driver_is_seen"
    by_itself = "test_dkms_controls.py::test_a_package_that_is_not_built_by_itself_is_seen"
    leaves = "test_dkms_controls.py::test_a_package_that_leaves_its_module_is_seen_and_cleaned"
    no_headers = "test_dkms_controls.py::test_a_server_without_headers_is_the_benchs"
    rpms = "test_rpm_controls.py::test_a_defective_package_is_charged_where_it_belongs"
    loader = "test_freebsd_controls.py::test_an_entry_that_the_loader_does_not_reach_is_seen"
    return [
        Declared("package:dut without effect", frozenset(vendor.ON_DUT), CARD, proof, vendor.CARD),
        Declared("package:peer without effect", frozenset({vendor.ON_PEER}), CARD, proof, vendor.CARD),
        Declared("package:dut not-rebuilt", frozenset({dkms.BUILT}), CARD, by_itself, vendor.CARD),
        Declared("package:dut leaves-module", frozenset({dkms.REMOVED}), CARD, leaves, vendor.CARD),
        Declared("server:dut no-headers", frozenset({dkms.INSTALLED}), BENCH, no_headers, vendor.CARD),
        *(
            Declared(
                f"package:dut {defect} ({system})",
                frozenset({rpm.INSTALLED}),
                verdict,
                f"{rpms}[{system}-{defect}]",
                rpm.CARD,
            )
            for defect, verdict in rpm.DEFECTS.items()
            for system in rpm.SYSTEMS
        ),
        *(
            Declared(
                f"card:dut.p0 flash-cut-bricks={value}",
                frozenset({cut_writes.CUT}),
                CARD,
                f"test_cut_write_controls.py::test_a_card_that_does_not_survive_is_seen[{value}]",
                cut_writes.CARD,
            )
            for value in cut_writes.SAYS
        ),
        Declared(
            "loader:dut entry not reached", frozenset({freebsd.MADE, freebsd.MADE_COLD}), CARD, loader, freebsd.CARD
        ),
        Declared("card:dut.p1 firmware=10.6.144.21", frozenset({freebsd.FITS}), CARD, pair, freebsd.CARD),
        *(
            Declared(
                f"card:dut {defect}=1", frozenset({test}), CARD, f"test_freebsd_controls.py::{proof}", freebsd.CHELSIO
            )
            for defect, test, proof in (
                ("toe-ignored", freebsd.TOE, "test_connections_that_are_not_the_cards_are_seen"),
                ("ddp-off", freebsd.PLACED, "test_data_that_are_not_placed_are_seen"),
            )
        ),
        *(
            Declared(f"disks:dut {defect}", frozenset({offload.MATCHES}), verdict, f"test_offload_controls.py::{proof}")
            for defect, verdict, proof in (
                ("cut-by-engine", CARD, "test_an_engine_that_cuts_transfers_is_the_cards"),
                ("cut-by-setting", BENCH, "test_a_setting_of_the_server_that_cuts_transfers_is_the_benchs"),
                ("iscsi_offload.wanted", CARD, "test_an_engine_that_is_slower_than_on_its_sheet_is_the_cards"),
            )
        ),
        *(
            Declared("tool:dut lies", frozenset({test}), CARD, f"{lies}[{activation}]", vendor.CARD)
            for activation, test in vendor.BY_TOOL.items()
        ),
    ]
