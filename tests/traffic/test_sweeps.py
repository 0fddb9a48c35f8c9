"""Sweeps over sizes, connections and frames, and datagrams in fragments: good cards are green, each defect is red."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import FakeJob, FakeSsh
from fake_settings import with_sheet
from measured_states import MORE, States

from MessageSizes import MessageSizes
from niclab.bench.records import Role
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.report.evidence.evidence import read_index
from niclab.run import program
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.settings.tcp_offload import Mode
from niclab.stats import measurements
from niclab.traffic.fragments import datagram_program, datagrams
from niclab.traffic.limits import bottleneck, connection_counts, frame_rate, sweep
from niclab.traffic.runs import measuring
from niclab.traffic.runs.asker import Asker
from niclab.traffic.tools.tool import TrafficTest
from niclab.transports.ssh.ssh import Result
from Sweeps import Sweeps

QUICK, FULL = Profile.QUICK, Profile.FULL
STREAM, SENDFILE, UDP = TrafficTest.TCP_STREAM, TrafficTest.TCP_SENDFILE, TrafficTest.UDP_STREAM
SNMP = "Udp: InDatagrams InErrors InCsumErrors\nUdp: 10 0 {}\n"


@pytest.fixture
def states(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> States:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    monkeypatch.setattr(mtu, "LINKS_WITHIN_S", 0.2)
    bench.sheet.write_text(
        bench.sheet.read_text().replace("errata: []\n", "").replace("limits:\n", "limits:\n  frames_per_s: 20000\n")
    )
    with_sheet(bench, taken, more=MORE)
    return States(bench)


def use_limits(bench: FakeBench, taken: Run, line: str) -> None:
    bench.edit(bench.sheet, ("limits:\n", f"limits:\n  {line}\n"))
    taken.card = bench.load()[1]


def length(command: str) -> int:
    return int(re.findall(r"--length (\d+)", command)[0])


def let_time_be_spent_after(monkeypatch: pytest.MonkeyPatch, runs: int) -> None:
    """Every deadline of counted runs expires after so many of them, whatever the time is."""
    left = itertools.count(runs, -1)
    monkeypatch.setattr(Asker, "_may_go_on", lambda _: next(left) > 0)


class TestSweep:
    def test_the_points_are_those_of_the_document(self) -> None:
        assert sum(len(sweep.spots(test, FULL)) for test in (STREAM, SENDFILE, UDP)) == 111
        assert sum(len(sweep.spots(test, QUICK)) for test in (STREAM, SENDFILE, UDP)) == 12
        sizes = [spot.message_bytes for spot in sweep.spots(UDP, FULL) if spot.mtu == 576]
        assert sizes == [65500, 32768, 16384, 8192, 4096, 2048, 1024, 512, 256, 128, 64]
        assert {sweep.order_of(spot, 1).socket_bytes for spot in sweep.spots(UDP, FULL)} == {131072}

    def test_a_good_card_is_green_with_a_curve_an_mtu(self, states: States, taken: Run) -> None:
        states.rate = lambda command: 49.4 if states.mtu() == 9000 else 30.0 if length(command) < 4096 else 47.0
        MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)
        assert {states.mtu()} == {1500} and len(states.commands) == 21
        (table,) = [entry for entry in read_index(taken.evidence_folder) if entry.file.endswith(".csv")]
        rows = (taken.evidence_folder / table.file).read_text().splitlines()
        assert [row.split(",")[:2] for row in rows[1:]] == [
            [f"MTU {size}", str(message)] for size in (576, 1500, 9000) for message in (2048, 65536)
        ]
        found = measurements.read(taken.run_dir)
        assert len({each.identity for each in found}) == 6
        assert {each.key.parameters["mtu"] for each in found} == {"576", "1500", "9000"}

    @pytest.mark.parametrize("test", [STREAM, SENDFILE])
    def test_large_blocks_below_the_limit_are_red(self, states: States, test: TrafficTest) -> None:
        states.rate = lambda _: 41.0 if states.mtu() == 1500 else 49.4
        with pytest.raises(CardFailure) as caught:
            MessageSizes().sweep_should_reach_the_limits(test, QUICK)
        message = str(caught.value)
        assert message.startswith(f"dut.p0 to peer.p0, {test.value} of 65536 bytes at MTU 1500: 41.0")
        assert "tcp_fraction_of_line_rate 0.85 of 50 Mbit/s): missed" in message and "\n" not in message
        assert states.mtu() == 1500

    def test_a_loss_at_jumbo_frames_only_is_seen(self, bench: FakeBench, states: States, taken: Run) -> None:
        use_limits(bench, taken, "jumbo_tcp_fraction_of_line_rate: 0.95")
        states.rate = lambda _: 47.0
        with pytest.raises(
            CardFailure, match=r"65536 bytes at MTU 9000: 4[67]\..*jumbo_tcp_fraction_of_line_rate 0\.95"
        ):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)

    def test_without_anything_to_compare_with_it_is_measured_and_not_applicable(
        self, bench: FakeBench, states: States, taken: Run
    ) -> None:
        bench.edit(bench.sheet, ("max: 9000, default: 1500", "max: 1500, default: 1500"), ("min: 68,", "min: 1500,"))
        bench.edit(bench.sheet, ("  frames_per_s: 20000\n", ""))
        taken.card = bench.load()[1]
        with pytest.raises(NotApplicable, match=r"1 points of UDP_STREAM are measured; no limit of the sheet and no "):
            MessageSizes().sweep_should_reach_the_limits(UDP, QUICK)
        assert len(measurements.read(taken.run_dir)) == 1 and len(states.commands) == 3

    @pytest.mark.parametrize(
        ("test", "small_mtu", "small", "words"),
        [
            (
                STREAM,
                47.0,
                0.5,
                r"TCP_STREAM of 2048 bytes at MTU 1500: .*as many messages a second as TCP_STREAM of 65536",
            ),
            (
                STREAM,
                5.0,
                47.0,
                r"TCP_STREAM of 65536 bytes at MTU 576: .*as many frames a second as TCP_STREAM of 65536",
            ),
            (UDP, 5.0, 47.0, r"UDP_STREAM of 8192 bytes at MTU 576: .*as many frames a second as UDP_STREAM of 8192"),
        ],
    )
    def test_what_another_point_predicts_is_judged(
        self, states: States, test: TrafficTest, small_mtu: float, small: float, words: str
    ) -> None:
        """Small messages, and an MTU of 576, that carry far less than their number allows."""
        states.rate = lambda command: small if length(command) == 2048 else small_mtu if states.mtu() == 576 else 47.0
        with pytest.raises(CardFailure, match=words):
            MessageSizes().sweep_should_reach_the_limits(test, QUICK)

    def test_small_messages_in_jumbo_frames_are_compared_with_those_in_standard_ones(self, states: States) -> None:
        states.rate = lambda command: (2.0 if length(command) < 4096 else 49.4) if states.mtu() == 9000 else 47.0
        with pytest.raises(CardFailure, match=r"TCP_STREAM of 2048 bytes at MTU 9000: .*no less than TCP_STREAM of 20"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)

    def test_udp_is_judged_by_the_frame_rate_of_the_sheet(self, bench: FakeBench, states: States, taken: Run) -> None:
        """20000 frames a second of 1000 a second are 1 Mbit/s less a quarter with six frames of 8 KiB."""
        bench.edit(bench.sheet, ("frames_per_s: 20000", "frames_per_s: 90000"))
        taken.card = bench.load()[1]
        states.rate = lambda _: 20.0
        with pytest.raises(CardFailure, match=r"UDP_STREAM of 8192 bytes at MTU 1500: .*frames_per_s 90000, less 25 %"):
            MessageSizes().sweep_should_reach_the_limits(UDP, QUICK)

    def test_servers_without_cpu_time_for_small_messages_excuse_no_large_ones(
        self, bench: FakeBench, states: States
    ) -> None:
        """Every other point, of small messages or another MTU, takes all of a CPU."""

        def rate(command: str) -> float:
            is_large = length(command) > 4096 and states.mtu() == 1500
            bench.dut.busy_ticks = 10 if is_large else 99
            return 41.0 if is_large else 47.0

        states.rate = rate
        with pytest.raises(CardFailure, match=r"^dut\.p0 to peer\.p0, TCP_STREAM of 65536 bytes at MTU 1500: 41\."):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)

    def test_a_point_without_cpu_time_is_the_benchs_however_free_it_was_at_others(
        self, bench: FakeBench, states: States
    ) -> None:
        def rate(command: str) -> float:
            is_slow = length(command) < 4096 and states.mtu() == 1500
            bench.dut.busy_ticks = 99 if is_slow else 10
            return 0.5 if is_slow else 47.0

        states.rate = rate
        with pytest.raises(
            BenchFault, match=r"2048 bytes at MTU 1500: 0\.5.*: missed; the bench may be why: dut\.p0: its"
        ):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)

    @pytest.mark.parametrize(("test", "standard"), [(STREAM, 23.0), (UDP, 10.0)])
    def test_a_bus_of_the_bench_that_carries_less_than_a_limit_is_not_the_cards_fault(
        self, bench: FakeBench, states: States, taken: Run, test: TrafficTest, standard: float
    ) -> None:
        bench.edit(bench.sheet, ("frames_per_s: 20000", "frames_per_s: 90000"))
        taken.card = bench.load()[1]
        peer = taken.server(Role.PEER)
        peer.description = peer.description.model_copy(update={"bus_mbytes_per_s": 3.0})
        states.rate = lambda _: standard
        with pytest.raises(
            BenchFault,
            match=r"at MTU 1500: .*: missed; the bench may be why: peer\.p0: the bench carries at most .* over its bus",
        ):
            MessageSizes().sweep_should_reach_the_limits(test, QUICK)

    def test_a_bus_of_the_bench_that_carries_a_limit_does_not_excuse_the_card(self, states: States, taken: Run) -> None:
        peer = taken.server(Role.PEER)
        peer.description = peer.description.model_copy(update={"bus_mbytes_per_s": 5.5})
        states.rate = lambda _: 41.0
        with pytest.raises(CardFailure, match=r"TCP_STREAM of 65536 bytes at MTU 1500: 41\..*: missed$"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)

    def test_every_direction_over_every_path_but_the_first(self, states: States) -> None:
        MessageSizes().sweep_should_reach_the_limits_in_every_direction(STREAM)
        assert {re.findall(r"--bind (\S+)", command)[0] for command in states.commands} == {
            *("198.18.10.2", "198.18.11.1", "198.18.11.2"),
        }

    def test_a_card_whose_mtus_nobody_knows_is_not_swept(self, bench: FakeBench, states: States, taken: Run) -> None:
        bench.edit(bench.sheet, ("mtu: {min: 68, max: 9000, default: 1500, source: test}\n", ""))
        taken.card = bench.load()[1]
        with pytest.raises(NotApplicable, match="says nothing about mtu"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)
        assert not states.commands

    def test_a_port_that_stays_without_link_is_a_bench_fault(self, bench: FakeBench, states: States) -> None:
        bench.cables.stuck["peer.p0"] = False
        with pytest.raises(BenchFault, match="path a to have its link"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)
        assert states.mtu() == 1500


class TestTime:
    """Runs that last, or are made again and again, do not hold the bench for hours."""

    def test_a_sweep_has_a_budget(self, states: States, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sweep.BUDGETS, QUICK, replace(sweep.BUDGETS[QUICK], most_s=0))  # type: ignore[arg-type]
        with pytest.raises(Undecided, match=r"^TCP_STREAM of 65536 bytes at MTU 1500: 0 runs made when .*; all points"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)
        assert states.commands == [] and states.mtu() == 1500

    def test_connections_have_a_budget(self, states: States, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(connection_counts.MOST_S, QUICK, 0)  # type: ignore[arg-type]
        with pytest.raises(Undecided, match=r"^peer\.p0 to dut\.p0, 1 connections: 0 runs made when .*; all togeth"):
            Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)
        assert states.commands == []

    def test_frames_have_a_budget(self, states: States, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(frame_rate, "MOST_S", 0)
        with pytest.raises(Undecided, match=r"^peer\.p0 to dut\.p0, frames of 106 bytes: 0 runs made when .*; all siz"):
            Sweeps().frame_rate_should_reach_the_limit()
        assert states.commands == []

    def test_time_that_is_spent_hides_no_failure_of_the_sweep(
        self, states: States, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        let_time_be_spent_after(monkeypatch, 3)
        states.rate = lambda _: 41.0
        with pytest.raises(CardFailure, match=r"(?s)65536 bytes at MTU 1500: 41\.\d.*: missed\n.*made when the time"):
            MessageSizes().sweep_should_reach_the_limits(STREAM, QUICK)
        assert states.mtu() == 1500

    def test_time_that_is_spent_hides_no_failure_of_connections(
        self, states: States, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        let_time_be_spent_after(monkeypatch, 3)
        states.rate = lambda _: 30.0
        with pytest.raises(CardFailure, match=r"(?s)1 connections: 30\.\d.*: missed\n.*4 connections: 0 runs made"):
            Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)

    def test_time_that_is_spent_hides_no_failure_of_frames(
        self, states: States, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        let_time_be_spent_after(monkeypatch, 3)
        states.rate = lambda command: 300 * length(command) * 8e-6
        with pytest.raises(CardFailure, match=r"(?s)frames of 106 bytes: .*: missed\n.* 512 bytes: 0 runs made when"):
            Sweeps().frame_rate_should_reach_the_limit()


class TestConnections:
    def test_line_rate_with_any_number_is_green(self, states: States, taken: Run) -> None:
        Sweeps().connections_should_reach_the_limit(Mode.NIC, FULL)
        counts = [re.findall(r"--parallel (\d+)", command) for command in states.commands]
        assert counts == [found for found in ([], ["2"], ["4"], ["8"], ["16"]) for _ in range(6)]
        assert sum(entry.file.endswith(".svg") for entry in read_index(taken.evidence_folder)) == 2

    def test_one_connection_that_is_slow_is_red(self, states: States) -> None:
        states.rate = lambda command: 47.0 if "--parallel" in command else 40.0
        with pytest.raises(CardFailure, match=r"^peer\.p0 to dut\.p0, 1 connections: 40\.\d+ Mbit/s"):
            Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)

    @pytest.mark.parametrize("slow", [True, False])
    def test_cpu_time_counts_with_the_number_of_connections_that_lacks_it(
        self, bench: FakeBench, states: States, slow: bool
    ) -> None:
        """One connection carries too little; a CPU is full with one alone, or with each other number of them."""

        def rate(command: str) -> float:
            is_one = "--parallel" not in command
            bench.dut.busy_ticks = 99 if is_one is slow else 10
            return 40.0 if is_one else 47.0

        states.rate = rate
        verdict = BenchFault if slow else CardFailure
        with pytest.raises(verdict, match=r"^peer\.p0 to dut\.p0, 1 connections: 40\.\d+ Mbit/s"):
            Sweeps().connections_should_reach_the_limit(Mode.NIC, FULL)

    @pytest.mark.parametrize(("most", "red"), [(6.0, False), (4.0, True)])
    def test_the_cpu_of_the_receiver_has_a_limit(
        self, bench: FakeBench, states: States, taken: Run, most: float, red: bool
    ) -> None:
        use_limits(bench, taken, f"receiver_cpu_percent: {most}")  # one of two processors is a tenth busy
        if red:
            with pytest.raises(CardFailure, match=r"receiver's CPU: 5\.\d+ percent CPU"):
                Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)
        else:
            Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)
        assert states.commands

    def test_a_cpu_that_was_busy_before_is_no_failure_of_the_card(
        self, bench: FakeBench, states: States, taken: Run
    ) -> None:
        use_limits(bench, taken, "receiver_cpu_percent: 4.0")
        bench.dut.busy_ticks = 60
        with pytest.raises(BenchFault, match=r"receiver's CPU: .*: missed; the bench may be why: .* 60 % busy before"):
            Sweeps().connections_should_reach_the_limit(Mode.NIC, QUICK)
        assert states.commands

    @pytest.mark.parametrize("mode", [Mode.TOE, Mode.TOE_DDP])
    def test_a_mode_that_the_driver_has_not_is_not_applicable(self, states: States, mode: Mode) -> None:
        with pytest.raises(
            NotApplicable, match=f"^mode {mode.value}: sheet intel-82574l names no TCP offload of e1000e"
        ):
            Sweeps().connections_should_reach_the_limit(mode, QUICK)
        assert not states.commands


class TestFrames:
    def test_a_rate_that_is_the_same_at_every_size_is_green(self, states: States, taken: Run) -> None:
        states.rate = lambda command: 1100 * length(command) * 8e-6
        Sweeps().frame_rate_should_reach_the_limit()
        (table,) = [entry for entry in read_index(taken.evidence_folder) if entry.file.endswith(".csv")]
        rows = (taken.evidence_folder / table.file).read_text().splitlines()[1:]
        assert [row.split(",")[1] for row in rows] == ["106", "512", "1024", "1514"]

    def test_a_lower_rate_is_red_at_every_size(self, states: States) -> None:
        states.rate = lambda command: 900 * length(command) * 8e-6
        with pytest.raises(CardFailure) as caught:
            Sweeps().frame_rate_should_reach_the_limit()
        assert "frames of 1514 bytes" in str(
            caught.value
        ) and "expected at least 1000 frames/s (sheet intel-82574l" in str(caught.value)

    @pytest.mark.parametrize("slow", [True, False])
    @pytest.mark.parametrize("compared", [True, False])
    def test_cpu_time_counts_with_the_size_that_lacks_it(
        self, bench: FakeBench, states: States, taken: Run, slow: bool, compared: bool
    ) -> None:
        """Few of the smallest frames arrive; a CPU is full with these alone, or with each other size."""
        use_limits(bench, taken, "frame_rate_same_within_percent: 7.0")

        def rate(command: str) -> float:
            is_small = length(command) == 64
            bench.dut.busy_ticks = 99 if is_small is slow else 10
            return (900 if is_small else 1100) * length(command) * 8e-6

        states.rate = rate
        asked = (
            Sweeps().frame_rate_should_be_the_same_at_every_size
            if compared
            else (Sweeps().frame_rate_should_reach_the_limit)
        )
        with pytest.raises(BenchFault if slow else CardFailure, match=r"the same within|frames of 106 bytes: 900"):
            asked()

    @pytest.mark.parametrize(
        ("small", "verdict"), [(1100, None), (1020, Undecided), (900, CardFailure), (2000, CardFailure)]
    )
    def test_a_rate_that_depends_on_the_size_is_red(
        self, bench: FakeBench, states: States, taken: Run, small: float, verdict: type[Exception] | None
    ) -> None:
        use_limits(bench, taken, "frame_rate_same_within_percent: 7.0")
        states.rate = lambda command: (small if length(command) == 64 else 1100) * length(command) * 8e-6
        if verdict is None:
            Sweeps().frame_rate_should_be_the_same_at_every_size()
            return
        with pytest.raises(verdict, match=rf"^peer\.p0 to dut\.p0: .*{small} .*expected the same within 7 % "):
            Sweeps().frame_rate_should_be_the_same_at_every_size()

    def test_a_rate_that_depends_on_the_size_may_be_the_benchs(
        self, bench: FakeBench, states: States, taken: Run
    ) -> None:
        use_limits(bench, taken, "frame_rate_same_within_percent: 7.0")
        bench.peer.busy_ticks = 60
        states.rate = lambda command: (900 if length(command) == 64 else 1100) * length(command) * 8e-6
        with pytest.raises(BenchFault, match=r"expected the same within 7 % .*; the bench may be why: peer"):
            Sweeps().frame_rate_should_be_the_same_at_every_size()

    def test_one_disturbed_run_is_outweighed_by_more_though_the_limit_was_met_long_ago(
        self, bench: FakeBench, states: States, taken: Run
    ) -> None:
        use_limits(bench, taken, "frame_rate_same_within_percent: 7.0")
        small = iter((1100, 1100, 1000, *[1101, 1099] * 7))
        states.rate = lambda command: (next(small) if length(command) == 64 else 1100) * length(command) * 8e-6
        Sweeps().frame_rate_should_be_the_same_at_every_size()

    def test_a_sheet_that_does_not_say_so_is_not_asked(self, states: States) -> None:
        with pytest.raises(NotApplicable, match=r"has no limits\.frame_rate_same_within_percent"):
            Sweeps().frame_rate_should_be_the_same_at_every_size()
        assert not states.commands

    @pytest.mark.parametrize(("jumbo", "standard", "red"), [(49.4, 12.7, False), (30.0, 12.7, True), (49.4, 9, False)])
    def test_the_jumbo_gain_is_at_least_that_of_the_limit_that_comes_first(
        self, states: States, jumbo: float, standard: float, red: bool
    ) -> None:
        def rate(command: str) -> float:
            if "--udp" in command:
                return 1100 * length(command) * 8e-6
            return jumbo if states.mtu() == 9000 else standard

        states.rate = rate
        if red:
            with pytest.raises(CardFailure, match=r"jumbo-gain: .*then held back by line\): missed"):
                Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)
        else:
            Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)

    @pytest.mark.parametrize(("jumbo", "red"), [(23.8, False), (16.0, True)])
    def test_the_bus_of_the_bench_may_come_first(self, taken: Run, states: States, jumbo: float, red: bool) -> None:
        """NetApp talk: jumbo frames carry 5 to 6 times as much, unless PCI comes first."""
        dut = taken.server(Role.DUT)
        dut.description = dut.description.model_copy(update={"bus_mbytes_per_s": 3.0})

        def rate(command: str) -> float:
            if "--udp" in command:
                return 1100 * length(command) * 8e-6
            return jumbo if states.mtu() == 9000 else 12.7

        states.rate = rate
        if red:
            with pytest.raises(CardFailure, match=r"jumbo-gain: .*then held back by bus\): missed"):
                Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)
        else:
            Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)

    def test_a_peer_that_sends_too_little_does_not_make_the_card_red(self, states: States) -> None:
        """900 frames a second are sent, and all of them arrive at the port: nobody knows what the card can do."""
        states.rate, states.frames = lambda command: 900 * length(command) * 8e-6, lambda _: (1800, 1795)
        with pytest.raises(
            Undecided,
            match=r"frames of 106 bytes: .*: missed; peer\.p0 sent at most 900 frames/s of 106 bytes, and all a",
        ):
            Sweeps().frame_rate_should_reach_the_limit()

    @pytest.mark.parametrize(("sent", "arrived"), [(1900, 1800), (2400, 2390)])
    def test_a_card_that_was_offered_more_than_arrived_or_enough_is_red(
        self, states: States, sent: int, arrived: int
    ) -> None:
        states.rate, states.frames = lambda command: 900 * length(command) * 8e-6, lambda _: (sent, arrived)
        with pytest.raises(CardFailure, match=r"frames of 106 bytes: 900.*over 20\): missed(\n|$)"):
            Sweeps().frame_rate_should_reach_the_limit()

    def test_one_run_as_fast_as_the_sender_goes_says_what_it_offers(self, states: States) -> None:
        """The first run of a size floods the card; those that are counted are paced at what arrived."""
        states.rate = lambda command: 900 * length(command) * 8e-6
        states.frames = lambda command: (1800, 1800) if "--bitrate 0" not in command else (2400, 1800)
        with pytest.raises(CardFailure, match=r"frames of 106 bytes: 900.*over 20\): missed(\n|$)"):
            Sweeps().frame_rate_should_reach_the_limit()

    def test_a_peer_that_sends_less_at_one_size_does_not_make_the_rates_differ(
        self, bench: FakeBench, states: States, taken: Run
    ) -> None:
        use_limits(bench, taken, "frame_rate_same_within_percent: 7.0")
        states.rate = lambda command: (900 if length(command) == 64 else 1100) * length(command) * 8e-6
        states.frames = lambda command: (1800, 1800) if length(command) == 64 else (2600, 2200)
        with pytest.raises(Undecided, match=r"expected the same within 7 % .*; peer\.p0 sent at most 900 frames/s"):
            Sweeps().frame_rate_should_be_the_same_at_every_size()

    @pytest.mark.parametrize(
        ("sent", "standard", "verdict"), [(1800, 10.4, Undecided), (2200, 24.0, Undecided), (2200, 10.4, CardFailure)]
    )
    def test_a_gain_is_not_predicted_from_what_the_peer_can_send(
        self, states: States, sent: int, standard: float, verdict: type[Exception]
    ) -> None:
        """Too few frames for the limit, or fewer than TCP carries at the same MTU: the card may receive more."""

        def rate(command: str) -> float:
            if "--udp" in command:
                return sent / 2 * length(command) * 8e-6
            return 30.0 if states.mtu() == 9000 else standard

        states.rate, states.frames = rate, lambda command: (sent, sent) if "--udp" in command else (4000, 4000)
        with pytest.raises(verdict, match=r"jumbo-gain: .*: missed"):
            Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)

    @pytest.mark.parametrize(("sent", "arrived"), [(2400, 1800), (6000, 6000)])
    @pytest.mark.parametrize(("standard", "verdict"), [(24.0, Undecided), (12.0, CardFailure)])
    def test_a_frame_rate_that_tcp_exceeds_predicts_no_gain(
        self, states: States, sent: int, arrived: int, standard: float, verdict: type[Exception]
    ) -> None:
        """1100 datagrams a second are received, whatever the ports count, and 2070 frames of TCP: not by the card."""

        def rate(command: str) -> float:
            if "--udp" in command:
                return 1100 * length(command) * 8e-6
            return 27.0 if states.mtu() == 9000 else standard

        states.rate = rate
        states.frames = lambda command: (sent, arrived) if "--udp" in command else (4200, 4200)
        with pytest.raises(verdict, match=r"jumbo-gain: .*: missed"):
            Sweeps().jumbo_frames_should_gain_as_predicted(QUICK)

    def test_a_sheet_without_a_frame_rate_is_not_applicable(self, bench: FakeBench, states: States, taken: Run) -> None:
        bench.edit(bench.sheet, ("  frames_per_s: 20000\n", ""))
        taken.card = bench.load()[1]
        with pytest.raises(NotApplicable, match=r"has no limits\.frames_per_s"):
            Sweeps().frame_rate_should_reach_the_limit()
        assert not states.commands


class TestFragments:
    @pytest.fixture
    def said(self, bench: FakeBench, states: States, monkeypatch: pytest.MonkeyPatch) -> dict[Role, str]:
        """The output of the receiver on each server; each may be changed."""
        assert states
        whole = f"ready\nnumbers {' '.join(map(str, range(datagrams.COUNT)))}\ndamaged 0\nend\n"
        texts = dict.fromkeys(Role, whole)
        monkeypatch.setattr(program, "BEGINS_WITHIN_S", 0.1)
        for role, ssh in bench.ssh.items():
            ssh.replies |= {"mktemp": "/tmp/niclab.fake\n", "rm -rf": "", "exec python3": ""}
            ssh.replies["cat /proc/net/snmp"] = SNMP.format(0)
            ssh.put_text = lambda *_: None  # type: ignore[attr-defined]

            def start(command: str, *, limit_s: float, mark: str, role: Role = role, ssh: FakeSsh = ssh) -> FakeJob:
                assert limit_s > 0 and mark
                job = FakeJob(command, ssh)
                job.said = texts[role]
                job.wait = lambda _: Result(command, 0, None, texts[role], "", 0.1)  # type: ignore[attr-defined]
                return job

            ssh.start = start  # type: ignore[assignment, method-assign]
        return texts

    def test_whole_datagrams_both_ways_are_green(self, said: dict[Role, str]) -> None:
        assert said
        Sweeps().fragments_should_arrive_whole()

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            (" 7 8 ", " 8 ", "59 of 60 datagrams of 32768 bytes arrived whole, 0 twice, 0 with another content"),
            (" 7 8 ", " 7 7 8 ", "60 of 60 datagrams of 32768 bytes arrived whole, 1 twice"),
            ("damaged 0", "damaged 2", "2 with another content"),
        ],
    )
    def test_each_way_to_be_broken_is_red(self, said: dict[Role, str], old: str, new: str, words: str) -> None:
        said[Role.PEER] = said[Role.PEER].replace(old, new)
        with pytest.raises(CardFailure) as caught:
            Sweeps().fragments_should_arrive_whole()
        assert str(caught.value).startswith("dut.p0 to peer.p0: ") and words in str(caught.value)
        assert "peer.p0 to dut.p0" not in str(caught.value)

    @pytest.mark.parametrize(
        ("old", "new", "verdict"), [(" 7 8 ", " 8 ", Undecided), ("damaged 0", "damaged 2", CardFailure)]
    )
    def test_what_is_lost_while_a_server_stood_still_is_undecided(
        self,
        bench: FakeBench,
        said: dict[Role, str],
        monkeypatch: pytest.MonkeyPatch,
        old: str,
        new: str,
        verdict: type[Exception],
    ) -> None:
        said[Role.PEER] = said[Role.PEER].replace(old, new)
        plain = datagrams.deliver

        def slow(*words: Any) -> datagrams.Delivery:
            bench.ssh[Role.PEER].stood += "stood 400\n"
            return plain(*words)

        monkeypatch.setattr(datagrams, "deliver", slow)
        with pytest.raises(verdict, match=r"^dut\.p0 to peer\.p0: "):
            Sweeps().fragments_should_arrive_whole()

    def test_wrong_checksums_are_counted(self, bench: FakeBench, said: dict[Role, str]) -> None:
        counts = iter((5, 12))
        bench.ssh[Role.DUT].replies["cat /proc/net/snmp"] = lambda _: SNMP.format(next(counts))
        with pytest.raises(CardFailure, match=r"^peer\.p0 to dut\.p0: .*, 7 with a wrong checksum; expected each once"):
            Sweeps().fragments_should_arrive_whole()
        assert said

    def test_a_receiver_that_says_too_little_is_a_bench_fault(self, said: dict[Role, str]) -> None:
        said[Role.PEER] = "ready\nnumbers 1 2\n"
        with pytest.raises(BenchFault, match=r"^peer: datagram receiver: .*; expected ready, numbers, damaged, end"):
            Sweeps().fragments_should_arrive_whole()

    def test_the_program_tells_its_datagrams_apart(self) -> None:
        one, other = datagram_program.content(1, 32768), datagram_program.content(2, 32768)
        assert len(one) == len(other) == 32768 and one[:4] == b"\0\0\0\1"
        assert all(one[at : at + 1480] != other[at : at + 1480] for at in range(0, 32768, 1480))
