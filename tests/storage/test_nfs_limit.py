"""Reads over NFS against the sheet's limit, on a fake bench: one answer, its figures, and who is blamed for damage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest
from fake_bench import FakeBench
from fake_traffic import carry

from niclab.bench.records import Role
from niclab.card import NfsLimits
from niclab.core.decision import Decision
from niclab.core.profile import Profile
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames import delivery
from niclab.run.run import Run
from niclab.run.watching.standstill import Stood
from niclab.storage.damage import require_undamaged
from niclab.storage.nfs import nfs_limit
from niclab.storage.nfs.nfs_limit import NfsAnswer
from niclab.storage.nfs.nfs_reads import READ_BYTES, NfsTransport
from niclab.storage.nfs.nfs_server import NfsExport
from niclab.storage.storage_figures import Binding
from niclab.traffic.runs import experiment
from Storage import Storage

COMMAND = "cd /tmp/niclab.fake && read over NFS"
LIMITS = NfsLimits(udp_fraction_of_line_rate=0.25, source="a document")
LINE_MBPS = 50.0


class Client:
    """The client program: says the rates in turn, in Mbit/s, and its reads pass the ports of the fake bench."""

    def __init__(self, bench: FakeBench) -> None:
        self.rates: tuple[float, ...] = (20.0, 20.1, 19.9)
        self.damaged, self.runs, self.resent, self.missed = 0, 0, 0, 0
        self.plans = list[dict[str, object]]()
        self.alone = list[dict[str, object]]()
        self.alone_mbps = 40.0
        self._bench = bench
        bench.ssh[Role.PEER].replies[COMMAND] = self._run

    def command(self, plan: dict[str, object], lasts_s: int) -> str:
        assert lasts_s == plan["seconds"]
        self.plans.append(plan)
        return COMMAND

    def do(self, plan: dict[str, object]) -> dict[str, object]:
        self.alone.append(plan)
        reads = round(self.alone_mbps * 1e6 * 2 / 8 / READ_BYTES)
        said = {"reads": reads, "elapsed_s": 2.0, "all_reads": reads, "resent": 0, "unanswered": 0, "strange": 0}
        return said | {"damaged": 0, "example": ""}

    def _run(self, _: str) -> str:
        rate = self.rates[self.runs % len(self.rates)]
        self.runs += 1
        reads = round(rate * 1e6 * 2 / 8 / READ_BYTES)
        carry(self._bench, "198.18.10.2 --bind 198.18.10.1", size=reads * 33_500, frames=23 * reads)
        said = {
            "reads": reads,
            "elapsed_s": reads * READ_BYTES * 8e-6 / rate,
            "all_reads": reads,
            "resent": self.resent,
        }
        self._bench.nic("dut.p0").frames["rx_missed_errors"] = self.runs * self.missed
        return json.dumps(said | {"unanswered": 0, "strange": 0, "damaged": self.damaged, "example": "byte 7"})

    @staticmethod
    def said(text: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(text)
        return found


@pytest.fixture
def client(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Client:
    made = Client(bench)

    @contextmanager
    def serving(*_: object) -> Iterator[NfsExport]:
        yield NfsExport("198.18.10.2", "198.18.10.1", "abc")

    monkeypatch.setattr(nfs_limit, "serving", serving)

    @contextmanager
    def to_itself(_: Run, export: NfsExport) -> Iterator[NfsExport]:
        yield replace(export, here=export.there)

    monkeypatch.setattr(nfs_limit, "to_itself", to_itself)
    monkeypatch.setattr(nfs_limit, "running", lambda *_: made)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.loopback_bps", lambda *_: 1e9)
    monkeypatch.setattr("niclab.traffic.limits.bottleneck.pause", lambda _: None)
    taken.card = taken.card.model_copy(update={"limits": taken.card.limits.model_copy(update={"nfs": LIMITS})})
    return made


def measured(run: Run, transport: NfsTransport = NfsTransport.UDP, mtu: int = 1500) -> NfsAnswer:
    return nfs_limit.measure(run, run.bench.paths[0], transport, mtu, Profile.QUICK, lambda _: None)


def test_a_sound_card_reaches_the_limit(taken: Run, client: Client) -> None:
    answer = measured(taken)
    experiment.judge(taken.notes, [answer])
    assert answer.result is not None and answer.result.expected.low == 0.25 * LINE_MBPS
    assert client.plans[0]["transport"] == "udp" and client.runs == 6
    assert answer.found.reads_per_s == pytest.approx(20e6 / 8 / READ_BYTES, rel=0.01)
    assert answer.found.frames_per_s == pytest.approx(23 * answer.found.reads_per_s, rel=0.01)
    assert answer.binds is Binding.SERVER
    assert any("reads/s" in line and answer.binds.value in line for line in answer.lines())
    noted = [each for each in taken.notes.take_figures() if each.unit == "reads/s"]
    assert len(noted) == 1 and "held back by the NFS server" in noted[0].found


@pytest.mark.parametrize(
    ("resent", "missed", "verdict"), [(1, 1, None), (4, 0, Undecided), (4, 3, Undecided), (4, 4, CardFailure)]
)
def test_calls_that_are_lost_while_others_go_on_are_judged(
    taken: Run, client: Client, resent: int, missed: int, verdict: type[Exception] | None
) -> None:
    """About 150 reads in each of six runs, at the full rate."""
    client.resent, client.missed = resent, missed
    answer = measured(taken)
    assert answer.result is not None and answer.result.decision is Decision.MET
    with nullcontext() if verdict is None else pytest.raises(verdict) as caught:
        nfs_limit.judge(taken, answer, lambda _: None)
    if verdict is not None:
        said = str(caught.value)  # type: ignore[union-attr]
        assert "24 of 9" in said and f"the dut's port counted {6 * missed} frames as lost" in said


def test_a_server_that_stood_still_excuses_calls_that_its_port_had_no_room_for(
    taken: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.resent = client.missed = 4
    own, watch = SimpleNamespace(told=tuple, between=lambda *_: [Stood("dut", 700)]), nfs_limit.standstill.watch
    watches = iter([own])  # the session has its own, and measures again what it sees
    monkeypatch.setattr(nfs_limit.standstill, "watch", lambda run: next(watches, None) or watch(run))
    answer = measured(taken)
    with pytest.raises(Undecided, match=r"counted 24 frames as lost; dut stood still for 700 ms"):
        nfs_limit.judge(taken, answer, lambda _: None)


def test_the_line_is_named_where_it_is_full(taken: Run, client: Client) -> None:
    client.rates = (45.0, 45.1, 44.9)
    assert measured(taken).binds is Binding.LINE


def test_the_keyword_measures_and_passes_a_sound_card(taken: Run, client: Client) -> None:
    Storage().nfs_reads_should_reach_the_limit(NfsTransport.UDP, 1500, Profile.QUICK)
    assert client.runs == 6
    assert {each.unit for each in taken.notes.take_figures()} == {"Mbit/s", "reads/s"}


@pytest.mark.usefixtures("taken")
def test_the_keyword_fails_a_card_that_is_too_slow(client: Client) -> None:
    client.rates = (6.0, 6.1, 5.9)
    with pytest.raises(CardFailure, match="NFS reads over UDP"):
        Storage().nfs_reads_should_reach_the_limit(NfsTransport.UDP, 1500, Profile.QUICK)


def test_a_card_that_is_too_slow_fails(taken: Run, client: Client) -> None:
    client.rates = (6.0, 6.1, 5.9)
    with pytest.raises(CardFailure, match=r"NFS reads over UDP, MTU 1500: 6.*expected at least 12\.5"):
        experiment.judge(taken.notes, [measured(taken)])


def test_a_server_that_is_too_slow_by_itself_leaves_nobody_at_fault(taken: Run, client: Client) -> None:
    client.rates, client.alone_mbps = (6.0, 6.1, 5.9), 9.0
    words = r"dut: its NFS server reads (8|9)\.\d Mbit/s by itself; expected at least 12\.5: nobody knows"
    answer = measured(taken)
    with pytest.raises(Undecided, match=rf"NFS reads over UDP, MTU 1500: 6.*{words}"):
        experiment.judge(taken.notes, [answer])
    (plan,) = client.alone
    assert plan == {**client.plans[0], "here": "198.18.10.1"}
    with pytest.raises(BenchFault, match="the bench may be why: no free CPU"):
        experiment.judge(taken.notes, [replace(answer, hindrances=("no free CPU",))])


def test_a_server_is_asked_by_itself_only_where_its_time_holds_back(taken: Run, client: Client) -> None:
    measured(taken)
    assert client.alone == []


def test_without_a_limit_the_rate_is_recorded(taken: Run, client: Client) -> None:
    answer = measured(taken, NfsTransport.TCP)
    assert client.runs == 6 and answer.result is None
    with pytest.raises(NotApplicable, match=r"held back by .*; no limit and no baseline"):
        experiment.judge(taken.notes, [answer])
    assert "nfs_read_mbps" in (taken.run_dir / "measurements.json").read_text()


def test_a_sheet_without_the_section_costs_nothing(bench: FakeBench, taken: Run, client: Client) -> None:
    taken.card = taken.card.model_copy(update={"limits": taken.card.limits.model_copy(update={"nfs": None})})
    asked = [len(ssh.commands) for ssh in bench.ssh.values()]
    with pytest.raises(NotApplicable, match=r"has no limits\.nfs"):
        measured(taken)
    assert [len(ssh.commands) for ssh in bench.ssh.values()] == asked and not client.runs


def test_damaged_data_are_charged_to_whoever_damages_frames(
    taken: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.damaged = 2
    answer = measured(taken)
    assert len(answer.damaged) == 6

    def by_the_card(*_: object) -> None:
        raise CardFailure("dut.p0 damages frames")

    monkeypatch.setattr(delivery, "once_in_order", by_the_card)
    with pytest.raises(CardFailure, match="damages frames"):
        require_undamaged(taken, answer, lambda _: None)
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(Undecided, match=r"with another content, such as byte 7.*nobody knows where"):
        require_undamaged(taken, answer, lambda _: None)


def test_damaged_data_hide_no_calls_that_the_duts_port_lost(
    taken: Run, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.damaged, client.resent, client.missed = 2, 4, 4
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: None)
    with pytest.raises(CardFailure, match="the dut's port counted 24 frames as lost"):
        nfs_limit.judge(taken, measured(taken), lambda _: None)


def test_undamaged_data_send_no_frames(taken: Run, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "once_in_order", lambda *_: pytest.fail("no frame is to be sent"))
    assert client.damaged == 0
    require_undamaged(taken, measured(taken), lambda _: None)
