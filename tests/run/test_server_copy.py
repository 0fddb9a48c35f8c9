"""Another controller undoes what a killed run left: by the copies of its journal on the servers."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from fake_bench import FakeBench

from niclab.bench.records import Role
from niclab.commands import cli
from niclab.commands.restore import restore_first
from niclab.core.exit_status import ExitStatus
from niclab.core.undo import Action, ActionKind, Journal
from niclab.run import run as runs
from niclab.run.acquiring.server_copy import LARGEST_STATE, read_copy
from niclab.run.run import Run
from niclab.run.watching.hygiene import BenchHygiene
from niclab.transports.bmc.bmc import PowerState

MTU = "ip link set dev enp1s0 mtu 1500"


def killed(bench: FakeBench, change: Callable[[Run], object]) -> Run:
    """A run of the first controller that was killed after a change; the second controller goes on from here."""
    taken = bench.take()
    taken.part(BenchHygiene).begin()
    change(taken)
    for server in taken.servers.values():
        server.run("true")
    runs._CURRENT.pop()._stack.close()
    return taken


@pytest.fixture
def elsewhere(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, the user is at another controller, with the same secrets."""

    def go() -> None:
        home = bench.folder / "another controller"
        secrets = home / ".local/state/niclab/vbench/virtual/secrets.env"
        secrets.parent.mkdir(parents=True)
        secrets.write_text((bench.home / ".local/state/niclab/vbench/virtual/secrets.env").read_text())
        secrets.chmod(0o600)
        monkeypatch.setenv("HOME", str(home))

    bench.write(commands=False, cables=True)
    return go


def mtu_9000(bench: FakeBench) -> Callable[[Run], object]:
    def change(run: Run) -> None:
        run.journal.register("dut.p0", "MTU of 9000", Action(ActionKind.SHELL, "dut", MTU))
        bench.dut.nics[0].mtu = 9000

    return change


def copies(bench: FakeBench, role: Role = Role.DUT) -> Path:
    return Path(bench.ssh[role].root) / "copy"


