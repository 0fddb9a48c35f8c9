"""A run leaves the bench as it found it; what a test leaves behind is found, named, undone, a fault of the bench."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest
from bench_fixtures import continued
from fake_bench import FakeBench
from fake_parts import state_text
from fake_switch import FakeSwitch
from test_failure_evidence import run

from niclab.core.undo import Action, ActionKind, Journal
from niclab.core.verdict import BenchFault, CardFailure
from niclab.report.own_checks.hygiene_check import hygiene_check
from niclab.report.verdicts import Verdict
from niclab.run import run as runs
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run
from niclab.run.watching.hygiene import BenchHygiene
from niclab.run.watching.kept_state import Fitting, KeptState, compare_with_kept, take_all
from niclab.state.attribution import Ran
from niclab.state.snapshot import Depth, Snapshot
from niclab.switch.switch_records import Admin

NOTHING = "    No Operation\n"
QUIET = f"*** Test Cases ***\nQuiet\n{NOTHING}"


def result(bench: FakeBench) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((bench.folder / "out" / "evidence" / "hygiene.json").read_text())
    return content


def result_of(taken: Run) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((taken.evidence_folder / "hygiene.json").read_text())
    return content


def leaving(bench: FakeBench, monkeypatch: pytest.MonkeyPatch, *statements: str) -> str:
    """A suite of one test that does something behind the journal's back."""

    def leave() -> None:
        for statement in statements:
            exec(statement, {"dut": bench.dut, "peer": bench.peer, "nic": bench.dut.nics[0]})

    monkeypatch.setattr(builtins, "leave", leave, raising=False)
    return "*** Test Cases ***\nLeaves\n    Evaluate    leave()\n"


def test_a_clean_run_leaves_nothing(bench: FakeBench) -> None:
    ended = run(bench, QUIET, QUIET)
    assert all(test.passed for test in ended.suite.all_tests)
    assert result(bench) == {"format": 1, "over": True, "faults": [], "findings": []}
    evidence = bench.folder / "out" / "evidence"
    before, after = (json.loads((evidence / f"state-{when}.json").read_text()) for when in ("before", "after"))
    assert before == after and [each["server"] for each in before["states"]] == ["dut", "peer"]


