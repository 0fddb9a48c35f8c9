"""A link that flaps at any time of a run is seen, and nothing that was done on purpose is taken for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from bench_fixtures import continued
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.core.undo import Action, ActionKind
from niclab.report.allure.allure_results import TestRecord
from niclab.report.own_checks.all_checks import own_checks
from niclab.report.own_checks.carrier_check import KeptPort, Unwatched, carrier_check, keep_carrier, kept_carrier
from niclab.report.verdicts import Verdict
from niclab.run import run as runs
from niclab.run.run import Run
from niclab.run.watching.carrier_watch import CarrierWatch, rest
from niclab.run.watching.kernel_watch import KernelWatch


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(CarrierWatch, "clock", made)
    return made


@pytest.fixture
def look(taken: Run, clock: Clock) -> Callable[[float], None]:
    """Both kernels are looked at, and then again so many seconds later; the bench is at rest before."""
    watch = taken.part(KernelWatch)
    with watch.beginning():
        pass

    def pass_and_look(seconds: float) -> None:
        clock.now += seconds
        assert watch.look() == []

    pass_and_look(rest(taken).lost_s + 1)
    return pass_and_look


@pytest.fixture
def stamped(bench: FakeBench, clock: Clock) -> None:
    """Both kernels stamp their log, by clocks of their own."""
    bench.dut.kernel_s, bench.peer.kernel_s = (lambda: clock.now - 900), (lambda: clock.now + 7)


def account(run: Run, port: str = "dut.p0") -> KeptPort:
    kept = kept_carrier(run.run_dir)
    assert kept is not None
    return kept.ports[port]


def check(run: Run) -> TestRecord:
    found = carrier_check(run.run_dir)
    assert found is not None
    return found


def is_clean(run: Run) -> bool:
    """Nothing was found, whether anything was watched or not."""
    found = carrier_check(run.run_dir)
    return found is None or found.verdict is Verdict.PASS


def test_a_quiet_run_passes_and_is_watched(taken: Run, look: Callable[[float], None]) -> None:
    look(60)
    look(60)
    runs.release()
    found = check(taken)
    assert (found.verdict, found.name) == (Verdict.PASS, "Carrier over the whole run")
    assert found in own_checks(taken.run_dir)


def test_one_flap_is_seen_and_is_the_cards(bench: FakeBench, taken: Run, look: Callable[[float], None]) -> None:
    bench.nic("dut.p0").changes += 2
    look(60)
    look(60)
    found = check(taken)
    assert found.verdict is Verdict.CARD_FAILURE
    assert found.message == (
        "CardFailure: dut.p0 counted 2 changes of carrier within 60 s in which nobody touched a link; expected none; "
        "peer.p0 counted none"
    )


@pytest.mark.usefixtures("look")
def test_a_flap_after_the_last_test_is_seen(bench: FakeBench, taken: Run, clock: Clock) -> None:
    bench.nic("dut.p1").changes += 2
    clock.now += 50
    runs.release()
    assert check(taken).verdict is not Verdict.PASS


def test_the_peers_flap_is_the_benchs(bench: FakeBench, taken: Run, look: Callable[[float], None]) -> None:
    bench.nic("peer.p0").changes += 2
    look(60)
    look(60)
    assert check(taken).verdict is Verdict.BENCH_FAULT


def test_where_both_ends_lost_it_nobody_knows(bench: FakeBench, taken: Run, look: Callable[[float], None]) -> None:
    for name in ("dut.p0", "peer.p0"):
        bench.nic(name).changes += 2
    look(60)
    look(60)
    found = check(taken)
    assert found.verdict is Verdict.UNDECIDED and "peer.p0 counted 2: the cable or either port" in found.message


def changes(bench: FakeBench, *words: str, name: str = "dut.p0", said: bool = True) -> None:
    """A port changes its carrier, and its driver says so or not."""
    nic = bench.nic(name)
    nic.changes += len(words)
    host = bench.dut if name.startswith("dut") else bench.peer
    for word in words if said else ():
        host.says(f"e1000e 0000:01:00.0 {nic.iface}: NIC Link is {word}")


@pytest.mark.usefixtures("stamped")
def test_among_touches_a_flap_is_seen_by_its_time(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    _command(bench, taken)
    changes(bench, "Down", "Up")
    clock.now += 20
    changes(bench, "Down")
    clock.now += 0.2
    changes(bench, "Up")
    clock.now += 10
    _command(bench, taken)
    look(1)
    look(1)
    found = check(taken)
    assert found.verdict is Verdict.CARD_FAILURE
    said = "dut.p0 counted 2 changes of carrier within 0 s in which nobody touched a link, the first at "
    assert found.message.startswith(f"CardFailure: {said}") and found.message.endswith("peer.p0 counted none")
    kept = account(taken)
    assert (kept.on_purpose, kept.unexpected) == (2, 2)
    assert kept.watched_s == pytest.approx(30.2 - rest(taken).back_s, abs=0.2)
    assert kept.unwatched_s == {Unwatched.TOUCHED: pytest.approx(rest(taken).back_s + 2, abs=0.2)}


@pytest.mark.usefixtures("stamped")
def test_where_the_other_end_lost_it_at_that_time_nobody_knows(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    _command(bench, taken)
    clock.now += 20
    for name in ("dut.p0", "peer.p0"):
        changes(bench, "Down", "Up", name=name)
    look(1)
    look(1)
    found = check(taken)
    assert found.verdict is Verdict.UNDECIDED and "peer.p0 counted 2: the cable or either port" in found.message


@pytest.mark.usefixtures("stamped")
def test_what_the_other_end_lost_at_another_time_is_no_excuse(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    _command(bench, taken)
    changes(bench, "Down", "Up", name="peer.p0")
    clock.now += 20
    changes(bench, "Down", "Up")
    look(1)
    look(1)
    assert check(taken).verdict is Verdict.CARD_FAILURE


@pytest.mark.usefixtures("stamped")
@pytest.mark.parametrize(
    ("after_s", "words"), [(0.5, ("Down", "Up")), (2.0, ("Down",)), (4.5, ("Up",)), (9.0, ("Up", "Down", "Up"))]
)
def test_a_driver_takes_its_time_after_a_touch(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock, after_s: float, words: tuple[str, ...]
) -> None:
    _command(bench, taken)
    if words[0] == "Up":  # its loss is counted, and the driver says nothing of it
        bench.nic("dut.p0").changes += 1
    clock.now += after_s
    changes(bench, *words)
    if words == ("Down",):
        clock.now += 2
        changes(bench, "Up")
    look(30)
    look(1)
    assert check(taken).verdict is Verdict.PASS and account(taken).unexpected == 0


@pytest.mark.usefixtures("stamped")
def test_where_the_driver_says_nothing_the_time_is_not_watched(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    _command(bench, taken)
    clock.now += 20
    changes(bench, "Down", "Up", said=False)
    look(1)
    look(1)
    kept = account(taken)
    assert kept.unwatched_s[Unwatched.UNSAID] == pytest.approx(21) and kept.watched_s == pytest.approx(1)
    assert is_clean(taken)


@pytest.mark.usefixtures("stamped")
def test_a_panic_that_is_put_right_at_the_end_of_the_run_hides_nothing(
    bench: FakeBench, taken: Run, look: Callable[[float], None]
) -> None:
    taken.journal.register("dut", "kernel is made to panic", Action(ActionKind.POWER, "dut", "on"))
    look(60)
    changes(bench, "Down", "Up")
    look(60)
    look(60)
    assert check(taken).verdict is Verdict.CARD_FAILURE


def test_the_check_says_how_much_was_watched(taken: Run, look: Callable[[float], None]) -> None:
    taken.part(CarrierWatch).let("somebody", may=True)
    look(60)
    taken.part(CarrierWatch).let("somebody", may=False)
    look(30)
    look(20)
    look(1)
    said = "19 % of the run was watched; expected at least 30 %: a link that flapped in the rest is not seen"
    assert carrier_check(taken.run_dir) is None and str(kept_carrier(taken.run_dir)) == said
    look(100)
    look(1)
    assert check(taken).message == "58 % of the run was watched"


def _command(_: FakeBench, run: Run) -> None:
    run.server(Role.DUT).run("ip link set dev enp1s0 up")


def _of_the_peer(_: FakeBench, run: Run) -> None:
    run.server(Role.PEER).run("ip link set dev enp1s0 up")


def _cable(_: FakeBench, run: Run) -> None:
    run.journal.done(run.journal.register("bench", "cable is pulled", Action(ActionKind.LOCAL, "controller", "true")))


def _undo(_: FakeBench, run: Run) -> None:
    run.journal.register("dut.p0", "rings are set", Action(ActionKind.SHELL, "dut", "ethtool -G enp1s0 rx 256"))


def _boot(_: FakeBench, run: Run) -> None:
    run.server(Role.PEER).boots_ordered += 1


def _made_again(bench: FakeBench, _: Run) -> None:
    bench.nic("dut.p0").index += 1


def _unseen(_: FakeBench, run: Run) -> None:
    run.part(CarrierWatch).note_touch()


ON_PURPOSE = (_command, _of_the_peer, _cable, _undo, _boot, _made_again, _unseen)


@pytest.mark.parametrize("touch", ON_PURPOSE)
def test_what_was_done_on_purpose_is_no_flap(
    bench: FakeBench, taken: Run, look: Callable[[float], None], touch: Callable[[FakeBench, Run], None]
) -> None:
    touch(bench, taken)
    bench.nic("dut.p0").changes += 4
    look(5)
    bench.nic("dut.p0").changes += 1  # the link returns a moment later
    look(5)
    look(5)
    assert is_clean(taken)


def test_a_flap_long_after_a_touch_is_seen(bench: FakeBench, taken: Run, look: Callable[[float], None]) -> None:
    _command(bench, taken)
    bench.nic("dut.p0").changes += 2
    look(5)
    look(30)
    bench.nic("dut.p0").changes += 2
    look(30)
    look(30)
    found = check(taken)
    assert found.verdict is Verdict.CARD_FAILURE and "dut.p0 counted 2 changes of carrier within 30 s" in found.message


def test_while_somebody_has_a_shell_nothing_is_judged(
    bench: FakeBench, taken: Run, look: Callable[[float], None]
) -> None:
    watch = taken.part(CarrierWatch)
    watch.let("shell of dut", may=True)
    bench.nic("dut.p0").changes += 2
    look(60)
    bench.nic("dut.p0").changes += 2
    look(60)
    watch.let("shell of dut", may=False)
    look(5)
    assert is_clean(taken)


def test_a_shut_port_of_the_switch_is_no_flap_as_long_as_it_is_shut(
    bench: FakeBench, taken: Run, look: Callable[[float], None]
) -> None:
    entry = taken.journal.register("dut.p0", "shut", Action(ActionKind.SWITCH, "switch", "open port1"))
    look(60)
    bench.nic("dut.p0").changes += 2
    look(60)
    taken.journal.done(entry)
    look(5)
    assert is_clean(taken)


def test_a_link_that_comes_late_is_no_flap(bench: FakeBench, taken: Run, look: Callable[[float], None]) -> None:
    bench.cables.stuck["dut.p0"] = False
    look(60)
    del bench.cables.stuck["dut.p0"]
    bench.nic("dut.p0").changes += 1
    look(60)
    look(60)
    assert is_clean(taken)


def test_a_peer_that_booted_by_itself_takes_the_carrier_of_the_dut(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    """It is known only when the peer is looked at: after the dut."""
    bench.nic("dut.p0").changes += 2
    bench.peer.boot()
    clock.now += 60
    assert taken.part(KernelWatch).look()
    look(60)
    assert is_clean(taken)


@pytest.mark.usefixtures("clock")
def test_a_run_that_watched_no_second_has_no_check(taken: Run) -> None:
    with taken.part(KernelWatch).beginning():
        pass
    runs.release()
    assert carrier_check(taken.run_dir) is None


def test_a_continued_run_knows_what_its_killed_part_has_counted(
    bench: FakeBench, taken: Run, look: Callable[[float], None], clock: Clock
) -> None:
    bench.nic("dut.p0").changes += 2
    look(60)
    look(60)
    before = check(taken)
    kept = kept_carrier(taken.run_dir)
    assert before.verdict is Verdict.CARD_FAILURE and kept is not None
    for _ in range(2):  # it is killed again
        keep_carrier(taken.evidence_folder, replace(kept, began=kept.began - timedelta(seconds=300)))
        continued(taken)
        again = taken.part(KernelWatch)
        with again.beginning():
            pass
        assert check(taken) == before
        kept = kept_carrier(taken.run_dir)
        assert kept is not None
    assert kept.ports["dut.p0"].unwatched_s[Unwatched.KILLED] == pytest.approx(600 - kept.ports["dut.p0"].watched_s, 2)
    for _ in range(3):
        clock.now += 60
        assert again.look() == []
    runs.release()
    assert check(taken) == before and account(taken).unexpected == 2
    assert account(taken).watched_s > 180 > account(taken).seconds - 600


def test_a_run_into_the_folder_of_an_earlier_one_begins_at_nothing(
    bench: FakeBench, taken: Run, look: Callable[[float], None]
) -> None:
    bench.nic("dut.p0").changes += 2
    look(60)
    look(60)
    continued(taken)
    (taken.run_dir / "run.json").unlink()
    with taken.part(KernelWatch).beginning():
        pass
    assert carrier_check(taken.run_dir) is None


@pytest.mark.usefixtures("look")
def test_another_file_is_a_bench_fault(taken: Run) -> None:
    (taken.evidence_folder / "carrier.json").write_text('{"format": 3}')
    found = check(taken)
    assert found.verdict is Verdict.BENCH_FAULT and "carrier.json: is no record of carriers" in found.message
