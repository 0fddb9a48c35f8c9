"""The QEMU behind the BMC: start, adoption, power-off, failures; against a stand-in and the real one."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_fakes import wait_for
from bmc_bench import RunningBmc, config_content, seconds_of

import bmc.qemu
from bmc.machine import MachineError
from bmc.qemu import QemuMachine
from process import Pid, alive, end, pid_of, read_pid, write_pid
from qmp import qmp_execute

STANDIN = Path(__file__).with_name("qmp_standin.py")
LAB = Path(__file__).parents[2] / "lab" / "virtual"


@pytest.fixture
def run_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "run"
    folder.mkdir()
    yield folder
    pid = read_pid(folder / "qemu.pid")
    if pid is not None and pid.pid != os.getpid():
        end(pid, 0)


def _standin(run_dir: Path, *ways: str) -> None:
    """Let power-on start the stand-in."""
    argv = [sys.executable, str(STANDIN), str(run_dir / "qmp-bmc"), str(run_dir / "told"), *ways]
    (run_dir / "qemu.json").write_text(json.dumps({"argv": argv, "cwd": str(run_dir)}))


def _told(run_dir: Path) -> list[str]:
    return (run_dir / "told").read_text().split() if (run_dir / "told").exists() else []


def _pid(run_dir: Path) -> Pid:
    pid = read_pid(run_dir / "qemu.pid")
    assert pid is not None
    return pid


def test_on_commands_off(run_dir: Path) -> None:
    _standin(run_dir)
    machine = QemuMachine(run_dir)
    assert not machine.is_on()
    asyncio.run(machine.power_on())
    assert machine.is_on()
    pid = _pid(run_dir)
    assert pid == pid_of(pid.pid)
    asyncio.run(machine.reset())
    asyncio.run(machine.nmi())
    asyncio.run(machine.power_on())
    assert _pid(run_dir) == pid, "a second power-on must not start a second QEMU"
    asyncio.run(machine.power_off())
    assert not machine.is_on()
    assert not Path(f"/proc/{pid.pid}").exists(), "left as a zombie"
    asyncio.run(machine.power_off())
    assert _told(run_dir) == ["system_reset", "inject-nmi", "quit"]


def test_cycle_starts_another_process(run_dir: Path) -> None:
    _standin(run_dir)
    machine = QemuMachine(run_dir, cycle_s=0.3)
    asyncio.run(machine.power_on())
    first = _pid(run_dir)
    assert seconds_of(lambda: asyncio.run(machine.cycle())) >= 0.3
    assert machine.is_on()
    assert not alive(first)
    assert _pid(run_dir) != first


def test_soft_shutdown_is_noticed(run_dir: Path) -> None:
    _standin(run_dir)
    machine = QemuMachine(run_dir)
    asyncio.run(machine.power_on())
    asyncio.run(machine.soft_shutdown())
    wait_for(lambda: not machine.is_on(), "the end")


def test_the_child_has_its_own_session_and_survives_a_hangup(run_dir: Path) -> None:
    _standin(run_dir)
    asyncio.run(QemuMachine(run_dir).power_on())
    assert os.getsid(_pid(run_dir).pid) == _pid(run_dir).pid


def test_a_second_machine_object_adopts_it_and_sees_its_end(run_dir: Path) -> None:
    _standin(run_dir)
    first = QemuMachine(run_dir)
    asyncio.run(first.power_on())
    second = QemuMachine(run_dir)
    assert second.is_on()
    asyncio.run(second.reset())
    os.kill(_pid(run_dir).pid, signal.SIGKILL)
    wait_for(lambda: not second.is_on(), "the end is seen")
    assert _told(run_dir) == ["system_reset"]


KILLED = "does not quit within"
"""Log line of a QEMU that had to be killed."""


def test_a_qemu_that_does_not_listen_gets_two_seconds() -> None:
    """A power-off of the lab ends in time: see the bench's own tests."""
    assert bmc.qemu.QUIT_S <= 2.0