def test_an_mtu_that_is_left_is_named_and_undone(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(builtins, "look", lambda: seen.append(bench.dut.nics[0].mtu), raising=False)
    look = "*** Test Cases ***\nNext\n    Evaluate    look()\n"
    ended = run(bench, leaving(bench, monkeypatch, "nic.mtu = 9000"), look)
    assert all(test.passed for test in ended.suite.all_tests)
    (found,) = result(bench)["findings"]
    assert (found["server"], found["subject"], found["key"]) == ("dut", "enp1s0", "mtu")
    assert (found["was"], found["is"], found["test"], found["undone"]) == ("1500", "9000", "Leaves", True)
    assert found["place"] == "File0" and seen == [1500]
    assert any("Bench hygiene: dut: enp1s0 mtu: 9000; expected 1500" in each.message for each in ended.errors)
    assert Journal.for_bench("virtual").pending() == []


def test_a_leftover_without_an_owner_is_reported_once(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    run(bench, leaving(bench, monkeypatch, "dut.sysctls['net/core/rmem_max'] = '1'"), QUIET, QUIET)
    (found,) = result(bench)["findings"]
    assert (found["subject"], found["key"], found["undone"]) == ("sysctl", "net.core.rmem_max", False)
    assert "left by 'Leaves'; not undone" in found["text"]


def test_several_tests_without_a_command_are_named_by_their_suite(
    bench: FakeBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(bench, leaving(bench, monkeypatch, "peer.sysctls['net/core/rmem_max'] = '1'") + f"Other\n{NOTHING}")
    (found,) = result(bench)["findings"]
    assert found["server"] == "peer" and "left by one of the tests of File0" in found["text"]


def test_ports_that_a_test_has_lost_are_no_leftover(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the next test they are made ready anyway."""
    run(bench, leaving(bench, monkeypatch, "dut.boot()"), QUIET)
    assert result(bench) == {"format": 1, "over": True, "faults": [], "findings": []}


def test_a_state_that_cannot_be_read_is_a_fault_and_no_pass(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fake_parts.state_text", lambda _: "@ links\n")
    ended = run(bench, QUIET)
    assert all(test.passed for test in ended.suite.all_tests)
    (before, prepared) = result(bench)["faults"]
    assert before.startswith("the state before the run cannot be taken: ") and "'@ end' as the last line" in before
    assert prepared.startswith("the state of the prepared bench cannot be taken: ")


def test_a_bench_that_was_down_is_compared_before_it_is_stopped(bench: FakeBench) -> None:
    bench.set_state(up=False)
    run(bench, QUIET)
    assert result(bench)["faults"] == [] and not bench.state["up"]
    assert (bench.folder / "out" / "evidence" / "state-after.json").exists()


def begun(run: Run) -> BenchHygiene:
    hygiene = run.part(BenchHygiene)
    hygiene.begin()
    hygiene.settle()
    hygiene.ran(Ran("A", 1.0, 2.0))
    return hygiene


def test_a_change_in_the_journal_is_no_leftover_until_the_end(bench: FakeBench, taken: Run) -> None:
    hygiene, nic = begun(taken), bench.dut.nics[0]
    undo = Action(ActionKind.SHELL, "dut", f"ip link set dev {nic.iface} mtu 1500")
    taken.journal.register("dut.p0", "MTU of 9000", undo)
    nic.mtu = 9000
    assert hygiene.after_suite("suite", print) == []
    assert hygiene.finish() == [] and nic.mtu == 1500


def test_a_bond_that_is_in_the_journal_is_no_leftover_nor_are_its_sysctls(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hygiene = begun(taken)
    bench.dut.sysctls["net/ipv4/conf/bond7/arp_ignore"] = "1"
    bond = {"ifname": "bond7", "flags": ["UP"], "mtu": 1500, "linkinfo": {"info_kind": "bond"}}
    plain = json.dumps([bond])[1:-1]
    monkeypatch.setattr(
        "fake_parts.state_text", lambda host, old=state_text: old(host).replace("@ links\n[", f"@ links\n[{plain}, ")
    )
    for role in ("dut", "peer"):
        command = taken.server(role).host.undo.upper("bond7")
        taken.journal.register(role, "bond7 is made", Action(ActionKind.SHELL, role, command))
    assert hygiene.after_suite("suite", print) == []


def test_a_pending_undo_of_another_port_excuses_nothing(bench: FakeBench, taken: Run) -> None:
    hygiene = begun(taken)
    taken.journal.register("dut.p1", "MTU", Action(ActionKind.SHELL, "dut", "ip link set dev enp2s0 mtu 1500"))
    bench.dut.nics[0].mtu = 9000
    (found,) = hygiene.after_suite("suite", print)
    assert found.leftover.subject == "enp1s0" and found.undone and bench.dut.nics[0].mtu == 1500


def test_an_address_and_a_port_that_is_down(bench: FakeBench, taken: Run) -> None:
    hygiene, nic = begun(taken), bench.dut.nics[0]
    nic.addresses.append("198.18.99.1/24")
    found = hygiene.after_suite("suite", print)
    assert [str(each.leftover) for each in found] == [
        "dut: enp1s0 address 198.18.99.1/24: present; expected absent (state before)"
    ]
    assert found[0].undone and "198.18.99.1/24" not in nic.addresses


def test_a_shut_switch_port_is_seen(bench: FakeBench, switch: FakeSwitch) -> None:
    taken = bench.take()
    taken.part(PreparedPorts).prepare()
    hygiene = begun(taken)
    taken.switch.ports.set_admin("Gi1/0/2", Admin.DOWN)
    (found,) = hygiene.after_suite("suite", print)
    assert str(found.leftover) == "switch: Gi1/0/2 admin: DOWN; expected UP (state before)"
    assert switch.admin("Gi1/0/2") == Admin.DOWN.value and not found.undone
    runs._CURRENT.clear()
    with taken._stack:
        taken.bench_servers.close()


def test_what_is_found_after_a_suite_is_not_found_again_at_the_end(bench: FakeBench, taken: Run) -> None:
    hygiene = begun(taken)
    bench.peer.sysctls["net/core/rmem_max"] = "7"
    assert len(hygiene.after_suite("suite", print)) == 1
    assert hygiene.finish() == []
    content = json.loads((taken.evidence_folder / "hygiene.json").read_text())
    assert len(content["findings"]) == 1


def test_a_continued_run_knows_what_its_killed_part_has_found(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hygiene = begun(taken)
    bench.dut.nics[0].mtu = 9000
    bench.peer.sysctls["net/core/rmem_max"] = "7"
    assert len(hygiene.after_suite("suite", print)) == 2
    hygiene.ran(Ran("B", 3.0, 4.0))
    with monkeypatch.context() as patch:
        patch.setattr("fake_parts.state_text", lambda _: "@ links\n")
        assert hygiene.after_suite("other", print) == []
    killed = hygiene_check(taken.run_dir)
    assert killed is not None and "the state after the run was not compared: the run ended" in killed.message
    continued(taken)
    again = begun(taken)
    assert again.after_suite("third", print) == [] and again.finish() == []
    (fault,), found = result_of(taken)["faults"], result_of(taken)["findings"]
    assert fault.startswith("other: the state after it cannot be compared: ")
    assert [(each["key"], each["place"], each["undone"]) for each in found] == [
        ("mtu", "suite", True),
        ("net.core.rmem_max", "suite", False),
    ]
    after = hygiene_check(taken.run_dir)
    assert after is not None and after.verdict is Verdict.BENCH_FAULT and "not compared" not in after.message
    assert taken.journal.state_file.exists()  # a later run finds it, too


def test_a_fault_before_the_first_suite_is_kept(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("fake_parts.state_text", lambda _: "@ links\n")
        begun(taken)
    continued(taken)
    begun(taken).finish()
    before, prepared = result_of(taken)["faults"]
    assert "the state before the run cannot" in before and "the state of the prepared bench cannot" in prepared


def test_findings_of_a_killed_part_that_cannot_be_read_are_a_fault(taken: Run) -> None:
    begun(taken)
    (taken.evidence_folder / "hygiene.json").write_text('{"format": 1, "faults": [], "findings": [{}]}')
    continued(taken)
    begun(taken).finish()
    (fault,) = result_of(taken)["faults"]
    assert "hygiene.json: is no result of a comparison: 'server'" in fault


def test_a_server_that_is_gone_is_a_fault(taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    hygiene = begun(taken)

    def gone(*_: object, **__: object) -> None:
        raise BenchFault("dut: no answer")

    monkeypatch.setattr("niclab.run.watching.kept_state.take", gone)
    assert hygiene.finish() == []
    content = json.loads((taken.evidence_folder / "hygiene.json").read_text())
    assert content["faults"] == ["the state after the run cannot be compared: dut: no answer"]


def test_a_card_that_is_gone_is_a_fault_after_its_suite_and_at_the_end(
    taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    hygiene = begun(taken)
    hygiene.settle()
    hygiene.ran(Ran("Writes", 0.0, 1.0))

    def gone(*_: object, **__: object) -> None:
        raise CardFailure("dut.p0: no driver is bound")

    monkeypatch.setattr("niclab.run.watching.hygiene.ready.make_ready", gone)
    monkeypatch.setattr("niclab.run.watching.kept_state.take", gone)
    assert hygiene.after_suite("Firmware", str) == hygiene.finish() == []
    assert result_of(taken)["faults"] == [
        "Firmware: the state after it cannot be compared: dut.p0: no driver is bound",
        "the state after the run cannot be compared: dut.p0: no driver is bound",
    ]


def test_the_state_is_kept_for_who_restores(taken: Run) -> None:
    begun(taken)
    file = taken.journal.state_file
    assert file.parent == taken.journal.path.parent and json.loads(file.read_text())["run"] == "run-1"
    hygiene = taken.part(BenchHygiene)
    assert hygiene.finish() == [] and not file.exists()


class TestAfterAnEarlierRun:
    """The state before a run that was killed, or that left something behind, is what later runs are compared with."""

    @staticmethod
    def killed(bench: FakeBench, run: str = "run-1") -> None:
        begun(bench.take(run))
        runs._CURRENT.pop()._stack.close()  # the kernel closes the journal, and nothing else happens

    @staticmethod
    def findings(bench: FakeBench, run: str) -> tuple[list[str], list[str]]:
        """A whole run of nothing: its faults and findings."""
        taken = bench.take(run)
        begun(taken).finish()
        runs.release()
        content = json.loads((taken.evidence_folder / "hygiene.json").read_text())
        return content["faults"], [each["text"] for each in content["findings"]]

    def test_a_change_that_no_journal_has_is_found_by_every_later_run(self, bench: FakeBench) -> None:
        bench.write(commands=False, cables=True)
        self.killed(bench)
        was = bench.dut.sysctls["net/core/rmem_max"]
        bench.dut.sysctls["net/core/rmem_max"] = "1"
        said = f"dut: sysctl net.core.rmem_max: 1; expected {was} (state before); left by one of the tests of run run-"
        for earlier, later in ((1, "run-2"), (2, "run-3")):
            faults, (found,) = self.findings(bench, later)
            assert faults == [] and found == f"{said}{earlier}, or changed since; not undone"
        bench.dut.sysctls["net/core/rmem_max"] = was
        assert self.findings(bench, "run-4") == ([], [])
        assert not Journal.for_bench("virtual").state_file.exists()

    def test_what_a_run_reported_is_not_normal_for_the_next(self, bench: FakeBench) -> None:
        bench.write(commands=False, cables=True)
        hygiene = begun(bench.take("run-1"))
        bench.peer.sysctls["net/core/rmem_max"] = "7"
        assert len(hygiene.finish()) == 1
        runs.release()
        (found,) = self.findings(bench, "run-2")[1]
        assert found.startswith("peer: sysctl net.core.rmem_max: 7; expected ")

    def test_a_run_on_a_bench_that_is_as_before_finds_nothing(self, bench: FakeBench) -> None:
        self.killed(bench)
        assert self.findings(bench, "run-2") == ([], [])

    @pytest.mark.parametrize(
        ("then", "now", "words"),
        [
            ('"intel-82574l"', '"other-card"', "taken with card other-card, dut"),
            ('"dut": "linux"', '"dut": "freebsd"', "dut freebsd with ports"),
            ('"switched": false', '"switched": true', "a switch; now card intel-82574l"),
        ],
    )
    def test_another_equipment_is_not_compared_and_that_is_said(
        self, bench: FakeBench, then: str, now: str, words: str
    ) -> None:
        bench.write(commands=False, cables=True)
        self.killed(bench)
        file = Journal.for_bench("virtual").state_file
        assert then in file.read_text()
        file.write_text(file.read_text().replace(then, now))
        (fault,), found = self.findings(bench, "run-2")
        assert found == [] and "not compared with the state before run run-1: " in fault and words in fault

    def test_a_kept_state_that_cannot_be_read_is_a_fault_once(self, bench: FakeBench) -> None:
        Journal.for_bench("virtual").state_file.parent.mkdir(parents=True)
        Journal.for_bench("virtual").state_file.write_text('{"states": 3}')
        (fault,), found = self.findings(bench, "run-1")
        assert found == [] and "not compared with the state before the last run: " in fault
        assert self.findings(bench, "run-2") == ([], [])

    def test_a_run_of_the_same_folder_name_is_another_run_unless_it_is_continued(self, bench: FakeBench) -> None:
        bench.write(commands=False, cables=True)
        self.killed(bench)
        bench.dut.sysctls["net/core/rmem_max"] = "1"
        (found,) = self.findings(bench, "run-1")[1]
        assert "left by one of the tests of run run-1, or changed since" in found


def test_a_state_that_is_not_taken_again_is_no_equal_one(taken: Run) -> None:
    """The bench file has lost its switch since the run was killed."""
    states = take_all(taken, Depth.FULL)
    assert compare_with_kept(taken, KeptState("killed", states, frozenset(), Fitting.of(taken))) == []
    states.append(Snapshot("switch", Depth.FULL, {"Gi1/0/1": {"admin": "UP"}}))
    with pytest.raises(BenchFault, match="switch"):
        compare_with_kept(taken, KeptState("killed", states, frozenset(), Fitting.of(taken)))
