"""A toy bench in a home of its own: files, fake servers, and a lab made of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_switch import FakeSwitch
from toy_mib import FakeAgent

from niclab.links import wiring
from niclab.report import write_json
from niclab.report.evidence.runfolder import RUN_FILE, record_continuation
from niclab.run import bench_servers
from niclab.run import run as runs
from niclab.run.acquiring.prepared_ports import PreparedPorts
from niclab.run.run import Run
from niclab.switch import connect
from niclab.switch.model import load_model

LEARNED = {
    "dut.p0": ("52:54:00:00:00:00", "Gi1/0/3"),
    "dut.p1": ("52:54:00:00:00:01", "Gi1/0/1"),
    "peer.p0": ("52:54:00:00:01:00", "Gi1/0/4"),
    "peer.p1": ("52:54:00:00:01:01", "Gi1/0/2"),
}
"""Port -> its address, and where the switch hears it when all cables lead there."""


@pytest.fixture(scope="session")
def bench_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One place for the bench of every test, so that its files read the same."""
    return tmp_path_factory.mktemp("bench")


@pytest.fixture
def bench(bench_folder: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBench:
    """A good bench that is up; nothing of it is taken. Waits for a carrier are short."""
    shutil.rmtree(bench_folder)
    bench_folder.mkdir()
    made = FakeBench(bench_folder)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no power cut is played here, and the disk is slow
    monkeypatch.setattr(bench_servers, "Server", made.server_class)
    monkeypatch.setattr(runs, "_CURRENT", [])
    monkeypatch.setattr(wiring, "LOSS_WITHIN_S", 0.2)
    monkeypatch.setattr(wiring, "RETURN_WITHIN_S", 0.2)
    return made


@contextmanager
def prepared(bench: FakeBench) -> Iterator[Run]:
    """A run of a bench with its links prepared; it is left without an undo."""
    made = bench.take()
    made.part(PreparedPorts).prepare()
    yield made
    runs._CURRENT.clear()
    with made._stack:
        made.bench_servers.close()


@pytest.fixture
def taken(bench: FakeBench) -> Iterator[Run]:
    """A bench that is always up, taken, its links prepared."""
    bench.write(commands=False, cables=True)
    with prepared(bench) as made:
        yield made


def continued(run: Run) -> None:
    """The process of a run is killed, and another one continues the run: in its folder, with parts of its own."""
    about = {"format": 1, "who": {}, "versions": {}, "facts": {}, "git": None}
    write_json(run.run_dir / RUN_FILE, about)
    record_continuation(run.run_dir, "")
    run._parts.clear()
    run.bench_servers.looks_before_leaving.clear()
    for server in run.servers.values():
        server.before_boot.clear()
    run.part(PreparedPorts).prepare()


@pytest.fixture
def switch(bench: FakeBench, monkeypatch: pytest.MonkeyPatch) -> FakeSwitch:
    """The bench has a managed switch, and path b goes through it; nothing of it is taken. Its waits are short."""
    made = FakeSwitch(bench.switch_carrier)
    made.mib.ticks = True
    bench.put_in_switch()
    monkeypatch.setattr(connect, "open_agent", lambda _: FakeAgent(made.mib))
    monkeypatch.setattr(wiring, "LEARNED_WITHIN_S", 0.3)
    monkeypatch.setattr(
        connect, "load_model", lambda name: load_model(name).model_copy(update={"set_seen_within_s": 0.2})
    )
    for port, address in (("Gi1/0/1", "52:54:00:00:00:01"), ("Gi1/0/2", "52:54:00:00:01:01")):
        made.learn(address, port)
    return made


@pytest.fixture
def patched(bench: FakeBench, switch: FakeSwitch) -> Iterator[Run]:
    """A taken bench whose paths lie directly and can be connected to the switch, which has learned every port."""
    bench.give_patch_panel()
    for address, port in LEARNED.values():
        switch.learn(address, port)
    with prepared(bench) as made:
        yield made