class TestAnotherController:
    def test_it_undoes_after_a_steal(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, mtu_9000(bench))
        elsewhere()
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT  # in use
        assert cli.main(["restore", str(bench.file), "--steal"]) == 0
        said = capsys.readouterr().out
        assert bench.dut.nics[0].mtu == 1500 and "undone: dut.p0: MTU of 9000" in said
        assert said.endswith("equal to the state before the run\n")
        assert [file for role in Role for file in copies(bench, role).iterdir()] == []

    def test_it_compares_with_the_state_before_that_run(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, lambda _: bench.dut.sysctls.update({"net/core/rmem_max": "1"}))
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        assert "dut: sysctl net.core.rmem_max: 1; expected" in capsys.readouterr().out

    def test_a_run_undoes_where_a_restart_has_removed_the_lease(
        self, bench: FakeBench, elsewhere: Callable[[], None]
    ) -> None:
        killed(bench, mtu_9000(bench))
        for role in Role:
            (Path(bench.ssh[role].root) / "lease").unlink()
        elsewhere()
        taken = bench.take("run-2")
        assert bench.dut.nics[0].mtu == 1500 and taken.journal.pending() == []

    def test_a_bench_that_is_down_cannot_be_stolen(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.write(commands=True, cables=True)
        killed(bench, mtu_9000(bench))
        elsewhere()
        bench.set_state(up=False)
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        told = capsys.readouterr()
        assert "is down: its command '" in told.err and "nothing to undo" not in told.out

    def test_of_a_bench_that_is_down_it_says_that_no_server_was_asked(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        bench.write(commands=True, cables=True)
        killed(bench, mtu_9000(bench))
        elsewhere()
        bench.set_state(up=False)
        assert cli.main(["restore", str(bench.file)]) == 0
        told = capsys.readouterr().out
        assert "ended with 1; its servers were not asked for what other controllers have left" in told

    def test_without_a_copy_it_says_where_the_changes_are(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, mtu_9000(bench))
        for role in Role:
            (copies(bench, role) / "journal").unlink()
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        said = capsys.readouterr().out
        assert "dut: no copy of the journal of " in said and "expected niclab restore to be run there" in said

    def test_no_command_of_a_copy_is_run_on_the_controller_or_on_the_other_server(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        marker = bench.folder / "marker"
        killed(bench, lambda _: None)
        with (copies(bench) / "journal").open("a") as file:
            for number, (kind, where) in enumerate([("local", "controller"), ("shell", "peer")]):
                action = {"kind": kind, "where": where, "command": f"touch {marker}"}
                entry = {"id": f"{number}", "subject": "x", "what": "y", "run": "z", "pid": 1, "at": "0"}
                file.write(json.dumps({"event": "registered", **entry, "action": action}) + "\n")
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        said = capsys.readouterr().out
        assert said.count("it cannot be undone from here: it is in the journal of ") == 2 and not marker.exists()
        assert not any("touch" in command for command in bench.ssh[Role.PEER].commands)

    def test_a_command_of_the_bench_file_is_run(self, bench: FakeBench, elsewhere: Callable[[], None]) -> None:
        pull = bench.load()[0].paths[0].plug
        assert pull is not None
        undo = Action(ActionKind.LOCAL, "controller", pull)
        killed(bench, lambda run: run.journal.register("a", "cable is pulled", undo))
        bench.set_state(pulled=[bench.load()[0].paths[0].name])
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == 0
        assert bench.pulled() == set()


OUTLET = Action(ActionKind.LOCAL, "controller", "/opt/lab/pdu outlet 7 on")


class TestForTheOtherController:
    """A change that cannot be undone from here stays pending, until somebody takes it upon himself."""

    def test_it_is_said_until_it_is_forgotten(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, lambda run: run.journal.register("controller", "outlet 7 is off", OUTLET))
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        assert capsys.readouterr().out.count("outlet 7 is off") == 2
        (entry,) = Journal.for_bench("virtual").pending()
        assert "outlet 7 is off" in (copies(bench) / "journal").read_text()  # a third controller reads it as well
        assert cli.main(["restore", str(bench.file), "--forget", "failed", "--reason", "x"]) == ExitStatus.BENCH_FAULT
        assert cli.main(["restore", str(bench.file), "--forget", entry.short_id, "--reason", "it is on"]) == 0
        assert cli.main(["restore", str(bench.file)]) == 0
        assert [file for role in Role for file in copies(bench, role).iterdir()] == []

    def test_a_run_after_the_restore_before_it_has_a_fault(
        self, bench: FakeBench, elsewhere: Callable[[], None]
    ) -> None:
        killed(bench, lambda run: run.journal.register("controller", "outlet 7 is off", OUTLET))
        for role in Role:
            (Path(bench.ssh[role].root) / "lease").unlink()
        elsewhere()
        with Journal.for_bench("virtual", "killed").hold() as journal:
            journal.register("dut.p0", "x", Action(ActionKind.SHELL, "dut", "ip link set dev enp1s0 down"))
        restore_first(bench.load()[0])
        taken = bench.take("run-2")
        hygiene = taken.part(BenchHygiene)
        hygiene.begin()
        assert ["outlet 7 is off" in fault for fault in hygiene._faults] == [True]
        assert taken.journal.undo_all(taken.undo).failed == ()

    def test_a_run_undoes_what_a_recovered_server_shows(self, bench: FakeBench, elsewhere: Callable[[], None]) -> None:
        undo = Action(ActionKind.SHELL, "dut", "dpkg --remove vendor-nic-driver")
        killed(bench, lambda run: run.journal.register("dut", "vendor's driver package is installed", undo))
        for role in Role:
            (Path(bench.ssh[role].root) / "lease").unlink()
        bench.dut.alive = False
        elsewhere()
        bench.ssh[Role.DUT].replies["dpkg"] = ""
        taken = bench.take("run-2")
        assert undo.command in bench.ssh[Role.DUT].commands
        assert taken.journal.pending() == [] and taken.bench_servers.left_elsewhere == []

    def test_a_steal_begins_with_the_server_that_answers(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        undo = Action(ActionKind.POWER, "dut", "on")
        killed(bench, lambda run: run.journal.register("dut", "power is cut for a cycle", undo))
        bench.dut.crash(PowerState.OFF)
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == 0
        assert bench.dut.alive and "undone: dut: power is cut for a cycle" in capsys.readouterr().out

    def test_a_steal_from_servers_that_are_silent_is_a_fault(
        self, bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, lambda _: None)
        bench.dut.crash(PowerState.OFF)
        bench.peer.crash(PowerState.OFF)
        elsewhere()
        assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
        assert "dut and peer: no answer, and no lease to be read" in capsys.readouterr().err


def ended_with_the_servers(bench: FakeBench) -> None:
    """The servers were stopped: of what was on them only their disks are left."""
    bench.set_state(up=False)
    for role in Role:
        (Path(bench.ssh[role].root) / "lease").unlink(missing_ok=True)


class TestBenchThatIsDownBetweenRuns:
    """The bench's own command stops the servers: what is on their disks then is read by the next run."""

    @pytest.fixture(autouse=True)
    def down(self, bench: FakeBench) -> None:
        bench.set_state(up=False)

    def test_a_run_that_ends_well_leaves_no_copy(self, bench: FakeBench) -> None:
        bench.take()
        runs.release()
        assert bench.said == ["up", "down"]
        assert [file for role in Role for file in copies(bench, role).iterdir()] == []

    def test_a_restored_bench_has_no_copy(self, bench: FakeBench) -> None:
        killed(bench, mtu_9000(bench))
        assert cli.main(["restore", str(bench.file)]) == 0
        assert bench.said == ["up", "down"]
        for role in Role:  # programs of the killed run would be a difference to the state before it
            assert "rm -rf /tmp/niclab.* /tmp/niclab-job.*" in bench.ssh[role].commands
        assert [file for role in Role for file in copies(bench, role).iterdir()] == []

    def test_a_bench_that_is_brought_up_to_restore_it_is_put_down_again(self, bench: FakeBench) -> None:
        bench.set_state(up=True)
        killed(bench, mtu_9000(bench))
        ended_with_the_servers(bench)
        assert cli.main(["restore", str(bench.file)]) == 0
        assert bench.dut.nics[0].mtu == 1500 and bench.said == ["up", "down"]

    def test_an_old_copy_of_this_controller_is_no_news(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        killed(bench, mtu_9000(bench))
        old = {role: (copies(bench, role) / "journal").read_text() for role in Role}
        assert cli.main(["restore", str(bench.file)]) == 0
        for role, text in old.items():
            (copies(bench, role) / "journal").write_text(text)
        monkeypatch.setattr("niclab.core.undo._START_AFRESH_ABOVE_BYTES", 10)
        taken = bench.take("run-2")
        assert bench.said == ["up", "down", "up"] and bench.state["up"]
        assert [entry.run for entry in taken.journal.pending()] == ["run-2"]

    def test_another_controller_that_finds_it_down_undoes_all_before_its_run(
        self, bench: FakeBench, elsewhere: Callable[[], None]
    ) -> None:
        bench.write(commands=True, cables=True)
        killed(bench, mtu_9000(bench))
        ended_with_the_servers(bench)
        elsewhere()
        taken = bench.take("run-2")
        assert bench.dut.nics[0].mtu == 1500
        assert bench.said == ["up", "up", "down", "down", "up"] and bench.state["up"]
        assert [entry.run for entry in taken.journal.pending()] == ["run-2"]

    def test_a_bench_that_a_later_run_brought_up_goes_down_last(
        self, bench: FakeBench, capsys: pytest.CaptureFixture[str]
    ) -> None:
        killed(bench, lambda _: None)
        ended_with_the_servers(bench)
        with Journal.for_bench("virtual").hold() as journal:
            (entry,) = journal.pending()
            journal.done(entry)
            journal.register(entry.subject, entry.what, entry.action)  # of a run that ended before it kept a state
        assert cli.main(["restore", str(bench.file)]) == 0
        assert bench.said == ["up", "up", "down"]
        assert capsys.readouterr().out.endswith("equal to the state before the run\n")


class TestOfThisController:
    def test_a_lost_journal_is_found_again_on_the_servers(self, bench: FakeBench) -> None:
        bench.write(commands=False, cables=True)
        taken = killed(bench, mtu_9000(bench))
        taken.journal.path.write_bytes(b"")
        assert cli.main(["restore", str(bench.file)]) == ExitStatus.BENCH_FAULT
        assert cli.main(["restore", str(bench.file), "--steal"]) == 0
        assert bench.dut.nics[0].mtu == 1500

    def test_a_run_that_ends_well_leaves_no_copy(self, bench: FakeBench) -> None:
        taken = bench.take()
        taken.part(BenchHygiene).begin()
        mtu_9000(bench)(taken)
        copy = taken.server("dut").copy
        assert copy is not None
        assert [each.what for each in copy.read().journal.pending.values()] == ["MTU of 9000"]  # type: ignore[union-attr]
        taken.part(BenchHygiene).finish()
        runs.release()
        assert [file for role in Role for file in copies(bench, role).iterdir()] == []

    def test_a_copy_that_somebody_has_replaced_is_left_alone(self, bench: FakeBench) -> None:
        bench.write(commands=False, cables=True)
        taken = bench.take()
        (copies(bench) / "journal").write_text("of somebody else\n")
        mtu_9000(bench)(taken)
        taken.server("dut").run("true")
        runs.release()
        assert (copies(bench) / "journal").read_text() == "of somebody else\n"

    def test_what_is_undone_is_settled_in_the_copy(self, bench: FakeBench) -> None:
        taken = bench.take()
        entry = taken.journal.register("dut.p0", "MTU of 9000", Action(ActionKind.SHELL, "dut", MTU))
        taken.journal.done(entry)
        taken.server("dut").run("true")
        found = taken.server("dut").copy
        assert found is not None
        copied = found.read()
        assert copied is not None and copied.journal.pending == {} and copied.journal.settled == {entry.id}


WORDS = dict.fromkeys(("user", "host", "since", "bench", "run", "token"), "x")
HEAD = json.dumps({"role": "dut", "pid": 1, **WORDS})


@pytest.mark.parametrize(
    "text",
    ["", "no copy", "[]", '{"role": "switch"}', *(f"{HEAD}\n{line}" for line in ("[]", "{}", '{"event": "x"}'))],
)
def test_a_copy_that_is_none_is_a_problem_and_no_crash(text: str) -> None:
    copied = read_copy(f"{text}\n\n@ state\n")
    assert copied.problem or (copied.journal.pending == {} and copied.state == "")


def test_a_line_that_is_cut_short_or_there_twice_counts_once() -> None:
    action = {"kind": "shell", "where": "dut", "command": "true"}
    entry = {"event": "registered", "id": "1", "subject": "x", "what": "y", "run": "z", "pid": 1, "at": "0"}
    line, done = json.dumps({**entry, "action": action}), json.dumps({"event": "done", "id": "1"})
    assert list(read_copy(f"{HEAD}\n{line}\n{line}\n{line[:30]}\n\n@ state\n").journal.pending) == ["1"]
    assert not read_copy(f"{HEAD}\n{line}\n{done}\n{line}\n{done}\n\n@ state\n").journal.pending


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (["1 {}", "2 {}"], ""),
        (["2 {}", "1 {}", "1 {}"], ""),  # of two commands at once, and handed over twice
        (["1 {}", "3 {}"], "1 lines are missing, the first of them 2"),
        (["1 {}", '2 {"event"', "3 {}"], "line 2 is cut short"),
        (["1 {}", '2 {"event"'], ""),
        (["1 {}", "@ incomplete"], "the disk of the server refused a line of it"),
    ],
)
def test_a_copy_that_lacks_a_line_is_a_problem(lines: list[str], problem: str) -> None:
    done = json.dumps({"event": "done", "id": "1"})
    copied = read_copy("\n\n".join([HEAD, *(line.replace("{}", done) for line in lines)]) + "\n\n@ state\n")
    assert copied.problem == problem and copied.role == "dut" and copied.journal.settled == {"1"}


@pytest.mark.parametrize("room", [0, 1])
def test_a_full_disk_is_a_problem_of_the_copy(
    bench: FakeBench, elsewhere: Callable[[], None], capsys: pytest.CaptureFixture[str], room: int
) -> None:
    def change(run: Run) -> None:
        bench.ssh[Role.DUT]._carried.append(f"trap '' XFSZ; ulimit -f {room}")  # blocks, as of a disk that is full
        for number in range(8):
            undo = Action(ActionKind.SHELL, "dut", f"{MTU} # {number} {'x' * 120}")
            run.journal.register("dut.p0", "MTU of 9000", undo)
        copy = run.server("dut").copy
        assert copy is not None and copy.read() is not None

    killed(bench, change)
    (copies(bench) / "state").unlink(missing_ok=True)
    found = read_copy((copies(bench) / "journal").read_text() + "\n@ incomplete\n@ state\n")
    assert (copies(bench) / "incomplete").exists() and len(found.journal.pending) < 8
    elsewhere()
    assert cli.main(["restore", str(bench.file), "--steal"]) == ExitStatus.BENCH_FAULT
    assert "dut: its copy of a journal cannot be read (the disk of the server refused" in capsys.readouterr().out


def test_a_state_that_unpacks_to_too_much_is_a_problem() -> None:
    packed = base64.b64encode(zlib.compress(b"0" * (LARGEST_STATE + 1))).decode()
    assert "a state of more than" in read_copy(f"{HEAD}\n\n@ state\n{packed}").problem


def test_the_tokens_of_killed_runs_survive_a_journal_that_starts_afresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("niclab.core.undo._START_AFRESH_ABOVE_BYTES", 10)
    journal = Journal(tmp_path / "j.jsonl")
    with journal.hold():
        pass
    for _ in range(3):
        with Journal(tmp_path / "j.jsonl").hold() as later:
            assert later.is_own(journal.token)
