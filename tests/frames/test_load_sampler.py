"""The load of servers is sampled by their own shells, and read whole."""

from __future__ import annotations

import re
import subprocess

import pytest
from fake_bench import FakeBench
from fake_parts import LOAD, FakeHost, FakeJob

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.frames.load import load_sampler
from niclab.frames.load.load_sampler import sampled
from niclab.run.run import Run


def of_a_real_shell(command: str, host: FakeHost) -> str:
    """The output of the command here in five samples, of the counters of a fake server."""
    here = re.sub(rf"{LOAD} (\w+)", lambda asked: f"echo {host.show_load(asked[1])}", command)
    here = here.replace("sleep 1", "sleep 0.05")
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
