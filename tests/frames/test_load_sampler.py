"""The load of servers is sampled by their own shells, and read whole."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import LOAD, FakeHost, FakeJob

from niclab.bench.records import Port, Role
from niclab.core.verdict import BenchFault, CardFailure
from niclab.frames.load import load_sampler
from niclab.frames.load.load_rates import LoadLook, WantedLoad, rates, require_no_stall
from niclab.frames.load.load_sampler import sampled
from niclab.hosts.counts.load_records import Load
from niclab.run.run import Run
from niclab.stats.run_plan import SamplingPlan

PLAN = SamplingPlan(first_look=300, met_from=300, most=300, step=60, warm_up_runs=0)
WANTED = WantedLoad(mbps=9000.0, line_mbps=10000.0, source="sheet", plan=PLAN)
LATE_MS, LIVE_MS = 1024, 1
"""A driver fills its counters in by a timer of a second on a kernel of 250 Hz, another one at every frame."""
CLOCK = """
t=500 n=0 phase=400
turn() {{ [ $1 -le {stands} ] && carried=$1 || carried=$(($1 - {stands} < 1000 ? {stands} : $1 - 1000)); }}
fill() {{ turn $((($1 - $3) / {every} * {every} + $3)); echo $((carried * 1175000)) > {folder}/$2; }}
sleep() {{
    case $1 in 1) t=$((t + 1005)) ;; *) t=$((t + 22)) ;; esac
    printf '%d.%03d rest\n' $((t / 1000)) $((t % 1000)) > {folder}/uptime
    for iface in {ifaces}; do fill $t $iface $((phase = (phase + 400) % 800)); done
}}
sleep 1
"""
"""A shell whose sleep turns a clock. Each port carries 9.4 Gbit/s, but for a second from ``stands`` in ms on."""


def of_a_real_shell(command: str, host: FakeHost) -> str:
    """The output of the command here in five samples, of the counters of a fake server."""
    here = re.sub(rf"{LOAD} (\w+)", lambda asked: f"echo {host.show_load(asked[1])}", command)
    here = here.replace("sleep 1", "sleep 0.05").replace("sleep 0.02", ":")
    counted = here.replace("while :;", "for sample in 1 2 3 4 5;")
    return subprocess.run(["sh", "-c", counted], capture_output=True, text=True, check=True).stdout


def prepared(bench: FakeBench, cut: int | None = None) -> None:
    for role in Role:
        ssh = bench.ssh[role]

        def prepare(job: FakeJob, host: FakeHost = ssh.host) -> None:
            job.said = of_a_real_shell(job.command, host)[:cut]

        ssh.prepare_job = prepare


def test_every_port_has_its_samples_in_their_order(bench: FakeBench, taken: Run) -> None:
    prepared(bench)
    ports = [port for role in Role for port in taken.ports(role)]
    with sampled(taken, ports, 60) as sampler:
        found = sampler.looks(3)
    assert list(found) == ports and {len(seen) for seen in found.values()} == {3}
    for seen in found.values():
        times = [each.at_s for each in seen]
        assert times == sorted(times) and times[-1] > times[0]
        assert seen[-1].load.frames.rx_bytes >= seen[0].load.frames.rx_bytes >= 0


def test_samples_that_do_not_come_are_the_benchs(bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load_sampler, "ONE_LASTS_S", 0.1)
    prepared(bench, cut=0)
    with (
        sampled(taken, taken.ports(Role.DUT), 60) as sampler,
        pytest.raises(BenchFault, match=r"within 0.3 s; expected 3: 0 of dut\.p0"),
    ):
        sampler.looks(3)


def test_a_sample_that_is_cut_is_no_sample(bench: FakeBench, taken: Run) -> None:
    prepared(bench, cut=-4)
    ports = [port for role in Role for port in taken.ports(role)]
    with sampled(taken, ports, 60) as sampler:
        assert {len(seen) for seen in sampler.looks(3).values()} == {3}


@pytest.fixture
def carried(
    bench: FakeBench, taken: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int, stands: int, seconds: int
) -> dict[Port, list[LoadLook]]:
    """The looks at the dut's ports in ``seconds``, whose counters are filled in ``every`` so many ms."""
    ports, host = taken.ports(Role.DUT), bench.dut
    ifaces = [taken.interface(port) for port in ports]

    def read(iface: str, text: str) -> Load:
        load = host.load(iface)
        return replace(load, frames=replace(load.frames, rx_bytes=int(text), tx_bytes=int(text)))

    def prepare(job: FakeJob) -> None:
        command = re.sub(rf"{LOAD} (\w+)", rf"read -r shown < {tmp_path}/\1; echo $shown", job.command)
        command = re.sub(r"/sys/class/net/(\w+)/statistics/rx_bytes", rf"{tmp_path}/\1", command)
        command = command.replace("/proc/uptime", f"{tmp_path}/uptime")
        command = command.replace("while :;", f"while [ $((n += 1)) -le {seconds + 2} ];")
        clock = CLOCK.format(every=every, stands=stands, folder=tmp_path, ifaces=" ".join(ifaces))
        job.said = subprocess.run(["sh", "-c", clock + command], capture_output=True, text=True, check=True).stdout

    monkeypatch.setattr(host, "read_load", read)
    bench.ssh[Role.DUT].prepare_job = prepare
    with sampled(taken, ports, 600) as sampler:
        return sampler.looks(seconds + 1)


def judge(carried: dict[Port, list[LoadLook]], monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> Sequence[str]:
        return ()

    monkeypatch.setattr("niclab.frames.load.load_rates.without_free_cpu", none)
    require_no_stall(carried, WANTED, ())


@pytest.mark.parametrize("stands", [10**9])
@pytest.mark.parametrize(("every", "seconds"), [(LATE_MS, 300), (LIVE_MS, 40)])
def test_counters_that_are_filled_in_late_show_no_stall(
    carried: dict[Port, list[LoadLook]], monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    judge(carried, monkeypatch)
    for seen in carried.values():
        found = rates(seen, "rx_bytes")
        assert len(found) == seconds and max(found) < 10_000
        assert sum(found) / seconds == pytest.approx(9400, rel=0.005)


@pytest.mark.parametrize("seconds", [40])
@pytest.mark.parametrize(
    ("every", "stands"), [(LATE_MS, 20 * LATE_MS), (LATE_MS, 21 * LATE_MS), (LIVE_MS, 1505 + 20 * 1005)]
)
def test_a_second_of_standstill_is_a_stall_however_counters_are_filled_in(
    carried: dict[Port, list[LoadLook]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CardFailure, match=r"dut\.p0 .* receives .* Mbit/s in the worst second of full load"):
        judge(carried, monkeypatch)
