"""The outage prober on fake servers: begun on both, told to end, its words believed only when they prove something."""

from __future__ import annotations

import re
import time

import pytest
from fake_bench import FakeBench
from fake_parts import FakeJob

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.traffic.outage import prober
from niclab.traffic.outage.prober import End
from niclab.transports.ssh.ssh import Result

FOLDER = "/tmp/niclab-prober.abc"
T0 = 1_700_000_000_000_000
COUNT = 200


def notes(ahead_us: int) -> str:
    """Return the notes of an end whose clock is ahead: every packet of the other arrived 500 us after it was sent."""
    ticks = " ".join([str(T0 + ahead_us), *["1000"] * (COUNT - 1)])
    arrivals = " ".join([f"0:{T0 + ahead_us + 500}", *(f"{n}:1000" for n in range(1, COUNT))])
    return f"ready 42\nclock 0\noverflowed 0\nrefused\nfull\nticks {ticks}\narrivals {arrivals}\nend {COUNT} {COUNT}\n"


class Probes:
    """The programs: their output, and how they end."""

    def __init__(self, bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench, self.files = bench, dict[str, str]()
        self.prints = {Role.DUT: notes(0), Role.PEER: notes(3000)}
        self.status = {Role.DUT: 0, Role.PEER: 0}
        for role, ssh in bench.ssh.items():
            ssh.replies |= {"mktemp": f"{FOLDER}\n", "rm -rf": "", "kill": ""}
            ssh.prepare_job = lambda job, role=role: self._prepare(role, job)  # type: ignore[misc]
            monkeypatch.setattr(ssh, "put_text", self._put, raising=False)
            monkeypatch.setattr(
                ssh,
                "start",
                lambda command, limit_s, mark, plain=ssh.start: self._started(plain(command, mark=mark), limit_s),
            )

    def _put(self, text: str, remote: str) -> None:
        self.files[remote] = text

    @staticmethod
    def _started(job: FakeJob, limit_s: float) -> FakeJob:
        assert limit_s > prober.LIMIT_S
        return job

    def _prepare(self, role: Role, job: FakeJob) -> None:
        job.said = self.prints[role]

        def wait(within_s: float) -> Result:
            assert within_s == prober.NOTES_WITHIN_S
            return Result(job.command, self.status[role], None, job.said, job.complained, 1)

        job.wait = wait  # type: ignore[attr-defined]


@pytest.fixture
def probes(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> Probes:
    assert taken
    monkeypatch.setattr(prober, "READY_WITHIN_S", 0.05)
    return Probes(bench, monkeypatch)


def ends(taken: Run) -> tuple[End, End]:
    return End(taken.server(Role.DUT), "198.18.10.1"), End(taken.server(Role.PEER), "198.18.10.2")


@pytest.mark.parametrize(("rate_scale", "wanted_us"), [(1, 1000), (20, 1000), (200, 1000), (201, 1005), (800, 4000)])
def test_probes_over_a_slowed_path_are_no_load(rate_scale: float, wanted_us: int) -> None:
    assert prober.period_us(rate_scale) == wanted_us


@pytest.mark.parametrize(("rate_scale", "wanted_us"), [(1, 1000), (5, 1000), (40, 7111)])
def test_probes_over_a_card_of_few_frames_are_no_load(rate_scale: float, wanted_us: int) -> None:
    """22 500 frames a second, of which the path carries a fortieth, and probes are a quarter."""
    assert prober.period_us(rate_scale, 22_500) == wanted_us


def test_the_period_is_told_to_both_programs(bench: FakeBench, taken: Run, probes: Probes) -> None:
    assert probes
    with prober.probing(*ends(taken), every_us=4000):
        assert all(job.command.endswith(" 4000 300.0") for ssh in bench.ssh.values() for job in ssh.jobs)


def test_both_ends_probe_each_other_and_nothing_stays(bench: FakeBench, taken: Run, probes: Probes) -> None:
    bench.dut.clock, bench.peer.clock = time.time, lambda: time.time() + 100
    with prober.probing(*ends(taken)) as probing:
        report = probing.stop()
        assert probing.stop() is report
    assert [round(clock.ahead_s) for clock in probing.clocks] == [0, 100]
    assert [direction.name for direction in report.directions] == ["dut to peer", "peer to dut"]
    assert all(direction.lost == 0 and direction.sent > 190 for direction in report.directions)
    assert probes.files[f"{FOLDER}/prober_program.py"].startswith('"""The outage prober\'s program')
    tokens = set()
    for role, mine, theirs in ((Role.DUT, 1, 2), (Role.PEER, 2, 1)):
        (job,) = bench.ssh[role].jobs
        both = rf"198\.18\.10\.{mine} 7110 198\.18\.10\.{theirs} 7110"
        words = rf"exec python3 {FOLDER}/prober_program\.py {both} (\d+) 1000 300\.0"
        match = re.fullmatch(words, job.command)
        assert match and job.stopped == 1
        tokens.add(match[1])
        kills = [each for each in bench.ssh[role].commands if each.startswith("kill")]
        assert kills == ["kill -USR2 42", "kill -USR1 42"]
        assert bench.ssh[role].commands[-2:] == ["kill -USR1 42", f"rm -rf {FOLDER}"]
    assert len(tokens) == 1


def test_a_program_that_dies_is_told_in_its_own_words(bench: FakeBench, taken: Run, probes: Probes) -> None:
    def die(job: FakeJob) -> None:
        job.status, job.complained = 1, "OSError: [Errno 99] Cannot assign requested address\n"

    bench.ssh[Role.PEER].prepare_job = die
    wanted = r"^peer: outage prober on \S+ to begin: it ended with status 1: OSError: \[Errno 99\] Cannot assign"
    with pytest.raises(BenchFault, match=wanted), prober.probing(*ends(taken)):
        raise AssertionError("it did not begin")
    assert probes and all(ssh.jobs[0].stopped == 1 for ssh in bench.ssh.values())
    assert all(ssh.commands[-1] == f"rm -rf {FOLDER}" for ssh in bench.ssh.values())


@pytest.mark.parametrize("role", list(Role))
def test_notes_of_a_program_that_ended_by_its_own_limit_are_refused(
    bench: FakeBench, taken: Run, probes: Probes, role: Role
) -> None:
    """They know nothing of an outage after that."""
    assert probes
    gone = Result("kill", 1, None, "", "kill: 42: No such process\n", 0.01)
    bench.ssh[role].replies["kill"] = lambda command: gone if "-USR1" in command else ""
    wanted = rf"^{role.value}: outage prober: ended before it was stopped; expected still probing .* 300 s"
    with pytest.raises(BenchFault, match=wanted), prober.probing(*ends(taken)) as probing:
        probing.stop()


def test_a_program_that_does_not_begin_is_a_fault(taken: Run, probes: Probes) -> None:
    probes.prints[Role.DUT] = ""
    wanted = r"^dut: outage prober on 198\.18\.10\.1 to begin: not within 0\.05 s"
    with pytest.raises(BenchFault, match=wanted), prober.probing(*ends(taken)):
        raise AssertionError("it did not begin")


def test_notes_that_are_cut_or_failed_are_faults(taken: Run, probes: Probes) -> None:
    probes.prints[Role.DUT] = "ready 42\nclock 0\n"
    with pytest.raises(ReadError, match=r"^dut: outage prober: cannot read"), prober.probing(*ends(taken)) as probing:
        probing.stop()
    probes.status[Role.PEER] = 3
    with pytest.raises(BenchFault, match=r"^(dut|peer): outage prober"), prober.probing(*ends(taken)) as probing:
        probing.stop()


def test_the_best_exchange_tells_the_clock(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([0.0, 0.4, 1.0, 1.2, 2.0, 2.6, 3.0, 3.3, 4.0, 4.4])
    monkeypatch.setattr(prober.time, "time", lambda: next(times))
    told = iter([100.0, 101.25, 102.0, 103.0, 104.0])
    bench.dut.clock = lambda: next(told)
    fix = prober.clock_fix(taken.server(Role.DUT))
    assert fix.ahead_s == pytest.approx(100.15) and fix.bound_s == pytest.approx(0.1)


def test_an_exchange_that_is_good_enough_is_the_last(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.4, 1.0, 1.08])
    monkeypatch.setattr(prober.time, "time", lambda: next(times))
    told = iter([100.0, 101.25])
    bench.dut.clock = lambda: next(told)
    assert prober.clock_fix(taken.server(Role.DUT)).bound_s == pytest.approx(0.04)


def test_a_clock_of_whole_seconds_is_known_to_half_a_second_more(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.2] * 5)
    monkeypatch.setattr(prober.time, "time", lambda: next(times))
    bench.dut.clock = lambda: 100.0
    fix = prober.clock_fix(taken.server(Role.DUT))
    assert fix.ahead_s == pytest.approx(100.4) and fix.bound_s == pytest.approx(0.6)
