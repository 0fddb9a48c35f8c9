"""Link checks: green on good links, red on each faulty one; times are judged against the sheet."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from fake_bench import FakeBench
from fake_parts import FakeHost, changes
from slow_mtu import SlowPorts

from HostLinks import HostLinks
from niclab.bench.records import DeclaredDeviation, OperatingSystem, SiliconFact, Wiring
from niclab.core.names import Duplex
from niclab.core.verdict import BenchFault, CardFailure, Deviation, NotApplicable, Undecided
from niclab.hosts.host_records import PingResult
from niclab.links import link_checks
from niclab.links.cable import Cable
from niclab.run.run import Run
from niclab.run.watching.standstill import StandstillWatch, Stood

PORTS = ("dut.p0", "peer.p0", "dut.p1", "peer.p1")
PCI = {name: "0000:01:00.0" if name.endswith("0") else "0000:02:00.0" for name in PORTS}


def verdict_on(name: str) -> type[Exception]:
    """The peer is the known-good end: what its ports have is of the bench."""
    return CardFailure if name.startswith("dut") else BenchFault


def sheet(bench: FakeBench, taken: Run, *changes: tuple[str, str]) -> None:
    bench.edit(bench.sheet, *changes)
    taken.card = bench.load()[1]


@pytest.fixture(autouse=True)
def impatient(bench: FakeBench, taken: Run) -> None:
    """A sheet that gives carriers a second or two: nothing here waits for one."""
    sheet(bench, taken, ("carrier_return_within_ms: 5000", "carrier_return_within_ms: 1500"))


class TestUp:
    def test_good_links_are_green(self) -> None:
        HostLinks().every_link_should_be_up()

    def test_links_that_are_there_take_one_question_to_each_server(
        self, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked, real = list[tuple[str, ...]](), FakeHost.await_carriers

        def await_carriers(host: FakeHost, ifaces: Sequence[str], up: bool, within_s: float) -> tuple[str, ...]:
            asked.append(tuple(ifaces))
            return real(host, ifaces, up, within_s)

        monkeypatch.setattr(FakeHost, "await_carriers", await_carriers)
        monkeypatch.delattr(FakeHost, "await_carrier")
        said = list[str]()
        link_checks.require_up(taken, said.append)
        assert asked == [("enp1s0", "enp2s0")] * 2 and len(said) == len(PORTS)

    @pytest.mark.parametrize("name", PORTS)
    def test_one_link_without_carrier_is_named(self, bench: FakeBench, name: str) -> None:
        bench.cables.stuck[name] = False
        with pytest.raises(verdict_on(name)) as caught:
            HostLinks().every_link_should_be_up()
        wanted = f"{name} ({PCI[name]}) has no carrier after 1500 ms, all that sheet intel-82574l allows"
        assert str(caught.value) == wanted

    def test_all_links_without_carrier_are_named(self, bench: FakeBench) -> None:
        bench.cables.stuck = dict.fromkeys(PORTS, False)
        with pytest.raises(CardFailure) as caught:
            HostLinks().every_link_should_be_up()
        assert [line.split()[0] for line in str(caught.value).splitlines()] == sorted(PORTS), "the dut's first"

    def test_a_link_that_the_peer_keeps_down_is_the_benchs(self, bench: FakeBench) -> None:
        bench.nic("peer.p0").admin_up = False
        with pytest.raises(
            BenchFault, match=r"^dut\.p0 .* has no carrier .*; partner-link \(dut\.p0 up, no carrier; peer"
        ):
            HostLinks().every_link_should_be_up()
        bench.nic("dut.p0").admin_up = False
        with pytest.raises(CardFailure, match=r"^dut\.p0 .* has no carrier"):
            HostLinks().every_link_should_be_up()

    def test_an_unknown_limit_is_not_applicable(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("carrier_return_within_ms: 1500", "carrier_return_within_ms: {unknown: test}"))
        with pytest.raises(NotApplicable, match=r"does not know limits.carrier_return_within_ms: test$"):
            HostLinks().every_link_should_be_up()


class TestSettings:
    def test_good_links_are_green(self) -> None:
        HostLinks().every_link_should_run_as_on_the_sheet()

    @pytest.mark.parametrize("name", PORTS)
    @pytest.mark.parametrize(
        ("field", "found", "wanted"),
        [
            ("speed_mbps", 100, 1000),
            ("speed_mbps", 10_000, 1000),
            ("speed_mbps", None, 1000),
            ("duplex", Duplex.HALF, "full"),
            ("duplex", None, "full"),
            ("autoneg", False, True),
            ("autoneg", None, True),
        ],
    )
    def test_one_wrong_link_is_named(
        self, bench: FakeBench, name: str, field: str, found: object, wanted: object
    ) -> None:
        nic = bench.nic(name)
        assert nic.settings is not None
        nic.settings = replace(nic.settings, **{field: found})  # type: ignore[arg-type]  # the names are the test's
        with pytest.raises(verdict_on(name)) as caught:
            HostLinks().every_link_should_run_as_on_the_sheet()
        assert str(caught.value) == f"{name} ({PCI[name]}) has {field} {found}; expected {wanted} (sheet intel-82574l)"

    def slowed(self, bench: FakeBench, names: Sequence[str], **changes: Any) -> str:
        """The verdict on links that run at 100 Mbit/s, with other settings of their ports."""
        for name in names:
            nic = bench.nic(name)
            assert nic.settings is not None
            nic.settings = replace(nic.settings, **{"speed_mbps": 100, **changes})
        with pytest.raises((CardFailure, BenchFault, Undecided)) as caught:
            HostLinks().every_link_should_run_as_on_the_sheet()
        return f"{type(caught.value).__name__}: {caught.value}"

    def test_a_slower_link_of_two_ports_that_can_do_more_is_nobodys(self, bench: FakeBench) -> None:
        said = self.slowed(bench, ("dut.p1", "peer.p1"))
        assert said.startswith(f"Undecided: dut.p1 ({PCI['dut.p1']}) has speed_mbps 100; expected 1000 (sheet ")
        assert "\npeer.p1 (" in said and said.count("its cable, or either end of it, may be why") == 2

    def test_the_duplex_of_a_slower_link_has_the_same_reason(self, bench: FakeBench) -> None:
        said = self.slowed(bench, ("dut.p1", "peer.p1"), duplex=Duplex.HALF)
        assert said.startswith("Undecided: ") and said.count("has duplex half; expected full") == 2

    @pytest.mark.parametrize("names", [("dut.p0",), ("dut.p0", "peer.p0")])
    def test_a_partner_that_advertises_less_is_the_benchs(self, bench: FakeBench, names: Sequence[str]) -> None:
        said = self.slowed(bench, names, partner=("10baseT/Full", "100baseT/Full"))
        assert said.startswith("BenchFault: ") and "the other end of its link advertises 10, 100 Mbit/s" in said

    def test_a_peer_that_can_do_less_is_the_benchs(self, bench: FakeBench) -> None:
        self.slowed(bench, ("peer.p0",), supported=("100baseT/Full",))
        said = self.slowed(bench, ("dut.p0",), partner=None)
        assert said.startswith("BenchFault: ") and "the other end of its link offers 100 Mbit/s" in said

    def test_a_card_that_can_do_less_is_the_cards(self, bench: FakeBench) -> None:
        self.slowed(bench, ("peer.p0",))
        said = self.slowed(bench, ("dut.p0",), supported=("100baseT/Full",), partner=("100baseT/Full",))
        assert said.startswith("CardFailure: dut.p0 (") and "may be why" not in said.splitlines()[0]

    def test_a_slower_link_to_a_switch_is_nobodys(self, bench: FakeBench, taken: Run) -> None:
        bench.put_in_switch()
        taken.bench = bench.load()[0]
        assert self.slowed(bench, ("dut.p1",)).startswith("Undecided: dut.p1 (")

    def test_a_slower_link_of_the_peer_to_a_switch_is_the_benchs(self, bench: FakeBench, taken: Run) -> None:
        bench.put_in_switch()
        taken.bench = bench.load()[0]
        assert self.slowed(bench, ("peer.p1",)).startswith("BenchFault: peer.p1 (")

    @pytest.mark.parametrize("known", [0, 1, 2])
    def test_a_known_fact_is_judged_beside_unknown_ones(self, bench: FakeBench, taken: Run, known: int) -> None:
        facts, wrong = ["speed_mbps: 1000", "duplex: full", "autoneg: true"], [100, Duplex.HALF, False]
        others = [fact for fact in facts if fact is not facts[known]]
        sheet(bench, taken, *[(fact, f"{fact.split(':')[0]}: {{unknown: test}}") for fact in others])
        HostLinks().every_link_should_run_as_on_the_sheet()
        name = facts[known].split(":")[0]
        nic = bench.dut.nics[1]
        assert nic.settings is not None
        nic.settings = replace(nic.settings, **{name: wrong[known]})
        with pytest.raises(CardFailure, match=rf"^dut\.p1 \S+ has {name} "):
            HostLinks().every_link_should_run_as_on_the_sheet()

    def test_unknown_facts_alone_are_not_applicable(self, bench: FakeBench, taken: Run) -> None:
        facts = ("speed_mbps: 1000", "duplex: full", "autoneg: true")
        sheet(bench, taken, *[(fact, f"{fact.split(':')[0]}: {{unknown: test}}") for fact in facts])
        with pytest.raises(NotApplicable, match=r"does not know link\.speed_mbps, link\.duplex, nor link\.autoneg$"):
            HostLinks().every_link_should_run_as_on_the_sheet()


class TestPing:
    def test_good_links_are_green_and_pinged_from_both_ends(self, bench: FakeBench) -> None:
        HostLinks().every_link_should_carry_traffic()
        assert sorted(bench.dut.calls) == ["ping 198.18.10.1 198.18.10.2", "ping 198.18.11.1 198.18.11.2"]
        assert sorted(bench.peer.calls) == ["ping 198.18.10.2 198.18.10.1", "ping 198.18.11.2 198.18.11.1"]

    @pytest.mark.parametrize("name", PORTS)
    @pytest.mark.parametrize(
        ("received", "duplicates", "said"),
        [
            (9, 0, "9 of 10 pings answered, 0 twice"),
            (0, 0, "0 of 10 pings"),
            (10, 1, "10 of 10 pings answered, 1 twice"),
        ],
    )
    def test_one_bad_direction_is_named(
        self, bench: FakeBench, name: str, received: int, duplicates: int, said: str
    ) -> None:
        nic = bench.nic(name)
        nic.ping = replace(nic.ping, received=received, duplicates=duplicates)
        with pytest.raises(CardFailure) as caught:
            HostLinks().every_link_should_carry_traffic()
        role, key = name.split(".")
        partner = f"{'peer' if role == 'dut' else 'dut'}.{key}"
        assert str(caught.value).startswith(f"{name} ({PCI[name]}) to {partner}: {said}")
        assert "\n" not in str(caught.value)

    def test_the_tools_own_words_are_told(self, bench: FakeBench) -> None:
        nic = bench.nic("dut.p0")
        nic.ping = replace(nic.ping, received=0, errors=("Destination Host Unreachable",) * 10)
        with pytest.raises(CardFailure, match=r"Destination Host Unreachable$"):
            HostLinks().every_link_should_carry_traffic()


class TestStaysUp:
    @pytest.fixture
    def passing(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
        """The events while the check waits."""

        def arrange(event: Callable[[], None]) -> None:
            monkeypatch.setattr(link_checks, "pause", lambda _: event())

        return arrange

    def test_quiet_links_are_green(self, passing: Callable[[Callable[[], None]], None]) -> None:
        passing(lambda: None)
        HostLinks().every_link_should_stay_up()

    @pytest.mark.parametrize("name", PORTS)
    def test_one_that_came_and_went_is_named(
        self, bench: FakeBench, passing: Callable[[Callable[[], None]], None], name: str
    ) -> None:
        passing(lambda: setattr(bench.nic(name), "changes", 5))
        with pytest.raises(verdict_on(name)) as caught:
            HostLinks().every_link_should_stay_up(3)
        said = "counted 2 changes of carrier in 3 s in which nobody touched it; expected none"
        assert str(caught.value) == f"{name} ({PCI[name]}) {said}"

    def test_one_whose_both_ends_came_and_went_is_undecided(
        self, bench: FakeBench, passing: Callable[[Callable[[], None]], None]
    ) -> None:
        """A cable does so too; the card would be charged with it."""

        def flap() -> None:
            for name, times in (("dut.p0", 4), ("peer.p0", 6)):
                bench.nic(name).changes += times

        passing(flap)
        says = "4 changes of carrier in 3 s .*; expected none; peer.p0 counted 6: the cable or either port\n"
        with pytest.raises(Undecided, match=says):
            HostLinks().every_link_should_stay_up(3)

    def test_one_that_is_down_is_named(self, bench: FakeBench) -> None:
        bench.cables.stuck["dut.p1"] = False
        with pytest.raises(CardFailure, match=r"dut\.p1 .* has no carrier"):
            HostLinks().every_link_should_stay_up()


class TestLargestMtu:
    @pytest.fixture(autouse=True)
    def _mtu(self, bench: FakeBench, taken: Run) -> None:
        bench.sheet.write_text(bench.sheet.read_text() + "mtu: {min: 68, max: 9000, default: 1500, source: test}\n")
        taken.card = bench.load()[1]

    def test_good_ports_are_green_and_get_their_mtu_back(self, bench: FakeBench, taken: Run) -> None:
        before = changes(taken.journal)
        HostLinks().frames_of_the_largest_mtu_should_arrive()
        assert bench.dut.calls == ["ping 198.18.10.1 198.18.10.2 8972", "ping 198.18.11.1 198.18.11.2 8972"]
        assert {bench.nic(name).mtu for name in PORTS} == {1500}
        assert changes(taken.journal) == before

    @pytest.mark.parametrize("system", [None, *OperatingSystem])
    def test_an_emulated_card_that_takes_less_is_its_declared_deviation(
        self, bench: FakeBench, taken: Run, system: OperatingSystem | None
    ) -> None:
        """One that is declared for a system holds while the dut runs that one."""
        facts = {"card": "intel-82574l", "fact": SiliconFact.LARGEST_MTU, "how": "it takes less", "source": "test"}
        declared = DeclaredDeviation(os=system, **facts)  # type: ignore[arg-type]
        taken.bench = taken.bench.model_copy(update={"deviations": (declared,)})
        if system is OperatingSystem.FREEBSD:
            HostLinks().frames_of_the_largest_mtu_should_arrive()
            assert bench.dut.calls
            return
        with pytest.raises(Deviation, match=r"mtu\.max: 9000; .*: it takes less \(test\)"):
            HostLinks().frames_of_the_largest_mtu_should_arrive()
        assert not bench.dut.calls

    def test_no_port_is_left_slow_by_the_change_or_the_restore(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow, asked = SlowPorts(bench, monkeypatch), list[set[str]]()
        ping = bench.dut.ping

        def asking(*words: Any, **more: Any) -> PingResult:
            asked.append(set(slow.names))
            return ping(*words, **more)

        monkeypatch.setattr(bench.dut, "ping", asking)
        HostLinks().frames_of_the_largest_mtu_should_arrive()
        assert slow.changes == 2 * len(PORTS)
        assert asked == [set(), set()], "while the frames are sent"
        assert slow.names == set(), "after the keyword"

    @pytest.mark.parametrize("name", PORTS)
    def test_one_that_loses_long_frames_is_named(self, bench: FakeBench, name: str) -> None:
        bench.nic(name).longest = 4096
        with pytest.raises(CardFailure, match=rf"^{name} .*: 0 of 10 pings of 9000 bytes answered, 0 twice; expected"):
            HostLinks().frames_of_the_largest_mtu_should_arrive()

    def test_long_frames_that_are_lost_over_a_switch_are_undecided(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It may pass none of that size; where pings of the usual size are lost as well, it is the card."""
        first = taken.bench.paths[0].model_copy(update={"through": Wiring.SWITCH})
        paths = (first, *taken.bench.paths[1:])
        monkeypatch.setattr(taken, "bench", taken.bench.model_copy(update={"paths": paths}))
        bench.nic("dut.p0").longest = 1500
        with pytest.raises(Undecided, match=r"(?s)pings of 9000 bytes answered.*\nthe switch between them may pass no"):
            HostLinks().frames_of_the_largest_mtu_should_arrive()
        monkeypatch.setattr(link_checks, "ping", lambda _, port, *__: [f"{port.place}: lost"])
        with pytest.raises(CardFailure, match=r"^dut\.p0 .*: lost"):
            HostLinks().frames_of_the_largest_mtu_should_arrive()

    def test_a_dut_that_does_not_take_it_fails(self, bench: FakeBench) -> None:
        bench.nic("dut.p1").most_mtu = 4000
        with pytest.raises(CardFailure) as caught:
            HostLinks().frames_of_the_largest_mtu_should_arrive()
        said = "MTU is 1500 when set to 9000 (greater than device maximum); expected it (sheet intel-82574l)"
        assert str(caught.value) == f"dut.p1 (0000:02:00.0): {said}"
        assert {bench.nic(name).mtu for name in PORTS} == {1500}

    def test_a_peer_that_does_not_take_it_is_a_bench_fault(self, bench: FakeBench) -> None:
        bench.nic("peer.p0").most_mtu = 4000
        with pytest.raises(BenchFault, match=r"^peer\.p0 .*: MTU is 1500 when set to 9000"):
            HostLinks().frames_of_the_largest_mtu_should_arrive()


