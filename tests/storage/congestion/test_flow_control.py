"""Loads on a congested SAN with flow control off and on: settings, pause frames, and what both are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from accepted_runs import accept_day
from congested_bench import VLAN, Programs, connected, programs
from fake_bench import FakeBench
from fake_parts import changes
from fake_settings import FakeSettings, settings_of

from CongestedStorage import CongestedStorage
from niclab.bench.records import Role
from niclab.card import PauseFacts
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, Undecided
from niclab.frames import delivery
from niclab.hosts.errors import NotOffered
from niclab.hosts.host_records import Counters
from niclab.hosts.settings.ethtool_records import Pause
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.settings import mtu
from niclab.storage.congestion import flow_control, pause_frames
from niclab.storage.congestion.congested_answer import CongestedAnswer
from niclab.storage.congestion.congested_runs import DisksLoaded
from niclab.storage.congestion.congested_san import CongestedSan
from niclab.storage.congestion.flow_answer import FlowAnswer, FlowControl, Unasked
from niclab.storage.congestion.pause_frames import PortPauses

__all__ = ["connected", "programs"]

FACTS = PauseFacts.model_validate(
    {
        "autoneg": True,
        "rx": True,
        "tx": True,
        "settable": True,
        "received_counter": "xoff_in",
        "sent_counter": "xoff_out",
        "source": "test",
    }
)
OFF, ON = FlowControl.OFF, FlowControl.ON
READY, REACHED, COUNTED = "links", "reached", "counted"


@dataclass
class Ports:
    """The ports of the SAN by name, and what became of their pause frames.

    ``asks``: pause frames that the dut's port sends in a congested run, by the setting of ``tx``; ``from_run``: the
    congested run from which on it does so. ``stopped``: those that each source gets from the switch while it obeys
    them. ``seen``, ``undos``: the setting of each port in each run, and how many are in the journal.
    """

    run: Run
    settings: Mapping[Role, FakeSettings]
    asks: dict[bool, int] = field(default_factory=lambda: {True: 2, False: 0})
    runs: range = range(999)
    stopped: int = 5
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    seen: list[dict[str, tuple[bool, bool, bool]]] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    congested: int = 0
    undos: list[int] = field(default_factory=list)

    def pause(self, name: str) -> dict[str, bool]:
        port = self.run.bench.port(name)
        return self.settings[port.role].ports[self.run.interface(port)].pause

    def meanwhile(self, is_congested: bool) -> None:
        pauses = {name: self.pause(name) for name in ("dut.p0", "peer.p0", "peer.p1")}
        self.seen.append({name: (each["autoneg"], each["rx"], each["tx"]) for name, each in pauses.items()})
        self.undos.append(sum(": pause" in each.what for each in self.run.journal.pending()))
        if not is_congested:
            return
        if self.congested in self.runs:
            self.counts["dut.p0"]["xoff_out"] += self.asks[pauses["dut.p0"]["tx"]]
        self.congested += 1
        for name in ("peer.p0", "peer.p1"):
            if "xoff_in" in self.counts[name]:
                self.counts[name]["xoff_in"] += self.stopped * pauses[name]["rx"]

    def shown(self, role: Role, iface: str) -> Counters:
        own = [self.run.bench.port(each) for each in self.counts]
        [name] = [each.name for each in own if (each.role, self.run.interface(each)) == (role, iface)]
        return Counters(tuple(self.counts[name].items()))


@pytest.fixture
def ports(connected: Run, programs: Programs, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Ports:
    made = Ports(connected, {role: settings_of(bench, role) for role in Role})
    for name, base in (("dut.p0", 100), ("peer.p0", 200), ("peer.p1", 300)):
        made.counts[name] = {"xoff_in": base, "xoff_out": base}
    for role in Role:
        monkeypatch.setattr(bench.hosts[role], "counters", partial(made.shown, role), raising=False)
    connected.card = connected.card.model_copy(update={"pause": FACTS})
    programs.meanwhile = made.meanwhile
    monkeypatch.setattr(mtu, "wait_for_links", lambda _, path: made.events.append(f"{READY} {path.name}"))
    monkeypatch.setattr(CongestedSan, "require_reached", lambda *_: made.events.append(REACHED))
    monkeypatch.setattr(flow_control, "pause", lambda _: made.events.append(COUNTED))
    return made


def measured(run: Run, profile: Profile = Profile.QUICK) -> FlowAnswer:
    return flow_control.measure(run, VLAN, profile, lambda _: None)


def judge(run: Run, answer: FlowAnswer) -> None:
    flow_control.judge(run, answer, lambda _: None)


def test_a_sound_card_is_loaded_with_both_settings_in_turns(connected: Run, programs: Programs, ports: Ports) -> None:
    before = {name: dict(ports.pause(name)) for name in ports.counts}
    pending = len(changes(connected.journal))
    answer = measured(connected)
    judge(connected, answer)
    assert len(ports.seen) == 32
    off, on = (False, False, False), (False, True, True)
    assert ports.seen == [dict.fromkeys(ports.counts, each) for each in (off, on, on, off) for _ in range(8)]
    assert {name: ports.pause(name) for name in ports.counts} == before
    assert len(changes(connected.journal)) == pending and set(ports.undos) == {6}
    once = [f"{READY} a", f"{READY} b"]
    counted = {OFF: [COUNTED, COUNTED], ON: [COUNTED]}
    assert ports.events == [event for flow in (OFF, ON, ON, OFF) for event in (*once, REACHED, *counted[flow], *once)]
    # a session of each SAN for each setting
    assert programs.ends == 8 and [plan["load"] for plan in programs.plans].count("fill") == 8
    place = connected.bench.port("dut.p0").place
    assert answer.unasked == Unasked(place, "xoff_out", (0, 0)) and not answer.kept
    assert answer.off.loads[0].subject == (
        "peer.p0 and peer.p1 to dut.p0, flow control off, iSCSI, sequential reads of 256 KiB"
    )
    assert len(answer.on.loads[0].congested.values) == 4


def test_both_are_compared_by_all_that_was_counted(connected: Run, programs: Programs, ports: Ports) -> None:
    def paused(is_congested: bool) -> None:
        ports.meanwhile(is_congested)
        programs.discarded = programs.resent = 20 if ports.pause("peer.p0")["rx"] else 300
        programs.lasts_s = 2.0 if ports.pause("peer.p0")["rx"] else 1.0

    programs.meanwhile = paused
    answer = measured(connected)
    judge(connected, answer)
    read, random = answer.figures()
    assert read.subject == (
        "peer.p0 and peer.p1 to dut.p0, flow control on against off, iSCSI, sequential reads of 256 KiB"
    )
    assert read.found.startswith("congested SAN (2:1) ")
    assert "sent again: dut 0 against 0, peer 80 against 1200; discarded by the switch 80 against 1200; base" in (
        read.found
    )
    assert "dut.p0 received 0 pause frames against 0, sent 8 against 0; peer.p0 received 20 pause frames against 0" in (
        read.found
    )
    assert read.found.endswith("sent 0 against 0; the switch sent pause frames")
    assert (read.unit, read.outcome, read.expected) == ("%", Decision.MET, "no limit: recorded")
    assert read.value == pytest.approx(
        100 * sum(answer.on.loads[0].congested.values) / sum(answer.off.loads[0].congested.values)
    )
    assert read.value < 80 and random.subject.endswith("random operations of 8 KiB, 67 % reads")
    noted = [each.subject for each in connected.notes.take_figures()]
    assert len(noted) == 6 and noted[-2:] == [read.subject, random.subject]
    text = (connected.run_dir / "measurements.json").read_text()
    assert "congested iSCSI load 1, flow control off" in text and "congested iSCSI load 1, flow control on" in text
    assert [chart.title for chart in answer.charts()[:2]] == [each.subject.replace(",", "") for each in (read, random)]
    assert len(answer.made()) == 32
    assert f"{read.subject}: {read.found}" in answer.lines()


def test_the_keyword_shows_figures_and_passes(connected: Run, programs: Programs, ports: Ports) -> None:
    CongestedStorage().network_disks_should_work_on_a_congested_san_with_flow_control_off_and_on(VLAN, Profile.QUICK)
    assert programs.ends == 8 and len(connected.notes.take_figures()) == 6 and ports.seen


def test_pause_frames_of_a_port_that_is_not_to_send_them_are_the_cards(
    connected: Run, programs: Programs, ports: Ports
) -> None:
    ports.asks[False] = 3
    programs.strays = True  # counts of data that disagree explain no pause frame
    answer = measured(connected)
    with pytest.raises(CardFailure, match=r"flow control off: 12, 12 \(its driver's counter xoff_out\).*it is not to"):
        judge(connected, answer)
    assert any("although it is not to" in line for line in answer.lines())


@pytest.mark.parametrize("is_cards", [True, False])
def test_a_later_session_that_fails_hides_no_pause_frames(
    connected: Run, programs: Programs, ports: Ports, monkeypatch: pytest.MonkeyPatch, is_cards: bool
) -> None:
    """The links of the last one do not come back: what was counted in two is proven."""
    ports.asks[False] = 3 if is_cards else 0

    def links(*_: object) -> None:
        if programs.ends == 8:
            raise BenchFault("dut.p0: no link")

    monkeypatch.setattr(mtu, "wait_for_links", links)
    words = r"flow control off: 12, 12 .*it is not to\nundecided: " if is_cards else r"^dut\.p0: no link$"
    with pytest.raises(CardFailure if is_cards else BenchFault, match=words):
        measured(connected)


def test_pause_frames_of_one_session_alone_are_undecided(connected: Run, programs: Programs, ports: Ports) -> None:
    assert programs
    ports.asks, ports.runs = {True: 0, False: 3}, range(1, 2)
    answer = measured(connected)
    with pytest.raises(Undecided, match=r"flow control off: 3, 0 .*seen in one session; expected in 2"):
        judge(connected, answer)


@pytest.mark.parametrize("there", [False, True], ids=["missing", "runs backwards"])
def test_pause_frames_that_nobody_counts_are_undecided(
    connected: Run, programs: Programs, ports: Ports, there: bool
) -> None:
    def again(is_congested: bool) -> None:
        ports.meanwhile(is_congested)
        if not ports.pause("dut.p0")["tx"]:
            ports.counts["dut.p0"]["xoff_out"] = 0

    if there:
        programs.meanwhile = again
    else:
        ports.asks = {True: 0, False: 0}
        ports.counts["dut.p0"] = {"xoff_in": 1, "other": 2}
        programs.meanwhile = lambda _: None
    answer = measured(connected)
    with pytest.raises(Undecided, match=r"flow control off: (not counted|0), .*expected none"):
        judge(connected, answer)


def test_a_card_that_ignores_the_setting_fails(connected: Run, programs: Programs, ports: Ports) -> None:
    settings = ports.settings[Role.DUT]
    settings.faults.add("pause refused")
    with pytest.raises(CardFailure, match=r"pause .* was set, it shows True \(not supported\)"):
        measured(connected)
    assert not programs.plans


def test_a_peer_that_ignores_the_setting_is_the_benchs_fault(connected: Run, programs: Programs, ports: Ports) -> None:
    ports.settings[Role.PEER].faults.add("pause refused")
    with pytest.raises(BenchFault, match=r"peer\.p0 .* was set, it shows True"):
        measured(connected)
    assert not programs.plans and ports.pause("dut.p0") == {"autoneg": True, "rx": True, "tx": True}


def test_a_driver_of_the_dut_without_flow_control_is_not_applicable(
    connected: Run, programs: Programs, ports: Ports, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ports

    def hidden(iface: str) -> Pause:
        raise NotOffered(f"{iface} shows none")

    monkeypatch.setattr(bench.dut, "pause", hidden, raising=False)
    with pytest.raises(NotApplicable, match="shows none"):
        measured(connected)
    assert not programs.plans


def test_a_peer_without_flow_control_keeps_it(
    connected: Run, programs: Programs, ports: Ports, bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hidden(iface: str) -> Pause:
        raise NotOffered(f"{iface} shows none")

    monkeypatch.setattr(bench.peer, "pause", hidden, raising=False)
    ports.counts["peer.p0"] = ports.counts["peer.p1"] = {}
    answer = measured(connected)
    judge(connected, answer)
    assert [each.split(": ")[0] for each in answer.kept] == [
        "peer.p0 keeps its flow control",
        "peer.p1 keeps its flow control",
    ]
    assert answer.lines()[0] == answer.kept[0] and programs.plans
    assert "peer.p1 received not counted pause frames against not counted" in answer.figures()[0].found
    assert answer.figures()[0].found.endswith("the switch was seen to send no pause frames")


def test_losses_are_judged_with_both_settings(connected: Run, programs: Programs, ports: Ports) -> None:
    def slow(is_congested: bool) -> None:
        ports.meanwhile(is_congested)
        programs.discarded = 100 if ports.pause("dut.p0")["tx"] else 300

    programs.meanwhile = slow
    answer = measured(connected)
    with pytest.raises(Undecided, match=r"peer sent 1200 TCP segments again.*by the switch 400,"):
        judge(connected, answer)
    assert not any(load.lost[0].unexplained for load in answer.off.loads)
    counted = tuple(
        replace(load, lost=tuple(replace(each, by_dut=800) for each in load.lost)) for load in answer.on.loads
    )
    with pytest.raises(CardFailure, match=r"flow control on.*by the dut's port 800"):
        judge(connected, replace(answer, on=replace(answer.on, loads=counted)))


def test_a_san_that_is_congested_with_flow_control_on_alone_is_not_congested(
    connected: Run, programs: Programs, ports: Ports
) -> None:
    def idle(is_congested: bool) -> None:
        ports.meanwhile(is_congested)
        programs.discarded = programs.resent = 300 if ports.pause("dut.p0")["tx"] else 0

    programs.meanwhile = idle
    answer = measured(connected)
    with pytest.raises(Undecided, match=r"flow control off: no load filled the switch's port"):
        judge(connected, answer)
    judge(connected, replace(answer, off=answer.on, on=answer.off))


@pytest.mark.parametrize("flow", ["off", "on"])
def test_damage_and_counts_are_judged_with_both_settings(
    connected: Run, programs: Programs, ports: Ports, monkeypatch: pytest.MonkeyPatch, flow: str
) -> None:
    assert programs and ports
    answer = measured(connected)
    asked: CongestedAnswer = getattr(answer, flow)
    with pytest.raises(BenchFault, match=f"flow control {flow}: counts disagree"):
        judge(connected, replace(answer, **{flow: replace(asked, problems=("counts disagree",))}))
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=f"flow control {flow}: 2 blocks"):
        judge(connected, replace(answer, **{flow: replace(asked, damaged=("2 blocks",))}))


def test_a_load_that_fails_in_one_session_is_compared_in_none(
    connected: Run, programs: Programs, ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(is_congested: bool) -> None:
        ports.meanwhile(is_congested)
        programs.dead = {"random"} if ports.pause("dut.p0")["tx"] else set()

    programs.meanwhile = dies
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    answer = measured(connected)
    assert [len(each.loads) for each in (answer.off, answer.on)] == [1, 1]
    with pytest.raises(Undecided, match=r"flow control on: .* 40 operations failed"):
        judge(connected, answer)


def test_everything_of_each_session_counts(
    connected: Run, programs: Programs, ports: Ports, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert programs and ports
    made, load = list[DisksLoaded](), flow_control.load_disks

    def marked(*given: Any) -> DisksLoaded:
        found, number = load(*given), len(made)
        made.append(found)
        stood = {each: replace(one, stood=(Stood("dut", number),)) for each, one in found.loads.items()}
        return DisksLoaded(stood, (f"problem {number}",), (f"damage {number}",))

    monkeypatch.setattr(flow_control, "load_disks", marked)
    answer = measured(connected)
    for found, numbers in ((answer.off, (0, 3)), (answer.on, (1, 2))):
        assert found.problems == tuple(f"problem {number}" for number in numbers)
        assert found.damaged == tuple(f"damage {number}" for number in numbers)
        assert {load.stood for load in found.loads} == {tuple(Stood("dut", number) for number in numbers)}


def test_each_setting_is_compared_with_accepted_runs_of_its_own(
    connected: Run, programs: Programs, ports: Ports
) -> None:
    assert programs and ports
    measured(connected)
    for day in (1, 2, 3, 4, 5, 6):
        accept_day(connected, day)
    assert len(measured(connected).questions()) == 4


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        (None, SheetSilent, "nothing about pause"),
        ({"settable": False}, NotApplicable, "says that pause frames cannot be set"),
        ({"sent_counter": None}, SheetSilent, r"nothing about pause\.sent_counter"),
    ],
    ids=["no section", "fixed", "no counter"],
)
def test_a_sheet_without_flow_control_costs_nothing(
    connected: Run,
    ports: Ports,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object] | None,
    error: type,
    says: str,
) -> None:
    facts = None if changes is None else FACTS.model_copy(update=changes)
    connected.card = connected.card.model_copy(update={"pause": facts})
    monkeypatch.setattr(CongestedSan, "laid", None)  # nobody lays it
    with pytest.raises(error, match=says):
        measured(connected)
    assert not ports.events


def test_full_makes_more_sessions(connected: Run, programs: Programs, ports: Ports) -> None:
    assert ports
    programs.lasts_s = 10.0
    answer = measured(connected, Profile.FULL)
    assert len(answer.unasked.sent) == 3 and len(answer.off.loads[0].congested.values) == 6


@pytest.mark.parametrize(
    ("sent", "proven", "possible"),
    [
        ((0, 0, 0), False, False),
        ((1, 0, 7), True, False),
        ((0, 7, 0), False, True),
        ((0, None, 0), False, True),
        ((None, 2, 2), True, False),
    ],
)
def test_a_port_is_charged_with_what_it_does_twice(sent: tuple[int | None, ...], proven: bool, possible: bool) -> None:
    found = Unasked("dut.p0", "xoff", sent).judgement
    assert (bool(found.proven), bool(found.possible)) == (proven, possible)


def test_drivers_that_do_not_send_without_receiving_are_asked_in_an_order_that_they_take() -> None:
    assert (ON.order, OFF.order, ON.is_on, OFF.is_on) == (("rx", "tx"), ("tx", "rx"), True, False)


def test_pause_frames_that_are_not_counted_at_some_time_are_not_counted() -> None:
    assert pause_frames.total([PortPauses(1, 2), PortPauses(3, None)]) == PortPauses(4, None)
    assert PortPauses(5, 9).since(PortPauses(2, 10)) == PortPauses(3, None)
    assert PortPauses(None, 9).since(PortPauses(2, None)) == PortPauses(None, None)
