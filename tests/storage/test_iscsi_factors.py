"""Each factor alone under loads over iSCSI: a change in percent, judged where the sheet predicts it; all comes back."""

from __future__ import annotations

import copy
import logging
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from accepted_runs import accept_day
from fake_bench import FakeBench
from fake_disks import FakeDisks
from fake_settings import with_sheet
from measured_states import MORE, States

from niclab.bench.records import DeclaredDeviation, Role, SiliconFact
from niclab.card import StorageFacts, StorageLoad
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetUnknown, Undecided
from niclab.frames import delivery
from niclab.hosts.settings.ethtool_records import Feature
from niclab.report.evidence.evidence import read_index
from niclab.run.run import Run
from niclab.settings import mtu
from niclab.storage.factors import checksum_offload, factor_question
from niclab.storage.factors.factor_answer import FactorAnswer
from niclab.storage.factors.variant_sessions import VariantSessions
from niclab.traffic.limits import bottleneck
from niclab.traffic.runs import measuring
from StorageFactors import StorageFactors

FACTS = StorageFacts(workloads=tuple(StorageLoad), source="a document")
QUICK = Profile.QUICK
TSO = (
    "      wanted: {unknown: storage only}\n",
    "      wanted: {unknown: storage only}\n"
    "    - name: tso-off\n"
    "      settings: [{kind: mtu, to: 9000}, {kind: offload, name: tso4, to: false}]\n"
    "      wanted: {unknown: storage only}\n"
    "      iscsi: {gains_at_most_percent: 10}\n",
)