class TestCable:
    def test_pull_and_plug_are_seen(self, bench: FakeBench, taken: Run) -> None:
        before, links = changes(taken.journal), HostLinks()
        links.pull_a_cable()
        assert bench.pulled() == {"a"}
        assert taken.journal.pending()[0].action.command.endswith("plug a")
        links.both_ends_should_lose_carrier_in_time()
        links.other_links_should_have_kept_their_carrier()
        links.plug_the_cable()
        assert bench.pulled() == set() and changes(taken.journal) == before
        links.both_ends_should_get_carrier_back_in_time()
        links.plug_the_cable()
        assert bench.said == ["pull", "plug"]

    @pytest.mark.parametrize("name", ["dut.p0", "peer.p0"])
    def test_a_carrier_that_stays_is_named(self, bench: FakeBench, name: str) -> None:
        links = HostLinks()
        bench.cables.stuck[name] = True
        links.pull_a_cable()
        with pytest.raises(verdict_on(name)) as caught:
            links.both_ends_should_lose_carrier_in_time()
        wanted = f"{name} ({PCI[name]}) has still carrier after 1000 ms, all that sheet intel-82574l allows"
        assert str(caught.value) == wanted

    def test_a_cable_that_neither_end_misses_was_not_pulled(self, bench: FakeBench) -> None:
        links = HostLinks()
        bench.cables.stuck |= {"dut.p0": True, "peer.p0": True}
        links.pull_a_cable()
        with pytest.raises(BenchFault, match=r"^dut.p0 .* has still carrier .*\npeer.p0 .* has still carrier"):
            links.both_ends_should_lose_carrier_in_time()

    def test_a_server_that_stood_still_leaves_it_open_who_was_late(
        self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        links = HostLinks()
        bench.cables.stuck["dut.p0"] = True
        links.pull_a_cable()
        monkeypatch.setattr(StandstillWatch, "between", lambda *_: (Stood("dut", 700),))
        with pytest.raises(Undecided, match=r"still carrier .*\nmeanwhile dut stood still for 700 ms"):
            links.both_ends_should_lose_carrier_in_time()

    @pytest.mark.parametrize("name", ["dut.p0", "peer.p0"])
    def test_a_carrier_that_does_not_return_is_named(self, bench: FakeBench, name: str) -> None:
        links = HostLinks()
        links.pull_a_cable()
        links.both_ends_should_lose_carrier_in_time()
        links.plug_the_cable()
        bench.cables.stuck[name] = False
        with pytest.raises(verdict_on(name), match=rf"^{name} \(0000:01:00\.0\) has no carrier after 1500 ms"):
            links.both_ends_should_get_carrier_back_in_time()

    def test_a_carrier_asked_for_too_late_is_undecided(self, taken: Run) -> None:
        """Nobody looked in time: that it is gone now does not show that it went in time."""
        links, cable = HostLinks(), taken.part(Cable)
        links.pull_a_cable()
        assert cable._pulled is not None
        path, entry, began = cable._pulled
        cable._pulled = (path, entry, began - 60)
        with pytest.raises(Undecided, match=r"^dut\.p0 .* known after 6\d{4} ms only, too late to tell about 1000 ms"):
            links.both_ends_should_lose_carrier_in_time()

    def test_a_pull_that_lasts_longer_than_the_limit_decides_nothing(
        self, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The cable may have gone at its beginning: a carrier that fell late would look as if it had gone in time."""
        links, check, lasted = HostLinks(), taken.controller.check, [0.0]
        clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(lasted))
        for module in ("cable", "carrier"):
            monkeypatch.setattr(f"niclab.links.{module}.time", clock)

        def slow(command: str) -> object:
            lasted.append(1.0)
            return check(command)

        monkeypatch.setattr(type(taken.controller), "check", lambda _, command: slow(command))
        links.pull_a_cable()
        with pytest.raises(Undecided, match=r"known after [1-9][0-9]{3,} ms only, too late to tell about 1000 ms"):
            links.both_ends_should_lose_carrier_in_time()

    @pytest.mark.parametrize("name", ["dut.p1", "peer.p1"])
    def test_another_link_that_flapped_is_named(self, bench: FakeBench, name: str) -> None:
        links = HostLinks()
        links.pull_a_cable()
        bench.nic(name).changes += 2
        with pytest.raises(verdict_on(name)) as caught:
            links.other_links_should_have_kept_their_carrier()
        found = "counted 2 changes of carrier while the cable of path a was pulled; expected none"
        assert str(caught.value) == f"{name} (0000:02:00.0) {found}"

    def test_the_pulled_links_own_changes_do_not_count(self, bench: FakeBench) -> None:
        links = HostLinks()
        links.pull_a_cable()
        bench.nic("dut.p0").changes += 1
        bench.nic("peer.p0").changes += 1
        links.other_links_should_have_kept_their_carrier()

    def test_changes_before_the_pull_do_not_count(self, bench: FakeBench) -> None:
        links = HostLinks()
        bench.nic("dut.p1").changes = 40
        links.pull_a_cable()
        links.other_links_should_have_kept_their_carrier()

    def test_the_first_path_that_can_be_pulled_is(self, bench: FakeBench, taken: Run) -> None:
        text = bench.file.read_text()
        start = text.index("    pull:")
        bench.file.write_text(text[:start] + text[text.index("  - name: b") :])
        taken.bench = bench.load()[0]
        HostLinks().pull_a_cable()
        assert bench.pulled() == {"b"}

    def test_without_a_command_it_is_not_applicable(self, bench: FakeBench, taken: Run) -> None:
        bench.write(commands=False, cables=False)
        taken.bench = bench.load()[0]
        with pytest.raises(NotApplicable, match=r"^bench virtual has no command to pull a cable$"):
            HostLinks().pull_a_cable()

    @pytest.mark.parametrize("limit", ["carrier_loss_within_ms: 1000", "carrier_return_within_ms: 1500"])
    def test_an_unknown_limit_is_not_applicable(self, bench: FakeBench, taken: Run, limit: str) -> None:
        field, links = limit.split(":")[0], HostLinks()
        sheet(bench, taken, (limit, f"{field}: {{unknown: test}}"))
        links.pull_a_cable()
        with pytest.raises(NotApplicable, match=rf"does not know limits.{field}: test$"):
            links.both_ends_should_lose_carrier_in_time()
            links.plug_the_cable()
            links.both_ends_should_get_carrier_back_in_time()

    @pytest.mark.parametrize(
        "keyword",
        [
            HostLinks.both_ends_should_lose_carrier_in_time,
            HostLinks.both_ends_should_get_carrier_back_in_time,
            HostLinks.other_links_should_have_kept_their_carrier,
        ],
    )
    def test_a_check_without_a_pulled_cable_is_a_bench_fault(self, keyword: Callable[[HostLinks], None]) -> None:
        with pytest.raises(BenchFault, match=r"^no cable .* 'Pull A Cable'"):
            keyword(HostLinks())

    def test_a_plug_that_fails_stays_in_the_journal_and_can_be_tried_again(self, bench: FakeBench, taken: Run) -> None:
        links = HostLinks()
        links.pull_a_cable()
        bench.set_state(fail={"plug": 3})
        with pytest.raises(BenchFault, match=r"failed with exit status 3"):
            links.plug_the_cable()
        assert taken.journal.pending()[0].errors
        bench.set_state(fail={})
        links.plug_the_cable()
        assert bench.pulled() == set()
