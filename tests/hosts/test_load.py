"""Load of CPUs and counters of ports: what is read, what is refused, and what two looks tell."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_shell import Answer, FakeShell

from niclab.core.verdict import BenchFault
from niclab.hosts.counts.load_records import CpuShare, CpuTime, CpuTimes, FrameCounters, Load, load_between
from niclab.hosts.counts.proc_load import FRAME_COUNTERS, read_frame_counters, read_load, read_proc_stat
from niclab.hosts.errors import ReadError
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.system.freebsd_texts import read_cpu_times

# Of proc(5) and a Debian 12 server: the sum, two CPUs, and lines that are not of CPUs.
STAT = """\
cpu  74608 2520 24433 1117073 6176 4054 0 0 0 0
cpu0 37304 1260 12216 558536 3088 2027 5 7 0 0
cpu1 37304 1260 12217 558537 3088 2027 0 0 0 0
intr 114930548 113199788 3 0 5 263 0 4
ctxt 1990473
btime 1062191376
softirq 183433 0 21755 12 39 1137 231 21459 2263
"""
OLD = "cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\nintr 1\n"
"""Before 2.6.11 no steal."""
IDLE = CpuTime(0, 0, 0, 1000, 0, 0, 0, 0)
COUNTERS = FrameCounters(*range(1, 10))


def test_the_single_cpus_are_read_and_not_their_sum() -> None:
    times = read_proc_stat(STAT)
    assert list(times.cpus) == [0, 1]
    assert times.cpus[0] == CpuTime(37304, 1260, 12216, 558536, 3088, 2027, 5, 7)


def test_steal_that_is_not_said_is_none() -> None:
    assert read_proc_stat(OLD).cpus[0].steal is None


@pytest.mark.parametrize(
    "text",
    ["", "cpu  1 2 3 4 5 6 7 8\n", "cpu0 1 2 3 4 5 6\n", "cpu0 1 2 3 4 5 6 -7\n", STAT + "cpu1 1 2 3 4 5 6 7\n"],
)
def test_what_is_no_proc_stat_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^cannot read /proc/stat"):
        read_proc_stat(text)


def gaining(**gained: int) -> CpuTime:
    return replace(IDLE, **{name: getattr(IDLE, name) + value for name, value in gained.items()})


def load(before: CpuTime, after: CpuTime) -> tuple[float, float]:
    _, share = load_between(CpuTimes({0: before}), CpuTimes({0: after})).busiest
    return share.busy, share.softirq


@pytest.mark.parametrize(
    ("gained", "busy", "softirq"),
    [
        ({"idle": 100}, 0.0, 0.0),
        ({"idle": 50, "iowait": 50}, 0.0, 0.0),
        ({"user": 10, "nice": 10, "system": 10, "irq": 10, "softirq": 10, "idle": 50}, 0.5, 0.1),
        ({"steal": 25, "idle": 75}, 0.25, 0.0),
        ({"softirq": 100}, 1.0, 1.0),
    ],
)
def test_busy_is_all_but_idle_and_waiting(gained: dict[str, int], busy: float, softirq: float) -> None:
    assert load(IDLE, gaining(**gained)) == (busy, softirq)


def test_waiting_for_a_disk_is_told_apart_from_idle_and_is_not_busy() -> None:
    found = load_between(
        CpuTimes({0: IDLE, 1: IDLE}), CpuTimes({0: gaining(idle=50, iowait=30, user=20), 1: gaining(idle=100)})
    )
    assert found.cpus[0] == CpuShare(0.2, 0.0, 0.3) and found.mean_waiting == 0.15


def test_a_system_that_does_not_say_whether_it_waits_is_not_said_to_wait() -> None:
    silent = replace(IDLE, iowait=None)
    found = load_between(CpuTimes({0: silent}), CpuTimes({0: replace(silent, user=50, idle=1050)}))
    assert found.cpus[0] == CpuShare(0.5, 0.0, None) and found.mean_waiting is None
    assert read_cpu_times("1 2 3 4 5\n").cpus[0].iowait is None


def test_iowait_may_be_taken_back_but_work_may_not() -> None:
    waited = replace(IDLE, iowait=20)
    assert load(waited, replace(waited, iowait=10, user=50))[0] == 1.0
    with pytest.raises(ReadError, match="cpu0: its time runs backwards"):
        load(replace(IDLE, user=50), replace(IDLE, user=49, idle=2000))


def test_no_time_and_other_cpus_are_no_load() -> None:
    with pytest.raises(ReadError, match="cpu0: no time has passed"):
        load(IDLE, IDLE)
    with pytest.raises(ReadError, match=r"CPUs \[0, 1\] before, \[0\] after"):
        load_between(CpuTimes({0: IDLE, 1: IDLE}), CpuTimes({0: IDLE}))


def test_the_busiest_cpu_is_found_behind_a_quiet_mean() -> None:
    busy = {cpu: replace(IDLE, user=100) if cpu == 3 else replace(IDLE, idle=1100) for cpu in range(4)}
    found = load_between(CpuTimes(dict.fromkeys(range(4), IDLE)), CpuTimes(busy))
    assert found.busiest[0] == 3 and found.busiest[1].busy == 1.0 and found.mean_busy == 0.25


TEXT = "".join(f"{name}:{number}\n" for number, name in enumerate(FRAME_COUNTERS, start=1))


def test_counters_are_read_by_name() -> None:
    assert read_frame_counters(TEXT) == COUNTERS
    assert COUNTERS.rx_lost == COUNTERS.rx_dropped + COUNTERS.rx_missed_errors + COUNTERS.rx_errors == 12


@pytest.mark.parametrize(
    "text", ["", TEXT.replace("rx_errors:5\n", ""), TEXT + "rx_bytes:2\n", TEXT + "other:1\n", TEXT.replace(":5", ":x")]
)
def test_what_are_no_counters_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^cannot read statistics of an interface"):
        read_frame_counters(text)


def test_counters_that_run_backwards_are_no_difference() -> None:
    assert replace(COUNTERS, rx_bytes=10).since(COUNTERS) == FrameCounters(0, 8, 0, 0, 0, 0, 0, 0, 0)
    with pytest.raises(ReadError, match="tx_bytes runs backwards, from 7 to 6"):
        replace(COUNTERS, tx_bytes=6).since(COUNTERS)
    assert replace(COUNTERS, rx_bytes=1, tx_bytes=6).backwards(COUNTERS) == (
        "rx_bytes runs backwards, from 2 to 1",
        "tx_bytes runs backwards, from 7 to 6",
    )


CPU_LINES = "".join(line for line in STAT.splitlines(keepends=True) if line.startswith("cpu"))


def test_a_look_has_the_cpus_first_and_the_counters_after_them() -> None:
    assert read_load(CPU_LINES + TEXT) == Load(read_proc_stat(STAT), COUNTERS)


@pytest.mark.parametrize("text", ["", TEXT, CPU_LINES, CPU_LINES + TEXT.replace("tx_errors:9\n", ""), TEXT + CPU_LINES])
def test_half_a_look_is_refused(text: str) -> None:
    with pytest.raises(ReadError):
        read_load(text)


def test_a_shell_looks_without_starting_a_program(tmp_path: Path) -> None:
    """The command itself, run by a shell on files like those of a host."""
    statistics = tmp_path / "enp1s0" / "statistics"
    statistics.mkdir(parents=True)
    for line in TEXT.splitlines():
        name, _, value = line.partition(":")
        (statistics / name).write_text(f"{value}\n")
    (tmp_path / "stat").write_text(STAT)

    def here(command: str) -> Answer:
        moved = command.replace("/proc/stat", f"{tmp_path}/stat").replace("/sys/class/net", str(tmp_path))
        done = subprocess.run(["/bin/sh", "-c", moved], capture_output=True, text=True, env={"PATH": ""}, check=False)
        return Answer(done.stdout, exit_status=done.returncode, stderr=done.stderr)

    shell = FakeShell({"while read ...": here})
    assert LinuxHost(shell, "dut").counts.load("enp1s0") == Load(read_proc_stat(STAT), COUNTERS)
    assert len(shell.commands) == 1
    (statistics / "tx_errors").unlink()
    with pytest.raises(BenchFault, match="tx_errors"):
        LinuxHost(shell, "dut").counts.load("enp1s0")