@pytest.mark.parametrize("way", ["stopped", "stubborn", "busy"])
def test_off_works_on_a_qemu_that_does_not_listen(
    run_dir: Path, way: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("bmc.qemu.QUIT_S", 0.3)
    _standin(run_dir, *(["stubborn"] if way == "stubborn" else []))
    machine = QemuMachine(run_dir)
    asyncio.run(machine.power_on())
    pid = _pid(run_dir)

    async def with_another_client() -> None:
        _, writer = await asyncio.open_unix_connection(run_dir / "qmp-bmc")
        await machine.power_off()
        writer.close()

    if way == "stopped":
        os.kill(pid.pid, signal.SIGSTOP)
    off = with_another_client if way == "busy" else machine.power_off
    asyncio.run(off())
    assert not machine.is_on()
    assert not alive(pid)
    assert KILLED in caplog.text


def test_a_number_used_again_is_neither_taken_for_ours_nor_killed(run_dir: Path) -> None:
    _standin(run_dir)
    me = pid_of(os.getpid())
    write_pid(run_dir / "qemu.pid", Pid(me.pid, me.start - 1))
    machine = QemuMachine(run_dir)
    assert not machine.is_on()
    asyncio.run(machine.power_off())
    write_pid(run_dir / "qemu.pid", me)
    assert machine.is_on(), "the control: the right start is recognised"


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (None, "qemu.json: cannot be read"),
        ("{", "qemu.json: not JSON"),
        ("[]", r"qemu.json: \[\]; expected"),
        ('{"argv": [], "cwd": "/"}', r"qemu.json: argv is \[\]"),
        ('{"argv": ["qemu", ""], "cwd": "/"}', "qemu.json: argv is"),
        ('{"argv": ["true"]}', "qemu.json: cwd is None"),
        ('{"argv": ["true"], "cwd": "/nowhere"}', "qemu.json: cwd is '/nowhere'"),
        ('{"argv": ["/no/such/qemu"], "cwd": "/"}', "cannot start '/no/such/qemu'"),
        ('{"argv": ["sh", "-c", "echo no such machine >&2; exit 3"], "cwd": "/"}', "exit status 3.*no such machine"),
    ],
)
def test_a_start_that_fails_says_why(run_dir: Path, content: str | None, wrong: str) -> None:
    if content is not None:
        (run_dir / "qemu.json").write_text(content)
    machine = QemuMachine(run_dir)
    with pytest.raises(MachineError, match=wrong):
        asyncio.run(machine.power_on())
    assert not machine.is_on()


def test_a_qemu_that_speaks_no_qmp_is_ended(run_dir: Path) -> None:
    _standin(run_dir, "rubbish")
    machine = QemuMachine(run_dir)
    with pytest.raises(MachineError, match="not JSON"):
        asyncio.run(machine.power_on())
    wait_for(lambda: not machine.is_on(), "the end")