@pytest.fixture
def states(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> States:
    monkeypatch.setattr(bottleneck, "LOOK_S", 0.001)
    monkeypatch.setattr(bottleneck, "loopback_bps", lambda *_: 1e12)
    monkeypatch.setattr(measuring, "COUNTERS_WITHIN_S", 0.02)
    monkeypatch.setattr(mtu, "LINKS_WITHIN_S", 0.2)
    bench.sheet.write_text(bench.sheet.read_text().replace("errata: []\n", ""))
    with_sheet(bench, taken, TSO, more=MORE)
    taken.card = taken.card.model_copy(update={"iscsi": FACTS})
    paths = tuple(path.model_copy(update={"rate_scale": 1}) for path in taken.bench.paths)
    taken.bench = taken.bench.model_copy(update={"paths": paths})
    return States(bench)


@pytest.fixture
def disks(states: States, monkeypatch: pytest.MonkeyPatch) -> FakeDisks:
    return FakeDisks(states, monkeypatch)


@pytest.fixture
def warnings(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    said = list[str]()
    monkeypatch.setattr("robot.api.logger.warn", lambda text, *_, **__: said.append(text))
    yield said
    said += [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def factors() -> None:
    StorageFactors().each_factor_alone_should_change_network_disks_as_predicted(QUICK)


def checksums(profile: Profile = QUICK) -> None:
    StorageFactors().checksum_offload_should_stay_on_under_network_disks(profile)


def ports(states: States) -> dict[Role, dict[str, object]]:
    return {role: copy.deepcopy(vars(each.ports["enp1s0"])) for role, each in states.settings.items()}


def kept(found: dict[Role, dict[str, object]]) -> dict[Role, tuple[object, object]]:
    return {role: (port["features"], port["mtu"]) for role, port in found.items()}


def sums_are_on(states: States) -> bool:
    return states.settings[Role.DUT].ports["enp1s0"].features["tx-checksumming"].on


def test_each_load_is_told_in_percent_of_its_baseline(states: States, taken: Run, disks: FakeDisks) -> None:
    before = ports(states)
    disks.speed = lambda load: 0.8 if load == "write" and not states.tso() else 1.0
    disks.resends = lambda: 0 if states.tso() else 2
    factors()
    assert kept(ports(states)) == kept(before) and not [each for each in taken.journal.pending() if "tso" in each.what]
    noted = {each.subject: each for each in taken.notes.take_figures()}
    assert len(noted) == 9, "three factors, three loads"
    slow = noted["dut.p0 to peer.p0, tso-off under iSCSI, sequential writes of 256 KiB"]
    assert slow.value == pytest.approx(-20, abs=1) and slow.outcome is Decision.MET and slow.at_most == 10
    assert "at most 10 % more (sheet intel-82574l, tso-off)" in slow.expected
    reno = noted["peer.p0 to dut.p0, reno under iSCSI, random operations of 8 KiB, 67 % reads"]
    assert reno.expected == "no prediction: recorded" and "without it: " in reno.found and "sent again" in reno.found
    files = {entry.file: entry for entry in read_index(taken.evidence_folder)}
    (table,) = (name for name in files if name.endswith("table.csv"))
    heading, *rows = (taken.evidence_folder / table).read_text().splitlines()
    assert heading.startswith("factor,load,change %,low %,high %,pairs,answer,baseline operations/s") and len(rows) == 9
    (tso,) = (row.split(",") for row in rows if row.startswith("tso-off under iSCSI,sequential-write"))
    assert float(tso[2]) == pytest.approx(-20, abs=1) and tso[6] == "met" and tso[-1] == "6" and tso[-8] == "0"
    assert "iscsi_sequential_write_operations" in (taken.run_dir / "measurements.json").read_text()


def test_a_session_begins_and_ends_between_two_changes(states: States, disks: FakeDisks) -> None:
    seen = list[tuple[int, bool, int]]()

    def speed(_: str) -> float:
        peer = states.settings[Role.PEER].ports["enp1s0"]
        seen.append((states.mtu(), states.tso(), peer.mtu))
        assert peer.features["tx-tcp-segmentation"].on, "only the dut's settings change"
        return 1.0

    disks.speed = speed
    factors()
    assert set(seen) == {(1500, True, 1500), (9000, True, 9000), (9000, False, 9000)}
    log = "/".join(disks.log)
    assert log.count("log in/fill") == log.count("check/end/log out") == disks.log.count("log in")
    assert not disks.log or disks.log[0] == "log in"


def test_a_factor_that_gains_more_than_predicted_is_the_cards(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.speed = lambda load: 1.0 if load != "write" or not states.tso() else 0.6
    monkeypatch.setattr("niclab.storage.factors.factor_question.binding", lambda *_: _Line)
    with pytest.raises(
        CardFailure, match=r"^dut\.p0 to peer\.p0, tso-off under iSCSI, sequential writes of 256 KiB: "
    ) as caught:
        factors()
    assert "expected at most 10 % more (sheet intel-82574l, tso-off): missed" in str(caught.value)
    assert states.tso(), "put back all the same"


class _Line:
    doubts = ()


def test_a_gain_that_the_target_may_explain_is_nobodys(states: States, disks: FakeDisks) -> None:
    disks.speed = lambda load: 1.0 if load != "write" or not states.tso() else 0.6
    with pytest.raises(Undecided, match=r"tso-off under iSCSI, sequential writes.*missed; held back by the iSCSI targ"):
        factors()


@pytest.mark.parametrize("is_cards", [False, True])
def test_damage_is_charged_to_whoever_damages_frames(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch, is_cards: bool
) -> None:
    disks.damaged = lambda: 0 if states.tso() else 2

    def compared(*_: object) -> None:
        if is_cards:
            raise CardFailure("dut.p0 damages frames")

    monkeypatch.setattr(delivery, "once_in_order", compared)
    words = r"^tso-off under iSCSI: with it: .*2 blocks with another content.*nobody knows"
    with pytest.raises(CardFailure if is_cards else Undecided, match="damages frames" if is_cards else words):
        factors()


def test_no_step_follows_one_that_damages_data(disks: FakeDisks, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = list[str](), factor_question._Asked.ask
    monkeypatch.setattr(
        factor_question._Asked, "ask", lambda self, factor: (asked.append(factor.name), ask(self, factor))[1]
    )
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    disks.damaged = lambda: 2
    with pytest.raises(Undecided, match=r"^default under iSCSI: with(out)? it: .*2 blocks with another content"):
        factors()
    assert asked == ["default"]


@pytest.mark.parametrize("check", [factors, checksums])
def test_operations_that_all_fail_under_a_setting_are_judged(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]
) -> None:
    is_whole = states.tso if check is factors else lambda: sums_are_on(states)
    disks.failed = lambda: 0 if is_whole() else 3
    disks.speed = lambda _: 1.0 if is_whole() else 0.0
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"it: .*, 3 operations failed, .*nobody knows"):
        check()


def test_counts_that_disagree_are_the_benchs_fault(disks: FakeDisks) -> None:
    disks.is_counted = False
    with pytest.raises(BenchFault, match=r"^default under iSCSI, with(out)? it: bytes read: 0 at the disks"):
        factors()


def test_a_session_that_is_lost_is_nobodys(states: States, disks: FakeDisks) -> None:
    disks.drops = lambda: not states.tso()
    with pytest.raises(Undecided, match=r"^tso-off under iSCSI, with it \d sessions lost the TCP connection"):
        factors()


@pytest.mark.parametrize("end", [BenchFault("dut: no session"), Undecided("dut stood still"), None])
def test_no_end_of_a_later_step_hides_a_failure(
    states: States, taken: Run, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch, end: Exception | None
) -> None:
    """Another step ends without an answer, or with damaged data that nobody is charged with."""
    sequence, ask, asked = taken.card.sequence, factor_question._Asked.ask, list[str]()
    assert sequence is not None
    steps = sequence.steps[::-1]
    taken.card = taken.card.model_copy(update={"sequence": sequence.model_copy(update={"steps": steps})})

    def later(self: factor_question._Asked, factor: factor_question.Factor) -> FactorAnswer:
        asked.append(factor.name)
        if end is not None and factor.name != "tso-off":
            raise end
        return ask(self, factor)

    monkeypatch.setattr(factor_question._Asked, "ask", later)
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    disks.speed = lambda load: 1.0 if load != "write" or not states.tso() else 0.6
    disks.damaged = lambda: 2 if end is None and asked[-1] != "tso-off" else 0
    monkeypatch.setattr("niclab.storage.factors.factor_question.binding", lambda *_: _Line)
    with pytest.raises(CardFailure, match=r"^dut\.p0 to peer\.p0, tso-off under iSCSI, sequential writes.*: missed"):
        factors()
    assert asked[0] == "tso-off" and len(asked) == (len(steps) if isinstance(end, Undecided) else 2)


def test_counts_of_one_step_that_disagree_hide_no_failure_of_another(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch
) -> None:
    disks.speed = lambda load: 1.0 if load != "write" or not states.tso() else 0.6
    ask = factor_question._Asked.ask

    def counted(self: factor_question._Asked, factor: factor_question.Factor) -> FactorAnswer:
        found = ask(self, factor)
        return found if factor.name == "tso-off" else replace(found, problems=("without it: bytes read: 0",))

    monkeypatch.setattr(factor_question._Asked, "ask", counted)
    monkeypatch.setattr("niclab.storage.factors.factor_question.binding", lambda *_: _Line)
    with pytest.raises(CardFailure, match=r"tso-off under iSCSI, sequential writes.*: missed"):
        factors()


@pytest.mark.parametrize("check", [factors, checksums])
def test_a_way_out_that_fails_replaces_no_failure(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch, check: Callable[[], None]
) -> None:
    """The links of a wrong card may stay down when its settings are put back."""
    states.settings[Role.DUT].faults |= {"tx-tcp-segmentation stuck", "tx-checksumming stuck"}
    close = VariantSessions.close

    def closed(self: VariantSessions) -> None:
        close(self)
        if sys.exception() is not None:
            raise BenchFault("dut.p0: no link")

    monkeypatch.setattr(VariantSessions, "close", closed)
    assert disks.is_counted
    with pytest.raises(CardFailure, match="was set, it shows True") as caught:
        check()
    assert caught.value.__notes__ == ["dut.p0: no link"]


def test_an_offload_that_is_off_outlives_a_session_that_fails(
    states: States, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch
) -> None:
    states.settings[Role.DUT].ports["enp2s0"].features["tx-checksumming"] = Feature(False, False, None)
    finish = VariantSessions.finish

    def lost(self: VariantSessions) -> None:
        finish(self)
        if disks.log.count("log in") > 1:
            raise BenchFault("dut: no session")

    monkeypatch.setattr(VariantSessions, "finish", lost)
    with pytest.raises(CardFailure, match="is off while disks are used over iSCSI; expected on"):
        checksums()


@pytest.mark.usefixtures("disks")
def test_a_setting_that_does_not_come_is_the_cards(states: States) -> None:
    states.settings[Role.DUT].faults.add("tx-tcp-segmentation stuck")
    with pytest.raises(CardFailure, match="offload tso4 off was set, it shows True"):
        factors()


def test_a_program_that_fails_is_not_compared_on_top_of_it(disks: FakeDisks) -> None:
    disks.speed = lambda _: 0.0
    with pytest.raises(BenchFault, match="no operation ended"):
        factors()
    assert disks.log[-3:] == ["random", "end", "log out"], "the session is ended, and its disks are not read"


@pytest.mark.usefixtures("disks")
def test_sheets_without_loads_or_a_sequence_are_not_applicable(taken: Run) -> None:
    card = taken.card
    taken.card = card.model_copy(update={"sequence": None})
    with pytest.raises(NotApplicable, match="sequence"):
        factors()
    taken.card = card.model_copy(update={"iscsi": None})
    for check in (factors, checksums):
        with pytest.raises(NotApplicable, match="has no section iscsi"):
            check()


def test_figures_that_are_worse_than_accepted_runs_are_missed(
    taken: Run, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niclab.storage.factors.factor_question.binding", lambda *_: _Line)
    checksums()
    for day in (1, 2, 3, 4, 5, 6):
        accept_day(taken, day)
    disks.speed = lambda _: 0.5
    with pytest.raises(CardFailure, match=r"checksum-offload-off under iSCSI, random.*it, baseline: .*missed"):
        checksums()


def test_checksum_offload_is_on_and_its_cost_is_warned_of(
    states: States, taken: Run, disks: FakeDisks, warnings: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    disks.speed = lambda _: 1.0 if sums_are_on(states) else 0.7
    disks.resends = lambda: 0 if sums_are_on(states) else 200
    disks.drops = lambda: not sums_are_on(states)
    checksums()
    assert sums_are_on(states) and set(disks.log) == {"log in", "fill", "random", "check", "end", "log out"}
    (figure,) = taken.notes.take_figures()
    assert (
        figure.value == pytest.approx(-30, abs=1)
        and figure.at_least is None
        and figure.expected == "no prediction: recorded"
    )
    assert "with it: " in figure.found and "peer 600" in figure.found
    text = "\n".join(warnings)
    assert "keep it on: Sums stay on. (test)" in text and "peer sent 600 TCP segments again" in text
    assert "checksum-offload-off under iSCSI, with it 2 sessions lost the TCP connection" in text
    assert any("offload tx-checksum goes off: Sums stay on." in each.getMessage() for each in caplog.records)


def test_checksum_offload_without_a_cost_warns_of_none(disks: FakeDisks, warnings: list[str]) -> None:
    checksums()
    assert warnings == [] and disks.log


def test_all_loads_are_run_in_full(disks: FakeDisks, taken: Run) -> None:
    checksums(Profile.FULL)
    assert {"random", "read", "write"} <= set(disks.log) and len(taken.notes.take_figures()) == 3


def test_a_cost_that_the_emulated_card_cannot_show_is_said(
    taken: Run, disks: FakeDisks, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = list[str]()
    monkeypatch.setattr("robot.api.logger.info", lambda text, *_, **__: said.append(text))
    facts = {"card": "intel-82574l", "fact": SiliconFact.CHECKSUM_WORK, "how": "it sums by itself", "source": "test"}
    declared = DeclaredDeviation(**facts)  # type: ignore[arg-type]
    taken.bench = taken.bench.model_copy(update={"deviations": (declared,)})
    checksums()
    assert "a checksum that is left to the card costs the server nothing here: it sums by itself" in said
    assert disks.log


@pytest.mark.usefixtures("disks")
def test_checksum_offload_that_is_off_under_iscsi_is_the_cards(states: States) -> None:
    port = states.settings[Role.DUT].ports["enp2s0"]
    port.features["tx-checksumming"] = Feature(False, False, None)
    with pytest.raises(
        CardFailure, match=r"^dut\.p1 .*tx-checksum .*is off while disks are used over iSCSI; expected on"
    ):
        checksums()


def test_a_session_with_the_offload_that_is_lost_is_nobodys(states: States, disks: FakeDisks) -> None:
    disks.drops = lambda: sums_are_on(states)
    with pytest.raises(Undecided, match=r"without it .* lost the TCP connection"):
        checksums()


@pytest.mark.usefixtures("disks")
def test_offloads_of_which_the_sheet_says_nothing_keep_that_kind_of_reason(
    taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object) -> None:
        raise SheetUnknown("sheet intel-82574l does not know how offload tx-checksum can be changed")

    monkeypatch.setattr(checksum_offload, "require_offered", unknown)
    with pytest.raises(SheetUnknown, match=r"^tx-checksum: sheet .*; rx-checksum: sheet"):
        checksums()
    monkeypatch.setattr(factor_question, "require_offered", unknown)
    sequence = taken.card.sequence
    assert sequence is not None
    steps = sequence.steps[1:]
    taken.card = taken.card.model_copy(update={"sequence": sequence.model_copy(update={"steps": steps})})
    with pytest.raises(SheetUnknown, match=r"^reno: sheet .*; tso-off: sheet"):
        factors()
