"""The processes of a bench: started, found again, ended."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_fakes import bench_in, process_state, short_folder, wait_for

import bmc.config
import cli
import layout
import parts
import process
from identity import Identity
from parts import Part, PartError

GOOD = "import signal\nprint('ready', flush=True)\nsignal.pause()\n"
STUBBORN = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + GOOD
DIES = "import sys\nsys.exit('the address is taken')\n"
MUTE = "import signal\nprint('about to start', file=__import__('sys').stderr, flush=True)\nsignal.pause()\n"
LIES = "print('not yet', flush=True)\nimport signal\nsignal.pause()\n"


@pytest.fixture
def bench() -> Iterator[layout.Bench]:
    """A bench whose folder holds modules for parts; whatever is started there ends with the test."""
    with short_folder() as folder:
        bench = bench_in(folder)
        for name, text in {"good": GOOD, "stubborn": STUBBORN, "dies": DIES, "mute": MUTE, "lies": LIES}.items():
            (bench.folder / f"part_{name}.py").write_text(text)
        try:
            yield bench
        finally:
            parts.end_all(bench)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "START_S", 0.6)
    monkeypatch.setattr(parts, "TERM_S", 0.3)


def _part(name: str, kind: str = "good") -> Part:
    return Part(name, f"part_{kind}", {})


def _like_a_machine(bench: layout.Bench, folder: Path | None = None) -> subprocess.Popen[bytes]:
    """A process with the identity of the DUT's machine."""
    environment = {**os.environ, "VBENCH": str(folder or bench.folder), "VBENCH_PART": "qemu-dut"}
    child = subprocess.Popen([sys.executable, "-c", GOOD], env=environment, stdout=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    child.stdout.close()
    return child


def test_parts_are_started_found_and_ended(bench: layout.Bench) -> None:
    parts.start(bench, [_part("one"), _part("two")])
    found = parts.running(bench)
    assert sorted(found) == ["one", "two"]
    assert parts.end_all(bench) == ["one", "two"]
    assert parts.running(bench) == {}
    assert not any(process.alive(pid) for pids in found.values() for pid in pids)


def test_starting_nothing_is_no_error(bench: layout.Bench) -> None:
    parts.start(bench, [])
    assert parts.running(bench) == {}


def test_the_configuration_is_private(bench: layout.Bench) -> None:
    parts.start(bench, [Part("one", "part_good", {"password": "secret"})])
    file = bench.folder / "one.config"
    assert json.loads(file.read_text()) == {"password": "secret"}
    assert file.stat().st_mode & 0o077 == 0


def test_one_that_dies_is_named_with_its_last_words_and_does_not_wait(bench: layout.Bench) -> None:
    with pytest.raises(PartError, match=r"bad does not start: .*the address is taken"):
        parts.start(bench, [_part("fine"), _part("bad", "dies")])


@pytest.mark.usefixtures("quick")
def test_one_that_stays_silent_is_named_with_its_log(bench: layout.Bench) -> None:
    with pytest.raises(PartError, match=r"bad: not ready within 0\.6 s: about to start"):
        parts.start(bench, [_part("bad", "mute")])


def test_one_that_says_something_else_than_ready_is_not_ready(bench: layout.Bench) -> None:
    with pytest.raises(PartError, match="bad does not start: it wrote nothing"):
        parts.start(bench, [_part("bad", "lies")])


@pytest.mark.usefixtures("quick")
def test_one_that_ignores_the_request_to_end_is_killed(bench: layout.Bench) -> None:
    parts.start(bench, [_part("one", "stubborn")])
    assert parts.end_all(bench) == ["one"]
    assert parts.running(bench) == {}


@pytest.mark.usefixtures("quick")
def test_one_that_stands_still_is_killed(bench: layout.Bench) -> None:
    child = _like_a_machine(bench)
    child.send_signal(signal.SIGSTOP)
    wait_for(lambda: process_state(child.pid) == "T", "it stands still")
    assert parts.end_all(bench) == ["qemu-dut"]
    assert child.wait(5) == -signal.SIGKILL


def test_machines_end_before_the_bmcs_that_would_start_them_again(
    bench: layout.Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts.start(bench, [_part("bmc-dut"), _part("cables")])
    child = _like_a_machine(bench)
    ended: list[int] = []
    really_end = process.end

    def end(pid: process.Pid, term_s: float) -> None:
        ended.append(pid.pid)
        really_end(pid, term_s)

    monkeypatch.setattr(process, "end", end)
    assert parts.end_all(bench)[0] == "qemu-dut"
    assert ended[0] == child.pid
    assert len(ended) == 3
    child.wait(5)


def test_a_process_of_another_bench_is_not_touched(bench: layout.Bench) -> None:
    similar = _like_a_machine(bench, bench.folder.with_name(bench.folder.name + "2"))
    try:
        assert parts.running(bench) == {}
        assert parts.end_all(bench) == []
        assert similar.poll() is None
    finally:
        similar.kill()
        similar.wait(5)


def test_a_process_of_another_user_is_not_the_benchs(bench: layout.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    child = _like_a_machine(bench)
    own = os.geteuid()
    try:
        assert list(parts.running(bench)) == ["qemu-dut"]
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert parts.running(bench) == {}
        assert parts.end_all(bench) == []
        assert child.poll() is None
    finally:
        child.kill()
        child.wait(5)


def test_no_part_gets_the_secrets_of_the_environment(bench: layout.Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DUT_BMC_PASSWORD", "VBENCH_BMC_PASSWORD", "NPM_TOKEN", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "hunter2")
    monkeypatch.setenv("VBENCH_ACCEL", "tcg")
    monkeypatch.setenv("VBENCH_QEMU", "/opt/qemu")
    parts.start(bench, [_part("one")])
    (pid,) = parts.running(bench)["one"]
    environment = Path(f"/proc/{pid.pid}/environ").read_bytes().split(b"\0")
    assert {b"VBENCH_ACCEL=tcg", b"VBENCH_QEMU=/opt/qemu"} <= set(environment)
    assert b"hunter2" not in b" ".join(environment)


def test_a_dead_process_that_nobody_has_reaped_does_not_run(bench: layout.Bench) -> None:
    child = _like_a_machine(bench)
    assert list(parts.running(bench)) == ["qemu-dut"]
    child.kill()
    wait_for(lambda: parts.running(bench) == {}, "the zombie is not counted")
    assert child.wait(5) == -signal.SIGKILL


def test_each_bmc_takes_the_configuration_written_for_it(bench: layout.Bench, tmp_path: Path) -> None:
    wanted = parts.parts(bench, Identity(bench))
    assert [part.name for part in wanted] == ["bmc-dut", "bmc-peer", "consoles", "cables", "switch"]
    for part, server in zip(wanted[:2], bench.servers, strict=True):
        file = tmp_path / part.name
        file.write_text(json.dumps(part.config))
        assert str(bmc.config.load(file).address) == server.bmc_address


def test_a_bmc_refuses_a_configuration_with_a_field_missing(bench: layout.Bench, tmp_path: Path) -> None:
    part = parts.parts(bench, Identity(bench))[0]
    broken = dataclasses.replace(part, config={k: v for k, v in part.config.items() if k != "users"})
    file = tmp_path / "bmc"
    file.write_text(json.dumps(broken.config))
    with pytest.raises(bmc.config.ConfigError, match="users"):
        bmc.config.load(file)


def test_nothing_that_the_command_starts_gets_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "environ", dict(os.environ))
    os.environ.update({"DUT_BMC_PASSWORD": "canary", "CI_TOKEN": "canary", "HTTPS_PROXY": "http://proxy:3128"})
    os.environ.update({"LC_ALL": "C.UTF-8", "VBENCH_ACCEL": "tcg", "VBENCH_QEMU": "q"})
    monkeypatch.setattr(sys, "argv", ["vbench", "fault", "list"])
    assert cli.main("vbench") == 0
    assert "canary" not in os.environ.values()
    assert {"PATH", "HTTPS_PROXY", "LC_ALL", "VBENCH_ACCEL", "VBENCH_QEMU"} <= set(os.environ)