def test_a_qemu_that_never_answers_is_ended(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bmc.qemu.START_S", 0.5)
    monkeypatch.setattr("bmc.qemu.QMP_S", 0.2)
    _standin(run_dir, "deaf")
    machine = QemuMachine(run_dir)
    with pytest.raises(MachineError, match="does not answer"):
        asyncio.run(machine.power_on())
    wait_for(lambda: not machine.is_on(), "the end")


def test_commands_to_a_machine_that_has_gone_fail(run_dir: Path) -> None:
    with pytest.raises(MachineError, match="qmp-bmc"):
        asyncio.run(QemuMachine(run_dir).reset())


def test_a_broken_pid_file_is_an_error(run_dir: Path) -> None:
    (run_dir / "qemu.pid").write_text("")
    with pytest.raises(MachineError, match=r"qemu\.pid: not JSON"):
        QemuMachine(run_dir).is_on()
    (run_dir / "qemu.pid").unlink()


@pytest.mark.skipif(shutil.which("qemu-system-x86_64") is None, reason="QEMU is not installed")
def test_the_real_qemu(run_dir: Path, caplog: pytest.LogCaptureFixture) -> None:
    argv = ["qemu-system-x86_64", "-M", "q35", "-m", "32", "-S", "-nodefaults", "-no-user-config", "-display", "none"]
    argv += ["-accel", "tcg", "-qmp", f"unix:{run_dir}/qmp-bmc,server=on,wait=off"]
    (run_dir / "qemu.json").write_text(json.dumps({"argv": argv, "cwd": str(run_dir)}))
    machine = QemuMachine(run_dir)
    asyncio.run(machine.power_on())
    status = asyncio.run(qmp_execute(run_dir / "qmp-bmc", "query-status", 5.0))
    assert status["status"] == "prelaunch"
    for action in (machine.reset, machine.nmi, machine.soft_shutdown):
        asyncio.run(action())
    assert machine.is_on()
    asyncio.run(machine.power_off())
    assert not machine.is_on()
    assert KILLED not in caplog.text
    asyncio.run(machine.power_on())
    os.kill(_pid(run_dir).pid, signal.SIGSTOP)
    asyncio.run(machine.power_off())
    assert not machine.is_on()
    assert KILLED in caplog.text


# -- the whole program


class Program:
    """``python -m bmc`` as a process."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config.json"
        if not self.config.exists():
            self.config.write_text(json.dumps(config_content(folder)))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "bmc", str(self.config)],
            cwd=LAB,
            stdout=subprocess.PIPE,
            stderr=(folder / "bmc.log").open("a"),
            text=True,
        )
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()

    def finish(self, number: signal.Signals) -> int:
        """Send a signal, return the exit status."""
        self.process.send_signal(number)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(10)


def _ipmitool(program: Program, *words: str) -> str:
    content = json.loads(program.config.read_text())
    target = ["-H", content["address"], "-p", str(content["ipmi_port"]), "-U", "admin", "-P", "secret"]
    done = subprocess.run(
        ["ipmitool", "-I", "lanplus", "-N", "1", "-R", "1", *target, *words], capture_output=True, text=True, timeout=30
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def _run(config: Path) -> subprocess.CompletedProcess[str]:
    """Run the program where it is expected to refuse."""
    command = [sys.executable, "-m", "bmc", str(config)]
    return subprocess.run(command, cwd=LAB, capture_output=True, text=True, timeout=30)


def test_a_killed_bmc_finds_machine_and_log_again(tmp_path: Path, run_dir: Path) -> None:
    _standin(run_dir)
    first = Program(tmp_path)
    assert first.first_line == "ready\n"
    _ipmitool(first, "power", "on")
    wait_for(lambda: "Power off/down | Deasserted" in _ipmitool(first, "sel", "elist"), "the event")
    assert first.finish(signal.SIGKILL) == -signal.SIGKILL
    assert alive(_pid(run_dir))

    second = Program(tmp_path)
    assert second.first_line == "ready\n"
    assert _ipmitool(second, "power", "status") == "Chassis Power is on"
    assert _ipmitool(second, "sel", "elist").count("Power off/down | Deasserted") == 1
    os.kill(_pid(run_dir).pid, signal.SIGKILL)
    wait_for(lambda: _ipmitool(second, "power", "status") == "Chassis Power is off", "the end is seen")
    wait_for(lambda: "Power off/down | Asserted" in _ipmitool(second, "sel", "elist"), "the event")
    _ipmitool(second, "power", "on")
    assert second.finish(signal.SIGTERM) == 0
    assert alive(_pid(run_dir)), "the machine outlives its BMC"
    assert "INFO bmc.qemu: starting" in (tmp_path / "bmc.log").read_text()


def test_a_qemu_that_does_not_start_is_an_error_of_the_command(tmp_path: Path, run_dir: Path) -> None:
    (run_dir / "qemu.json").write_text('{"argv": ["sh", "-c", "echo bad disk; exit 1"], "cwd": "/"}')
    with RunningBmc(tmp_path) as running:
        running.bmc.machine = QemuMachine(run_dir)
        failed = running.ipmitool("power", "on")
        assert "Unspecified error" in failed.stderr
        assert running.events == ["Soft power control failure"]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ({"ipmi_port": 0}, "ipmi_port: 0: "),
        ({"tls_key": "/etc/hostname"}, "tls_key /etc/hostname"),
        ({"control_socket": "/nowhere/bmc.control"}, "control_socket /nowhere/bmc.control"),
        ({"address": "192.0.2.1"}, "address 192.0.2.1"),
    ],
)
def test_the_program_refuses_a_wrong_configuration_in_one_line(
    tmp_path: Path, change: dict[str, object], wrong: str
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config_content(tmp_path) | change))
    done = subprocess.run(
        [sys.executable, "-m", "bmc", str(tmp_path / "config.json")],
        cwd=LAB,
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert wrong in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_second_bmc_on_the_same_ports_is_refused(tmp_path: Path) -> None:
    program = Program(tmp_path)
    try:
        done = _run(program.config)
        assert done.returncode == 2
        assert "ipmi_port" in done.stderr
        assert _ipmitool(program, "power", "status") == "Chassis Power is off"
    finally:
        assert program.finish(signal.SIGINT) == 0
