"""A bench that can get other cards: the card of the run is put in, and the former cards come back."""

from __future__ import annotations

import pytest
from fake_bench import FakeBench

from niclab.bench.bench_file import load_bench
from niclab.bench.records import OperatingSystem, Role
from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault
from niclab.run import run as runs

CARD = "intel-82574l"


def undos(taken: runs.Run) -> list[str]:
    return [" ".join(entry.action.command.split()[3:]) for entry in taken.journal.pending()]


def test_the_card_of_the_run_is_put_in_and_the_former_ones_come_back(bench: FakeBench) -> None:
    bench.give_slots("some-card", "other-card")
    taken = bench.take()
    assert bench.state["cards"] == [CARD, CARD]
    assert undos(taken) == ["insert some-card other-card"]
    assert "had dut some-card, peer other-card and gets intel-82574l" in str(taken.journal.pending()[0])
    runs.release()
    assert bench.state["cards"] == ["some-card", "other-card"]
    assert bench.said == ["insert", "insert"]
    assert bench.up_when_closed[:2] == [True, True]  # connections end before servers are switched off


def test_the_card_that_is_in_stays_in(bench: FakeBench) -> None:
    bench.give_slots(CARD, CARD)
    taken = bench.take()
    assert bench.said == [] and undos(taken) == []


def test_a_bench_that_is_down_is_put_down_before_its_cards_come_back(bench: FakeBench) -> None:
    bench.give_slots("some-card", "some-card")
    bench.set_state(up=False)
    taken = bench.take()
    assert bench.said == ["insert", "up"]
    assert undos(taken) == ["down", "insert some-card some-card"]  # the first is undone first
    runs.release()
    assert bench.said == ["insert", "up", "down", "insert"]
    assert not bench.state["up"] and bench.state["cards"] == ["some-card", "some-card"]


def test_the_way_back_is_in_the_journal_before_the_card_is_put_in(bench: FakeBench) -> None:
    bench.give_slots("some-card", "some-card")
    bench.set_state(fail={"insert": 4})
    with pytest.raises(BenchFault, match=r"'.* insert intel-82574l intel-82574l' failed with exit status 4"):
        bench.take()
    (entry,) = Journal.for_bench("virtual").pending()
    assert entry.action.command.endswith("insert some-card some-card")


def test_what_a_killed_run_left_is_undone_with_its_cards_in(bench: FakeBench) -> None:
    bench.give_slots("cards-of", "killed-run")
    command = load_bench(bench.file).commands
    assert command is not None
    back = command.insert_command({"dut": CARD, "peer": CARD})
    assert back is not None
    with Journal.for_bench("virtual", "killed").hold() as journal:
        journal.register("bench", "had others", Action(ActionKind.LOCAL, "controller", back))
    taken = bench.take()
    assert bench.said == ["insert"] and undos(taken) == []


@pytest.mark.parametrize("says", [[], ["a"], ["a b", "c"]])
def test_a_bench_that_does_not_say_which_cards_are_in_is_at_fault(bench: FakeBench, says: list[str]) -> None:
    bench.give_slots("a", "b")
    bench.set_state(cards=says)
    with pytest.raises(BenchFault, match=r"^controller: '.* inserted' (printed|failed)"):
        bench.take()
    assert Journal.for_bench("virtual").pending() == []


def test_the_systems_of_the_run_are_booted_and_the_former_ones_come_back(bench: FakeBench) -> None:
    bench.give_systems("freebsd", "linux")
    taken = bench.take()
    assert bench.state["systems"] == ["linux", "linux"]
    assert undos(taken) == ["boot freebsd linux"]
    assert "had dut freebsd, peer linux and boots dut linux, peer linux" in str(taken.journal.pending()[0])
    runs.release()
    assert bench.state["systems"] == ["freebsd", "linux"] and bench.up_when_closed[:2] == [True, True]


def test_systems_that_are_on_stay_on(bench: FakeBench) -> None:
    bench.give_systems("linux", "linux")
    assert undos(bench.take()) == [] and bench.said == []


def test_another_system_is_chosen_where_the_bench_can_boot_it(bench: FakeBench) -> None:
    with pytest.raises(BenchFault, match=r"no command boots dut freebsd; expected commands\.boot_systems in the file"):
        load_bench(bench.file).with_systems({Role.DUT: "freebsd"})
    assert load_bench(bench.file).with_systems({Role.DUT: "linux"}).server(Role.DUT).os.value == "linux"
    bench.give_systems("linux", "linux")
    chosen = load_bench(bench.file).with_systems({Role.DUT: "freebsd", Role.PEER: ""})
    assert (chosen.server(Role.DUT).os, chosen.server(Role.PEER).os) == (OperatingSystem.FREEBSD, OperatingSystem.LINUX)


def test_a_name_that_is_no_system_is_refused(bench: FakeBench) -> None:
    bench.give_systems("linux", "linux")
    with pytest.raises(
        BenchFault,
        match=r"^bench virtual: peer: operating system 'plan9'; expected linux, freebsd, new; .* \(systems\)$",
    ):
        bench.give_names(new="linux").with_systems({Role.PEER: "plan9"})


def test_a_named_system_is_booted_and_asked_as_what_it_is(bench: FakeBench) -> None:
    bench.give_systems("linux", "linux")
    chosen = bench.give_names(new="linux", bsd="freebsd").with_systems({Role.DUT: "new", Role.PEER: "bsd"})
    assert [chosen.server(role).os for role in Role] == [OperatingSystem.LINUX, OperatingSystem.FREEBSD]
    assert [chosen.server(role).boots for role in Role] == ["new", "bsd"]
    back = chosen.with_systems({Role.DUT: "linux"})
    assert [back.server(role).boots for role in Role] == ["linux", "bsd"]


def test_the_named_system_of_the_run_is_booted_and_the_former_one_comes_back(bench: FakeBench) -> None:
    bench.give_systems("linux", "new")
    bench.give_names(new="linux")
    bench.edit(bench.file, ("  dut:\n    os: linux\n", "  dut:\n    os: linux\n    system: new\n"))
    taken = bench.take()
    assert bench.state["systems"] == ["new", "linux"] and undos(taken) == ["boot linux new"]
    runs.release()
    assert bench.state["systems"] == ["linux", "new"]
